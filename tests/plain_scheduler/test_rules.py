"""What the rules about other pods say, one behaviour at a time: those that one would not guess."""

import pytest

from tests.plain_scheduler.affinity import NOT_NEAR, TOO_NEAR, UNWANTED
from tests.plain_scheduler.cluster import Cluster, Owners
from tests.plain_scheduler.decision import decide
from tests.plain_scheduler.spread import HOSTNAME, NO_LABEL, UNEVEN

ZONE = "topology.kubernetes.io/zone"
WEB = {"matchLabels": {"app": "web"}}
_numbers = iter(range(10**6))


def node(name, zone=None, **labels):
    where = {ZONE: zone} if zone else {}
    room = {"cpu": "8", "memory": "8Gi", "pods": "20"}
    return {"metadata": {"name": name, "labels": {HOSTNAME: name, **where, **labels}}, "status": {"allocatable": room}}


def pod(on=None, *, app="web", namespace="default", **spec):
    metadata = {"name": f"p{next(_numbers)}", "namespace": namespace, "labels": {"app": app}}
    place = {"nodeName": on} if on else {}
    return {"metadata": metadata, "spec": {"containers": [{"name": "c", "image": "i"}], **place, **spec}}


def leaving(running):
    running["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return running


def near(**term):
    return {"affinity": {"podAffinity": _required({"topologyKey": ZONE, "labelSelector": WEB, **term})}}


def far(**term):
    return {"affinity": {"podAntiAffinity": _required({"topologyKey": ZONE, "labelSelector": WEB, **term})}}


def _required(*terms):
    return {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}


def evenly(**constraint):
    whole = {"topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": WEB}
    return {"topologySpreadConstraints": [{**whole, **constraint}]}


def takers(cluster, new):
    return set(decide(cluster, new).scores)


def refusal(cluster, new, name):
    return decide(cluster, new).refusals.get(name)


EAST_WEST = (node("e1", "east"), node("e2", "east"), node("w1", "west"))


# --- affinity ---


def test_a_pod_goes_where_a_pod_matches_in_its_own_namespace():
    cluster = Cluster(EAST_WEST, [pod("e1"), pod("w1", namespace="other")])

    assert takers(cluster, pod(**near())) == {"e1", "e2"}
    assert refusal(cluster, pod(**near()), "w1") == NOT_NEAR


def test_the_first_of_a_group_goes_anywhere_that_has_the_key():
    cluster = Cluster([*EAST_WEST, node("nowhere")])

    assert takers(cluster, pod(**near())) == {"e1", "e2", "w1"}
    assert takers(cluster, pod(app="db", **near())) == set()


def test_a_pod_that_matches_where_the_key_is_missing_does_not_end_being_first():
    cluster = Cluster([*EAST_WEST, node("nowhere")], [pod("nowhere")])

    assert takers(cluster, pod(**near())) == {"e1", "e2", "w1"}


def test_one_pod_must_match_all_terms_but_not_all_terms_in_one_place():
    terms = _required(
        {"topologyKey": ZONE, "labelSelector": WEB},
        {"topologyKey": HOSTNAME, "labelSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}},
    )
    cluster = Cluster(EAST_WEST, [pod("e1"), pod("e2", app="db")])

    assert takers(cluster, pod(affinity={"podAffinity": terms})) == {"e1"}


@pytest.mark.parametrize(
    ("term", "found"),
    [
        ({"namespaces": ["other"]}, {"w1"}),
        ({"namespaceSelector": {}}, {"e1", "e2", "w1"}),
        ({"namespaceSelector": {"matchLabels": {"tier": "gold"}}}, {"w1"}),
        ({"namespaces": ["default"], "namespaceSelector": {"matchLabels": {"tier": "gold"}}}, {"e1", "e2", "w1"}),
        ({"labelSelector": {}}, {"e1", "e2"}),
        ({"labelSelector": None}, set()),
    ],
)
def test_a_term_looks_at_the_namespaces_that_it_names_or_selects(term, found):
    cluster = Cluster(EAST_WEST, [pod("e1"), pod("w1", namespace="other")], {"default": {}, "other": {"tier": "gold"}})

    assert takers(cluster, pod(**near(**term))) == found


def test_running_pods_refuse_whom_they_do_not_want_near():
    cluster = Cluster(EAST_WEST, [pod("e1", app="db", **far())])

    assert refusal(cluster, pod(), "e2") == UNWANTED
    assert refusal(cluster, pod(**far(labelSelector={"matchLabels": {"app": "db"}})), "e2") == TOO_NEAR
    assert takers(cluster, pod(app="db")) == {"e1", "e2", "w1"}


def test_a_leaving_pod_still_counts_for_affinity():
    cluster = Cluster(EAST_WEST, [leaving(pod("e1"))])

    assert takers(cluster, pod(**near())) == {"e1", "e2"}


def test_a_required_affinity_of_a_running_pod_attracts_a_little():
    cluster = Cluster(EAST_WEST, [pod("w1", app="db", **near())])

    scores = decide(cluster, pod()).scores
    assert {name: parts["InterPodAffinity"] for name, parts in scores.items()} == {"e1": 0, "e2": 0, "w1": 100}


# --- spread ---


def test_no_zone_gets_more_than_the_skew_above_the_least():
    cluster = Cluster(EAST_WEST, [pod("e1")])

    assert takers(cluster, pod(**evenly())) == {"w1"}
    assert refusal(cluster, pod(**evenly()), "e2") == UNEVEN
    assert takers(cluster, pod(app="db", **evenly())) == {"e1", "e2", "w1"}


def test_leaving_pods_and_those_of_other_namespaces_are_not_counted():
    cluster = Cluster(EAST_WEST, [leaving(pod("e1")), pod("e2", namespace="other")])

    assert takers(cluster, pod(**evenly())) == {"e1", "e2", "w1"}


def test_an_empty_selector_counts_nobody_but_the_pod_itself():
    cluster = Cluster(EAST_WEST, [pod("e1"), pod("e2")])

    assert takers(cluster, pod(**evenly(labelSelector={}))) == {"e1", "e2", "w1"}


def test_fewer_domains_than_the_least_number_count_as_if_one_were_empty():
    cluster = Cluster(EAST_WEST, [pod("e1"), pod("w1")])

    assert takers(cluster, pod(**evenly(minDomains=2))) == {"e1", "e2", "w1"}
    assert takers(cluster, pod(**evenly(minDomains=3))) == set()


def test_a_node_without_the_key_takes_no_pod_and_is_not_counted():
    cluster = Cluster([*EAST_WEST, node("nowhere")], [pod("e1")])

    assert refusal(cluster, pod(**evenly()), "nowhere") == NO_LABEL
    assert takers(cluster, pod(**evenly())) == {"w1"}


def test_zones_that_the_pod_may_not_use_count_only_if_affinity_is_ignored():
    cluster = Cluster(EAST_WEST, [pod("e1")])
    in_east = {"nodeSelector": {ZONE: "east"}}

    assert takers(cluster, pod(**evenly(), **in_east)) == {"e1", "e2"}
    assert takers(cluster, pod(**evenly(nodeAffinityPolicy="Ignore"), **in_east)) == set()


def test_tainted_nodes_count_unless_taints_are_honoured():
    tainted = node("w1", "west") | {"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}}
    cluster = Cluster([node("e1", "east"), tainted], [pod("e1")])

    assert takers(cluster, pod(**evenly())) == set()
    assert takers(cluster, pod(**evenly(nodeTaintsPolicy="Honor"))) == {"e1"}


def test_pods_of_a_service_are_spread_by_default():
    service = {"metadata": {"name": "s", "namespace": "default"}, "spec": {"selector": {"app": "web"}}}
    cluster = Cluster(EAST_WEST, [pod("e1")], owners=Owners(services=[service]))

    def scores(new):
        return {name: parts["PodTopologySpread"] for name, parts in decide(cluster, new).scores.items()}

    # one pod on the host: 1·ln 5 + 2, in the zone: 1·ln 4 + 4
    assert scores(pod()) == {"e1": 66, "e2": 88, "w1": 100}
    assert set(scores(pod(app="db")).values()) == {0}


# --- words ---


def test_a_refusal_counts_reasons_and_says_why_nobody_is_preempted():
    cluster = Cluster([*EAST_WEST, node("nowhere")], [pod("e1"), pod("w1")])

    assert decide(cluster, pod(**evenly(minDomains=3))).message == (
        "0/4 nodes are available: 1 node(s) didn't match pod topology spread constraints (missing required label), "
        "3 node(s) didn't match pod topology spread constraints. preemption: 0/4 nodes are available: "
        "1 Preemption is not helpful for scheduling, 3 No preemption victims found for incoming pod."
    )
