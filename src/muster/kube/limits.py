"""How fast requests may be sent."""

from __future__ import annotations

FIRST = 16
MOST = 64


class Limit:
    """How many requests may be under way at once: more while the server keeps up, half as many when it does not.

    Until the server pushes back for the first time, one more for every answer that came while all places were taken:
    the first gang would be bound before a careful search for the server's pace ended.  From then on one more for
    every `now` such answers; so it doubles in about as many round trips as there are places, and a server that pushes
    back is relieved at once.
    """

    def __init__(self, *, first: int = FIRST, most: int = MOST) -> None:
        self.now = first
        self._most = most
        self._careful = False
        """The server has pushed back."""
        self._answers = 0
        self._deaf = 0
        """Push-backs still to come from requests that were under way at the last halving: they are old news."""

    def kept_up(self, under_way: int) -> None:
        """An answer came while so many requests were under way, itself included."""
        self._deaf = max(0, self._deaf - 1)
        if under_way < self.now:
            return
        self._answers += 1
        if self._answers >= (self.now if self._careful else 1) and self.now < self._most:
            self.now += 1
            self._answers = 0

    def pushed_back(self, under_way: int) -> None:
        """The server had too much to do, or gave no answer."""
        if self._deaf:
            self._deaf -= 1
            return
        self._careful = True
        self.now = max(1, self.now // 2)
        self._answers = 0
        self._deaf = max(0, under_way - 1)


class Rate:
    """At most `burst` requests at once and `per_second` in the long run."""

    def __init__(self, per_second: float, burst: int) -> None:
        self._per_second = per_second
        self._burst = float(max(1, burst))
        self._left = self._burst
        self._at: float | None = None

    def wait(self, now: float) -> float:
        """Takes one and returns 0, or returns how many seconds there is none."""
        if self._at is not None:
            self._left = min(self._burst, self._left + (now - self._at) * self._per_second)
        self._at = now
        # a hair less than one is one that rounding has shaved
        if self._left >= 1 - 1e-9:
            self._left = max(0.0, self._left - 1)
            return 0.0
        return (1 - self._left) / self._per_second
