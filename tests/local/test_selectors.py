"""Selectors, with the answers that a real kube-apiserver 1.37.1 gave to them."""

from __future__ import annotations

import msgspec
import pytest

from muster.base.errors import SelectorError
from muster.base.selectors import parse_selector
from muster.local.kinds.kind import Kind, Strategy
from muster.local.kinds.status import Refusal
from muster.local.serve.selectors import Term, parse_fields, parse_labels, select


def kind(group, name, *, namespaced=True, custom=False, strategy=None):
    type_name = "" if custom else f"io.k8s.{name}"
    return Kind(
        group=group,
        version="v1",
        name=name,
        plural=f"{name.lower()}s",
        type_name=type_name,
        namespaced=namespaced,
        strategy=strategy or Strategy(),
    )


POD = kind("", "Pod")
JOB = kind("batch", "Job")


class One(msgspec.Struct, frozen=True, kw_only=True):
    """As much of an object as a selection asks for."""

    namespace: str = "default"
    name: str = "x"
    labels: dict[str, str] = {}
    fields: dict[str, str] = {}


def refusal(of=POD, **selectors):
    with pytest.raises(Refusal) as caught:
        select(of, **selectors)
    assert (caught.value.code, caught.value.reason) == (400, "BadRequest")
    return caught.value.message


# --- labels ---

NAME_PART = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
INTEGER = "for 'Gt', 'Lt' operators, the value must be an integer"
OPERATORS = "expected: in, notin, =, ==, !=, gt, lt"
LONG = "x" * 64

BAD_LABELS = [
    ("=", "found '=', expected: !, identifier, or 'end of string'"),
    (",", "found ',', expected: !, identifier, or 'end of string'"),
    ("(a)", "found '(', expected: !, identifier, or 'end of string'"),
    ("a,", "found '', expected: identifier after ','"),
    ("a,,b", "found ',', expected: identifier after ','"),
    ("a=b,=c", "found '=', expected: identifier after ','"),
    ("a=b=c", "found '=', expected: ',' or 'end of string'"),
    ("a=b c", "found 'c', expected: ',' or 'end of string'"),
    ("!a=b", "found '=', expected: ',' or 'end of string'"),
    ("!a b", "found 'b', expected: ',' or 'end of string'"),
    ("a in (b)) ", "found ')', expected: ',' or 'end of string'"),
    ("!", "unable to parse requirement: found '', expected: identifier"),
    ("!!a", "unable to parse requirement: found '!', expected: identifier"),
    ("a=!b", "unable to parse requirement: found '!', expected: identifier"),
    ("a===b", "unable to parse requirement: found '=', expected: identifier"),
    ("a=!=b", "unable to parse requirement: found '!=', expected: identifier"),
    ("a=(b)", "unable to parse requirement: found '(', expected: identifier"),
    ("a gt 1", f"unable to parse requirement: found 'gt', {OPERATORS}"),
    ("A B", f"unable to parse requirement: found 'B', {OPERATORS}"),
    ("x!y", f"unable to parse requirement: found '!', {OPERATORS}"),
    ("a)", f"unable to parse requirement: found ')', {OPERATORS}"),
    ("ain(b)", f"unable to parse requirement: found '(', {OPERATORS}"),
    ("a in b", "unable to parse requirement: found 'b' expected: '('"),
    ("a notin", "unable to parse requirement: found '' expected: '('"),
    ("a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"),
    ("a in (!", "unable to parse requirement: found '!', expected: ',', ')' or identifier"),
    ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
    ("a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'"),
    ("a in (b,", "unable to parse requirement: found '', expected: ',', or identifier"),
    ("-a", f'unable to parse requirement: <nil>: Invalid value: "-a": {NAME_PART}'),
    ("-x=-y", f'unable to parse requirement: <nil>: Invalid value: "-x": {NAME_PART}'),
    ("ä=b", f'unable to parse requirement: <nil>: Invalid value: "ä": {NAME_PART}'),
    ("/b", 'unable to parse requirement: <nil>: Invalid value: "/b": prefix part must be non-empty'),
    ("a/", f'unable to parse requirement: <nil>: Invalid value: "a/": name part must be non-empty; {NAME_PART}'),
    (LONG, f'unable to parse requirement: <nil>: Invalid value: "{LONG}": name part must be no more than 63 bytes'),
    (
        "a/b/c",
        'unable to parse requirement: <nil>: Invalid value: "a/b/c": '
        f"{NAME_PART.replace('name part', 'a valid label key')} with an optional DNS subdomain prefix and '/' "
        "(e.g. 'example.com/MyName')",
    ),
    ("x=-", f'unable to parse requirement: values[0][x]: Invalid value: "-": {VALUE}'),
    ('a="b"', f'unable to parse requirement: values[0][a]: Invalid value: "\\"b\\"": {VALUE}'),
    ("a in (x,-y,z)", f'unable to parse requirement: values[0][a]: Invalid value: "-y": {VALUE}'),
    (f"a={LONG}", f'unable to parse requirement: values[0][a]: Invalid value: "{LONG}": must be no more than 63 bytes'),
    (
        "a notin (b,-c-,_)",
        f'unable to parse requirement: [values[0][a]: Invalid value: "-c-": {VALUE}, '
        f'values[1][a]: Invalid value: "_": {VALUE}]',
    ),
    ("a>", f'unable to parse requirement: values[0]: Invalid value: "": {INTEGER}'),
    ("a>x", f'unable to parse requirement: values[0]: Invalid value: "x": {INTEGER}'),
    ("a>1.5", f'unable to parse requirement: values[0]: Invalid value: "1.5": {INTEGER}'),
    (
        "a>9223372036854775808",
        f'unable to parse requirement: values[0]: Invalid value: "9223372036854775808": {INTEGER}',
    ),
    ("a>-5", f'unable to parse requirement: values[0][a]: Invalid value: "-5": {VALUE}'),
    (
        "a>x-",
        f'unable to parse requirement: [values[0]: Invalid value: "x-": {INTEGER}, '
        f'values[0][a]: Invalid value: "x-": {VALUE}]',
    ),
]

GOOD_LABELS = [
    "",
    " ",
    "a",
    "!a",
    "! a",
    "a=b",
    "a==b",
    "a!=b",
    "a=",
    "a!=",
    "a=,b",
    " a = b ",
    "a in (b,c)",
    "a in(b)",
    "a\tin\n(b)",
    "a in ()",
    "a in (,)",
    "a in (b,,c)",
    "a notin (b)",
    "in",
    "!in",
    "in in (in)",
    "in=notin",
    "a>1",
    "a<007",
    "a=b,a=c",
    "example.com/a=b,c in (d,e),!f,g>5",
]


@pytest.mark.parametrize(("text", "message"), BAD_LABELS)
def test_a_bad_label_selector_is_refused_in_the_words_of_the_real_server(text, message):
    assert refusal(labels=text) == message


@pytest.mark.parametrize("text", GOOD_LABELS)
def test_a_good_label_selector_means_what_it_means_everywhere(text):
    assert parse_labels(text) == parse_selector(text)


@pytest.mark.parametrize(("text", "_"), BAD_LABELS)
def test_what_is_refused_here_is_refused_everywhere(text, _):
    with pytest.raises(SelectorError):
        parse_selector(text)


@pytest.mark.parametrize(
    ("text", "selected"),
    [("app=web", True), ("app!=web", False), ("old", False), ("!old", True), ("n>2", True), ("app in (db)", False)],
)
def test_objects_are_selected_by_their_labels(text, selected):
    assert select(POD, labels=text).matches(One(labels={"app": "web", "n": "3"})) is selected


# --- fields ---

BAD_FIELDS = [
    ("a", "invalid selector: 'a'; can't understand 'a'"),
    ("a,b", "invalid selector: 'a,b'; can't understand 'a'"),
    ("b=1,a", "invalid selector: 'b=1,a'; can't understand 'a'"),
    ("metadata.name>x", "invalid selector: 'metadata.name>x'; can't understand 'metadata.name>x'"),
    ("metadata.name=x\\,,y", "invalid selector: 'metadata.name=x\\,,y'; can't understand 'y'"),
    ("a=b=c", "invalid field selector: unescaped character in value: 61"),
    ("a!==b", "invalid field selector: unescaped character in value: 61"),
    ("metadata.name===x", "invalid field selector: unescaped character in value: 61"),
    ("metadata.name=a\\b", "invalid field selector: invalid escape sequence: \\b"),
    ("metadata.name=a\\", "invalid field selector: invalid escape sequence: \\"),
    ("nope=x", "field label not supported: nope"),
    ("nope!=x", "field label not supported: nope"),
    ("=b", "field label not supported: "),
    (" metadata.name=x", "field label not supported:  metadata.name"),
    ("spec.nodeName=x,zz=1,yy=2", "field label not supported: yy"),
]

FIELDS = [
    ("", ()),
    (",", ()),
    ("a=b", (Term("a", "b", True),)),
    ("a==b", (Term("a", "b", True),)),
    ("a!=b", (Term("a", "b", False),)),
    ("a=", (Term("a", "", True),)),
    ("a= b c", (Term("a", " b c", True),)),
    ("b=1,,a!=2,", (Term("a", "2", False), Term("b", "1", True))),
    ("a=x\\,y", (Term("a", "x,y", True),)),
    ("a=x\\=y", (Term("a", "x=y", True),)),
    ("a=x\\\\y", (Term("a", "x\\y", True),)),
    ("a=x\\\\,b=y", (Term("a", "x\\", True), Term("b", "y", True))),
]

UNKNOWN = '"x" is not a known field selector: only "metadata.name", "metadata.namespace"'
NOT_SUPPORTED = "field label not supported: x"
DEFINITION = kind("apiextensions.k8s.io", "CustomResourceDefinition", namespaced=False)

KINDS_AND_WORDS = [
    (POD, NOT_SUPPORTED),
    (kind("", "Node", namespaced=False), NOT_SUPPORTED),
    (kind("", "Namespace", namespaced=False), NOT_SUPPORTED),
    (kind("", "Event"), NOT_SUPPORTED),
    (kind("events.k8s.io", "Event"), NOT_SUPPORTED),
    (kind("", "Secret"), NOT_SUPPORTED),
    (kind("", "Service"), NOT_SUPPORTED),
    (JOB, 'field label "x" not supported for Job'),
    (kind("", "ConfigMap"), UNKNOWN),
    (kind("", "ServiceAccount"), UNKNOWN),
    (kind("scheduling.k8s.io", "PriorityClass", namespaced=False), UNKNOWN),
    (kind("scheduling.k8s.io", "PodGroup"), UNKNOWN),
    (kind("scheduling.k8s.io", "Workload"), UNKNOWN),
    (kind("coordination.k8s.io", "Lease"), UNKNOWN),
    (kind("policy", "PodDisruptionBudget"), UNKNOWN),
    (DEFINITION, UNKNOWN),
    (kind("example.com", "Thing", custom=True), NOT_SUPPORTED),
    # not the core kind of that name
    (kind("example.com", "Pod", custom=True), NOT_SUPPORTED),
]

SUPPORTED = [
    (POD, "spec.nodeName", "spec.nodeName"),
    (POD, "spec.host", "spec.nodeName"),
    (POD, "status.phase", "status.phase"),
    (POD, "spec.hostNetwork", "spec.hostNetwork"),
    (kind("", "Node", namespaced=False), "spec.unschedulable", "spec.unschedulable"),
    (kind("", "Namespace", namespaced=False), "status.phase", "status.phase"),
    (kind("", "Secret"), "type", "type"),
    (kind("", "Service"), "spec.clusterIP", "spec.clusterIP"),
    (JOB, "status.successful", "status.successful"),
    (kind("", "Event"), "involvedObject.uid", "involvedObject.uid"),
    (kind("", "Event"), "reportingComponent", "reportingComponent"),
    (kind("", "Event"), "source", "source"),
    (kind("events.k8s.io", "Event"), "regarding.uid", "involvedObject.uid"),
    (kind("events.k8s.io", "Event"), "reportingController", "reportingComponent"),
    (DEFINITION, "metadata.namespace", "metadata.namespace"),
]

WITHOUT_NAMESPACE = [
    kind("", "Node", namespaced=False),
    kind("", "Namespace", namespaced=False),
    kind("example.com", "Thing", namespaced=False, custom=True),
]


@pytest.mark.parametrize(("text", "message"), BAD_FIELDS)
def test_a_bad_field_selector_is_refused_in_the_words_of_the_real_server(text, message):
    assert refusal(fields=text) == message


@pytest.mark.parametrize(("text", "terms"), FIELDS)
def test_a_field_selector_is_a_list_of_terms(text, terms):
    assert parse_fields(text) == terms


@pytest.mark.parametrize(("of", "message"), KINDS_AND_WORDS)
def test_each_kind_has_its_words_for_a_field_that_it_does_not_tell(of, message):
    assert refusal(of, fields="x=1") == message


@pytest.mark.parametrize(("of", "field", "kept_as"), SUPPORTED)
def test_fields_go_by_the_name_under_which_they_are_kept(of, field, kept_as):
    assert select(of, fields=f"{field}=1").terms == (Term(kept_as, "1", True),)


@pytest.mark.parametrize("of", WITHOUT_NAMESPACE)
def test_some_kinds_without_a_namespace_do_not_tell_it(of):
    assert refusal(of, fields="metadata.namespace=a") == "field label not supported: metadata.namespace"


def test_custom_kinds_tell_what_their_definition_makes_selectable():
    strategy = Strategy(selectable=lambda thing: {"spec.color": thing.get("spec", {}).get("color", "")})
    thing = kind("example.com", "Thing", custom=True, strategy=strategy)
    selection = select(thing, fields="spec.color!=red,metadata.namespace=default")
    assert selection.matches(One(fields={"spec.color": "blue"}))
    assert not selection.matches(One(fields={"spec.color": "red"}))


@pytest.mark.parametrize(
    ("text", "selected"),
    [
        ("metadata.name=x", True),
        ("metadata.name!=x", False),
        ("metadata.name=y", False),
        ("metadata.namespace=default", True),
        ("metadata.namespace=other", False),
        ("spec.nodeName=n1", True),
        ("spec.nodeName=", False),
        ("spec.nodeName!=", True),
        ("status.nominatedNodeName=", True),
        ("spec.nodeName=n1,status.phase=Running", False),
        ("spec.nodeName=n1,status.phase!=Running", True),
        ("=", True),
    ],
)
def test_objects_are_selected_by_their_fields(text, selected):
    one = One(fields={"spec.nodeName": "n1", "status.phase": "Pending"})
    assert select(POD, fields=text).matches(one) is selected


# --- both ---


def test_labels_are_looked_at_first():
    assert refusal(labels="=", fields="nope=1") == BAD_LABELS[0][1]


def test_a_selection_stays_within_its_namespace():
    selection = select(POD, namespace="a")
    assert selection.matches(One(namespace="a"))
    assert not selection.matches(One(namespace="b"))


@pytest.mark.parametrize(
    ("selectors", "everything"),
    [
        ({}, True),
        ({"namespace": "a"}, True),
        ({"labels": " ", "fields": ","}, True),
        ({"fields": "="}, True),
        ({"labels": "a"}, False),
        ({"fields": "metadata.name=a"}, False),
        ({"name": "a"}, False),
    ],
)
def test_a_selection_knows_whether_it_leaves_anything_out(selectors, everything):
    assert select(POD, **selectors).is_everything is everything


@pytest.mark.parametrize("fields", ["", "metadata.name=a", "status.phase=Running,metadata.name=a"])
def test_a_watch_of_one_object_selects_it_by_its_name(fields):
    selection = select(POD, name="a", fields=fields)
    assert selection.matches(One(name="a", fields={"status.phase": "Running"}))
    assert not selection.matches(One(name="b", fields={"status.phase": "Running"}))


@pytest.mark.parametrize("fields", ["metadata.name=b", "metadata.name!=a", "status.phase=Running"])
def test_a_watch_of_one_object_asks_for_no_other(fields):
    assert refusal(name="a", fields=fields) == "fieldSelector metadata.name doesn't match requested name"
