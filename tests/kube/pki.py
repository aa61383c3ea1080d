"""Certificates for tests, and what a client shows of them in a handshake."""

import ssl
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from muster.kube.certificates import Certificate

NOW = 1_800_000_000.0  # 2027-01-15
DAY = 86_400


class Authority:
    """Issues certificates that are valid around NOW and around today."""

    def __init__(self, name="test-ca"):
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = _name(name)
        self.certificate = self._sign(self.name, self.key, ends=NOW + 9_000 * DAY, authority=True)
        self.pem = self.certificate.public_bytes(serialization.Encoding.PEM)

    def issue(self, name, *, ends=NOW + 9_000 * DAY, password=None):
        """Certificate and key, both PEM."""
        key = ec.generate_private_key(ec.SECP256R1())
        encryption = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
        pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)
        return self._sign(_name(name), key, ends=ends).public_bytes(serialization.Encoding.PEM), pem

    def _sign(self, subject, key, *, ends, authority=False):
        host = x509.DNSName("localhost")
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self.name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(datetime.fromtimestamp(0, UTC) + timedelta(days=1))
            .not_valid_after(datetime.fromtimestamp(ends, UTC))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName([host]), critical=False)
            .sign(self.key, hashes.SHA256())
        )


def _name(common):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def presented(authority, client, *, server_name="localhost"):
    """Who `client` says it is in a handshake with a server of `authority`; no socket is opened."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    chain, key = authority.issue("server")
    Certificate(chain=chain, key=key).load(server, source="server", now=NOW)
    server.load_verify_locations(cadata=authority.pem.decode())
    server.verify_mode = ssl.CERT_OPTIONAL
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(to_client, to_server, server_hostname=server_name),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    unfinished = list(ends)
    while unfinished:
        for end in list(unfinished):
            try:
                end.do_handshake()
                unfinished.remove(end)
            except ssl.SSLWantReadError:
                continue
    peer = ends[1].getpeercert()
    return dict(pair for part in peer["subject"] for pair in part)["commonName"] if peer else None
