"""A cluster's folder is its owner's, and nobody else's."""

import os
import stat
import threading

import pytest

from muster.base.errors import LocalError
from muster.local.process.certificates import Authority
from muster.local.process.identity import Identity
from tests.local.processes import Server

MAPS = "/api/v1/namespaces/default/configmaps"


def test_the_files_are_for_nobody_else(tmp_path):
    before = os.umask(0o022)
    try:
        with Server(tmp_path / "cluster") as server, server.api() as api:
            api.request("POST", MAPS, {"metadata": {"name": "one"}})
            modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in server.folder.iterdir()}
    finally:
        os.umask(before)
    assert modes == dict.fromkeys(modes, 0o600)
    assert {"data.sqlite", "data.sqlite-wal", "token", "server.key"} <= modes.keys()


def test_a_token_that_others_can_write_is_not_trusted(tmp_path):
    folder = tmp_path / "cluster"
    Identity(folder)
    (folder / "token").chmod(0o622)
    with pytest.raises(LocalError, match="others may write to the cluster's folder"):
        Identity(folder)


def test_a_folder_that_others_can_write_to_is_not_trusted(tmp_path):
    folder = tmp_path / "cluster"
    Identity(folder)
    folder.chmod(0o777)
    with pytest.raises(LocalError, match=r"others may write to the cluster's folder .*chmod go-w"):
        Identity(folder)


def test_somebody_elses_folder_is_not_trusted(tmp_path, monkeypatch):
    folder = tmp_path / "cluster"
    Identity(folder)
    monkeypatch.setattr("os.geteuid", lambda: os.stat(folder).st_uid + 1)
    with pytest.raises(LocalError, match="the cluster's folder is somebody else's"):
        Identity(folder)


def test_of_two_first_starts_at_once_one_makes_the_identity(tmp_path, monkeypatch):
    folder, made = tmp_path / "cluster", []

    class Slow(Authority):
        def __init__(self, **options):
            made.append(1)
            # the other start comes meanwhile
            if len(made) == 1:
                second.start()
                assert not second_done.wait(0.2), "the other waits"
            super().__init__(**options)

    def start():
        tokens.append(Identity(folder).token)
        second_done.set()

    tokens, second_done = [], threading.Event()
    second = threading.Thread(target=start)
    monkeypatch.setattr("muster.local.process.identity.Authority", Slow)
    tokens.append(Identity(folder).token)
    second.join()
    assert (len(made), len(set(tokens))) == (1, 1)


@pytest.mark.parametrize("name", ["token", "ca.crt", "server.crt", "server.key"])
@pytest.mark.parametrize("left", [None, b"", b"\n"])
def test_an_identity_of_which_a_part_is_missing_is_made_anew(tmp_path, name, left):
    """After a power cut a file may have a name and nothing in it: an empty token would let everybody in."""
    folder = tmp_path / "cluster"
    before = Identity(folder).token
    (folder / name).unlink() if left is None else (folder / name).write_bytes(left)
    made = Identity(folder)
    assert len(made.token) == len(before)
    assert made.token != before
    assert made.tls()


def test_a_certificate_that_cannot_be_read_is_told_in_one_line(tmp_path):
    identity = Identity(tmp_path / "cluster")
    (tmp_path / "cluster" / "server.crt").write_bytes(b"nonsense")
    with pytest.raises(LocalError, match="certificate and its key cannot be used"):
        identity.tls()
