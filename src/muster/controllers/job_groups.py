"""Workload and PodGroup of a Job, so that its pods are scheduled as `spec.scheduling` asks for.

    a Job that nobody controls          Workload and PodGroup, for each of them: Basic unless it asks for a gang
    one whose controller delegates it   PodGroup, from the template of the controller's Workload that it names
    any other, and one whose pods       nothing
    name a group already

They are made for a Job that has never started; one that has goes on with what is there.  As Kubernetes 1.37 does it.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from typing import Any

from muster.api.calls import Answer, Asked, Create, Document, Done, Look, Patch, Refused
from muster.api.wire import Wire
from muster.controllers import job_pods
from muster.controllers.desk import Again
from muster.controllers.job_objects import Job
from muster.controllers.objects import POD_GROUPS, WORKLOADS, Pod, PodGroup, Workload, read

TEMPLATE_NAME = "scheduling.k8s.io/group-template-name"
"""Annotation by which a controller asks the Job controller to make the PodGroup of one of its Jobs."""

_LONGEST_NAME = 253
_SAFE = "bcdfghjklmnpqrstvwxz2456789"
"""No vowels: no words come of it by chance."""

_COPIED = (
    "schedulingPolicy",
    "schedulingConstraints",
    "disruptionMode",
    "priorityClassName",
    "priority",
    "resourceClaims",
)
"""What a group has of its template."""

Steps = Generator[Sequence[Asked], Sequence[Answer], Any]


class _Workloads(Wire, frozen=True):
    items: tuple[Workload, ...] = ()


class Groups:
    """Workloads and PodGroups as they are seen, and what Jobs need of them."""

    def __init__(self) -> None:
        self._workloads: dict[str, Workload] = {}
        self._groups: dict[str, PodGroup] = {}
        self._owned: dict[str, dict[str, Workload | PodGroup]] = {}
        """By the UID of the controller, by UID."""

    def seen(self, thing: Workload | PodGroup) -> None:
        meta = thing.metadata
        if isinstance(thing, Workload):
            self._workloads[meta.key] = thing
        else:
            self._groups[meta.key] = thing
        if meta.controller is not None:
            self._owned.setdefault(meta.controller.uid, {})[meta.uid] = thing

    def gone(self, thing: Workload | PodGroup) -> None:
        meta = thing.metadata
        (self._workloads if isinstance(thing, Workload) else self._groups).pop(meta.key, None)
        if meta.controller is not None and (owned := self._owned.get(meta.controller.uid)) is not None:
            owned.pop(meta.uid, None)
            if not owned:
                del self._owned[meta.controller.uid]

    def ensure(self, job: Job, pods: Sequence[Pod]) -> Steps:
        """Returns the PodGroup for new pods of a Job, made if need be; None if they are to be scheduled one by one."""
        if (job.spec.template.get("spec") or {}).get("schedulingGroup") is not None:
            return None
        if job.metadata.controller is None:
            return (yield from self._own(job, is_new=_is_new(job, pods)))
        if TEMPLATE_NAME in job.metadata.annotations:
            return (yield from self._delegated(job, is_new=_is_new(job, pods)))
        return None

    # --- a Job of its own ---

    def _own(self, job: Job, *, is_new: bool) -> Steps:
        workload = yield from self._workload(job, is_new=is_new)
        if workload is None:
            return None
        group = yield from self._group(job, workload, is_new=is_new)
        yield from self._resize(job, workload, group)
        return group

    def _workload(self, job: Job, *, is_new: bool) -> Steps:
        found = [one for one in self._owned_by(job) if isinstance(one, Workload) and _names_job(one, job)]
        if len(found) > 1 or (not found and not is_new):
            return None
        if found:
            if len(found[0].spec.pod_group_templates) != 1:
                raise Again
            return found[0]
        [answer] = yield [Create(path=WORKLOADS.path(job.metadata.namespace), body=_workload_of(job), told=True)]
        made = read(Workload, answer.data) if isinstance(answer, Done) else None
        if made is None:
            if isinstance(answer, Refused):
                words = f"Failed to create Workload for Job {job.metadata.name}: {answer.message}"
                yield [job_pods.say(job, "FailedWorkloadCreate", words, warning=True)]
            raise Again
        words = f"Created Workload {made.metadata.name} for Job {job.metadata.name}"
        yield [job_pods.say(job, "WorkloadCreated", words)]
        return made

    def _group(self, job: Job, workload: Workload, *, is_new: bool) -> Steps:
        found = [one for one in self._owned_by(job) if isinstance(one, PodGroup) and _is_of(one, workload)]
        if len(found) > 1 or (not found and not is_new):
            return None
        if found:
            return found[0]
        link = {
            "apiVersion": WORKLOADS.api_version,
            "kind": WORKLOADS.kind,
            "name": workload.metadata.name,
            "uid": workload.metadata.uid,
        }
        return (yield from _make_group(job, workload, workload.spec.pod_group_templates[0], links=[link]))

    def _resize(self, job: Job, workload: Workload, group: PodGroup | None) -> Steps:
        """A gang grows and shrinks with its Job."""
        wanted = _min_count(_template_of(job))
        [template] = workload.spec.pod_group_templates
        if wanted is None:
            return
        if _min_count(template) not in (None, wanted):
            size = {"name": template["name"], "schedulingPolicy": {"gang": {"minCount": wanted}}}
            body = {"metadata": {"uid": workload.metadata.uid}, "spec": {"podGroupTemplates": [size]}}
            path = WORKLOADS.path(workload.metadata.namespace, workload.metadata.name)
            yield [Patch(path=path, body=body, strategic=True)]
        yield from _resize_group(group, wanted)

    # --- a Job of another controller ---

    def _delegated(self, job: Job, *, is_new: bool) -> Steps:
        workload = _parents_workload(job, self._workloads.values())
        if workload is None and is_new:
            # a controller makes the Workload first, yet the two are watched apart, and the Job may be seen first
            workload = yield from _look_for_parents_workload(job)
        if workload is None:
            return None
        name = job.metadata.annotations[TEMPLATE_NAME]
        templates = workload.spec.pod_group_templates
        template = next((one for one in templates if name in ("", one.get("name"))), None)
        if template is None:
            return None
        found = [one for one in self._owned_by(job) if isinstance(one, PodGroup) and _is_of(one, workload)]
        group = found[0] if found else None
        if group is None and is_new:
            group = yield from _make_group(job, workload, template, links=[])
        wanted = _min_count(template)
        if wanted is not None:
            yield from _resize_group(group, wanted)
        return group

    def _owned_by(self, job: Job) -> list[Workload | PodGroup]:
        return list(self._owned.get(job.metadata.uid, {}).values())


def _is_new(job: Job, pods: Sequence[Pod]) -> bool:
    """Whether it has never started: each of these may be lost on its own."""
    status = job.status
    started = pods or status.start_time is not None or status.succeeded or status.failed
    return not started and all(one.type != "Suspended" for one in status.conditions)


def _parents_workload(job: Job, workloads: Iterable[Workload]) -> Workload | None:
    parent = job.metadata.controller
    assert parent is not None
    wanted = (parent.api_version.rpartition("/")[0], parent.kind, parent.name)
    for workload in workloads:
        named = workload.spec.controller_ref or {}
        names = (named.get("apiGroup", ""), named.get("kind"), named.get("name"))
        if workload.metadata.namespace == job.metadata.namespace and names == wanted:
            return workload
    return None


def _look_for_parents_workload(job: Job) -> Steps:
    [answer] = yield [Look(path=WORKLOADS.path(job.metadata.namespace))]
    found = read(_Workloads, answer.data) if isinstance(answer, Done) else None
    if found is None:
        raise Again
    return _parents_workload(job, found.items)


def _names_job(workload: Workload, job: Job) -> bool:
    named = workload.spec.controller_ref or {}
    wanted = ("batch", "Job", job.metadata.name)
    return (named.get("apiGroup"), named.get("kind"), named.get("name")) == wanted


def _is_of(group: PodGroup, workload: Workload) -> bool:
    named = group.spec.workload_ref
    same_place = group.metadata.namespace == workload.metadata.namespace
    return named is not None and same_place and named.workload_name == workload.metadata.name


# --- documents ---


def _workload_of(job: Job) -> Document:
    meta = job.metadata
    return {
        "apiVersion": WORKLOADS.api_version,
        "kind": WORKLOADS.kind,
        "metadata": {
            "name": workload_name(job),
            "namespace": meta.namespace,
            "ownerReferences": [job_pods.controller_reference(job)],
        },
        "spec": {
            "controllerRef": {"apiGroup": "batch", "kind": "Job", "name": meta.name},
            "podGroupTemplates": [_template_of(job)],
        },
    }


def _template_of(job: Job) -> Document:
    asked = job.spec.scheduling or {}
    template: Document = {"name": f"{job.metadata.name}-pgt-0", "schedulingPolicy": _policy_of(job)}
    if priority := (job.spec.template.get("spec") or {}).get("priorityClassName"):
        template["priorityClassName"] = priority
    constraints = asked.get("schedulingConstraints") or {}
    if constraints.get("topology"):
        template["schedulingConstraints"] = {"topology": constraints["topology"]}
    for field in ("disruptionMode", "resourceClaims"):
        if asked.get(field):
            template[field] = asked[field]
    return template


def _policy_of(job: Job) -> Document:
    gang = ((job.spec.scheduling or {}).get("schedulingPolicy") or {}).get("gang")
    if gang is None:
        return {"basic": {}}
    count = gang.get("minCount")
    # a suspended Job may have a parallelism of 0, a gang may not
    return {"gang": {"minCount": max(1, job.spec.parallelism) if count is None else count}}


def _min_count(template: Document) -> int | None:
    """None of a template that is no gang's."""
    gang = (template.get("schedulingPolicy") or {}).get("gang")
    return None if gang is None else int(gang["minCount"])


def _make_group(job: Job, workload: Workload, template: Document, *, links: list[Document]) -> Steps:
    meta = workload.metadata
    spec = {field: template[field] for field in _COPIED if template.get(field) is not None}
    spec["workloadRef"] = {"workloadName": meta.name, "templateName": template["name"]}
    body = {
        "apiVersion": POD_GROUPS.api_version,
        "kind": POD_GROUPS.kind,
        "metadata": {
            "name": group_name(meta.name, template["name"]),
            "namespace": meta.namespace,
            "ownerReferences": [job_pods.controller_reference(job), *links],
        },
        "spec": spec,
    }
    [answer] = yield [Create(path=POD_GROUPS.path(meta.namespace), body=body)]
    made = read(PodGroup, answer.data) if isinstance(answer, Done) else None
    if made is None:
        raise Again
    words = f"Created PodGroup {made.metadata.name} for Job {job.metadata.name}"
    yield [job_pods.say(job, "PodGroupCreated", words)]
    return made


def _resize_group(group: PodGroup | None, wanted: int) -> Steps:
    gang = group.spec.scheduling_policy.gang if group is not None else None
    if group is None or gang is None or gang.min_count == wanted:
        return
    meta = group.metadata
    body = {"metadata": {"uid": meta.uid}, "spec": {"schedulingPolicy": {"gang": {"minCount": wanted}}}}
    yield [Patch(path=POD_GROUPS.path(meta.namespace, meta.name), body=body, strategic=True)]


# --- names ---


def workload_name(job: Job) -> str:
    """The same for a Job whenever it is asked for."""
    # as Go prints a value of the UID's type before it is hashed
    ending = _safe(f"(types.UID){job.metadata.uid}")
    return f"{job.metadata.name[: _LONGEST_NAME - len(ending) - 1]}-{ending}"


def group_name(workload: str, template: str) -> str:
    ending = _safe(workload + template)
    room = _LONGEST_NAME - len(ending) - 2
    half = room // 2
    if len(workload) + len(template) > room:
        if len(workload) <= half:
            template = template[: room - len(workload)]
        elif len(template) <= half:
            workload = workload[: room - len(template)]
        else:
            workload, template = workload[: room - half], template[:half]
    return f"{workload}-{template}-{ending}"


def _safe(text: str) -> str:
    return "".join(_SAFE[ord(digit) % len(_SAFE)] for digit in str(_fnv32a(text.encode())))


def _fnv32a(data: bytes) -> int:
    number = 0x811C9DC5
    for byte in data:
        number = (number ^ byte) * 0x01000193 & 0xFFFFFFFF
    return number
