"""Cells as a real kube-apiserver 1.37.1 gave them for these objects (ages moved to a fixed time)."""

from __future__ import annotations

import pytest

from muster.api.times import micro_stamp, stamp
from muster.local.kinds.rows import ROWS

NOW = 1_800_000_000.0
HOUR = 3600
AGE = "90s"


def ago(seconds):
    return stamp(NOW - seconds)


def micro_ago(seconds):
    return micro_stamp(NOW - seconds)


def obj(name="x", *, labels=None, deleted=False, **fields):
    meta = {"name": name, "creationTimestamp": ago(90)}
    if labels:
        meta["labels"] = labels
    if deleted:
        meta |= {"deletionTimestamp": ago(5), "finalizers": ["example.com/hold"]}
    return {"metadata": meta, **fields}


def cells_of(resource, shown):
    table = next(kind.table for kind in ROWS if kind.resource == resource)
    return tuple(table.cells(shown, NOW))


def condition(kind, status="True", **fields):
    return {"type": kind, "status": status, **fields}


# --- pods ---

RUNNING = {"running": {}}


def waiting(reason=""):
    return {"waiting": {"reason": reason} if reason else {}}


def ended(code=0, reason="", *, signal=0, seconds=700):
    fields = {"exitCode": code, "reason": reason, "signal": signal, "finishedAt": ago(seconds)}
    return {"terminated": {key: value for key, value in fields.items() if value or key == "exitCode"}}


def container(name, state, *, ready=False, restarts=0, last=None, started=None):
    status = {"name": name, "state": state, "lastState": last or {}, "ready": ready, "restartCount": restarts}
    status |= {"image": "i", "imageID": "i"}
    return status if started is None else status | {"started": started}


def pod(*main, init=(), phase="Running", specs=None, init_specs=None, deleted=False, spec=None, **status):
    """A pod with these container statuses; its spec has the same containers unless it is told."""
    names = [one["name"] for one in main] or ["a"]
    containers = [{"name": name, "image": "i"} for name in specs or names]
    inits = init_specs or [{"name": one["name"], "image": "i"} for one in init]
    full = {"phase": phase, **status}
    full |= {"containerStatuses": list(main)} if main else {}
    full |= {"initContainerStatuses": list(init)} if init else {}
    return obj(
        deleted=deleted,
        spec={"containers": containers, **({"initContainers": inits} if inits else {}), **(spec or {})},
        status=full,
    )


def sidecar(name):
    return {"name": name, "image": "i", "restartPolicy": "Always"}


def plain(name):
    return {"name": name, "image": "i"}


READY = container("a", RUNNING, ready=True)
GATED = condition("PodScheduled", "False", reason="SchedulingGated")
UNSCHEDULABLE = condition("PodScheduled", "False", reason="Unschedulable")
DONE = container("a", ended(0, "Completed"))
TWO_INITS = [plain("i"), plain("j")]

PODS = {
    "a new pod": (pod(phase="Pending"), "0/1", "Pending", "0"),
    "no phase": (pod(phase=""), "0/1", "", "0"),
    "unschedulable": (pod(phase="Pending", conditions=[UNSCHEDULABLE]), "0/1", "Pending", "0"),
    "gated": (pod(phase="Pending", conditions=[GATED]), "0/1", "SchedulingGated", "0"),
    "gated, with a reason": (pod(phase="Pending", reason="X", conditions=[GATED]), "0/1", "SchedulingGated", "0"),
    "evicted": (pod(phase="Failed", reason="Evicted"), "0/1", "Evicted", "0"),
    "refused by the kubelet": (pod(phase="Failed", reason="OutOfcpu"), "0/1", "OutOfcpu", "0"),
    "phase unknown": (pod(phase="Unknown"), "0/1", "Unknown", "0"),
    "node lost": (pod(READY, reason="NodeLost"), "1/1", "NodeLost", "0"),
    "node lost, deleted": (pod(READY, reason="NodeLost", deleted=True), "1/1", "Unknown", "0"),
    "deleted": (pod(READY, deleted=True), "1/1", "Terminating", "0"),
    "deleted before it started": (pod(phase="Pending", deleted=True), "0/1", "Terminating", "0"),
    "deleted when it had ended": (pod(DONE, phase="Succeeded", deleted=True), "0/1", "Completed", "0"),
    "deleted when it had failed": (pod(phase="Failed", reason="Evicted", deleted=True), "0/1", "Evicted", "0"),
    "running": (pod(READY), "1/1", "Running", "0"),
    "running, not ready": (pod(container("a", RUNNING)), "0/1", "Running", "0"),
    "ready, but not running": (pod(container("a", {}, ready=True)), "0/1", "Running", "0"),
    "creating": (pod(container("a", waiting("ContainerCreating")), phase="Pending"), "0/1", "ContainerCreating", "0"),
    "waiting for no reason": (pod(container("a", waiting()), phase="Pending"), "0/1", "Pending", "0"),
    "no image": (pod(container("a", waiting("ImagePullBackOff")), phase="Pending"), "0/1", "ImagePullBackOff", "0"),
    "crash loop": (
        pod(container("a", waiting("CrashLoopBackOff"), restarts=4, last=ended(1, "Error"))),
        "0/1",
        "CrashLoopBackOff",
        "4 (11m ago)",
    ),
    "restarted, no time kept": (pod(container("a", RUNNING, ready=True, restarts=2)), "1/1", "Running", "2"),
    "ended before, never restarted": (
        pod(container("a", RUNNING, ready=True, last=ended(1))),
        "1/1",
        "Running",
        "0",
    ),
    "restarts of all, the last time": (
        pod(
            container("a", RUNNING, ready=True, restarts=1, last=ended(seconds=4 * HOUR + 90)),
            container("b", RUNNING, ready=True, restarts=2, last=ended(seconds=700)),
            container("c", RUNNING, restarts=3, last=ended(seconds=5 * HOUR + 90)),
        ),
        "2/3",
        "Running",
        "6 (11m ago)",
    ),
    "the first container has the last word": (
        pod(container("a", waiting("ErrImagePull")), container("b", waiting("CrashLoopBackOff"))),
        "0/2",
        "ErrImagePull",
        "0",
    ),
    "a later container fails": (
        pod(READY, container("b", waiting("CrashLoopBackOff"))),
        "1/2",
        "CrashLoopBackOff",
        "0",
    ),
    "completed": (pod(DONE, phase="Succeeded"), "0/1", "Completed", "0"),
    "failed": (pod(container("a", ended(1, "Error")), phase="Failed"), "0/1", "Error", "0"),
    "out of memory": (pod(container("a", ended(137, "OOMKilled")), phase="Failed"), "0/1", "OOMKilled", "0"),
    "an exit code, no reason": (pod(container("a", ended(3)), phase="Failed"), "0/1", "ExitCode:3", "0"),
    "a signal, no reason": (pod(container("a", ended(137, signal=9)), phase="Failed"), "0/1", "Signal:9", "0"),
    "exit code 0, no reason": (pod(container("a", ended(0)), phase="Succeeded"), "0/1", "ExitCode:0", "0"),
    "one completed, one runs, ready": (
        pod(DONE, container("b", RUNNING, ready=True), conditions=[condition("Ready")]),
        "1/2",
        "Running",
        "0",
    ),
    "one completed, one runs, pod not ready": (
        pod(DONE, container("b", RUNNING, ready=True), conditions=[condition("Ready", "False")]),
        "1/2",
        "NotReady",
        "0",
    ),
    "one completed, one runs, itself not ready": (
        pod(DONE, container("b", RUNNING), conditions=[condition("Ready", "False")]),
        "0/2",
        "Completed",
        "0",
    ),
    "one completed, one failed": (
        pod(DONE, container("b", ended(2, "Error")), phase="Failed"),
        "0/2",
        "Error",
        "0",
    ),
    "one completed, one failed, one runs": (
        pod(DONE, container("b", ended(2)), container("c", RUNNING, ready=True)),
        "1/3",
        "ExitCode:2",
        "0",
    ),
    "one failed with the word Completed": (
        pod(container("a", ended(1, "Completed")), phase="Failed"),
        "0/1",
        "Completed",
        "0",
    ),
    "init, nothing known": (
        pod(phase="Pending", init_specs=TWO_INITS),
        "0/1",
        "Pending",
        "0",
    ),
    "init 0 of 2": (
        pod(init=[container("i", RUNNING)], init_specs=TWO_INITS, phase="Pending"),
        "0/1",
        "Init:0/2",
        "0",
    ),
    "init 1 of 2": (
        pod(init=[container("i", ended(0)), container("j", RUNNING)], phase="Pending"),
        "0/1",
        "Init:1/2",
        "0",
    ),
    "init waits for the pod": (
        pod(init=[container("i", waiting("PodInitializing"))], init_specs=TWO_INITS, phase="Pending"),
        "0/1",
        "Init:0/2",
        "0",
    ),
    "init crash loop": (
        pod(
            container("a", waiting("PodInitializing")),
            init=[container("i", waiting("CrashLoopBackOff"), restarts=3, last=ended(1, "Error"))],
            phase="Pending",
        ),
        "0/1",
        "Init:CrashLoopBackOff",
        "3 (11m ago)",
    ),
    "init failed": (pod(init=[container("i", ended(1, "Error"))], phase="Pending"), "0/1", "Init:Error", "0"),
    "init exit code": (pod(init=[container("i", ended(7))], phase="Pending"), "0/1", "Init:ExitCode:7", "0"),
    "init signal": (pod(init=[container("i", ended(139, signal=11))], phase="Pending"), "0/1", "Init:Signal:11", "0"),
    "init done, main waits": (
        pod(container("a", waiting("PodInitializing")), init=[container("i", ended(0, "Completed"))], phase="Pending"),
        "0/1",
        "PodInitializing",
        "0",
    ),
    "restarts of inits are forgotten": (
        pod(READY, init=[container("i", ended(0, "Completed"), restarts=5, last=ended(1))]),
        "1/1",
        "Running",
        "0",
    ),
    "initialized, an init runs again": (
        pod(READY, init=[container("i", RUNNING, restarts=5)], conditions=[condition("Initialized")]),
        "1/1",
        "Init:0/1",
        "0",
    ),
    "a sidecar that has not started": (
        pod(init=[container("s", RUNNING, started=False)], init_specs=[sidecar("s")], phase="Pending"),
        "0/2",
        "Init:0/1",
        "0",
    ),
    "a sidecar that runs": (
        pod(READY, init=[container("s", RUNNING, started=True, ready=True)], init_specs=[sidecar("s")]),
        "2/2",
        "Running",
        "0",
    ),
    "a sidecar that is not ready": (
        pod(READY, init=[container("s", RUNNING, started=True)], init_specs=[sidecar("s")]),
        "1/2",
        "Running",
        "0",
    ),
    "a sidecar's restarts count": (
        pod(
            container("a", RUNNING, ready=True, restarts=1, last=ended(seconds=5 * HOUR + 90)),
            init=[
                container("i", ended(0), restarts=7, last=ended(1, seconds=200)),
                container("s", RUNNING, started=True, ready=True, restarts=2, last=ended(1)),
            ],
            init_specs=[plain("i"), sidecar("s")],
        ),
        "2/2",
        "Running",
        "3 (11m ago)",
    ),
    "an init behind a sidecar": (
        pod(
            init=[container("s", RUNNING, started=True, ready=True), container("i", RUNNING)],
            init_specs=[sidecar("s"), plain("i")],
            phase="Pending",
        ),
        "1/2",
        "Init:1/2",
        "0",
    ),
    "a sidecar that failed": (
        pod(READY, init=[container("s", ended(1, "Error"), started=False)], init_specs=[sidecar("s")]),
        "0/2",
        "Init:Error",
        "0",
    ),
    "a sidecar that ended well": (
        pod(DONE, init=[container("s", ended(0, "Completed"))], init_specs=[sidecar("s")], phase="Succeeded"),
        "0/2",
        "Completed",
        "0",
    ),
}

GATES = [{"conditionType": "example.com/a"}, {"conditionType": "example.com/b"}]
WIDE_PODS = {
    "nothing known": (pod(), "<none>", "<none>", "<none>", "<none>"),
    "bound": (
        pod(spec={"nodeName": "n1"}, podIP="10.0.0.7", podIPs=[{"ip": "10.0.0.7"}, {"ip": "fd00::7"}]),
        "10.0.0.7",
        "n1",
        "<none>",
        "<none>",
    ),
    "nominated": (pod(phase="Pending", nominatedNodeName="n2"), "<none>", "<none>", "n2", "<none>"),
    "gates": (
        pod(spec={"readinessGates": GATES}, conditions=[condition("example.com/b")]),
        "<none>",
        "<none>",
        "<none>",
        "1/2",
    ),
    "gates, none open": (
        pod(spec={"readinessGates": GATES}, conditions=[condition("example.com/a", "False")]),
        "<none>",
        "<none>",
        "<none>",
        "0/2",
    ),
}


@pytest.mark.parametrize(("obj", "ready", "status", "restarts"), PODS.values(), ids=PODS)
def test_a_pod_tells_in_one_word_how_far_it_is(obj, ready, status, restarts):
    assert cells_of("pods", obj)[:5] == ("x", ready, status, restarts, AGE)


@pytest.mark.parametrize(("obj", "ip", "node", "nominated", "gates"), WIDE_PODS.values(), ids=WIDE_PODS)
def test_wide_output_of_pods_tells_where_they_are(obj, ip, node, nominated, gates):
    assert cells_of("pods", obj)[5:] == (ip, node, nominated, gates)


# --- nodes ---


def node(*, spec=None, labels=None, **status):
    return obj(labels=labels, spec=spec or {}, status=status)


UNKNOWN_PARTS = ("<none>", "<none>", "<unknown>", "<unknown>", "<unknown>")
INFO = {
    "kubeletVersion": "v1.37.1",
    "osImage": "Debian 13",
    "kernelVersion": "6.12.1",
    "containerRuntimeVersion": "containerd://2.1.0",
    "architecture": "amd64",
}

NODES = {
    "nothing known": (node(), "Unknown", "<none>", "", *UNKNOWN_PARTS),
    "ready": (node(conditions=[condition("Ready")]), "Ready", "<none>", "", *UNKNOWN_PARTS),
    "not ready": (node(conditions=[condition("Ready", "False")]), "NotReady", "<none>", "", *UNKNOWN_PARTS),
    "out of reach": (node(conditions=[condition("Ready", "Unknown")]), "NotReady", "<none>", "", *UNKNOWN_PARTS),
    "under pressure": (
        node(conditions=[condition("MemoryPressure"), condition("Ready")]),
        "Ready",
        "<none>",
        "",
        *UNKNOWN_PARTS,
    ),
    "cordoned": (
        node(spec={"unschedulable": True}, conditions=[condition("Ready")]),
        "Ready,SchedulingDisabled",
        "<none>",
        "",
        *UNKNOWN_PARTS,
    ),
    "cordoned, nothing known": (
        node(spec={"unschedulable": True}),
        "Unknown,SchedulingDisabled",
        "<none>",
        "",
        *UNKNOWN_PARTS,
    ),
    "roles": (
        node(
            labels={
                "node-role.kubernetes.io/worker": "",
                "node-role.kubernetes.io/control-plane": "true",
                "kubernetes.io/role": "gpu",
            }
        ),
        "Unknown",
        "control-plane,gpu,worker",
        "",
        *UNKNOWN_PARTS,
    ),
    "one role told twice": (
        node(labels={"node-role.kubernetes.io/worker": "", "kubernetes.io/role": "worker"}),
        "Unknown",
        "worker",
        "",
        *UNKNOWN_PARTS,
    ),
    "a role without a name": (node(labels={"kubernetes.io/role": ""}), "Unknown", "<none>", "", *UNKNOWN_PARTS),
    "all known": (
        node(
            nodeInfo=INFO,
            addresses=[
                {"type": "Hostname", "address": "h"},
                {"type": "ExternalIP", "address": "1.2.3.4"},
                {"type": "InternalIP", "address": "10.0.0.1"},
                {"type": "InternalIP", "address": "fd00::1"},
            ],
        ),
        "Unknown",
        "<none>",
        "v1.37.1",
        "10.0.0.1",
        "1.2.3.4",
        "Debian 13",
        "6.12.1 (amd64)",
        "containerd://2.1.0",
    ),
    "the architecture alone": (
        node(nodeInfo={"architecture": "arm64"}),
        "Unknown",
        "<none>",
        "",
        "<none>",
        "<none>",
        "<unknown>",
        "<unknown> (arm64)",
        "<unknown>",
    ),
}


@pytest.mark.parametrize(
    ("obj", "status", "roles", "version", "parts"), [(*v[:4], v[4:]) for v in NODES.values()], ids=NODES
)
def test_a_node_tells_its_state_and_its_roles(obj, status, roles, version, parts):
    assert cells_of("nodes", obj) == ("x", status, roles, AGE, version, *parts)


# --- jobs ---


def job(*, deleted=False, containers=("c",), completions=None, parallelism=None, selector=None, **status):
    template = {"spec": {"containers": [{"name": name, "image": f"image-{name}"} for name in containers]}}
    spec = {"template": template, "completions": completions, "parallelism": parallelism, "selector": selector}
    return obj(deleted=deleted, spec={key: value for key, value in spec.items() if value is not None}, status=status)


def job_cells(*, status="Running", completions="0/1", duration="", containers="c", images="image-c", selector="<none>"):
    return ("x", status, completions, duration, AGE, containers, images, selector)


HOURS_AGO = ago(3 * HOUR + 330)
EXPRESSIONS = [
    {"key": "d", "operator": "DoesNotExist"},
    {"key": "b", "operator": "NotIn", "values": ["z", "y"]},
    {"key": "c", "operator": "Exists"},
    {"key": "a", "operator": "In", "values": ["1"]},
]

JOBS = {
    "new": (job(completions=1), job_cells()),
    "some completions": (job(completions=5, succeeded=2), job_cells(completions="2/5")),
    "a work queue": (job(parallelism=3), job_cells(completions="0/1 of 3")),
    "a work queue of one": (job(parallelism=1, succeeded=1), job_cells(completions="1/1")),
    "running for hours": (job(completions=1, startTime=HOURS_AGO), job_cells(duration="3h5m")),
    "complete": (
        job(
            completions=1,
            succeeded=1,
            startTime=HOURS_AGO,
            completionTime=ago(3 * HOUR),
            conditions=[condition("SuccessCriteriaMet"), condition("Complete")],
        ),
        job_cells(status="Complete", completions="1/1", duration="5m30s"),
    ),
    "failed": (
        job(
            completions=1,
            startTime=HOURS_AGO,
            conditions=[condition("FailureTarget"), condition("Failed")],
        ),
        job_cells(status="Failed", duration="3h5m"),
    ),
    "suspended": (job(completions=1, conditions=[condition("Suspended")]), job_cells(status="Suspended")),
    "resumed": (job(completions=1, conditions=[condition("Suspended", "False")]), job_cells()),
    "failing": (job(completions=1, conditions=[condition("FailureTarget")]), job_cells(status="FailureTarget")),
    "succeeding": (
        job(completions=1, conditions=[condition("SuccessCriteriaMet")]),
        job_cells(status="SuccessCriteriaMet"),
    ),
    "deleted": (job(completions=1, deleted=True), job_cells(status="Terminating")),
    "deleted while suspended": (
        job(completions=1, deleted=True, conditions=[condition("Suspended")]),
        job_cells(status="Terminating"),
    ),
    "deleted when failed": (
        job(
            completions=1,
            deleted=True,
            startTime=HOURS_AGO,
            conditions=[condition("FailureTarget"), condition("Failed")],
        ),
        job_cells(status="Failed", duration="3h5m"),
    ),
    "two containers": (
        job(completions=1, containers=("c", "d")),
        job_cells(containers="c,d", images="image-c,image-d"),
    ),
    "a selector": (
        job(completions=1, selector={"matchLabels": {"b": "x", "a": "y"}, "matchExpressions": EXPRESSIONS}),
        job_cells(selector="a=y,a in (1),b=x,b notin (y,z),c,!d"),
    ),
}


@pytest.mark.parametrize(("obj", "cells"), JOBS.values(), ids=JOBS)
def test_a_job_tells_how_much_of_it_is_done(obj, cells):
    assert cells_of("jobs.batch", obj) == cells


# --- services ---


def service(kind="ClusterIP", *, ingress=None, **spec):
    status = {"loadBalancer": {"ingress": ingress} if ingress else {}}
    return obj(spec={"type": kind, **spec}, status=status)


def service_cells(kind="ClusterIP", ip="<none>", external="<none>", ports="80/TCP", selector="<none>"):
    return ("x", kind, ip, external, ports, AGE, selector)


HTTP = {"name": "http", "port": 80, "protocol": "TCP"}
OPEN = HTTP | {"nodePort": 30080}
IPS = ["1.2.3.4", "1.2.3.5"]

SERVICES = {
    "cluster IP": (service(clusterIPs=["10.0.0.9"], ports=[HTTP]), service_cells(ip="10.0.0.9")),
    "headless": (service(clusterIPs=["None"], ports=[HTTP]), service_cells(ip="None")),
    "headless, no ports": (service(clusterIPs=["None"]), service_cells(ip="None", ports="<none>")),
    "external IPs": (
        service(clusterIPs=["10.0.0.9"], externalIPs=IPS, ports=[HTTP], selector={"b": "2", "a": "1"}),
        service_cells(ip="10.0.0.9", external="1.2.3.4,1.2.3.5", selector="a=1,b=2"),
    ),
    "node port": (
        service(
            "NodePort",
            clusterIPs=["10.0.0.9"],
            ports=[OPEN, {"name": "dns", "port": 53, "protocol": "UDP", "nodePort": 30053}],
        ),
        service_cells("NodePort", ip="10.0.0.9", ports="80:30080/TCP,53:30053/UDP"),
    ),
    "load balancer, pending": (
        service("LoadBalancer", clusterIPs=["10.0.0.9"], ports=[OPEN]),
        service_cells("LoadBalancer", ip="10.0.0.9", external="<pending>", ports="80:30080/TCP"),
    ),
    "load balancer": (
        service(
            "LoadBalancer",
            clusterIPs=["10.0.0.9"],
            ports=[OPEN],
            ingress=[{"hostname": "lb.example.com"}, {"ip": "5.6.7.8"}, {"ip": "5.6.7.7"}],
        ),
        service_cells("LoadBalancer", ip="10.0.0.9", external="5.6.7.7,5.6.7.8,lb.example.com", ports="80:30080/TCP"),
    ),
    "load balancer with external IPs": (
        service("LoadBalancer", clusterIPs=["10.0.0.9"], ports=[OPEN], externalIPs=IPS, ingress=[{"ip": "5.6.7.8"}]),
        service_cells("LoadBalancer", ip="10.0.0.9", external="5.6.7.8,1.2.3.4,1.2.3.5", ports="80:30080/TCP"),
    ),
    "external name": (
        service("ExternalName", externalName="db.example.com"),
        service_cells("ExternalName", external="db.example.com", ports="<none>"),
    ),
}


@pytest.mark.parametrize(("obj", "cells"), SERVICES.values(), ids=SERVICES)
def test_a_service_tells_where_it_is_found(obj, cells):
    assert cells_of("services", obj) == cells


# --- events ---

HOURS = 4 * HOUR + 90
MINUTES = 750


def about(**more):
    return {"kind": "Pod", "namespace": "default", "name": "p", **more}


def event(**fields):
    return obj(involvedObject=about(), reason="R", type="Normal", message="m") | fields


def new_event(**fields):
    filled = {"reportingController": "example.com/c", "reportingInstance": "i", "eventTime": micro_ago(HOURS)}
    return obj(regarding=about(), reason="R", type="Normal", note="m", action="A", **filled) | fields


def event_cells(last, first, *, kind="Normal", target="pod/p", part="", source="", message="m", count=1):
    return (last, kind, "R", target, part, source, message, first, count, "x")


FROM_I = "example.com/c, i"
EVENTS = {
    "no times": ("events", event(), event_cells("<unknown>", "<unknown>")),
    "first and last": (
        "events",
        event(firstTimestamp=ago(HOURS), lastTimestamp=ago(MINUTES), count=7, type="Warning"),
        event_cells("12m", "4h1m", count=7, kind="Warning"),
    ),
    "the first time alone": ("events", event(firstTimestamp=ago(HOURS)), event_cells("4h1m", "4h1m")),
    "the last time alone": ("events", event(lastTimestamp=ago(MINUTES)), event_cells("12m", "<unknown>")),
    "a source": (
        "events",
        event(firstTimestamp=ago(HOURS), source={"component": "kubelet"}),
        event_cells("4h1m", "4h1m", source="kubelet"),
    ),
    "a source with its host": (
        "events",
        event(firstTimestamp=ago(HOURS), source={"component": "kubelet", "host": "n1"}),
        event_cells("4h1m", "4h1m", source="kubelet, n1"),
    ),
    "a part, spaces, capitals": (
        "events",
        event(
            involvedObject=about(kind="PodGroup", fieldPath="spec.containers{c}"),
            message=" \n m \t",
            firstTimestamp=ago(HOURS),
        ),
        event_cells("4h1m", "4h1m", target="podgroup/p", part="spec.containers{c}"),
    ),
    "about nothing with a name": (
        "events",
        event(involvedObject={"kind": "Pod", "namespace": "default"}),
        event_cells("<unknown>", "<unknown>", target="pod"),
    ),
    "newer, in the core group": (
        "events",
        event(
            eventTime=micro_ago(HOURS),
            action="A",
            reportingComponent="example.com/c",
            reportingInstance="i",
            series={"count": 5, "lastObservedTime": micro_ago(MINUTES)},
        ),
        event_cells("12m", "4h1m", source=FROM_I, count=5),
    ),
    "newer": ("events.events.k8s.io", new_event(), event_cells("4h1m", "4h1m", source=FROM_I)),
    "newer, a series": (
        "events.events.k8s.io",
        new_event(series={"count": 9, "lastObservedTime": micro_ago(MINUTES)}),
        event_cells("12m", "4h1m", source=FROM_I, count=9),
    ),
}


@pytest.mark.parametrize(("table", "obj", "cells"), EVENTS.values(), ids=EVENTS)
def test_an_event_tells_what_happened_and_when(table, obj, cells):
    assert cells_of(table, obj) == cells


def test_an_old_event_reads_alike_in_both_groups():
    old = {
        "deprecatedFirstTimestamp": ago(HOURS),
        "deprecatedLastTimestamp": ago(MINUTES),
        "deprecatedCount": 7,
        "deprecatedSource": {"component": "kubelet", "host": "n1"},
    }
    newer = obj(regarding=about(), reason="R", type="Normal", note="m", eventTime=None, **old)
    assert cells_of("events.events.k8s.io", newer) == event_cells("12m", "4h1m", source="kubelet, n1", count=7)


# --- the others ---

GANG = {"gang": {"minCount": 3}}


def group(*conditions, policy=None, ref=None):
    spec = {"schedulingPolicy": policy or GANG} | ({"workloadRef": ref} if ref else {})
    return obj(spec=spec, status={"conditions": list(conditions)} if conditions else {})


def told(kind, status="True", reason="R"):
    return condition(kind, status, reason=reason, message="", lastTransitionTime=ago(60))


def scheduled(status, reason="R"):
    return told("PodGroupInitiallyScheduled", status, reason)


def version(name, *, served=True, storage=False):
    return {"name": name, "served": served, "storage": storage}


def definition(*versions, short=None, conditions=()):
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    spec = {"group": "tables.example.com", "scope": "Namespaced", "versions": list(versions)}
    spec["names"] = names | ({"shortNames": short} if short else {})
    return obj("things.tables.example.com", spec=spec, status={"conditions": list(conditions)})


OTHERS = {
    "namespace": ("namespaces", obj(status={"phase": "Active"}), ("x", "Active", AGE)),
    "namespace, going": ("namespaces", obj(status={"phase": "Terminating"}), ("x", "Terminating", AGE)),
    "configmap": ("configmaps", obj(data={"a": "1"}, binaryData={"b": "", "c": ""}), ("x", 3, AGE)),
    "configmap, empty": ("configmaps", obj(), ("x", 0, AGE)),
    "secret": ("secrets", obj(type="Opaque", data={"a": "MQ=="}), ("x", "Opaque", 1, AGE)),
    "secret, empty": ("secrets", obj(type="Opaque"), ("x", "Opaque", 0, AGE)),
    "service account": ("serviceaccounts", obj(), ("x", AGE)),
    "priority class": (
        "priorityclasses.scheduling.k8s.io",
        obj(value=-5, preemptionPolicy="Never"),
        ("x", -5, False, AGE, "Never"),
    ),
    "workload": (
        "workloads.scheduling.k8s.io",
        obj(spec={"podGroupTemplates": [{"name": "t", "schedulingPolicy": GANG}]}),
        ("x", AGE),
    ),
    "pod group": ("podgroups.scheduling.k8s.io", group(), ("x", "Gang", "<none>", "Pending", AGE)),
    "pod group, basic": (
        "podgroups.scheduling.k8s.io",
        group(policy={"basic": {}}),
        ("x", "Basic", "<none>", "Pending", AGE),
    ),
    "pod group of a workload": (
        "podgroups.scheduling.k8s.io",
        group(ref={"workloadName": "w", "templateName": "t"}),
        ("x", "Gang", "w", "Pending", AGE),
    ),
    "pod group, scheduled": (
        "podgroups.scheduling.k8s.io",
        group(scheduled("True")),
        ("x", "Gang", "<none>", "Scheduled", AGE),
    ),
    "pod group, not schedulable": (
        "podgroups.scheduling.k8s.io",
        group(scheduled("False", "Unschedulable")),
        ("x", "Gang", "<none>", "Unschedulable", AGE),
    ),
    "pod group, an error": (
        "podgroups.scheduling.k8s.io",
        group(scheduled("False", "SchedulerError")),
        ("x", "Gang", "<none>", "Unschedulable", AGE),
    ),
    "pod group, disrupted": (
        "podgroups.scheduling.k8s.io",
        group(scheduled("True"), told("DisruptionTarget", reason="PreemptionByScheduler")),
        ("x", "Gang", "<none>", "PreemptionByScheduler", AGE),
    ),
    "pod group, disrupted before": (
        "podgroups.scheduling.k8s.io",
        group(scheduled("True"), told("DisruptionTarget", "False", "Over")),
        ("x", "Gang", "<none>", "Over", AGE),
    ),
    "budget": (
        "poddisruptionbudgets.policy",
        obj(spec={"minAvailable": 2}, status={"disruptionsAllowed": 3}),
        ("x", "2", "N/A", 3, AGE),
    ),
    "budget, in percent": (
        "poddisruptionbudgets.policy",
        obj(spec={"maxUnavailable": "30%"}, status={"disruptionsAllowed": 0}),
        ("x", "N/A", "30%", 0, AGE),
    ),
    "budget of nothing": ("poddisruptionbudgets.policy", obj(spec={}), ("x", "N/A", "N/A", 0, AGE)),
    "lease": ("leases.coordination.k8s.io", obj(spec={"holderIdentity": "me"}), ("x", "me", AGE)),
    "lease of nobody": ("leases.coordination.k8s.io", obj(spec={}), ("x", "", AGE)),
    "definition": (
        "customresourcedefinitions.apiextensions.k8s.io",
        definition(
            version("v1", storage=True),
            version("v1beta1"),
            version("v1alpha1", served=False),
            short=["th", "tg"],
            conditions=[condition("NamesAccepted"), condition("Established")],
        ),
        (
            "things.tables.example.com",
            "Namespaced",
            "v1(storage),v1beta1",
            ago(90),
            "tables.example.com",
            "Thing",
            "th,tg",
            True,
        ),
    ),
    "definition, not yet established": (
        "customresourcedefinitions.apiextensions.k8s.io",
        definition(version("v1", storage=True)),
        ("things.tables.example.com", "Namespaced", "v1(storage)", ago(90), "tables.example.com", "Thing", "", False),
    ),
    "kind that the server has no words for": ("limitranges", obj(), ("x", ago(90))),
}


@pytest.mark.parametrize(("table", "obj", "cells"), OTHERS.values(), ids=OTHERS)
def test_kinds_with_less_to_tell(table, obj, cells):
    assert cells_of(table, obj) == cells


# --- what autoscalers ask for ---

CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}
RATE = {"type": "Pods", "pods": {"metric": {"name": "rate"}, "target": {"type": "AverageValue", "averageValue": "1k"}}}
QUEUE = {"type": "External", "external": {"metric": {"name": "q"}, "target": {"type": "Value", "value": "4"}}}
SHARE = {"type": "External", "external": {"metric": {"name": "q"}, "target": {"averageValue": "3"}}}
MEASURED = {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 7, "averageValue": "1"}}}


@pytest.mark.parametrize(
    ("metrics", "measured", "cell"),
    [
        ([], [], "<none>"),
        ([CPU], [], "cpu: <unknown>/80%"),
        ([CPU], [MEASURED], "cpu: 7%/80%"),
        ([CPU, RATE], [MEASURED], "cpu: 7%/80%, <unknown>/1k"),
        ([QUEUE, SHARE, CPU, RATE], [], "<unknown>/4, <unknown>/3 (avg) + 2 more..."),
    ],
)
def test_an_autoscaler_tells_what_it_measures_and_asks_for(metrics, measured, cell):
    scaler = obj(spec={"metrics": metrics, "scaleTargetRef": {}}, status={"currentMetrics": measured})
    assert cells_of("horizontalpodautoscalers.autoscaling", scaler)[2] == cell


def test_the_class_that_ingresses_get_by_default_says_so():
    default = obj(spec={})
    default["metadata"]["annotations"] = {"ingressclass.kubernetes.io/is-default-class": "true"}
    table = "ingressclasses.networking.k8s.io"
    assert [cells_of(table, one)[0] for one in (default, obj(spec={}))] == ["x (default)", "x"]


def test_a_driver_tells_for_whom_it_wants_tokens():
    driver = obj(spec={"tokenRequests": [{"audience": "a"}, {"audience": "b"}]})
    table = "csidrivers.storage.k8s.io"
    assert [cells_of(table, one)[4] for one in (driver, obj(spec={}))] == ["a,b", "<unset>"]
