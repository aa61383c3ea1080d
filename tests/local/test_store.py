"""What is stored is found again, in order, by version, and after the death of the process."""

import contextlib
import json
import os
import sqlite3
import stat
import subprocess
import sys

import pytest

from muster.base.errors import LocalError
from muster.local.store.log import FORMAT, SqliteLog
from muster.local.store.store import NotWritten, Store, Stored, What


def stored(store, name, *, namespace="default", size=0, **labels):
    meta = {"name": name, "uid": f"uid-{name}", "labels": labels}
    data = json.dumps({"metadata": meta, "data": "x" * size}).encode()
    return Stored(namespace, name, f"uid-{name}", store.version + 1, data, labels, {})


def size_of(one):
    return len(json.loads(one.data)["data"])


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
    put(store, "a", size=5)
    delete(store, "a")
    assert [size_of(one) for one in before] == [0]


def test_history_tells_what_happened_and_to_what():
    store = Store()
    put(store, "a")
    put(store, "a", size=5)
    delete(store, "a")
    assert [(one.what, one.before and size_of(one.before)) for one in store.since("pods", 0)] == [
        (What.ADDED, None),
        (What.MODIFIED, 0),
        (What.DELETED, 5),
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


def test_history_is_forgotten_by_its_size_too():
    store = Store(history_bytes=10_000)
    for _ in range(20):
        put(store, "a", size=1_000)
    assert store.since("pods", 5) is None
    kept = list(store.since("pods", store.oldest))
    assert 5 < len(kept) < 10
    store.delete("pods", stored(store, "a", size=1_000))
    assert [one.what for one in store.since("pods", 20)] == [What.DELETED]


def test_what_is_only_made_does_not_shorten_history():
    store = Store(history_bytes=10_000)
    for number in range(100):
        put(store, f"a{number}", size=1_000)
    assert len(list(store.since("pods", 0))) == 100, "these objects are there anyway"


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
    put(store, "a", size=5, app="y")
    delete(store, "b")
    log.close()
    again = Store(SqliteLog(tmp_path / "data.sqlite"))
    assert names(again) == ["a"]
    found = again.get("pods", "default", "a")
    assert (size_of(found), found.labels, found.uid, found.version) == (5, {"app": "y"}, "uid-a", 3)
    assert again.version == 4, "versions go on where they were"
    assert again.since("pods", 2) is None, "what was superseded is forgotten"
    assert list(again.since("pods", 4)) == []


def test_a_log_does_not_grow_with_what_was_superseded(tmp_path, monkeypatch):
    monkeypatch.setattr("muster.local.store.log._TIDY_AFTER", 10)
    log = SqliteLog(tmp_path / "data.sqlite")
    store = Store(log)
    for _ in range(100):
        put(store, "a")
    put(store, "b")
    log.close()
    with contextlib.closing(sqlite3.connect(tmp_path / "data.sqlite")) as database:
        assert database.execute("SELECT count(*) FROM log").fetchone()[0] <= 12
    assert names(Store(SqliteLog(tmp_path / "data.sqlite"))) == ["a", "b"]


def test_a_file_shrinks_when_what_it_held_is_gone(tmp_path, monkeypatch):
    monkeypatch.setattr("muster.local.store.log._TIDY_AFTER_BYTES", 1 << 20)
    path = tmp_path / "data.sqlite"
    log = SqliteLog(path)
    store = Store(log)
    for number in range(50):
        put(store, f"a{number}", size=100_000)
    for number in range(50):
        delete(store, f"a{number}")
    log.close()
    SqliteLog(path).close()
    assert path.stat().st_size < 1 << 20


def test_what_shrinks_leaves_no_log_of_its_size_beside_it(tmp_path):
    path = tmp_path / "data.sqlite"
    log = SqliteLog(path)
    store = Store(log)
    for _ in range(50):
        put(store, "a", size=100_000)
    put(store, "a")
    log.close()
    log = SqliteLog(path)
    assert path.stat().st_size + path.with_name("data.sqlite-wal").stat().st_size < 1 << 20
    log.close()


def test_a_deletion_writes_no_copy_of_what_goes(tmp_path):
    log = SqliteLog(tmp_path / "data.sqlite")
    store = Store(log)
    put(store, "a", size=1_000_000)
    before = sum(file.stat().st_size for file in tmp_path.iterdir())
    store.delete("pods", stored(store, "a", size=1_000_000))
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) < before + 100_000
    log.close()
    again = Store(SqliteLog(tmp_path / "data.sqlite"))
    assert (names(again), again.version) == ([], 2)


def test_a_change_is_written_even_if_the_file_cannot_be_tidied(tmp_path, monkeypatch):
    monkeypatch.setattr("muster.local.store.log._TIDY_AFTER", 3)
    monkeypatch.setattr(
        "muster.local.store.log._SUPERSEDED", "DELETE FROM log WHERE version IN (SELECT x FROM nowhere)"
    )
    database = sqlite3.connect(tmp_path / "data.sqlite")
    database.close()
    with monkeypatch.context() as opening:
        opening.setattr("muster.local.store.log._SUPERSEDED", "SELECT 1")
        log = SqliteLog(tmp_path / "data.sqlite")
    store = Store(log)
    for name in "abcdefgh":
        put(store, name)
    assert store.version == 8
    log.close()
    monkeypatch.undo()
    assert names(Store(SqliteLog(tmp_path / "data.sqlite"))) == list("abcdefgh")


def test_what_is_stored_can_be_read_although_the_disk_is_full(tmp_path, monkeypatch):
    path = tmp_path / "data.sqlite"
    log = SqliteLog(path)
    store = Store(log)
    for size in (1, 2):
        put(store, "a", size=size)
    log.close()

    def full(_):
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(SqliteLog, "_shrink", full)
    assert names(Store(SqliteLog(path))) == ["a"]


def test_a_write_that_failed_leaves_nothing_in_the_way_of_the_next(tmp_path):
    class Failing(SqliteLog):
        fails = False

        def append(self, storage, stored, *, deleted):
            super().append(storage, stored, deleted=deleted)
            if self.fails:
                raise NotWritten("disk I/O error")

    log = Failing(tmp_path / "data.sqlite")
    store = Store(log)
    put(store, "a")
    log.fails = True
    with pytest.raises(NotWritten):
        put(store, "refused")
    log.fails = False
    put(store, "b")
    log.close()
    assert names(store) == ["a", "b"]
    assert names(Store(SqliteLog(tmp_path / "data.sqlite"))) == ["a", "b"], "what was refused does not come back"


def test_what_the_file_cannot_take_is_said_to_be_not_written(tmp_path):
    log = SqliteLog(tmp_path / "data.sqlite")
    store = Store(log)
    put(store, "a")
    log.close()
    with pytest.raises(NotWritten, match="cannot be written"):
        put(store, "b")
    assert names(store) == ["a"]


@pytest.mark.parametrize("damage", [b"nonsense", b"[]", b'{"metadata":null}', b'{"metadata":{"labels":7}}'])
def test_an_object_that_cannot_be_read_is_told_in_one_line(tmp_path, damage):
    path = tmp_path / "data.sqlite"
    log = SqliteLog(path)
    put(Store(log), "a")
    log.close()
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE log SET data = ?", (damage,))
    log = SqliteLog(path)
    with pytest.raises(LocalError, match=r"cannot be read: .* in .*/a .*move it away"):
        Store(log)
    log.close()


def test_nobody_else_can_read_the_file(tmp_path):
    before = os.umask(0o022)
    try:
        path = tmp_path / "data.sqlite"
        path.touch(mode=0o644)
        log = SqliteLog(path)
        put(Store(log), "secret")
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
        log.close()
    finally:
        os.umask(before)
    assert modes == dict.fromkeys(modes, 0o600)
    assert "data.sqlite-wal" in modes


OLD = """
CREATE TABLE log (version INTEGER PRIMARY KEY, storage TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,
    uid TEXT NOT NULL, labels TEXT NOT NULL, fields TEXT NOT NULL, deleted INTEGER NOT NULL, data BLOB NOT NULL)
"""


def test_a_file_of_the_first_format_is_taken_over(tmp_path):
    path = tmp_path / "data.sqlite"
    data = b'{"metadata":{"name":"a","uid":"1","labels":{"app":"x"}}}'
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute(OLD)
        database.execute("INSERT INTO log VALUES (7, 'pods', 'default', 'a', '1', '{}', '{}', 0, ?)", (data,))
        database.commit()
    for _ in range(2):
        log = SqliteLog(path)
        store = Store(log)
        log.close()
        assert (names(store), store.version) == (["a"], 7)
        assert store.get("pods", "default", "a").labels == {"app": "x"}


def test_a_file_of_a_newer_format_is_refused_in_words(tmp_path):
    path = tmp_path / "data.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute(f"PRAGMA user_version={FORMAT + 1}")
        database.commit()
    with pytest.raises(LocalError, match="of format 3, of a newer muster"):
        SqliteLog(path)


def test_a_folder_serves_one_process_at_a_time(tmp_path):
    log = SqliteLog(tmp_path / "data.sqlite")
    Store(log)
    second = (
        "import sys; from pathlib import Path; from muster.local.store.log import SqliteLog\n"
        "SqliteLog(Path(sys.argv[1]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", second, str(tmp_path / "data.sqlite")], capture_output=True, text=True, check=False
    )
    assert "another process uses this cluster's folder" in done.stderr


def test_what_is_no_log_is_said_to_be_none(tmp_path):
    (tmp_path / "data.sqlite").write_bytes(b"something else entirely, and long enough to be looked at" * 100)
    with pytest.raises(LocalError, match="cannot be read"):
        SqliteLog(tmp_path / "data.sqlite")
