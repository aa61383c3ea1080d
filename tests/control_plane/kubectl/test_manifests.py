"""kubectl reads what `muster convert` prints as it reads what was given: no text becomes a number on the way."""

import json
import random
import subprocess

from controlplane import build
from muster.app.manifests import parse, to_yaml
from tests.control_plane.conftest import VERSION

LETTERS = "0123456789.eE+-_xXoObBaAfFyYnN:~#'\"<=%@!&*|> \t\n{}[],?TZé\\/"
PLAIN = "0123456789.eE+-_xXoObByYnNaf"


def words(letters, count):
    chance = random.Random(1)
    return sorted({"".join(chance.choice(letters) for _ in range(chance.randint(1, 6))) for _ in range(count)})


def as_kubectl_reads(text, folder):
    file = folder / "given.yaml"
    file.write_text(text)
    command = [str(build.program("kubectl", VERSION)), "label", "--local", "-f", str(file), "-o", "json", "a=b"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout)["data"]


def test_texts_stay_texts(tmp_path):
    texts = {
        f"k{number}": word for number, word in enumerate([*words(LETTERS, 5000), "", "12:30", "2026-01-01", "0O17"])
    }
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": texts}
    assert as_kubectl_reads(to_yaml([config_map]), tmp_path) == texts


def test_what_has_no_quotes_is_to_us_what_it_is_to_kubectl(tmp_path):
    plain = [word for word in words(PLAIN, 5000) if not word.startswith("-")]
    lines = "".join(f"  k{number}: {word}\n" for number, word in enumerate([*plain, "-1", "-_2", "-.5", "-0x1F"]))
    text = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata:\n{lines}"
    (document,) = parse(text, file="given.yaml")
    theirs, ours = as_kubectl_reads(text, tmp_path), document.data["data"]
    # for Python True is 1
    assert {key: (value, type(value) is bool) for key, value in theirs.items()} == {
        key: (value, type(value) is bool) for key, value in ours.items()
    }
