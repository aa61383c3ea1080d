"""Muster's own manifests: the files of deploy/, printed or applied to a cluster.

The files are kustomizations for people who use kubectl, and the only source: here they are read by a loader that knows
the few words they use and refuses any other, so that it can never disagree with kubectl in silence.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

import muster
from muster.api.resources import CUSTOM_POD_GROUPS, NATIVE_POD_GROUPS
from muster.app import dialects
from muster.base.errors import ApiError, ConfigError, KubeconfigError, KubeError, Unreachable
from muster.kube.client import APPLY_PATCH, Client
from muster.kube.connection import load as connect

__all__ = [
    "NAMESPACE",
    "Manifest",
    "Plan",
    "apply",
    "carry_out",
    "definitions",
    "lacks_pod_groups",
    "load",
    "manifests",
    "next_steps",
    "to_yaml",
]

NAMESPACE: Final = "muster-system"

Manifest = dict[str, Any]
"""One Kubernetes object, as written."""

_ESTABLISHED_SECONDS = 30.0
_LOOK_SECONDS = 0.2
_CRD = "CustomResourceDefinition"
# In this order: each may need those before it.
_PLURALS = {
    "Namespace": "namespaces",
    _CRD: "customresourcedefinitions",
    "ServiceAccount": "serviceaccounts",
    "ClusterRole": "clusterroles",
    "ClusterRoleBinding": "clusterrolebindings",
    "Role": "roles",
    "RoleBinding": "rolebindings",
    "ConfigMap": "configmaps",
    "PodDisruptionBudget": "poddisruptionbudgets",
    "Deployment": "deployments",
}


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be installed."""

    replace_default: bool = False
    crds: bool | None = None
    """None: if the cluster has no PodGroups of its own."""
    dialects: tuple[str, ...] = ()
    """Whose kinds are wanted besides."""
    image: str | None = None
    namespace: str = NAMESPACE


async def carry_out(
    plan: Plan,
    *,
    apply_them: bool,
    kubeconfig: str | None,
    context: str | None,
    insecure: bool,
    tell: Callable[[str], None],
) -> None:
    """Apply the plan's manifests, or tell them as YAML; a cluster is asked only where it must be."""
    # read first of all: a mistake in the plan is told before anybody waits for a cluster
    objects = manifests(plan, crds=bool(plan.crds))
    if apply_them or plan.crds is None:
        try:
            connection = connect(kubeconfig=kubeconfig, context=context, insecure=insecure)
            async with Client(connection, user_agent=f"muster-install/{muster.__version__}") as client:
                if plan.crds is None and await lacks_pod_groups(client):
                    objects = manifests(plan, crds=True)
                if apply_them:
                    await apply(client, objects, tell=tell)
        except (KubeconfigError, Unreachable) as error:
            if apply_them:
                raise
            hint = "say --crds always or --crds never to print manifests without a cluster"
            raise KubeError(f"--crds auto asks the cluster: {error.message}", hint=hint, **error.fields) from error
    notes = [f"{name}: {why}" for name in plan.dialects if (why := dialects.brought_by_others(name))]
    if apply_them:
        lines = [*notes, *next_steps(objects)]
    else:
        lines = [*(f"# {note}" for note in notes), to_yaml(objects).rstrip()]
    for line in lines:
        tell(line)


def manifests(plan: Plan, *, crds: bool) -> list[Manifest]:
    """All objects of an installation, in the order in which they can be applied."""
    image, namespace = plan.image, plan.namespace
    deploy = _find()
    objects = load(deploy / ("replacement" if plan.replace_default else "base"))
    ours = [name for name in dialects.chosen(plan.dialects) if not dialects.brought_by_others(name)]
    for folder in dict.fromkeys([*(["crds"] if crds else []), *map(dialects.folder, ours)]):
        objects += load(deploy / folder)
    if image is not None:
        if not image or re.search(r"\s", image):
            raise ConfigError(f"{image!r} is no image", hint="write it like registry.example.com/muster:0.1.0")
        _set_image(objects, "muster", image)
    if namespace != NAMESPACE:
        _check_namespace(namespace)
        objects = _rename(objects, namespace)
    order = list(_PLURALS)
    return sorted(objects, key=lambda item: order.index(item["kind"]))


def definitions(names: Sequence[str]) -> list[Manifest]:
    """The definitions of all kinds of these dialects, for a cluster of ours: also of kinds that others bring."""
    deploy = _find()
    folders = [deploy / folder for name in dialects.chosen(names) if (folder := dialects.folder(name))]
    return [item for folder in folders for item in load(folder) if item["kind"] == _CRD]


def to_yaml(objects: Sequence[Manifest]) -> str:
    return yaml.dump_all(objects, Dumper=_Dumper, sort_keys=False, width=120)


async def lacks_pod_groups(client: Client) -> bool:
    """Whether the cluster serves no PodGroups of its own."""
    for native in NATIVE_POD_GROUPS:
        served = await _get(client, native.root) or {"resources": []}
        if any(resource["name"] == native.plural for resource in served["resources"]):
            return False
    return True


async def apply(client: Client, objects: Sequence[Manifest], *, tell: Callable[[str], None]) -> None:
    """Make the cluster have these objects, by server-side apply; a line to `tell` for each.

    Stops at the first refusal; what was applied before stays, and applying again goes on from there.
    """
    for item in objects:
        name = f"{item['kind'].lower()}/{item['metadata']['name']}"
        try:
            outcome = await _apply(client, item)
        except ApiError as error:
            hint = "applying needs the rights of a cluster administrator" if error.code == 403 else None
            raise KubeError(f"{name} was refused: {error.message}", hint=hint) from error
        tell(f"{name} {outcome}")


def next_steps(objects: Sequence[Manifest]) -> list[str]:
    """What a person does after these were applied, a line each."""
    kinds = {item["kind"]: item for item in objects}
    pods = kinds["Deployment"]["spec"]["template"]
    namespace = kinds["Deployment"]["metadata"]["namespace"]
    has_ours = any(item["metadata"]["name"] == CUSTOM_POD_GROUPS[0].name for item in objects if item["kind"] == _CRD)
    group = "muster.dev/v1beta1" if has_ours else "scheduling.k8s.io/v1beta1"
    image = pods["spec"]["containers"][0]["image"]
    lines = [f"Watch it start:   kubectl -n {namespace} rollout status deployment/muster"]
    if "/" not in image:
        lines.append(f"The image {image} names no registry: each node must have it, or install again with --image")
    if pods["metadata"]["annotations"]["muster.dev/role"] == "replacement":
        lines.append("Only when it is ready: stop kube-scheduler (docs/install.md says how, and how to go back)")
    else:
        lines.append("Give it pods:     schedulerName: muster in the pod's spec")
    lines.append(f"Make a gang:      a PodGroup of {group} (docs/install.md has an example)")
    return lines


async def _apply(client: Client, item: Manifest) -> str:
    path = _path(item)
    before = await _get(client, path)
    # our labels would hold the pods of others to the strictest Pod Security level, and our definition of a kind take
    # fields from objects of theirs
    if before is not None and item["kind"] in ("Namespace", _CRD) and not _ours(before):
        return "left as it is: it was there before Muster"
    query = {"fieldManager": "muster-install", "force": "true"}
    after = msgspec.json.decode(
        await client.request("PATCH", path, query=query, body=msgspec.json.encode(item), content_type=APPLY_PATCH)
    )
    if item["kind"] == _CRD:
        await _established(client, path)
    if before is None:
        return "created"
    same = before["metadata"]["resourceVersion"] == after["metadata"]["resourceVersion"]
    return "unchanged" if same else "configured"


async def _established(client: Client, path: str) -> None:
    try:
        async with asyncio.timeout(_ESTABLISHED_SECONDS):
            while True:
                crd = await _get(client, path) or {}
                # a CRD just made has null for its conditions
                conditions = crd.get("status", {}).get("conditions") or ()
                if any(one["type"] == "Established" and one["status"] == "True" for one in conditions):
                    return
                await asyncio.sleep(_LOOK_SECONDS)
    except TimeoutError:
        name = path.rpartition("/")[2]
        hint = f"look at: kubectl describe crd {name}"
        raise KubeError(f"{name} was not served within {_ESTABLISHED_SECONDS:.0f} s", hint=hint) from None


async def _get(client: Client, path: str) -> Manifest | None:
    try:
        found: Manifest = msgspec.json.decode(await client.request("GET", path))
    except ApiError as error:
        if error.code == 404:
            return None
        raise
    return found


def _path(item: Manifest) -> str:
    version, meta = item["apiVersion"], item["metadata"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    if "namespace" in meta:
        root += f"/namespaces/{meta['namespace']}"
    return f"{root}/{_PLURALS[item['kind']]}/{meta['name']}"


def _ours(item: Manifest) -> bool:
    return bool(item["metadata"].get("labels", {}).get("app.kubernetes.io/name") == "muster")


def _check_namespace(name: str) -> None:
    if not re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", name):
        raise ConfigError(f"{name!r} cannot be the name of a namespace", hint="small letters, digits and - only")
    if name == "default" or name.startswith("kube-"):
        raise ConfigError(f"Muster does not install itself into {name}", hint="give it a namespace of its own")


def _rename(value: Any, namespace: str) -> Any:
    """The same with another namespace, wherever it stands: names, subjects, the scheduler's configuration."""
    if isinstance(value, dict):
        return {key: _rename(part, namespace) for key, part in value.items()}
    if isinstance(value, list):
        return [_rename(part, namespace) for part in value]
    return value.replace(NAMESPACE, namespace) if isinstance(value, str) else value


# -- the part of kustomize that deploy/ uses --


def load(folder: Path) -> list[Manifest]:
    """The objects of a kustomization made of resources, patches of mappings, and images; anything else is refused."""
    file = folder / "kustomization.yaml"
    found = _read(file)
    if len(found) != 1:
        raise ConfigError(f"{file} is not one document")
    parts = found[0]
    _only(parts, "apiVersion", "kind", "resources", "patches", "images", where=file)
    objects: list[Manifest] = []
    for name in parts.get("resources", ()):
        path = folder / name
        objects += load(path) if path.is_dir() else _read(path)
    for patch in parts.get("patches", ()):
        _only(patch, "path", where=file)
        for change in _read(folder / patch["path"]):
            targets = [item for item in objects if _identity(item) == _identity(change)]
            if len(targets) != 1:
                raise ConfigError(f"{folder / patch['path']} patches {len(targets)} objects instead of one")
            _merge(targets[0], change, folder / patch["path"])
    for rule in parts.get("images", ()):
        _only(rule, "name", "newName", "newTag", where=file)
        _set_image(objects, rule["name"], f"{rule.get('newName', rule['name'])}:{rule['newTag']}")
    return objects


def _find() -> Path:
    """deploy/ is part of the wheel; in a clone it stands beside src/."""
    package = Path(muster.__file__).parent
    for place in (package / "deploy", package.parents[1] / "deploy"):
        if (place / "base" / "kustomization.yaml").is_file():
            return place
    raise ConfigError("the manifests are missing", hint="install Muster from a wheel or an editable clone")


def _read(path: Path) -> list[Manifest]:
    try:
        found = list(yaml.safe_load_all(path.read_text("utf-8")))
    except (OSError, yaml.YAMLError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
    if not all(isinstance(item, dict) for item in found):
        raise ConfigError(f"{path} holds something that is no object")
    return found


def _only(part: Manifest, *known: str, where: Path) -> None:
    for word in part:
        if word not in known:
            raise ConfigError(f"{where}: {word} is not supported here", hint="use kubectl apply -k instead")


def _identity(item: Manifest) -> tuple[str, str, str | None, str]:
    meta = item["metadata"]
    return item["apiVersion"], item["kind"], meta.get("namespace"), meta["name"]


def _merge(target: Manifest, change: Manifest, where: Path) -> None:
    for key, value in change.items():
        if isinstance(value, list) or value is None or key.startswith("$"):
            raise ConfigError(
                f"{where}: only mappings can be patched, {key} is more", hint="use kubectl apply -k instead"
            )
        if isinstance(value, dict):
            _merge(target.setdefault(key, {}), value, where)
        else:
            target[key] = value


def _set_image(objects: list[Manifest], name: str, reference: str) -> None:
    """Give the containers whose image is `name`, with or without a tag, another one."""
    for item in objects:
        pod = item.get("spec", {}).get("template", {}).get("spec", {}) if item["kind"] == "Deployment" else {}
        for container in pod.get("containers", ()):
            if re.fullmatch(re.escape(name) + r"(:[^/]*)?", container["image"]):
                container["image"] = reference


class _Dumper(yaml.SafeDumper):
    """Writes text of several lines as people do, and no references between equal parts."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)
