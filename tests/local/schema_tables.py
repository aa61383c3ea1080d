"""How tests read the tables of schema_answers, and random objects of a shape."""

import json

from hypothesis import strategies as st

from muster.local.schema.load import shapes
from muster.local.schema.shapes import Base

TYPES = {
    ("v1", "Pod"): "io.k8s.api.core.v1.Pod",
    ("v1", "Node"): "io.k8s.api.core.v1.Node",
    ("v1", "Namespace"): "io.k8s.api.core.v1.Namespace",
    ("v1", "Secret"): "io.k8s.api.core.v1.Secret",
    ("v1", "ConfigMap"): "io.k8s.api.core.v1.ConfigMap",
    ("v1", "Event"): "io.k8s.api.core.v1.Event",
    ("v1", "Service"): "io.k8s.api.core.v1.Service",
    ("v1", "DeleteOptions"): "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions",
    ("batch/v1", "Job"): "io.k8s.api.batch.v1.Job",
    ("scheduling.k8s.io/v1", "PriorityClass"): "io.k8s.api.scheduling.v1.PriorityClass",
    ("scheduling.k8s.io/v1beta1", "Workload"): "io.k8s.api.scheduling.v1beta1.Workload",
    ("scheduling.k8s.io/v1beta1", "PodGroup"): "io.k8s.api.scheduling.v1beta1.PodGroup",
    ("policy/v1", "PodDisruptionBudget"): "io.k8s.api.policy.v1.PodDisruptionBudget",
    ("policy/v1", "Eviction"): "io.k8s.api.policy.v1.Eviction",
    ("coordination.k8s.io/v1", "Lease"): "io.k8s.api.coordination.v1.Lease",
    ("events.k8s.io/v1", "Event"): "io.k8s.api.events.v1.Event",
    ("authorization.k8s.io/v1", "SelfSubjectAccessReview"): "io.k8s.api.authorization.v1.SelfSubjectAccessReview",
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"): (
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition"
    ),
}


def pairs(table):
    """What was given and what came out, line by line."""
    lines = table.strip("\n").split("\n")
    assert len(lines) % 2 == 0
    return [(given, answer[4:]) for given, answer in zip(lines[::2], lines[1::2], strict=True)]


def shape_of(api_version, kind):
    return shapes()[TYPES[api_version, kind]]


def answered(answer):
    """The error, or the value and its strict errors, of an answer about an object."""
    if answer.startswith("!"):
        return answer[1:], None, []
    value = json.loads(answer)
    return ("", value["value"], value["strict"]) if set(value) == {"strict", "value"} else ("", value, [])


_SCALARS = {
    Base.STRING: st.sampled_from(["", "a", "TCP", "é<>&"]),
    Base.BOOLEAN: st.booleans(),
    Base.INT32: st.sampled_from([0, 1, -5, 2**31 - 1]),
    Base.INT64: st.sampled_from([0, 1, -5, 2**31, 2**63 - 1]),
    Base.NUMBER: st.sampled_from([0, 1.5, 3]),
    Base.BYTES: st.sampled_from(["", "YQ=="]),
    Base.TIME: st.sampled_from(["2026-01-02T03:04:05Z", "2026-01-02T03:04:05+02:00"]),
    Base.MICRO_TIME: st.sampled_from(["2026-01-02T03:04:05.000001Z"]),
    Base.QUANTITY: st.sampled_from(["1", "1000m", "1024Mi", "0", 5]),
    Base.INT_OR_STRING: st.sampled_from([0, 1, "", "50%"]),
}
_ODD = st.sampled_from([None, True, 7, -1.5, "x", [], {}, [None], {"a": 1}, 2**70])


@st.composite
def values(draw, shape, *, odd=False, depth=0):
    """Values of a shape; odd ones have now and then what it does not take."""
    if odd and draw(st.integers(0, 24)) == 0:
        return draw(_ODD)
    if shape.base is Base.STRUCT:
        most = 5 if depth < 5 else 1
        chosen = (
            draw(st.lists(st.sampled_from(sorted(shape.fields)), max_size=most, unique=True)) if shape.fields else []
        )
        made = {name: draw(values(shape.fields[name].shape, odd=odd, depth=depth + 1)) for name in chosen}
        if odd and draw(st.integers(0, 24)) == 0:
            made["unknown"] = 1
        return made
    if shape.base is Base.MAP:
        return draw(st.dictionaries(st.sampled_from("abc"), values(shape.items, odd=odd, depth=depth + 1), max_size=2))
    if shape.base is Base.LIST:
        return draw(st.lists(values(shape.items, odd=odd, depth=depth + 1), max_size=2))
    if shape.base is Base.ANY:
        return draw(st.sampled_from([{"a": [1, None]}, {"type": "string"}]))
    return draw(_SCALARS[shape.base])
