"""The example plugins are a package that installs, is found by its entry points, and passes its own tests."""

import sys

import pytest

from tests.examples.installed import PACKAGE, install, run

MODULES = [file for file in sorted(PACKAGE.glob("src/*/*.py")) if file.stem != "__init__"]


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    return install(tmp_path_factory.mktemp("installed"))


def test_its_own_tests_pass_where_it_is_installed(environment, tmp_path):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(PACKAGE)]
    scenarios = len(list((PACKAGE / "scenarios").glob("*.yaml")))
    assert scenarios >= len(MODULES)
    assert " passed" in run(*command, environment=environment, cwd=tmp_path)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.stem)
def test_a_plugin_fits_on_a_screen_and_has_a_scenario(module):
    assert len(module.read_text().splitlines()) < 40
    assert (PACKAGE / "scenarios" / f"{module.stem}.yaml").exists()


def test_without_the_package_one_line_says_what_to_do(tmp_path):
    scenario, config = PACKAGE / "scenarios" / "approval.yaml", PACKAGE / "config.yaml"
    with pytest.raises(AssertionError) as failed:
        run(sys.executable, "-m", "muster", "simulate", str(scenario), "--config", str(config), cwd=tmp_path)
    (line,) = str(failed.value).splitlines()
    assert "there is no plugin RackLimit; one of yours is written as module:Class, or offered by a package" in line
