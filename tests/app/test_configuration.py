"""KubeSchedulerConfiguration files: what they ask for, and what is said of those that cannot be used."""

import re
from pathlib import Path
from textwrap import dedent

import pytest
import yaml

from muster.api.kinds import NAMESPACES
from muster.app.configuration import load, loads
from muster.app.settings import LeaderElection, Settings, host_and_port, make_engine, override, to_journal
from muster.base.errors import ConfigError
from muster.engine.changes import Failure
from muster.engine.engine import Engine
from muster.engine.journal import Recorder, replay
from muster.framework.profile import Backoff, Fairness, PreemptionSettings, Unsupported
from muster.plugins.default_spread import BY_THEIR_SELECTORS as SPREAD_BY
from muster.plugins.default_spread import DefaultConstraint
from muster.plugins.node_resources_fit import Strategy
from muster.plugins.registry import PLUGINS, AffinityArgs, BalancedArgs, DeviceArgs, FitArgs, SpreadArgs, VolumeArgs
from tests.builders import World, cluster, node, placements, pod, rather, strictly

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def read(text=""):
    """What a file with these lines below its head says."""
    return loads(HEAD + dedent(text), file="f.yaml")


def settings(text=""):
    return read(text).settings


def refusal(text):
    with pytest.raises(ConfigError) as caught:
        read(text)
    return str(caught.value)


def plugins(text, config=""):
    """The settings of a profile with these plugins."""
    profile = {"schedulerName": "muster", "plugins": yaml.safe_load(text), "pluginConfig": yaml.safe_load(config)}
    return settings(yaml.safe_dump({"profiles": [profile]}))


def names(found):
    return [part.name for part in found.plugins]


def part(found, name):
    return next(part for part in found.plugins if part.name == name)


def weights(found):
    return {part.name: part.weight for part in found.plugins if part.weight}


# --- whole files ------------------------------------------------------------------------------------


def test_a_file_that_asks_for_nothing_gives_the_defaults():
    assert read().settings == Settings()
    assert read().notes == ()


FULL = """
    parallelism: 16
    clientConnection:
      kubeconfig: /etc/kubernetes/scheduler.conf
      acceptContentTypes: ""
      contentType: application/json
      qps: 50
      burst: 100
    leaderElection:
      leaderElect: true
      leaseDuration: 15s
      renewDeadline: 10s
      retryPeriod: 2s
      resourceLock: leases
      resourceName: kube-scheduler
      resourceNamespace: kube-system
    enableProfiling: true
    enableContentionProfiling: true
    percentageOfNodesToScore: 0
    podInitialBackoffSeconds: 1
    podMaxBackoffSeconds: 10
    delayCacheUntilActive: false
    extenders: null
    profiles:
    - schedulerName: default-scheduler
      plugins:
        multiPoint: {}
        preEnqueue: {}
        queueSort: {}
        preFilter: {}
        filter: {}
        postFilter: {enabled: [{name: DefaultPreemption}]}
        preScore: {}
        score: {}
        reserve: {}
        permit: {}
        preBind: {}
        bind: {}
        postBind: {}
      pluginConfig:
      - name: DefaultPreemption
        args:
          apiVersion: kubescheduler.config.k8s.io/v1
          kind: DefaultPreemptionArgs
          minCandidateNodesAbsolute: 100
          minCandidateNodesPercentage: 10
      - name: NodeAffinity
        args:
          apiVersion: kubescheduler.config.k8s.io/v1
          kind: NodeAffinityArgs
      - name: NodeResourcesBalancedAllocation
        args:
          apiVersion: kubescheduler.config.k8s.io/v1
          kind: NodeResourcesBalancedAllocationArgs
          resources: [{name: cpu, weight: 1}, {name: memory, weight: 1}]
      - name: NodeResourcesFit
        args:
          apiVersion: kubescheduler.config.k8s.io/v1
          kind: NodeResourcesFitArgs
          scoringStrategy:
            type: LeastAllocated
            resources: [{name: cpu, weight: 1}, {name: memory, weight: 1}]
"""


def test_upstreams_defaults_written_out_are_ours_under_upstreams_names():
    configuration = read(FULL)
    assert configuration.settings == Settings(
        kubeconfig=Path("/etc/kubernetes/scheduler.conf"),
        scheduler_names=("default-scheduler",),
        leader_election=LeaderElection(name="kube-scheduler"),
        qps=50.0,
        burst=100,
    )
    assert configuration.notes == (
        "enableProfiling has no effect: Muster serves no profiles",
        "enableContentionProfiling has no effect: Muster serves no profiles",
        "leaderElection.resourceName is kube-scheduler's own: beside one, Muster would only wait",
    )


def test_a_list_of_all_upstream_plugins_is_refused_with_all_that_are_missing():
    ours = [name for name in PLUGINS if name != "GangScheduling"]
    theirs = ["DeferredPodScheduling", "PodGroupPodsCount"]
    enabled = [{"name": name} for name in [*ours, *theirs, "DefaultBinder"]]
    text = yaml.safe_dump({"profiles": [{"schedulerName": "s", "plugins": {"multiPoint": {"enabled": enabled}}}]})
    assert refusal(text) == (
        "f.yaml: profiles[0].plugins.multiPoint.enabled: plugins DeferredPodScheduling, PodGroupPodsCount are not in "
        "Muster yet; leave them out"
    )


def test_json_is_read_as_well():
    text = '{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration","parallelism":16}'
    assert loads(text).settings == Settings()


def test_a_file_is_read_from_its_path(tmp_path):
    path = tmp_path / "scheduler.yaml"
    path.write_text(HEAD + "podMaxBackoffSeconds: 60\n")
    assert load(path).settings.backoff == Backoff(maximum=60.0)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ConfigError) as caught:
        load(tmp_path / "none.yaml")
    assert str(caught.value) == f"{tmp_path}/none.yaml cannot be read: No such file or directory"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "f.yaml: the file is empty; it must be a KubeSchedulerConfiguration"),
        ("- a", "f.yaml: must be a mapping, not a list"),
        ("just words", "f.yaml: must be a mapping, not 'just words'"),
        ("a: [", "f.yaml:1: not YAML: expected the node content, but found '<stream end>'"),
        ("a: 1\nb: 2\na: 3\n", "f.yaml:3: not YAML: 'a' is given twice"),
        (f"{HEAD}---\n{HEAD}", "f.yaml:3: not YAML: but found another document"),
        (
            "kind: KubeSchedulerConfiguration",
            "f.yaml: needs apiVersion; add a line 'apiVersion: kubescheduler.config.k8s.io/v1'",
        ),
        (
            HEAD.replace("/v1\n", "/v1beta3\n"),
            "f.yaml: apiVersion: must be kubescheduler.config.k8s.io/v1, not 'kubescheduler.config.k8s.io/v1beta3'",
        ),
        (
            HEAD.replace("KubeScheduler", "Kubelet"),
            "f.yaml: kind: must be KubeSchedulerConfiguration, not 'KubeletConfiguration'",
        ),
    ],
)
def test_what_is_no_such_document_is_refused(text, message):
    with pytest.raises(ConfigError) as caught:
        loads(text, file="f.yaml")
    assert str(caught.value) == message


def test_the_settings_in_the_documentation_are_the_defaults():
    text = (Path(__file__).parents[2] / "docs" / "install.md").read_text()
    blocks = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    (example,) = [block for block in blocks if "KubeSchedulerConfiguration" in block]
    assert loads(example).settings == Settings()


# --- fields -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("profile: []", "profile: unknown field; did you mean profiles?"),
        (
            "healthzBindAddress: 0.0.0.0:10251",
            "healthzBindAddress: unknown field; known are apiVersion, kind, parallelism, leaderElection, "
            "clientConnection, enableProfiling, enableContentionProfiling, percentageOfNodesToScore, "
            "podInitialBackoffSeconds, podMaxBackoffSeconds, profiles, extenders, delayCacheUntilActive",
        ),
        ("extenders: [{urlPrefix: 'http://x'}]", "extenders: not supported: Muster calls no extenders; leave it out"),
        (
            "delayCacheUntilActive: true",
            "delayCacheUntilActive: not supported: a replica that waits keeps its view of the cluster up to date; "
            "leave it out",
        ),
        ("parallelism: 0", "parallelism: must be a whole number of at least 1, not 0"),
        ("parallelism: many", "parallelism: must be a whole number of at least 1, not 'many'"),
        ("percentageOfNodesToScore: 101", "percentageOfNodesToScore: must be from 0 to 100, not 101"),
        ("enableProfiling: 1", "enableProfiling: must be true or false, not 1"),
        ("podInitialBackoffSeconds: 0", "podInitialBackoffSeconds: must be a whole number of at least 1, not 0"),
        ("podInitialBackoffSeconds: 1.5", "podInitialBackoffSeconds: must be a whole number of at least 1, not 1.5"),
        (
            "podInitialBackoffSeconds: 20",
            "podInitialBackoffSeconds: podMaxBackoffSeconds (10) must be at least podInitialBackoffSeconds (20)",
        ),
        (
            "{podInitialBackoffSeconds: 5, podMaxBackoffSeconds: 4}",
            "podMaxBackoffSeconds: podMaxBackoffSeconds (4) must be at least podInitialBackoffSeconds (5)",
        ),
        ("profiles: {}", "profiles: must be a list, not a mapping"),
        ("profiles: [x]", "profiles[0]: must be a mapping, not 'x'"),
        (
            "clientConnection: {server: x}",
            "clientConnection.server: unknown field; known are kubeconfig, acceptContentTypes, contentType, qps, burst",
        ),
        (
            "clientConnection: {contentType: application/vnd.kubernetes.protobuf}",
            "clientConnection.contentType: must be application/json, not 'application/vnd.kubernetes.protobuf': "
            "Muster speaks JSON; leave it out",
        ),
        ("clientConnection: {qps: fast}", "clientConnection.qps: must be a number, not 'fast'"),
        ("clientConnection: {qps: .inf}", "clientConnection.qps: must be a number, not inf"),
        ("clientConnection: {burst: -1}", "clientConnection.burst: must be a whole number of at least 0, not -1"),
        ("clientConnection: {kubeconfig: 3}", "clientConnection.kubeconfig: must be text, not 3"),
        ("leaderElection: {leaseDuration: 15}", "leaderElection.leaseDuration: must be a duration, not 15; %s"),
        ("leaderElection: {leaseDuration: 15 s}", "leaderElection.leaseDuration: must be a duration, not '15 s'; %s"),
        ("leaderElection: {retryPeriod: -2s}", "leaderElection.retryPeriod: must be a duration, not '-2s'; %s"),
        (
            f"leaderElection: {{retryPeriod: {'9' * 400}h}}",
            "leaderElection.retryPeriod: must be a shorter duration, %l",
        ),
        ("leaderElection: {leader: true}", "leaderElection.leader: unknown field; did you mean leaderElect?"),
        (
            "leaderElection: {resourceLock: configmaps}",
            "leaderElection.resourceLock: must be leases, not 'configmaps'",
        ),
        (
            "leaderElection: {leaseDuration: 10s}",
            "leaderElection: leaseDuration (10s) must be longer than renewDeadline (10s)",
        ),
        (
            "leaderElection: {retryPeriod: 8.5s}",
            "leaderElection: renewDeadline (10s) must be longer than 1.2 × retryPeriod (8.5s)",
        ),
        ("leaderElection: {retryPeriod: 0s}", "leaderElection: retryPeriod must be longer than 0, not 0s"),
    ],
)
def test_what_cannot_be_done_is_refused_with_its_path(text, message):
    message = message.replace("%s", "write it like 15s or 1m30s").replace("%l", f"not '{'9' * 60}...'")
    if text.startswith("{"):
        text = yaml.safe_dump(yaml.safe_load(text))
    assert refusal(text) == f"f.yaml: {message}"


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("parallelism: 8", "parallelism has no effect: Muster looks at all nodes at once"),
        ("percentageOfNodesToScore: 50", "percentageOfNodesToScore has no effect: Muster always scores all nodes"),
        (
            "profiles: [{schedulerName: s, percentageOfNodesToScore: 7}]",
            "profiles[0].percentageOfNodesToScore has no effect: Muster always scores all nodes",
        ),
        (
            "profiles: [{}]",
            "profiles[0] has no schedulerName: Muster takes pods of scheduler muster, not default-scheduler",
        ),
        ("clientConnection: {burst: 9}", "clientConnection.burst has no effect: without qps there is no limit"),
    ],
)
def test_what_is_overlooked_is_noted(text, note):
    assert read(text).notes == (note,)


@pytest.mark.parametrize(
    "text",
    [
        "percentageOfNodesToScore: 100",
        "enableProfiling: false",
        "extenders: []",
        "profiles: []",
        "profiles:",
        "leaderElection: {resourceName: ''}",
        "clientConnection: {acceptContentTypes: 'application/vnd.kubernetes.protobuf,application/json'}",
        "clientConnection: {contentType: application/json; charset=utf-8}",
        "clientConnection: {qps: -1}",
        "clientConnection: {kubeconfig: ''}",
    ],
)
def test_what_changes_nothing_is_taken_in_silence(text):
    assert read(text).settings == Settings()
    assert read(text).notes == ()


def test_a_rate_without_a_burst_gets_upstreams():
    found = settings("clientConnection: {qps: 12.5}")
    assert (found.qps, found.burst) == (12.5, 100)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("20s", 20.0), ("1m30s", 90.0), ("1h", 3600.0), ("10500ms", 10.5), ("0.5m", 30.0), ("1m0.5s", 60.5)],
)
def test_durations_are_written_as_in_go(text, seconds):
    assert settings(f"leaderElection: {{leaseDuration: {text}}}").leader_election.lease_seconds == seconds


def test_leader_election_is_read():
    found = settings("""
        leaderElection:
          leaderElect: false
          leaseDuration: 1m
          renewDeadline: 40s
          retryPeriod: 500ms
          resourceName: mine
          resourceNamespace: team
    """)
    assert found.leader_election == LeaderElection(
        enabled=False, name="mine", namespace="team", lease_seconds=60.0, renew_seconds=40.0, retry_seconds=0.5
    )


# --- scheduler names ------------------------------------------------------------------------------


def test_profiles_with_equal_plugins_are_one_with_several_names():
    found = settings("""
        profiles:
        - schedulerName: a
          plugins: {score: {disabled: [{name: NodeAffinity}]}}
        - schedulerName: b
          plugins: {score: {disabled: [{name: NodeAffinity}, {name: PodGroupPodsCount}]}}
    """)
    assert found.scheduler_names == ("a", "b")
    assert part(found, "NodeAffinity").weight == 0


PACKING = [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}]


def test_pods_of_each_scheduler_name_are_placed_by_the_plugins_of_its_profile():
    found = settings(
        yaml.safe_dump({"profiles": [{"schedulerName": "a"}, {"schedulerName": "b", "pluginConfig": PACKING}]})
    )
    assert [parts.scheduler_names for parts in found.parts] == [("a",), ("b",)]
    world = World(*found.make_profiles()).node("n0", cpu=8).node("n1", cpu=8)
    world.see(pod("old", cpu=4, on="n0", phase="Running", scheduler="x"))
    world.see(pod("spread", cpu=1, scheduler="a"), pod("packed", cpu=1, scheduler="b"))
    assert placements(world.decide()) == {"spread": "n1", "packed": "n0"}


def test_a_journal_has_all_profiles():
    found = settings(
        yaml.safe_dump({"profiles": [{"schedulerName": "a"}, {"schedulerName": "b", "pluginConfig": PACKING}]})
    )
    lines: list[bytes] = []
    world = World(*found.make_profiles()).node("n0", cpu=8)
    world.engine = Recorder(Engine(*found.make_profiles()), lines.append, settings=to_journal(found))
    world.node("n1", cpu=8).see(pod("spread", cpu=1, scheduler="a"), pod("packed", cpu=1, scheduler="b"))
    world.decide()
    assert replay(lines, make_engine).difference is None


@pytest.mark.parametrize(
    ("profiles", "message"),
    [
        (
            [{"schedulerName": "a"}, {"schedulerName": "b", "plugins": {"postFilter": {"disabled": [{"name": "*"}]}}}],
            "profiles[1]: how pods are queued, held together or evicted differs from profiles[0]: they stand in one "
            "queue; give both the same GangScheduling, DefaultPreemption and queueSort, or run a second Muster",
        ),
        (
            [{"schedulerName": "a"}, {"schedulerName": "a"}],
            "profiles[1]: schedulerName a is that of profiles[0]; each profile needs its own",
        ),
        (
            [
                {"schedulerName": "a"},
                {"schedulerName": "b", "pluginConfig": [{"name": "GangScheduling", "args": {"evictionRounds": 1}}]},
            ],
            "profiles[1]: how pods are queued, held together or evicted differs from profiles[0]: they stand in one "
            "queue; give both the same GangScheduling, DefaultPreemption and queueSort, or run a second Muster",
        ),
        ([{"schedulerName": "a"}, {}], "profiles[1]: needs a schedulerName"),
    ],
)
def test_profiles_that_one_muster_cannot_serve_are_refused(profiles, message):
    assert refusal(yaml.safe_dump({"profiles": profiles})) == f"f.yaml: {message}"


# --- plugins ----------------------------------------------------------------------------------------

FILTERS = ["NodeName", "NodeUnschedulable", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit"]
FILTERS += ["VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone"]
FILTERS += ["PodTopologySpread", "InterPodAffinity", "DynamicResources", "NodeDeclaredFeatures"]


def filters(found):
    return list(dict.fromkeys(plugin.name for plugin in found.make_profiles()[0].filters))


def test_a_disabled_plugin_is_gone():
    found = plugins("multiPoint: {disabled: [{name: NodePorts}]}")
    assert names(found) == [name for name in PLUGINS if name != "NodePorts"]


def test_plugins_that_muster_lacks_may_be_disabled():
    found = plugins("""
        multiPoint: {disabled: [{name: PodGroupPodsCount}, {name: DeferredPodScheduling, weight: 1}]}
        preBind: {disabled: [{name: '*'}]}
    """)
    assert found == Settings()


@pytest.mark.parametrize("name", ["DefaultPreemption", "*"])
def test_preemption_is_switched_off_by_disabling_its_plugin(name):
    found = plugins(f"postFilter: {{disabled: [{{name: '{name}'}}]}}")
    assert names(found) == [name for name in PLUGINS if name != "DefaultPreemption"]


def test_a_star_leaves_what_is_enabled_again():
    found = plugins("""
        multiPoint:
          disabled: [{name: '*'}]
          enabled:
          - {name: PrioritySort}
          - {name: NodeResourcesFit, weight: 4}
          - {name: GangScheduling}
          - {name: DefaultBinder}
    """)
    assert names(found) == ["PrioritySort", "NodeResourcesFit", "GangScheduling"]
    assert weights(found) == {"NodeResourcesFit": 4}


def test_scores_can_be_switched_off_altogether():
    found = plugins("{preScore: {disabled: [{name: '*'}]}, score: {disabled: [{name: '*'}]}}")
    assert weights(found) == {}
    assert filters(found) == FILTERS


def test_a_filter_can_be_switched_off_and_its_score_stays():
    found = plugins("filter: {disabled: [{name: TaintToleration}]}")
    assert filters(found) == [name for name in FILTERS if name != "TaintToleration"]
    assert weights(found)["TaintToleration"] == 3


@pytest.mark.parametrize("name", ["NodePorts", "NodeDeclaredFeatures"])
def test_a_filter_without_a_score_that_is_switched_off_is_gone_though_it_may_still_prepare(name):
    found = plugins(f"filter: {{disabled: [{{name: {name}}}]}}")
    assert filters(found) == [other for other in FILTERS if other != name]
    assert name not in names(found)


def test_of_all_filters_only_those_may_stay_that_are_named_in_their_order():
    found = plugins("filter: {disabled: [{name: '*'}], enabled: [{name: NodeResourcesFit}, {name: NodeName}]}")
    left = [part.name for part in found.plugins if part.filters and part.name in FILTERS]
    assert left == ["NodeResourcesFit", "NodeName"]


def test_a_score_can_be_switched_off_and_its_filter_stays():
    found = plugins("score: {disabled: [{name: NodeAffinity}]}")
    assert "NodeAffinity" not in weights(found)
    assert filters(found) == FILTERS


@pytest.mark.parametrize(
    ("text", "weight"),
    [
        ("multiPoint: {enabled: [{name: NodeAffinity, weight: 5}]}", 5),
        ("score: {enabled: [{name: NodeAffinity, weight: 7}]}", 7),
        (
            "multiPoint: {enabled: [{name: NodeAffinity, weight: 5}]}\n"
            "score: {enabled: [{name: NodeAffinity, weight: 7}]}",
            7,
        ),
        # upstream's default of 2 is replaced together with the entry, and a weight of 0 means 1
        ("multiPoint: {enabled: [{name: NodeAffinity}]}", 1),
        ("score: {enabled: [{name: NodeAffinity}]}", 1),
        ("score: {enabled: [{name: NodeAffinity, weight: 0}]}", 1),
        ("score: {disabled: [{name: '*'}], enabled: [{name: NodeAffinity, weight: 9}]}", 9),
        ("multiPoint: {disabled: [{name: NodeAffinity}]}\nscore: {enabled: [{name: NodeAffinity, weight: 6}]}", 6),
    ],
)
def test_the_weight_at_the_point_goes_before_multipoints_and_that_before_the_default(text, weight):
    assert weights(plugins(text))["NodeAffinity"] == weight


def test_a_filter_named_at_the_point_moves_to_the_front():
    found = plugins("filter: {enabled: [{name: NodeAffinity}, {name: NodeUnschedulable}]}")
    order = [name for name in names(found) if name in FILTERS]
    rest = [name for name in FILTERS if name not in ("NodeAffinity", "NodeUnschedulable")]
    assert order == ["NodeAffinity", "NodeUnschedulable", *rest]


def test_a_filter_set_anew_by_multipoint_keeps_its_place():
    found = plugins("multiPoint: {enabled: [{name: NodePorts}, {name: NodeName}]}")
    assert names(found) == list(PLUGINS)


def test_a_filter_that_multipoint_gave_up_and_the_point_enables_comes_last():
    found = plugins("{multiPoint: {disabled: [{name: NodeName}]}, filter: {enabled: [{name: NodeName}]}}")
    assert [name for name in names(found) if name in FILTERS] == [*FILTERS[1:], "NodeName"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("prebind: {}", ".prebind: unknown field; did you mean preBind?"),
        ("filter: {enable: []}", ".filter.enable: unknown field; did you mean enabled?"),
        ("filter: {enabled: [{weight: 1}]}", ".filter.enabled[0]: needs a name"),
        ("filter: {enabled: [NodeName]}", ".filter.enabled[0]: must be a mapping, not 'NodeName'"),
        (
            "preBind: {enabled: [{name: PodGroupPodsCount}]}",
            ".preBind.enabled: plugin PodGroupPodsCount is not in Muster yet; leave it out",
        ),
        (
            "filter: {disabled: [{name: NodePort}]}",
            ".filter.disabled[0].name: there is no plugin NodePort; did you mean NodePorts?",
        ),
        (
            "score: {enabled: [{name: NodeAffinty}]}",
            ".score.enabled[0].name: there is no plugin NodeAffinty; did you mean NodeAffinity?",
        ),
        ("score: {enabled: [{name: NodeName}]}", ".score.enabled[0]: NodeName does not extend score"),
        ("score: {enabled: [{name: DefaultBinder}]}", ".score.enabled[0]: DefaultBinder does not extend score"),
        (
            "score: {enabled: [{name: NodeAffinity}, {name: NodeAffinity}]}",
            ".score.enabled[1]: NodeAffinity is enabled twice; keep one of them",
        ),
        (
            "score: {enabled: [{name: NodeAffinity, weight: -1}]}",
            ".score.enabled[0].weight: must be a whole number of at least 0, not -1",
        ),
        (
            "bind: {disabled: [{name: DefaultBinder}]}",
            ".bind.disabled[0]: DefaultBinder cannot be disabled: Muster binds by itself; leave it out",
        ),
        (
            "queueSort: {disabled: [{name: PrioritySort}]}",
            ": PrioritySort cannot be disabled for queueSort: nothing else orders the queue; "
            "add it to queueSort.enabled",
        ),
        (
            "multiPoint: {disabled: [{name: GangScheduling}]}",
            ": GangScheduling cannot be disabled for preEnqueue: nothing else keeps gangs whole; "
            "add it to preEnqueue.enabled",
        ),
        (
            "filter: {disabled: [{name: '*'}]}",
            ": NodeResourcesFit cannot be disabled for filter: nothing else keeps pods within the room of a node; "
            "add it to filter.enabled",
        ),
    ],
)
def test_plugins_that_cannot_be_set_so_are_refused(text, message):
    with pytest.raises(ConfigError) as caught:
        plugins(text)
    assert str(caught.value) == f"f.yaml: profiles[0].plugins{message}"


def test_weights_that_no_rating_has_room_for_are_refused():
    text = "profiles: [{schedulerName: s, plugins: {score: {enabled: [{name: NodeAffinity, weight: 100}]}}}]"
    assert refusal(text) == "f.yaml: profiles[0]: score weights may add up to 80 at most"


# --- arguments of plugins ---------------------------------------------------------------------------


EVENLY = "{topologyKey: zone, maxSkew: 1, whenUnsatisfiable: ScheduleAnyway}"
RATIO = "name: NodeResourcesFit, args: {scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio:"
NO_POINT = "needs a shape with at least one point"


def fit(text):
    return part(plugins("{}", f"[{{name: NodeResourcesFit, args: {{scoringStrategy: {text}}}}}]"), "NodeResourcesFit")


@pytest.mark.parametrize(
    ("text", "args"),
    [
        ("{type: LeastAllocated}", None),
        ("{resources: []}", None),
        ("{resources: [{name: cpu}, {name: memory, weight: 0}]}", None),
        ("{type: MostAllocated}", FitArgs(strategy=Strategy.MOST_ALLOCATED)),
        (
            "{type: MostAllocated, resources: [{name: nvidia.com/gpu, weight: 5}, {name: cpu, weight: 1}]}",
            FitArgs(strategy=Strategy.MOST_ALLOCATED, weights={"nvidia.com/gpu": 5, "cpu": 1}),
        ),
        ("{resources: [{name: cpu, weight: 99}, {name: cpu, weight: 2}]}", FitArgs(weights={"cpu": 101})),
        (
            "{type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: [{}, {utilization: 100, score: 10}]}}",
            FitArgs(strategy=Strategy.REQUESTED_TO_CAPACITY_RATIO, shape=((0, 0), (100, 10))),
        ),
    ],
)
def test_how_nodes_are_scored_by_their_resources_is_read(text, args):
    assert fit(text).args == args


def test_resources_that_pods_need_not_have_are_read():
    args = "{ignoredResources: [example.com/foo], ignoredResourceGroups: [other.example]}"
    found = part(configured("NodeResourcesFit", args), "NodeResourcesFit").args
    assert found == FitArgs(ignored=("example.com/foo",), ignored_groups=("other.example",))


def test_how_long_volumes_are_waited_for_and_what_their_fit_is_worth_is_read():
    shape = "shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]"
    found = configured("VolumeBinding", f"{{bindTimeoutSeconds: 30, {shape}}}")
    assert part(found, "VolumeBinding").args == VolumeArgs(wait_seconds=30.0, shape=((0, 0), (100, 10)))
    assert found.make_profiles()[0].preparing_seconds((("VolumeBinding", object()),)) == 30.0
    assert configured("VolumeBinding", "{bindTimeoutSeconds: 600}") == Settings()


def test_how_long_devices_are_waited_for_is_read():
    found = configured("DynamicResources", "{bindingTimeout: 2m, filterTimeout: 5s}")
    assert part(found, "DynamicResources").args == DeviceArgs(wait_seconds=120.0)
    assert configured("DynamicResources", "{bindingTimeout: 10m}") == Settings()
    # who brings both waits for the longer of the two
    needs = [("VolumeBinding", object()), ("DynamicResources", object())]
    profile = found.make_profiles()[0]
    assert [profile.preparing_seconds(tuple(some)) for some in (needs, needs[1:], [])] == [600.0, 120.0, 0.0]


def test_the_resources_that_are_balanced_are_read():
    found = configured("NodeResourcesBalancedAllocation", "{resources: [{name: cpu}, {name: nvidia.com/gpu}]}")
    assert part(found, "NodeResourcesBalancedAllocation").args == BalancedArgs(resources=("cpu", "nvidia.com/gpu"))
    assert found.make_profiles()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: NodeResourceFit", ".name: there is no plugin NodeResourceFit; did you mean NodeResourcesFit?"),
        ("name: PodGroupPodsCount", ": plugin PodGroupPodsCount is not in Muster yet; leave it out"),
        ("name: DynamicResources, args: {bindingTimeout: 0s}", ".args.bindingTimeout: must be at least 1s"),
        (
            "name: DynamicResources, args: {filterTimeout: 10}",
            ".args.filterTimeout: must be a duration, not 10; write it like 15s or 1m30s",
        ),
        (
            "name: VolumeBinding, args: {bindTimeoutSeconds: -1}",
            ".args.bindTimeoutSeconds: must be a whole number of at least 0, not -1",
        ),
        (
            "name: VolumeBinding, args: {shape: [{utilization: 50}, {utilization: 50, score: 1}]}",
            ".args.shape[1]: utilization must be more than that of the point before, 50, not 50",
        ),
        (
            "name: InterPodAffinity, args: {hardPodAffinityWeight: 101}",
            ".args.hardPodAffinityWeight: must be from 0 to 100, not 101",
        ),
        (
            "name: InterPodAffinity, args: {hardPodAffinityWeight: -1}",
            ".args.hardPodAffinityWeight: must be from 0 to 100, not -1",
        ),
        (
            "name: InterPodAffinity, args: {ignorePreferredTermsOfExistingPods: 1}",
            ".args.ignorePreferredTermsOfExistingPods: must be true or false, not 1",
        ),
        (
            "name: InterPodAffinity, args: {hardPodAffinityWeigth: 1}",
            ".args.hardPodAffinityWeigth: unknown field; did you mean hardPodAffinityWeight?",
        ),
        (
            "name: PodTopologySpread, args: {kind: InterPodAffinityArgs}",
            ".args.kind: must be PodTopologySpreadArgs, not 'InterPodAffinityArgs'",
        ),
        (
            "name: PodTopologySpread, args: {defaultingType: Mine}",
            ".args.defaultingType: must be System or List, not 'Mine'",
        ),
        (
            "name: PodTopologySpread, args: {defaultingTypes: List}",
            ".args.defaultingTypes: unknown field; did you mean defaultingType?",
        ),
        (
            "name: DefaultPreemption, args: {minCandidateNodesPercentage: 101}",
            ".args.minCandidateNodesPercentage: must be from 0 to 100, not 101",
        ),
        (
            "name: DefaultPreemption, args: {minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0}",
            ".args: minCandidateNodesPercentage and minCandidateNodesAbsolute cannot both be 0; "
            "pods would look for victims nowhere",
        ),
        (
            "name: GangScheduling, args: {passesPerMember: -1}",
            ".args.passesPerMember: must be a number of at least 0, or off, not -1",
        ),
        (
            "name: GangScheduling, args: {passesPerMember: true}",
            ".args.passesPerMember: must be a number of at least 0, or off, not true",
        ),
        (
            "name: GangScheduling, args: {failingShare: 1.5}",
            ".args.failingShare: must be a number from 0 to 1, not 1.5",
        ),
        (
            "name: GangScheduling, args: {evictionRounds: -1}",
            ".args.evictionRounds: must be a whole number of at least 0, not -1",
        ),
        (
            "name: GangScheduling, args: {victimTimeoutSeconds: 0}",
            ".args.victimTimeoutSeconds: must be longer than 0, not 0",
        ),
        (
            "name: GangScheduling, args: {unsupported: allow}",
            ".args.unsupported: must be refuse or ignore, not 'allow'",
        ),
        (
            "name: GangScheduling, args: {passesPerMembers: 1}",
            ".args.passesPerMembers: unknown field; did you mean passesPerMember?",
        ),
        ("name: NodeName, args: {a: 1}", ".args: NodeName takes no arguments; leave them out"),
        (
            "name: NodeResourcesFit, args: {kind: NodeAffinityArgs}",
            ".args.kind: must be NodeResourcesFitArgs, not 'NodeAffinityArgs'",
        ),
        (
            "name: NodeResourcesFit, args: {ignoredResources: [foo bar]}",
            ".args.ignoredResources[0]: 'foo bar' is no name of a resource",
        ),
        (
            "name: NodeResourcesFit, args: {ignoredResourceGroups: [example.com/foo]}",
            ".args.ignoredResourceGroups[0]: a group has no slash, and 'example.com/foo' does; "
            "write what stands before it",
        ),
        (
            "name: NodeResourcesFit, args: {scoringStrategy: {type: RequestedToCapacityRatio}}",
            ".args.scoringStrategy: RequestedToCapacityRatio needs requestedToCapacityRatio; "
            "give it a shape with at least one point",
        ),
        (
            "name: NodeResourcesFit, args: {scoringStrategy: {requestedToCapacityRatio: {shape: [{score: 1}]}}}",
            ".args.scoringStrategy.requestedToCapacityRatio: is of no use with LeastAllocated; leave it out",
        ),
        (f"{RATIO} {{shape: []}}}}}}", f".args.scoringStrategy.requestedToCapacityRatio.shape: {NO_POINT}"),
        (f"{RATIO} {{}}}}}}", f".args.scoringStrategy.requestedToCapacityRatio: {NO_POINT}"),
        (
            f"{RATIO} {{shape: [{{utilization: 101}}]}}}}}}",
            ".args.scoringStrategy.requestedToCapacityRatio.shape[0].utilization: must be from 0 to 100, not 101",
        ),
        (
            f"{RATIO} {{shape: [{{score: 11}}]}}}}}}",
            ".args.scoringStrategy.requestedToCapacityRatio.shape[0].score: must be from 0 to 10, not 11",
        ),
        (
            f"{RATIO} {{shape: [{{utilization: 5}}, {{utilization: 5}}]}}}}}}",
            ".args.scoringStrategy.requestedToCapacityRatio.shape[1]: "
            "utilization must be more than that of the point before, 5, not 5",
        ),
        (
            "name: NodeResourcesFit, args: {scoringStrategy: {type: MostAlocated}}",
            ".args.scoringStrategy.type: there is no strategy MostAlocated; did you mean MostAllocated?",
        ),
        (
            "name: NodeResourcesFit, args: {scoringStrategy: {resources: [{name: cpu, weight: 101}]}}",
            ".args.scoringStrategy.resources[0].weight: must be from 0 to 100, not 101",
        ),
        (
            "name: NodeResourcesBalancedAllocation, args: {resources: [{name: cpu}, {name: cpu}]}",
            ".args.resources[1]: cpu is given twice; keep one of them",
        ),
        (
            "name: NodeResourcesBalancedAllocation, args: {resources: [{name: cpu, weight: 2}]}",
            ".args.resources[0]: the weight of cpu must be 1, not 2; leave it out",
        ),
        (
            "name: NodeAffinity, args: {addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {}}}",
            ".args.addedAffinity: not supported: Muster adds no affinity to pods; leave it out",
        ),
    ],
)
def test_arguments_that_cannot_be_followed_are_refused(text, message):
    with pytest.raises(ConfigError) as caught:
        plugins("{}", f"[{{{text}}}]")
    assert str(caught.value) == f"f.yaml: profiles[0].pluginConfig[0]{message}"


def configured(name, args):
    return plugins("{}", f"[{{name: {name}, args: {args}}}]")


@pytest.mark.parametrize(
    ("args", "preemption"),
    [
        ("{}", PreemptionSettings()),
        ("{minCandidateNodesPercentage: 25}", PreemptionSettings(least_percent=25)),
        (
            "{minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 7}",
            PreemptionSettings(least_percent=0, least_nodes=7),
        ),
        ("{kind: DefaultPreemptionArgs, minCandidateNodesAbsolute: 0}", PreemptionSettings(least_nodes=0)),
    ],
)
def test_on_how_many_nodes_a_pod_looks_for_victims_is_read(args, preemption):
    assert configured("DefaultPreemption", args) == Settings(preemption=preemption)


@pytest.mark.parametrize(
    ("args", "found"),
    [
        ("{kind: GangSchedulingArgs}", Settings()),
        ("{passesPerMember: 0}", Settings(fairness=Fairness(passes_per_member=0.0))),
        (
            "{passesPerMember: 1.5, failingShare: 1}",
            Settings(fairness=Fairness(passes_per_member=1.5, failing_share=1)),
        ),
        ("{failingShare: 0}", Settings(fairness=Fairness(failing_share=0.0))),
        ("{evictionRounds: 0}", Settings(preemption=PreemptionSettings(rounds=0))),
        ("{victimTimeoutSeconds: 0.5}", Settings(preemption=PreemptionSettings(patience_seconds=0.5))),
        ("{unsupported: ignore}", Settings(unsupported=Unsupported.IGNORE)),
        ("{unsupported: refuse}", Settings()),
    ],
)
def test_how_gangs_treat_others_is_read(args, found):
    assert configured("GangScheduling", args) == found


@pytest.mark.parametrize("off", ["off", "'off'"])
def test_any_number_may_pass_a_gang_if_that_limit_is_off_with_or_without_quotes(off):
    assert configured("GangScheduling", f"{{passesPerMember: {off}}}").fairness == Fairness(passes_per_member=None)


def test_arguments_of_both_preemption_plugins_add_up():
    config = """
        - {name: DefaultPreemption, args: {minCandidateNodesAbsolute: 7}}
        - {name: GangScheduling, args: {evictionRounds: 1}}
    """
    assert plugins("{}", config).preemption == PreemptionSettings(least_nodes=7, rounds=1)


def test_what_arguments_set_is_the_profiles_and_the_journals():
    found = configured("GangScheduling", "{passesPerMember: 5, evictionRounds: 9, unsupported: ignore}")
    assert found.make_profiles()[0].fairness == Fairness(passes_per_member=5.0)
    assert found.make_profiles()[0].preemption == PreemptionSettings(rounds=9)
    assert found.make_profiles()[0].unsupported is Unsupported.IGNORE
    assert '"rounds":9' in to_journal(found)["profile"]
    assert '"unsupported":"ignore"' in to_journal(found)["profile"]


@pytest.mark.parametrize(
    ("args", "found"),
    [
        ("{}", None),
        ("{kind: InterPodAffinityArgs, hardPodAffinityWeight: 1, ignorePreferredTermsOfExistingPods: false}", None),
        ("{hardPodAffinityWeight: 0}", AffinityArgs(hard_weight=0)),
        ("{hardPodAffinityWeight: 100}", AffinityArgs(hard_weight=100)),
        ("{ignorePreferredTermsOfExistingPods: true}", AffinityArgs(ignore_preferred_of_others=True)),
    ],
)
def test_how_pods_that_are_there_draw_others_is_read(args, found):
    settings = configured("InterPodAffinity", args)
    assert part(settings, "InterPodAffinity").args == found
    assert settings.make_profiles()[0]


@pytest.mark.parametrize(
    "args", ["{}", "{kind: PodTopologySpreadArgs}", "{defaultConstraints: []}", "{defaultingType: System}"]
)
def test_pods_are_spread_as_the_system_does_it_unless_a_file_says_otherwise(args):
    settings = configured("PodTopologySpread", args)
    assert part(settings, "PodTopologySpread").args is None
    assert set(SPREAD_BY) < set(make_engine(to_journal(settings)).profiles.may_read)


def test_a_file_may_ask_for_no_default_constraints():
    settings = configured("PodTopologySpread", "{defaultingType: List}")
    assert part(settings, "PodTopologySpread").args == SpreadArgs()
    assert not set(SPREAD_BY) & set(make_engine(to_journal(settings)).profiles.may_read)


ONLY_LISTED = "defaultingType must be List where defaultConstraints are given; write defaultingType: List"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (f"defaultConstraints: [{EVENLY}]", f": {ONLY_LISTED}"),
        (f"defaultingType: System, defaultConstraints: [{EVENLY}]", f".defaultingType: {ONLY_LISTED}"),
        (
            f"defaultingType: List, defaultConstraints: [{EVENLY}, {EVENLY}]",
            ".defaultConstraints[1]: there is one for zone like this already; keep one of them",
        ),
    ],
)
def test_lists_of_default_constraints_that_cannot_be_meant_are_refused(args, message):
    with pytest.raises(ConfigError) as caught:
        configured("PodTopologySpread", f"{{{args}}}")
    assert str(caught.value) == f"f.yaml: profiles[0].pluginConfig[0].args{message}"


@pytest.mark.parametrize(
    ("written", "instead", "message"),
    [
        ("maxSkew: 1, ", "", ": needs a maxSkew"),
        ("topologyKey: zone", "topologyKey: ''", ": needs a topologyKey"),
        ("zone", "'a b'", ".topologyKey: label key 'a b': the name is not 1 to 63 of A-Z a-z 0-9 - _ ."),
        ("maxSkew: 1", "maxSkew: 0", ".maxSkew: must be a whole number of at least 1, not 0"),
        ("ScheduleAnyway", "No", ".whenUnsatisfiable: must be text, not false"),
        (
            "ScheduleAnyway",
            "Never",
            ".whenUnsatisfiable: must be DoNotSchedule or ScheduleAnyway, not 'Never'",
        ),
        ("maxSkew", "minDomains: 0, maxSkew", ".minDomains: must be a whole number of at least 1, not 0"),
        ("maxSkew", "nodeTaintsPolicy: honor, maxSkew", ".nodeTaintsPolicy: must be Honor or Ignore, not 'honor'"),
        ("maxSkew", "labelSelector: {}, maxSkew", ".labelSelector: has no place here: whom it is about is said by"),
    ],
)
def test_a_default_constraint_that_cannot_be_followed_is_refused(written, instead, message):
    listed = EVENLY.replace(written, instead)
    with pytest.raises(ConfigError) as caught:
        configured("PodTopologySpread", f"{{defaultingType: List, defaultConstraints: [{listed}]}}")
    assert f"f.yaml: profiles[0].pluginConfig[0].args.defaultConstraints[0]{message}" in str(caught.value)


def test_default_constraints_are_read():
    hard = (
        "{topologyKey: rack, maxSkew: 2, whenUnsatisfiable: DoNotSchedule, minDomains: 3, nodeAffinityPolicy: Ignore, "
        "nodeTaintsPolicy: Honor}"
    )
    settings = configured("PodTopologySpread", f"{{defaultingType: List, defaultConstraints: [{EVENLY}, {hard}]}}")
    listed = (
        DefaultConstraint(topology_key="zone", max_skew=1),
        DefaultConstraint(
            topology_key="rack", max_skew=2, hard=True, min_domains=3, honours_affinity=False, honours_taints=True
        ),
    )
    assert part(settings, "PodTopologySpread").args == SpreadArgs(constraints=listed)
    assert set(make_engine(to_journal(settings)).profiles.reads) > {NAMESPACES, *SPREAD_BY}


def test_a_plugin_is_configured_once():
    with pytest.raises(ConfigError) as caught:
        plugins("{}", "[{name: NodeName}, {name: NodeName}]")
    assert str(caught.value) == "f.yaml: profiles[0].pluginConfig[1]: NodeName is configured twice; keep one of them"


# --- what comes of it -------------------------------------------------------------------------------


def test_packing_asked_for_in_a_file_packs():
    spread = World(plugins("{}").make_profiles()[0])
    args = "[{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated}}}]"
    packed = World(plugins("{}", args).make_profiles()[0])
    for world in (spread, packed):
        world.see(node("a", cpu=4), node("b", cpu=4), pod("first", cpu=1)).run()
        world.pod("second", cpu=1).run()
    assert len(set(spread.where.values())) == 2
    assert len(set(packed.where.values())) == 1


DRAWN_BY = {
    "a pod that is there and must be near": ({"near": strictly("db", key="zone")}, {"labels": {"app": "db"}}),
    "a pod that is there and would be near": ({"near": rather("db", key="zone")}, {"labels": {"app": "db"}}),
    "a wish of its own": ({"labels": {"app": "web"}}, {"near": rather("web", key="zone"), "labels": {"app": "db"}}),
}


@pytest.mark.parametrize(
    ("args", "drawing"),
    [
        ("{}", set(DRAWN_BY)),
        ("{hardPodAffinityWeight: 0}", set(DRAWN_BY) - {"a pod that is there and must be near"}),
        ("{ignorePreferredTermsOfExistingPods: true}", {"a wish of its own"}),
    ],
)
def test_arguments_in_a_file_say_what_draws_pods(args, drawing):
    drawn = set()
    for why, (there, comes) in DRAWN_BY.items():
        world = World(configured("InterPodAffinity", args).make_profiles()[0])
        # without anybody to be near, a goes before z
        world.see(node("a", labels={"zone": "a"}), node("z", labels={"zone": "z"}), pod("there", on="z", **there))
        (placed,) = placements(world.pod("comes", **comes).decide()).values()
        drawn |= {why} if placed == "z" else set()
    assert drawn == drawing


def test_backoff_asked_for_in_a_file_is_waited():
    found = settings("podInitialBackoffSeconds: 3\npodMaxBackoffSeconds: 5\n")
    world = cluster(1, profile=found.make_profiles()[0]).pod("p")
    world.decide()
    world.bind_failed("p", Failure.REJECTED).decide()
    for delay in (3.0, 5.0, 5.0):
        assert not placements(world.bind_failed("p", Failure.REJECTED).decide())
        assert not placements(world.decide(after=delay - 0.01))
        assert placements(world.decide(after=0.01))


def test_a_recorded_run_with_other_settings_is_decided_the_same_again():
    args = "[{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated}}}]"
    found = plugins("score: {disabled: [{name: NodeResourcesBalancedAllocation}]}", args)
    lines = []
    world = World()
    world.engine = Recorder(Engine(found.make_profiles()[0]), lines.append, settings=to_journal(found))
    world.see(node("a", cpu=4), node("b", cpu=8), *(pod(f"p{number}", cpu=1) for number in range(6))).decide()
    result = replay(lines, make_engine)
    assert result.decisions > 0
    assert result.difference is None
    assert replay([lines[0].replace(b"MostAllocated", b"LeastAllocated"), *lines[1:]], make_engine).difference


# --- settings ---------------------------------------------------------------------------------------


def test_flags_that_were_given_override_the_file():
    found = settings("clientConnection: {kubeconfig: /file, qps: 5}")
    overridden = override(found, kubeconfig=Path("/flag"), qps=None, log_format="json", scheduler_names=("x",))
    assert (overridden.kubeconfig, overridden.qps) == (Path("/flag"), 5.0)
    assert (overridden.log_format, overridden.scheduler_names) == ("json", ("x",))


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"listen": "10261"}, "'10261' is no address to listen on; write it like 127.0.0.1:10261"),
        ({"scheduler_names": ()}, "a scheduler needs a name"),
        ({"scheduler_names": ("",)}, "a scheduler needs a name"),
    ],
)
def test_flags_are_checked_like_the_file(flags, message):
    with pytest.raises(ConfigError) as caught:
        override(Settings(), **flags)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("address", "parts"),
    [("127.0.0.1:10261", ("127.0.0.1", 10261)), (":0", ("", 0)), ("[::1]:80", ("::1", 80)), ("h:65535", ("h", 65535))],
)
def test_an_address_is_a_host_and_a_port(address, parts):
    assert host_and_port(address) == parts


@pytest.mark.parametrize("address", ["", "host", "host:", "host:x", "::1:80", "h:65536", "h:-1", "h:²"])
def test_what_is_no_address_is_refused(address):
    with pytest.raises(ConfigError, match="is no address to listen on"):
        host_and_port(address)
