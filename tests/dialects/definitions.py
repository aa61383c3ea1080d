"""The kinds that deploy/dialects defines, and how a server is asked what it thinks of their objects."""

import itertools
from pathlib import Path

from muster.api.resources import Resource
from muster.app.install import load
from muster.base.errors import ApiError

FOLDER = Path(__file__).parents[2] / "deploy" / "dialects"
NAMES = sorted(folder.name for folder in FOLDER.iterdir())
_numbers = itertools.count(1)


def definitions(name):
    return [item for item in load(FOLDER / name) if item["kind"] == "CustomResourceDefinition"]


def defined(definition):
    spec = definition["spec"]
    names, (version,) = spec["names"], spec["versions"]
    return Resource(spec["group"], version["name"], names["plural"], names["kind"])


RESOURCES = {(name, defined(one).kind): defined(one) for name in NAMES for one in definitions(name)}


def kept_status(server, dialect, spec, status):
    """What a server keeps of a PodGroup's status that is written as Muster does it."""
    resource, name = RESOURCES[dialect, "PodGroup"], f"one-{next(_numbers)}"
    body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name}, "spec": spec}
    server.request("POST", resource.path("default"), body)
    has_subresource = dialect != "volcano"
    path = resource.path("default", name, "status" if has_subresource else "")
    body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name}, "status": status}
    options = "?fieldManager=muster&force=true&fieldValidation=Strict"
    server.request("PATCH", path + options, body, content_type="application/apply-patch+yaml")
    return server.request("GET", resource.path("default", name))["status"]


def says(server, row):
    """What a server says of an object, or of a change to one; "" if it takes it."""
    resource = RESOURCES[row.dialect, row.kind]
    name = getattr(row, "name", "") or f"one-{next(_numbers)}"
    body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name}, "spec": row.spec}
    options, path, method = "?dryRun=All&fieldValidation=Strict", resource.path("default"), "POST"
    if row.before is not None:
        made = server.request("POST", path, body | {"spec": row.before})
        body["metadata"]["resourceVersion"] = made["metadata"]["resourceVersion"]
        method, path = "PUT", resource.path("default", name)
    try:
        server.request(method, path + options, body)
    except ApiError as refusal:
        return refusal.message
    return ""
