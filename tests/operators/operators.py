"""The operators: how each is started, and how a job of so many pods is written for it."""

import contextlib
import os
import socket
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

from controlplane import build
from controlplane.kubelet import RUN_SECONDS, STOP_SECONDS
from controlplane.process import PlaneError
from muster.local.process.certificates import Authority
from tests.control_plane.checks import until
from tests.control_plane.muster_process import MusterProcess
from tests.control_plane.stage import GRACE_SECONDS

VOLCANO = Path(__file__).parents[2] / "deploy" / "dialects" / "volcano" / "podgroups.yaml"
SCHEDULER = "muster"


class OperatorProcess(MusterProcess):
    """An operator that runs; its log is text."""

    def __init__(self, program, folder, *flags):
        if build.missing([program], ""):
            raise PlaneError(f"no {program}", hint="run: make test-operators")
        self.name = program
        self.log = folder / f"{program}.log"
        # KUBECONFIG would go before the flag
        environment = {key: value for key, value in os.environ.items() if key != "KUBECONFIG"}
        environment["MY_POD_NAMESPACE"] = "default"
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [build.program(program, ""), *flags],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env=environment,
            )

    def until_it_answers(self, url):
        def answers():
            assert self.running, self.tail()
            try:
                return urllib.request.urlopen(url, timeout=1).status == 200
            except (urllib.error.URLError, TimeoutError):
                return False

        until(answers, lambda: f"{self.name} to be ready{self.tail()}")


class Operator:
    """What an operator makes of a job called NAME: a group of that name, and pods that start with it."""

    program: str
    groups: str
    """The API in which it writes groups."""
    jobs: str
    """The API, version and plural, of its jobs."""
    kind: str

    @contextlib.contextmanager
    def running(self, plane, folder):
        for served in (self.jobs, f"{self.groups}/podgroups"):
            until(lambda path=f"/apis/{served}": plane.exchange("GET", path)[0] == 200, served)
        with self.start(plane, folder) as process:
            try:
                yield
            finally:
                print(process.tail())

    def definitions(self):
        """Files with the kinds that it needs."""
        return build.definitions(self.program)

    def start(self, plane, folder):
        raise NotImplementedError

    def job(self, name, workers, *, cpu):
        """One pod that leads and `workers` others."""
        raise NotImplementedError

    def groups_path(self, namespace):
        return f"/apis/{self.groups}/namespaces/{namespace}/podgroups"

    def jobs_path(self, namespace):
        version, _, plural = self.jobs.rpartition("/")
        return f"/apis/{version}/namespaces/{namespace}/{plural}"

    def _object(self, name, spec):
        return {"apiVersion": self.jobs.rpartition("/")[0], "kind": self.kind, "metadata": {"name": name}, "spec": spec}


class MpiOperator(Operator):
    program = "mpi-operator"
    groups = "scheduling.x-k8s.io/v1alpha1"
    jobs = "kubeflow.org/v2beta1/mpijobs"
    kind = "MPIJob"

    def start(self, plane, folder):
        process = OperatorProcess(
            self.program,
            folder,
            f"--kubeConfig={plane.kubeconfig('mpi-operator', ('system:masters',))}",
            f"--gang-scheduling={SCHEDULER}",
            "--lock-namespace=default",
            "--kube-api-qps=100",
            "--kube-api-burst=200",
        )
        until(lambda: "Started workers" in process.log.read_text(), lambda: f"mpi-operator{process.tail()}")
        return process

    def job(self, name, workers, *, cpu, minimum=None, runs=None, stops=0, cleans="Running", **spec):
        policy = {"cleanPodPolicy": cleans}
        if minimum is not None:
            policy["schedulingPolicy"] = {"minAvailable": minimum}
        replicas = {
            "Launcher": {"replicas": 1, "restartPolicy": "Never", "template": template(cpu, runs=runs, stops=stops)},
            "Worker": {"replicas": workers, "restartPolicy": "Never", "template": template(cpu, stops=stops)},
        }
        return self._object(name, {"runPolicy": policy, "mpiReplicaSpecs": replicas, **spec})


class TrainingOperator(Operator):
    program = "training-operator"
    groups = "scheduling.x-k8s.io/v1alpha1"
    jobs = "kubeflow.org/v1/pytorchjobs"
    kind = "PyTorchJob"
    gang_scheduler = SCHEDULER
    scheduler = None
    """What a user has to write for schedulerName."""
    _certificates = Path("/tmp/k8s-webhook-server/serving-certs")
    """Where the operator looks for them, whatever it is told."""

    def start(self, plane, folder):
        if not (self._certificates / "tls.crt").exists():
            pair = Authority().server()
            self._certificates.mkdir(parents=True, exist_ok=True)
            (self._certificates / "tls.key").write_bytes(pair.key)
            (self._certificates / "tls.crt").write_bytes(pair.certificate)
        plane.kubectl("apply", "-f", "-", input=_SECRET)
        health, webhook = free_port(), free_port()
        process = OperatorProcess(
            self.program,
            folder,
            f"--kubeconfig={plane.kubeconfig('training-operator', ('system:masters',))}",
            f"--gang-scheduler-name={self.gang_scheduler}",
            "--enable-scheme=pytorchjob",
            "--metrics-bind-address=0",
            f"--health-probe-bind-address=127.0.0.1:{health}",
            f"--webhook-server-port={webhook}",
        )
        process.until_it_answers(f"http://127.0.0.1:{health}/readyz")
        return process

    def job(self, name, workers, *, cpu, minimum=None, runs=None, cleans="Running", **spec):
        policy = {"cleanPodPolicy": cleans}
        if minimum is not None:
            policy["schedulingPolicy"] = {"minAvailable": minimum}
        make = {"container": "pytorch", "scheduler": self.scheduler}
        replicas = {
            "Master": {"replicas": 1, "restartPolicy": "Never", "template": template(cpu, runs=runs, **make)},
            "Worker": {"replicas": workers, "restartPolicy": "Never", "template": template(cpu, **make)},
        }
        return self._object(name, {"runPolicy": policy, "pytorchReplicaSpecs": replicas, **spec})


class TrainingOperatorForVolcano(TrainingOperator):
    groups = "scheduling.volcano.sh/v1beta1"
    gang_scheduler = "volcano"
    scheduler = SCHEDULER

    def definitions(self):
        # Volcano's own are in no module that the operator needs
        return [*super().definitions(), VOLCANO]


class RayOperator(Operator):
    """Its clusters end only when they are deleted, and start with all pods."""

    program = "ray-operator"
    groups = "scheduling.x-k8s.io/v1alpha1"
    jobs = "ray.io/v1/rayclusters"
    kind = "RayCluster"

    def start(self, plane, folder):
        health = free_port()
        process = OperatorProcess(
            self.program,
            folder,
            f"--kubeconfig={plane.kubeconfig('ray-operator', ('system:masters',))}",
            "--batch-scheduler=scheduler-plugins",
            "--enable-leader-election=false",
            "--metrics-addr=0",
            f"--health-probe-bind-address=127.0.0.1:{health}",
        )
        process.until_it_answers(f"http://127.0.0.1:{health}/readyz")
        return process

    def job(self, name, workers, *, cpu):
        def pods(role):
            # it says nothing of a scheduler itself
            return {"rayStartParams": {}, "template": template(cpu, container=role, scheduler=SCHEDULER)}

        group = {"groupName": "workers", "replicas": workers, "minReplicas": workers, "maxReplicas": workers}
        spec = {"headGroupSpec": pods("head"), "workerGroupSpecs": [group | pods("worker")]}
        found = self._object(name, spec)
        found["metadata"]["labels"] = {"ray.io/gang-scheduling-enabled": "true"}
        return found


OPERATORS = {
    "mpi": MpiOperator(),
    "training": TrainingOperator(),
    "training-volcano": TrainingOperatorForVolcano(),
    "ray": RayOperator(),
}

_SECRET = """
apiVersion: v1
kind: Secret
metadata: {name: training-operator-webhook-cert, namespace: default}
"""


def template(cpu, *, runs=None, stops=0, container="main", scheduler=None):
    annotations = {STOP_SECONDS: str(stops)} | ({} if runs is None else {RUN_SECONDS: str(runs)})
    containers = [{"name": container, "image": "none", "resources": {"requests": {"cpu": cpu}}}]
    spec = {"terminationGracePeriodSeconds": GRACE_SECONDS if stops else 0, "containers": containers}
    return {
        "metadata": {"annotations": annotations},
        "spec": spec | ({"schedulerName": scheduler} if scheduler else {}),
    }


def bring_definitions(plane):
    """All at once: the garbage collector learns of new kinds twice a minute."""
    for path in {path.name: path for operator in OPERATORS.values() for path in operator.definitions()}.values():
        # too long for the annotation of apply
        plane.kubectl("create", "-f", str(path))


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]
