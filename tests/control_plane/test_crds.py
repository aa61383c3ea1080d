"""The CRDs on a real API server: what they take, what they refuse, and with which words.

They follow scheduling.k8s.io/v1beta1, and every row is tried there as well; the words are ours.
"""

import json
from pathlib import Path

import pytest

from controlplane.plane import PlaneError
from tests.control_plane.conftest import needs_native_groups

DEPLOY = Path(__file__).parents[2] / "deploy"
FIXED = "cannot be changed, set or removed once the object exists"
GANG = {"schedulingPolicy": {"gang": {"minCount": 4}}}
HIGH = "high-of-these-tests"
CLAIM = {"name": "gpus", "resourceClaimName": "shared"}


@pytest.fixture(scope="module")
def crds(stock):
    """A stock cluster with the CRDs."""
    stock.kubectl("apply", "-k", str(DEPLOY / "crds"))
    for name in ("podgroups", "workloads"):
        stock.kubectl("wait", "--for=condition=Established", f"crd/{name}.muster.dev", "--timeout=30s")
    return stock


@pytest.fixture
def namespace(stock, namespaces):
    return namespaces.make(stock)


@pytest.fixture
def tried(crds, namespace):
    """Creates or changes an object without keeping it; None if it was taken, else the refusal."""

    def try_it(kind, spec, *, name="one", keep=False):
        return _refusal(crds, namespace, kind, name, spec, *([] if keep else ["--dry-run=server"]))

    return try_it


def _refusal(*arguments, **options):
    try:
        _apply(*arguments, **options)
    except PlaneError as refusal:
        return str(refusal)
    return None


def _apply(cluster, namespace, kind, name, spec, *options, group="muster.dev"):
    manifest = {"apiVersion": f"{group}/v1beta1", "kind": kind, "metadata": {"name": name}, "spec": spec}
    options = ("--server-side", "--force-conflicts", *options)
    return cluster.kubectl("apply", "-n", namespace, *options, "-f", "-", input=json.dumps(manifest))


def group(**more):
    return GANG | more


def workload(*templates, **more):
    return {"podGroupTemplates": list(templates)} | more


def template(name="workers", **more):
    return {"name": name} | GANG | more


GROUPS = [
    GANG,
    {"schedulingPolicy": {"basic": {}}},
    group(disruptionMode={"all": {}}, priorityClassName=HIGH, priority=1_000_000_000),
    group(preemptionPolicy="PreemptLowerPriority", workloadRef={"workloadName": "train.v2", "templateName": "workers"}),
    group(schedulingConstraints={"topology": [{"key": "topology.kubernetes.io/rack"}]}),
    group(resourceClaims=[CLAIM, {"name": "net", "resourceClaimTemplateName": "nic"}]),
]


@pytest.mark.parametrize("spec", GROUPS)
def test_a_pod_group_as_upstream_has_it_is_taken(tried, spec):
    assert tried("PodGroup", spec) is None


REF = {"workloadName": "train", "templateName": "workers"}
BAD_GROUPS = [
    ({}, "spec.schedulingPolicy: Required value"),
    ({"schedulingPolicy": {}}, "exactly one of basic, gang must be set"),
    ({"schedulingPolicy": {"basic": {}, "gang": {"minCount": 1}}}, "exactly one of basic, gang must be set"),
    ({"schedulingPolicy": {"gang": {}}}, "spec.schedulingPolicy.gang.minCount: Required value"),
    ({"schedulingPolicy": {"gang": {"minCount": 0}}}, "should be greater than or equal to 1"),
    (group(disruptionMode={}), "exactly one of single, all must be set"),
    (group(disruptionMode={"single": {}, "all": {}}), "exactly one of single, all must be set"),
    (group(priority=1_000_000_001), "should be less than or equal to 1000000000"),
    (group(priorityClassName="High"), "spec.priorityClassName: Invalid value"),
    (group(preemptionPolicy="Always"), 'supported values: "Never", "PreemptLowerPriority"'),
    (group(workloadRef={"workloadName": "train"}), "spec.workloadRef.templateName: Required value"),
    (
        group(workloadRef={"workloadName": "t", "templateName": "a.b"}),
        "spec.workloadRef.templateName: Invalid value",
    ),
    (group(schedulingConstraints={"topology": [{"key": "rack"}, {"key": "zone"}]}), "must have at most 1 item"),
    (group(schedulingConstraints={"topology": [{"key": "a..b/rack"}]}), "topology[0].key: Invalid value"),
    (group(resourceClaims=[{"name": "gpus"}]), "exactly one of resourceClaimName, resourceClaimTemplateName"),
    (group(resourceClaims=[CLAIM | {"name": f"c{n}"} for n in range(5)]), "must have at most 4 items"),
    (group(resourceClaims=[CLAIM, CLAIM]), "duplicate entries for key"),
    (group(minMember=4), "field not declared in schema"),
    (group(parentCompositePodGroupName="whole"), "must be set when parentCompositePodGroupName is set"),
    (group(parentCompositePodGroupName="A", workloadRef=REF), "spec.parentCompositePodGroupName: Invalid value"),
]


@pytest.mark.parametrize(("spec", "words"), BAD_GROUPS)
def test_a_pod_group_that_upstream_refuses_is_refused(tried, spec, words):
    assert words in (tried("PodGroup", spec) or "was taken")


def test_a_field_that_a_pod_group_does_not_have_is_told_by_plain_apply(crds, namespace):
    manifest = {"apiVersion": "muster.dev/v1beta1", "kind": "PodGroup", "metadata": {"name": "one"}}
    with pytest.raises(PlaneError, match=r'unknown field "spec.minMember"'):
        crds.kubectl("create", "-n", namespace, "-f", "-", input=json.dumps(manifest | {"spec": group(minMember=4)}))


def test_a_pod_group_has_a_name_that_fits_into_a_label(tried):
    assert tried("PodGroup", GANG, name="g" * 63) is None
    assert "at most 63 characters" in tried("PodGroup", GANG, name="g" * 64)


def test_pods_are_disrupted_one_by_one_unless_told_otherwise(crds, namespace):
    _apply(crds, namespace, "PodGroup", "one", GANG)
    mode = crds.kubectl("get", "-n", namespace, "podgroups.muster.dev", "one", "-o", "jsonpath={.spec.disruptionMode}")
    assert json.loads(mode) == {"single": {}}


def test_min_count_can_be_changed(tried):
    assert tried("PodGroup", GANG, keep=True) is None
    assert tried("PodGroup", {"schedulingPolicy": {"gang": {"minCount": 9}}}) is None


FULL = group(
    parentCompositePodGroupName="whole",
    workloadRef=REF,
    schedulingConstraints={"topology": [{"key": "rack"}]},
    resourceClaims=[CLAIM],
    disruptionMode={"all": {}},
    priorityClassName=HIGH,
    priority=7,
    preemptionPolicy="Never",
)


@pytest.mark.parametrize(
    ("field", "other"),
    [
        ("workloadRef", {"workloadName": "train", "templateName": "leader"}),
        ("schedulingConstraints", {"topology": [{"key": "zone"}]}),
        ("resourceClaims", [CLAIM | {"resourceClaimName": "other"}]),
        ("disruptionMode", {"single": {}}),
        ("priorityClassName", "low"),
        ("priority", 8),
        ("preemptionPolicy", "PreemptLowerPriority"),
    ],
)
def test_everything_else_of_a_pod_group_is_fixed(tried, field, other):
    assert tried("PodGroup", FULL, keep=True) is None
    changed = tried("PodGroup", FULL | {field: other}) or "was taken"
    removed = tried("PodGroup", {name: value for name, value in FULL.items() if name != field}) or "was taken"
    assert f"spec.{field}: Forbidden: {FIXED}" in changed
    assert f"spec.{field}: Forbidden: {FIXED}" in removed


def test_nothing_can_be_added_to_a_pod_group_later(tried):
    assert tried("PodGroup", GANG, keep=True) is None
    refusal = tried("PodGroup", FULL) or "was taken"
    assert all(f"spec.{field}: Forbidden: {FIXED}" in refusal for field in FULL if field != "schedulingPolicy")


def test_a_gang_stays_a_gang(tried):
    assert tried("PodGroup", GANG, keep=True) is None
    assert "basic cannot become gang, nor gang basic" in tried("PodGroup", {"schedulingPolicy": {"basic": {}}})


def test_kubectl_shows_the_state_of_a_group(crds, namespace):
    _apply(crds, namespace, "PodGroup", "one", GANG)
    condition = {
        "type": "PodGroupInitiallyScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "3 more pods are missing",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    status = json.dumps({"status": {"conditions": [condition]}})
    crds.kubectl("patch", "-n", namespace, "mpg", "one", "--subresource=status", "--type=merge", "-p", status)
    header, row = crds.kubectl("get", "-n", namespace, "mpg", "-o", "wide").splitlines()
    assert header.split() == ["NAME", "MIN", "WORKLOAD", "STATUS", "BELOW-MIN", "MESSAGE", "AGE"]
    assert row.split()[:-1] == ["one", "4", "Unschedulable", "3", "more", "pods", "are", "missing"]


WORKLOADS = [
    workload(template()),
    workload(*(template(f"t{n}", priorityClassName=HIGH, priority=7) for n in range(8))),
    workload(template(), controllerRef={"apiGroup": "batch", "kind": "Job", "name": "train"}),
]


@pytest.mark.parametrize("spec", WORKLOADS)
def test_a_workload_as_upstream_has_it_is_taken(tried, spec):
    assert tried("Workload", spec) is None


BAD_WORKLOADS = [
    ({}, "spec.podGroupTemplates: Required value"),
    (workload(), "should have at least 1 items"),
    (workload(*(template(f"t{n}") for n in range(9))), "must have at most 8 items"),
    (workload(template(), template()), "duplicate entries for key"),
    (workload(template("a.b")), "spec.podGroupTemplates[0].name: Invalid value"),
    (workload({"name": "workers"}), "spec.podGroupTemplates[0].schedulingPolicy: Required value"),
    (workload(template(priority=1), template("leader", priority=2)), "must be the same in all templates"),
    (workload(template(priorityClassName=HIGH), template("leader")), "must be the same in all templates"),
    (workload(template(), controllerRef={"kind": "..", "name": "train"}), "spec.controllerRef.kind: Invalid value"),
]


@pytest.mark.parametrize(("spec", "words"), BAD_WORKLOADS)
def test_a_workload_that_upstream_refuses_is_refused(tried, spec, words):
    assert words in (tried("Workload", spec) or "was taken")


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (workload(template(), template("leader")), "templates cannot be added, removed or renamed"),
        (workload(template("leader")), "templates cannot be added, removed or renamed"),
        (workload(template(priority=7)), f"spec.podGroupTemplates[0].priority: Forbidden: {FIXED}"),
        (
            workload(template(), controllerRef={"kind": "Job", "name": "train"}),
            f"spec.controllerRef: Forbidden: {FIXED}",
        ),
    ],
)
def test_a_workload_is_fixed_but_for_min_count(tried, spec, words):
    assert tried("Workload", workload(template()), keep=True) is None
    assert tried("Workload", workload(template(schedulingPolicy={"gang": {"minCount": 2}}))) is None
    assert words in (tried("Workload", spec) or "was taken")


def test_no_template_of_a_workload_can_be_removed(tried):
    assert tried("Workload", workload(template(), template("leader")), keep=True) is None
    assert "templates cannot be added, removed or renamed" in (tried("Workload", workload(template())) or "was taken")


@pytest.fixture(scope="module")
def native(plane):
    """Refusals of Kubernetes' own kinds."""
    plane.kubectl("create", "priorityclass", HIGH, "--value=1000000000")
    options = {"group": "scheduling.k8s.io"}
    yield lambda kind, spec: _refusal(plane, "default", kind, "one", spec, "--dry-run=server", **options)
    plane.kubectl("delete", "priorityclass", HIGH)


TAKEN = [("PodGroup", spec) for spec in GROUPS] + [("Workload", spec) for spec in WORKLOADS]
# the native kind drops claims, whatever they say, unless a gate of their own is on
REFUSED = [("PodGroup", spec) for spec, _ in BAD_GROUPS if "resourceClaims" not in spec]
REFUSED += [("Workload", spec) for spec, _ in BAD_WORKLOADS]


@needs_native_groups
@pytest.mark.parametrize(("kind", "spec"), TAKEN)
def test_what_is_taken_here_is_taken_by_the_native_kind(native, kind, spec):
    assert native(kind, spec) is None


@needs_native_groups
@pytest.mark.parametrize(("kind", "spec"), REFUSED)
def test_what_is_refused_here_is_refused_by_the_native_kind(native, kind, spec):
    assert native(kind, spec) is not None


def test_editors_may_change_groups_and_viewers_see_them(crds, namespace):
    # the roles themselves: a controller adds them to `edit` and `view` some time later
    editing, viewing = "--clusterrole=muster-podgroups-edit", "--clusterrole=muster-podgroups-view"
    crds.kubectl("create", "rolebinding", "editors", "-n", namespace, editing, "--user=ada")
    crds.kubectl("create", "rolebinding", "viewers", "-n", namespace, viewing, "--user=bob")
    _apply(crds, namespace, "PodGroup", "one", GANG)
    crds.kubectl("delete", "--as=ada", "-n", namespace, "mpg", "one", "--dry-run=server")
    crds.kubectl("get", "--as=bob", "-n", namespace, "mpg", "one")
    with pytest.raises(PlaneError, match="cannot delete resource"):
        crds.kubectl("delete", "--as=bob", "-n", namespace, "mpg", "one", "--dry-run=server")
