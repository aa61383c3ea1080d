"""What is stored is found again, in order, by version, and after the death of the process."""

import contextlib
import sqlite3
import subprocess
import sys

import pytest

from muster.base.errors import LocalError
from muster.local.log import SqliteLog
from muster.local.store import Store, Stored, What


def stored(store, name, *, namespace="default", data=b"{}", **labels):
    return Stored(namespace, name, f"uid-{name}", store.version + 1, data, labels, {})


def put(store, name, **options):
    return store.put("pods", stored(store, name, **options))


def delete(store, name):
    return store.delete("pods", stored(store, name))


def names(store, namespace=""):
    return [one.name for one in store.list("pods", namespace)]


def test_every_change_has_a_version_of_its_own():
    store = Store()
    assert [put(store, "a").now.version, put(store, "a").now.version, delete(store, "a").now.version] == [1, 2, 3]


def test_lists_are_ordered_by_namespace_and_name():
    store = Store()
    for name, namespace in (("b", "x"), ("a", "y"), ("a", "x")):
        put(store, name, namespace=namespace)
    assert [one.key for one in store.list("pods")] == [("x", "a"), ("x", "b"), ("y", "a")]
    assert names(store, "y") == ["a"]


def test_a_list_does_not_change_after_it_was_read():
    store = Store()
    put(store, "a")
    before = store.list("pods")
    put(store, "a", data=b'{"new":1}')
    delete(store, "a")
    assert [one.data for one in before] == [b"{}"]


def test_history_tells_what_happened_and_to_what():
    store = Store()
    put(store, "a")
    put(store, "a", data=b"[]")
    delete(store, "a")
    assert [(one.what, one.before and one.before.data) for one in store.since("pods", 0)] == [
        (What.ADDED, None),
        (What.MODIFIED, b"{}"),
        (What.DELETED, b"[]"),
    ]


def test_history_is_of_one_kind():
    store = Store()
    put(store, "a")
    store.put("nodes", stored(store, "n"))
    assert [one.now.name for one in store.since("nodes", 0)] == ["n"]


def test_history_is_forgotten_after_a_while_and_says_so():
    store = Store(history=2)
    for name in "abcd":
        put(store, name)
    assert store.since("pods", 1) is None
    assert [one.now.name for one in store.since("pods", 2)] == ["c", "d"]


def test_watchers_are_told_until_they_leave():
    store, heard = Store(), []
    store.watch("pods", heard.append)
    put(store, "a")
    store.unwatch("pods", heard.append)
    put(store, "b")
    assert [one.now.name for one in heard] == ["a"]


def test_a_log_brings_everything_back(tmp_path):
    log = SqliteLog(tmp_path / "data.sqlite")
    store = Store(log)
    put(store, "a", app="x")
    put(store, "b")
    put(store, "a", data=b'{"a":1}', app="y")
    delete(store, "b")
    log.close()
    again = Store(SqliteLog(tmp_path / "data.sqlite"))
    assert names(again) == ["a"]
    found = again.get("pods", "default", "a")
    assert (found.data, found.labels, found.version) == (b'{"a":1}', {"app": "y"}, 3)
    assert again.version == 4, "versions go on where they were"
    assert again.since("pods", 2) is None, "what was superseded is forgotten"
    assert list(again.since("pods", 4)) == []


def test_a_log_does_not_grow_with_what_was_superseded(tmp_path, monkeypatch):
    monkeypatch.setattr("muster.local.log._TIDY_AFTER", 10)
    log = SqliteLog(tmp_path / "data.sqlite")
    store = Store(log)
    for _ in range(100):
        put(store, "a")
    put(store, "b")
    log.close()
    with contextlib.closing(sqlite3.connect(tmp_path / "data.sqlite")) as database:
        assert database.execute("SELECT count(*) FROM log").fetchone()[0] <= 12
    assert names(Store(SqliteLog(tmp_path / "data.sqlite"))) == ["a", "b"]


def test_a_folder_serves_one_process_at_a_time(tmp_path):
    log = SqliteLog(tmp_path / "data.sqlite")
    Store(log)
    second = (
        "import sys; from pathlib import Path; from muster.local.log import SqliteLog; SqliteLog(Path(sys.argv[1]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", second, str(tmp_path / "data.sqlite")], capture_output=True, text=True, check=False
    )
    assert "another process uses this cluster's folder" in done.stderr


def test_what_is_no_log_is_said_to_be_none(tmp_path):
    (tmp_path / "data.sqlite").write_bytes(b"something else entirely, and long enough to be looked at" * 100)
    with pytest.raises(LocalError, match="cannot be read"):
        SqliteLog(tmp_path / "data.sqlite")
