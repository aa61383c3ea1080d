"""Rules in CEL of custom kinds: which are taken, and what they say of objects, in the words of kube-apiserver."""

import json

import pytest

from muster.local.kinds.definitions.schema import not_evaluated
from muster.local.schema import validations
from tests.local.rule_answers import FAIL, FIELDS, HOLD, NO_VALUE, OBJECT, REFUSED, VALUES
from tests.local.serving import APPLY, Served

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
RULES = "x-kubernetes-validations"
NUMBER, TEXT = {"type": "integer"}, {"type": "string"}
UNCHECKED = "some validation rules were not checked because the object was invalid"


def ruled(*rules, **schema):
    return {**schema, RULES: [one if isinstance(one, dict) else {"rule": one} for one in rules]}


def of(fields, *rules, **more):
    return ruled(*rules, type="object", properties=fields, **more)


def definition(spec, status=None, **root):
    properties = {"spec": spec, "status": status or {"type": "object", "properties": {"n": NUMBER}}}
    schema = {"type": "object", "properties": properties, **root}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    version["subresources"] = {"status": {}}
    names = {"plural": "widgets", "kind": "Widget"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    return {"metadata": {"name": "widgets.example.com"}, "spec": spec}


def widget(spec, name="a", **fields):
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec, **fields}


@pytest.fixture
def api():
    return Served()


def causes(api, method, path, body, **options):
    """(field, message) of what is wrong with an object; nothing if it is taken."""
    answer = api.answer(method, path, body, **options)
    document = json.loads(answer.body)
    assert answer.code in (200, 201, 422), document
    return [(one["field"], one["message"]) for one in document.get("details", {}).get("causes", [])]


def refusals(api, spec, **root):
    """What is wrong with a definition, below its schema."""
    found = causes(api, "POST", DEFINITIONS, definition(spec, **root))
    return [(field.removeprefix("spec.validation.openAPIV3Schema.properties[spec]"), words) for field, words in found]


def said(api, spec, given, **root):
    """What is wrong with a new object."""
    api.create(DEFINITIONS, definition(spec, **root))
    return causes(api, "POST", WIDGETS, widget(given))


def changed(api, spec, before, after):
    api.create(DEFINITIONS, definition(spec))
    made = api.create(WIDGETS, widget(before))
    return causes(api, "PUT", f"{WIDGETS}/a", {**made, "spec": after})


# --- as kube-apiserver answered ---


def answers(*rules):
    checks = validations.Checks.of(of(FIELDS, *rules))
    return [error.message for error in checks.errors(OBJECT)]


@pytest.mark.parametrize("expression", VALUES)
def test_an_expression_has_the_value_that_kubernetes_gives_it(expression):
    rule = {"rule": "false", "messageExpression": f"'%s'.format([dyn({expression})])"}
    assert answers(rule) == [f"Invalid value: {VALUES[expression]}"]


@pytest.mark.parametrize("rule", HOLD)
def test_a_rule_holds(rule):
    assert answers(rule) == []


@pytest.mark.parametrize("rule", FAIL)
def test_a_rule_is_broken(rule):
    assert answers(rule) == [f"Invalid value: failed rule: {rule}"]


@pytest.mark.parametrize("rule", NO_VALUE)
def test_a_rule_without_a_value_says_why(rule):
    [answer] = answers(rule)
    why = NO_VALUE[rule]
    assert answer.startswith(
        (f'Invalid value: "object": {why} evaluating', f"Invalid value: \"object\": '{why}': call")
    )


@pytest.mark.parametrize("rule", REFUSED)
def test_a_rule_that_does_not_compile_is_refused(rule):
    [compiled] = validations.Checks.of(of(FIELDS, rule)).rules
    lines = compiled.error.split("\n")[::3]
    assert [line.rpartition("ERROR: <input>:")[2] for line in lines] == REFUSED[rule]


def test_a_refusal_points_to_the_place(api):
    [(field, words)] = refusals(api, of({"i": NUMBER}, "self.i > 0 &&\n  self.j > 0") | {})
    assert (field, words) == (
        f".{RULES}[0].message",
        "Required value: message must be specified if rule contains line breaks",
    )
    rule = {"rule": "self.i > 0 &&\n  self.j > 0", "message": "no"}
    [(field, words)] = refusals(api, of({"i": NUMBER}, rule))
    assert field == f".{RULES}[0].rule"
    assert words.endswith("compilation failed: ERROR: <input>:2:7: undefined field 'j'\n |   self.j > 0\n | ......^")
    shown = '{"Rule":"self.i \\u003e 0 \\u0026\\u0026\\n  self.j \\u003e 0","Message":"no","MessageExpression":"",'
    assert words.startswith(f'Invalid value: {shown}"Reason":null,"FieldPath":"","OptionalOldSelf":null}}: ')


# --- what a rule says about itself ---

ODD_RULES = [
    ({"rule": " "}, "rule", "Required value: rule is not specified"),
    ({"message": " "}, "message", 'Invalid value: " ": must be non-empty if specified'),
    ({"message": "a\nb"}, "message", 'Invalid value: "a\\nb": must not contain line breaks'),
    (
        {"messageExpression": " "},
        "messageExpression",
        "Required value: messageExpression must be non-empty if specified",
    ),
    ({"messageExpression": "self.i"}, "messageExpression", "messageExpression must evaluate to a string"),
    ({"messageExpression": "self.x"}, "messageExpression", "undefined field 'x'"),
    ({"reason": "Nope"}, "reason", 'Unsupported value: "Nope": supported values: "FieldValueDuplicate", '),
    ({"fieldPath": "i"}, "fieldPath", 'Invalid value: "i": must be a valid path'),
    ({"fieldPath": ".x"}, "fieldPath", 'Invalid value: ".x": must be a valid path'),
    ({"fieldPath": ".l[0]"}, "fieldPath", "must be a valid path"),
    ({"fieldPath": "."}, "fieldPath", "must be a valid path"),
    (
        {"optionalOldSelf": True},
        "optionalOldSelf",
        "Invalid value: true: may not be set if oldSelf is not used in rule",
    ),
    ({"rule": "self.i"}, "rule", "cel expression must evaluate to a bool"),
]
FIELDS_OF_ODD = {"i": NUMBER, "l": {"type": "array", "items": TEXT}}


@pytest.mark.parametrize(("given", "field", "words"), ODD_RULES)
def test_an_odd_rule_is_refused(api, given, field, words):
    [(at, found)] = refusals(api, of(FIELDS_OF_ODD, {"rule": "self.i > 1", **given}))
    assert (at, words in found) == (f".{RULES}[0].{field}", True)


def test_rules_are_not_compiled_while_the_schema_is_wrong(api):
    [(field, _)] = refusals(api, of({"a": {"type": "nosuch"}}, "self.x"))
    assert field == ".properties[a].type"


def test_a_rule_needs_to_know_what_it_is_about(api):
    [(field, words)] = refusals(api, of({"a": ruled("true", **{"x-kubernetes-preserve-unknown-fields": True})}))
    assert field == f".properties[a].{RULES}"
    assert words.endswith("unable to convert structural schema to CEL declarations")


def test_nobody_knows_what_an_item_of_a_plain_list_was(api):
    item = of({"b": ruled("self == oldSelf", type="string")})
    [(field, words)] = refusals(api, of({"a": {"type": "array", "items": item}}))
    assert field == f".properties[a].items.properties[b].{RULES}[0].rule"
    assert "oldSelf cannot be used on the uncorrelatable portion of the schema within " in words


def test_a_default_keeps_the_rules(api):
    [(field, words)] = refusals(api, of({"a": ruled("self > 5", type="integer", default=1)}))
    assert (field, words) == (".properties[a].default", "Invalid value: 1: failed rule: self > 5")


# --- objects ---


def test_words_are_those_of_the_rule(api):
    rules = [
        {"rule": "self.i > 2", "message": " two "},
        {"rule": "self.i > 3", "messageExpression": "'got ' + self.s"},
        {"rule": "self.i > 4", "reason": "FieldValueForbidden", "fieldPath": ".s"},
        {"rule": "self.i > 5", "reason": "FieldValueRequired"},
        {"rule": "self.i > 6", "reason": "FieldValueDuplicate", "message": "dup"},
    ]
    found = said(api, of({"i": NUMBER, "s": TEXT}, *rules), {"i": 0, "s": "a"})
    assert found == [
        ("spec", "Invalid value: two"),
        ("spec", "Invalid value: got a"),
        ("spec.s", "Forbidden: failed rule: self.i > 4"),
        ("spec", "Required value: failed rule: self.i > 5"),
        ("spec", "Duplicate value"),
    ]


@pytest.mark.parametrize("given", [{"i": 0}, {"i": 0, "s": "a\nb"}, {"i": 0, "s": " "}, {"i": 0, "s": "x" * 6000}])
def test_a_message_that_cannot_be_said_is_not(api, given):
    rule = {"rule": "self.i > 3", "messageExpression": "self.s"}
    assert said(api, of({"i": NUMBER, "s": TEXT}, rule), given) == [("spec", "Invalid value: failed rule: self.i > 3")]


def test_values_are_shown_unless_they_are_big(api):
    fields = {
        "i": ruled("self > 1", type="integer"),
        "l": ruled("self.size() == 1", type="array", items=ruled("self != 'z'", type="string")),
        "m": {"type": "object", "additionalProperties": ruled("self < 5", type="integer")},
        "q": ruled("self > 5", **{"x-kubernetes-int-or-string": True}),
    }
    assert said(api, of(fields), {"i": 0, "l": ["z", "y"], "m": {"a.b": 7, "c": 1}, "q": "x"}) == [
        ("spec.i", "Invalid value: 0: failed rule: self > 1"),
        ("spec.l", "Invalid value: failed rule: self.size() == 1"),
        ("spec.l[0]", "Invalid value: \"z\": failed rule: self != 'z'"),
        ("spec.m[a.b]", "Invalid value: 7: failed rule: self < 5"),
        (
            "spec.q",
            "Invalid value: \"\": 'no such overload': call arguments did not match a supported operator, function or "
            "macro signature for rule: self > 5",
        ),
    ]


def test_rules_of_the_whole_see_its_name(api):
    rules = [{"rule": "self.metadata.name.size() > 3", "message": "short"}, "self.kind == 'Gadget'"]
    found = said(api, {"type": "object"}, {}, **ruled(*rules))
    assert found == [("<nil>", "Invalid value: short"), ("<nil>", "Invalid value: failed rule: self.kind == 'Gadget'")]


def test_rules_count_on_the_schema(api):
    found = said(api, of({"i": NUMBER}, "self.i > 1"), {"i": "x"})
    assert found[0][0] == "spec.i"
    assert found[1] == (
        "<nil>",
        f"Invalid value: null: {UNCHECKED}; correct the existing errors to complete validation",
    )
    assert len(found) == 2


def test_what_is_null_is_not_asked_and_not_there(api):
    field = ruled("self == 'a'", type="string", nullable=True)
    assert said(api, of({"a": field}, "!has(self.a)"), {"a": None}) == []


# --- changes ---

FIXED = {"rule": "self.s == oldSelf.s", "fieldPath": ".s", "message": "fixed"}
GROWS = {"i": ruled({"rule": "self >= oldSelf", "message": "shrinks"}, type="integer"), "s": TEXT}


def test_a_rule_about_changes_is_not_asked_of_what_is_new(api):
    assert said(api, of(GROWS, FIXED), {"i": 5, "s": "a"}) == []


def test_a_change_that_breaks_rules_is_refused(api):
    found = changed(api, of(GROWS, FIXED), {"i": 5, "s": "a"}, {"i": 4, "s": "b"})
    assert found == [("spec.s", "Invalid value: fixed"), ("spec.i", "Invalid value: 4: shrinks")]


def test_a_field_that_comes_has_nothing_to_be_compared_with(api):
    assert changed(api, of(GROWS, FIXED), {"s": "a"}, {"s": "a", "i": 3}) == []


def test_items_with_keys_are_compared_with_what_they_were(api):
    item = of({"name": TEXT, "v": ruled("self >= oldSelf", type="integer")}, required=["name"])
    keyed = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
    before = {"l": [{"name": "a", "v": 5}, {"name": "b", "v": 1}]}
    after = {"l": [{"name": "c", "v": 0}, {"name": "b", "v": 1}, {"name": "a", "v": 4}]}
    found = changed(api, of({"l": {"type": "array", "items": item, **keyed}}), before, after)
    assert found == [("spec.l[2].v", "Invalid value: 4: failed rule: self >= oldSelf")]


def test_the_order_of_a_set_is_no_difference(api):
    of_texts = {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"}
    assert changed(api, of({"l": of_texts}, "self.l == oldSelf.l"), {"l": ["a", "b"]}, {"l": ["b", "a"]}) == []


def test_fields_that_no_rule_can_name_still_tell_objects_apart(api):
    any_fields = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    found = changed(api, of({"o": any_fields}, "self.o == oldSelf.o"), {"o": {"x": 1}}, {"o": {"x": 2}})
    assert found == [("spec", "Invalid value: failed rule: self.o == oldSelf.o")]


def test_an_old_value_that_may_be_missing_is_optional(api):
    rule = {"rule": "oldSelf.hasValue() || self.i > 1", "optionalOldSelf": True}
    found = said(api, of({"i": NUMBER}, rule), {"i": 1})
    assert found == [("spec", "Invalid value: failed rule: oldSelf.hasValue() || self.i > 1")]


def test_what_was_wrong_before_and_did_not_change_is_let_be(api):
    schema = of({"i": NUMBER, "s": TEXT, "o": of({"n": NUMBER})})
    api.create(DEFINITIONS, definition(schema))
    made = api.create(WIDGETS, widget({"o": {"n": 1}, "s": "a"}))
    stricter = of({"i": NUMBER, "s": TEXT, "o": of({"n": NUMBER}, "self.n > 5")})
    now = api.get(f"{DEFINITIONS}/widgets.example.com")
    api.ask("PUT", f"{DEFINITIONS}/widgets.example.com", {**definition(stricter), "metadata": now["metadata"]})
    other = {**made, "spec": {"o": {"n": 1}, "s": "b"}}
    assert causes(api, "PUT", f"{WIDGETS}/a", other) == []
    worse = {**api.get(f"{WIDGETS}/a"), "spec": {"o": {"n": 2}}}
    assert causes(api, "PUT", f"{WIDGETS}/a", worse) == [("spec.o", "Invalid value: failed rule: self.n > 5")]


def test_a_status_is_held_against_rules_too(api):
    api.create(DEFINITIONS, definition(of({"i": NUMBER}), of({"n": NUMBER}, "self.n < 5")))
    made = api.create(WIDGETS, widget({"i": 1}))
    found = causes(api, "PUT", f"{WIDGETS}/a/status", {**made, "status": {"n": 7}})
    assert found == [("status", "Invalid value: failed rule: self.n < 5")]


def test_patches_and_applies_are_held_against_rules(api):
    api.create(DEFINITIONS, definition(of({"i": NUMBER}, "self.i < 5")))
    api.create(WIDGETS, widget({"i": 1}))
    broken = [("spec", "Invalid value: failed rule: self.i < 5")]
    path, patch = f"{WIDGETS}/a", {"spec": {"i": 7}}
    assert causes(api, "PATCH", path, patch, content_type="application/merge-patch+json") == broken
    assert causes(api, "PATCH", f"{path}?fieldManager=x&force=true", widget({"i": 7}), content_type=APPLY) == broken


# --- what would keep the server busy, or end it ---

LONG, MANY = "x" * 100_000, list(range(2000))
DOUBLED = ".map(x, [x, x])" * 40
ENDLESS = [
    "self.l.all(x, self.l.all(y, self.l.all(z, x + y + z >= 0)))",
    f"[self.s]{'.map(x, x + x)' * 40}.size() > 0",
    f"[0]{DOUBLED} == [0]{DOUBLED}",
    f"'%s'.format([[0]{DOUBLED}]).size() > 0",
    "self.s.replace('', self.s).size() > 0",
    "self.l.map(x, 'a').join(self.s).size() > 0",
    "lists.range(9223372036854775807).size() > 0",
    "self.s.findAll('x').size() > 0",
    "self.l.all(x, self.s.matches('(x*)*y') || true)",
]


@pytest.mark.parametrize("rule", ENDLESS)
def test_a_rule_that_takes_too_many_steps_is_given_up(api, rule):
    [(field, words)] = said(api, of({"s": TEXT, "l": {"type": "array", "items": NUMBER}}, rule), {"s": LONG, "l": MANY})
    assert field == "spec"
    assert "'operation cancelled: actual cost limit exceeded': no further validation rules will be run" in words


def test_all_rules_of_an_object_have_one_budget(api):
    many = [f"self.l.all(x, self.l.all(y, x + y >= {-n})) || true" for n in range(40)]
    given = {"l": list(range(250))}
    found = said(api, of({"l": {"type": "array", "items": NUMBER}}, *many), given)
    assert found == [
        (
            "spec",
            'Invalid value: "object": validation failed due to running out of cost budget, no further validation rules '
            "will be run",
        )
    ]


DEEP = [
    f"{'(' * 300}true{')' * 300}",
    f"{'[' * 300}{']' * 300} == []",
    f"true{' ? true : true' * 300}",
    f"{'1 + ' * 300}1 > 0",
    f"self{'.o' * 300} == 1",
    f"'a'{'[0]' * 300} == 1",
]


@pytest.mark.parametrize("rule", DEEP)
def test_a_rule_that_nobody_goes_through_is_not_evaluated_and_that_is_said(api, rule):
    answer = api.answer("POST", DEFINITIONS, definition(of({"i": NUMBER}, rule)))
    assert answer.code == 201
    [warning] = answer.warnings
    assert warning.endswith("this rule in CEL is not evaluated, objects that break it are taken")


ODD = [
    "",
    "\0",
    "a\0b",
    "\x7f",
    "self\0",
    "'",
    '"""',
    "'\\",
    "'\\x'",
    "'\\ud800' == ''",
    "`a`.b",
    "1" * 500,
    "1e999 > 0.0",
]
ODD += [
    "0x",
    "-9223372036854775809 > 0",
    "a.b.c.d()",
    "self.(1)",
    "{1:2",
    "[,]",
    "[1,,2]",
    "self..i",
    "@",
    "#",
    "é == 1",
]
ODD += [
    "has()",
    "has(1)",
    "self.all(1, true)",
    "self.all(x)",
    "in",
    "a in",
    "?",
    "true ? 1",
    "x" * 100_001,
]


@pytest.mark.parametrize("rule", ODD)
def test_odd_text_is_refused_or_not_evaluated(api, rule):
    answer = api.answer("POST", DEFINITIONS, definition(of({"i": NUMBER}, rule)))
    assert answer.code == 422 or answer.warnings


def test_texts_do_not_end_at_a_zero(api):
    rule = "self.s != 'a'"
    assert said(api, of({"s": TEXT}, rule), {"s": "a\0b"}) == []


@pytest.mark.parametrize("text", ["1e400", "-0.0", "1e308", "123456789012345678901234567890"])
def test_numbers_at_the_edge_have_an_answer(api, text):
    api.create(DEFINITIONS, definition(of({"n": {"type": "number"}}, "self.n * 10.0 > 0.0", "int(self.n) > 0")))
    body = json.dumps(widget({"n": 0})).replace('"n": 0', f'"n": {text}').encode()
    assert api.answer("POST", WIDGETS, body).code in (201, 400, 422)


def test_rules_reach_as_deep_as_a_schema_may_be(api):
    rule = {"rule": "self == oldSelf", "message": "fixed"}
    schema, before, after = ruled(rule, type="integer"), 1, 2
    for _ in range(95):
        schema, before, after = of({"a": schema}, rule), {"a": before}, {"a": after}
    found = changed(api, schema, before, after)
    assert [words for _, words in found] == ["Invalid value: fixed"] * 95 + ["Invalid value: 2: fixed"]


def test_a_schema_that_is_too_deep_has_no_rules_to_warn_of():
    schema = ruled("isURL(self)", type="string")
    for _ in range(700):
        schema = of({"a": schema})
    assert not_evaluated(schema, "spec") == []


def keyed(*rules):
    items = of({"k": TEXT, "v": NUMBER}, *rules, required=["k"])
    return {"type": "array", "items": items, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}


@pytest.mark.parametrize("rules", [[], ["self.v == oldSelf.v"]], ids=["by its schema", "by rules"])
def test_a_long_list_with_keys_is_compared_in_time_as_it_is_long(api, rules):
    # going through the old list for each item took minutes
    before = [{"k": str(number), "v": 0} for number in range(20_000)]
    found = changed(api, of({"l": keyed(*rules)}), {"l": before}, {"l": [*before[:-1], {"k": "19999", "v": 1}]})
    assert [field for field, _ in found] == (["spec.l[19999]"] if rules else [])


def test_what_is_said_of_many_items_ends_somewhere(api):
    rule = {"rule": "self > 5", "message": "m" * 2000}
    schema = of({"l": {"type": "array", "items": ruled(rule, type="integer")}})
    found = said(api, schema, {"l": [1] * 5000})
    assert len(found) < 1100
    assert found[-1][1].endswith("running out of cost budget, no further validation rules will be run")


def test_reading_an_object_for_each_level_that_has_rules_counts(api):
    schema, given = ruled("true", type="array", items=NUMBER), [1] * 50_000
    for _ in range(80):
        schema, given = of({"a": schema}, "true"), {"a": given}
    [(_, words)] = said(api, schema, given)
    assert "running out of cost budget" in words


def test_a_rule_is_compiled_once_however_many_defaults_are_around_it(api, monkeypatch):
    compiled = []
    compile_expression = validations.compile_expression
    monkeypatch.setattr(
        validations, "compile_expression", lambda *given: compiled.append(given) or compile_expression(*given)
    )
    schema = ruled("self != 'innermost'", **TEXT, default="x")
    for _ in range(10):
        schema = of({"a": schema}, default={})
    assert refusals(api, schema) == []
    assert len(compiled) == 1
