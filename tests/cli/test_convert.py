"""`muster convert` on the command line: what goes where, and the exit status."""

import pytest
import yaml
from click.testing import CliRunner

from muster.cli import main

OLD = """\
# a comment
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: PodGroup
metadata: {name: train}
spec: {minMember: 3, minResources: {cpu: 3}}
---
apiVersion: v1
kind: Pod
metadata: {name: p, labels: {scheduling.x-k8s.io/pod-group: train}}
spec: {containers: [{name: main}]}
"""
NEW = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata:
  name: train
spec:
  schedulingPolicy:
    gang:
      minCount: 3
  disruptionMode:
    all: {}
---
apiVersion: v1
kind: Pod
metadata:
  name: p
spec:
  schedulingGroup:
    podGroupName: train
  containers:
  - name: main
"""
LOST = "PodGroup train: spec.minResources is lost: pods' own requests decide whether a gang fits\n"


@pytest.fixture
def muster(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.yaml").write_text(OLD)
    (tmp_path / "bad.yaml").write_text(OLD.replace("minMember: 3", "minMember: x"))
    (tmp_path / "broken.yaml").write_text("a: [")
    return lambda *args, stdin=None: CliRunner().invoke(main, ("convert", *args), input=stdin)


def test_what_was_converted_is_printed_and_what_is_lost_told(muster):
    result = muster("-f", "old.yaml")
    assert (result.exit_code, result.stdout) == (0, NEW)
    assert result.stderr == f"muster: old.yaml: document 1: {LOST}"


def test_standard_input_is_a_file(muster):
    result = muster("-f", "-", stdin=OLD)
    assert (result.exit_code, result.stdout) == (0, NEW)
    assert result.stderr == f"muster: standard input: document 1: {LOST}"


def test_several_files_are_one_input(muster, tmp_path):
    group, pod = OLD.split("---\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "pod.yaml").write_text(pod)
    assert muster("-f", "folder", "-f", "-", stdin=group).stdout.split("---\n")[::-1] == NEW.split("---\n")


def test_the_other_target_is_muster_itself(muster):
    group, pod = yaml.safe_load_all(muster("-f", "old.yaml", "--to", "muster").stdout)
    assert group["apiVersion"] == "muster.dev/v1beta1"
    assert pod["metadata"]["labels"] == {"muster.dev/pod-group": "train"}


def test_what_cannot_be_converted_exits_1_and_prints_nothing(muster):
    result = muster("-f", "old.yaml", "-f", "bad.yaml")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "muster: bad.yaml: document 1: PodGroup train: spec.minMember: Expected `int`, got `str`\n"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["-f", "nowhere.yaml"], "muster: nowhere.yaml: cannot be read: No such file or directory"),
        (["-f", "broken.yaml"], "muster: broken.yaml:1: not YAML: "),
        ([], "muster: Missing option '-f' / '--filename' (see muster convert --help)"),
        (["-f", "old.yaml", "--to", "v1"], "muster: Invalid value for '--to'"),
    ],
)
def test_input_that_cannot_be_used_exits_2(muster, arguments, line):
    result = muster(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(line)
    assert result.stderr.count("\n") == 1


def test_nothing_in_is_nothing_out(muster):
    result = muster("-f", "-", stdin="# nothing\n")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
