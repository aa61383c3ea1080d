"""What keeps the folder readable: generic code names no kind."""

import ast
from pathlib import Path

import pytest

import muster.local
from muster.local.schema import load

HOUSE = Path(muster.local.__file__).parent
PACKAGES = ("codec", "objects", "patching", "schema", "serve", "store")
SPECIAL = HOUSE / "serve" / "special"
"""Where kinds have modules of their own."""
GRAMMAR = {("serve/routes.py", "namespaces")}
"""Paths have it: /api/v1/namespaces/NAMESPACE/..."""


def names_of_kinds():
    found = {"Binding", "bindings", "Eviction"}
    for one in load.resources():
        found |= {one.kind, one.plural, f"{one.plural}.{one.group}"}
    return found


def modules():
    found = [module for part in PACKAGES for module in sorted((HOUSE / part).rglob("*.py"))]
    found += [HOUSE / "kinds" / f"{name}.py" for name in ("kind", "registry", "status")]
    return [module for module in found if SPECIAL not in module.parents]


def texts(module):
    """All texts in a module's code, documentation aside."""
    tree = ast.parse(module.read_text())
    documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            yield node.value


@pytest.mark.parametrize("module", modules(), ids=lambda module: str(module.relative_to(HOUSE)))
def test_generic_code_names_no_kind(module):
    kinds, place = names_of_kinds(), str(module.relative_to(HOUSE))
    assert {text for text in texts(module) if text in kinds and (place, text) not in GRAMMAR} == set()


@pytest.mark.parametrize("module", modules(), ids=lambda module: str(module.relative_to(HOUSE)))
def test_generic_code_imports_no_module_of_a_kind(module):
    own = {"muster.local.kinds." + name for name in ("kind", "registry", "status", "tables", "definitions")}
    tree = ast.parse(module.read_text())
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("muster.local.kinds"):
            found |= {f"{node.module}.{one.name}" for one in node.names}
    strange = {name for name in found if not any(name == one or name.startswith(f"{one}.") for one in own)}
    assert strange == set()
