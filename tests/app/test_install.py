"""The manifests of deploy/ and `muster install`, without a cluster."""

import asyncio
import json
import re
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import looptime
import pytest
import yaml
from click.testing import CliRunner

from controlplane import build
from muster import __version__
from muster.api.asks import asks_of
from muster.api.wire import PodSpec, read
from muster.app import configuration, dialects
from muster.app.install import (
    Plan,
    apply,
    carry_out,
    definitions,
    lacks_pod_groups,
    load,
    manifests,
    next_steps,
    to_yaml,
)
from muster.app.settings import Settings
from muster.base.errors import ApiError, ConfigError, KubeError
from muster.cli import main
from muster.cli.install import install
from muster.gangs.dialects import DIALECTS as ALL_DIALECTS

DEPLOY = Path(__file__).parents[2] / "deploy"
DIALECTS = sorted(folder.name for folder in (DEPLOY / "dialects").iterdir())
EVERYTHING = Plan(image="registry.example.com/muster:9")
ALL = Plan(dialects=dialects.NAMES)


def by_name(objects):
    return {f"{item['kind']}/{item['metadata']['name']}": item for item in objects}


def the(kind, objects):
    (found,) = (item for item in objects if item["kind"] == kind)
    return found


def config(objects):
    return yaml.safe_load(the("ConfigMap", objects)["data"]["config.yaml"])


# -- the files --


@pytest.mark.parametrize("folder", ["base", "replacement", "crds", *(f"dialects/{name}" for name in DIALECTS)])
def test_the_loader_reads_a_folder_as_kubectl_does(folder):
    kubectl = _kubectl()
    if kubectl is None:
        pytest.skip("kubectl is not there: put it on the PATH, or run `make control-plane`")
    ran = subprocess.run([kubectl, "kustomize", DEPLOY / folder], capture_output=True, text=True, check=True)
    assert by_name(load(DEPLOY / folder)) == by_name(yaml.safe_load_all(ran.stdout))


def _kubectl():
    built = build.program("kubectl", build.KUBERNETES)
    return built if built.is_file() else shutil.which("kubectl")


def test_every_object_says_what_it_is_and_that_it_is_musters():
    for item in manifests(ALL, crds=True) + definitions(dialects.NAMES):
        assert item["apiVersion"]
        assert item["metadata"]["labels"]["app.kubernetes.io/name"] == "muster"


def test_an_object_comes_after_those_it_needs():
    kinds = [item["kind"] for item in manifests(Plan(), crds=True)]
    assert list(dict.fromkeys(kinds)) == [
        "Namespace",
        "CustomResourceDefinition",
        "ServiceAccount",
        "ClusterRole",
        "ClusterRoleBinding",
        "Role",
        "RoleBinding",
        "ConfigMap",
        "PodDisruptionBudget",
        "Deployment",
    ]


def test_a_binding_gives_a_role_that_is_there_to_the_account_that_the_pods_use():
    objects = manifests(Plan(), crds=True)
    names = by_name(objects)
    account = the("Deployment", objects)["spec"]["template"]["spec"]["serviceAccountName"]
    for binding in objects:
        if binding["kind"].endswith("Binding"):
            assert f"{binding['roleRef']['kind']}/{binding['roleRef']['name']}" in names
            subject = {"kind": "ServiceAccount", "name": account, "namespace": "muster-system"}
            assert binding["subjects"] == [subject]


def test_no_right_is_given_by_a_wildcard():
    roles = [item for item in manifests(ALL, crds=True) if item["kind"] in ("Role", "ClusterRole")]
    rules = [rule for role in roles for rule in role["rules"]]
    assert not [rule for rule in rules if "*" in rule["apiGroups"] + rule["resources"] + rule["verbs"]]


def test_the_pods_run_without_any_privilege():
    pod = the("Deployment", manifests(Plan(), crds=False))["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_muster_asks_for_nothing_that_muster_refuses():
    spec = the("Deployment", manifests(Plan(replace_default=True), crds=False))["spec"]["template"]["spec"]
    asks = asks_of(read(PodSpec, spec))
    # as the only scheduler it places its own replicas
    assert [ask.plugin for ask in asks] == ["PodTopologySpread"]
    assert Settings().make_profiles()[0].unhonoured(asks) == ()


def test_the_image_has_the_version_of_this_package():
    pod = the("Deployment", manifests(Plan(), crds=False))["spec"]["template"]["spec"]
    assert pod["containers"][0]["image"] == f"muster:{__version__}"


def test_the_lease_that_is_configured_is_the_one_that_may_be_changed():
    objects = manifests(Plan(), crds=False)
    lease = config(objects)["leaderElection"]
    role = the("Role", objects)
    assert (lease["resourceNamespace"], [lease["resourceName"]]) == (
        role["metadata"]["namespace"],
        role["rules"][1]["resourceNames"],
    )


@pytest.mark.parametrize("replace_default", [False, True])
def test_muster_reads_its_own_configuration(tmp_path, replace_default):
    objects = manifests(Plan(replace_default=replace_default), crds=False)
    file = tmp_path / "config.yaml"
    file.write_text(the("ConfigMap", objects)["data"]["config.yaml"])
    assert configuration.load(file).notes == ()


def test_a_second_scheduler_takes_only_pods_that_name_it():
    assert config(manifests(Plan(), crds=False))["profiles"] == [{"schedulerName": "muster"}]


def test_a_replacement_takes_the_default_schedulers_pods_too():
    replacement = config(manifests(Plan(replace_default=True), crds=False))
    second = config(manifests(Plan(), crds=False))
    assert replacement.pop("profiles") == [{"schedulerName": "default-scheduler"}, {"schedulerName": "muster"}]
    second.pop("profiles")
    assert replacement == second


def test_a_change_of_role_starts_new_pods():
    second = the("Deployment", manifests(Plan(), crds=False))["spec"]["template"]
    replacement = the("Deployment", manifests(Plan(replace_default=True), crds=False))["spec"]["template"]
    assert second != replacement


def test_both_crds_have_the_same_rules_for_what_they_share():
    crds = [item for item in manifests(Plan(), crds=True) if item["kind"] == "CustomResourceDefinition"]
    groups, workloads = (
        item["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] for item in crds
    )
    group, template = groups["properties"], workloads["properties"]["podGroupTemplates"]["items"]["properties"]
    shared = group.keys() & template.keys()
    assert group.keys() - shared == {"parentCompositePodGroupName", "workloadRef"}
    assert template.keys() - shared == {"name"}
    # only objects that are scheduled are completed
    assert group["disruptionMode"].pop("default") == {"single": {}}
    assert {name: group[name] for name in shared} == {name: template[name] for name in shared}


# -- what is asked for --


def test_an_image_replaces_the_placeholder():
    pod = the("Deployment", manifests(EVERYTHING, crds=False))["spec"]["template"]["spec"]
    assert pod["containers"][0]["image"] == "registry.example.com/muster:9"


def test_another_namespace_is_used_everywhere():
    text = to_yaml(manifests(Plan(namespace="batch"), crds=True))
    assert "muster-system" not in text
    assert config(list(yaml.safe_load_all(text)))["leaderElection"]["resourceNamespace"] == "batch"


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (Plan(namespace="Batch"), "'Batch' cannot be the name of a namespace; small letters, digits and - only"),
        (
            Plan(namespace="kube-system"),
            "Muster does not install itself into kube-system; give it a namespace of its own",
        ),
        (Plan(image=""), "'' is no image; write it like registry.example.com/muster:0.1.0"),
    ],
)
def test_a_plan_that_cannot_be_is_refused_in_a_line(plan, message):
    with pytest.raises(ConfigError) as refusal:
        manifests(plan, crds=False)
    assert str(refusal.value) == message


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"kustomization.yaml": "namePrefix: a-"}, "namePrefix is not supported here; use kubectl apply -k instead"),
        ({"kustomization.yaml": "patches: [{patch: x}]"}, "patch is not supported here; use kubectl apply -k instead"),
        ({"kustomization.yaml": "resources: [a.yaml]"}, "a.yaml cannot be read"),
        (
            {
                "kustomization.yaml": "resources: [a.yaml]\npatches: [{path: b.yaml}]",
                "a.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}",
                "b.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}",
            },
            "b.yaml patches 0 objects instead of one",
        ),
        (
            {
                "kustomization.yaml": "resources: [a.yaml]\npatches: [{path: b.yaml}]",
                "a.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}",
                "b.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, spec: [1]}",
            },
            "only mappings can be patched, spec is more",
        ),
    ],
)
def test_what_the_loader_does_not_know_is_refused(tmp_path, files, message):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(ConfigError) as refusal:
        load(tmp_path)
    assert message in str(refusal.value)


# -- dialects --


def crds(objects):
    return [item["metadata"]["name"] for item in objects if item["kind"] == "CustomResourceDefinition"]


@pytest.mark.parametrize("dialect", ALL_DIALECTS, ids=lambda dialect: dialect.name)
def test_a_cluster_of_ours_can_serve_every_kind_that_a_dialect_reads(dialect):
    defined = {
        (item["spec"]["group"], version["name"], item["spec"]["names"]["plural"], item["spec"]["names"]["kind"])
        for item in definitions([dialect.name])
        for version in item["spec"]["versions"]
    }
    wanted = {(one.group, one.version, one.plural, one.kind) for one in dialect.resources}
    assert {one for one in wanted if one[0] != "scheduling.k8s.io"} <= defined


@pytest.mark.parametrize("dialect", ALL_DIALECTS, ids=lambda dialect: dialect.name)
def test_definitions_have_a_status_where_muster_writes_one(dialect):
    if not dialect.has_status:
        return
    for item in definitions([dialect.name]):
        (version,) = item["spec"]["versions"]
        if item["spec"]["names"]["kind"] == "PodGroup":
            assert version["subresources"] == {"status": {}}
            assert "conditions" in version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]


@pytest.mark.parametrize("name", DIALECTS)
def test_who_may_edit_a_namespace_may_edit_groups_of_every_dialect(name):
    roles = [item for item in load(DEPLOY / "dialects" / name) if item["kind"] == "ClusterRole"]
    if dialects.brought_by_others(name):
        assert roles == []
        return
    kinds = {(item["spec"]["group"], item["spec"]["names"]["plural"]) for item in definitions([name])}
    for role in roles:
        (rule,) = role["rules"]
        given = {(group, what) for group in rule["apiGroups"] for what in rule["resources"] if "/" not in what}
        assert given == kinds
    assert {role["metadata"]["name"] for role in roles} == {f"muster-{name}-view", f"muster-{name}-edit"}


def test_dialects_come_along_with_the_rest_each_once():
    objects = manifests(Plan(dialects=("coscheduling", "v1alpha2", "coscheduling")), crds=False)
    assert crds(objects) == [
        "podgroups.scheduling.x-k8s.io",
        "podgroups.v1alpha2.muster.dev",
        "workloads.v1alpha2.muster.dev",
    ]
    assert len(by_name(objects)) == len(objects)


def test_the_dialect_of_muster_is_its_crds():
    plain, named = manifests(Plan(), crds=True), manifests(Plan(dialects=("muster",)), crds=False)
    assert manifests(Plan(dialects=("muster",)), crds=True) == named == plain


def test_kinds_that_others_bring_are_left_to_them_and_that_is_said():
    options = ["install", "--dry-run", "--crds", "never"]
    theirs = [option for name in ("volcano", "kai", "labels", "v1beta1") for option in ("--dialect", name)]
    printed = CliRunner().invoke(main, [*options, *theirs]).stdout
    assert printed.splitlines()[:4] == [
        "# volcano: Volcano brings its kinds itself, and Muster reads them",
        "# kai: KAI brings its kinds itself, and Muster reads them",
        "# labels: labels of pods say everything, it has no kinds",
        "# v1beta1: Kubernetes serves its kinds where they are switched on: API scheduling.k8s.io/v1beta1, gate "
        "GenericWorkload",
    ]
    assert list(yaml.safe_load_all(printed)) == manifests(Plan(), crds=False)


@pytest.mark.parametrize("command", [["install", "--dry-run", "--crds", "never"], ["up", "--dir", "/nowhere"]])
def test_a_name_that_is_no_dialect_is_one_line_with_those_that_are(command, capsys):
    with pytest.raises(SystemExit) as left:
        main([*command, "--dialect", "cosched"])
    assert left.value.code == 2
    assert capsys.readouterr().err == (
        "muster: 'cosched' is no dialect; choose from coscheduling, draft, kai, labels, muster, subsets, v1alpha1, "
        "v1alpha2, v1beta1, volcano\n"
    )


# -- the documentation --


def test_the_examples_in_the_documentation_fit_together():
    text = (DEPLOY.parent / "docs" / "install.md").read_text()
    group, job = yaml.safe_load_all(re.search(r"```yaml\n(.*?)```", text, re.DOTALL)[1])
    pod = job["spec"]["template"]
    assert pod["metadata"]["labels"]["muster.dev/pod-group"] == group["metadata"]["name"]
    assert pod["spec"]["schedulerName"] == "muster"
    assert group["spec"]["schedulingPolicy"]["gang"]["minCount"] == job["spec"]["parallelism"]


# -- the command --


def test_a_dry_run_prints_everything_without_a_cluster(tmp_path):
    command = [sys.executable, "-c", "from muster.cli.install import install; install()"]
    options = ["--dry-run", "--crds", "always", "--replace-default"]
    ran = subprocess.run([*command, *options], capture_output=True, check=True, env={"HOME": str(tmp_path)})
    assert list(yaml.safe_load_all(ran.stdout)) == manifests(Plan(replace_default=True), crds=True)


def test_text_of_several_lines_is_printed_as_such():
    assert "\n  config.yaml: |\n    apiVersion: kubescheduler.config.k8s.io/v1\n" in to_yaml(
        manifests(Plan(), crds=False)
    )


@pytest.mark.parametrize("options", [[], ["--dry-run", "--apply"]])
def test_one_of_dry_run_and_apply_must_be_said(options):
    result = CliRunner().invoke(install, options)
    assert result.exit_code == 2
    assert "say either --dry-run to print the manifests or --apply to apply them" in result.stderr


# -- applying --


class Cluster:
    """Keeps objects by path and counts versions, as an API server does; CRDs are served from the n-th look on."""

    def __init__(self, *, looks=1):
        self.objects = {}
        self.log = []
        self._looks = looks
        self._version = 0

    async def request(self, method, path, *, query=None, body=None, content_type=None):
        self.log.append((method, path))
        if method == "PATCH":
            assert query == {"fieldManager": "muster-install", "force": "true"}
            assert content_type == "application/apply-patch+yaml"
            self._keep(path, json.loads(body))
        if path not in self.objects:
            raise ApiError("not found", code=404, reason="NotFound")
        return json.dumps(self._shown(path)).encode()

    def _keep(self, path, item):
        old = self.objects.get(path)
        if old is None or old[0] != item:
            self._version += 1
            self.objects[path] = (item, self._version)

    def _shown(self, path):
        item, version = self.objects[path]
        looks = self.log.count(("GET", path)) - 1
        # null, not absent: so a real API server shows a CRD that it has just got
        conditions = [{"type": "Established", "status": "True"}] if looks >= self._looks else None
        return item | {
            "metadata": item["metadata"] | {"resourceVersion": str(version)},
            "status": {"conditions": conditions},
        }


def run(coroutine):
    """In virtual time."""
    with closing(looptime.new_event_loop()) as loop:
        return loop.run_until_complete(coroutine)


def applied(cluster, plan=EVERYTHING):
    lines = []
    run(apply(cluster, manifests(plan, crds=True), tell=lines.append))
    return lines


def test_the_first_application_creates_everything_in_order():
    cluster = Cluster()
    lines = applied(cluster)
    assert lines[:3] == [
        "namespace/muster-system created",
        "customresourcedefinition/podgroups.muster.dev created",
        "customresourcedefinition/workloads.muster.dev created",
    ]
    assert lines[-1] == "deployment/muster created"
    assert all(line.endswith(" created") for line in lines)
    assert "/apis/apps/v1/namespaces/muster-system/deployments/muster" in cluster.objects
    assert "/api/v1/namespaces/muster-system" in cluster.objects


def test_applying_again_changes_only_what_differs():
    cluster = Cluster()
    applied(cluster)
    lines = applied(cluster, Plan(image="registry.example.com/muster:10"))
    assert [line for line in lines if not line.endswith(" unchanged")] == ["deployment/muster configured"]


def test_nothing_follows_a_crd_before_it_is_served():
    cluster = Cluster(looks=2)
    applied(cluster)
    crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/podgroups.muster.dev"
    first = cluster.log.index(("PATCH", crd))
    assert cluster.log[first + 1 : first + 3] == [("GET", crd)] * 2
    assert cluster.log[first + 3][1] != crd


def test_a_crd_that_is_never_served_ends_the_wait_with_a_line():
    with pytest.raises(KubeError) as refusal:
        applied(Cluster(looks=10**9))
    assert str(refusal.value) == (
        "podgroups.muster.dev was not served within 30 s; look at: kubectl describe crd podgroups.muster.dev"
    )


def test_a_namespace_of_others_keeps_its_labels():
    cluster = Cluster()
    theirs = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "batch"}}
    cluster.objects["/api/v1/namespaces/batch"] = (theirs, 1)
    lines = applied(cluster, Plan(namespace="batch"))
    assert lines[0] == "namespace/batch left as it is: it was there before Muster"
    assert cluster.objects["/api/v1/namespaces/batch"] == (theirs, 1)


def test_a_definition_of_others_is_left_to_them():
    cluster = Cluster()
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/podgroups.scheduling.x-k8s.io"
    theirs = {"kind": "CustomResourceDefinition", "metadata": {"name": "podgroups.scheduling.x-k8s.io"}}
    cluster.objects[path] = (theirs, 1)
    lines = applied(cluster, Plan(dialects=("coscheduling",)))
    assert ("customresourcedefinition/podgroups.scheduling.x-k8s.io left as it is: it was there before Muster") in lines
    assert cluster.objects[path] == (theirs, 1)


def test_a_refusal_names_the_object_and_stops():
    class Refusing(Cluster):
        async def request(self, method, path, **more):
            if method == "PATCH" and "clusterroles" in path:
                raise ApiError("ada may not", code=403, reason="Forbidden")
            return await super().request(method, path, **more)

    cluster = Refusing()
    with pytest.raises(KubeError) as refusal:
        applied(cluster)
    assert str(refusal.value) == (
        "clusterrole/muster was refused: ada may not; applying needs the rights of a cluster administrator"
    )
    assert not [path for path in cluster.objects if "deployments" in path]


@pytest.mark.parametrize(
    ("served", "lacks"),
    [
        ({}, True),
        ({"v1beta1": ["priorityclasses"]}, True),
        ({"v1beta1": ["podgroups", "podgroups/status", "workloads"]}, False),
        ({"v1alpha3": ["compositepodgroups", "podgroups"]}, False),
    ],
)
def test_crds_are_wanted_where_pod_groups_are_not_served(served, lacks):
    class Discovery:
        async def request(self, method, path):
            root, _, version = path.rpartition("/")
            assert (method, root) == ("GET", "/apis/scheduling.k8s.io")
            if version not in served:
                raise ApiError("not found", code=404, reason="NotFound")
            return json.dumps({"resources": [{"name": name} for name in served[version]]}).encode()

    assert run(lacks_pod_groups(Discovery())) is lacks


@pytest.mark.parametrize("kubeconfig", ["missing", "silent"])
def test_a_dry_run_that_finds_no_cluster_says_how_to_do_without(tmp_path, kubeconfig):
    user, cluster = {"name": "u", "user": {}}, {"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}
    context = {"name": "x", "context": {"user": "u", "cluster": "c"}}
    silent = {"clusters": [cluster], "users": [user], "contexts": [context], "current-context": "x"}
    (tmp_path / "silent").write_text(yaml.safe_dump(silent))
    nothing = {"context": None, "insecure": False, "tell": print}
    with pytest.raises(KubeError, match="--crds auto asks the cluster: ") as refusal:
        _real(carry_out(Plan(), apply_them=False, kubeconfig=str(tmp_path / kubeconfig), **nothing))
    assert refusal.value.hint == "say --crds always or --crds never to print manifests without a cluster"


def _real(coroutine):
    with closing(asyncio.new_event_loop()) as loop:
        return loop.run_until_complete(coroutine)


@pytest.mark.parametrize(
    ("plan", "crds", "words"),
    [
        (EVERYTHING, True, "muster.dev/v1beta1"),
        (EVERYTHING, False, "scheduling.k8s.io/v1beta1"),
        (Plan(dialects=("subsets",)), False, "scheduling.k8s.io/v1beta1"),
        (EVERYTHING, False, "schedulerName: muster"),
        (Plan(replace_default=True), False, "stop kube-scheduler"),
        (Plan(), False, f"muster:{__version__} names no registry"),
        (Plan(namespace="batch"), False, "kubectl -n batch rollout status"),
    ],
)
def test_the_last_lines_say_what_to_do_next(plan, crds, words):
    assert words in "\n".join(next_steps(manifests(plan, crds=crds)))
