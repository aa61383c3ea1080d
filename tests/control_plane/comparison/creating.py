"""Objects that are wrong in what they say, and what good ones become: defaults, normal forms."""

from __future__ import annotations

from typing import Any

from tests.control_plane.comparison import objects
from tests.control_plane.comparison.objects import container, job, pod
from tests.control_plane.comparison.steps import Step, at, create, titled

NAMESPACE = "cmp-create"


def _try(plural: str, name: str, obj: dict[str, Any], *, code: int = 422) -> Step:
    """Every one is a dry run: they do not get into each other's way."""
    namespace = "" if plural in ("nodes", "namespaces", "customresourcedefinitions", "priorityclasses") else NAMESPACE
    return create(name, at(plural, namespace, dryRun="All"), obj, code=code)


def _pod(name: str, *, code: int = 422, containers: list[Any] | None = None, **spec: object) -> Step:
    return _try("pods", f"pod: {name}", pod("p", containers=containers, **spec), code=code)


def _container(what: str, /, *, code: int = 422, **fields: object) -> Step:
    return _pod(what, code=code, containers=[{**container(), **fields}])


_TERM = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
_BAD_TERM = {"matchExpressions": [{"key": "zone", "operator": "Near", "values": []}, {"key": "", "operator": "Exists"}]}

_PODS = (
    _try("pods", "pod: no spec", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}),
    _pod("an empty container", containers=[{}]),
    _try("pods", "pod: containers empty", {**pod("p"), "spec": {"containers": []}}),
    _container("no image", image=""),
    _container("container without a name", name=""),
    _container("container with a bad name", name="Bad.Name"),
    _container("image with spaces", image=" a b "),
    _pod("the same container twice", containers=[container(), container()]),
    _pod("init container of the same name", initContainers=[container()]),
    _container("bad pull policy", imagePullPolicy="Sometimes"),
    _pod("bad restart policy", restartPolicy="Maybe"),
    _pod("bad DNS policy", dnsPolicy="Guess"),
    _container("request over limit", resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}),
    _container("negative request", resources={"requests": {"cpu": "-1"}}),
    _container("resource without a domain", resources={"requests": {"gpu": "1"}}),
    _container("gpu without a limit", resources={"requests": {"example.com/gpu": "1"}}),
    _container("gpu in parts", resources={"limits": {"example.com/gpu": "500m"}}),
    _container(
        "quantities in other forms",
        code=201,
        resources={
            "requests": {"cpu": "0.1", "memory": "1024Mi", "ephemeral-storage": "1e9"},
            "limits": {"cpu": "2000m", "memory": "1.5Gi", "example.com/gpu": "2", "ephemeral-storage": "5000M"},
        },
    ),
    _container("huge pages without cpu or memory", resources={"limits": {"hugepages-2Mi": "4Mi"}, "requests": {}}),
    _container(
        "bad ports", ports=[{"containerPort": 0}, {"containerPort": 70000}, {"containerPort": 80, "protocol": "IP"}]
    ),
    _container("ports of one name", ports=[{"name": "a", "containerPort": 1}, {"name": "a", "containerPort": 2}]),
    _container("bad port name", ports=[{"name": "Too_Long-name-of-port", "containerPort": 1}]),
    _container(
        "the same host port twice",
        ports=[{"hostPort": 80, "containerPort": 1}, {"hostPort": 80, "containerPort": 2}],
    ),
    _container("bad environment", env=[{"name": ""}, {"name": "a=b"}, {"name": "X", "value": "v", "valueFrom": {}}]),
    _container(
        "environment from fields",
        code=201,
        env=[
            {"name": "A", "value": "$(B)"},
            {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "C", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
            {"name": "D", "valueFrom": {"configMapKeyRef": {"name": "m", "key": "k", "optional": True}}},
        ],
    ),
    _container("environment from a bad field", env=[{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.x"}}}]),
    _container("mount without a volume", volumeMounts=[{"name": "data", "mountPath": "/data"}]),
    _container("mount without a path", volumeMounts=[{"name": "data", "mountPath": ""}]),
    _pod("volume without a source", volumes=[{"name": "data"}], code=201),
    _pod("volume with two sources", volumes=[{"name": "d", "emptyDir": {}, "hostPath": {"path": "/x"}}]),
    _pod("volumes of one name", volumes=[{"name": "d", "emptyDir": {}}, {"name": "d", "emptyDir": {}}]),
    _pod(
        "volumes of many kinds",
        code=201,
        volumes=[
            {"name": "a", "configMap": {"name": "m"}},
            {"name": "b", "secret": {"secretName": "s", "items": [{"key": "k", "path": "p"}]}},
            {"name": "c", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}},
            {"name": "d", "hostPath": {"path": "/dev"}},
            {"name": "e", "persistentVolumeClaim": {"claimName": "claim"}},
            {"name": "f", "projected": {"sources": [{"secret": {"name": "s"}}, {"configMap": {"name": "m"}}]}},
            {"name": "g", "downwardAPI": {"items": [{"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
        ],
    ),
    _pod("host path outside", volumes=[{"name": "d", "hostPath": {"path": "/a/../b", "type": "Odd"}}]),
    _container(
        "probes",
        code=201,
        livenessProbe={"httpGet": {"path": "/live", "port": 80}},
        readinessProbe={"exec": {"command": ["true"]}, "periodSeconds": 5},
        startupProbe={"tcpSocket": {"port": "web"}},
        ports=[{"name": "web", "containerPort": 80}],
    ),
    _container("bad probes", livenessProbe={"httpGet": {"port": 0}, "periodSeconds": -1}, readinessProbe={}),
    _container("life cycle without a handler", lifecycle={"preStop": {}}),
    _container(
        "bad security", securityContext={"privileged": True, "allowPrivilegeEscalation": False, "runAsUser": -1}
    ),
    _container("bad termination", terminationMessagePolicy="Loud", terminationMessagePath=""),
    _pod("security of the pod", code=201, securityContext={"runAsUser": 1000, "fsGroup": 2000, "sysctls": []}),
    _pod(
        "bad tolerations",
        tolerations=[{"key": "a", "operator": "Near"}, {"operator": "Exists", "value": "x"}, {"effect": "Odd"}],
    ),
    _pod(
        "tolerations",
        code=201,
        tolerations=[{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}],
    ),
    _pod(
        "toleration seconds without NoExecute", tolerations=[{"key": "a", "operator": "Exists", "tolerationSeconds": 5}]
    ),
    _pod("bad node selector", nodeSelector={"a b": "c d"}),
    _pod(
        "node affinity",
        code=201,
        affinity={
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [_TERM]},
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "preference": _TERM}],
            }
        },
    ),
    _pod(
        "bad node affinity",
        affinity={
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [_BAD_TERM]},
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 500, "preference": _TERM}],
            }
        },
    ),
    _pod(
        "bad pod affinity",
        affinity={
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"labelSelector": {"matchLabels": {"a b": "c"}}, "topologyKey": ""}
                ]
            }
        },
    ),
    _pod(
        "spread",
        code=201,
        topologySpreadConstraints=[
            {
                "maxSkew": 1,
                "topologyKey": "zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"a": "b"}},
            }
        ],
    ),
    _pod("bad spread", topologySpreadConstraints=[{"maxSkew": 0, "topologyKey": "", "whenUnsatisfiable": "Odd"}]),
    _pod("scheduling gates", code=201, schedulingGates=[{"name": "example.com/a"}, {"name": "b"}]),
    _pod("bad scheduling gates", schedulingGates=[{"name": ""}, {"name": "a"}, {"name": "a"}]),
    _pod("gate and node", schedulingGates=[{"name": "a"}], nodeName="n1"),
    _pod("negative deadline and grace", activeDeadlineSeconds=-1, terminationGracePeriodSeconds=-5),
    _pod("bad host name", hostname="Bad_Host", subdomain="Bad_Sub"),
    _pod("bad node and scheduler", nodeName="Bad_Node", schedulerName="Bad_S"),
    _pod("priority of one's own", code=403, priority=7),
    _pod("class that is not there", code=403, priorityClassName="nobody-has-it"),
    _pod("system class", code=201, priorityClassName="system-node-critical"),
    _pod("bad preemption policy", code=403, preemptionPolicy="Always"),
    _pod("host network moves ports", code=201, hostNetwork=True, containers=[container(ports=[{"containerPort": 80}])]),
    _pod(
        "host network with another host port",
        hostNetwork=True,
        containers=[container(ports=[{"containerPort": 80, "hostPort": 81}])],
    ),
    _pod("host aliases", code=201, hostAliases=[{"ip": "10.1.2.3", "hostnames": ["a", "b"]}]),
    _pod("bad host aliases", hostAliases=[{"ip": "nowhere", "hostnames": ["a b"]}]),
    _pod("pull secrets", code=201, imagePullSecrets=[{"name": "a"}, {}]),
    _pod("init containers", code=201, initContainers=[container("first"), container("side", restartPolicy="Always")]),
    _pod("overhead", code=403, overhead={"cpu": "100m"}),
    _pod("runtime class that is not there", code=403, runtimeClassName="nobody-has-it"),
    _pod("group", code=201, schedulingGroup={"podGroupName": "train"}),
    _pod("group without a name", schedulingGroup={}),
    _pod("group with a bad name", schedulingGroup={"podGroupName": "Bad_Group"}),
    _pod("image by default", code=201, containers=[container(image="nginx"), container("two", image="nginx:latest")]),
    _pod("everything by default", code=201),
    _pod("lists that are empty", code=201, tolerations=[], volumes=[], nodeSelector={}, initContainers=[]),
    _pod(
        "nulls",
        code=201,
        affinity=None,
        priority=None,
        hostNetwork=None,
        containers=[container(env=None, resources=None)],
    ),
    _pod(
        "things to be warned of",
        code=201,
        hostAliases=[{"ip": "10.1.2.3", "hostnames": ["a"]}, {"ip": "10.1.2.3", "hostnames": ["b"]}],
        imagePullSecrets=[{"name": "a"}, {"name": "a"}],
        affinity={
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}],
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 1, "podAffinityTerm": {"topologyKey": "zone"}}
                ],
            }
        },
        topologySpreadConstraints=[{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}],
        containers=[
            container(
                env=[{"name": "A", "value": "1"}, {"name": "A", "value": "2"}, {"name": "A", "value": "$(A)3"}],
                ports=[{"containerPort": 80, "name": "web"}, {"containerPort": 80, "name": "web-2"}],
            ),
            container("two", ports=[{"containerPort": 80, "hostPort": 8080}, {"containerPort": 81, "name": "web"}]),
        ],
    ),
    _pod("ephemeral containers", ephemeralContainers=[{"name": "debug", "image": "busybox"}]),
    _try("pods", "pod: status is given", {**pod("p"), "status": {"phase": "Running", "podIP": "10.1.1.1"}}, code=201),
)

_JOBS = (
    _try("jobs", "job: everything by default", job("j"), code=201),
    _try("jobs", "job: without a template", {**job("j"), "spec": {}}),
    _try(
        "jobs",
        "job: restart always",
        job("j", template={"spec": {"containers": [container()], "restartPolicy": "Always"}}),
    ),
    _try("jobs", "job: restart not said", job("j", template={"spec": {"containers": [container()]}})),
    _try(
        "jobs",
        "job: negative numbers",
        job("j", parallelism=-1, completions=-2, backoffLimit=-3, activeDeadlineSeconds=-4, ttlSecondsAfterFinished=-5),
    ),
    _try("jobs", "job: indexed without completions", job("j", completionMode="Indexed"), code=201),
    _try("jobs", "job: indexed", job("j", completionMode="Indexed", completions=5, parallelism=2), code=201),
    _try("jobs", "job: odd mode", job("j", completionMode="Random", completions=1)),
    _try("jobs", "job: selector of one's own", job("j", selector={"matchLabels": {"a": "b"}})),
    _try(
        "jobs",
        "job: manual selector",
        job(
            "j",
            manualSelector=True,
            selector={"matchLabels": {"a": "b"}},
            template={
                "metadata": {"labels": {"a": "b"}},
                "spec": {"containers": [container()], "restartPolicy": "OnFailure"},
            },
        ),
        code=201,
    ),
    _try(
        "jobs",
        "job: suspended, with all the limits",
        job("j", suspend=True, backoffLimit=0, activeDeadlineSeconds=10, ttlSecondsAfterFinished=0),
        code=201,
    ),
    _try(
        "jobs",
        "job: failure policy",
        job(
            "j",
            podFailurePolicy={
                "rules": [
                    {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}},
                    {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]},
                ]
            },
        ),
        code=201,
    ),
    _try(
        "jobs",
        "job: bad failure policy",
        job(
            "j",
            podFailurePolicy={
                "rules": [{"action": "Odd"}, {"action": "Count", "onExitCodes": {"operator": "In", "values": [0, 0]}}]
            },
        ),
    ),
    _try(
        "jobs",
        "job: success policy",
        job(
            "j",
            completionMode="Indexed",
            completions=3,
            successPolicy={"rules": [{"succeededIndexes": "0-1", "succeededCount": 1}]},
        ),
        code=201,
    ),
    _try(
        "jobs",
        "job: bad success policy",
        job("j", completions=3, successPolicy={"rules": [{"succeededIndexes": "x"}, {}]}),
    ),
    _try(
        "jobs",
        "job: limit per index",
        job("j", completionMode="Indexed", completions=3, backoffLimitPerIndex=1, maxFailedIndexes=9),
    ),
    _try("jobs", "job: replaced by", job("j", podReplacementPolicy="Never", managedBy="nobody")),
    _try("jobs", "job: name too long for pods", job("j" * 64)),
    _try(
        "jobs",
        "job: template wrong",
        job(
            "j",
            template={
                "metadata": {"labels": {"a b": "c"}},
                "spec": {"restartPolicy": "Never", "containers": [{"name": "x"}]},
            },
        ),
    ),
    _try(
        "jobs",
        "job: scheduled as a gang",
        job("j", parallelism=4, completions=4, scheduling={"schedulingPolicy": {"gang": {"minCount": 3}}}),
        code=201,
    ),
    _try(
        "jobs",
        "job: scheduled as a gang, by default",
        job("j", parallelism=4, completions=4, scheduling={"schedulingPolicy": {"gang": {}}}),
        code=201,
    ),
    _try(
        "jobs",
        "job: gang larger than the job",
        job("j", parallelism=2, scheduling={"schedulingPolicy": {"gang": {"minCount": 3}}}),
    ),
    _try("jobs", "job: gang of none", job("j", scheduling={"schedulingPolicy": {"gang": {"minCount": 0}}})),
    _try("jobs", "job: two policies", job("j", scheduling={"schedulingPolicy": {"gang": {}, "basic": {}}})),
    _try("jobs", "job: no policy", job("j", scheduling={"schedulingPolicy": {}})),
    _try("jobs", "job: scheduling is empty", job("j", scheduling={}), code=201),
    _try(
        "jobs",
        "job: scheduled in one zone, as one",
        job(
            "j",
            scheduling={
                "schedulingPolicy": {"gang": {}},
                "schedulingConstraints": {"topology": [{"key": "zone"}]},
                "disruptionMode": {"all": {}},
            },
        ),
        code=201,
    ),
    _try(
        "jobs",
        "job: no gang, yet disrupted as one",
        job("j", scheduling={"schedulingPolicy": {"basic": {}}, "disruptionMode": {"all": {}}}),
    ),
    _try(
        "jobs",
        "job: scheduling wrong",
        job(
            "j",
            scheduling={
                "schedulingConstraints": {"topology": [{"key": "a b"}, {"key": "c"}]},
                "disruptionMode": {"all": {}, "single": {}},
            },
        ),
    ),
)

_group, _workload, _template = objects.group, objects.workload, objects.template
_GROUPS = (
    _try("podgroups", "group: everything by default", _group("g"), code=201),
    _try("podgroups", "group: without a policy", {**_group("g"), "spec": {}}),
    _try(
        "podgroups",
        "group: without a spec",
        {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": {"name": "g"}},
    ),
    _try("podgroups", "group: negative minCount", _group("g", minimum=-1)),
    _try("podgroups", "group: minCount 0", _group("g", minimum=0)),
    _try("podgroups", "group: two policies", _group("g", schedulingPolicy={"gang": {"minCount": 1}, "basic": {}})),
    _try("podgroups", "group: basic", _group("g", schedulingPolicy={"basic": {}}), code=201),
    _try("podgroups", "group: gang without a count", _group("g", schedulingPolicy={"gang": {}})),
    _try(
        "podgroups",
        "group: of a workload",
        _group("g", workloadRef={"workloadName": "w", "templateName": "t"}),
        code=201,
    ),
    _try(
        "podgroups", "group: of a bad workload", _group("g", workloadRef={"workloadName": "W_", "templateName": "a.b"})
    ),
    _try("podgroups", "group: of nothing", _group("g", workloadRef={})),
    _try("podgroups", "group: with a parent alone", _group("g", parentCompositePodGroupName="p")),
    _try(
        "podgroups",
        "group: with a parent",
        _group("g", parentCompositePodGroupName="p", workloadRef={"workloadName": "w", "templateName": "t"}),
        code=201,
    ),
    _try(
        "podgroups",
        "group: in a zone",
        _group("g", schedulingConstraints={"topology": [{"key": "example.com/zone"}]}),
        code=201,
    ),
    _try(
        "podgroups",
        "group: in two zones",
        _group("g", schedulingConstraints={"topology": [{"key": "a b"}, {"key": ""}]}),
    ),
    _try("podgroups", "group: disrupted as one", _group("g", disruptionMode={"all": {}}), code=201),
    _try("podgroups", "group: disrupted in two ways", _group("g", disruptionMode={"all": {}, "single": {}})),
    _try("podgroups", "group: disrupted in no way", _group("g", disruptionMode={})),
    _try("podgroups", "group: never preempts", _group("g", preemptionPolicy="Never"), code=403),
    _try("podgroups", "group: preempts oddly", _group("g", preemptionPolicy="Odd"), code=403),
    _try("podgroups", "group: priority of its own", _group("g", priority=5), code=403),
    _try("podgroups", "group: class that is not there", _group("g", priorityClassName="nobody-has-it"), code=403),
    _try("podgroups", "group: system class", _group("g", priorityClassName="system-cluster-critical")),
    _try("podgroups", "group: claims", _group("g", resourceClaims=[{"name": "a", "resourceClaimName": "x"}]), code=201),
    _try("podgroups", "group: status is given", {**_group("g"), "status": {"conditions": [{"type": "X"}]}}, code=201),
    _try("workloads", "workload: everything by default", _workload("w"), code=201),
    _try("workloads", "workload: without templates", _workload("w", templates=[])),
    _try(
        "workloads",
        "workload: without a spec",
        {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "Workload", "metadata": {"name": "w"}},
    ),
    _try(
        "workloads",
        "workload: nine templates",
        _workload("w", templates=[_template(f"t{number}") for number in range(9)]),
    ),
    _try("workloads", "workload: templates of one name", _workload("w", templates=[_template(), _template()])),
    _try(
        "workloads",
        "workload: bad template",
        _workload(
            "w", templates=[{"name": "A.b", "schedulingPolicy": {"gang": {"minCount": -1}}, "priority": 2000000000}, {}]
        ),
    ),
    _try(
        "workloads",
        "workload: of a controller",
        _workload("w", controllerRef={"apiGroup": "batch", "kind": "Job", "name": "j"}),
        code=201,
    ),
    _try(
        "workloads",
        "workload: of a bad controller",
        _workload("w", controllerRef={"apiGroup": "B_", "kind": "a/b", "name": ""}),
    ),
    _try(
        "workloads",
        "workload: different priorities",
        _workload("w", templates=[_template("a", priorityClassName="x"), _template("b", priorityClassName="y")]),
    ),
    _try(
        "workloads",
        "workload: a tree",
        {
            **_workload("w"),
            "spec": {
                "compositePodGroupTemplates": [
                    {
                        "name": "root",
                        "schedulingPolicy": {"gang": {"minGroupCount": 1}},
                        "podGroupTemplates": [_template("leaf")],
                    }
                ]
            },
        },
        code=201,
    ),
    _try(
        "workloads",
        "workload: a bad tree",
        {
            **_workload("w"),
            "spec": {
                "podGroupTemplates": [_template("root")],
                "compositePodGroupTemplates": [{"name": "root", "schedulingPolicy": {"gang": {"minGroupCount": 0}}}],
            },
        },
    ),
    _try(
        "workloads",
        "workload: all of a template",
        _workload(
            "w",
            templates=[
                _template(
                    disruptionMode={"all": {}},
                    schedulingConstraints={"topology": [{"key": "zone"}]},
                    priorityClassName="x",
                    preemptionPolicy="Never",
                )
            ],
        ),
        code=201,
    ),
)

_service, _secret = objects.service, objects.secret
_OTHERS = (
    _try("services", "service: without ports", _service("s", ports=[])),
    _try(
        "services",
        "service: bad ports",
        _service("s", ports=[{"port": 0}, {"port": 70000, "targetPort": "Bad_"}, {"port": 80, "protocol": "IP"}]),
    ),
    _try("services", "service: ports without names", _service("s", ports=[{"port": 80}, {"port": 81}])),
    _try(
        "services",
        "service: the same port twice",
        _service("s", ports=[{"name": "a", "port": 80}, {"name": "b", "port": 80}]),
    ),
    _try("services", "service: of an odd type", _service("s", type="Odd", sessionAffinity="Odd")),
    _try("services", "service: headless", _service("s", clusterIP="None", selector={"a": "b"}, ports=[]), code=201),
    _try(
        "services",
        "service: external name",
        _service("s", type="ExternalName", externalName="example.com", ports=[]),
        code=201,
    ),
    _try(
        "services", "service: external name is bad", _service("s", type="ExternalName", externalName="Bad_", ports=[])
    ),
    _try(
        "services",
        "service: node port",
        _service("s", type="NodePort", ports=[{"name": "a", "port": 80, "targetPort": "web"}]),
        code=201,
    ),
    _try(
        "services",
        "service: load balancer",
        _service("s", type="LoadBalancer", sessionAffinity="ClientIP", externalTrafficPolicy="Local"),
        code=201,
    ),
    _try(
        "services",
        "service: bad selector and addresses",
        _service("s", selector={"a b": "c"}, externalIPs=["x"], clusterIP="y"),
    ),
    _try("services", "service: two families", _service("s", ipFamilyPolicy="PreferDualStack"), code=201),
    _try(
        "services",
        "service: things to be warned of",
        _service("s", externalIPs=["10.2.2.2"], trafficDistribution="PreferClose", externalName="example.com"),
        code=201,
    ),
    _try(
        "secrets",
        "secret: no certificate",
        _secret("s", {"tls.crt": "eA==", "tls.key": "eA=="}, type="kubernetes.io/tls"),
        code=201,
    ),
    _try("services", "service: bad name", _service("1-is-a-digit"), code=201),
    _try("secrets", "secret: text", _secret("s", stringData={"a": "b"}, type="Opaque"), code=201),
    _try("secrets", "secret: bad key", _secret("s", {"a b": "eA=="})),
    _try("secrets", "secret: not base64", _secret("s", {"a": "?"}), code=400),
    _try("secrets", "secret: tls without a key", _secret("s", {"tls.crt": ""}, type="kubernetes.io/tls")),
    _try(
        "secrets", "secret: docker", _secret("s", {".dockerconfigjson": "eA=="}, type="kubernetes.io/dockerconfigjson")
    ),
    _try("secrets", "secret: basic auth without anything", _secret("s", type="kubernetes.io/basic-auth")),
    _try("secrets", "secret: token of nobody", _secret("s", type="kubernetes.io/service-account-token")),
    _try("secrets", "secret: immutable", _secret("s", immutable=True), code=201),
    _try(
        "configmaps",
        "config map: bad keys",
        {**objects.config_map("m", {"a b": "c"}), "binaryData": {"a b": "eA=="}},
    ),
    _try(
        "configmaps",
        "config map: binary",
        {**objects.config_map("m"), "binaryData": {"a": "eA=="}, "immutable": False},
        code=201,
    ),
    _try(
        "serviceaccounts",
        "account: with secrets",
        {
            **objects.account("a"),
            "secrets": [{"name": "s"}],
            "imagePullSecrets": [{"name": "t"}],
            "automountServiceAccountToken": False,
        },
        code=201,
    ),
    _try(
        "leases",
        "lease: with everything",
        objects.lease(
            "l",
            holderIdentity="me",
            leaseDurationSeconds=15,
            leaseTransitions=3,
            acquireTime="2001-02-03T04:05:06.000000Z",
            renewTime="2001-02-03T04:05:06.123456Z",
        ),
        code=201,
    ),
    _try("leases", "lease: wrong", objects.lease("l", holderIdentity="", leaseDurationSeconds=0, leaseTransitions=-1)),
    _try(
        "leases", "lease: strategy without a holder", objects.lease("l", strategy="Odd", preferredHolder="me"), code=201
    ),
    _try("leases", "lease: time without parts", objects.lease("l", renewTime="2001-02-03T04:05:06Z"), code=400),
    _try(
        "poddisruptionbudgets",
        "budget: of both",
        objects.budget("b", labels={"a": "b"}, minAvailable=1, maxUnavailable=1),
    ),
    _try("poddisruptionbudgets", "budget: negative", objects.budget("b", labels={"a": "b"}, minAvailable=-1)),
    _try(
        "poddisruptionbudgets",
        "budget: percent",
        objects.budget("b", labels={"a": "b"}, minAvailable="50%", unhealthyPodEvictionPolicy="AlwaysAllow"),
        code=201,
    ),
    _try(
        "poddisruptionbudgets",
        "budget: bad percent",
        objects.budget("b", labels={"a": "b"}, maxUnavailable="half", unhealthyPodEvictionPolicy="Odd"),
    ),
    _try("poddisruptionbudgets", "budget: over 100 %", objects.budget("b", labels={"a b": "c"}, maxUnavailable="150%")),
    _try("priorityclasses", "class: too high", objects.priority_class("c", 2000000000)),
    _try("priorityclasses", "class: of the system", objects.priority_class("system-mine", 7)),
    _try(
        "priorityclasses",
        "class: never preempts",
        objects.priority_class("c", -7, preemptionPolicy="Never", description="low"),
        code=201,
    ),
    _try("priorityclasses", "class: preempts oddly", objects.priority_class("c", 7, preemptionPolicy="Odd")),
    _try(
        "priorityclasses",
        "class: without a value",
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "c"}},
        code=201,
    ),
    _try(
        "nodes",
        "node: everything",
        objects.node(
            "n",
            taints=[{"key": "a", "value": "b", "effect": "NoSchedule"}],
            podCIDR="10.1.0.0/24",
            providerID="x://y",
            unschedulable=True,
        ),
        code=201,
    ),
    _try(
        "nodes",
        "node: bad taints",
        objects.node(
            "n",
            taints=[
                {"key": "a b", "effect": "Odd"},
                {"key": "c", "effect": "NoExecute"},
                {"key": "c", "effect": "NoExecute"},
            ],
        ),
    ),
    _try("nodes", "node: bad addresses", objects.node("n", podCIDR="here", podCIDRs=["there"])),
    _try(
        "nodes",
        "node: with a status",
        {
            **objects.node("n"),
            "status": {
                "capacity": {"cpu": "4", "memory": "16Gi", "pods": "110"},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        },
        code=201,
    ),
    _try("namespaces", "namespace: bad name", objects.namespace("a.b")),
    _try(
        "namespaces",
        "namespace: finalizers",
        {**objects.namespace("cmp-x"), "spec": {"finalizers": ["example.com/a", "bad one"]}},
    ),
    _try(
        "namespaces",
        "namespace: label of its own",
        objects.namespace("cmp-x", labels={"kubernetes.io/metadata.name": "other", "a": "b"}),
        code=201,
    ),
    _try(
        "events",
        "event: of another namespace",
        objects.event("e", NAMESPACE, involvedObject={"kind": "Pod", "namespace": "elsewhere", "name": "x"}),
    ),
    _try("events", "event: of a node", objects.event("e", NAMESPACE, involvedObject={"kind": "Node", "name": "x"})),
    _try(
        "events",
        "event: new fields in the old group",
        objects.event("e", NAMESPACE, eventTime="2001-02-03T04:05:06.000007Z", reportingComponent="", action=""),
    ),
    _try(
        "events.events.k8s.io", "event: new, without a time", {**objects.new_event("e", NAMESPACE), "eventTime": None}
    ),
    _try(
        "events.events.k8s.io",
        "event: new, wrong",
        objects.new_event(
            "e",
            NAMESPACE,
            reportingController="a b",
            reportingInstance="",
            action="",
            reason="r" * 200,
            note="n" * 2000,
            type="Odd",
            regarding={"namespace": "elsewhere"},
        ),
    ),
    _try(
        "events.events.k8s.io",
        "event: new, a series",
        objects.new_event("e", NAMESPACE, series={"count": 1, "lastObservedTime": "2001-02-03T04:05:06.000007Z"}),
    ),
    _try(
        "events.events.k8s.io",
        "event: new, with old fields",
        objects.new_event("e", NAMESPACE, deprecatedCount=2, deprecatedSource={"component": "x"}),
    ),
)

_SCHEMA = {"schema": {"openAPIV3Schema": {"type": "object"}}}


def _definition(name: str, made: dict[str, Any], *, code: int = 422) -> Step:
    return _try("customresourcedefinitions", f"definition: {name}", made, code=code)


def _schema(name: str, properties: object, *, code: int = 422) -> Step:
    version = {"schema": {"openAPIV3Schema": {"type": "object", "properties": properties}}}
    return _definition(name, objects.definition("things", "Thing", version=version), code=code)


_DEFINITIONS = (
    _definition("good", objects.definition("things", "Thing", version=_SCHEMA), code=201),
    _definition(
        "of another name",
        {**objects.definition("things", "Thing", version=_SCHEMA), "metadata": {"name": "thing.example.com"}},
    ),
    _definition("without a schema", objects.definition("things", "Thing", version={})),
    _definition("of an odd scope", objects.definition("things", "Thing", version=_SCHEMA, scope="Odd")),
    _definition("without names", objects.definition("things", "Thing", version=_SCHEMA, names={})),
    _definition(
        "with bad names",
        objects.definition(
            "things",
            "Thing",
            version=_SCHEMA,
            names={"plural": "things", "kind": "a b", "shortNames": ["T"], "categories": ["all"]},
        ),
    ),
    _definition("without versions", objects.definition("things", "Thing", version=_SCHEMA, versions=[])),
    _definition("without storage", objects.definition("things", "Thing", version={**_SCHEMA, "storage": False})),
    _definition(
        "of a kept group",
        {
            **objects.definition("things", "Thing", version=_SCHEMA, group="things.k8s.io"),
            "metadata": {"name": "things.things.k8s.io"},
        },
    ),
    _definition(
        "with columns and status",
        objects.definition(
            "things",
            "Thing",
            version={
                **_SCHEMA,
                "subresources": {"status": {}},
                "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
            },
        ),
        code=201,
    ),
    _definition(
        "with bad columns",
        objects.definition(
            "things",
            "Thing",
            version={**_SCHEMA, "additionalPrinterColumns": [{"name": "", "type": "odd", "jsonPath": "spec"}]},
        ),
    ),
    _schema("property without a type", {"spec": {"properties": {"a": {"type": "string"}}}}),
    _schema("array without items", {"spec": {"type": "array"}}),
    _schema(
        "default of a wrong type", {"spec": {"type": "object", "properties": {"a": {"type": "string", "default": 1}}}}
    ),
    _schema(
        "map list without keys",
        {"list": {"type": "array", "x-kubernetes-list-type": "map", "items": {"type": "object"}}},
    ),
    _schema("odd type", {"spec": {"type": "odd"}}),
    _schema("int or string", {"spec": {"x-kubernetes-int-or-string": True}}, code=201),
)

STEPS = titled(
    "creating",
    create("a namespace", at("namespaces"), objects.namespace(NAMESPACE)),
    *_PODS,
    *_JOBS,
    *_GROUPS,
    *_OTHERS,
    *_DEFINITIONS,
)
