"""Why pods may not be decided, although they are there: gates of plugins, what their gang declares, what they bring."""

from __future__ import annotations

from muster.base.errors import PluginError
from muster.cluster.cluster import Cluster
from muster.cluster.gangs import UNREAD, GangState
from muster.cluster.pods import PodState, Stage
from muster.engine.life import Cause
from muster.engine.noted import Noted
from muster.engine.reasons import GATED, GROUP_ERROR, SCHEDULER_ERROR, UNSCHEDULABLE, UNSUPPORTED
from muster.engine.supplies import Supplies
from muster.engine.verdicts import unsupported
from muster.framework.profile import Profiles


class Gates:
    """Keeps `gated_by` and `gated_as` of pods that wait in step with what holds them."""

    def __init__(self, cluster: Cluster, profiles: Profiles, supplies: Supplies, noted: Noted) -> None:
        self._cluster = cluster
        self._profiles = profiles
        self._supplies = supplies
        self._noted = noted
        self._readings = 0
        """How often an object was asked for."""

    def why(self, state: PodState) -> tuple[str | None, str]:
        """Why the pod may not be decided, and the reason that the pod itself gives; "" where the API server does."""
        profile = self._profiles.of(state.pod_class)
        for gate in profile.gates:
            if gate.asks_again and not state.candidate:
                continue
            try:
                why = gate.holds(state)
                if why is not None and not isinstance(why, str):
                    raise TypeError(f"gave {why!r}")
            except Exception as error:  # a plugin's bug is this pod's trouble, nobody else's
                self._noted.asking.append(state)
                self._noted.troubles.append((state.key, error))
                own = isinstance(error, PluginError)
                return str(error) if own else f"{gate.name} failed: {type(error).__name__}: {error}", SCHEDULER_ERROR
            if why is not None and gate.asks_again:
                self._noted.asking.append(state)
                return why, GATED
            if why is not None:
                return why, ""
        if state.pod_class.rules.needs and (why := self._supplies.holds(state.uid)) is not None:
            return why, UNSCHEDULABLE
        if state.astray:
            return state.astray, "" if state.unsettled else GROUP_ERROR
        if state.asks and state.candidate and (unhonoured := profile.unhonoured(state.asks)):
            return unsupported(unhonoured), UNSUPPORTED
        gang = self._cluster.gang_of(state)
        if gang is None or gang.declared is None:
            return None, ""
        why = gang.declared.at_odds_with(state.priority) or gang.declared.without_subset(state.names_subset)
        return why, "" if why is None else GROUP_ERROR

    def look_at(self, pod: PodState) -> None:
        """Asks the gates once more, with which one failed."""
        gang = self._cluster.gang_of(pod)
        if gang is not None:
            gang.uncount(pod)
        pod.gated_by, pod.gated_as = self.why(pod)
        if gang is not None:
            gang.count(pod)
            self._noted.members.append(pod)
            # what else happened to the gang matters more: it is a change, this is none
            self._noted.gangs.setdefault(gang.key, Cause.TIME_PASSED)
        elif pod.ours:
            self._noted.pods.append((pod, Cause.TIME_PASSED))

    def look_at_members(self, gang: GangState) -> None:
        """The gang declares another priority or other subsets than before: members wait that differ from it, and others
        need not."""
        for pod in list(gang.members.values()):
            # one that is being bound may come back
            waits = pod.stage is Stage.PENDING or pod.stage is Stage.BINDING
            gated = self.why(pod) if waits else (pod.gated_by, pod.gated_as)
            if gated != (pod.gated_by, pod.gated_as):
                gang.uncount(pod)
                pod.gated_by, pod.gated_as = gated
                self._cluster.lose_reservation(pod)
                gang.count(pod)
                self._noted.members.append(pod)

    def gate_unread(self, gang: GangState) -> int:
        """Members that joined a gang after its start wait until its object was read.

        Returns the number of the reading that is to be asked for, 0 for none.

        The minimum may have been raised for them, and nobody knows which watch is ahead: with an old view of the group
        a part of them would go.
        """
        replaces = gang.await_reading()
        if not replaces and not gang.gated:
            return 0
        waits = {pod.uid: pod for pod in gang.candidates.values() if pod.gated_by == UNREAD}
        for uid in dict.fromkeys((*waits, *replaces)):
            pod = gang.candidates[uid]
            holds = not replaces.get(uid, True)
            if (pod.gated_by == UNREAD) is holds or (holds and pod.gated_by is not None):
                continue
            gang.uncount(pod)
            pod.gated_by, pod.gated_as = (UNREAD, "") if holds else self.why(pod)
            gang.count(pod)
            if not holds:
                self._noted.members.append(pod)
        if gang.reading is not None or all(replaces.values()):
            return 0
        self._readings += 1
        gang.reading, gang.unread, gang.reading_number = gang.unread, {}, self._readings
        return self._readings
