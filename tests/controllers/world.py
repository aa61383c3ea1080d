"""Controllers with an API server of a few lines around them, in virtual time.

    world = World()
    world.attach(FinishedJobs(), {JOBS: Job})
    world.create(JOBS, {...})
    world.run(60)

Calls are answered at once, and what comes of them is seen at once; `world.answer` may answer otherwise.
"""

import json
from copy import deepcopy

import msgspec

from muster.api.calls import Create, Delete, Done, Look, Patch, Refused, Replace, Say
from muster.api.resources import PODS
from muster.api.times import seconds, stamp

START = seconds("2027-01-15T08:00:00Z")

_MERGED_BY = {"conditions": "type", "ownerReferences": "uid", "podGroupTemplates": "name"}
"""Lists that a strategic patch merges, and by which field."""


class World:
    def __init__(self):
        self.now = START
        self.cores = []
        self.objects = {}
        """By the path of the kind, by namespace/name."""
        self.events = []
        """Reason and message of all that was said."""
        self.calls = []
        self.answer = None
        """Instead of doing what a call asks for: a function that answers it, or gives None."""
        self.terminating = set()
        """Namespaces in which nothing can be made."""
        self.pages = {}
        """What is answered to those who ask which kinds are served, by path."""
        self._version = 0
        self._uids = 0

    # --- who is there ---

    def attach(self, core, reads):
        self.cores.append((core, {resource.path(): kind for resource, kind in reads.items()}))
        for resource in reads:
            for document in self.objects.get(resource.path(), {}).values():
                self._tell(core, resource.path(), document, reads[resource])
        return core

    def forget(self, core):
        """A process dies."""
        self.cores = [one for one in self.cores if one[0] is not core]

    def serve(self, *resources):
        """Has these kinds found by those who ask which are served."""
        verbs = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
        self.pages = {"/api/v1": {"resources": []}}
        for resource in resources:
            row = {"name": resource.plural, "kind": resource.kind, "namespaced": resource.namespaced, "verbs": verbs}
            self.pages.setdefault(resource.root, {"resources": []})["resources"].append(row)
        named = sorted({resource.root.removeprefix("/apis/") for resource in resources if resource.group})
        groups = [{"name": one, "versions": [{"groupVersion": one}]} for one in named]
        self.pages |= {"/apis": {"groups": groups}}

    # --- what people do ---

    def create(self, resource, document, *, uid=None):
        namespace = document["metadata"].get("namespace", "team" if resource.namespaced else "")
        document = deepcopy(document)
        document["metadata"]["namespace"] = namespace
        if uid is not None:
            document["metadata"]["uid"] = uid
        return self._create(resource.path(), document)

    def get(self, resource, name, namespace="team"):
        """The object, as it is; None if there is none."""
        key = f"{namespace}/{name}" if resource.namespaced else name
        return self.objects.get(resource.path(), {}).get(key)

    def all(self, resource):
        return list(self.objects.get(resource.path(), {}).values())

    def patch(self, resource, name, body, *, namespace="team", subresource="", strategic=False):
        path = resource.path(namespace, name, subresource)
        answer = self._do(Patch(path=path, body=body, strategic=strategic))
        assert isinstance(answer, Done), answer

    def delete(self, resource, name, *, namespace="team", **options):
        answer = self._do(Delete(path=resource.path(namespace, name), **options))
        assert isinstance(answer, Done), answer

    def vanish(self, resource, name, *, namespace="team"):
        """It is gone without finalizers being asked."""
        self._remove(resource.path(), f"{namespace}/{name}" if resource.namespaced else name)

    # --- time ---

    def run(self, seconds=0.0):
        """Lets so much time pass, and everything happen that is due in it."""
        until = self.now + seconds
        for _ in range(100_000):
            self._turn()
            times = [core.next_at for core, _ in self.cores]
            at = min((one for one in times if one is not None), default=None)
            if at is None or at > until:
                self.now = until
                return self
            self.now = max(self.now, at)
        raise AssertionError("it never ends")

    def _turn(self):
        for core, _ in list(self.cores):
            for call in core.work(self.now):
                self.calls.append(call)
                if isinstance(call, Say):
                    self.events.append((call.reason, call.message))
                    continue
                answer = self.answer(call) if self.answer is not None else None
                core.answered(call, answer if answer is not None else self._do(call), self.now)

    # --- the server ---

    def _do(self, call):
        json.dumps(getattr(call, "body", None))
        if call.path in self.pages:
            return Done(msgspec.json.encode(self.pages[call.path]))
        where, key, subresource = _split(call.path)
        there = self.objects.setdefault(where, {})
        match call:
            case Create():
                return self._post(where, key, call.body)
            case Look() if key.endswith("/") or not key:
                items = [deepcopy(one) for name, one in there.items() if name.startswith(key)]
                return Done(msgspec.json.encode({"kind": "List", "metadata": {}, "items": items}))
            case Delete() if key.endswith("/"):
                for name in [name for name in there if name.startswith(key)]:
                    self._delete(where, name, call)
                return Done(b'{"kind":"Status"}')
        document = there.get(key)
        if document is None:
            return Refused(code=404, reason="NotFound", message=f'"{key.rpartition("/")[2]}" not found')
        match call:
            case Look():
                return Done(msgspec.json.encode(document))
            case Delete():
                return self._delete(where, key, call)
            case Patch():
                return self._patch(where, key, call, subresource)
            case Replace():
                return self._store(where, key, {**document, **deepcopy(call.body)}, subresource)

    def _post(self, where, key, body):
        namespace = key.rstrip("/")
        if namespace in self.terminating:
            words = f"unable to create new content in namespace {namespace} because it is being terminated"
            return Refused(code=403, reason="Forbidden", message=words)
        document = deepcopy(body)
        document["metadata"]["namespace"] = namespace
        name = document["metadata"]["name"]
        if (f"{namespace}/{name}" if namespace else name) in self.objects[where]:
            return Refused(code=409, reason="AlreadyExists", message=f'"{name}" already exists')
        return Done(msgspec.json.encode(self._create(where, document)))

    def _create(self, where, document):
        meta = document["metadata"]
        self._uids += 1
        meta.setdefault("uid", f"uid-{self._uids}")
        meta |= {"generation": 1, "creationTimestamp": stamp(self.now)}
        if not meta["namespace"]:
            del meta["namespace"]
        if where == PODS.path():
            document.setdefault("status", {"phase": "Pending"})
        key = f"{meta['namespace']}/{meta['name']}" if "namespace" in meta else meta["name"]
        self.objects.setdefault(where, {})[key] = document
        self._show(where, document)
        return document

    def _patch(self, where, key, call, subresource):
        document = self.objects[where][key]
        meta = call.body.get("metadata", {})
        if meta.get("uid") not in (None, document["metadata"]["uid"]):
            return Refused(code=422, reason="Invalid", message="metadata.uid: Invalid value: field is immutable")
        if meta.get("resourceVersion") not in (None, document["metadata"]["resourceVersion"]):
            return Refused(code=409, reason="Conflict", message="the object has been modified")
        changed = deepcopy(document)
        body = {name: value for name, value in call.body.items() if name == "status"} if subresource else call.body
        merge(changed, body, strategic=call.strategic)
        return self._store(where, key, changed, subresource)

    def _store(self, where, key, changed, subresource):
        document = self.objects[where][key]
        if changed.get("spec") != document.get("spec"):
            changed["metadata"]["generation"] += 1
        if changed == document:
            return Done(msgspec.json.encode(document))
        self.objects[where][key] = changed
        if _is_over(changed):
            # as it is at the end, with the version that it had before
            self._remove(where, key)
        else:
            self._show(where, changed)
        return Done(msgspec.json.encode(changed))

    def _delete(self, where, key, call):
        document = self.objects[where][key]
        meta = document["metadata"]
        if call.uid and call.uid != meta["uid"]:
            return Refused(code=409, reason="Conflict", message="the UID in the precondition does not match")
        if call.version and call.version != meta["resourceVersion"]:
            return Refused(
                code=409, reason="Conflict", message="the ResourceVersion in the precondition does not match"
            )
        changed = deepcopy(document)
        finalizer = {"Foreground": "foregroundDeletion", "Orphan": "orphan"}.get(call.propagation)
        if finalizer is not None and finalizer not in changed["metadata"].get("finalizers", []):
            changed["metadata"].setdefault("finalizers", []).append(finalizer)
        grace = self._grace(where, document, call)
        if "deletionTimestamp" not in meta or grace < meta.get("deletionGracePeriodSeconds", 0):
            changed["metadata"] |= {
                "deletionTimestamp": stamp(self.now + grace),
                "deletionGracePeriodSeconds": grace,
            }
        return self._store(where, key, changed, "")

    def _grace(self, where, document, call):
        bound = where == PODS.path() and document["spec"].get("nodeName")
        over = document.get("status", {}).get("phase") in ("Succeeded", "Failed")
        if not bound or over:
            return 0
        return 30 if call.grace_seconds is None else call.grace_seconds

    def _remove(self, where, key):
        document = self.objects[where].pop(key)
        for core, reads in self.cores:
            if where in reads:
                core.gone(where, msgspec.json.decode(msgspec.json.encode(document), type=reads[where]))

    def _show(self, where, document):
        self._version += 1
        document["metadata"]["resourceVersion"] = str(self._version)
        for core, reads in self.cores:
            if where in reads:
                self._tell(core, where, document, reads[where])

    def _tell(self, core, where, document, kind):
        core.seen(where, msgspec.json.decode(msgspec.json.encode(document), type=kind))


def _is_over(document):
    meta = document["metadata"]
    if "deletionTimestamp" not in meta or meta.get("finalizers") or meta.get("deletionGracePeriodSeconds"):
        return False
    # those of a namespace are in its spec
    return not document.get("spec", {}).get("finalizers")


def merge(target, patch, *, strategic=False):
    """A merge patch, or as much of a strategic one as controllers use."""
    for name, value in patch.items():
        if name.startswith("$deleteFromPrimitiveList/"):
            field = name.partition("/")[2]
            target[field] = [one for one in target.get(field, ()) if one not in value]
            if not target[field]:
                del target[field]
        elif value is None:
            target.pop(name, None)
        elif isinstance(value, dict):
            merge(target.setdefault(name, {}), value, strategic=strategic)
        elif strategic and name == "finalizers":
            target[name] = list(dict.fromkeys([*target.get(name, ()), *value]))
        elif strategic and name in _MERGED_BY:
            _merge_list(target.setdefault(name, []), value, _MERGED_BY[name])
            if not target[name]:
                del target[name]
        else:
            target[name] = value


def _merge_list(target, patch, key):
    for one in patch:
        known = next((other for other in target if other.get(key) == one.get(key)), None)
        if one.get("$patch") == "delete":
            if known is not None:
                target.remove(known)
        elif known is None:
            target.append(deepcopy({name: value for name, value in one.items() if value is not None}))
        else:
            merge(known, one, strategic=True)


def _split(path):
    """The kind's path, the object's key (of a collection: the namespace and a slash), and the subresource."""
    _, *parts = path.split("/")
    root, rest = (parts[:2], parts[2:]) if parts[0] == "api" else (parts[:3], parts[3:])
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in ("status", "finalize"):
        namespace, rest = f"{rest[1]}/", rest[2:]
    where = "/" + "/".join((*root, rest[0]))
    return where, namespace + (rest[1] if len(rest) > 1 else ""), rest[2] if len(rest) > 2 else ""
