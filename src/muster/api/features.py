"""Which features of kubelets a pod cannot do without: nodes say which of them theirs has (status.declaredFeatures).

Upstream's list of 1.37.  What matters only when a pod is changed, or for devices, is not in it.
"""

from __future__ import annotations

from muster.api.wire import Container, PodSpec

__all__ = ["features_of"]

_RESTART_ALL = "RestartAllContainersOnContainerExits"
_USERS_ON_HOST_NETWORK = "UserNamespacesHostNetworkSupport"
_MOUNT_OPTIONS = "VolumeBindMountOptions"


def features_of(spec: PodSpec) -> tuple[str, ...]:
    """Their names, in order; for most pods none."""
    lasting = (*spec.containers, *spec.init_containers)
    needed = []
    if any(rule.action == "RestartAllContainers" for one in lasting for rule in one.restart_policy_rules):
        needed.append(_RESTART_ALL)
    if spec.host_network and spec.host_users is False:
        needed.append(_USERS_ON_HOST_NETWORK)
    if any(map(_has_mount_options, (*lasting, *spec.ephemeral_containers))):
        needed.append(_MOUNT_OPTIONS)
    return tuple(needed)


def _has_mount_options(container: Container) -> bool:
    return any(mount.bind_mount_options for mount in container.volume_mounts)
