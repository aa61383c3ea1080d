import base64
import json

import pytest

from muster.local.codec.forms import Malformed
from muster.local.schema import decoding, protobuf
from muster.local.schema.decoding import (
    PROTOBUF,
    BadBody,
    GroupVersionKind,
    WrongKind,
    read_options,
    strict_refusal,
)
from tests.local import schema_answers as answers
from tests.local.schema_tables import pairs, shape_of

POD = GroupVersionKind("", "v1", "Pod")
OPTIONS = shape_of("v1", "DeleteOptions")


def strictly(body, wanted=POD, shape=None, content_type="application/json"):
    """The object, or the message of the 400."""
    shape = shape or shape_of(wanted.api_version, wanted.kind)
    try:
        decoded = decoding.read_body(body.encode(), wanted, shape=shape, content_type=content_type)
    except BadBody as refused:
        return str(refused)
    return strict_refusal(wanted, decoded.strict) if decoded.strict else decoded.value


@pytest.mark.parametrize(("body", "answer"), pairs(answers.REFUSED))
def test_bodies_that_are_no_pods_are_refused_as_by_the_real_server(body, answer):
    refused = strictly(json.loads(body))
    assert isinstance(refused, str)
    if "into Go struct field PodSpec" in answer or "strict" in answer:
        assert f"!{refused}" == answer


@pytest.mark.parametrize(
    "body",
    ["{}", "null", '{"kind":"Pod"}', '{"apiVersion":"v1"}', '{"apiVersion":"/v1","kind":""}', '{"apiVersion":"/"}'],
)
def test_what_a_body_does_not_say_is_what_is_wanted(body):
    assert strictly(body) == {"metadata": {}, "spec": {"containers": None}, "status": {}}


def test_the_object_comes_without_kind_and_version():
    assert strictly('{"apiVersion":"v1","kind":"ConfigMap"}', GroupVersionKind("", "v1", "ConfigMap")) == {
        "metadata": {}
    }


def test_an_event_of_the_other_group_is_understood_and_not_wanted():
    body = '{"kind":"Event","apiVersion":"events.k8s.io/v1"}'
    words = "the API version in the data (events.k8s.io/v1) does not match the expected API version (v1)"
    assert strictly(body, GroupVersionKind("", "v1", "Event")) == words
    body = '{"kind":"PodGroup","apiVersion":"scheduling.k8s.io/v1alpha3"}'
    assert strictly(body, GroupVersionKind("scheduling.k8s.io", "v1beta1", "PodGroup")) == (
        "the API version in the data (scheduling.k8s.io/v1alpha3) does not match the expected API version "
        "(scheduling.k8s.io/v1beta1)"
    )


def test_an_eviction_may_be_of_an_older_version():
    wanted = GroupVersionKind("policy", "v1", "Eviction", ("v1beta1",))
    assert strictly('{"kind":"Eviction","apiVersion":"policy/v1beta1","metadata":{"name":"x"}}', wanted) == {
        "metadata": {"name": "x"}
    }


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("{", "unexpected end of JSON input"),
        ('{"kind":"Foo"}', 'no kind "Foo" is registered'),
        ('{"kind":"Pod","apiVersion":"v1"}', 'no kind "Pod" is registered for version "v1"'),
        (
            '{"gracePeriodSeconds":"x"}',
            "json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of type int64",
        ),
    ],
)
def test_delete_options_are_refused_with_the_bare_error(body, words):
    with pytest.raises(BadBody, match=words):
        read_options(body.encode(), shape=OPTIONS)


@pytest.mark.parametrize("version", ["v1", "v2", "batch/v1", "meta.k8s.io/v1"])
def test_delete_options_may_be_of_any_version_and_hold_anything(version):
    body = json.dumps({"kind": "DeleteOptions", "apiVersion": version, "gracePeriodSeconds": 0, "foo": 1})
    assert read_options(body.encode(), shape=OPTIONS)["gracePeriodSeconds"] == 0


def test_kind_and_version_are_found_whatever_the_case_of_their_letters():
    assert strictly('{"KIND":"Foo","apiversion":"v1","Kind":null}').startswith("Foo in version")


# --- protobuf ---


@pytest.mark.parametrize(("given", "answer"), pairs(answers.PROTOBUF))
def test_protobuf_is_read_as_the_json_of_the_same_object(given, answer):
    api_version, kind, body = given.split(" ")
    envelope = protobuf.unwrap(base64.b64decode(body))
    assert (envelope.api_version, envelope.kind) == (api_version, kind)
    shape = shape_of(api_version, kind)
    assert decoding.decode(protobuf.decode(envelope.data, shape), shape).value == json.loads(answer)


@pytest.mark.parametrize(
    "groups", [b"\x22\x04\x01\xac\x02\x07", b"\x20\x01\x20\xac\x02\x20\x07"], ids=["packed", "one by one"]
)
def test_repeated_numbers_come_packed_or_one_by_one(groups):
    context = b"\x72" + bytes([len(groups)]) + groups
    pod = protobuf.decode(b"\x12" + bytes([len(context)]) + context, shape_of("v1", "Pod"))
    assert pod["spec"]["securityContext"] == {"supplementalGroups": [1, 300, 7]}


def test_a_body_in_protobuf_is_read_like_any_other():
    given, answer = pairs(answers.PROTOBUF)[0]
    body = base64.b64decode(given.split(" ")[2])
    wanted, shape = GroupVersionKind("", "v1", "Namespace"), shape_of("v1", "Namespace")
    decoded = decoding.read_body(body, wanted, shape=shape, content_type=PROTOBUF)
    assert decoded.value == json.loads(answer)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "does not appear to be a protobuf message"),
        (b"xx", "does not appear to be a protobuf message"),
        (b"k8s\0", "empty body"),
        (b"k8s\0\x0a", "unexpected EOF"),
        (b"k8s\0\x0a\x05a", "unexpected EOF"),
        (b"k8s\0\x0f", "proto: illegal wireType 7"),
        (b"k8s\0" + b"\xff" * 11, "proto: integer overflow"),
    ],
)
def test_what_is_no_protobuf_is_refused(body, words):
    with pytest.raises(Malformed, match=words):
        protobuf.unwrap(body)


@pytest.mark.parametrize("given", [given for given, _ in pairs(answers.PROTOBUF)])
def test_a_body_that_is_cut_off_or_garbled_is_never_worse_than_refused(given):
    api_version, kind, encoded = given.split(" ")
    body = base64.b64decode(encoded)
    shape = shape_of(api_version, kind)
    for cut in range(len(body)):
        garbled = bytearray(body)
        garbled[cut] ^= 0x55
        for each in (body[:cut], bytes(garbled)):
            try:
                protobuf.decode(protobuf.unwrap(each).data, shape)
            except Malformed:
                continue


def test_a_custom_kind_says_itself_what_it_is():
    from muster.local.schema import custom

    wanted, root = GroupVersionKind("schematest.dev", "v1", "Thing"), custom.shape(json.loads(answers.CUSTOM_SCHEMA))
    words = "the object provided is unrecognized (must be of type Thing): 'Kind' is missing"
    assert strictly("{}", wanted, root) == words
    assert strictly('{"kind":"Thing"}', wanted, root) == (
        "the API version in the data () does not match the expected API version (schematest.dev/v1)"
    )
    with pytest.raises(WrongKind, match='"ThingList": must be Thing'):
        decoding.read_body(b'{"apiVersion":"schematest.dev/v1","kind":"ThingList"}', wanted, shape=root)
    body = '{"apiVersion":"schematest.dev/v1","kind":"Thing","metadata":{"name":3}}'
    assert strictly(body, wanted, root) == (
        'Thing in version "v1" cannot be handled as a Thing: json: cannot unmarshal number into Go struct field '
        "ObjectMeta.name of type string"
    )
