"""Who owns what: managedFields after creates, updates, patches and applies.

data/apply_stories.jsonl has what kube-apiserver 1.37.1 answered, request after request; each answer is the object that
the next request meets.  Times are the numbers of the steps.
"""

import json
from copy import deepcopy
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.local.patching import managers
from muster.local.patching.apply import Target, apply, update
from muster.local.patching.diff import changes, fields_of
from muster.local.patching.fields import LEAF, difference, has, of_names, parse, path_text, paths
from muster.local.patching.managers import entries, settled
from muster.local.patching.merge import PatchError
from muster.local.patching.strategic import strategic_patch
from muster.local.schema import decoding, structs
from muster.local.schema.load import shapes
from tests.local.widgets import LAW, STRING, WIDGET, map_of, struct

NOW = "2026-01-01T00:00:00Z"


def kind(api_version, type_name, *, main=("status",), status=("spec",)):
    shape = shapes()[type_name]
    empty = structs.zero(shape)
    return {
        "": Target(api_version=api_version, shape=shape, reset=of_names(*main), empty=empty),
        "status": Target(
            api_version=api_version, shape=shape, reset=of_names(*status), empty=empty, subresource="status"
        ),
    }


KINDS = {
    "ConfigMap": kind("v1", "io.k8s.api.core.v1.ConfigMap", main=()),
    "Pod": kind(
        "v1",
        "io.k8s.api.core.v1.Pod",
        status=("spec", "metadata.deletionTimestamp", "metadata.ownerReferences"),
    ),
    "Node": kind("v1", "io.k8s.api.core.v1.Node"),
    "Service": kind("v1", "io.k8s.api.core.v1.Service"),
    "PodGroup": kind(
        "scheduling.k8s.io/v1beta1", "io.k8s.api.scheduling.v1beta1.PodGroup", status=("metadata", "spec")
    ),
    "Job": kind("batch/v1", "io.k8s.api.batch.v1.Job"),
    "Widget": {
        "": Target(api_version="apply.test/v1", shape=WIDGET, reset=of_names("status")),
        "status": Target(
            api_version="apply.test/v1", shape=WIDGET, reset=of_names("metadata", "spec"), subresource="status"
        ),
    },
}

# --- what Kubernetes said ---

STORIES = [
    json.loads(line)
    for line in (Path(__file__).parent / "data" / "apply_stories.jsonl").read_text(encoding="utf-8").splitlines()
]


def steps():
    for story in STORIES:
        live = None
        for number, step in enumerate(story["steps"]):
            name = f"{story['kind']}: {story['story']} {number}"
            yield pytest.param(story["kind"], live, step, f"2026-01-01T00:00:{number:02d}Z", id=name)
            live = step.get("answer", live)


STEPS = list(steps())
APPLIES = [one for one in STEPS if one.values[2]["verb"] == "apply"]
WRITES = [one for one in STEPS if one.values[2]["verb"] != "apply"]


def applied(kind_name, live, step, now):
    return apply(
        live,
        step["body"],
        target=KINDS[kind_name][step.get("subresource", "")],
        kind=kind_name,
        manager=step["manager"],
        now=now,
        force=step.get("force", False),
    )


def canonical(document):
    """managedFields as text; of entries only custom kinds have another order."""
    return [json.dumps(entry, sort_keys=True) for entry in entries(document) or []]


@pytest.mark.parametrize(("kind_name", "live", "step", "now"), WRITES)
def test_a_write_leaves_the_owners_that_kubernetes_has(kind_name, live, step, now):
    new = step.get("new") or step["answer"]
    if "new" not in step:
        new = {**new, "metadata": {name: value for name, value in new["metadata"].items() if name != "managedFields"}}
    target = KINDS[kind_name][step.get("subresource", "")]
    before = deepcopy([live, new])
    result = update(live, new, target=target, manager=step["manager"], now=now)
    assert canonical(result) == canonical(step["answer"])
    assert [live, new] == before


@pytest.mark.parametrize(("kind_name", "live", "step", "now"), APPLIES)
def test_an_apply_leaves_the_owners_that_kubernetes_has_or_is_refused_alike(kind_name, live, step, now):
    before = deepcopy([live, step])
    refusal = step.get("refusal")
    if refusal is None or "is invalid" in refusal["message"]:
        result = applied(kind_name, live, step, now)
        if refusal is None:
            assert canonical(result) == canonical(step["answer"])
            through = step.get("subresource", "")
            decoded = decoding.decode(result, KINDS[kind_name][""].shape).value
            assert_part(_shown(decoded, through), _shown(step["answer"], through))
    else:
        with pytest.raises(PatchError) as refused:
            applied(kind_name, live, step, now)
        error = refused.value
        assert (error.code, error.reason) == (refusal["code"], refusal.get("reason", ""))
        # where it is said by values, those need not be written as Go writes them
        assert error.message.partition(", got ")[0] == refusal["message"].partition(", got ")[0]
        causes = (error.details or {}).get("causes", [])
        assert sorted(causes, key=lambda cause: (cause["field"], cause["message"])) == refusal.get("causes", [])
    assert [live, step] == before


def _shown(document, subresource):
    """What a strategy does not reset afterwards."""
    if subresource:
        return {"status": document.get("status")}
    meta = {name: value for name, value in document["metadata"].items() if name not in ("managedFields", "uid")}
    return {**{name: value for name, value in document.items() if name not in ("status", "kind")}, "metadata": meta}


def assert_part(ours, theirs, where=""):
    """All that we have, they have; they have defaults as well."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name, value in ours.items():
            if value or value is False:
                assert name in theirs, f"{where}.{name}"
                assert_part(value, theirs[name], f"{where}.{name}")
    elif isinstance(ours, list) and isinstance(theirs, list):
        assert len(ours) == len(theirs), where
        for place, pair in enumerate(zip(ours, theirs, strict=True)):
            assert_part(*pair, f"{where}[{place}]")
    else:
        assert {"1000m": "1"}.get(ours, ours) == theirs, where


@pytest.mark.parametrize(("kind_name", "live", "step", "now"), [one for one in APPLIES if "answer" in one.values[2]])
def test_an_apply_done_again_changes_nothing(kind_name, live, step, now):
    once = applied(kind_name, live, step, now)
    again = applied(kind_name, once, step, "2026-01-02T00:00:00Z")
    assert settled(again, once) == once


# --- in words ---


def config_map(meta=None, **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "it", **(meta or {})}, "data": data}


class World:
    """A config map and its managers; each write is a second later than the last."""

    def __init__(self):
        self.live = None
        self.seconds = 0

    def write(self, manager, new, *, target=KINDS["ConfigMap"][""]):
        new = {**new, "metadata": {**new["metadata"], "uid": "u"}}
        self.live = update(self.live, new, target=target, manager=manager, now=self._now())
        return self

    def set(self, manager, **data):
        kept = {name: value for name, value in {**self.live["data"], **data}.items() if value is not None}
        return self.write(manager, {**self.live, "data": kept})

    def apply(self, manager, force=False, meta=None, **data):
        self.live = apply(
            self.live,
            config_map(meta, **data),
            target=KINDS["ConfigMap"][""],
            kind="ConfigMap",
            manager=manager,
            now=self._now(),
            force=force,
        )
        self.live["metadata"]["uid"] = "u"
        return self

    def _now(self):
        self.seconds += 1
        return f"2026-01-01T00:00:{self.seconds:02d}Z"

    @property
    def owners(self):
        return {
            f"{entry['manager']} {entry['operation']}": " ".join(map(path_text, paths(parse(entry["fieldsV1"]))))
            for entry in entries(self.live) or []
        }

    @property
    def times(self):
        return {entry["manager"]: int(entry.get("time", "00Z")[-3:-1]) for entry in entries(self.live) or []}


def test_what_a_manager_changes_is_its_own_and_nobody_elses():
    world = World().write("a", config_map(x="1", y="1")).set("b", y="2", z="2")
    assert world.owners == {"a Update": ".data .data.x", "b Update": ".data.y .data.z"}
    assert world.times == {"a": 1, "b": 2}


def test_what_is_removed_is_nobodys():
    world = World().write("a", config_map(x="1", y="1")).set("b", y="2").set("c", y=None)
    assert world.owners == {"a Update": ".data .data.x"}


def test_a_write_that_changes_nothing_leaves_no_trace():
    world = World().write("a", config_map(x="1")).set("b", x="1").set("a", x="1")
    assert world.owners == {"a Update": ".data .data.x"}
    assert world.times == {"a": 1}


def test_a_manager_without_a_name_is_unknown():
    assert World().write("", config_map(x="1")).owners == {"unknown Update": ".data .data.x"}


def test_two_appliers_of_the_same_value_share_it():
    world = World().apply("a", x="1").apply("b", x="1").apply("a", y="1")
    assert world.live["data"] == {"x": "1", "y": "1"}
    assert world.owners == {"a Apply": ".data.y", "b Apply": ".data.x"}
    assert World().apply("a", x="1").apply("b", x="1").apply("a").apply("b").live.get("data") in (None, {})


def test_a_conflict_changes_nothing():
    world = World().apply("a", x="1")
    before = deepcopy(world.live)
    with pytest.raises(PatchError) as refused:
        world.apply("b", x="2")
    error = refused.value
    assert (error.code, error.reason) == (409, "Conflict")
    assert error.message == 'Apply failed with 1 conflict: conflict with "a": .data.x'
    assert error.details == {
        "causes": [{"reason": "FieldManagerConflict", "message": 'conflict with "a"', "field": ".data.x"}]
    }
    assert world.live == before


def test_force_takes_what_others_own():
    world = World().apply("a", x="1", y="1").apply("b", force=True, x="2")
    assert world.live["data"] == {"x": "2", "y": "1"}
    assert world.owners == {"a Apply": ".data.y", "b Apply": ".data.x"}


def test_conflicts_are_told_manager_by_manager():
    world = World().write("z", config_map(x="1", y="1")).apply("b", y="1").apply("a", x="1", y="1")
    with pytest.raises(PatchError) as refused:
        world.apply("c", x="2", y="2")
    assert refused.value.message == (
        "Apply failed with 5 conflicts: "
        'conflicts with "a":\n- .data.x\n- .data.y\n'
        'conflicts with "b":\n- .data.y\n'
        'conflicts with "z" using v1:\n- .data.x\n- .data.y'
    )


def test_owners_of_a_version_that_is_not_served_are_forgotten():
    world = World().write("a", config_map(x="1", y="1"))
    entry = entries(world.live)[0]
    world.live["metadata"]["managedFields"] = [entry, {**entry, "manager": "old", "apiVersion": "v0"}]
    assert set(world.set("b", y="2").owners) == {"a Update", "b Update"}


def test_owners_of_another_version_that_is_served_are_kept_and_lose_what_changes():
    target = Target(api_version="v2", shape=KINDS["ConfigMap"][""].shape, versions={"v1": KINDS["ConfigMap"][""].shape})
    world = World().write("a", config_map(x="1", y="1"))
    world.write("b", {**world.live, "data": {"x": "2", "y": "1"}}, target=target)
    assert world.owners == {"a Update": ".data .data.y", "b Update": ".data.x"}


def test_what_became_atomic_is_owned_as_a_whole():
    world = World().write("a", config_map(x="1"))
    shape = struct(metadata=KINDS["ConfigMap"][""].shape.fields["metadata"], data=map_of(STRING, atomic=True))
    new = {**world.live, "metadata": {"name": "it", "labels": {"l": "1"}}}
    world.write("b", new, target=Target(api_version="v1", shape=shape))
    assert world.owners == {"a Update": ".data", "b Update": ".metadata.labels .metadata.labels.l"}


def test_an_object_that_nobody_kept_track_of_stays_so_until_the_first_apply():
    world = World().write("a", config_map(x="1"))
    del world.live["metadata"]["managedFields"]
    assert world.set("b", y="1").owners == {}
    assert world.apply("c", y="1").owners == {
        "c Apply": ".data.y",
        "before-first-apply Update": ".data .data.x .data.y",
    }


@pytest.mark.parametrize("reset", [[], [{}]])
def test_owners_can_be_forgotten_on_demand(reset):
    world = World().write("a", config_map(x="1"))
    assert world.write("b", config_map({"managedFields": reset}, x="2")).owners == {}
    assert "managedFields" not in world.live["metadata"]


@pytest.mark.parametrize(
    "given",
    [
        None,
        [{"manager": "x"}],
        [{"manager": "x", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV2", "fieldsV1": {}}],
        [{"manager": "x", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f": {}}}],
        [{"manager": "x", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": {}}],
        [{"manager": "x", "operation": "Update", "apiVersion": "v1", "fieldsV1": {}}],
    ],
)
def test_owners_that_cannot_be_read_are_taken_from_the_live_object(given):
    world = World().write("a", config_map(x="1"))
    assert world.write("b", config_map({"managedFields": given}, x="1")).owners == {"a Update": ".data .data.x"}


def test_owners_written_through_a_subresource_are_not_looked_at():
    live = update(None, {"metadata": {"name": "n"}, "spec": {}}, target=KINDS["Node"][""], manager="a", now=NOW)
    new = {**live, "metadata": {"name": "n", "managedFields": [{}], "labels": {"l": "1"}}}
    result = update(live, new, target=KINDS["Node"]["status"], manager="kubelet", now=NOW)
    assert [(entry["manager"], entry["subresource"]) for entry in entries(result)] == [("kubelet", "status")]


def test_an_object_that_cannot_be_split_keeps_its_owners_for_validation_to_refuse_it():
    target = KINDS["Widget"][""]
    live = update(None, {"metadata": {"name": "w"}, "spec": {"n": 1}}, target=target, manager="a", now=NOW)
    result = update(live, {**live, "spec": {"set": [None]}}, target=target, manager="b", now=NOW)
    assert entries(result) == entries(live)


def test_the_eleventh_updater_makes_the_two_oldest_one():
    world = World().write("m01", config_map(k01="1"))
    for number in range(2, 12):
        world.set(f"m{number:02d}", **{f"k{number:02d}": "1"})
    names = [entry["manager"] for entry in entries(world.live)]
    assert names == ["ancient-changes", *(f"m{number:02d}" for number in range(3, 12))]
    assert world.times["ancient-changes"] == 2
    assert world.owners["ancient-changes Update"] == ".data .data.k01 .data.k02"


def test_appliers_are_never_too_many():
    world = World().apply("a00", k="1")
    for number in range(1, 15):
        world.apply(f"a{number:02d}", k="1")
    assert len(world.owners) == 15


def test_kubectl_may_change_what_it_applied_from_its_own_side():
    last = json.dumps(config_map(x="1", y="1"))
    annotation = "kubectl.kubernetes.io/last-applied-configuration"
    world = World().write("kubectl-client-side-apply", config_map({"annotations": {annotation: last}}, x="1", y="9"))
    with pytest.raises(PatchError, match=r"Apply failed with 1 conflict: .*: \.data\.y"):
        world.apply("kubectl", x="2", y="2")
    world.apply("kubectl", x="2")
    assert world.live["data"] == {"x": "2", "y": "9"}
    assert json.loads(world.live["metadata"]["annotations"][annotation]) == config_map(x="2")


def test_times_are_taken_back_if_nothing_else_changed():
    world = World().apply("a", x="1")
    old = deepcopy(world.live)
    new = deepcopy(old)
    new["metadata"]["managedFields"][0]["time"] = "2027-01-01T00:00:00Z"
    assert settled(new, old) == old
    new["data"]["x"] = "2"
    assert settled(new, old) is new


def test_entries_read_and_written_are_the_same():
    for story in STORIES:
        for step in story["steps"]:
            given = entries(step.get("answer"))
            assert managers.encode(managers.decode(given)) == (given or [])
            assert managers.capped(managers.decode(given)) == managers.decode(given)


# --- properties ---

_VALUES = st.sampled_from("12")
_SPECS = st.fixed_dictionaries(
    {},
    optional={
        "n": st.integers(1, 2),
        "set": st.lists(st.sampled_from("abc"), unique=True, max_size=3),
        "atom": st.lists(st.sampled_from("abc"), max_size=2),
        "labels": st.dictionaries(st.sampled_from("lm"), _VALUES, max_size=2),
        "structs": st.dictionaries(st.sampled_from("st"), st.dictionaries(st.sampled_from("xy"), _VALUES), max_size=2),
        "map": st.lists(
            st.fixed_dictionaries({"k": st.sampled_from("abc")}, optional={"v": _VALUES}),
            unique_by=lambda item: item["k"],
            max_size=3,
        ),
        "any": st.dictionaries(st.sampled_from("uv"), st.dictionaries(st.sampled_from("xy"), st.integers(0, 1))),
    },
)
_WRITES = st.lists(st.tuples(st.sampled_from(["apply", "update"]), st.sampled_from("pqr"), _SPECS), max_size=6)


def widget(spec):
    named = {} if spec is None else {"spec": spec}
    return {"apiVersion": "apply.test/v1", "kind": "Widget", "metadata": {"name": "w"}, **named}


def apply_widget(live, spec, manager, *, now=NOW, force=True):
    return apply(live, widget(spec), target=KINDS["Widget"][""], kind="Widget", manager=manager, now=now, force=force)


def after(writes):
    live = update(None, widget({"n": 1}), target=KINDS["Widget"][""], manager="c", now=NOW)
    for verb, manager, spec in writes:
        if verb == "apply":
            live = apply_widget(live, spec, manager)
        else:
            live = update(live, {**live, "spec": spec}, target=KINDS["Widget"][""], manager=manager, now=NOW)
    return live


@LAW
@given(_WRITES, _SPECS)
def test_an_apply_is_idempotent(writes, spec):
    once = apply_widget(after(writes), spec, "a")
    again = apply_widget(once, spec, "a", now="2027-01-01T00:00:00Z", force=False)
    assert settled(again, once) == once


@LAW
@given(_WRITES, _SPECS)
def test_all_that_an_apply_names_is_there_and_its_own(writes, spec):
    result = apply_widget(after(writes), spec, "a")
    assert_part(spec, _sorted_lists(result["spec"] or {}, spec))
    mine = managers.decode(entries(result)).get('{"manager":"a","operation":"Apply"}')
    named = fields_of({"spec": spec}, WIDGET)
    assert (set(paths(mine.fields)) if mine else set()) == set(paths(named))


def _sorted_lists(result, spec):
    """The result with its merged lists cut down to what the spec names, in the spec's order."""
    cut = dict(result)
    if spec.get("set"):
        cut["set"] = [one for one in spec["set"] if one in result["set"]]
    if spec.get("map"):
        cut["map"] = [next(one for one in result["map"] if one["k"] == item["k"]) for item in spec["map"]]
    return cut


@LAW
@given(_WRITES, _SPECS)
def test_forced_or_not_an_apply_without_conflicts_is_the_same(writes, spec):
    live = after(writes)
    try:
        result = apply_widget(live, spec, "a", force=False)
    except PatchError:
        return
    assert result == apply_widget(live, spec, "a", force=True)


@LAW
@given(_WRITES, _SPECS)
def test_after_an_apply_nobody_else_owns_what_it_changed(writes, spec):
    live = after(writes)
    try:
        apply_widget(live, spec, "a", force=False)
    except PatchError as error:
        fields = {cause["field"] for cause in error.details["causes"]}
        result = apply_widget(live, spec, "a")
        for owner in managers.decode(entries(result)).values():
            if owner.manager != "a":
                assert not fields & set(map(path_text, paths(owner.fields)))


@LAW
@given(_WRITES)
def test_every_owned_field_is_in_the_object(writes):
    live = after(writes)
    there = changes({}, live, WIDGET).added
    for owner in managers.decode(entries(live)).values():
        assert difference(owner.fields, there) == LEAF
        assert not has(owner.fields, ("f:metadata", "f:name"))


@LAW
@given(_WRITES, _SPECS)
def test_naming_nothing_any_more_gives_back_all_that_was_added(writes, spec):
    live = after([write for write in writes if write[1] != "a"])
    try:
        result = apply_widget(live, spec, "a", force=False)
    except PatchError:
        return
    result = apply_widget(result, None, "a")
    assert '{"manager":"a","operation":"Apply"}' not in managers.decode(entries(result))
    assert (_values(result.get("spec")) or {}) == (_values(live["spec"]) or {})


def _values(spec):
    """In no order, without what is empty or null: what is taken out leaves that behind, until it is decoded."""
    if isinstance(spec, dict):
        kept = {name: _values(value) for name, value in spec.items()}
        return {name: value for name, value in kept.items() if value not in (None, {}, [])}
    if isinstance(spec, list):
        return sorted(map(_values, spec), key=lambda item: json.dumps(item, sort_keys=True))
    return spec


def test_a_strategic_patch_of_owners_is_a_write_like_any_other():
    world = World().write("a", config_map(x="1"))
    new = strategic_patch(world.live, {"metadata": {"labels": {"l": "1"}}}, KINDS["ConfigMap"][""].shape)
    assert world.write("b", new).owners["b Update"] == ".metadata.labels .metadata.labels.l"
