"""What there is about volumes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tests.plain_scheduler.selectors import Document


@dataclass
class Storage:
    """Everything about volumes, as documents; replaced whenever one changes."""

    claims: Sequence[Document] = ()
    volumes: Sequence[Document] = ()
    classes: Sequence[Document] = ()
    drivers: Sequence[Document] = ()
    csi_nodes: Sequence[Document] = ()
    capacities: Sequence[Document] = ()
    attachments: Sequence[Document] = ()

    def claim(self, pod: Document, name: str) -> Document | None:
        there = (each for each in self.claims if space_of(each) == space_of(pod))
        return named(there, name)

    def volume(self, name: str) -> Document | None:
        return named(self.volumes, name)

    def storage_class(self, name: str) -> Document | None:
        return named(self.classes, name)


def named(things: Iterable[Document], name: str) -> Document | None:
    return next((each for each in things if each["metadata"]["name"] == name), None)


def space_of(thing: Document) -> str:
    return thing["metadata"].get("namespace") or "default"
