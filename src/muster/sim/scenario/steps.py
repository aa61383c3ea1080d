"""Reads the actions of a scenario file."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from muster.base.errors import ScenarioError
from muster.engine.changes import Failure
from muster.sim.scenario import manifests, shapes
from muster.sim.scenario.actions import (
    Action,
    ChangeBudget,
    ChangeGang,
    ChangeNode,
    Create,
    Delete,
    DisturbBinds,
    Drain,
    EndPods,
    LabelPods,
    LoseNode,
    Ref,
    RefKind,
    Restart,
    Ungate,
    short,
)
from muster.sim.scenario.book import Book
from muster.sim.scenario.manifests import Manifest, PodShape
from muster.sim.scenario.place import Place
from muster.sim.scenario.shapes import (
    GANG_CHANGES,
    GROUP_FIELDS,
    POD_FIELDS,
    group_annotations,
    is_resource,
    name_of,
    numbered,
    pod_shape,
)
from muster.sim.scenario.times import show_seconds

_FAILURES = {
    "transient": (Failure.TRANSIENT, "fail for a while"),
    "rejected": (Failure.REJECTED, "are rejected"),
    "denied": (Failure.DENIED, "are denied"),
}


class Steps:
    """Turns a field of a step into an action; objects and names are noted in `book`."""

    def __init__(self, book: Book) -> None:
        self.book = book

    def read(self, name: str, place: Place) -> Action:
        return ACTIONS[name](self, place)

    # --- creating ---

    def gang(self, place: Place) -> Action:
        known = ("name", "members", "shapes", *GROUP_FIELDS, *POD_FIELDS)
        fields = place.fields(known, required=["name"], also=is_resource)
        name = name_of(fields["name"])
        base = self._shape(fields)
        if "shapes" in fields:
            if "members" in fields:
                raise fields["members"].error("a gang with shapes has its members there")
            pods, told = self._shapes(fields["shapes"], name, base)
        elif "members" in fields:
            count = fields["members"].count(least=1)
            pods, told = self._members(name, count, base), f"{count} × {base.words}"
        else:
            raise place.error("gang needs 'members' or 'shapes'", "use 'group' for a PodGroup without pods")
        group, more = self._group(fields, name, default=len(pods), base=base)
        more += ", gated" if base.gates else ""
        return self._create(place, [group, *pods], told=f"gang {name} ({told}{more}) arrives")

    def group(self, place: Place) -> Action:
        known = ("name", *GROUP_FIELDS, "priority", "priorityClass", "preemption")
        fields = place.fields(known, required=["name"])
        name = name_of(fields["name"])
        if "min" not in fields and "basic" not in fields:
            raise place.error("group needs 'min' or 'basic'")
        group, more = self._group(fields, name, default=0, base=self._shape(fields))
        return self._create(place, [group], told=f"group {name} arrives{more.replace(',', ':', 1)}")

    def members(self, place: Place) -> Action:
        fields = place.fields(("of", "count", "name", *POD_FIELDS), required=["of"], also=is_resource)
        gang = name_of(fields["of"])
        base = self._shape(fields)
        if "name" in fields:
            if "count" in fields:
                raise fields["count"].error("members with a 'name' are one; 'count' cannot be given")
            pods = [manifests.pod(name_of(fields["name"]), base, gang=gang)]
        else:
            pods = self._members(gang, fields["count"].count(least=1) if "count" in fields else 1, base)
        noun = "member" if len(pods) == 1 else "members"
        verb = "arrives" if len(pods) == 1 else "arrive"
        told = f"{len(pods)} {noun} of {gang} ({base.words}{' each' if len(pods) > 1 else ''}) {verb}"
        return self._create(place, pods, told=told)

    def pod(self, place: Place) -> Action:
        fields = place.fields(("name", "count", *POD_FIELDS), required=["name"], also=is_resource)
        name = name_of(fields["name"])
        base = self._shape(fields)
        where = f" on {base.node}" if base.node else ""
        if "count" not in fields:
            told = f"pod {name} ({base.words}) arrives{where}"
            return self._create(place, [manifests.pod(name, base)], told=told)
        names = numbered(name, fields["count"].count(least=1))
        pods = [manifests.pod(one, base) for one in names]
        self.book.together.update({manifests.key(pod): f"{manifests.NAMESPACE}/{name}" for pod in pods})
        return self._create(place, pods, told=f"pods {name} ({len(pods)} × {base.words}) arrive{where}")

    def node(self, place: Place) -> Action:
        found = self.nodes(place)
        names = [manifest["metadata"]["name"] for manifest in found]
        words = manifests.node_words(found[0])
        told = f"node {names[0]} ({words}) joins"
        if len(names) > 1:
            told = f"nodes {names[0]} … {names[-1]} ({len(names)} × {words}) join"
        return Create(where=place.where, told=told, manifests=tuple(found))

    def nodes(self, place: Place) -> list[Manifest]:
        found = shapes.node_manifests(place)
        for manifest in found:
            self.book.note(manifest)
        return found

    def budget(self, place: Place) -> Action:
        fields = place.fields(("name", "of", "allowed"), required=["name", "of", "allowed"])
        name, of, allowed = name_of(fields["name"]), fields["of"], fields["allowed"].count()
        if of.is_text:
            what = self._ref(of, (RefKind.GANG, RefKind.POD))
            selected, words = self.book.select(what.kind, what.key), str(what)
        else:
            selected = of.words()
            words = "pods with " + (", ".join(f"{key}={value}" for key, value in selected.items()) or "any labels")
        told = f"budget {name} arrives: {_disruptions(allowed)} of {words}"
        return self._create(place, [manifests.budget(name, selected=selected, allowed=allowed)], told=told)

    def objects(self, place: Place) -> Action:
        found = [shapes.manifest(item) for item in place.items()]
        listed = ", ".join(f"{manifest['kind']} {manifest['metadata']['name']}" for manifest in found)
        return self._create(place, found, told=f"created: {listed}")

    # --- changing ---

    def delete(self, place: Place) -> Action:
        what = self._ref(place, (RefKind.GANG, RefKind.GROUP, RefKind.POD, RefKind.BUDGET, RefKind.OBJECT))
        return Delete(where=place.where, told=f"{what} is deleted", what=what)

    def lose(self, place: Place) -> Action:
        node = self._node(place)
        return LoseNode(where=place.where, told=f"node {node} is lost", node=node)

    def drain(self, place: Place) -> Action:
        node = self._node(place)
        return Drain(where=place.where, told=f"node {node} is drained", node=node)

    def cordon(self, place: Place) -> Action:
        node = self._node(place)
        return ChangeNode(where=place.where, told=f"node {node} is cordoned", node=node, unschedulable=True)

    def uncordon(self, place: Place) -> Action:
        node = self._node(place)
        return ChangeNode(where=place.where, told=f"node {node} is uncordoned", node=node, unschedulable=False)

    def change(self, place: Place) -> Action:
        entries = place.entries()
        if "gang" in entries:
            return self._change_gang(place)
        if "budget" in entries:
            fields = place.fields(("budget", "allowed"), required=["allowed"])
            budget = self.book.refer(fields["budget"], "budget", fields["budget"].text())
            allowed = fields["allowed"].count()
            told = f"budget {short(budget)} changes: {_disruptions(allowed)}"
            return ChangeBudget(where=place.where, told=told, budget=budget, allowed=allowed)
        if "node" not in entries:
            raise place.error("change needs 'gang', 'node' or 'budget'")
        return self._change_node(place)

    def _change_gang(self, place: Place) -> Action:
        fields = place.fields(("gang", *GANG_CHANGES))
        gang = self.book.refer(fields["gang"], "gang", fields["gang"].text())
        minimum = fields["min"].count(least=1) if "min" in fields else None
        annotations = group_annotations(fields)
        if minimum is None and not annotations:
            raise place.error("this changes nothing", f"add one of {', '.join(GANG_CHANGES)}")
        told = [] if minimum is None else [f"the minimum of {short(gang)} is now {minimum}"]
        told += [
            f"{name} of {short(gang)} is now {fields[name].plain()}" for name in fields if name in GANG_CHANGES[1:]
        ]
        return ChangeGang(where=place.where, told=", ".join(told), gang=gang, minimum=minimum, annotations=annotations)

    def _change_node(self, place: Place) -> Action:
        fields = place.fields(("node", "labels", "taints", "pods"), also=is_resource)
        node = self._node(fields["node"])
        given = _labels(fields["labels"]) if "labels" in fields else {}
        gone = tuple(key for key, value in given.items() if value is None)
        labels = {key: value for key, value in given.items() if value is not None}
        room = shapes.allocatable(fields)
        taints = shapes.taints(fields["taints"]) if "taints" in fields else None
        told = _label_words(given)
        if taints is not None:
            told.append("taints " + (", ".join(manifests.taint_words(taint) for taint in taints) or "none"))
        if room:
            told.append(manifests.words(room))
        if not told:
            raise place.error("this changes nothing", "add labels, taints or resources")
        return ChangeNode(
            where=place.where,
            told=f"node {node} changes: {', '.join(told)}",
            node=node,
            labels=labels,
            unlabel=gone,
            taints=None if taints is None else tuple(taints),
            allocatable=room,
        )

    def ungate(self, place: Place) -> Action:
        what = self._ref(place, (RefKind.GANG, RefKind.POD))
        return Ungate(where=place.where, told=f"{what} is ungated", what=what)

    def label(self, place: Place) -> Action:
        fields = place.fields(("of", "labels"), required=["of", "labels"])
        what = self._ref(fields["of"], (RefKind.GANG, RefKind.POD))
        labels = _labels(fields["labels"])
        if not labels:
            raise place.error("this changes nothing", "add labels")
        told = f"pods of {what} change" if what.kind is RefKind.GANG else f"{what} changes"
        return LabelPods(where=place.where, told=f"{told}: {', '.join(_label_words(labels))}", what=what, labels=labels)

    def finish(self, place: Place) -> Action:
        what = self._ref(place, (RefKind.GANG, RefKind.POD))
        return EndPods(where=place.where, told=f"{what} comes to its end", what=what)

    def fail(self, place: Place) -> Action:
        fields = {"of": place} if place.is_text else place.fields(("of", "reason"), required=["of"])
        what = self._ref(fields["of"], (RefKind.GANG, RefKind.POD))
        reason = fields["reason"].text() if "reason" in fields else ""
        told = f"{what} is made to fail" + (f" ({reason})" if reason else "")
        return EndPods(where=place.where, told=told, what=what, failed=True, reason=reason)

    # --- disturbing ---

    def fail_binds(self, place: Place) -> Action:
        fields = place.fields(("of", "times", "how", "after"), required=["of"])
        what = self._ref(fields["of"], (RefKind.GANG, RefKind.POD, RefKind.NODE))
        how = fields["how"].word(_FAILURES) if "how" in fields else "transient"
        times, words = self._times(fields)
        failure, verb = _FAILURES[how]
        return DisturbBinds(
            where=place.where,
            told=f"from now on {words} {_binds_of(what)} {verb}",
            what=what,
            times=times,
            failure=failure,
            delay_seconds=fields["after"].seconds() if "after" in fields else 0.0,
        )

    def slow_binds(self, place: Place) -> Action:
        fields = place.fields(("of", "by", "times"), required=["of", "by"])
        what = self._ref(fields["of"], (RefKind.GANG, RefKind.POD, RefKind.NODE))
        delay = fields["by"].seconds()
        times, words = self._times(fields, default=None)
        told = f"from now on {words} {_binds_of(what)} take {show_seconds(delay)}"
        return DisturbBinds(where=place.where, told=told, what=what, times=times, delay_seconds=delay)

    def restart(self, place: Place) -> Action:
        told = "the scheduler restarts"
        if place.is_text:
            place.word(("scheduler",))
            return Restart(where=place.where, told=told)
        fields = place.fields(("losing",), required=["losing"])
        kinds = (RefKind.GANG, RefKind.POD, RefKind.NODE)
        lost = tuple(self._ref(item, kinds) for item in fields["losing"].one_or_more())
        told += "; binds on their way are lost for " + ", ".join(str(ref) for ref in lost)
        return Restart(where=place.where, told=told, lost=lost)

    # --- parts ---

    def _times(self, fields: dict[str, Place], default: int | None = 1) -> tuple[int | None, str]:
        if "times" not in fields:
            times = default
        elif fields["times"].is_text:
            fields["times"].word(("always",))
            times = None
        else:
            times = fields["times"].count(least=1)
        if times is None:
            return None, "all binds"
        return times, "the next bind" if times == 1 else f"the next {times} binds"

    def _shape(self, fields: dict[str, Place], base: PodShape | None = None) -> PodShape:
        shape = pod_shape(fields, base=base or PodShape(), class_for=self.book.class_for)
        named = self.book.classes.get(shape.priority_class, {})
        return replace(shape, preempts=named.get("preemptionPolicy") != "Never")

    def _shapes(self, place: Place, gang: str, base: PodShape) -> tuple[list[Manifest], str]:
        pods: list[Manifest] = []
        counts: dict[str, int] = {}
        for item in place.items():
            known = ("name", "members", *POD_FIELDS)
            fields = item.called("shape").fields(known, required=["name"], also=is_resource)
            name = f"{gang}-{name_of(fields['name'])}"
            shape = self._shape(fields, base)
            names = numbered(name, fields["members"].count(least=1)) if "members" in fields else [name]
            pods += [manifests.pod(one, shape, gang=gang) for one in names]
            counts[shape.words] = counts.get(shape.words, 0) + len(names)
        if not pods:
            raise place.error("shapes has no entries")
        return pods, " and ".join(f"{count} × {words}" for words, count in counts.items())

    def _members(self, gang: str, count: int, shape: PodShape) -> list[Manifest]:
        names = numbered(gang, count, after=self.book.number_members(gang, count))
        return [manifests.pod(name, shape, gang=gang) for name in names]

    def _group(self, fields: dict[str, Place], name: str, *, default: int, base: PodShape) -> tuple[Manifest, str]:
        """The PodGroup, and what is worth saying of it beyond its members."""
        basic = "basic" in fields and fields["basic"].flag()
        if basic and "min" in fields:
            raise fields["min"].error("a basic group has no minimum", "keep 'min' or 'basic'")
        minimum = fields["min"].count(least=1) if "min" in fields else default
        more = ", basic" if basic else f", min {minimum}" if minimum != default else ""
        if "priority" in fields or "priorityClass" in fields:
            asked = fields.get("priorityClass")
            more += f", priority {asked.text() if asked else fields['priority'].integer()}"
        disruption = fields["disruption"].word(("all", "single")) if "disruption" in fields else ""
        more += f", disruption {disruption}" if disruption else ""
        more += "" if base.preempts else ", never preempts"
        group = manifests.pod_group(
            name,
            minimum=None if basic else minimum,
            priority_class=base.priority_class,
            disruption=disruption,
            preempts=base.preempts,
            annotations=group_annotations(fields),
        )
        return group, more

    def _create(self, place: Place, found: list[Manifest], *, told: str) -> Create:
        for manifest in found:
            self.book.note(manifest)
        return Create(where=place.where, told=told, manifests=tuple(found))

    def _ref(self, place: Place, kinds: tuple[RefKind, ...]) -> Ref:
        """ "gang/train", of one of these kinds."""
        text = place.text()
        kind, slash, name = text.partition("/")
        if not slash or kind not in [kind.value for kind in kinds]:
            raise _bad_ref(place, text, kinds)
        known = RefKind.GANG if kind == RefKind.GROUP else RefKind(kind)
        return Ref(RefKind(kind), self.book.refer(place, known, name))

    def _node(self, place: Place) -> str:
        return self.book.refer(place, "node", place.text().removeprefix("node/"))


def _bad_ref(place: Place, text: str, kinds: tuple[RefKind, ...]) -> ScenarioError:
    if text.startswith("node/"):
        return place.error(f"{place.what} cannot be '{text}'", f"to take a node away, write lose: {text[5:]}")
    listed = " or ".join(f"{kind}/<name>" for kind in kinds)
    return place.error(f"{place.what} cannot be '{text}'", f"write {listed}")


def _labels(place: Place) -> dict[str, str | None]:
    """Labels as they are to be; null for one that is to go."""
    return {key: None if value.plain() is None else value.text() for key, value in place.entries().items()}


def _label_words(labels: dict[str, str | None]) -> list[str]:
    there = [f"{key}={value}" for key, value in labels.items() if value is not None]
    return there + [f"no label {key}" for key, value in labels.items() if value is None]


def _disruptions(allowed: int) -> str:
    return "1 disruption" if allowed == 1 else f"{allowed or 'no'} disruptions"


def _binds_of(what: Ref) -> str:
    return f"to {what}" if what.kind is RefKind.NODE else f"of {what}"


ACTIONS: dict[str, Callable[[Steps, Place], Action]] = {
    "gang": Steps.gang,
    "group": Steps.group,
    "members": Steps.members,
    "pod": Steps.pod,
    "node": Steps.node,
    "budget": Steps.budget,
    "objects": Steps.objects,
    "delete": Steps.delete,
    "finish": Steps.finish,
    "fail": Steps.fail,
    "ungate": Steps.ungate,
    "label": Steps.label,
    "change": Steps.change,
    "cordon": Steps.cordon,
    "uncordon": Steps.uncordon,
    "drain": Steps.drain,
    "lose": Steps.lose,
    "failBinds": Steps.fail_binds,
    "slowBinds": Steps.slow_binds,
    "restart": Steps.restart,
}
"""What a step can do, by the field that says so."""
