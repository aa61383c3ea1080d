"""What is decided to be said of pods and has not reached the cluster."""

from __future__ import annotations


class Unsaid:
    """Of what is to be written on a pod only the newest is sent; what the older would have said besides is kept here.

    By UID.  Pods that are bound or gone must be forgotten.
    """

    def __init__(self) -> None:
        self._since: dict[str, float] = {}
        """Since when pods have no place that do not say so yet."""
        self._nominated: dict[str, str] = {}
        """The node decided last for pods that say, or may come to say, that they are nominated; "" for none."""

    def decided(self, uid: str, *, node: str, since: float | None) -> None:
        """The pod is to say that it is nominated to the node."""
        if since is not None:
            self._since.setdefault(uid, since)
        if node or uid in self._nominated:
            self._nominated[uid] = node

    def must_be_said(self, uid: str) -> bool:
        """Whether it must be tried until it is done.

        A nomination must: the next leader has it from there only.  So must its end, or room is kept for nobody.
        """
        return uid in self._nominated

    def since(self, uid: str) -> float | None:
        """The time of transition, if it is still to be written."""
        return self._since.get(uid)

    def written(self, uid: str, *, node: str, since: float | None) -> None:
        """It was; something newer may have been decided meanwhile."""
        if self._since.get(uid) == since:
            self._since.pop(uid, None)
        if not node and self._nominated.get(uid) == "":
            del self._nominated[uid]

    def forget(self, uid: str) -> None:
        self._since.pop(uid, None)
        self._nominated.pop(uid, None)

    def __bool__(self) -> bool:
        return bool(self._since or self._nominated)
