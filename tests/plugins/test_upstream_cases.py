"""The tables of upstream's unit tests for its plugins: Muster answers as they expect, and so does the plain scheduler.

`upstream_cases/README.md` says how many there are, and which are left out.
"""

from collections import Counter
from collections.abc import Callable

import pytest

from muster.api.requests import effective_requests
from muster.api.wire import Pod
from muster.base.errors import ConfigError
from muster.plugins.node_affinity import NOT_NAMED
from tests.plugins.cases import Asked, Case, Document, all_cases, plugins_of, pod_of, read
from tests.plugins.plain_cases import Plain

DIFFERENT = {
    "node_affinity_test/TestNodeAffinity/Pod with two conflicting mach field requirements": (
        "node by node: upstream looks at the names alone and says that they conflict"
    ),
    "filtering_test/TestPreFilterState/matchLabelKeys ignored when feature gate disabled": "there is no such gate",
    "scoring_test/TestPodTopologySpreadScore/matchLabelKeys ignored when feature gate disabled": (
        "there is no such gate"
    ),
    "least_allocated_test/TestLeastAllocatedScoringStrategy/resource with zero weight": (
        "in a file 0 stands for the default, also upstream: its check comes after that"
    ),
    "most_allocated_test/TestMostAllocatedScoringStrategy/resource with zero weight": "the same",
    "scheduling_gates_test/TestPreEnqueue/pod carries scheduling gates": "our words; upstream only logs its own",
}
"""By case: why Muster says something else on purpose."""

NOT_HONOURED: tuple[tuple[str, Callable[[Document], bool]], ...] = (
    (
        "an alpha gate that is off by default: tolerations with Gt and Lt cover nothing",
        lambda facts: facts.get("gates", {}).get("TaintTolerationComparisonOperators", False),
    ),
    ("addedAffinity is refused by name in a configuration", lambda facts: "addedAffinity" in facts.get("args", {})),
    ("devices of DynamicResources", lambda facts: ".dra." in str(facts.get("pod")) and "gates" not in facts),
)
"""What Muster does not have: the cases about it that fail are listed by what they ask for."""


def given(fact: str) -> list[object]:
    """Parameters: all that have the fact, and that Muster has an answer to."""
    return [parameter(case) for case in all_cases(fact)]


def parameter(case: Case) -> object:
    why = [what for what, has_it in NOT_HONOURED if has_it(case.facts)]
    return pytest.param(case, id=f"{case.plugin}-{case.id}", marks=[pytest.mark.skip(why[0])] if why else [])


def names(case: Case) -> list[str]:
    return [node["metadata"]["name"] for node in case.facts["nodes"]]


def sorted_reasons(refused: dict[str, list[str]]) -> dict[str, list[str]]:
    return {name: sorted(reasons) for name, reasons in refused.items()}


def check(case: Case, *, found: object, wanted: object) -> None:
    """What is different on purpose is different."""
    if case.id in DIFFERENT:
        assert found != wanted, "it is no longer different"
    else:
        assert found == wanted


# --- nodes that refuse the pod ---


@pytest.mark.parametrize("case", given("refused"))
def test_nodes_are_refused_for_upstreams_reasons(case):
    found = Asked(case).refusals()

    check(case, found=sorted_reasons(found), wanted=sorted_reasons(case.facts["refused"]))


@pytest.mark.parametrize("case", given("refused"))
def test_the_engine_places_the_pod_on_another_node_or_says_why_not(case):
    if case.plugin in ("NodeName", "NodeDeclaredFeatures") or case.id in DIFFERENT:
        pytest.skip("nobody asks for this")
    asked, refused = Asked(case), case.facts["refused"]

    node = asked.decide()

    if len(refused) < len(names(case)):
        assert node in set(names(case)) - set(refused)
    else:
        assert node is None
        wanted = Counter(reason for reasons in refused.values() for reason in reasons)
        # upstream leaves nodes out that a pod does not name before it asks any filter, and then says so
        assert asked.reasons in (wanted, Counter({NOT_NAMED: sum(wanted.values())}))


@pytest.mark.parametrize("case", given("fits"))
def test_a_node_takes_what_it_has_room_for(case):
    assert (not Asked(case).refusals()) is case.facts["fits"]


@pytest.mark.parametrize("case", given("takes"))
def test_a_pod_that_names_a_node_goes_nowhere_else(case):
    nodes = [{"metadata": {"name": name}} for name in ("foo", "another")]
    refused = Asked(Case(case.plugin, case.facts | {"nodes": nodes})).refusals()

    assert {"foo", "another"} - set(refused) == set(case.facts["takes"] or ["foo", "another"])


# --- scores ---


@pytest.mark.parametrize("case", given("scores"))
def test_nodes_have_upstreams_scores(case):
    wanted = case.facts["scores"]
    found = Asked(case).scores(case.facts.get("left", names(case)))

    # a score that all nodes have makes no difference, and is left out
    if found is None or wanted is None:
        assert len(set((found or wanted or {}).values())) <= 1
    else:
        check(case, found=found, wanted=wanted)


@pytest.mark.parametrize("case", given("scores"))
def test_the_engine_takes_a_node_with_the_highest_score(case):
    asked, scores = Asked(case), case.facts["scores"] or {}
    if "left" in case.facts or asked.refusals() or case.id in DIFFERENT or not case.facts["nodes"]:
        pytest.skip("upstream rates nodes that do not take the pod")

    node = asked.decide()

    assert node in names(case)
    assert scores.get(node, 0) == max(scores.values(), default=0)


@pytest.mark.parametrize("case", given("scored"))
def test_containers_that_name_no_request_count_as_upstreams(case):
    found = effective_requests(read(Pod, pod_of(case)).spec)

    assert {"cpu": found.scored_cpu_milli, "memory": found.scored_memory_bytes} == case.facts["scored"]


@pytest.mark.parametrize("case", given("error"))
def test_arguments_that_upstream_refuses_are_refused(case):
    try:
        plugins_of(case)
    except ConfigError:
        check(case, found=True, wanted=True)
    else:
        check(case, found=False, wanted=True)


@pytest.mark.parametrize("case", given("image"))
def test_an_image_is_found_by_its_whole_name(case):
    pod = {"spec": {"containers": [{"image": case.facts["image"]}]}}
    images = [{"names": [case.facts["named"]], "sizeBytes": 2**30}]
    nodes = [{"metadata": {"name": "has it"}, "status": {"images": images}}, {"metadata": {"name": "has not"}}]
    scores = Asked(Case(case.plugin, {"pod": pod, "nodes": nodes})).scores(["has it", "has not"])

    assert scores["has it"] > scores["has not"]


# --- before anything is decided ---


@pytest.mark.parametrize("case", given("held"))
def test_a_pod_with_gates_is_held(case):
    asked, wanted = Asked(case), case.facts["held"]

    check(case, found=asked.held, wanted=wanted and wanted[0])
    assert (asked.held is None) is (wanted is None)


# --- the plain scheduler ---

PLAIN_LACKS: tuple[tuple[str, Callable[[Case], bool]], ...] = (
    ("features that kubelets do not have", lambda case: case.plugin == "NodeDeclaredFeatures"),
    ("objects that no API server lets in", lambda case: "invalid value" in case.id),
)


def given_plain(fact: str) -> list[object]:
    return [pytest.param(case, id=f"{case.plugin}-{case.id}") for case in all_cases(fact) if _is_plain(case)]


def _is_plain(case: Case) -> bool:
    lacks = (*((has_it(case.facts)) for _, has_it in NOT_HONOURED), *(has_it(case) for _, has_it in PLAIN_LACKS))
    return case.id not in DIFFERENT and not any(lacks)


@pytest.mark.parametrize("case", given_plain("refused"))
def test_the_plain_scheduler_refuses_nodes_alike(case):
    found = Plain(case).refusals()

    reasons = {name: list(refusal.reasons) for name, refusal in found.items()}
    assert sorted_reasons(reasons) == sorted_reasons(case.facts["refused"])
    assert {name for name, refusal in found.items() if refusal.is_final} == set(case.facts.get("final", ()))


@pytest.mark.parametrize("case", given_plain("scores"))
def test_the_plain_scheduler_rates_nodes_alike(case):
    found = Plain(case).scores(case.facts.get("left", names(case)))

    assert found == (case.facts["scores"] or dict.fromkeys(found, 0))
