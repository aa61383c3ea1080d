"""What the users of one control plane show and trust, in files."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import ssl
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml
from cryptography.hazmat.primitives.asymmetric import rsa

from muster.local.process.certificates import Authority, Pair, private_pem

__all__ = ["Authority", "Pair", "Wallet", "service_account_key"]


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
    return private_pem(rsa.generate_private_key(public_exponent=65537, key_size=2048))


def _file_name(*parts: str) -> str:
    """For people by its first part, for the machine by all of them."""
    readable = re.sub(r"[^A-Za-z0-9]+", "-", parts[0]).strip("-")
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    return f"{readable}-{digest[:8]}"


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
