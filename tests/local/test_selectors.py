"""Selectors, with the answers that a real kube-apiserver 1.37.1 gave to them."""

from __future__ import annotations

import msgspec
import pytest

from muster.base.selectors import parse_selector
from muster.local.kinds.kind import Kind, Strategy
from muster.local.kinds.rows import ROWS
from muster.local.kinds.status import Refusal
from muster.local.serve.selectors import Term, parse_fields, parse_labels, select


def built_in(group, plural):
    [found] = [one for one in ROWS if (one.group, one.version, one.plural) == (group, "v1", plural)]
    return found


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


POD = built_in("", "pods")
JOB = built_in("batch", "jobs")


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

LONG = "x" * 64

BAD_LABELS = [
    "=",
    ",",
    "(a)",
    "a,",
    "a,,b",
    "a=b,=c",
    "a=b=c",
    "a=b c",
    "!a=b",
    "!a b",
    "a in (b)) ",
    "!",
    "!!a",
    "a=!b",
    "a===b",
    "a=!=b",
    "a=(b)",
    "a gt 1",
    "A B",
    "x!y",
    "a)",
    "ain(b)",
    "a in b",
    "a notin",
    "a in (",
    "a in (!",
    "a in (b",
    "a in (b c)",
    "a in (b,",
    "-a",
    "-x=-y",
    "ä=b",
    "/b",
    "a/",
    LONG,
    "a/b/c",
    "x=-",
    'a="b"',
    "a in (x,-y,z)",
    f"a={LONG}",
    "a notin (b,-c-,_)",
    "a>",
    "a>x",
    "a>1.5",
    "a>9223372036854775808",
    "a>-5",
    "a>x-",
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


@pytest.mark.parametrize("text", BAD_LABELS)
def test_a_bad_label_selector_is_refused(text):
    assert refusal(labels=text).startswith("unable to parse requirement")


@pytest.mark.parametrize("text", GOOD_LABELS)
def test_a_good_label_selector_means_what_it_means_everywhere(text):
    assert parse_labels(text) == parse_selector(text)


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
    (built_in("", "nodes"), NOT_SUPPORTED),
    (built_in("", "namespaces"), NOT_SUPPORTED),
    (built_in("", "events"), NOT_SUPPORTED),
    (built_in("events.k8s.io", "events"), NOT_SUPPORTED),
    (built_in("", "secrets"), NOT_SUPPORTED),
    (built_in("", "services"), NOT_SUPPORTED),
    (JOB, NOT_SUPPORTED),
    (built_in("", "configmaps"), UNKNOWN),
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
    (built_in("", "nodes"), "spec.unschedulable", "spec.unschedulable"),
    (built_in("", "namespaces"), "status.phase", "status.phase"),
    (built_in("", "secrets"), "type", "type"),
    (built_in("", "services"), "spec.clusterIP", "spec.clusterIP"),
    (JOB, "status.successful", "status.successful"),
    (built_in("", "events"), "involvedObject.uid", "involvedObject.uid"),
    (built_in("", "events"), "reportingComponent", "reportingComponent"),
    (built_in("", "events"), "source", "source"),
    (built_in("events.k8s.io", "events"), "regarding.uid", "involvedObject.uid"),
    (built_in("events.k8s.io", "events"), "reportingController", "reportingComponent"),
    (DEFINITION, "metadata.namespace", "metadata.namespace"),
]

WITHOUT_NAMESPACE = [
    built_in("", "nodes"),
    built_in("", "namespaces"),
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
    assert refusal(labels="=", fields="nope=1").startswith("unable to parse requirement")


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
