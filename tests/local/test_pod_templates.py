"""Templates of pods: what kube-apiserver 1.37.1 said to Jobs with the same ones."""

from __future__ import annotations

import pytest

from muster.local.kinds.pods import spec as pod_spec
from muster.local.kinds.pods import validation as pod_validation
from muster.local.schema import decoding, load
from tests.local.answers import edited, promised, rows, said

TEMPLATE = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]}}

ANSWERS = r"""
spec.preemptionPolicy="Sometimes"
    spec.template.spec.preemptionPolicy: Unsupported value
spec.priorityClassName="Very High"
    spec.template.spec.priorityClassName: Invalid value
spec.runtimeClassName=""
    spec.template.spec.runtimeClassName: Invalid value
spec.containers=[]
    spec.template.spec.containers: Required value
spec.containers.0.image=" x"
spec.containers.0.image=
    spec.template.spec.containers[0].image: Required value
spec.hostNetwork=true; spec.containers.0.ports=[{"containerPort":80}]
spec.hostNetwork=true; spec.containers.0.ports=[{"containerPort":80,"hostPort":81}]
    spec.template.spec.containers[0].ports[0].hostPort: Invalid value
spec.terminationGracePeriodSeconds=-1
spec.terminationGracePeriodSeconds=-1; spec.containers.0.lifecycle={"preStop":{"sleep":{"seconds":1}}}
    spec.template.spec.containers[0].lifecycle.preStop.sleep: Invalid value
spec.ephemeralContainers=[{"name":"e","image":"x"}]
    spec.template.spec.ephemeralContainers: Forbidden
metadata={"labels":{"a":"b c"}}
    spec.template.labels: Invalid value
metadata={"annotations":{"a b":"c","kubernetes.io/config.mirror":"x"}}
    spec.template.annotations: Invalid value
    spec.template.annotations[kubernetes.io/config.mirror]: Invalid value
spec.containers.0.resources={"limits":{"nvidia.com/gpu":"1"}}
spec.containers.0.resources={"requests":{"nvidia.com/gpu":"1"}}
    spec.template.spec.containers[0].resources.limits: Required value
spec.volumes=[{"name":"v","projected":{"sources":[{"serviceAccountToken":{"path":"t"}}]}}]
spec.nodeName="n"; spec.schedulingGates=[{"name":"a"}]
spec.schedulingGroup={}
    spec.template.spec.schedulingGroup.podGroupName: Invalid value: null: must specify one of: `podGroupName`
spec.resources={"limits":{"cpu":"1"}}; spec.containers.0.resources={"limits":{"cpu":"2"}}
    spec.template.spec.resources.containers[0][cpu].limits: Invalid value
"""


@pytest.mark.parametrize(("change", "answer"), rows(ANSWERS))
def test_a_template_is_checked_as_kubernetes_does(change, answer):
    template = decoding.decode(edited(TEMPLATE, change), load.shapes()["io.k8s.api.core.v1.PodTemplateSpec"]).value
    pod_spec.default_spec(template["spec"])
    errors = said(pod_validation.template_errors(template, "spec.template"))
    assert promised(errors) == promised(answer)
