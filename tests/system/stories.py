"""What people and operators do besides making pods: Jobs, budgets, custom kinds, owners, appliers, nodes that die."""

from random import Random
from urllib.parse import quote

from muster.api.kinds import SERVICES
from muster.api.resources import DISRUPTION_BUDGETS, NAMESPACES, NODES, PODS, Resource
from muster.controllers.objects import JOBS
from muster.kube.client import MERGE_PATCH
from muster.local.kubelets import DOWN
from muster.sim.objects import EXIT_CODE, RUN_SECONDS
from tests.system.applied import document
from tests.system.cluster import NAMESPACE
from tests.system.dialects import ASKS_FOR_GROUP, MIXED

CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap")
_DEFINITIONS = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", False)
_GROUP, _PLURAL, _KIND = "sim.dev", "widgets", "Widget"
WIDGETS = f"{_PLURAL}.{_GROUP}"
_APPLY = "application/apply-patch+yaml"
_MANAGERS = ("red", "green", "blue")
_SHARED = ("shared-0", "shared-1")
_PROPAGATION = ("Background", "Background", "Foreground", "Orphan")

_STRING = {"type": "string"}
_TYPED = {
    "type": "object",
    "properties": {
        "size": {"type": "integer"},
        "on": {"type": "boolean"},
        "note": _STRING,
        "options": {"type": "object", "additionalProperties": _STRING},
    },
}
_OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_OF_WIDGETS = {
    ("spec", "size"): (0, 1, 2),
    ("spec", "on"): (True, False),
    ("spec", "note"): ("", "a"),
    ("spec", "options", "x"): ("", "1"),
    ("spec", "options", "y"): ("1", "2"),
}
_OF_CONFIG_MAPS = {("data", name): ("", "1", "2") for name in "abcd"}

TOLERATES_LOSS = [
    {"key": f"node.kubernetes.io/{name}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}
    for name in ("not-ready", "unreachable")
]


class Stories:
    """A part of `Hand`, of which it needs `mood`, `_seed`, `_cluster`, `_objects`, `_step`, `_pod`, `_pick`, `_later`,
    `_priority`."""

    def __init__(self):
        self._versions = {}
        """Of the custom kind: whether each is served, by name."""
        self.missing = set()
        """Nodes whose kubelets are still to come back."""

    # --- jobs ---

    def job(self, rng):
        name, members, shape = f"j{self._step}", rng.choice((1, 2, 2, 3, 4)), rng.choice(self._shapes)
        template = self._pod(name, shape, rng, priority=self._priority(rng))
        del template["metadata"]["name"]
        notes = template["metadata"]["annotations"]
        notes.pop(EXIT_CODE, None)
        if rng.random() < 0.7:
            notes[RUN_SECONDS] = rng.choice(("1", "5", "12"))
            if rng.random() < 0.4:
                notes[EXIT_CODE] = "1"
        gang = rng.random() < 0.6
        spec = {
            "parallelism": members,
            "completions": members if gang else rng.choice((1, 1, 2)) * members,
            "completionMode": "Indexed" if gang else rng.choice(("Indexed", "NonIndexed")),
            "backoffLimit": rng.choice((0, 1, 3)),
            "template": template,
        }
        owned = MIXED in self.mood and not gang and Random(f"{self._seed}/owned/{name}").random() < 0.6
        if owned:
            template["metadata"]["labels"] |= ASKS_FOR_GROUP
        if gang:
            spec["scheduling"] = {"schedulingPolicy": {"gang": {}}}
        if rng.random() < 0.2:
            spec["ttlSecondsAfterFinished"] = rng.choice((0, 6))
        if rng.random() < 0.15:
            spec["suspend"] = True
        self._cluster.create(JOBS.path(NAMESPACE), {"metadata": {"name": name}, "spec": spec})
        return f"job {name}: {members} at once, {'a gang' if gang else 'as labels ask' if owned else 'one by one'}"

    def suspend_job(self, rng):
        found = self._some(rng, "jobs.batch")
        if found is None:
            return ""
        suspended = not found["spec"].get("suspend", False)
        name = found["metadata"]["name"]
        self._cluster.patch(JOBS.path(NAMESPACE, name), {"spec": {"suspend": suspended}})
        return f"job {name} is {'suspended' if suspended else 'resumed'}"

    def delete_job(self, rng):
        found = self._some(rng, "jobs.batch")
        return "" if found is None else self._delete_owner(rng, JOBS.path(NAMESPACE, found["metadata"]["name"]))

    # --- budgets ---

    def budget(self, rng):
        name, spec = f"b{self._step}", rng.choice(({"minAvailable": 1}, {"minAvailable": 2}, {"maxUnavailable": "50%"}))
        spec = spec | {"selector": {"matchLabels": {"app": rng.choice("xy")}}}
        self._cluster.create(DISRUPTION_BUDGETS.path(NAMESPACE), {"metadata": {"name": name}, "spec": spec})
        return f"budget {name}: {spec}"

    # --- what belongs together ---

    def service(self, rng):
        """A Service comes, chooses other pods, or goes."""
        name, selector = rng.choice("ab"), {"app": rng.choice("xyz")}
        services, there = SERVICES.resource, self._cluster.documents(SERVICES.name)
        path = services.path(NAMESPACE, name)
        if name not in [one["metadata"]["name"] for one in there]:
            spec = {"selector": selector, "ports": [{"port": 80}]}
            self._cluster.create(services.path(NAMESPACE), {"metadata": {"name": name}, "spec": spec})
            return f"Service {name} for {selector}"
        if rng.random() < 0.4:
            self._cluster.delete(path)
            return f"Service {name} goes"
        self._cluster.patch(path, {"spec": {"selector": selector}})
        return f"Service {name} is for {selector}"

    def evict(self, rng):
        """Somebody drains: the server decides by the budgets."""
        pod = self._pick(rng, (pod for pod in self._cluster.pods.values() if pod.spec.node_name))
        if pod is None:
            return ""
        name = pod.metadata.name
        answer = self._cluster.ask("POST", PODS.path(NAMESPACE, name, "eviction"), {"metadata": {"name": name}})
        return f"{name} is evicted by hand → {answer.code}"

    # --- custom kinds ---

    def define(self, rng):
        """The definition of the custom kind is made, or gets another version, or serves one of them no more."""
        there = self._cluster.store.get(_DEFINITIONS.name, "", WIDGETS)
        if there is not None and not self._is_defined:
            return ""
        if there is None:
            self._schema = rng.choice((_TYPED, _OPEN))
            self._versions = {"v1": True}
            self._keeps = "v1"
            body = {"metadata": {"name": WIDGETS}, "spec": {"group": _GROUP, "scope": "Namespaced"}}
            body["spec"] |= {"names": {"plural": _PLURAL, "kind": _KIND}, "versions": self._served()}
            self._cluster.create(_DEFINITIONS.path(), body)
            return "widgets are defined"
        before = dict(self._versions), self._keeps
        served = [name for name, is_served in self._versions.items() if is_served]
        what = rng.choice(("another", "another", "kept as", "not served"))
        if what == "another" and len(self._versions) < 3:
            self._versions[f"v{len(self._versions) + 1}"] = True
        elif what == "not served" and len(served) > 1:
            self._versions[rng.choice(served)] = False
        else:
            self._keeps = rng.choice(sorted(self._versions))
        if not self._cluster.patch(_DEFINITIONS.path(name=WIDGETS), {"spec": {"versions": self._served()}}):
            self._versions, self._keeps = before
        return f"widgets are served in {self._versions}, kept as {self._keeps}"

    def undefine(self, rng):
        """With the definition all objects of the kind go."""
        if not self._is_defined:
            return ""
        self._cluster.delete(_DEFINITIONS.path(name=WIDGETS))
        return "widgets are not defined any more"

    @property
    def _is_defined(self):
        there = self._cluster.store.get(_DEFINITIONS.name, "", WIDGETS)
        return there is not None and b'"deletionTimestamp"' not in there.data

    def _served(self):
        root = {"type": "object", "properties": {"spec": self._schema}}
        return [
            {"name": name, "served": served, "storage": name == self._keeps, "schema": {"openAPIV3Schema": root}}
            for name, served in self._versions.items()
        ]

    def _widgets(self, rng):
        """The custom kind in one of its versions; None if there is none."""
        served = sorted(name for name, is_served in self._versions.items() if is_served)
        return Resource(_GROUP, rng.choice(served), _PLURAL, _KIND) if served and self._is_defined else None

    # --- owners ---

    def family(self, rng):
        """Objects of both kinds, some of which own later ones."""
        made = []
        for number in range(rng.randint(1, 4)):
            custom = self._widgets(rng) if rng.random() < 0.6 else None
            made.append(self._make(rng, custom or CONFIG_MAPS, f"{'w' if custom else 'c'}{self._step}-{number}"))
        return "; ".join(made)

    def _make(self, rng, resource, name):
        owners = self._owners(rng)
        meta = {"name": name, "ownerReferences": owners}
        body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": meta}
        self._cluster.create(resource.path(NAMESPACE), body)
        return f"{resource.kind} {name}, owned by {[owner['name'] for owner in owners]}"

    def _owners(self, rng):
        """Up to two objects that are there; now and then one that is not."""
        there = [(CONFIG_MAPS, one) for one in self._cluster.documents("configmaps")]
        there += [(JOBS, one) for one in self._cluster.documents("jobs.batch")]
        widgets = self._widgets(rng)
        there += [(widgets, one) for one in self._cluster.documents(WIDGETS)] * 3 if widgets is not None else []
        chosen = [rng.choice(there) for _ in range(rng.choice((0, 1, 1, 2)))] if there else []
        owners = {}
        for resource, one in chosen:
            meta = one["metadata"]
            owners[meta["uid"]] = {"name": meta["name"], "apiVersion": resource.api_version, "kind": resource.kind}
        if rng.random() < 0.1:
            owners[f"gone-{self._step}"] = {"name": "gone", "apiVersion": "v1", "kind": "ConfigMap"}
        return [{**owner, "uid": uid, "blockOwnerDeletion": rng.random() < 0.5} for uid, owner in owners.items()]

    def namespace(self, rng):
        """Another namespace, which goes again with all that is in it."""
        name, path = f"other{self._step}", NAMESPACES.path(name=f"other{self._step}")
        self._cluster.create(NAMESPACES.path(), {"metadata": {"name": name}})
        for number in range(rng.randint(0, 3)):
            resource = self._widgets(rng) or CONFIG_MAPS
            meta = {"name": f"x{number}"}
            body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": meta}
            self._cluster.create(resource.path(name), body)
        seconds = rng.choice((0.0, 2.0, 10.0))
        self._later(seconds, lambda: self._cluster.delete(path))
        return f"namespace {name} for {seconds:g} s"

    def delete_owner(self, rng):
        widgets = self._widgets(rng)
        listed = [(CONFIG_MAPS, one) for one in self._cluster.documents("configmaps")]
        listed += [(widgets, one) for one in self._cluster.documents(WIDGETS)] if widgets is not None else []
        if not listed:
            return ""
        resource, found = rng.choice(listed)
        name = found["metadata"]["name"]
        told = self._delete_owner(rng, resource.path(NAMESPACE, name))
        if rng.random() < 0.3:
            # another one of its name is not the owner of what the first one left
            meta = {"name": name, "labels": {"made": "again"}}
            body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": meta}
            self._cluster.ask("POST", resource.path(NAMESPACE), body)
            told += ", and made again"
        return told

    def _delete_owner(self, rng, path):
        how = rng.choice(_PROPAGATION)
        self._cluster.delete(path, propagationPolicy=how, kind="DeleteOptions", apiVersion="v1")
        return f"{path} deleted: {how}"

    def _some(self, rng, storage):
        found = self._cluster.documents(storage)
        return rng.choice(found) if found else None

    # --- appliers ---

    def apply(self, rng):
        """Several managers apply what they want of objects that they share."""
        return "; ".join(filter(None, (self._apply(rng) for _ in range(rng.randint(1, 5)))))

    def _apply(self, rng):
        resource, fields = self._shared(rng)
        manager, force, name = rng.choice(_MANAGERS), rng.random() < 0.4, rng.choice(_SHARED)
        config = {path: rng.choice(values) for path, values in fields.items() if rng.random() < 0.5}
        # of an object without any owner nobody keeps track: each manager has a label of its own
        meta = {"name": name, "labels": {manager: "was-here"}}
        body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": meta}
        query = (("fieldManager", manager), *((("force", "true"),) if force else ()))
        path = resource.path(NAMESPACE, name)
        with self._objects.applying(resource, name, manager, config, force=force) as code:
            answer = self._cluster.ask("PATCH", path, body | document(config), _APPLY, query=query)
            code(answer.code)
        return f"{manager} applies {path}: {config}{', by force' if force else ''} → {answer.code}"

    def edit(self, rng):
        """Somebody changes one field of such an object without applying."""
        resource, fields = self._shared(rng)
        name, path = rng.choice(_SHARED), rng.choice(sorted(fields))
        value = rng.choice((*fields[path], None))
        with self._objects.editing(resource, name, "editor", path, value) as code:
            query = (("fieldManager", "editor"),)
            where = resource.path(NAMESPACE, name)
            answer = self._cluster.ask("PATCH", where, document({path: value}), MERGE_PATCH, query=query)
            code(answer.code)
        return f"editor sets {'.'.join(path)} of {quote(where)} to {value!r} → {answer.code}"

    def _shared(self, rng):
        widgets = self._widgets(rng)
        return (widgets, _OF_WIDGETS) if widgets is not None and rng.random() < 0.6 else (CONFIG_MAPS, _OF_CONFIG_MAPS)

    # --- nodes that die ---

    def kubelet_dies(self, rng):
        return self._set_down(rng, "dies", is_down=True)

    def kubelet_returns(self, rng):
        return self._set_down(rng, "is back", is_down=False)

    def _set_down(self, rng, what, *, is_down):
        possible = [node for node in self._cluster.nodes.values() if (DOWN in node.metadata.annotations) != is_down]
        node = self._pick(rng, possible)
        if node is None:
            return ""
        self._mark_down(node.metadata.name, is_down=is_down)
        return f"the kubelet of {node.metadata.name} {what}"

    def _mark_down(self, name, *, is_down):
        said = {"metadata": {"annotations": {DOWN: "true" if is_down else None}}}
        self._cluster.patch(NODES.path(name=name), said)

    def mend(self, rng):
        """When the trouble is over, there is room on the disk, and all kubelets come back, some of them late."""
        if (disk := self._cluster.disk) is not None:
            disk.fails, disk.full, disk.deadly = 0, False, 0
            self._make_classes()
        for name, node in sorted(self._cluster.nodes.items()):
            if DOWN in node.metadata.annotations:
                self.missing.add(name)
                self._later(rng.choice((0.0, 30.0)), lambda name=name: self._return(name), always=True)

    def _return(self, name):
        self.missing.discard(name)
        self._mark_down(name, is_down=False)
