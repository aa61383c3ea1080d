"""Calls to an API server as values: what a controller wants done, and what came of it.

A core without I/O returns calls and is told the answers; a driver carries them out.  `path` names what a call is about,
and a UID where there is one: an object of the same name that came later is never touched.
"""

from __future__ import annotations

from typing import Any

import msgspec

Document = dict[str, Any]
"""A Kubernetes object, or a part of one, as JSON has it."""


class _Call(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    """Of the object (or of one of its subresources), for Create of the collection."""
    told: bool = False
    """The caller looks into refusals himself.  Else a refusal means: look at everything again, after a while."""


class Create(_Call, frozen=True):
    """Makes an object.  With a name in it, it is made once, however often it must be sent."""

    body: Document


class Patch(_Call, frozen=True):
    """Changes fields.  A UID or a resourceVersion in the body's metadata is a precondition."""

    body: Document
    strategic: bool = False
    """Lists are merged as the kind declares it; a plain merge patch replaces them."""
    gone_is_fine: bool = True
    """Nothing is left to be done if the object is no more."""


class Replace(_Call, frozen=True):
    """Puts a whole object in the place of the one of the same version."""

    body: Document
    gone_is_fine: bool = True


class Delete(_Call, frozen=True):
    """Deletes an object, or all of a collection; that it is gone already is fine."""

    uid: str = ""
    version: str = ""
    """A precondition, too."""
    grace_seconds: int | None = None
    """None: the object's own."""
    propagation: str = ""
    """Background, Foreground or Orphan; empty: the kind's own."""
    gone_is_fine: bool = True


class Look(_Call, frozen=True):
    """Reads one object, or a list, as the server has it now."""

    gone_is_fine: bool = False


class Say(msgspec.Struct, frozen=True, kw_only=True):
    """Records an event.  Nobody waits for it, and nothing depends on it."""

    component: str
    """Who says it: job-controller."""
    kind: str
    api_version: str
    name: str
    namespace: str = ""
    uid: str = ""
    reason: str
    message: str
    warning: bool = False
    host: str = ""


Call = Create | Patch | Replace | Delete | Look
Asked = Call | Say


class Done(msgspec.Struct, frozen=True):
    """The server did it, or it needed no doing."""

    data: bytes = b""
    """What the server answered: mostly the object as it is now."""


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """The server said no."""

    code: int
    reason: str = ""
    message: str = ""

    @property
    def is_gone(self) -> bool:
        """The object is no more, or it is another one of the same name."""
        return (
            self.code == 404
            # a patch with another UID is refused as a change of the UID
            or (self.code == 422 and "metadata.uid: Invalid value" in self.message)
            or (self.code == 409 and "the UID in the precondition" in self.message)
        )

    @property
    def in_dying_namespace(self) -> bool:
        """Nothing can be made there any more."""
        return self.code == 403 and "because it is being terminated" in self.message


class Lost(msgspec.Struct, frozen=True):
    """No answer came: it may have been done."""

    message: str = ""


Answer = Done | Refused | Lost


def is_fine(call: Call, answer: Answer) -> bool:
    """Whether what was wanted is so now."""
    if isinstance(answer, Done):
        return True
    gone_is_fine = not isinstance(call, Create) and call.gone_is_fine
    return gone_is_fine and isinstance(answer, Refused) and answer.is_gone
