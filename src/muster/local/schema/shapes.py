"""The model of objects: what a value may be, and how it is merged.

A shape is shared and may contain itself (the schema of a CustomResourceDefinition does), so shapes are not frozen;
nobody changes one after it was made.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import msgspec

from muster.local.codec.values import Object


class Base(Enum):
    """What a value is on the wire, and what Go makes of it."""

    STRUCT = "struct"
    MAP = "map"
    LIST = "list"
    STRING = "string"
    INT32 = "int32"
    INT64 = "int64"
    NUMBER = "number"
    BOOLEAN = "boolean"
    BYTES = "bytes"
    """base64 in JSON."""
    TIME = "time"
    """RFC 3339, whole seconds, UTC."""
    MICRO_TIME = "micro-time"
    QUANTITY = "quantity"
    INT_OR_STRING = "int-or-string"
    ANY = "any"
    """Anything at all: FieldsV1, RawExtension, a schema's default, x-kubernetes-preserve-unknown-fields."""


class ListType(Enum):
    """How server-side apply merges a list."""

    ATOMIC = "atomic"
    SET = "set"
    MAP = "map"


class Field(msgspec.Struct, kw_only=True):
    """One field of a struct."""

    shape: Shape
    required: bool = False
    default: Any = msgspec.UNSET
    """What the OpenAPI document gives; {} and "" there mean that Go has no way to leave the field out."""
    pointer: bool = False
    """Go can tell a zero from nothing, so a zero that was given is kept."""
    kept: bool = False
    """Without omitempty: it is there even if it was not given."""
    merge_key: str = ""
    """Strategic merge patch: lists are merged by this field of their items."""
    strategies: tuple[str, ...] = ()
    """Strategic merge patch: merge, replace, retainKeys."""
    number: int = 0
    """In protobuf; 0 for none."""
    inline: str = ""
    """Go's name of the embedded struct that has it: VolumeSource (Go's errors name it, protobuf nests it)."""
    inline_numbers: tuple[int, ...] = ()
    """In protobuf, the numbers of the embedded structs that it is in, the outermost first; none where it is flat."""
    go_type: str = ""
    """As Go's errors name it: v1.RestartPolicy, []v1.Container, map[string]string."""


class Shape(msgspec.Struct, kw_only=True):
    """What one value may be."""

    base: Base
    name: str = ""
    """Of a struct, as the OpenAPI document names it: io.k8s.api.core.v1.PodSpec."""
    fields: dict[str, Field] = {}
    """Of a struct, by their names in JSON."""
    items: Shape | None = None
    """Of a list or a map: what it holds."""
    list_type: ListType = ListType.ATOMIC
    keys: tuple[str, ...] = ()
    """Of a list that is a map: the fields that tell its items apart."""
    atomic: bool = False
    """Of a struct or a map: owned and replaced as a whole."""
    enum: tuple[Any, ...] = ()
    open: bool = False
    """Of a struct: fields that it does not have are kept (custom kinds)."""
    nullable: bool = False
    limits: Object = {}
    """Custom kinds: what else the schema demands (minimum, maxLength, pattern, ...), by its OpenAPI words."""

    @property
    def go_name(self) -> str:
        """Of a struct, as Go's errors name it: PodSpec."""
        return self.name.rpartition(".")[2]

    def inner(self, name: str) -> Shape | None:
        """What a field of a struct, or an entry of a map, is; None if nobody says."""
        field = self.fields.get(name)
        if field is not None:
            return field.shape
        return self.items if self.base is Base.MAP else None
