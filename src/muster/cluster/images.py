"""Which nodes have which images: a column of numbers for each node, since thousands of them have the same fifty."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from muster.api.wire import ContainerImage
from muster.base.arrays import grown


class ImageColumns:
    """The images on all nodes, by name.

    Nodes may say that an image has another size than elsewhere; it then counts as the largest of these everywhere.
    (Upstream takes the size that it saw first.)
    """

    def __init__(self) -> None:
        self.epoch = 0
        """Changes when some node's images do."""
        self._numbers: dict[str, dict[int, int]] = {}
        """By name and by size; only of images that some node has."""
        self._held: NDArray[np.int32] = np.zeros((0, 0), np.int32)
        """(most names on a node × nodes): numbers of what it has, then zeros."""
        self._known: dict[int, tuple[str, int]] = {}
        """By number: name and size."""
        self._users: dict[int, int] = {}
        """By number: how many nodes have it."""
        self._vacant: list[int] = []

    def __contains__(self, name: str) -> bool:
        """Whether some node has an image of this name."""
        return name in self._numbers

    def having(self, name: str) -> tuple[NDArray[np.bool_], int] | None:
        """The rows that have an image of this name, and its size; None if there are none."""
        sizes = self._numbers.get(name)
        if sizes is None:
            return None
        numbers = list(sizes.values())
        held: NDArray[np.bool_] = self._held == numbers[0] if len(numbers) == 1 else np.isin(self._held, numbers)
        rows: NDArray[np.bool_] = np.logical_or.reduce(held, axis=0)
        return rows, max(sizes)

    def put(self, row: int, images: Iterable[ContainerImage]) -> None:
        """The row has these images and no others."""
        self.epoch += 1
        sizes: dict[str, int] = {}
        for image in images:
            for name in image.names:
                sizes.setdefault(name, image.size_bytes)
        numbers = [self._take(name, size) for name, size in sizes.items()]
        for number in self._held[:, row].tolist():
            if number:
                self._leave(number)
        more = len(numbers) - len(self._held)
        if more > 0:
            self._held = grown(self._held, more, 0)
        self._held[:, row] = 0
        self._held[: len(numbers), row] = numbers

    def grow(self, capacity: int) -> None:
        self._held = grown(self._held, 0, capacity - self._held.shape[1])

    def copy(self) -> ImageColumns:
        twin = ImageColumns()
        twin.epoch, twin._held = self.epoch, self._held.copy()
        twin._numbers = {name: sizes.copy() for name, sizes in self._numbers.items()}
        twin._known, twin._users, twin._vacant = self._known.copy(), self._users.copy(), self._vacant.copy()
        return twin

    def _take(self, name: str, size: int) -> int:
        sizes = self._numbers.setdefault(name, {})
        number = sizes.get(size)
        if number is None:
            number = sizes[size] = self._vacant.pop() if self._vacant else len(self._known) + 1
            self._known[number] = name, size
        self._users[number] = self._users.get(number, 0) + 1
        return number

    def _leave(self, number: int) -> None:
        self._users[number] -= 1
        if self._users[number]:
            return
        name, size = self._known.pop(number)
        del self._users[number], self._numbers[name][size]
        if not self._numbers[name]:
            del self._numbers[name]
        self._vacant.append(number)
