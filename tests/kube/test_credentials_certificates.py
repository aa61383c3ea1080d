"""Client certificates: read as PEM, checked before they are used, presented in the next handshake."""

import os
import ssl
import stat
import tempfile

import pytest

from muster.base.errors import KubeconfigError
from muster.kube.certificates import Certificate, CertificateFiles, certificate_end
from tests.kube.pki import NOW, Authority, presented


@pytest.fixture(scope="module")
def authority():
    return Authority()


@pytest.fixture
def context(authority):
    return ssl.create_default_context(cadata=authority.pem.decode())


def load(context, chain, key):
    Certificate(chain=chain, key=key).load(context, source="/home/x/config", now=NOW)


def test_a_loaded_certificate_is_presented(authority, context):
    load(context, *authority.issue("muster"))
    assert presented(authority, context) == "muster"


def test_the_certificate_loaded_last_is_presented(authority, context):
    load(context, *authority.issue("old"))
    load(context, *authority.issue("new"))
    assert presented(authority, context) == "new"


def test_a_key_of_another_certificate_leaves_the_one_before(authority, context):
    load(context, *authority.issue("old"))
    with pytest.raises(KubeconfigError, match="client key is not the one of the certificate"):
        load(context, authority.issue("new")[0], authority.issue("other")[1])
    assert presented(authority, context) == "old"


def test_an_encrypted_key_is_refused_and_nobody_is_asked_for_a_password(authority, context):
    with pytest.raises(KubeconfigError, match="client key is encrypted"):
        load(context, *authority.issue("muster", password=b"secret-word"))


@pytest.mark.parametrize(
    ("break_it", "says"),
    [
        (lambda chain, key: (b"no PEM", key), "client certificate is not PEM"),
        (lambda chain, key: (chain, b"no PEM"), "client key is not PEM"),
        (lambda chain, key: (chain.replace(b"MII", b"AAA", 1), key), "client certificate or key is broken"),
        (lambda chain, key: (chain, key.replace(b"MIG", b"AAA", 1)), "client certificate or key is broken"),
    ],
)
def test_broken_pem_is_told_with_its_file_and_without_its_content(authority, context, break_it, says):
    chain, key = break_it(*authority.issue("muster"))
    with pytest.raises(KubeconfigError, match=says) as caught:
        load(context, chain, key)
    assert "/home/x/config" in str(caught.value)
    for line in [*chain.split(), *key.split()]:
        assert len(line) < 20 or line.decode() not in str(caught.value)


def test_an_expired_certificate_is_told_with_its_end(authority, context):
    with pytest.raises(KubeconfigError, match=r"client certificate has expired.*2027-01-15T07:59:59Z"):
        load(context, *authority.issue("muster", ends=NOW - 1))


def test_the_key_is_on_disk_for_nobody_else_and_not_for_long(authority, context, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    modes = []

    class Watched(ssl.SSLContext):
        def load_cert_chain(self, certfile, keyfile=None, password=None):
            modes.extend(stat.S_IMODE(os.stat(file).st_mode) for file in (certfile, keyfile))

    load(Watched(ssl.PROTOCOL_TLS_CLIENT), *authority.issue("muster"))
    assert modes == [0o600, 0o600]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "ends",
    [
        pytest.param(NOW, id="two digits for the year"),
        pytest.param(2_524_608_000 - 1, id="the last second of 2049"),
        pytest.param(2_524_608_000, id="four digits from 2050 on"),
        pytest.param(253_402_300_799, id="the end of 9999"),
    ],
)
def test_the_end_of_a_certificate_is_read(authority, ends):
    assert certificate_end(authority.issue("muster", ends=ends)[0]) == ends


def test_text_before_the_certificate_does_not_matter(authority):
    assert certificate_end("Inhaber: Müller\n".encode() + authority.issue("m", ends=NOW)[0]) == NOW


@pytest.mark.parametrize("length", range(0, 700, 7))
def test_a_certificate_cut_short_has_no_end_to_be_seen_or_the_right_one(authority, length):
    der = ssl.PEM_cert_to_DER_cert(authority.issue("muster", ends=NOW)[0].decode())
    assert certificate_end(ssl.DER_cert_to_PEM_cert(der[:length]).encode()) in (None, NOW)


def test_a_certificate_does_not_print_its_key(authority):
    chain, key = authority.issue("muster")
    assert repr(Certificate(chain=chain, key=key)) == "Certificate(...)"


class Files:
    """A certificate in files, and a clock."""

    def __init__(self, folder, authority, context):
        self.authority = authority
        self.now = NOW
        self.paths = folder / "tls.crt", folder / "tls.key"
        self.write("first")
        certificate, key = self.paths
        self.credentials = CertificateFiles(certificate, key, context=context, source="config", now=lambda: self.now)

    def write(self, name):
        for path, pem in zip(self.paths, self.authority.issue(name), strict=True):
            path.with_suffix(".new").write_bytes(pem)
            path.with_suffix(".new").rename(path)


@pytest.fixture
def files(tmp_path, authority, context):
    return Files(tmp_path, authority, context)


async def test_certificate_files_add_no_header(files):
    assert await files.credentials.headers() == {}


async def test_renewed_certificate_files_are_presented_a_minute_later(files, authority, context):
    files.write("second")
    files.now += 59
    await files.credentials.headers()
    assert presented(authority, context) == "first"
    files.now += 1
    await files.credentials.headers()
    assert presented(authority, context) == "second"


async def test_renewed_certificate_files_are_presented_at_once_after_a_refusal(files, authority, context):
    files.write("second")
    files.credentials.refused()
    await files.credentials.headers()
    assert presented(authority, context) == "second"


async def test_half_written_certificate_files_change_nothing_until_they_are_whole(files, authority, context):
    files.paths[0].write_bytes(authority.issue("second")[0])
    files.now += 60
    await files.credentials.headers()
    assert presented(authority, context) == "first"
    files.write("second")
    files.now += 60
    await files.credentials.headers()
    assert presented(authority, context) == "second"


async def test_certificate_files_that_are_gone_change_nothing(files, authority, context):
    files.paths[1].unlink()
    files.now += 60
    await files.credentials.headers()
    assert presented(authority, context) == "first"
