"""Plugins as users write them, each in both forms; and plain judges of what they say."""

from types import MappingProxyType

import numpy as np

from muster.framework.plugin import Plugin

ZONE = "zone"


class ByApp(Plugin):
    """Pods of one app are alike; pods without one are none of its business."""

    watches_pods = True

    def pre_filter(self, pod):
        return pod.metadata.labels.get("app")


class AtMost(ByApp):
    """So many of an app in a zone; `most` is 1 unless arguments say otherwise."""

    reason = "node(s) were in a zone that has enough of these"

    def __init__(self, args=None):
        super().__init__(args or {})
        self.most = self.args.get("most", 1)


class AtMostSimple(AtMost):
    def filter(self, app, node):
        return self.reason if node.pods_in(ZONE)[app] >= self.most else None


class AtMostVector(AtMost):
    def filter_nodes(self, app, nodes):
        return [(self.reason, nodes.pods_in(ZONE, app) >= self.most)]


class WithTheFirst(ByApp):
    """All of an app in the zone where the first of them is."""

    gathers = (ZONE,)
    reason = "node(s) were in another zone than the first of these"


class WithTheFirstSimple(WithTheFirst):
    def filter(self, app, node):
        return self.reason if node.pods_anywhere[app] and not node.pods_in(ZONE)[app] else None


class WithTheFirstVector(WithTheFirst):
    def filter_nodes(self, app, nodes):
        away = nodes.pods_in(ZONE, app) == 0
        return [(self.reason, away)] if nodes.pods(app).any() else []


class NeverBeside(ByApp):
    """Red and blue are never in one zone."""

    reason = "node(s) were in a zone of the others"
    other = MappingProxyType({"red": "blue", "blue": "red"})


class NeverBesideSimple(NeverBeside):
    def filter(self, app, node):
        return self.reason if app in self.other and node.pods_in(ZONE)[self.other[app]] else None


class NeverBesideVector(NeverBeside):
    def filter_nodes(self, app, nodes):
        return [(self.reason, nodes.pods_in(ZONE, self.other[app]) > 0)] if app in self.other else []


class EmptyZonesFirst(ByApp):
    """The fewer of an app a zone has, the better."""


class EmptyZonesFirstSimple(EmptyZonesFirst):
    def score(self, app, node, prepared):
        return max(0, 100 - 10 * node.pods_in(ZONE)[app])


class EmptyZonesFirstVector(EmptyZonesFirst):
    def score_nodes(self, app, nodes, takes):
        return np.maximum(0, 100 - 10 * nodes.pods_in(ZONE, app))


class NotBesideNoisy(Plugin):
    """Quiet pods keep off nodes where noisy ones run."""

    watches_pods = True
    reason = "node(s) had noisy pods"

    def pre_filter(self, pod):
        return pod.metadata.labels.get("voice")


class NotBesideNoisySimple(NotBesideNoisy):
    def filter(self, voice, node):
        return self.reason if voice == "quiet" and node.pods["noisy"] else None


class NotBesideNoisyVector(NotBesideNoisy):
    def filter_nodes(self, voice, nodes):
        return [(self.reason, nodes.pods("noisy") > 0)] if voice == "quiet" else []


class LeavesRoom(Plugin):
    """Nodes keep a cpu free."""

    watches_pods = True
    reason = "node(s) had to keep a cpu free"


class LeavesRoomSimple(LeavesRoom):
    def filter(self, trait, node):
        return self.reason if node.free["cpu"] < 2000 else None


class LeavesRoomVector(LeavesRoom):
    def filter_nodes(self, trait, nodes):
        return [(self.reason, nodes.free("cpu") < 2000)]


class Newest(Plugin):
    """By the node's own facts alone: pods of an app go where its label says, the newer generation rather."""

    reason = "node(s) were for other apps"

    def pre_filter(self, pod):
        return pod.metadata.labels.get("app")


class NewestSimple(Newest):
    def filter(self, app, node):
        return self.reason if node.labels.get("for", app) != app else None

    def pre_score(self, app, nodes):
        return {"b": 100}

    def score(self, app, node, prepared):
        return prepared.get(node.labels.get("generation"), 0)


class NewestVector(Newest):
    def filter_nodes(self, app, nodes):
        ids, values = nodes.label("for")
        return [(self.reason, (ids > 0) & (ids != values.get(app, -1)))]

    def score_nodes(self, app, nodes, takes):
        return np.where(nodes.has_label("generation", "b"), 100, 0)


PAIRS = (
    (AtMostSimple, AtMostVector),
    (WithTheFirstSimple, WithTheFirstVector),
    (NeverBesideSimple, NeverBesideVector),
    (EmptyZonesFirstSimple, EmptyZonesFirstVector),
    (NotBesideNoisySimple, NotBesideNoisyVector),
    (LeavesRoomSimple, LeavesRoomVector),
    (NewestSimple, NewestVector),
)
"""The same rule in both forms."""
