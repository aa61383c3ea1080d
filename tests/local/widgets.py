"""A kind with all that a schema can say about lists and maps; the real API server was asked with the same one."""

from hypothesis import settings

from muster.local.schema.load import shapes
from muster.local.schema.shapes import Base, Field, ListType, Shape

LAW = settings(derandomize=True, max_examples=100, deadline=None)

STRING = Shape(base=Base.STRING)
INTEGER = Shape(base=Base.INT64)
ANY = Shape(base=Base.ANY)


def struct(*, atomic=False, is_open=False, **fields):
    made = {name: field if isinstance(field, Field) else Field(shape=field) for name, field in fields.items()}
    return Shape(base=Base.STRUCT, name="test.v1.Part", fields=made, atomic=atomic, open=is_open)


def list_of(items, kind="atomic", keys=()):
    return Shape(base=Base.LIST, items=items, list_type=ListType(kind), keys=tuple(keys))


def map_of(items, *, atomic=False):
    return Shape(base=Base.MAP, items=items, atomic=atomic)


XY = struct(x=STRING, y=STRING)
SPEC = struct(
    n=INTEGER,
    s=STRING,
    b=Shape(base=Base.BOOLEAN),
    q=Shape(base=Base.INT_OR_STRING),
    d=Shape(base=Base.STRING, limits={"format": "date-time"}),
    f=Shape(base=Base.NUMBER),
    set=list_of(STRING, "set"),
    nums=list_of(INTEGER, "set"),
    atom=list_of(STRING),
    plain=list_of(struct(a=STRING)),
    map=list_of(struct(k=STRING, p=Field(shape=INTEGER, default=7), v=STRING, deep=XY), "map", ("k", "p")),
    labels=map_of(STRING),
    structs=map_of(XY),
    atomicmap=map_of(STRING, atomic=True),
    atomicstruct=struct(x=STRING, y=STRING, atomic=True),
    any=struct(is_open=True),
    raw=ANY,
    half=struct(known=STRING, sub=struct(z=STRING), is_open=True),
)
WIDGET = struct(
    apiVersion=STRING,
    kind=STRING,
    metadata=shapes()["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"],
    spec=SPEC,
    status=struct(is_open=True),
)
