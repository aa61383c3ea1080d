"""Makes src/muster/local/kinds/internal.json: how Kubernetes prints some of its internal structs.

    python -m controlplane.internal

Validation works on internal structs, which have no names for JSON; a message that shows such a value ("spec.template:
Invalid value: {...}: field is immutable") has Go's names of fields, in Go's order, none left out.  The file has, for
each struct that a message of ours may show, a line with its fields; `muster.local.kinds.internal` says how to read it.
Names and types are read off the Go modules of the same version; none of their prose is kept.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from pathlib import Path

from controlplane.build import KUBERNETES, BuildError

OUTPUT = Path(__file__).parent.parent / "src/muster/local/kinds/internal.json"

_STRUCT = re.compile(r"^type (\w+) struct ?\{(?:\}$|\n(.*?)^\})", re.MULTILINE | re.DOTALL)
_NAMED = re.compile(r"^type (\w+) (?!struct\b|interface\b|=)(\S+)$", re.MULTILINE)
_FIELD = re.compile(r"^\t(?!//)(?:([A-Z]\w*)\s+)?([\w.*\[\]{}]+)(?:\s+`([^`]*)`)?(?:\s*//.*)?$", re.MULTILINE)
_JSON = re.compile(r'json:"(\w+)')

_INTERNAL = {
    "k8s.io/kubernetes": ("pkg/apis/core", "pkg/apis/batch", "pkg/apis/scheduling", "pkg/apis/policy"),
    "k8s.io/apiextensions-apiserver": ("pkg/apis/apiextensions",),
}
_PUBLISHED = {
    "k8s.io/api": ("core/v1", "batch/v1", "scheduling/v1beta1", "scheduling/v1alpha3", "policy/v1"),
    "k8s.io/apiextensions-apiserver": ("pkg/apis/apiextensions/v1",),
}
_ROOTS = (
    "PodTemplateSpec",
    "PodFailurePolicy",
    "SuccessPolicy",
    "CompositePodGroupTemplate",
    "PodDisruptionBudgetSpec",
    "CustomResourceDefinitionVersion",
    "ObjectReference",
    "EventSource",
    "Taint",
    "NodeAddress",
    "PodIP",
    "HostIP",
)
_EMPTY = {
    "string": "s",
    "UID": "s",
    "Quantity": "q",
    "bool": "b",
    "int": "0",
    "int32": "0",
    "int64": "0",
    "float64": "0",
}
_RENAMED = {("PodSpec", "DeprecatedServiceAccount"): "serviceAccount"}
"""What is named otherwise inside than outside."""


def main() -> None:
    inside = [_folder(module) / path for module, paths in _INTERNAL.items() for path in paths]
    outside = [_folder(module) / path for module, paths in _PUBLISHED.items() for path in paths]
    structs = _Structs(inside, outside)
    wanted, lines = list(_ROOTS), {}
    while wanted:
        name = wanted.pop()
        if name not in lines:
            lines[name], more = structs.line(name)
            wanted += more
    body = ",\n".join(f"{json.dumps(name)}:{json.dumps(lines[name])}" for name in sorted(lines))
    OUTPUT.write_text(f"{{\n{body}\n}}\n")


class _Structs:
    """The internal structs, with the names that the published ones have for their fields in JSON."""

    def __init__(self, inside: list[Path], outside: list[Path]) -> None:
        self._bodies: dict[str, str] = {}
        self._named: dict[str, str] = {}
        self._names: dict[tuple[str, str], str] = {}
        for folder in reversed(inside):
            for source in _sources(folder):
                self._bodies |= dict(_STRUCT.findall(source))
                self._named |= dict(_NAMED.findall(source))
        for folder in reversed(outside):
            for source in _sources(folder):
                for name, body in _STRUCT.findall(source):
                    for field, _, tags in _FIELD.findall(body):
                        if field and (found := _JSON.search(tags)):
                            self._names[name, field] = found[1]

    def line(self, name: str) -> tuple[str, list[str]]:
        """The struct's fields in a line, and the structs that these hold."""
        words, held = [], []
        for field, written, _ in _FIELD.findall(self._bodies[name]):
            if not field:
                if written.startswith("metav1."):
                    continue
                inner, more = self.line(written)
                words.append(inner)
                held += more
                continue
            kind, struct = self._kind(written)
            outer = _RENAMED.get((name, field)) or self._names.get((name, field)) or field[0].lower() + field[1:]
            renamed = "" if outer == field[0].lower() + field[1:] else f"={outer}"
            words.append(f"{field}{renamed}:{kind}{struct}")
            held += [struct] if struct else []
        return " ".join(words), held

    def _kind(self, written: str) -> tuple[str, str]:
        """How the field looks when it is empty, and the struct that it holds."""
        base = written.lstrip("*").removeprefix("[]").removeprefix("*")
        base = base.rpartition(".")[2] if "." in base and not base.startswith("map") else base
        if base == "LabelSelector":
            return "l", ""
        struct = base if base in self._bodies else ""
        if written.startswith("*"):
            return "-", struct
        made_of = self._named.get(base, base)
        if written.startswith("[]"):
            return "-", struct
        if made_of.startswith("map["):
            return "m", ""
        if struct:
            return "{", struct
        return _EMPTY.get(made_of, "-"), ""


def _folder(module: str) -> Path:
    """Where Go keeps a module; the libraries of Kubernetes 1.37.1 are 0.37.1."""
    version = KUBERNETES if module == "k8s.io/kubernetes" else f"0.{KUBERNETES.partition('.')[2]}"
    command = ["go", "mod", "download", "-json", f"{module}@v{version}"]
    with tempfile.TemporaryDirectory() as work:
        done = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"{' '.join(command)} failed: {(done.stderr or done.stdout).strip()[-600:]}")
    return Path(json.loads(done.stdout)["Dir"])


def _sources(folder: Path) -> list[str]:
    skipped = ("zz_", "generated")
    paths = [path for path in sorted(folder.glob("*.go")) if not path.name.startswith(skipped)]
    return [path.read_text() for path in paths if not path.name.endswith("_test.go")]


if __name__ == "__main__":
    main()
