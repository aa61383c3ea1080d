"""How many members of a gang are where: what the status of an object that counts them is made of."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """Members as the API shows them, or will once what it acknowledged arrives."""

    total: int = 0
    """All that there are, ended or not."""
    bound: int = 0
    """Have a node, have not ended, and are not on their way out."""
    running: int = 0
    """In phase Running; those on their way out too."""
    succeeded: int = 0
    failed: int = 0
    reasons: Mapping[str, int] = {}
    """Of those without a node, by the reason of their PodScheduled condition."""
    owners: str = ""
    """Who made the oldest member: namespace/name of its owners, in order, with commas."""
    first_bound_at: float | None = None
    """When the first of those that have or had a node got it."""
    subsets: Mapping[str, Tally] = {}
    """The same of the members of each subset that has any; subsets have none themselves."""

    @property
    def placed(self) -> int:
        """Have a node, or had one until they ended."""
        return self.bound + self.succeeded + self.failed


NOBODY = Tally()
