"""Kubeconfig files: read, merged as kubectl merges them, and one context chosen.

Only what is written is looked at here: no certificate is opened and no command is run.  Relative paths are made
absolute, each against the folder of the file that has it.  Errors name places, never what stands there, and
the structs print without their contents: most of it is secret.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, NamedTuple, NoReturn, TypeVar

import msgspec
import yaml

from muster.base.errors import KubeconfigError

__all__ = ["AuthProvider", "Choice", "Cluster", "Context", "Exec", "Kubeconfig", "User", "read"]

# libyaml where it is built in: ten times faster on the large files that cloud tools write
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_EXEC_EXTENSION = "client.authentication.k8s.io/exec"


class _Quiet(msgspec.Struct, frozen=True):
    """Prints as its class name: these reach logs and tracebacks."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(...)"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return []


class Extension(_Quiet, frozen=True):
    name: str
    extension: Any = None


class Cluster(_Quiet, frozen=True, rename="kebab"):
    server: str = ""
    tls_server_name: str = ""
    insecure_skip_tls_verify: bool = False
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    proxy_url: str = ""
    disable_compression: bool = False
    extensions: tuple[Extension, ...] = ()

    @property
    def exec_config(self) -> Any:
        """What the file's author left for exec plugins; None when there is nothing."""
        return next((one.extension for one in self.extensions if one.name == _EXEC_EXTENSION), None)


class Variable(_Quiet, frozen=True):
    name: str
    value: str = ""


class Exec(_Quiet, frozen=True, rename="camel"):
    """A command that prints credentials."""

    api_version: str = ""
    command: str = ""
    args: tuple[str, ...] = ()
    env: tuple[Variable, ...] = ()
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""


class AuthProvider(_Quiet, frozen=True):
    name: str = ""


class User(_Quiet, frozen=True, rename="kebab"):
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    username: str = ""
    password: str = ""
    exec: Exec | None = None
    auth_provider: AuthProvider | None = None
    as_user: str = msgspec.field(default="", name="as")
    as_uid: str = ""
    as_groups: tuple[str, ...] = ()
    as_user_extra: dict[str, tuple[str, ...]] = {}


class Context(_Quiet, frozen=True):
    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedCluster(_Quiet, frozen=True):
    name: str
    cluster: Cluster = Cluster()


class _NamedUser(_Quiet, frozen=True):
    name: str
    user: User = User()


class _NamedContext(_Quiet, frozen=True):
    name: str
    context: Context = Context()


class _File(_Quiet, frozen=True, rename="kebab"):
    kind: str = "Config"
    current_context: str = ""
    clusters: tuple[_NamedCluster, ...] = ()
    users: tuple[_NamedUser, ...] = ()
    contexts: tuple[_NamedContext, ...] = ()


class Choice(_Quiet, frozen=True, kw_only=True):
    """One context with what it names, and the file each part is from."""

    context: str
    namespace: str
    cluster: Cluster
    user: User
    context_file: str
    cluster_file: str
    user_file: str


_Entry = TypeVar("_Entry")


class _Of(NamedTuple, Generic[_Entry]):
    """An entry and the file it is from."""

    entry: _Entry
    file: str


class Kubeconfig:
    """One or more files seen as one.  The first file that has an entry has it whole; later ones are not mixed in."""

    __slots__ = ("_clusters", "_contexts", "_users", "current_context", "files")

    def __init__(self) -> None:
        self.files: list[str] = []
        self.current_context = ""
        self._clusters: dict[str, _Of[Cluster]] = {}
        self._users: dict[str, _Of[User]] = {}
        self._contexts: dict[str, _Of[Context]] = {}

    def add(self, path: Path) -> None:
        """Reads one more file, of less weight than those before; FileNotFoundError is the caller's to judge."""
        file, folder = str(path), Path(os.path.abspath(path)).parent
        content = _decode(_load_yaml(path), file)
        self.files.append(file)
        self.current_context = self.current_context or content.current_context
        clusters = [(one.name, _cluster_at(one.cluster, folder)) for one in content.clusters]
        users = [(one.name, _user_at(one.user, folder)) for one in content.users]
        contexts = [(one.name, one.context) for one in content.contexts]
        _merge(self._clusters, clusters, kind="cluster", file=file)
        _merge(self._users, users, kind="user", file=file)
        _merge(self._contexts, contexts, kind="context", file=file)

    def choose(self, name: str | None = None) -> Choice:
        """The context of that name, or the current one, with its cluster and user."""
        wanted = name or self.current_context
        if not wanted:
            self._fail("kubeconfig has no current-context", known=self._contexts, what="choose one with --context")
        if wanted not in self._contexts:
            self._fail(f"there is no context '{wanted}'", known=self._contexts, what="choose one with --context")
        context, context_file = self._contexts[wanted]
        if context.cluster not in self._clusters:
            self._fail(
                f"context '{wanted}' names cluster '{context.cluster}', which is not there",
                known=self._clusters,
                what="correct it, or choose another --context",
            )
        # a context without a user is anonymous, as with kubectl
        if context.user and context.user not in self._users:
            self._fail(
                f"context '{wanted}' names user '{context.user}', who is not there",
                known=self._users,
                what="correct it, or choose another --context",
            )
        cluster, cluster_file = self._clusters[context.cluster]
        user, user_file = self._users.get(context.user, _Of(User(), context_file))
        return Choice(
            context=wanted,
            namespace=context.namespace or "default",
            cluster=cluster,
            user=user,
            context_file=context_file,
            cluster_file=cluster_file,
            user_file=user_file,
        )

    def _fail(self, message: str, *, known: Mapping[str, object], what: str) -> NoReturn:
        names = list(known)
        listed = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "") if names else "none"
        raise KubeconfigError(message, file=os.pathsep.join(self.files), hint=f"{what} (there are: {listed})")


def read(paths: Sequence[Path]) -> Kubeconfig:
    """The files as one; those that do not exist are skipped, as long as one does."""
    found = Kubeconfig()
    for path in paths:
        try:
            found.add(path)
        except FileNotFoundError:
            continue
    if not found.files:
        raise KubeconfigError(
            "there is no such kubeconfig",
            file=os.pathsep.join(map(str, paths)),
            hint="correct --kubeconfig or $KUBECONFIG",
        )
    return found


def _merge(into: dict[str, _Of[_Entry]], entries: list[tuple[str, _Entry]], *, kind: str, file: str) -> None:
    seen: set[str] = set()
    for name, entry in entries:
        if name in seen:
            raise KubeconfigError(f"{kind} '{name}' is there twice", file=file, hint="remove or rename one of them")
        seen.add(name)
        into.setdefault(name, _Of(entry, file))


def _load_yaml(path: Path) -> Any:
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise KubeconfigError(
            f"kubeconfig cannot be read: {error.strerror}", file=str(path), hint="it must be a file you may read"
        ) from error
    # Not chained, and without YAML's own words: both quote the text, which holds secrets.
    hint = "compare with what `kubectl config view` prints"
    try:
        return yaml.load(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = {} if mark is None else {"line": mark.line + 1, "column": mark.column + 1}
        raise KubeconfigError("kubeconfig is not valid YAML", file=str(path), hint=hint, **where) from None
    except (yaml.YAMLError, ValueError, RecursionError):  # ValueError: 2026-13-45 looks like a date to YAML
        raise KubeconfigError("kubeconfig is not valid YAML", file=str(path), hint=hint) from None


def _decode(document: Any, file: str) -> _File:
    try:
        content = msgspec.convert(_without_nulls(document), _File)
    except (msgspec.ValidationError, RecursionError) as error:
        # msgspec tells types and places, not values; a list that holds itself has no place to tell
        what = str(error) if isinstance(error, msgspec.ValidationError) else "it contains itself"
        raise KubeconfigError(
            f"kubeconfig cannot be read: {what}", file=file, hint="put text that looks like a number in quotes"
        ) from None
    if content.kind != "Config":
        raise KubeconfigError(
            "not a kubeconfig: its kind is not Config", file=file, hint="give the file that kubectl uses"
        )
    return content


def _without_nulls(value: Any) -> Any:
    """The document with null fields left out, which is what null means to kubectl; extensions stay as they are."""
    if value is None:
        return {}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    if isinstance(value, dict):
        return {
            key: item if key == "extension" else _without_nulls(item) for key, item in value.items() if item is not None
        }
    return value


def _cluster_at(cluster: Cluster, folder: Path) -> Cluster:
    return msgspec.structs.replace(cluster, certificate_authority=_absolute(cluster.certificate_authority, folder))


def _user_at(user: User, folder: Path) -> User:
    plugin = user.exec
    # a bare command is looked for in $PATH, one with a slash belongs to the file
    if plugin is not None and "/" in plugin.command:
        plugin = msgspec.structs.replace(plugin, command=_absolute(plugin.command, folder))
    return msgspec.structs.replace(
        user,
        client_certificate=_absolute(user.client_certificate, folder),
        client_key=_absolute(user.client_key, folder),
        token_file=_absolute(user.token_file, folder),
        exec=plugin,
    )


def _absolute(path: str, folder: Path) -> str:
    return str(folder / path) if path else ""
