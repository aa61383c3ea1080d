"""Is there a Kubernetes API server, and may we work with it?"""

from __future__ import annotations

import msgspec

from muster.base.errors import ApiError, KubeError
from muster.kube.client import Client
from muster.kube.connection import Connection

_START_SECONDS = 10.0


class _Version(msgspec.Struct, rename="camel"):
    git_version: str = ""


async def check_server(client: Client, connection: Connection) -> str:
    """The version of the server; errors say what a person can do about it."""

    strange = KubeError(
        f"{connection.server} does not answer as a Kubernetes API server does",
        hint=f"check the address in {connection.source}",
    )
    try:
        version = msgspec.json.decode(await client.request("GET", "/version", seconds=_START_SECONDS), type=_Version)
    except ApiError as error:
        if error.code == 401:
            raise without_rights(error) from error
        if error.code == 429 or error.code >= 500:
            raise KubeError(
                f"{connection.server} answers {error.code}: {error.message}", hint="is it starting up or overloaded?"
            ) from error
        if error.code != 403:
            raise strange from error
        # a cluster that tells its version to nobody; what Muster must read is asked for next
        return "unknown"
    except msgspec.DecodeError as error:
        raise strange from error
    if not version.git_version:
        raise strange
    return version.git_version


def without_rights(error: ApiError) -> KubeError:
    """What to tell a person whose credentials were not enough."""
    if error.code == 401:
        return KubeError(
            "the API server does not accept our credentials",
            hint="they may have expired: log in again, or name another kubeconfig with --kubeconfig",
        )
    return KubeError(
        f"the API server refuses: {error.message}",
        hint="Muster needs the rights in deploy/base/rbac.yaml; `muster install --apply` grants them",
    )
