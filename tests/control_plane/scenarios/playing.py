"""Plays a scenario on a real cluster, and tells what happened so that it can be compared with a simulated run."""

import msgspec

from muster.sim.scenario.run import play
from tests.control_plane.scenarios.stage import KubeStage

LEAKING = """
name: x
nodes: [{name: n, cpu: 4}]
objects:
  - apiVersion: storage.k8s.io/v1
    kind: StorageClass
    metadata: {name: late}
    provisioner: muster.dev/simulated
    volumeBindingMode: WaitForFirstConsumer
  - apiVersion: v1
    kind: PersistentVolumeClaim
    metadata:
      name: data
      annotations: {volume.kubernetes.io/selected-node: n, muster.dev/provision-fails: never-answers}
    spec: {accessModes: [ReadWriteOnce], storageClassName: late, resources: {requests: {storage: 1Gi}}}
until: 10s
"""
"""Keeps things for nobody..."""
LEAKS = [
    "at the end, every claim and volume: expected is: in use, or free, saw claim data waits for a volume on n [x.yaml]"
]
"""...which is told."""


def played(scenario, cluster):
    kubeconfig, groups = cluster
    with KubeStage(kubeconfig, groups=groups, parts=scenario.parts) as stage:
        return play(scenario, stage, perform=stage.perform)


def only_simulated(scenario):
    """Why the scenario cannot be played here; "" if it can."""
    if scenario.beside:
        return "which of two schedulers is the first in an instant is chance on a real server"
    return ""


def missed(result):
    return [str(check) for check in result.expectations if not check.held]


def story(result):
    """Everything that happened and what became of everybody; in which order within an instant is chance.

    Times are rounded: what is counted from a stamp of the API is off by microseconds where a loop counts by itself.
    """
    told = sorted((round(line.at, 3), line.kind, line.text) for line in result.timeline)
    return told, sorted(map(_rounded, result.units), key=lambda unit: unit.name)


def _rounded(unit):
    times = {name: value for name, value in msgspec.structs.asdict(unit).items() if isinstance(value, float)}
    return msgspec.structs.replace(unit, **{name: round(value, 3) for name, value in times.items()})
