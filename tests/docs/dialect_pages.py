"""The pages of docs/dialects as data: their examples, the fields that they tell of, and what they say one sees."""

import re

from muster.app.install import definitions
from muster.app.manifests import parse
from muster.gangs.dialects import DIALECTS, LABELS, NATIVE
from muster.local.schema.load import shapes
from tests.docs.printed import ROOT

FOLDER = ROOT / "docs" / "dialects"
NATIVE_GROUP = "io.k8s.api.scheduling.v1beta1.PodGroup"
# draft: two names of one list
_SAME = {"spec.gangGroups": "spec.podGroups"}


def text(name):
    return (FOLDER / f"{name}.md").read_text()


def _section(name, title):
    return text(name).partition(f"\n## {title}\n")[2].partition("\n## ")[0]


# --- examples ---


def example(name):
    """Objects as the page has them."""
    (written,) = re.findall(r"^```yaml\n(.*?)^```$", _section(name, "Example"), flags=re.S | re.M)
    return written


def documents(name):
    return [document.data for document in parse(example(name), file=name)]


def pods(job):
    """What the Job controller makes of a Job."""
    template = job["spec"]["template"]
    for number in range(job["spec"]["parallelism"]):
        meta = {"name": f"{job['metadata']['name']}-{number}", **template.get("metadata", {})}
        yield {"metadata": meta, "spec": template["spec"]}


def console(name):
    """Commands of the example, and what each says."""
    (written,) = re.findall(r"^```console\n(.*?)^```$", _section(name, "Example"), flags=re.S | re.M)
    return [tuple(part.split("\n", 1)) for part in re.split(r"^\$ ", written, flags=re.M)[1:]]


# --- fields ---


def told(name):
    """Fields that stand in the table of the page, and in the one that it refers to."""
    section = _section(name, "Fields")
    cells = re.findall(r"^\| (`.*?) \|", section, flags=re.M)
    found = {path for cell in cells for written in re.findall(r"`(.*?)`", cell) for path in _paths(written)}
    return found.union(*map(told, re.findall(r"\((\w+)\.md#fields\)", section)))


def _paths(written):
    """spec.{a,b} is two."""
    before, _, rest = written.partition("{")
    names, _, after = rest.partition("}")
    return [f"{before}{name}{after}" for name in names.split(",")]


def defined(name):
    """Fields of the kinds that the dialect reads, as the page is to spell them."""
    if name == LABELS.name:
        return {*LABELS.marks.labels, *LABELS.marks.annotations}
    if name == NATIVE.name:
        return set(_of_shape(shapes()[NATIVE_GROUP]))
    dialect = next(one for one in DIALECTS if one.name == name)
    kinds = {(resource.group, resource.kind) for resource in dialect.resources}
    read = [one for one in definitions([name]) if (one["spec"]["group"], one["spec"]["names"]["kind"]) in kinds]
    return {path for one in read for path in _of_schema(_schema(one))}


def keeps_all(name):
    """Whether the definition keeps what it does not name: then the page tells of more than that."""
    return any(
        "x-kubernetes-preserve-unknown-fields" in _schema(one)["properties"]["spec"] for one in definitions([name])
    )


def _schema(definition):
    (version,) = definition["spec"]["versions"]
    return version["schema"]["openAPIV3Schema"]


def _of_schema(schema, path=""):
    items = schema.get("items", {})
    if "properties" in items:
        schema, path = items, f"{path}[]"
    parts = {name: part for name, part in schema.get("properties", {}).items() if path or name in ("spec", "status")}
    is_open = schema.get("x-kubernetes-preserve-unknown-fields") and path not in ("spec", "status")
    if path == "status.conditions[]" or not parts or is_open:
        yield path.removesuffix("[]")
    if path == "status.conditions[]":
        return
    for name, part in parts.items():
        below = f"{path}.{name}".lstrip(".")
        if below in _SAME:
            assert part == schema["properties"][_SAME[below].rpartition(".")[2]]
            continue
        yield from _of_schema(part, below)


def _of_shape(shape, path=""):
    if shape.items is not None and shape.items.fields:
        shape, path = shape.items, f"{path}[]"
    parts = {name: part for name, part in shape.fields.items() if path or name in ("spec", "status")}
    if path == "status.conditions[]" or not parts:
        yield path.removesuffix("[]")
        return
    for name, part in parts.items():
        yield from _of_shape(part.shape, f"{path}.{name}".lstrip("."))
