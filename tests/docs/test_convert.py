"""The examples of docs/convert.md are what `muster convert` prints and says."""

import re

import pytest
import yaml
from click.testing import CliRunner

from muster.api.wire import Pod, read
from muster.app.convert.declared import dialect_of
from muster.app.convert.pieces import page, pod_templates
from muster.app.manifests import parse
from muster.cli import main
from muster.gangs.dialects import DIALECTS
from tests.docs.printed import ROOT

SECTIONS = re.findall(r"^## (.*?)$(.*?)(?=^## |\Z)", (ROOT / "docs" / "convert.md").read_text(), flags=re.S | re.M)


def blocks(text):
    """Before, after and what is said."""
    found = re.findall(r"^```(yaml|text)\n(.*?)^```$", text, flags=re.S | re.M)
    assert [kind for kind, _ in found] in (["yaml", "yaml"], ["yaml", "yaml", "text"])
    before, after, *said = (text for _, text in found)
    return before, after, "".join(said)


@pytest.mark.parametrize(("title", "text"), SECTIONS, ids=[title for title, _ in SECTIONS])
def test_an_example_is_what_is_printed(title, text, tmp_path, monkeypatch):
    before, after, said = blocks(text)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.yaml").write_text(before)
    result = CliRunner().invoke(main, ["convert", "-f", "old.yaml"])
    assert (result.exit_code, result.stdout, result.stderr) == (0, after, said)


@pytest.mark.parametrize(("title", "text"), SECTIONS, ids=[title for title, _ in SECTIONS])
def test_an_example_converted_again_is_the_same(title, text):
    _, after, _ = blocks(text)
    assert CliRunner().invoke(main, ["convert", "-f", "-"], input=after).stdout == after


def test_every_dialect_has_an_example():
    # what examples are converted to is none
    spoken = {"v1beta1"}
    for _, text in SECTIONS:
        for piece in (piece for document in parse(blocks(text)[0], file="") for piece in page(document).pieces):
            found = dialect_of(piece)
            spoken |= {found.name} if found else set()
            for _, template in pod_templates(piece):
                pod = read(Pod, {"metadata": {"name": ""} | template.get("metadata", {}), "spec": template["spec"]})
                spoken |= {dialect.name for dialect in DIALECTS if dialect.membership(pod)}
    assert spoken == {dialect.name for dialect in DIALECTS}


def test_examples_are_yaml_for_everybody():
    for _, text in SECTIONS:
        before, after, _ = blocks(text)
        assert all(yaml.safe_load_all(before))
        assert all(yaml.safe_load_all(after))
