"""Patches: what each of the four kinds makes of an object."""

from __future__ import annotations

from typing import Any

from muster.api.times import stamp
from muster.local.checks import fields
from muster.local.codec import gotext
from muster.local.codec.forms import Malformed
from muster.local.codec.values import Object, json_type, repeated
from muster.local.kinds import status
from muster.local.kinds.registry import Served
from muster.local.objects import owners
from muster.local.objects.objects import Write
from muster.local.patching import apply, merge, strategic
from muster.local.patching.merge import PatchError
from muster.local.schema import custom, decoding
from muster.local.serve import bodies
from muster.local.serve.options import Options
from muster.local.serve.wire import Request

JSON_PATCH = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"


class Patch:
    """One patch of one request."""

    def __init__(self, request: Request, served: Served, options: Options, write: Write, *, now: float) -> None:
        if served.is_custom and request.content_type == STRATEGIC:
            raise status.unknown_format(JSON_PATCH, MERGE, APPLY)
        if request.content_type not in (JSON_PATCH, MERGE, STRATEGIC, APPLY):
            raise status.Refusal(415, "UnsupportedMediaType", "415: Unsupported Media Type", details={})
        self._type = request.content_type
        self._served = served
        self._options = options
        self._now = now
        self._write = write
        self._target = owners.target(served, write.subresource)
        self._parsed = self._parse(request.body)

    def create(self, name: str, namespace: str) -> Object:
        """The object that an apply makes where there is none."""
        new = self._decoded(self._applied(None))
        bodies.check_name(new, name)
        bodies.check_namespace(new, self._served.kind, namespace)
        if uid := new["metadata"].get("uid"):
            why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            raise status.conflict(self._served.kind, name, why)
        return self._kept(new)

    def change(self, stored: Object) -> Object:
        """What the patch makes of a stored object."""
        shown = stored if self._served.shown is None else self._served.shown(stored)
        document = {**self._head, **shown}
        if self._type == APPLY:
            changed = self._decoded(self._applied(document))
        else:
            changed = self._decoded(self._patched(document))
        bodies.check_name(changed, stored["metadata"]["name"])
        bodies.check_namespace(changed, self._served.kind, stored["metadata"].get("namespace", ""))
        return self._kept(changed)

    def _kept(self, patched: Object) -> Object:
        return patched if self._served.kept is None else self._served.kept(patched)

    @property
    def _head(self) -> Object:
        return {"kind": self._served.kind.name, "apiVersion": self._served.kind.api_version}

    def _parse(self, body: bytes) -> decoding.Document:
        try:
            return decoding.parse(body, self._type if self._type == APPLY else "application/json")
        except Malformed as error:
            if self._type == APPLY:
                raise status.bad_request(f"error encoding patch: {error}") from error
            raise status.bad_request("invalid JSON patch") from error

    def _patched(self, document: Object) -> Any:
        patch = self._parsed.value
        try:
            if self._type == JSON_PATCH:
                return merge.json_patch(document, patch)
            if self._type == MERGE:
                return merge.merge_patch(document, patch)
            return strategic.strategic_patch(document, patch, self._served.shape)
        except PatchError as error:
            raise _refusal(error) from error

    def _applied(self, document: Object | None) -> Object:
        config = {} if self._parsed.value is None else self._parsed.value
        if not isinstance(config, dict):
            words = "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal"
            what = json_type(config)
            raise status.bad_request(
                f"error decoding patch: {words} {what} into Go value of type map[string]interface {{}}"
            )
        try:
            return apply.apply(
                document,
                config,
                target=self._target,
                kind=self._served.kind.name,
                manager=self._options.manager,
                now=stamp(self._now),
                force=self._options.force,
            )
        except PatchError as error:
            raise _refusal(error) from error

    def _decoded(self, document: Any) -> Object:
        """What came out must be an object of its kind again."""
        decoded = decoding.decode(document, self._served.shape, patched=self._type in (STRATEGIC, APPLY))
        if decoded.error and self._type == APPLY:
            raise _refusal(apply.no_object(self._parsed.value, decoded.error))
        if decoded.error:
            raise self._invalid(document, decoded.error)
        # what an apply names and its kind does not have was refused before
        strict = [
            *self._parsed.strict,
            *repeated(self._parsed.tree),
            *(decoded.strict if self._type != APPLY else ()),
        ]
        if strict and self._options.validation == "Strict":
            if self._type == APPLY:
                raise status.bad_request(f"error strict decoding patch: {', '.join(strict)}")
            raise self._invalid(document, f"strict decoding error: {', '.join(strict)}")
        if self._options.validation == "Warn":
            self._write.warnings.extend(strict)
        changed: Object = decoded.value
        self._check_kind(changed, document)
        for name in ("kind", "apiVersion"):
            changed.pop(name, None)
        return changed

    def _check_kind(self, changed: Object, document: Any) -> None:
        """Refuses what says that it is something else now."""
        own, is_custom = self._served.kind, custom.is_custom(self._served.shape)
        kind, api_version = changed.get("kind", ""), changed.get("apiVersion", "")
        if (kind, api_version) == (own.name, own.api_version):
            return
        if not is_custom and (self._type == STRATEGIC or (kind, api_version) == ("", own.api_version)):
            # a strategic patch is of the struct, whatever it is called; what has no kind is what it was
            return
        if not is_custom or not _are_names(kind, api_version):
            words = f'no kind "{kind}" is registered for version "{api_version}"'
            raise self._invalid(document, f'{words} in scheme "pkg/runtime/scheme.go:111"')
        wrong = [
            fields.invalid(field, sent, f"must be {wanted}")
            for field, sent, wanted in (("apiVersion", api_version, own.api_version), ("kind", kind, own.name))
            if sent != wanted
        ]
        raise status.wrong_kind(own.group, kind, *wrong, name=changed["metadata"].get("name", ""))

    def _invalid(self, document: Any, why: str) -> status.Refusal:
        quoted = self._parsed.value if self._type == STRATEGIC else document
        return status.nameless("", fields.invalid("patch", gotext.compact_json(quoted), why))


def _are_names(kind: Any, api_version: Any) -> bool:
    return all(isinstance(one, str) and one for one in (kind, api_version)) and api_version.count("/") <= 1


def _refusal(error: PatchError) -> status.Refusal:
    return status.Refusal(error.code, error.reason, error.message, details=error.details)
