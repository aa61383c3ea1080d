"""Where the kinds that Muster works with are served."""

from __future__ import annotations

from urllib.parse import quote

import msgspec


class Resource(msgspec.Struct, frozen=True):
    """One kind in one API version."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def name(self) -> str:
        """As `kubectl` takes it: podgroups.muster.dev."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def root(self) -> str:
        """The path of its API version."""
        # owner references bring versions and kinds of which nobody has looked at the characters
        group, version = quote(self.group, safe=""), quote(self.version, safe="")
        return f"/apis/{group}/{version}" if group else f"/api/{version}"

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The path of all objects, of those in a namespace, or of one."""
        parts = [self.root]
        if namespace and self.namespaced:
            parts += ["namespaces", quote(namespace, safe="")]
        parts.append(quote(self.plural, safe=""))
        if name:
            parts.append(quote(name, safe=""))
        if subresource:
            parts.append(subresource)
        return "/".join(parts)


PODS = Resource("", "v1", "pods", "Pod")
NODES = Resource("", "v1", "nodes", "Node", namespaced=False)
NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
EVENTS = Resource("events.k8s.io", "v1", "events", "Event")
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")
DISRUPTION_BUDGETS = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
PRIORITY_CLASSES = Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False)

NATIVE_POD_GROUPS = (
    Resource("scheduling.k8s.io", "v1beta1", "podgroups", "PodGroup"),
    Resource("scheduling.k8s.io", "v1alpha3", "podgroups", "PodGroup"),
)
"""Kubernetes' own, best first: the same objects, of which one version is enough."""
STORED_POD_GROUPS = Resource("stored.muster.dev", "v1beta1", "podgroups", "PodGroup")
"""Kubernetes' own on `muster up` with the gate GenericWorkload off: the scheduler has some of them to finish."""
CUSTOM_POD_GROUPS = (Resource("muster.dev", "v1beta1", "podgroups", "PodGroup"),)
"""Muster's, for clusters that do not serve their own."""
