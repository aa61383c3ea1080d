"""Controllers decide; only the driver does I/O, and nobody but the one who starts them has a clock or chance."""

import ast
from pathlib import Path

import pytest

import muster.controllers
import muster.local.kubelets

_IMPURE = {"aiohttp", "asyncio", "datetime", "os", "random", "secrets", "socket", "threading", "time", "uuid"}
_ALLOWED = {"driver.py": {"asyncio"}, "manager.py": {"random"}}
_FILES = sorted(
    path
    for package in (muster.controllers, muster.local.kubelets)
    for path in Path(package.__file__).parent.glob("*.py")
)


@pytest.mark.parametrize("path", _FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_core_has_no_clock_no_chance_and_no_io(path):
    imported = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            imported |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            imported.add(node.module.partition(".")[0])
    assert imported & _IMPURE <= _ALLOWED.get(path.name, set())
