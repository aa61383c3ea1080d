"""A talk in which owners can be read, and the groups that they need are made: what a cluster and Muster do together."""

from msgspec.structs import replace

from muster.api.wire import OwnerReference, Pod, PodGroup, read
from muster.controllers.made_groups import MadeGroups
from muster.edge.owned import WantedGroup
from muster.gangs.dialects import CUSTOM
from muster.gangs.owners import MANAGED_BY, Document, kind_of
from muster.gangs.record import bound_for
from tests.dialects.talk import Talk

TEMPLATE = {"metadata": {"labels": {"muster.dev/gang": "true"}}}


def reference(api_version, kind, name, uid=""):
    uid = uid or f"uid-{kind}-{name}"
    return {"apiVersion": api_version, "kind": kind, "name": name, "uid": uid, "controller": True}


def pod(name, owner, *, gang="true", created=0, labels=None, annotations=None, **spec):
    """A pod of one cpu below this owner; `gang` None for no such label."""
    meta = {
        "name": name,
        "namespace": "team",
        "uid": f"uid-{name}",
        "creationTimestamp": f"2026-01-01T00:00:{created:02}Z",
        "labels": ({} if gang is None else {"muster.dev/gang": gang}) | (labels or {}),
        "annotations": annotations or {},
        "ownerReferences": [owner] if owner else [],
    }
    spec = {"schedulerName": "muster", "containers": [{"resources": {"requests": {"cpu": 1}}}]} | spec
    return read(Pod, {"metadata": meta, "spec": spec})


class OwnedTalk(Talk):
    """`stored` has owners by (kind, name); groups are made as soon as they are wanted, unless `makes` is false."""

    def __init__(self, nodes, *, cpu=4):
        super().__init__(nodes, cpu=cpu)
        self.stored = {}
        self.reads = []
        self.made = {}
        """By key: groups as they were made and changed since."""
        self.makes = True
        self._numbers = 0
        self._controller = MadeGroups(self._find, wanted=self._wanted, is_free=self._is_free, write=self._write)

    # a restart exchanges the groups

    def _find(self, key):
        return self.groups.group_of(key)

    def _wanted(self, key):
        return self.groups.wanted(key)

    def owner(self, ref, *, above=None, **spec):
        """Puts an owner there, or changes it; nobody tells of that."""
        meta = {
            "name": ref["name"],
            "namespace": "team",
            "uid": ref["uid"],
            "ownerReferences": [above] if above else [],
        }
        self.stored[ref["kind"], ref["name"]] = {"metadata": meta, "spec": spec}
        return ref

    def settle(self):
        """Owners are read and groups made until nothing is left to be done."""
        controller = self._controller
        while True:
            unread = self.groups.owned.take_unread()
            for uid, one in sorted(unread.items()):
                self.engine.apply(self._read(uid, one.reference))
            touched = self.groups.owned.take_touched()
            if self.makes:
                controller.look(touched)
            if not unread and not touched:
                return self

    def _read(self, uid, ref):
        self.reads.append(f"{ref.kind} {ref.name}")
        stored = self.stored.get((ref.kind, ref.name))
        if stored is None:
            return self.groups.owner_read(uid, f"{ref.kind} {ref.name} is gone")
        found = read(Document, stored)
        if found.metadata.uid != ref.uid:
            return self.groups.owner_read(uid, f"{ref.kind} {ref.name} is another")
        return self.groups.owner_read(uid, kind_of(ref).owner(ref, found))

    def _write(self, key):
        match self._controller.todo(key):
            case WantedGroup() as wanted:
                self._numbers += 1
                self._store(_group(wanted, self._numbers))
            case (group, wanted):
                policy = replace(group.spec.scheduling_policy.gang, min_count=wanted.minimum)
                policy = replace(group.spec.scheduling_policy, gang=policy)
                owner = replace(wanted.owner, controller=True)
                meta = replace(group.metadata, owner_references=group.metadata.owner_references or (owner,))
                self._store(replace(group, metadata=meta, spec=replace(group.spec, scheduling_policy=policy)))

    def _is_free(self, key, owner):
        users = [uid for uid, pod in self.pods.items() if bound_for(pod) is not None and bound_for(pod).gang == key]
        return set(users) <= set(self.groups.owned.below(owner))

    def orphan(self, ref):
        """The owner is deleted, and what it owned is left behind, its group too."""
        del self.stored[ref["kind"], ref["name"]]
        for found in list(self.pods.values()):
            if found.metadata.controller.uid == ref["uid"]:
                self.seen(replace(found, metadata=replace(found.metadata, owner_references=())))
        for group in list(self.made.values()):
            if owner_of(group) == ref["uid"]:
                self._store(replace(group, metadata=replace(group.metadata, owner_references=())))

    def _store(self, group):
        self.made[f"team/{group.metadata.name}"] = group
        self.objects[CUSTOM] = group
        self.engine.apply(self.groups.seen(CUSTOM, group))

    def _say(self, decision):
        dialect, group = self.groups.find(decision.gang)
        self.objects[dialect] = group
        super()._say(decision)
        if decision.gang in self.made:
            self.made[decision.gang] = self.objects[dialect]

    def delete_group(self, name):
        group = self.made.pop(f"team/{name}")
        self.engine.apply(self.groups.gone(CUSTOM, f"team/{name}", group.metadata.uid))

    def minimums(self):
        return {key.partition("/")[2]: group.spec.scheduling_policy.gang.min_count for key, group in self.made.items()}

    def seen_all(self, *pods):
        for one in pods:
            self.seen(one)
        return self.settle()


def _group(wanted: WantedGroup, number):
    """As an API server would give it back."""
    namespace, _, name = wanted.key.partition("/")
    owner = wanted.owner
    return read(
        PodGroup,
        {
            "metadata": {
                "name": name,
                "namespace": namespace,
                "uid": f"group-{number}",
                "creationTimestamp": "2026-01-01T00:00:00Z",
                "labels": MANAGED_BY,
                "annotations": wanted.annotations,
                "ownerReferences": [{"kind": owner.kind, "uid": owner.uid, "controller": True}],
            },
            "spec": {
                "schedulingPolicy": {"gang": {"minCount": wanted.minimum}},
                "priorityClassName": wanted.priority_class,
            },
        },
    )


def owner_of(group):
    (owner,) = group.metadata.owner_references
    assert isinstance(owner, OwnerReference)
    return owner.uid
