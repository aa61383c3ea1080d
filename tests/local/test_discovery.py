"""Discovery documents as a real kube-apiserver 1.37.1 writes them, for the kinds that we serve."""

from __future__ import annotations

import pytest

from muster.local.kinds.kind import Kind, Strategy
from muster.local.serve import discovery
from muster.local.serve.special import reviews

SCHEDULING = "scheduling.k8s.io"


def kind(group, version, name, plural, *, short=(), categories=(), status=False, namespaced=True, custom=False):
    return Kind(
        group=group,
        version=version,
        name=name,
        plural=plural,
        type_name="" if custom else f"io.k8s.{name}",
        namespaced=namespaced,
        short_names=tuple(short),
        categories=tuple(categories),
        has_status=status,
        strategy=Strategy(one_by_one=plural == "namespaces"),
    )


# in no good order, as a registry may have them
KINDS = (
    kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", short=("crd", "crds"),
         categories=("api-extensions",), status=True, namespaced=False),
    kind("", "v1", "Service", "services", short=("svc",), categories=("all",), status=True),
    kind("", "v1", "Namespace", "namespaces", short=("ns",), status=True, namespaced=False),
    kind("", "v1", "Node", "nodes", short=("no",), status=True, namespaced=False),
    kind("", "v1", "Pod", "pods", short=("po",), categories=("all",), status=True),
    kind("", "v1", "Event", "events", short=("ev",)),
    kind("", "v1", "ConfigMap", "configmaps", short=("cm",)),
    kind("", "v1", "Secret", "secrets"),
    kind("", "v1", "ServiceAccount", "serviceaccounts", short=("sa",)),
    kind(SCHEDULING, "v1beta1", "Workload", "workloads"),
    kind(SCHEDULING, "v1beta1", "PodGroup", "podgroups", status=True),
    kind(SCHEDULING, "v1", "PriorityClass", "priorityclasses", short=("pc",), namespaced=False),
    kind("coordination.k8s.io", "v1", "Lease", "leases"),
    kind("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", short=("pdb",), status=True),
    kind("batch", "v1", "Job", "jobs", categories=("all",), status=True),
    kind("events.k8s.io", "v1", "Event", "events", short=("ev",)),
)  # fmt: skip

# two definitions in one group and one in another; foo is a version that Kubernetes cannot rank
ZOO = "zz.example.com"
CUSTOM = (
    *(
        kind(ZOO, version, "Zebra", "zebras", short=("zb",), categories=("all", "animals"), status=version == "v1",
             custom=True)
        for version in ("foo", "v1beta1", "v1", "v2")
    ),
    kind(ZOO, "v1", "Ape", "apes", namespaced=False, custom=True),
    kind("aa.example.com", "v1alpha1", "Ant", "ants", custom=True),
)  # fmt: skip

ALL = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
ALL_CUSTOM = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]
SOME = ["create", "delete", "get", "list", "patch", "update", "watch"]
STATUS = ["get", "patch", "update"]


# --- one level at a time ---


def entry(name, singular, kind, verbs, *, namespaced=True, of=(), short=(), categories=()):
    """One line of an APIResourceList; `of` is the group and version of its kind, if they are others."""
    return {
        "name": name,
        "singularName": singular,
        "namespaced": namespaced,
        **(dict(zip(("group", "version"), of, strict=True)) if of else {}),
        "kind": kind,
        "verbs": verbs,
        **({"shortNames": list(short)} if short else {}),
        **({"categories": list(categories)} if categories else {}),
    }


LISTS = {
    ("", "v1"): [
        entry("configmaps", "configmap", "ConfigMap", ALL, short=["cm"]),
        entry("events", "event", "Event", ALL, short=["ev"]),
        entry("namespaces", "namespace", "Namespace", SOME, namespaced=False, short=["ns"]),
        entry("namespaces/finalize", "", "Namespace", ["update"], namespaced=False),
        entry("namespaces/status", "", "Namespace", STATUS, namespaced=False),
        entry("nodes", "node", "Node", ALL, namespaced=False, short=["no"]),
        entry("nodes/status", "", "Node", STATUS, namespaced=False),
        entry("pods", "pod", "Pod", ALL, short=["po"], categories=["all"]),
        entry("pods/binding", "", "Binding", ["create"]),
        entry("pods/eviction", "", "Eviction", ["create"], of=("policy", "v1")),
        entry("pods/log", "", "Pod", ["get"]),
        entry("pods/status", "", "Pod", STATUS),
        entry("secrets", "secret", "Secret", ALL),
        entry("serviceaccounts", "serviceaccount", "ServiceAccount", ALL, short=["sa"]),
        entry("serviceaccounts/token", "", "TokenRequest", ["create"], of=("authentication.k8s.io", "v1")),
        entry("services", "service", "Service", ALL, short=["svc"], categories=["all"]),
        entry("services/status", "", "Service", STATUS),
    ],
    ("batch", "v1"): [
        entry("jobs", "job", "Job", ALL, categories=["all"]),
        entry("jobs/status", "", "Job", STATUS),
    ],
    (SCHEDULING, "v1"): [
        entry("priorityclasses", "priorityclass", "PriorityClass", ALL, namespaced=False, short=["pc"]),
    ],
    (SCHEDULING, "v1beta1"): [
        entry("podgroups", "podgroup", "PodGroup", ALL),
        entry("podgroups/status", "", "PodGroup", STATUS),
        entry("workloads", "workload", "Workload", ALL),
    ],
    ("events.k8s.io", "v1"): [entry("events", "event", "Event", ALL, short=["ev"])],
    ("coordination.k8s.io", "v1"): [entry("leases", "lease", "Lease", ALL)],
    ("policy", "v1"): [
        entry("poddisruptionbudgets", "poddisruptionbudget", "PodDisruptionBudget", ALL, short=["pdb"]),
        entry("poddisruptionbudgets/status", "", "PodDisruptionBudget", STATUS),
    ],
    ("apiextensions.k8s.io", "v1"): [
        entry(
            "customresourcedefinitions",
            "customresourcedefinition",
            "CustomResourceDefinition",
            ALL,
            namespaced=False,
            short=["crd", "crds"],
            categories=["api-extensions"],
        ),
        entry("customresourcedefinitions/status", "", "CustomResourceDefinition", STATUS, namespaced=False),
    ],
    (ZOO, "v1"): [
        entry("apes", "ape", "Ape", ALL_CUSTOM, namespaced=False),
        entry("zebras", "zebra", "Zebra", ALL_CUSTOM, short=["zb"], categories=["all", "animals"]),
        entry("zebras/status", "", "Zebra", STATUS),
    ],
    (ZOO, "v2"): [entry("zebras", "zebra", "Zebra", ALL_CUSTOM, short=["zb"], categories=["all", "animals"])],
}

GROUPS = {
    "events.k8s.io": ["v1"],
    "batch": ["v1"],
    "policy": ["v1"],
    "apiextensions.k8s.io": ["v1"],
    SCHEDULING: ["v1", "v1beta1"],
    "coordination.k8s.io": ["v1"],
    "aa.example.com": ["v1alpha1"],
    ZOO: ["v2", "v1", "v1beta1", "foo"],
}


def group(name):
    versions = [{"groupVersion": f"{name}/{version}", "version": version} for version in GROUPS[name]]
    return {"name": name, "versions": versions, "preferredVersion": versions[0]}


@pytest.mark.parametrize(("where", "entries"), LISTS.items(), ids=str)
def test_a_version_lists_its_resources(where, entries):
    document = discovery.resources((*KINDS, *CUSTOM), *where)
    assert document["resources"] == entries
    assert [list(one) for one in document["resources"]] == [list(one) for one in entries]


def test_only_lists_of_named_groups_have_a_version():
    core = discovery.resources(KINDS, "", "v1")
    named = discovery.resources(KINDS, "batch", "v1")
    assert list(core) == ["kind", "groupVersion", "resources"]
    assert list(named) == ["kind", "apiVersion", "groupVersion", "resources"]
    assert (core["kind"], core["groupVersion"]) == ("APIResourceList", "v1")
    assert (named["apiVersion"], named["groupVersion"]) == ("v1", "batch/v1")


@pytest.mark.parametrize("where", [("", "v2"), ("batch", "v1beta1"), ("apps", "v1")])
def test_a_version_that_is_not_served_has_no_list(where):
    assert discovery.resources(KINDS, *where) is None


def test_groups_are_listed_as_the_real_server_ranks_them():
    document = discovery.groups((*KINDS, *CUSTOM))
    assert document == {"kind": "APIGroupList", "apiVersion": "v1", "groups": [group(name) for name in GROUPS]}


@pytest.mark.parametrize("name", GROUPS)
def test_a_group_names_its_versions_the_best_first(name):
    document = discovery.group((*KINDS, *CUSTOM), name)
    assert document == {"kind": "APIGroup", "apiVersion": "v1", **group(name)}
    assert list(document) == ["kind", "apiVersion", "name", "versions", "preferredVersion"]


@pytest.mark.parametrize("name", ["", "apps"])
def test_a_group_that_is_not_served_has_no_document(name):
    assert discovery.group(KINDS, name) is None


def test_versions_are_ranked_as_kubernetes_ranks_them():
    ranked = ["v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2", "foo1", "foo10"]
    kinds = [kind("g.example.com", version, "X", "xs", custom=True) for version in sorted(ranked)]
    found = discovery.group(kinds, "g.example.com")["versions"]
    assert [one["version"] for one in found] == ranked


def test_the_core_group_tells_where_the_server_is():
    assert discovery.versions("127.0.0.1:6443") == {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:6443"}],
    }


# --- all at once ---


def own(kind, group="", version=""):
    return {"group": group, "version": version, "kind": kind}


def test_the_aggregated_document_of_the_core_group():
    document = discovery.aggregated((*KINDS, *CUSTOM), core=True)
    assert list(document) == ["kind", "apiVersion", "metadata", "items"]
    assert (document["kind"], document["apiVersion"]) == ("APIGroupDiscoveryList", "apidiscovery.k8s.io/v2")
    (core,) = document["items"]
    assert core["metadata"] == {}
    (version,) = core["versions"]
    assert list(version) == ["version", "resources", "freshness"]
    assert (version["version"], version["freshness"]) == ("v1", "Current")
    names = ["configmaps", "events", "namespaces", "nodes", "pods", "secrets", "serviceaccounts", "services"]
    assert [one["resource"] for one in version["resources"]] == names


def test_an_aggregated_entry_holds_its_subresources():
    (core,) = discovery.aggregated(KINDS, core=True)["items"]
    (pods,) = [one for one in core["versions"][0]["resources"] if one["resource"] == "pods"]
    expected = {
        "resource": "pods",
        "responseKind": own("Pod"),
        "scope": "Namespaced",
        "singularResource": "pod",
        "verbs": ALL,
        "shortNames": ["po"],
        "categories": ["all"],
        "subresources": [
            {"subresource": "binding", "responseKind": own("Binding"), "verbs": ["create"]},
            {"subresource": "eviction", "responseKind": own("Eviction", "policy", "v1"), "verbs": ["create"]},
            {"subresource": "log", "responseKind": own("Pod"), "verbs": ["get"]},
            {"subresource": "status", "responseKind": own("Pod"), "verbs": STATUS},
        ],
    }
    assert pods == expected
    assert list(pods) == list(expected)


def test_the_aggregated_document_of_named_groups():
    items = discovery.aggregated((*KINDS, *CUSTOM), core=False)["items"]
    found = {one["metadata"]["name"]: [version["version"] for version in one["versions"]] for one in items}
    assert found == GROUPS
    assert list(found) == list(GROUPS)


def test_custom_kinds_name_their_group_and_version_where_built_in_ones_do_not():
    items = discovery.aggregated((*KINDS, *CUSTOM), core=False)["items"]
    batch, zoo = items[1], items[-1]
    (jobs,) = batch["versions"][0]["resources"]
    apes, zebras = zoo["versions"][1]["resources"]
    assert jobs["responseKind"] == own("Job")
    assert apes == {
        "resource": "apes",
        "responseKind": own("Ape", ZOO, "v1"),
        "scope": "Cluster",
        "singularResource": "ape",
        "verbs": ALL_CUSTOM,
    }
    assert zebras["subresources"] == [
        {"subresource": "status", "responseKind": own("Zebra", ZOO, "v1"), "verbs": STATUS}
    ]


# --- the rest ---


def test_questions_about_rights_can_only_be_asked():
    (first, second) = discovery.resources(reviews.KINDS, "authorization.k8s.io", "v1")["resources"]
    access = entry(
        "selfsubjectaccessreviews", "selfsubjectaccessreview", "SelfSubjectAccessReview", ["create"], namespaced=False
    )
    rules = entry(
        "selfsubjectrulesreviews", "selfsubjectrulesreview", "SelfSubjectRulesReview", ["create"], namespaced=False
    )
    assert (first, second) == (access, rules)


def test_the_root_lists_paths():
    document = discovery.paths((*KINDS, *CUSTOM), others=["/version", "/healthz"])
    assert document == {
        "paths": [
            "/api",
            "/api/v1",
            "/apis",
            "/apis/",
            "/apis/aa.example.com",
            "/apis/aa.example.com/v1alpha1",
            "/apis/apiextensions.k8s.io",
            "/apis/apiextensions.k8s.io/v1",
            "/apis/batch",
            "/apis/batch/v1",
            "/apis/coordination.k8s.io",
            "/apis/coordination.k8s.io/v1",
            "/apis/events.k8s.io",
            "/apis/events.k8s.io/v1",
            "/apis/policy",
            "/apis/policy/v1",
            "/apis/scheduling.k8s.io",
            "/apis/scheduling.k8s.io/v1",
            "/apis/scheduling.k8s.io/v1beta1",
            "/apis/zz.example.com",
            "/apis/zz.example.com/foo",
            "/apis/zz.example.com/v1",
            "/apis/zz.example.com/v1beta1",
            "/apis/zz.example.com/v2",
            "/healthz",
            "/version",
        ]
    }


def test_the_version_has_the_fields_of_the_real_server():
    fields = (
        "major minor emulationMajor emulationMinor minCompatibilityMajor minCompatibilityMinor gitVersion gitCommit "
        "gitTreeState buildDate goVersion compiler platform"
    )
    assert list(discovery.VERSION) == fields.split()
    assert discovery.VERSION["gitVersion"].startswith("v1.37.1")
