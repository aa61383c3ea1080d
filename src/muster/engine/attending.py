"""Plugins that are asked outside the engine before a bind: which of them about whom, and what they answered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from muster.cluster.classes import PodClass
from muster.cluster.pods import PodState
from muster.engine.changes import Answered
from muster.framework.contract import READY, Progress
from muster.framework.profile import Profiles
from muster.framework.questions import AWAITED, Question, Step


class _Visit(msgspec.Struct):
    """What there is to ask about one pod on its way to one node."""

    pod: str
    node: str
    ahead: dict[Step, tuple[str, ...]]
    """Plugins that are still to be asked."""
    open: dict[int, Question] = msgspec.field(default_factory=dict)
    """By number: not answered yet."""
    asked: list[Question] = msgspec.field(default_factory=list)
    """All that were, answered or not."""
    no: Answered | None = None
    """The first that was no yes."""

    def is_through(self, step: Step) -> bool:
        """Whether all have said yes."""
        waits = step in self.ahead or any(question.step is step for question in self.open.values())
        return not waits and (self.no is None or self.no.question.step is not step)


class Attending:
    """Questions of one cluster; false if no plugin has any.

        set out → permits asked → all of the unit permitted → pre-binds asked → ready | withdrawn

    A pod whom no plugin attends has no visit and costs nothing.
    """

    def __init__(self, profiles: Profiles) -> None:
        self._profiles = profiles
        self._any = any(profile.attendants for profile in profiles.all)
        self._visits: dict[str, _Visit] = {}
        """By UID, of pods that are being bound."""
        self._count = 0

    def __bool__(self) -> bool:
        return self._any

    def awaits(self, pod_class: PodClass) -> bool:
        """Whether pods of the class are bound only after plugins were asked."""
        return self._any and any(self._profiles.of(pod_class).attending(pod_class, step) for step in AWAITED)

    def tells(self, pod_class: PodClass) -> bool:
        """Whether any plugin attends such pods, wherever it is asked."""
        return self._any and any(self._profiles.of(pod_class).attending(pod_class, step) for step in Step)

    def set_out(self, pods: Sequence[PodState]) -> tuple[Question, ...]:
        """The pods have a place each, and set out for it; returns what was asked about places that they had before."""
        if not self._any:
            return ()
        before = self.withdraw([pod.uid for pod in pods])
        for pod in pods:
            profile = self._profiles.of(pod.pod_class)
            found = {step: tuple(one.name for one in profile.attending(pod.pod_class, step)) for step in AWAITED}
            if any(found.values()):
                ahead = {step: plugins for step, plugins in found.items() if plugins}
                self._visits[pod.uid] = _Visit(pod.key, pod.node, ahead)
        return before

    # --- questions ---

    def ask(self, step: Step, uids: Iterable[str]) -> tuple[Question, ...]:
        """What is to be asked now about these pods, each question once."""
        found: list[Question] = []
        for uid in uids if self._visits else ():
            if (visit := self._visits.get(uid)) is None:
                continue
            for plugin in visit.ahead.pop(step, ()):
                self._count += 1
                question = Question(self._count, step, plugin, uid, visit.pod, visit.node)
                visit.open[question.number] = question
                visit.asked.append(question)
                found.append(question)
        return tuple(found)

    def heard(self, answer: Answered) -> bool:
        """Whether anybody waited for the answer."""
        visit = self._visits.get(answer.question.uid)
        if visit is None or visit.open.pop(answer.question.number, None) is None:
            return False
        if (answer.no or answer.mistake) and visit.no is None:
            visit.no = answer
        return True

    # --- answers ---

    def is_permitted(self, uids: Iterable[str], *, whole: bool) -> bool:
        """Whether what comes after the permits may begin for these members of a unit, who are the `whole` that it
        needs; where nobody asks for a permit it may in any case."""
        found = [visit for uid in uids if (visit := self._visits.get(uid)) is not None] if self._visits else []
        asked = any(question.step is Step.PERMIT for visit in found for question in visit.asked)
        return not asked or (whole and all(visit.is_through(Step.PERMIT) for visit in found))

    def refusal(self, uid: str) -> Answered | None:
        """Why nobody of the pod's unit goes now: it is not permitted, or a plugin made a mistake."""
        visit = self._visits.get(uid)
        no = None if visit is None else visit.no
        return no if no is not None and (no.mistake or no.question.step is Step.PERMIT) else None

    def progress(self, uid: str) -> Progress:
        visit = self._visits.get(uid)
        if visit is None:
            return READY
        if visit.no is not None:
            return Progress(failed=refused(visit.no))
        if visit.open:
            return Progress(waits_for=_asked(next(iter(visit.open.values()))))
        return Progress(waits_for=f"{visit.pod} waits until all are permitted") if visit.ahead else READY

    # --- ends ---

    def withdraw(self, uids: Sequence[str]) -> tuple[Question, ...]:
        """The pods are not bound after all: all that was asked about them."""
        found = [self._visits.pop(uid, None) for uid in uids] if self._visits else []
        return tuple(question for visit in found if visit is not None for question in visit.asked)

    def bound(self, uid: str) -> bool:
        """Whether anything was asked about the pod: it is its own now."""
        return self._visits.pop(uid, None) is not None

    def is_asked(self, uid: str) -> bool:
        """Whether the pod is on its way, and its plugins are asked about it."""
        return uid in self._visits


def refused(answer: Answered) -> str:
    """A plugin's no, as part of a sentence."""
    question = answer.question
    if answer.mistake:
        return answer.no
    if question.step is Step.PERMIT:
        return f"plugin {question.plugin} does not permit {question.pod} on {question.node}: {answer.no}"
    return f"plugin {question.plugin} could not prepare {question.node} for {question.pod}: {answer.no}"


def _asked(question: Question) -> str:
    if question.step is Step.PERMIT:
        return f"plugin {question.plugin} has not permitted {question.pod} on {question.node} yet"
    return f"plugin {question.plugin} has not prepared {question.node} for {question.pod} yet"
