"""How long to wait before a failed gang is tried again."""

from math import sqrt

__all__ = ["backoff_seconds"]

# 2.0**1024 raises OverflowError; by then any wait in use has met its ceiling long ago.
_MOST_DOUBLINGS = 1000


def backoff_seconds(failures: int, *, size: int = 1, initial: float = 1.0, maximum: float = 10.0) -> float:
    """Seconds to wait after so many failures in a row.

        min(initial * 2**(failures - 1), maximum * sqrt(size))

    Without failures there is no wait, and a maximum of 0 turns waiting off.  The ceiling grows with the root
    of the gang's size: a large gang costs more to try.
    """
    if failures <= 0 or maximum <= 0:
        return 0.0
    doublings = min(failures - 1, _MOST_DOUBLINGS)
    return min(initial * 2.0**doublings, maximum * sqrt(size))
