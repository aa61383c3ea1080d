"""All controllers of a cluster, together on one driver.

async with Client(...) as client:
    await Manager(client, clock=time.time, names=suffixes(random.Random())).run()
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

from muster.api.resources import DISRUPTION_BUDGETS, LEASES, NAMESPACES, NODES, PODS, Resource
from muster.api.wire import Wire
from muster.controllers.accounts import Accounts
from muster.controllers.budgets import Budget, Budgets
from muster.controllers.device_objects import (
    CLAIM_TEMPLATES,
    DEVICE_CLASSES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    ClaimTemplate,
    ResourceClaim,
)
from muster.controllers.devices import Devices
from muster.controllers.discovery import Discovery, Served
from muster.controllers.driver import Core, Driver, Kind
from muster.controllers.ephemeral_volumes import EphemeralVolumes
from muster.controllers.garbage import Garbage
from muster.controllers.group_protection import GroupProtection
from muster.controllers.job_objects import Job
from muster.controllers.job_pods import Names
from muster.controllers.job_ttl import FinishedJobs
from muster.controllers.jobs import Jobs
from muster.controllers.namespaces import Namespaces
from muster.controllers.nodes import GRACE_SECONDS, NodeLifecycle
from muster.controllers.objects import (
    JOBS,
    POD_GROUPS,
    SERVICE_ACCOUNTS,
    WORKLOADS,
    Bare,
    Lease,
    Namespace,
    Node,
    Pod,
    PodGroup,
    Workload,
)
from muster.controllers.pod_garbage import PodGarbage
from muster.controllers.provisioner import Provisioner
from muster.controllers.resource_claims import ResourceClaims
from muster.controllers.taints import TaintEvictions
from muster.controllers.volume_objects import CLAIMS, STORAGE_CLASSES, VOLUMES, Claim, StorageClass, Volume
from muster.controllers.volume_protection import VolumeProtection
from muster.controllers.volumes import Volumes
from muster.kube.client import Client
from muster.local import kubelets

_DEFINITIONS = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)
_TYPES: dict[Resource, type[Wire]] = {
    PODS: Pod,
    NODES: Node,
    LEASES: Lease,
    JOBS: Job,
    NAMESPACES: Namespace,
    DISRUPTION_BUDGETS: Budget,
    WORKLOADS: Workload,
    POD_GROUPS: PodGroup,
    CLAIMS: Claim,
    VOLUMES: Volume,
    STORAGE_CLASSES: StorageClass,
    RESOURCE_CLAIMS: ResourceClaim,
    CLAIM_TEMPLATES: ClaimTemplate,
}
"""As what a kind is read; all others by what all objects have.  One type a kind: each is read once for all."""

_ALWAYS_SERVED = ("", "batch", "coordination.k8s.io", "policy")
"""API groups of which a server that says that it has none is not believed."""

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


def suffixes(chance: Random) -> Names:
    """Five characters, as the API server adds them to names."""
    return lambda: "".join(chance.choices(_LETTERS, k=5))


class Manager:
    """Runs the controllers of Jobs, garbage, namespaces, budgets, nodes, groups, volumes and claims until cancelled."""

    def __init__(
        self,
        client: Client,
        *,
        clock: Callable[[], float],
        names: Names,
        groups: bool = True,
        nodes: bool = True,
        grace_seconds: float = GRACE_SECONDS,
    ) -> None:
        self.driver = Driver(client, clock=clock)
        attach_all(self.driver, names=names, groups=groups, nodes=nodes, grace_seconds=grace_seconds)

    async def run(self) -> None:
        await self.driver.run()


def attach_all(
    driver: Driver, *, names: Names, groups: bool = True, nodes: bool = True, grace_seconds: float = GRACE_SECONDS
) -> None:
    """Attaches all controllers to a driver, on which others may work, too.

    groups         PodGroups are served: Jobs get theirs, and those in use are protected.
    nodes          Watches over nodes' leases, too; leave it out where nobody renews them.
    grace_seconds  A node that is silent for so long is lost.
    """

    def attach(core: Core, *resources: Resource) -> None:
        driver.attach(core, [_kind(resource) for resource in resources])

    grouped = (WORKLOADS, POD_GROUPS) if groups else ()
    attach(Jobs(names=names, groups=groups), JOBS, PODS, *grouped)
    attach(FinishedJobs(), JOBS)
    attach(Namespaces(), NAMESPACES)
    attach(Accounts(), NAMESPACES, SERVICE_ACCOUNTS)
    attach(Volumes(), CLAIMS, VOLUMES, STORAGE_CLASSES, PODS)
    attach(VolumeProtection(), CLAIMS, VOLUMES, PODS)
    attach(EphemeralVolumes(), PODS, CLAIMS)
    attach(ResourceClaims(names=names), RESOURCE_CLAIMS, CLAIM_TEMPLATES, PODS, *grouped[1:])
    attach_provisioner(driver)
    if groups:
        attach(GroupProtection(), POD_GROUPS, PODS)
    if nodes:
        attach(NodeLifecycle(grace_seconds=grace_seconds), NODES, LEASES, PODS)
        attach(TaintEvictions(), NODES, PODS)
        attach(PodGarbage(), NODES, PODS)
    budgets, garbage = Budgets(), Garbage()
    attach(budgets, DISRUPTION_BUDGETS, PODS)
    attach(Discovery(_Kinds(driver, garbage, budgets).served), _DEFINITIONS)


def attach_provisioner(driver: Driver) -> None:
    """Attaches the simulated provisioner of volumes, which works on any cluster."""
    driver.attach(Provisioner(), [_kind(one) for one in (CLAIMS, VOLUMES, STORAGE_CLASSES, NODES)])


def attach_devices(driver: Driver, counts: Mapping[str, int]) -> None:
    """Attaches simulated drivers of devices, which work on any cluster: by name, how many each has on a node."""
    driver.attach(Devices(counts), [_kind(one) for one in (NODES, RESOURCE_SLICES, DEVICE_CLASSES)])


def attach_kubelets(driver: Driver, *, lease_seconds: float = kubelets.LEASE_SECONDS) -> None:
    """Attaches simulated kubelets for all nodes of a cluster."""
    core = kubelets.Kubelets(lease_seconds=lease_seconds)
    kinds = [
        Kind(NODES, kubelets.Node),
        Kind(PODS, kubelets.Pod),
        Kind(CLAIMS, kubelets.VolumeClaim),
        Kind(RESOURCE_CLAIMS, kubelets.ResourceClaim, optional=True),
    ]
    driver.attach(core, kinds)


class _Kinds:
    """Has the garbage collector read all kinds that are served, whichever come and go."""

    def __init__(self, driver: Driver, garbage: Garbage, budgets: Budgets) -> None:
        self._driver = driver
        self._garbage = garbage
        self._budgets = budgets
        self._followed: set[Resource] = set()

    def served(self, served: Served) -> None:
        self._garbage.serve(served.watched)
        self._budgets.serve(served.deletable)
        now = set(served.watched)
        self._driver.attach(self._garbage, [_found(one) for one in served.watched if one not in self._followed])
        self._driver.detach(self._garbage, [_found(one) for one in self._followed - now])
        self._followed = now


def _found(resource: Resource) -> Kind:
    """A kind that discovery told of: a server that then says that it is not served is not believed that it is empty."""
    return _kind(resource)._replace(optional=False)


def _kind(resource: Resource) -> Kind:
    return Kind(resource, _TYPES.get(resource, Bare), optional=resource.group not in _ALWAYS_SERVED)
