"""Table and PartialObjectMetadata documents, as a real kube-apiserver 1.37.1 writes them."""

from __future__ import annotations

import json

import pytest

from muster.api.times import stamp
from muster.local.kinds import tables
from muster.local.kinds.kind import Kind
from muster.local.kinds.rows import ROWS

NOW = 1_800_000_000.0
META = {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "389", "creationTimestamp": stamp(NOW)}
POD = {
    "kind": "Pod",
    "apiVersion": "v1",
    "metadata": META,
    "spec": {"containers": [{"name": "c", "image": "i"}]},
    "status": {"phase": "Pending"},
}
PODS, DEFINITIONS = (
    next(kind.table for kind in ROWS if kind.plural == name) for name in ("pods", "customresourcedefinitions")
)
CELLS = ["a", "0/1", "Pending", "0", "0s", "<none>", "<none>", "<none>", "<none>"]
PARTIAL = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": META}


def pods(*objects, include="Metadata", **more):
    return tables.as_table(PODS, objects, now=NOW, include=include, list_meta={"resourceVersion": "389"}, **more)


def bookmark(**meta):
    empty = {"spec": {"containers": None}, "status": {}}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": {"resourceVersion": "390", **meta}, **empty}


def test_a_table_has_its_parts_in_their_order():
    assert list(pods(POD)) == ["kind", "apiVersion", "metadata", "columnDefinitions", "rows"]


def test_a_table_of_one_pod():
    table = pods(POD)
    assert (table["kind"], table["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    assert table["metadata"] == {"resourceVersion": "389"}
    assert table["rows"] == [{"cells": CELLS, "object": PARTIAL}]


def test_columns_are_defined_without_descriptions():
    first, *_, last = pods(POD)["columnDefinitions"]
    assert first == {"name": "Name", "type": "string", "format": "name", "description": "", "priority": 0}
    assert last == {"name": "Readiness Gates", "type": "string", "format": "", "description": "", "priority": 1}


def test_later_events_of_a_watch_have_no_definitions():
    assert pods(POD, with_definitions=False)["columnDefinitions"] is None


@pytest.mark.parametrize(("include", "included"), [("Metadata", PARTIAL), ("Object", POD), ("None", None)])
def test_rows_include_what_was_asked_for(include, included):
    assert pods(POD, include=include)["rows"] == [{"cells": CELLS, "object": included}]


@pytest.mark.parametrize(
    ("phase", "message"), [("Succeeded", "The pod has completed successfully."), ("Failed", "The pod failed.")]
)
def test_a_row_says_that_its_pod_is_done(phase, message):
    (row,) = pods(POD | {"status": {"phase": phase}})["rows"]
    assert row["conditions"] == [{"type": "Completed", "status": "True", "reason": phase, "message": message}]
    assert list(row) == ["cells", "conditions", "object"]


def test_a_bookmark_is_a_row_with_nothing_in_it():
    (row,) = pods(bookmark(), include="None")["rows"]
    cells = ["", "0/0", "", "0", "<unknown>", "<none>", "<none>", "<none>", "<none>"]
    assert row == {"cells": cells, "object": None}


def test_the_end_of_initial_events_is_told_even_if_no_objects_are_included():
    mark = bookmark(annotations={"k8s.io/initial-events-end": "true"})
    (row,) = pods(mark, include="None")["rows"]
    assert row["object"] == PARTIAL | {"metadata": mark["metadata"]}


@pytest.mark.parametrize("kind", ROWS, ids=lambda kind: kind.resource)
def test_every_table_has_a_row_for_a_bookmark(kind):
    cells = kind.table.cells({"metadata": {"resourceVersion": "1"}}, NOW)
    assert len(cells) == len(kind.table.columns)
    assert json.dumps(cells)


def test_no_rows_are_an_empty_list_for_most_kinds():
    assert pods()["rows"] == []


def test_no_rows_are_null_for_some_kinds():
    assert tables.as_table(DEFINITIONS, (), now=NOW, include="Metadata", list_meta={})["rows"] is None


def test_the_older_version_of_the_document():
    table = pods(POD, version="v1beta1")
    assert table["apiVersion"] == "meta.k8s.io/v1beta1"
    assert table["rows"][0]["object"]["apiVersion"] == "meta.k8s.io/v1beta1"


def test_metadata_alone():
    assert tables.as_partial(POD) == PARTIAL
    assert tables.as_partial_list([POD], list_meta={"resourceVersion": "1"}) == {
        "kind": "PartialObjectMetadataList",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {"resourceVersion": "1"},
        "items": [PARTIAL],
    }


@pytest.mark.parametrize("asked", ["", "Metadata", "Object", "None"])
def test_what_may_be_included(asked):
    assert not tables.include_problem(asked)


def test_what_may_not_be_included():
    assert tables.include_problem("Bad") == (
        'Unable to convert to Table as requested: includeObject: Invalid value: "Bad": '
        "must be 'Metadata', 'Object', 'None', or empty"
    )


def test_a_kind_without_a_table_shows_names_and_ages():
    shown = tables.default_table(Kind(group="g", version="v1", name="X", plural="xs", type_name=""))
    assert [column.name for column in shown.columns] == ["Name", "Age"]
