"""What a cluster is known by: its certificate and the token that opens it, in a folder for nobody but its owner."""

from __future__ import annotations

import base64
import datetime
import fcntl
import os
import secrets
import ssl
from pathlib import Path

import yaml

from muster.base.errors import LocalError
from muster.local.process.certificates import Authority

_VALID = datetime.timedelta(days=3650)
_AUTHORITY, _CERTIFICATE, _KEY, _TOKEN = "ca.crt", "server.crt", "server.key", "token"
_FILES = (_AUTHORITY, _CERTIFICATE, _KEY, _TOKEN)
_LOCK, _MAKING = "lock", "making"

KUBECONFIG = "kubeconfig"
CONTEXT = "muster"


class Identity:
    """Made on the first start, kept from then on."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._check_owner()
            if not self._is_whole():
                self._make_once()
            self.token = (folder / _TOKEN).read_text(errors="replace").strip()
        except OSError as error:
            raise self._unusable(error) from error

    def _is_whole(self) -> bool:
        """Whether everything is there; a file that is empty was cut off, and an empty token would let everybody in."""
        return all((self._folder / name).exists() and (self._folder / name).read_bytes().strip() for name in _FILES)

    def _check_owner(self) -> None:
        """Whoever else could have put a token here would rule the cluster."""
        for path in (self._folder, *(self._folder / name for name in _FILES)):
            if not path.exists():
                continue
            found = path.stat()
            if found.st_uid != os.geteuid():
                raise LocalError(
                    "the cluster's folder is somebody else's", path=str(path), hint="choose another with --dir"
                )
            if found.st_mode & 0o022:
                raise LocalError("others may write to the cluster's folder", path=str(path), hint=f"chmod go-w {path}")

    def _make_once(self) -> None:
        """Of two first starts one makes the files, and the other waits for them."""
        with open(os.open(self._folder / _MAKING, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600), "wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not self._is_whole():
                self._make()

    def _make(self) -> None:
        authority = Authority(valid=_VALID)
        serving = authority.server()
        # gone first and back last: as long as it is not there, nothing is whole
        (self._folder / _TOKEN).unlink(missing_ok=True)
        _put(self._folder / _AUTHORITY, authority.certificate)
        _put(self._folder / _CERTIFICATE, serving.certificate)
        _put(self._folder / _KEY, serving.key)
        _put(self._folder / _TOKEN, secrets.token_urlsafe(32).encode())

    def claim(self) -> None:
        """Keeps the folder for this process until it ends, however it does; another one is refused."""
        try:
            # never closed on purpose: the lock goes with the process
            self._lock = os.open(self._folder / _LOCK, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise LocalError("another process uses this cluster's folder", folder=str(self._folder)) from error
        except OSError as error:
            raise self._unusable(error) from error

    def _unusable(self, error: OSError) -> LocalError:
        return LocalError(f"the cluster's folder cannot be used: {error.strerror}", folder=str(self._folder))

    def tls(self) -> ssl.SSLContext:
        """For the server."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            context.load_cert_chain(self._folder / _CERTIFICATE, self._folder / _KEY)
        except (OSError, ssl.SSLError) as error:
            path = self._folder / _CERTIFICATE
            raise LocalError(
                "the cluster's certificate and its key cannot be used", file=str(path), hint=f"rm {path} makes new ones"
            ) from error
        # clients of Kubernetes would take HTTP/2, too; this is what the server speaks
        context.set_alpn_protocols(["http/1.1"])
        return context

    def write_kubeconfig(self, port: int) -> Path:
        authority = base64.b64encode((self._folder / _AUTHORITY).read_bytes()).decode()
        cluster = {"server": f"https://127.0.0.1:{port}", "certificate-authority-data": authority}
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": CONTEXT, "cluster": cluster}],
            "users": [{"name": CONTEXT, "user": {"token": self.token}}],
            "contexts": [{"name": CONTEXT, "context": {"cluster": CONTEXT, "user": CONTEXT}}],
            "current-context": CONTEXT,
        }
        try:
            return _put(self._folder / KUBECONFIG, yaml.safe_dump(document, sort_keys=False).encode())
        except OSError as error:
            raise self._unusable(error) from error


def _put(path: Path, data: bytes) -> Path:
    """Whole or not at all, and for nobody else to read."""
    new = path.with_name(f"{path.name}.new")
    new.unlink(missing_ok=True)
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        # else a power cut may leave a file with a name and nothing in it
        os.fsync(file.fileno())
    return new.replace(path)
