"""What it takes to talk to one cluster, and where that is read from.

`load` looks in kubectl's order: the kubeconfig it was given, those of $KUBECONFIG, ~/.kube/config, the pod's service
account.  It reads files and checks all that can be checked without a server; it runs nothing and connects nowhere.
"""

from __future__ import annotations

import base64
import binascii
import os
import ssl as tls
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from ssl import SSLContext
from typing import Any
from urllib.parse import quote, urlsplit

import msgspec

from muster.base.errors import KubeconfigError
from muster.kube.certificates import Certificate, CertificateFiles
from muster.kube.credentials import Credentials, Fixed, Together, TokenFile, basic, bearer, read_file
from muster.kube.exec_plugin import ExecPlugin
from muster.kube.kubeconfig import Choice, Cluster, User, read

__all__ = ["SERVICE_ACCOUNT", "Connection", "load"]

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
# what may stand in the name of a header (RFC 9110), besides letters, digits and "-._~", which quote() keeps
_HEADER_MARKS = "!#$&'*+^`|"


class Connection(msgspec.Struct, frozen=True, kw_only=True):
    """One cluster and who we are there.  Prints as where it was read from."""

    server: str
    """https://host:port[/path], without a slash at the end."""
    ssl: SSLContext | None
    """None for plain http."""
    server_name: str | None
    """The name that the server's certificate must have, if it is not the one in the address."""
    proxy: str | None
    """URL of an http or https proxy."""
    credentials: Credentials
    namespace: str
    """The one of the context, or of the pod's service account."""
    source: str
    """For people: "context dev of /home/x/.kube/config", "the pod's service account"."""

    # a proxy's URL may hold a password
    def __repr__(self) -> str:
        return f"Connection({self.server!r}, source={self.source!r})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [("server", self.server), ("source", self.source)]


def load(
    *,
    kubeconfig: str | None = None,
    context: str | None = None,
    insecure: bool = False,
    environ: Mapping[str, str] = os.environ,
    service_account: Path = SERVICE_ACCOUNT,
    now: Callable[[], float] = time.time,
) -> Connection:
    """The connection that these settings and this environment ask for; KubeconfigError says what is wrong with it.

    `insecure` allows a kubeconfig to switch the check of the server's certificate off; it does not do so itself.
    """
    paths = _kubeconfigs(kubeconfig, environ)
    if paths:
        return _from_kubeconfig(read(paths).choose(context), insecure=insecure, environ=environ, now=now)
    if context is not None:
        raise KubeconfigError(f"there is no kubeconfig to find context '{context}' in", hint="give --kubeconfig")
    return _in_cluster(environ, service_account, now=now)


def _kubeconfigs(given: str | None, environ: Mapping[str, str]) -> list[Path]:
    if given is not None:
        return [Path(given)]
    if listed := [Path(name) for name in environ.get("KUBECONFIG", "").split(os.pathsep) if name]:
        return listed
    home = environ.get("HOME")
    default = Path(home) / ".kube" / "config" if home else None
    return [default] if default is not None and default.exists() else []


def _in_cluster(environ: Mapping[str, str], folder: Path, *, now: Callable[[], float]) -> Connection:
    host, port = environ.get("KUBERNETES_SERVICE_HOST", ""), environ.get("KUBERNETES_SERVICE_PORT", "")
    if not host or not port:
        raise KubeconfigError(
            "found no cluster: no kubeconfig was given, $KUBECONFIG is not set, ~/.kube/config does not exist, "
            "and this is no pod",
            hint="give --kubeconfig",
        )
    if not (folder / "token").exists():
        raise KubeconfigError(
            "this pod has no service account token",
            file=str(folder / "token"),
            hint="set automountServiceAccountToken: true, or give --kubeconfig",
        )
    source = str(folder)
    authority = read_file(folder / "ca.crt", what="certificate authority", source=source)
    try:
        namespace = (folder / "namespace").read_text().strip()
    except OSError:
        namespace = ""
    return Connection(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        ssl=_context(authority, verify=True, source=source),
        server_name=None,
        proxy=None,
        credentials=TokenFile(folder / "token", source=source, now=now),
        namespace=namespace or "default",
        source="the pod's service account",
    )


def _from_kubeconfig(
    choice: Choice, *, insecure: bool, environ: Mapping[str, str], now: Callable[[], float]
) -> Connection:
    cluster, user, file = choice.cluster, choice.user, choice.cluster_file
    if cluster.insecure_skip_tls_verify and not insecure:
        raise KubeconfigError(
            "the kubeconfig asks not to check the server's certificate (insecure-skip-tls-verify)",
            file=file,
            context=choice.context,
            hint="give certificate-authority-data instead, or allow it with --insecure-skip-tls-verify",
        )
    authority = _material(
        cluster.certificate_authority_data, cluster.certificate_authority, "certificate-authority", file
    )
    server = _server(cluster, user, file)
    context = None
    if server.startswith("https:"):
        context = _context(authority, verify=not cluster.insecure_skip_tls_verify, source=file)
    return Connection(
        server=server,
        ssl=context,
        server_name=cluster.tls_server_name or None,
        proxy=_proxy(cluster.proxy_url, file),
        credentials=_credentials(choice, authority, context=context, environ=environ, now=now),
        namespace=choice.namespace,
        source=f"context {choice.context} of {choice.context_file}",
    )


def _server(cluster: Cluster, user: User, file: str) -> str:
    server = cluster.server.strip()
    if server and "://" not in server:
        # as kubectl: whoever gives certificates means https
        secure = cluster.insecure_skip_tls_verify or any(
            (
                cluster.certificate_authority,
                cluster.certificate_authority_data,
                user.client_certificate,
                user.client_certificate_data,
            )
        )
        server = ("https://" if secure else "http://") + server
    hint = "write it as https://host:port"
    parts = _split(server)
    if parts is None or parts[0] not in ("http", "https"):
        raise KubeconfigError("the cluster has no usable server address", file=file, hint=hint)
    if parts[1]:
        raise KubeconfigError("the server address has a user or password in it", file=file, hint=hint)
    return server.rstrip("/")


def _proxy(url: str, file: str) -> str | None:
    if not url:
        return None
    parts = _split(url)
    if parts is not None and parts[0].startswith("socks"):
        raise KubeconfigError(
            f"proxy-url is a {parts[0]} proxy, which is not supported", file=file, hint="use an http or https proxy"
        )
    if parts is None or parts[0] not in ("http", "https"):
        raise KubeconfigError("proxy-url is no address of a proxy", file=file, hint="write it as http://host:port")
    return url


def _split(url: str) -> tuple[str, bool] | None:
    """Scheme, and whether there is a user or password; None if it is no URL with a host."""
    try:
        parts = urlsplit(url)
        _port = parts.port  # only reading it checks it
    except ValueError:
        return None
    if not parts.hostname or parts.query or parts.fragment or " " in url:
        return None
    return parts.scheme, "@" in parts.netloc


def _context(authority: bytes, *, verify: bool, source: str) -> SSLContext:
    """A context that trusts this authority alone, or the system's if there is none."""
    if not verify:
        context = SSLContext(tls.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = tls.CERT_NONE
    elif not authority:
        context = tls.create_default_context()
    else:
        try:
            context = tls.create_default_context(cadata=authority.decode("ascii", "ignore"))
        except (tls.SSLError, ValueError):
            raise KubeconfigError(
                "certificate-authority is not a PEM certificate", file=source, hint="get the cluster's CA again"
            ) from None
    # Each certificate given is trusted, as in Go, even if it is not self-signed.  Python 3.13 became strict about
    # extensions that the authorities of many clusters do not have.
    context.verify_flags |= tls.VERIFY_X509_PARTIAL_CHAIN
    context.verify_flags &= ~tls.VERIFY_X509_STRICT
    context.set_alpn_protocols(["http/1.1"])
    return context


def _credentials(
    choice: Choice,
    authority: bytes,
    *,
    context: SSLContext | None,
    environ: Mapping[str, str],
    now: Callable[[], float],
) -> Credentials:
    user, file = choice.user, choice.user_file
    if user.auth_provider is not None:
        raise KubeconfigError(
            f"auth-provider {user.auth_provider.name} is not supported",
            file=file,
            hint="Kubernetes removed auth providers in 1.26: use an exec plugin of your provider",
        )
    if (user.token or user.token_file) and (user.username or user.password):
        raise KubeconfigError("the user has both a token and a password", file=file, hint="remove one of them")
    parts = _certificate(user, file, context=context, now=now)
    if user.token_file:
        parts.append(TokenFile(Path(user.token_file), source=file, now=now))
    elif user.token:
        parts.append(Fixed(bearer(user.token.encode(), source=file)))
    elif user.username or user.password:
        parts.append(Fixed(basic(user.username, user.password)))
    elif user.exec is not None:
        info = _cluster_info(choice.cluster, authority)
        parts.append(ExecPlugin(user.exec, source=file, cluster=info, context=context, environ=environ, now=now))
    if impersonation := _impersonation(user, file):
        parts.append(Fixed(impersonation))
    return parts[0] if len(parts) == 1 else Together(parts)


def _certificate(user: User, file: str, *, context: SSLContext | None, now: Callable[[], float]) -> list[Credentials]:
    """Loads the user's certificate into the context; what has to be asked later on is in the list."""
    has_certificate = bool(user.client_certificate or user.client_certificate_data)
    has_key = bool(user.client_key or user.client_key_data)
    if has_certificate != has_key:
        missing = "client-certificate" if has_key else "client-key"
        raise KubeconfigError(f"the user has no {missing}", file=file, hint="a certificate and its key go together")
    if not has_certificate or context is None:  # plain http has no use for it
        return []
    if not user.client_certificate_data and not user.client_key_data:
        certificate, key = Path(user.client_certificate), Path(user.client_key)
        return [CertificateFiles(certificate, key, context=context, source=file, now=now)]
    chain = _material(user.client_certificate_data, user.client_certificate, "client-certificate", file)
    private = _material(user.client_key_data, user.client_key, "client-key", file)
    Certificate(chain=chain, key=private).load(context, source=file, now=now())
    return []


def _material(data: str, path: str, field: str, file: str) -> bytes:
    """What a field has, as base64 or in a file; data comes first, as with kubectl."""
    if data:
        try:
            return base64.b64decode("".join(data.split()), validate=True)
        except (binascii.Error, ValueError):
            # not chained: the cause may hold the data
            raise KubeconfigError(
                f"{field}-data is not base64", file=file, hint="encode the PEM file with base64"
            ) from None
    return read_file(Path(path), what=field, source=file) if path else b""


def _cluster_info(cluster: Cluster, authority: bytes) -> dict[str, Any]:
    """The cluster as an exec plugin is told of it: ExecCredential.spec.cluster."""
    info = {
        "server": cluster.server,
        "tls-server-name": cluster.tls_server_name,
        "insecure-skip-tls-verify": cluster.insecure_skip_tls_verify,
        "certificate-authority-data": base64.b64encode(authority).decode(),
        "proxy-url": cluster.proxy_url,
        "disable-compression": cluster.disable_compression,
        "config": cluster.exec_config,
    }
    return {name: value for name, value in info.items() if value or name == "server"}


def _impersonation(user: User, file: str) -> dict[str, str]:
    if not user.as_user:
        if user.as_uid or user.as_groups or user.as_user_extra:
            raise KubeconfigError("impersonation without a user", file=file, hint="set users[].user.as too")
        return {}
    headers = {"Impersonate-User": user.as_user}
    if user.as_uid:
        headers["Impersonate-Uid"] = user.as_uid
    several = {"Impersonate-Group": user.as_groups}
    for key, values in user.as_user_extra.items():
        several["Impersonate-Extra-" + quote(key.lower(), safe=_HEADER_MARKS)] = values
    for name, values in several.items():
        # One header line each; headers are a plain dict here, and leaving a group out would change who we are.
        if len(values) > 1:
            raise KubeconfigError(
                "impersonation with more than one group, or more than one value of an extra, is not supported",
                file=file,
                hint="keep one, or bind the rights to the user",
            )
        if values:
            headers[name] = values[0]
    if not all(value.isprintable() and value.isascii() for value in headers.values()):
        raise KubeconfigError("impersonation with characters that no header may have", file=file, hint="correct it")
    return headers
