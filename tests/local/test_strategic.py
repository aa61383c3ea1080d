"""Strategic merge patch: each line of the tables was asked of kube-apiserver 1.37.1, with this very object."""

from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.local.patching.merge import PatchError
from muster.local.patching.strategic import strategic_patch
from muster.local.schema.load import shapes
from muster.local.schema.shapes import Base, Field, Shape
from tests.local.widgets import LAW, STRING, list_of, map_of, struct

TEMPLATE = struct(
    apiVersion=STRING,
    kind=STRING,
    metadata=shapes()["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"],
    template=shapes()["io.k8s.api.core.v1.PodTemplateSpec"],
)
"""A PodTemplate: of all kinds the one whose pod may be patched at will."""


def container(name, **rest):
    return {"name": name, "image": "i", **rest}


LIVE = {
    "apiVersion": "v1",
    "kind": "PodTemplate",
    "metadata": {"name": "it", "labels": {"a": "1", "b": "2"}, "finalizers": ["x/a", "x/b", "x/c"]},
    "template": {
        "spec": {
            "containers": [
                container(
                    "a",
                    command=["x", "y"],
                    env=[{"name": name, "value": "1"} for name in "ABC"],
                    ports=[{"containerPort": 80, "protocol": "TCP"}, {"containerPort": 81, "protocol": "TCP"}],
                ),
                container("b"),
                container("c"),
            ],
            "volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "hostPath": {"path": "/x", "type": ""}}],
            "nodeSelector": {"disk": "ssd", "zone": "a"},
            "tolerations": [{"key": "k", "operator": "Exists"}],
            "securityContext": {"runAsUser": 1, "fsGroup": 2},
        }
    },
}


def brief(document):
    """What the tables speak of."""
    spec = document["template"]["spec"]
    first = spec["containers"][0] if spec["containers"] else {}
    return {
        "labels": document["metadata"].get("labels") or None,
        "finalizers": document["metadata"].get("finalizers"),
        "containers": " ".join(f"{one['name']}={one.get('image', '')}" for one in spec["containers"]),
        "env": " ".join(f"{one['name']}={one.get('value') or ''}" for one in first.get("env") or []),
        "ports": " ".join(f"{one['containerPort']}/{one.get('protocol', 'TCP')}" for one in first.get("ports") or []),
        "command": first.get("command") or None,
        "volumes": " ".join(f"{one['name']}={_source(one)}" for one in spec.get("volumes") or []),
        "nodeSelector": spec.get("nodeSelector"),
        "tolerations": [one["key"] for one in spec.get("tolerations") or []],
        "securityContext": spec.get("securityContext"),
    }


def _source(volume):
    return ",".join(sorted(name for name in volume if name != "name" and name[0] != "$" and volume[name] is not None))


def spec(**patch):
    return {"template": {"spec": patch}}


def meta(**patch):
    return {"metadata": patch}


def env(*items, **rest):
    return spec(containers=[{"name": "a", "env": list(items), **rest}])


def named(*names):
    return [{"name": name} for name in names]


BARE = {"env": "", "ports": "", "command": None}
PATCHES = [
    ({}, {}),
    (None, {}),
    # maps and structs
    (meta(labels={"a": None, "c": "3"}), {"labels": {"b": "2", "c": "3"}}),
    (meta(labels=None), {"labels": None}),
    (meta(labels={"$patch": "replace", "z": "1"}), {"labels": {"z": "1"}}),
    (meta(labels={"$patch": "delete", "z": "1"}), {"labels": None}),
    (meta(labels={"$retainKeys": ["a", "c"], "c": "3"}), {"labels": {"a": "1", "c": "3"}}),
    (spec(nodeSelector={"zone": None}), {"nodeSelector": {"disk": "ssd"}}),
    (spec(securityContext={"fsGroup": None, "runAsUser": 5}), {"securityContext": {"runAsUser": 5}}),
    (spec(securityContext={"$patch": "replace", "fsGroup": 3}), {"securityContext": {"fsGroup": 3}}),
    # lists without a strategy are replaced
    (spec(tolerations=[{"key": "q", "operator": "Exists"}]), {"tolerations": ["q"]}),
    (spec(tolerations=[]), {"tolerations": []}),
    (spec(containers=[{"name": "a", "command": ["z"]}]), {"command": ["z"]}),
    # lists of values are united
    (meta(finalizers=["x/d"]), {"finalizers": ["x/d", "x/a", "x/b", "x/c"]}),
    (meta(finalizers=["x/b", "x/d"]), {"finalizers": ["x/a", "x/b", "x/d", "x/c"]}),
    (meta(finalizers=["x/c", "x/a"]), {"finalizers": ["x/b", "x/c", "x/a"]}),
    (meta(finalizers=[]), {}),
    (meta(finalizers=None), {"finalizers": None}),
    (meta(**{"$deleteFromPrimitiveList/finalizers": ["x/a", "x/z"]}), {"finalizers": ["x/b", "x/c"]}),
    (meta(**{"$deleteFromPrimitiveList/finalizers": None}), {"finalizers": None}),
    (meta(**{"$setElementOrder/finalizers": ["x/c", "x/a"]}), {"finalizers": ["x/b", "x/c", "x/a"]}),
    (
        meta(finalizers=["x/d"], **{"$setElementOrder/finalizers": ["x/d", "x/c", "x/b", "x/a"]}),
        {"finalizers": ["x/d", "x/c", "x/b", "x/a"]},
    ),
    (
        meta(**{"$deleteFromPrimitiveList/finalizers": ["x/b"], "$setElementOrder/finalizers": ["x/c", "x/a"]}),
        {"finalizers": ["x/c", "x/a"]},
    ),
    # lists of objects are merged by their key
    (spec(containers=[{"name": "b", "image": "j"}]), {"containers": "a=i b=j c=i"}),
    (spec(containers=[container("d")]), {"containers": "d=i a=i b=i c=i", **BARE}),
    (spec(containers=[{"name": "c"}, {"name": "a"}]), {"containers": "b=i c=i a=i", **BARE}),
    (spec(containers=[{"name": "b", "$patch": "delete"}]), {"containers": "a=i c=i"}),
    (spec(containers=[{"name": "zz", "$patch": "delete"}]), {}),
    (
        spec(containers=[container("d"), {"$patch": "replace"}]),
        {"containers": "d=i", **BARE},
    ),
    (spec(**{"$setElementOrder/containers": named("a", "c", "b")}), {"containers": "a=i c=i b=i"}),
    (
        spec(**{"$setElementOrder/containers": named("a", "d", "b")}, containers=[container("d")]),
        {"containers": "a=i d=i b=i c=i"},
    ),
    (
        spec(**{"$setElementOrder/containers": named("a", "c")}, containers=[{"name": "b", "$patch": "delete"}]),
        {"containers": "a=i c=i"},
    ),
    # an item that takes a deleted one's place in Go's list is taken for one that was there
    (
        spec(
            **{"$setElementOrder/containers": named("b", "d", "c")},
            containers=[container("d"), {"name": "c", "$patch": "delete"}, {"name": "b", "$patch": "delete"}],
        ),
        {"containers": "a=i d=i"},
    ),
    (env({"name": "B", "value": "2"}), {"env": "A=1 B=2 C=1"}),
    (env({"name": "D", "value": "4"}, {"name": "A", "$patch": "delete"}), {"env": "D=4 B=1 C=1"}),
    (env({"name": "B", "value": None}), {"env": "A=1 B= C=1"}),
    (spec(containers=[{"name": "a", "env": None}]), {"env": ""}),
    (
        env({"name": "D", "value": "4"}, **{"$setElementOrder/env": named("C", "D", "A", "B")}),
        {"env": "C=1 D=4 A=1 B=1"},
    ),
    (spec(containers=[{"name": "a", "ports": [{"containerPort": 81, "protocol": "UDP"}]}]), {"ports": "80/TCP 81/UDP"}),
    (spec(containers=[{"name": "a", "ports": [{"containerPort": 82}]}]), {"ports": "82/TCP 80/TCP 81/TCP"}),
    # an item can be of one kind only
    (
        spec(volumes=[{"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/y"}}]),
        {"volumes": "v=hostPath w=hostPath"},
    ),
    (
        spec(volumes=[{"name": "v", "emptyDir": None, "configMap": {"name": "c"}}]),
        {"volumes": "v=configMap w=hostPath"},
    ),
    # what is new has nothing to merge with
    (spec(affinity={"$patch": "replace", "nodeAffinity": {}}), {}),
    (
        spec(containers=[{"name": "b", "env": [{"name": "N", "$patch": "delete"}, {"name": "M", "value": "1"}]}]),
        {},
    ),
]


@pytest.mark.parametrize(("patch", "changes"), PATCHES)
def test_a_strategic_patch_gives_what_kubernetes_gives(patch, changes):
    document, asked = deepcopy(LIVE), deepcopy(patch)
    result = strategic_patch(document, asked, TEMPLATE)
    assert brief(result) == {**brief(LIVE), **changes}
    assert document == LIVE
    assert asked == patch


BAD = 400, "BadRequest"
FAILED = 500, ""
REFUSED = [
    ([], BAD, "json: cannot unmarshal array into Go value of type map[string]interface {}"),
    (5, BAD, "json: cannot unmarshal number into Go value of type map[string]interface {}"),
    ("x", BAD, "json: cannot unmarshal string into Go value of type map[string]interface {}"),
    ({"$patch": "merge"}, FAILED, "unknown patch type: merge in map: map[$patch:merge]"),
    ({"$patch": 5}, FAILED, "unknown patch type: %!s(int64=5) in map: map[$patch:5]"),
    ({"$patch": None}, FAILED, "unknown patch type: %!s(<nil>) in map: map[$patch:<nil>]"),
    (meta(labels={"$retainKeys": 5}), BAD, "invalid patch format of retainKeys"),
    (meta(labels={"$retainKeys": ["a"], "b": "1"}), BAD, "invalid patch format of retainKeys"),
    (meta(**{"$deleteFromPrimitiveList": ["x/a"]}), BAD, "invalid patch format of primitive list"),
    (meta(**{"$setElementOrder": ["x/a"]}), BAD, "invalid patch format of setElementOrder list"),
    (meta(**{"$setElementOrder/finalizers": 5}), FAILED, "expected a []interface {}, but received a int64"),
    (meta(**{"$setElementOrder/finalizers": None}), FAILED, "expected a []interface {}, but received a %!s(<nil>)"),
    (
        meta(finalizers=["x/d"], **{"$setElementOrder/finalizers": ["x/a"]}),
        FAILED,
        "The order in patch list:\n[x/d]\n doesn't match $setElementOrder list:\n[x/a]\n",
    ),
    (meta(finalizers=[5]), FAILED, "list element types are not identical: [[x/a x/b x/c] [5]]"),
    (spec(containers=[["a"]]), FAILED, None),
    (
        spec(containers=[{"image": "j"}]),
        FAILED,
        "map: map[image:j] does not contain declared merge key: name",
    ),
    (
        spec(containers=[{"$patch": "delete"}]),
        FAILED,
        "map: map[$patch:delete] does not contain declared merge key: name",
    ),
    (
        spec(containers=[{"name": "a", "$patch": "merge"}]),
        FAILED,
        "merging lists cannot yet be specified in the patch",
    ),
    (
        spec(containers=[{"name": "a", "$patch": "frob"}]),
        FAILED,
        "unknown patch type: frob in map: map[$patch:frob name:a]",
    ),
    (
        spec(**{"$setElementOrder/containers": [{}]}),
        FAILED,
        "map: map[] does not contain declared merge key: name",
    ),
    (spec(**{"$setElementOrder/containers": ["a"]}), FAILED, "value for key 0 is not a map"),
    (
        spec(**{"$setElementOrder/nope": [{"name": "a"}]}),
        FAILED,
        'unable to find api field in struct PodSpec for the json field "nope"',
    ),
    (
        spec(**{"$setElementOrder/nodeSelector": []}),
        FAILED,
        "expected a []interface {}, but received a map[string]interface {}",
    ),
    (
        spec(**{"$setElementOrder/containers": named("b", "a")}, containers=named("a", "b")),
        FAILED,
        "The order in patch list:\n[map[name:a] map[name:b]]\n doesn't match $setElementOrder list:\n"
        "[map[name:b] map[name:a]]\n",
    ),
]


@pytest.mark.parametrize(("patch", "answer", "message"), REFUSED)
def test_a_strategic_patch_that_makes_no_sense_is_refused(patch, answer, message):
    with pytest.raises(PatchError) as refused:
        strategic_patch(LIVE, patch, TEMPLATE)
    assert (refused.value.code, refused.value.reason) == answer
    # values need not be written as Go writes them
    assert message is None or refused.value.message.split()[0] == message.split()[0]


# --- by hand-made shapes ---


def test_lists_without_a_merge_key_cannot_be_merged():
    shape = struct(l=Field(shape=list_of(struct(x=STRING)), strategies=("merge",)))
    with pytest.raises(PatchError, match="cannot merge lists without merge key"):
        strategic_patch({"l": [{"x": "1"}]}, {"l": [{"x": "2"}]}, shape)


def test_a_struct_with_the_strategy_replace_is_replaced():
    shape = struct(s=Field(shape=struct(x=STRING, y=STRING), strategies=("replace",)))
    assert strategic_patch({"s": {"x": "1"}}, {"s": {"y": "2"}}, shape) == {"s": {"y": "2"}}


def test_what_is_inside_a_map_of_maps_is_not_known():
    shape = struct(m=map_of(map_of(STRING)))
    with pytest.raises(PatchError, match="merging an object in json but data type is not struct, instead is: map"):
        strategic_patch({"m": {"a": {"b": "1"}}}, {"m": {"a": {"b": "2"}}}, shape)


def test_names_of_fields_are_found_in_any_case():
    shape = struct(Items=Field(shape=list_of(struct(k=STRING)), strategies=("merge",), merge_key="k"))
    result = strategic_patch({"items": [{"k": "a"}]}, {"items": [{"k": "b"}]}, shape)
    assert result == {"items": [{"k": "b"}, {"k": "a"}]}


# --- a patch made of a difference reaches the target ---

ITEM = struct(k=STRING, v=STRING, tags=Field(shape=list_of(STRING, "set"), strategies=("merge",)))
DOCUMENT = Shape(
    base=Base.STRUCT,
    fields={
        "items": Field(shape=list_of(ITEM), strategies=("merge",), merge_key="k"),
        "tags": Field(shape=list_of(STRING, "set"), strategies=("merge",)),
        "plain": Field(shape=list_of(STRING)),
        "labels": Field(shape=map_of(STRING)),
        "s": Field(shape=STRING),
    },
)


def difference(old, new, shape):
    """The patch that a client would send; it gives the order of each merged list that it changes."""
    patch = {name: None for name in old if name not in new}
    for name, value in new.items():
        field = shape.fields.get(name) if shape.base is Base.STRUCT else None
        if name not in old:
            patch[name] = value
        elif old[name] == value:
            continue
        elif field is not None and "merge" in field.strategies and value and old[name]:
            _difference_of_lists(patch, name, old[name], value, field)
        elif isinstance(value, dict):
            patch[name] = difference(old[name], value, field.shape if field else STRING)
        else:
            patch[name] = value
    return patch


def _difference_of_lists(patch, name, old, new, field):
    key = field.merge_key
    if not key:
        patch[name] = [one for one in new if one not in old]
        patch[f"$deleteFromPrimitiveList/{name}"] = [one for one in old if one not in new]
        patch[f"$setElementOrder/{name}"] = new
        return
    before = {one[key]: one for one in old}
    items = []
    for one in new:
        inner = difference(before.get(one[key], {}), one, field.shape.items)
        if inner:
            items.append({**inner, key: one[key]})
    gone = [{key: one[key], "$patch": "delete"} for one in old if one[key] not in {item[key] for item in new}]
    patch[name] = items + gone
    patch[f"$setElementOrder/{name}"] = [{key: one[key]} for one in new]


_TAGS = st.lists(st.sampled_from("tuvw"), unique=True, min_size=1, max_size=4)
_ITEMS = st.lists(
    st.fixed_dictionaries({"k": st.sampled_from("abcd")}, optional={"v": st.sampled_from("12"), "tags": _TAGS}),
    unique_by=lambda item: item["k"],
    min_size=1,
    max_size=4,
)
_DOCUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "items": _ITEMS,
        "tags": _TAGS,
        "plain": st.lists(st.sampled_from("xyz"), max_size=3),
        "labels": st.dictionaries(st.sampled_from("lmn"), st.sampled_from("12"), max_size=3),
        "s": st.sampled_from("pq"),
    },
)


@LAW
@given(_DOCUMENTS, _DOCUMENTS)
def test_a_patch_made_of_a_difference_reaches_the_target(old, new):
    patch = difference(old, new, DOCUMENT)
    result = strategic_patch(old, patch, DOCUMENT)
    assert result == new


@LAW
@given(_DOCUMENTS, _DOCUMENTS)
def test_a_patch_leaves_its_arguments_alone(old, new):
    patch = difference(old, new, DOCUMENT)
    before = deepcopy([old, patch])
    strategic_patch(old, patch, DOCUMENT)
    assert [old, patch] == before
