"""What Kubernetes makes of pods that it takes: kube-apiserver 1.37.1 made the same of the same objects."""

from __future__ import annotations

import pytest

from muster.local.kinds.pods import pods
from muster.local.kinds.pods import spec as pod_spec
from tests.local.answers import edited, rows
from tests.local.flow import Subject, check, created
from tests.local.some_pods import ADMITTED, FULL

SUBJECT = Subject(pods.STRATEGY, "api.core.v1.Pod")

DEFAULTS = r"""
-
spec={"containers":[{"name":"c","image":"x"}]}
    spec.containers.0.resources={}
    spec.containers.0.terminationMessagePath="/dev/termination-log"
    spec.containers.0.terminationMessagePolicy="File"
    spec.containers.0.imagePullPolicy="Always"
    spec.restartPolicy="Always"
    spec.terminationGracePeriodSeconds=30
    spec.dnsPolicy="ClusterFirst"
    spec.securityContext={}
    spec.schedulerName="default-scheduler"
    spec.tolerations=[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300},{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}]
    spec.priority=0
    spec.enableServiceLinks=true
    spec.preemptionPolicy="PreemptLowerPriority"
metadata.generation=7; status={"phase":"Running","podIP":"1.1.1.1"}
    metadata.generation=1
    status.podIP=
    status.phase="Pending"
    status.qosClass="BestEffort"
spec.containers.0.imagePullPolicy=; spec.containers.0.image="x:latest"
    spec.containers.0.imagePullPolicy="Always"
spec.containers.0.imagePullPolicy=; spec.containers.0.image="x:1"
    spec.containers.0.imagePullPolicy="IfNotPresent"
spec.containers.0.imagePullPolicy=; spec.containers.0.image="localhost:5000/x"
    spec.containers.0.imagePullPolicy="Always"
spec.containers.0.imagePullPolicy=; spec.containers.0.image="host:5000/x:v1"
    spec.containers.0.imagePullPolicy="IfNotPresent"
spec.containers.0.imagePullPolicy=; spec.containers.0.image="UPPER"
    spec.containers.0.imagePullPolicy="IfNotPresent"
spec.containers.0.imagePullPolicy=; spec.containers.0.image="Host/x"
    spec.containers.0.imagePullPolicy="Always"
spec.containers.0.imagePullPolicy=; spec.containers.0.image="x@sha256:abc"
    spec.containers.0.imagePullPolicy="IfNotPresent"
spec.containers.0.imagePullPolicy=; spec.containers.0.image="x:latest@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
    spec.containers.0.imagePullPolicy="Always"
spec.containers.0.imagePullPolicy=; spec.containers.0.image="x@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
    spec.containers.0.imagePullPolicy="IfNotPresent"
spec.containers.0.imagePullPolicy=; spec.containers.0.image="a/b/c.d_e__f--g"
    spec.containers.0.imagePullPolicy="Always"
spec.containers.0.imagePullPolicy=; spec.containers.0.image="9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
    spec.containers.0.imagePullPolicy="IfNotPresent"
spec.containers.0.imagePullPolicy=; spec.containers.0.image="x:"
    spec.containers.0.imagePullPolicy="IfNotPresent"
spec.containers.0.ports=[{"containerPort":80}]
    spec.containers.0.ports.0.protocol="TCP"
spec.hostNetwork=true; spec.containers.0.ports=[{"containerPort":80},{"containerPort":81,"hostPort":81,"protocol":"UDP"}]
    spec.containers.0.ports.0.hostPort=80
    spec.containers.0.ports.0.protocol="TCP"
spec.containers.0.env=[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"spec.host"}}},{"name":"B","value":""},{"name":"C","valueFrom":{"resourceFieldRef":{"resource":"limits.hugepages-2Mi"}}}]
    spec.containers.0.env.0.valueFrom.fieldRef.apiVersion="v1"
    spec.containers.0.env.1.value=
    spec.containers.0.env.2.valueFrom.resourceFieldRef.divisor="0"
spec.volumes=[{"name":"v"}]; spec.containers.0.env=[{"name":"A","valueFrom":{"fileKeyRef":{"key":"k","volumeName":"v","path":"p"}}}]
    spec.volumes.0.emptyDir={}
    spec.containers.0.env.0.valueFrom.fileKeyRef.optional=false
spec.containers.0.resources={"limits":{"cpu":"1"}}
    spec.containers.0.resources.requests={"cpu":"1"}
    status.qosClass="Burstable"
spec.containers.0.resources={"limits":{"cpu":"1000m","memory":"1024Mi"}}
    spec.containers.0.resources.limits.cpu="1"
    spec.containers.0.resources.limits.memory="1Gi"
    spec.containers.0.resources.requests={"cpu":"1","memory":"1Gi"}
    status.qosClass="Guaranteed"
spec.containers.0.resources={"limits":{"cpu":"2","memory":"1Gi"},"requests":{"cpu":"1"}}
    spec.containers.0.resources.requests.memory="1Gi"
    status.qosClass="Burstable"
spec.containers.0.resources={"requests":{"cpu":"100u"}}
    spec.containers.0.resources.requests.cpu="1m"
    status.qosClass="Burstable"
spec.containers.0.resources={"requests":{"cpu":"999999999n","memory":"1e-7"}}
    spec.containers.0.resources.requests.cpu="1"
    spec.containers.0.resources.requests.memory="1e-3"
    status.qosClass="Burstable"
spec.containers.0.resources={"requests":{"memory":"1500"}}
    status.qosClass="Burstable"
spec.containers.0.resources={"limits":{"cpu":"0"}}
    spec.containers.0.resources.requests={"cpu":"0"}
spec.containers.0.resources={"limits":{"cpu":"1","memory":"1Gi"}}; spec.initContainers=[{"name":"i","image":"x:1"}]
    spec.initContainers.0.resources={}
    spec.initContainers.0.terminationMessagePath="/dev/termination-log"
    spec.initContainers.0.terminationMessagePolicy="File"
    spec.initContainers.0.imagePullPolicy="IfNotPresent"
    spec.containers.0.resources.requests={"cpu":"1","memory":"1Gi"}
    status.qosClass="Burstable"
spec.containers.0.resources={"limits":{"nvidia.com/gpu":"2"}}
    spec.containers.0.resources.requests={"nvidia.com/gpu":"2"}
spec.containers.0.resources={"limits":{"hugepages-2Mi":"4Mi","cpu":"1","memory":"1Gi"}}
    spec.containers.0.resources.requests={"cpu":"1","hugepages-2Mi":"4Mi","memory":"1Gi"}
    status.qosClass="Guaranteed"
spec.initContainers=[{"name":"i","image":"x:1","restartPolicy":"Always","readinessProbe":{"tcpSocket":{"port":"web"}},"resources":{"limits":{"cpu":"1"}}}]
    spec.initContainers.0.resources.requests={"cpu":"1"}
    spec.initContainers.0.readinessProbe.timeoutSeconds=1
    spec.initContainers.0.readinessProbe.periodSeconds=10
    spec.initContainers.0.readinessProbe.successThreshold=1
    spec.initContainers.0.readinessProbe.failureThreshold=3
    spec.initContainers.0.terminationMessagePath="/dev/termination-log"
    spec.initContainers.0.terminationMessagePolicy="File"
    spec.initContainers.0.imagePullPolicy="IfNotPresent"
    status.qosClass="Burstable"
spec.containers.0.livenessProbe={"httpGet":{"port":80}}
    spec.containers.0.livenessProbe.httpGet.path="/"
    spec.containers.0.livenessProbe.httpGet.scheme="HTTP"
    spec.containers.0.livenessProbe.timeoutSeconds=1
    spec.containers.0.livenessProbe.periodSeconds=10
    spec.containers.0.livenessProbe.successThreshold=1
    spec.containers.0.livenessProbe.failureThreshold=3
spec.containers.0.startupProbe={"grpc":{"port":80,"mode":"TLS"},"periodSeconds":5}
    spec.containers.0.startupProbe.grpc.mode=
    spec.containers.0.startupProbe.grpc.service=""
    spec.containers.0.startupProbe.timeoutSeconds=1
    spec.containers.0.startupProbe.successThreshold=1
    spec.containers.0.startupProbe.failureThreshold=3
spec.containers.0.livenessProbe={"httpGet":{"port":80,"protocol":"HTTP2"},"timeoutSeconds":0,"failureThreshold":1}
    spec.containers.0.livenessProbe.httpGet.protocol=
    spec.containers.0.livenessProbe.httpGet.path="/"
    spec.containers.0.livenessProbe.httpGet.scheme="HTTP"
    spec.containers.0.livenessProbe.timeoutSeconds=1
    spec.containers.0.livenessProbe.periodSeconds=10
    spec.containers.0.livenessProbe.successThreshold=1
spec.containers.0.lifecycle={"postStart":{"httpGet":{"port":80}},"preStop":{"sleep":{"seconds":30}},"stopSignal":"SIGINT"}
    spec.containers.0.lifecycle.stopSignal=
    spec.containers.0.lifecycle.postStart.httpGet.path="/"
    spec.containers.0.lifecycle.postStart.httpGet.scheme="HTTP"
spec.containers.0.lifecycle={"stopSignal":"SIGINT"}
    spec.containers.0.lifecycle=
spec.serviceAccount="s"
    spec.serviceAccountName="s"
spec.serviceAccountName="s"; spec.serviceAccount="t"
    spec.serviceAccount="s"
spec.terminationGracePeriodSeconds=-5
    spec.terminationGracePeriodSeconds=1
spec.terminationGracePeriodSeconds=0
spec.securityContext={"runAsUser":0}; spec.containers.0.securityContext={"privileged":false,"procMount":"Default"}
spec.volumes=[{"name":"v"},{"name":"h","hostPath":{"path":"/x"}},{"name":"s","secret":{"secretName":"s"}},{"name":"m","configMap":{"name":"m","defaultMode":256}}]
    spec.volumes.0.emptyDir={}
    spec.volumes.1.hostPath.type=""
    spec.volumes.2.secret.defaultMode=420
spec.volumes=[{"name":"d","downwardAPI":{"items":[{"path":"a","fieldRef":{"fieldPath":"metadata.labels['a']"}},{"path":"b","resourceFieldRef":{"containerName":"c","resource":"limits.cpu"}}]}}]
    spec.volumes.0.downwardAPI.items.0.fieldRef.apiVersion="v1"
    spec.volumes.0.downwardAPI.items.1.resourceFieldRef.divisor="0"
    spec.volumes.0.downwardAPI.defaultMode=420
spec.serviceAccountName="s"; spec.volumes=[{"name":"p","projected":{"sources":[{"serviceAccountToken":{"path":"t"}},{"downwardAPI":{"items":[{"path":"a","fieldRef":{"fieldPath":"metadata.name"}}]}}]}}]
    spec.volumes.0.projected.sources.0.serviceAccountToken.expirationSeconds=3600
    spec.volumes.0.projected.sources.1.downwardAPI.items.0.fieldRef.apiVersion="v1"
    spec.volumes.0.projected.defaultMode=420
    spec.serviceAccount="s"
spec.volumes=[{"name":"i","image":{"reference":"x:1"}},{"name":"e","emptyDir":{"sizeLimit":"1024Mi","mode":7}},{"name":"c","csi":{"driver":"Disk.example.com"}},{"name":"n","nfs":{"server":"s","path":"/p"}}]
    spec.volumes.0.image.pullPolicy="IfNotPresent"
    spec.volumes.1.emptyDir.mode=
    spec.volumes.1.emptyDir.sizeLimit="1Gi"
spec.volumes=[{"name":"e","ephemeral":{"volumeClaimTemplate":{"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}}}]
    spec.volumes.0.ephemeral.volumeClaimTemplate.metadata={}
    spec.volumes.0.ephemeral.volumeClaimTemplate.spec.volumeMode="Filesystem"
spec.volumes=[{"name":"s","iscsi":{"targetPortal":"1.2.3.4:3260","iqn":"iqn.2001-04.com.example:storage","lun":0}},{"name":"r","rbd":{"monitors":["m"],"image":"i"}},{"name":"o","scaleIO":{"gateway":"g","system":"s","volumeName":"v","secretRef":{"name":"s"}}}]
    spec.volumes.0.iscsi.iscsiInterface="default"
    spec.volumes.1.rbd.pool="rbd"
    spec.volumes.1.rbd.user="admin"
    spec.volumes.1.rbd.keyring="/etc/ceph/keyring"
    spec.volumes.2.scaleIO.storageMode="ThinProvisioned"
    spec.volumes.2.scaleIO.fsType="xfs"
spec.volumes=[{"name":"u","secret":{"secretName":"s","defaultUser":5,"items":[{"key":"k","path":"p","user":5}]}}]; spec.containers.0.volumeMounts=[{"name":"u","mountPath":"/x","bindMountOptions":["noexec"]}]
    spec.volumes.0.secret.defaultUser=
    spec.volumes.0.secret.items.0.user=
    spec.volumes.0.secret.defaultMode=420
    spec.containers.0.volumeMounts.0.bindMountOptions=
spec.schedulingGates=[{"name":"a"}]
    status.conditions=[{"type":"PodScheduled","status":"False","lastProbeTime":null,"lastTransitionTime":null,"reason":"SchedulingGated","message":"Scheduling is blocked due to non-empty scheduling gates"}]
spec.schedulingGroup={"podGroupName":"g"}
metadata.labels={"a":"1"}; spec.topologySpreadConstraints=[{"maxSkew":1,"topologyKey":"z","whenUnsatisfiable":"DoNotSchedule","matchLabelKeys":["a","b"],"labelSelector":{"matchLabels":{"c":"d"}}}]
    spec.topologySpreadConstraints.0.labelSelector.matchExpressions=[{"key":"a","operator":"In","values":["1"]}]
metadata.labels={"a":"1"}; spec.affinity.podAntiAffinity={"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"z","matchLabelKeys":["a"],"labelSelector":{}}],"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1,"podAffinityTerm":{"topologyKey":"z","mismatchLabelKeys":["a"],"labelSelector":{}}}]}
    spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution.0.labelSelector.matchExpressions=[{"key":"a","operator":"In","values":["1"]}]
    spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution.0.podAffinityTerm.labelSelector.matchExpressions=[{"key":"a","operator":"NotIn","values":["1"]}]
spec.resources={"limits":{"cpu":"2"}}
    spec.resources.requests={"cpu":"2"}
    status.qosClass="Burstable"
spec.resources={"requests":{"cpu":"2"}}; spec.containers.0.resources={"limits":{"cpu":"1","memory":"1Gi"}}; spec.containers.1={"name":"d","image":"x","imagePullPolicy":"Never","terminationMessagePath":"/x","terminationMessagePolicy":"File","resources":{"limits":{"cpu":"500m","memory":"1000Mi"}}}
    spec.containers.0.resources.requests={"cpu":"1","memory":"1Gi"}
    spec.containers.1.resources.requests={"cpu":"500m","memory":"1000Mi"}
    spec.resources.limits={"cpu":"2","memory":"2024Mi"}
    spec.resources.requests.memory="2024Mi"
    status.qosClass="Guaranteed"
spec.resources={"limits":{"memory":"4Gi"}}; spec.containers.0.resources={"limits":{"cpu":"1","memory":"1Gi"}}; spec.initContainers=[{"name":"s","image":"x","restartPolicy":"Always","resources":{"requests":{"cpu":"1"}}},{"name":"i","image":"x","resources":{"requests":{"cpu":"3","memory":"1"}}}]
    spec.initContainers.0.terminationMessagePath="/dev/termination-log"
    spec.initContainers.0.terminationMessagePolicy="File"
    spec.initContainers.0.imagePullPolicy="Always"
    spec.initContainers.1.terminationMessagePath="/dev/termination-log"
    spec.initContainers.1.terminationMessagePolicy="File"
    spec.initContainers.1.imagePullPolicy="Always"
    spec.containers.0.resources.requests={"cpu":"1","memory":"1Gi"}
    spec.resources.requests={"cpu":"4","memory":"1Gi"}
    status.qosClass="Burstable"
spec.resources={"requests":{"cpu":"1","hugepages-2Mi":"4Mi"},"limits":{"hugepages-2Mi":"4Mi"}}; spec.containers.0.resources={"limits":{"hugepages-2Mi":"2Mi","cpu":"1"}}
    spec.containers.0.resources.requests={"cpu":"1","hugepages-2Mi":"2Mi"}
    spec.resources.limits.cpu="1"
    status.qosClass="Burstable"
spec.resources={}
spec.containers.0.restartPolicy="Never"; spec.containers.0.restartPolicyRules=[{"action":"Restart","exitCodes":{"operator":"In","values":[42]}}]
metadata.annotations={"pod.beta.kubernetes.io/init-containers":"x","a":"b"}
    metadata.annotations."pod.beta.kubernetes.io/init-containers"=
spec.evictionResponders=[{"name":"a.b.c/d","priority":1}]
    spec.evictionResponders=
spec.tolerations.2={"operator":"Exists"}
spec.hostAliases=[{"ip":"1.2.3.4","hostnames":["a.b"]}]; spec.dnsPolicy="None"; spec.dnsConfig={"nameservers":["8.8.8.8"],"searches":[".","a_b."],"options":[{"name":"x","value":"1"}]}
spec.nodeName="n1"; spec.activeDeadlineSeconds=5; spec.hostname="h"; spec.subdomain="s"; spec.setHostnameAsFQDN=true; spec.shareProcessNamespace=true
spec.os={"name":"linux"}; spec.hostUsers=false; spec.readinessGates=[{"conditionType":"a.b/c"}]; spec.imagePullSecrets=[{"name":"s"}]; spec.automountServiceAccountToken=false
"""  # noqa: E501


@pytest.mark.parametrize(("change", "answer"), rows(DEFAULTS))
def test_a_pod_is_completed_as_kubernetes_does(change, answer):
    given = edited(FULL, change)
    document, errors = created(SUBJECT, given)
    for key, value in ADMITTED.items():
        document["spec"].setdefault(key, value)
    check((document, errors), given, answer)


def test_defaults_are_set_once():
    document, _ = created(SUBJECT, FULL)
    again = edited(document, "-")
    pods.default(again)
    assert again == document


def test_a_template_gets_fewer_defaults_than_a_pod():
    limits = {"limits": {"cpu": "1"}}
    spec = {"containers": [{"name": "c", "resources": dict(limits)}], "terminationGracePeriodSeconds": -1}
    pod_spec.default_spec(spec)
    assert spec["terminationGracePeriodSeconds"] == -1
    assert spec["containers"][0]["resources"] == limits
    assert "enableServiceLinks" not in spec
    assert spec["restartPolicy"] == "Always"


@pytest.mark.parametrize(
    ("given", "completed"),
    [
        ({"podIP": "1.1.1.1"}, {"podIP": "1.1.1.1", "podIPs": [{"ip": "1.1.1.1"}]}),
        ({"podIPs": [{"ip": "1.1.1.1"}]}, {"podIP": "1.1.1.1", "podIPs": [{"ip": "1.1.1.1"}]}),
        ({"podIP": "1.1.1.1", "podIPs": [{"ip": "::1"}]}, {"podIP": "1.1.1.1", "podIPs": [{"ip": "1.1.1.1"}]}),
        ({}, {}),
    ],
)
def test_the_two_spellings_of_an_address_are_kept_equal(given, completed):
    pod_spec.default_status(given)
    assert given == completed
