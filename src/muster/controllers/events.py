"""Events of controllers, counted and kept few, as Kubernetes' own controllers keep them."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NamedTuple

from muster.api.calls import Create, Document, Patch, Say
from muster.api.times import stamp

_LONGEST_MESSAGE = 1024
_LONGEST_NAME = 200
_REMEMBERED = 4096

# of different messages for the same reason, as many as this in as many seconds are told apart
_TOLD_APART = 10
_TOLD_APART_SECONDS = 600.0
# of one speaker about one object: so many at once, then one in five minutes
_BURST = 25.0
_REFILL_SECONDS = 300.0


_Key = tuple[str, ...]


class _Told(NamedTuple):
    name: str
    times: int


class _Similar:
    __slots__ = ("last", "messages")

    def __init__(self) -> None:
        self.messages: set[str] = set()
        self.last = 0.0


class EventBook:
    """Makes calls of what is said: a new event, or one more count of one that was said before."""

    def __init__(self) -> None:
        self._told: OrderedDict[_Key, _Told] = OrderedDict()
        self._similar: OrderedDict[_Key, _Similar] = OrderedDict()
        self._tokens: OrderedDict[_Key, tuple[float, float]] = OrderedDict()
        """By speaker and object: how many events may still be written, and as of when."""
        self._number = 0

    def call(self, said: Say, now: float) -> Create | Patch | None:
        """What to send; None if enough was said of the object."""
        if not self._may_speak(_subject(said), now):
            return None
        topic: _Key = (*_subject(said), said.reason, str(said.warning))
        key: _Key = (*topic, said.message)
        message = said.message
        if self._is_one_of_many(topic, message, now):
            message, key = f"(combined from similar events): {message}", topic
        told = self._told.pop(key, None)
        if told is None:
            return self._create(said, key, message, now)
        self._remember(key, _Told(told.name, told.times + 1))
        change = {"count": told.times + 1, "lastTimestamp": stamp(now), "message": _cut(message)}
        return Patch(path=f"{_path(said)}/{told.name}", body=change, strategic=True, told=True)

    def anew(self, said: Say, now: float) -> Create:
        """What to send if the event that was to be counted is no more."""
        return self._create(said, (*_subject(said), said.reason, str(said.warning), said.message), said.message, now)

    def _create(self, said: Say, key: _Key, message: str, now: float) -> Create:
        self._number += 1
        name = f"{said.name[:_LONGEST_NAME].rstrip('-.')}.{int(now * 1e9) + self._number:x}"
        self._remember(key, _Told(name, 1))
        return Create(path=_path(said), body=_document(said, name, _cut(message), now), told=True)

    def _may_speak(self, subject: _Key, now: float) -> bool:
        tokens, since = self._tokens.pop(subject, (_BURST, now))
        tokens = min(_BURST, tokens + (now - since) / _REFILL_SECONDS)
        may = tokens >= 1.0
        self._tokens[subject] = (tokens - 1.0 if may else tokens, now)
        _forget_old(self._tokens)
        return may

    def _is_one_of_many(self, topic: _Key, message: str, now: float) -> bool:
        similar = self._similar.pop(topic, None)
        if similar is None or now - similar.last > _TOLD_APART_SECONDS:
            similar = _Similar()
        similar.last = now
        if len(similar.messages) < _TOLD_APART:
            similar.messages.add(message)
        self._similar[topic] = similar
        _forget_old(self._similar)
        return len(similar.messages) >= _TOLD_APART

    def _remember(self, key: _Key, told: _Told) -> None:
        self._told[key] = told
        _forget_old(self._told)


def _subject(said: Say) -> _Key:
    return (said.component, said.host, said.kind, said.namespace, said.name, said.uid)


def _path(said: Say) -> str:
    return f"/api/v1/namespaces/{said.namespace or 'default'}/events"


def _forget_old(book: OrderedDict[_Key, Any]) -> None:
    if len(book) > _REMEMBERED:
        book.popitem(last=False)


def _document(said: Say, name: str, message: str, now: float) -> Document:
    about = {"apiVersion": said.api_version, "kind": said.kind, "name": said.name}
    about |= {"namespace": said.namespace} if said.namespace else {}
    about |= {"uid": said.uid} if said.uid else {}
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": said.namespace or "default"},
        "involvedObject": about,
        "reason": said.reason,
        "message": message,
        "type": "Warning" if said.warning else "Normal",
        "count": 1,
        "firstTimestamp": stamp(now),
        "lastTimestamp": stamp(now),
        "source": {"component": said.component} | ({"host": said.host} if said.host else {}),
        "reportingComponent": said.component,
        "reportingInstance": said.host,
    }


def _cut(message: str) -> str:
    """The API counts bytes."""
    data = message.encode()
    return message if len(data) <= _LONGEST_MESSAGE else data[:_LONGEST_MESSAGE].decode(errors="ignore")
