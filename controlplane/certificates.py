"""Certificates of one control plane: an authority that lives as long as the plane, what it signs, and their files."""

from __future__ import annotations

import base64
import datetime
import hashlib
import ipaddress
import os
import re
import ssl
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

__all__ = ["Authority", "Pair", "Wallet", "service_account_key"]

_VALID = datetime.timedelta(days=30)
# a clock that was set back a little must not make a new certificate "not valid yet"
_LEEWAY = datetime.timedelta(hours=1)


class Pair(NamedTuple):
    """A certificate and its private key, both PEM."""

    certificate: bytes
    key: bytes


class Authority:
    """Signs what servers and clients of one plane show each other; its key never leaves memory."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "control-plane-ca")])
        usage = x509.KeyUsage(
            digital_signature=True,
            key_cert_sign=True,
            crl_sign=True,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            encipher_only=False,
            decipher_only=False,
        )
        signed = (
            self._builder(self._name, self._key)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.certificate = signed.public_bytes(serialization.Encoding.PEM)
        """The authority's own certificate, PEM: what the others trust."""

    def server(self) -> Pair:
        """For a server on loopback: 127.0.0.1 and localhost."""
        names = x509.SubjectAlternativeName(
            [x509.DNSName("localhost"), x509.IPAddress(ipaddress.IPv4Address("127.0.0.1"))]
        )
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
        return self._signed(subject, usage=ExtendedKeyUsageOID.SERVER_AUTH, names=names)

    def client(self, user: str, groups: Sequence[str] = (), *, valid: datetime.timedelta = _VALID) -> Pair:
        """For a user of the API: Kubernetes reads the user from CN and the groups from O.

        `valid` counts from now and may be negative: an expired certificate.
        """
        subject = x509.Name(
            [
                *(x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups),
                x509.NameAttribute(NameOID.COMMON_NAME, user),
            ]
        )
        return self._signed(subject, usage=ExtendedKeyUsageOID.CLIENT_AUTH, valid=valid)

    def _signed(
        self,
        subject: x509.Name,
        *,
        usage: x509.ObjectIdentifier,
        names: x509.SubjectAlternativeName | None = None,
        valid: datetime.timedelta = _VALID,
    ) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = (
            self._builder(subject, key, valid=valid)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            # Python's verification is strict from 3.13 on: it wants to see which key signed
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
        )
        if names is not None:
            builder = builder.add_extension(names, critical=False)
        signed = builder.sign(self._key, hashes.SHA256())
        return Pair(signed.public_bytes(serialization.Encoding.PEM), _private_pem(key))

    def _builder(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, *, valid: datetime.timedelta = _VALID
    ) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(min(now, now + valid) - _LEEWAY)
            .not_valid_after(now + valid)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        )


class Wallet:
    """What the users of one plane show and trust, in files that only their owner may read.

    A file is written once and whole: another process may be reading it.
    """

    def __init__(self, authority: Authority, folder: Path) -> None:
        self._authority = authority
        self._folder = folder
        self._pairs: dict[tuple[str, ...], Pair] = {}
        self._kubeconfigs: dict[tuple[str, ...], Path] = {}
        self._lock = threading.Lock()

    def put(self, name: str, data: bytes) -> Path:
        path = self._folder / name
        new = path.with_name(name + ".new")
        new.unlink(missing_ok=True)
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
        return new.replace(path)

    def context(self, user: str, groups: Sequence[str]) -> ssl.SSLContext:
        """For a client that is this user and trusts the plane's authority only."""
        context = ssl.create_default_context(cadata=self._authority.certificate.decode())
        with self._lock:
            pair = self._pair(user, groups)
            # Python reads the key from a file or not at all
            path = self.put(f"{_file_name(user, *groups)}.pem", pair.certificate + pair.key)
            context.load_cert_chain(path)
            path.unlink()
        return context

    def kubeconfig(self, server: str, user: str, groups: Sequence[str]) -> Path:
        """With a client certificate for this user."""
        with self._lock:
            pair = self._pair(user, groups)
            shown = {"client-certificate-data": _base64(pair.certificate), "client-key-data": _base64(pair.key)}
            return self._kubeconfig(server, shown, user, *groups)

    def kubeconfig_for_token(self, server: str, token: str) -> Path:
        with self._lock:
            return self._kubeconfig(server, {"token": token}, "token", token)

    def _pair(self, user: str, groups: Sequence[str]) -> Pair:
        key = (user, *groups)
        if key not in self._pairs:
            self._pairs[key] = self._authority.client(user, groups)
        return self._pairs[key]

    def _kubeconfig(self, server: str, user: Mapping[str, str], *key: str) -> Path:
        if (server, *key) not in self._kubeconfigs:
            cluster = {"server": server, "certificate-authority-data": _base64(self._authority.certificate)}
            document = {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "loopback", "cluster": cluster}],
                "users": [{"name": "user", "user": dict(user)}],
                "contexts": [{"name": "loopback", "context": {"cluster": "loopback", "user": "user"}}],
                "current-context": "loopback",
            }
            name = f"kubeconfig-{_file_name(*key)}.yaml"
            self._kubeconfigs[server, *key] = self.put(name, yaml.safe_dump(document).encode())
        return self._kubeconfigs[server, *key]


def service_account_key() -> bytes:
    """A key that signs service account tokens, PEM; whoever checks them derives the public half."""
    return _private_pem(rsa.generate_private_key(public_exponent=65537, key_size=2048))


def _private_pem(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> bytes:
    # the older format names the kind of key in its first line; each program here reads it
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )


def _file_name(*parts: str) -> str:
    """For people by its first part, for the machine by all of them."""
    readable = re.sub(r"[^A-Za-z0-9]+", "-", parts[0]).strip("-")
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    return f"{readable}-{digest[:8]}"


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
