"""Faults in what pods ask of each other."""

from msgspec.structs import replace

from muster.cluster.census import Aside, Census, Chosen
from muster.cluster.cluster import Cluster
from muster.cluster.usage import Usage
from muster.engine.classing import Classing
from muster.engine.defaults import Defaults
from muster.engine.intake import Intake
from muster.engine.planning import Planner
from muster.engine.reservations import Reservations
from muster.engine.waiting import WaitingRoom
from muster.plugins.default_spread import BySelectors
from muster.plugins.inter_pod_affinity import FAR, NEAR, OTHERS, _Affinity
from muster.plugins.pod_topology_spread import _Evenly
from tests.worlds.faults.registry import fault


def without(reason):
    """What says why a node is refused, but for one reason."""
    reasons = _Affinity._reasons
    return lambda self: [(why, rows) for why, rows in reasons(self) if why != reason]


@fault("neighbours", "ties")
def whom_a_pod_must_be_apart_from_is_not_looked_at(patch):
    patch(_Affinity, "_reasons", without(FAR))


@fault("neighbours", "ties")
def who_must_be_apart_from_a_pod_is_not_looked_at(patch):
    patch(_Affinity, "_reasons", without(OTHERS))


@fault("neighbours", "ties")
def whom_a_pod_must_be_near_is_not_looked_at(patch):
    patch(_Affinity, "_reasons", without(NEAR))


@fault("neighbours", "ties")
def pods_are_not_spread(patch):
    patch(_Evenly, "refusals", lambda self: [])


@fault("neighbours", "ties")
def members_placed_before_do_not_count_for_those_to_be_apart(patch):
    patch(_Affinity, "place", lambda self, row: None)


@fault("neighbours", "ties")
def members_placed_before_do_not_count_for_those_to_be_spread(patch):
    patch(_Evenly, "place", lambda self, row: None)


@fault("neighbours", "ties", "mixed")
def members_of_another_shape_do_not_count(patch):
    add = Usage.add_copies

    def uncounted(self, rows, pod_class):
        add(self, rows, pod_class.base if self.is_trial else pod_class)

    patch(Usage, "add_copies", uncounted)


@fault("neighbours", "ties", "stops", first=1_330)
def pods_that_leave_count_for_those_to_be_spread(patch):
    count = Census.count

    def all_of_them(self, line):
        return count(self, Chosen(line.selections) if isinstance(line, Chosen) else line)

    patch(Census, "count", all_of_them)


@fault("neighbours", "ties", "stops", first=606)
def pods_that_leave_do_not_count_for_those_to_be_apart(patch):
    count = Census.count

    def those_who_stay(self, line):
        return count(self, Chosen(line.selections, without=(Aside.LEAVING,)) if isinstance(line, Chosen) else line)

    patch(Census, "count", those_who_stay)


@fault("neighbours", "ties", first=646)
def who_came_before_the_first_rule_is_not_looked_at(patch):
    patch(Classing, "_look_anew", lambda self, shows_more: None)


@fault("neighbours", "ties", first=1389)
def a_pod_with_other_labels_is_what_it_was(patch):
    changed = Intake._pod_changed

    def stubborn(self, state, pod):
        changed(self, state, replace(pod, metadata=replace(pod.metadata, labels=state.labels)))

    patch(Intake, "_pod_changed", stubborn)


@fault("proof", "ties", "priorities", "crowded")
def a_plan_looks_at_nobody(patch):
    without = Planner._without

    def lonely(self, ground, victims):
        found = without(self, ground, victims)
        census = found.usage.census
        found.usage.census = Census(census.namespaces, capacity=self._cluster.nodes.capacity)
        return found

    patch(Planner, "_without", lonely)


@fault("recount", "ties", "stops")
def who_leaves_is_counted_only_when_it_is_gone(patch):
    patch(Cluster, "_count_departing", lambda self, pod, by: None)


@fault("livelock", "ties", "priorities", first=22_386)
def who_leaves_another_node_is_not_waited_for(patch):
    patch(Reservations, "_leaving_elsewhere", lambda self, pods, nodes: [])


@fault("neighbours", "ties", "priorities", first=21_139)
def who_may_be_spared_does_not_count(patch):
    leave = Cluster.leave

    def hastily(self, pod):
        condemned, pod.condemned = pod.condemned, None
        leave(self, pod)
        pod.condemned = condemned

    patch(Cluster, "leave", hastily)


@fault("nobody waits who fits", "ties", first=102)
def who_must_be_near_others_or_far_from_them_is_not_woken(patch):
    offer = WaitingRoom.offer

    def only_the_others(self):
        return [
            unit
            for unit in offer(self)
            if not any(c.ties and (c.ties.rules.together or c.ties.rules.apart) for c in unit.classes)
        ]

    patch(WaitingRoom, "offer", only_the_others)


@fault("recount", "services")
def a_service_that_comes_later_says_nothing_to_who_waits(patch):
    patch(Defaults, "take_news", lambda self: ())


@fault("recount", "services")
def an_owner_that_comes_later_says_nothing_to_who_waits(patch):
    changed = BySelectors._owner_changed

    def change(self, kind, key, before, now):
        changed(self, kind, key, before, now)
        self.news.clear()

    patch(BySelectors, "_owner_changed", change)


@fault("recount", "services")
def who_is_labelled_anew_is_spread_as_before(patch):
    class_of = Defaults.class_of

    def keep(self, pod, owner, known=None):
        if known is not None and not pod.spec.node_name:
            spread = known.pod_class.ties.rules.spread if known.pod_class.ties else ()
            return self._classes.of(pod, spread)
        return class_of(self, pod, owner, known)

    patch(Defaults, "class_of", keep)
