"""docs/plugins.md is true: its commands say what it says they say, on the simulator and on the embedded cluster."""

import os
import re
import shlex
import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest

from muster.app import configuration
from muster.base.errors import ConfigError
from muster.engine.decisions import PodCondition
from muster.framework.by_users import points
from muster.framework.plugin import Plugin
from muster.plugins import by_users
from muster.plugins.registry import UserArgs
from tests.builders import World, only
from tests.docs.plugin_page import ARGUMENTS, COLUMNS, FILES, TEXT, commands, faulty, mistakes, write
from tests.docs.printed import ROOT
from tests.examples.installed import PACKAGE
from tests.local.processes import MUSTER, Up, until

MERGE = "application/merge-patch+json"


@pytest.fixture
def folder(tmp_path):
    """What somebody has who followed the page."""
    write(tmp_path)
    return tmp_path


def run(line, folder):
    """A command as it stands on the page."""
    words = shlex.split(line)
    given = dict(word.split("=", 1) for word in words if re.match(r"[A-Z]+=", word))
    assert words[len(given)] == "muster"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | given
    command = [*MUSTER, *words[len(given) + 1 :]]
    # the folder is on the path of `python -m`, and not on that of `muster`
    environment["PYTHONSAFEPATH"] = "1"
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=120
    )


# --- the commands ---


def test_the_story_goes_as_the_page_says(folder):
    (command,) = commands("2. Try it in the simulator")
    done = run(command.line, folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, command.says, "")


def test_a_mistake_is_told_as_the_page_says(folder):
    broken, missing = commands("4. Make a mistake")
    done = run(missing.line, folder)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", missing.says)
    write(folder, **{"teams.py": faulty()})
    done = run(broken.line, folder)
    assert done.returncode == 1
    assert broken.says in done.stdout


def test_the_plugin_in_its_other_form_decides_the_same(folder):
    write(folder, **{"teams.py": COLUMNS})
    (command,) = commands("2. Try it in the simulator")
    assert run(command.line, folder).returncode == 0


def test_what_was_decided_is_decided_again(folder):
    kept, again = commands("The same answer every time")
    assert run(kept.line, folder).returncode == 0
    assert re.sub(r"\d+", "N", run(again.line, folder).stdout) == re.sub(r"\d+", "N", again.says)


def test_on_a_little_cluster_one_sees_what_the_page_says(folder):
    started, label, create, events, unlabel, shown = commands("3. On a little cluster")
    flags = shlex.split(started.line.partition(" muster up ")[2])
    environment = {"PYTHONPATH": ".", "PYTHONSAFEPATH": "1"}
    with Up(folder / "up", "--port", "0", *flags, directory=folder, environment=environment) as up, up.api() as api:
        assert re.sub(r":\d+\.", ":7443.", up.said.splitlines()[0]) == started.says.strip()
        names = [node["metadata"]["name"] for node in api.get("/api/v1/nodes")["items"]]
        assert "".join(f"node/{name} labeled\n" for name in names) == label.says
        for name in names:
            _label(api, name, "red")
        pod = {"metadata": {"name": "web", "labels": {"team": "blue"}}}
        assert "web" in create.line
        assert "team=blue" in create.line
        path = "/api/v1/namespaces/default/pods"
        api.request("POST", path, pod | {"spec": {"containers": [{"name": "web", "image": "nginx"}]}})
        message = re.search(r"0/3 nodes .*", events.says)[0]
        until(lambda: _waits(api.get(f"{path}/web")) == message, lambda: api.get(f"{path}/web")["status"])
        _label(api, unlabel.line.split()[3], None)
        until(lambda: "nodeName" in api.get(f"{path}/web")["spec"], "the pod still waits")
        assert api.get(f"{path}/web")["spec"]["nodeName"] in shown.says


def test_a_mistake_is_in_the_log_of_the_little_cluster(folder):
    write(folder, **{"teams.py": faulty()})
    flags = ("--ephemeral", "--port", "0", "--nodes", "1", "--config", "config.yaml")
    with Up(folder / "up", *flags, directory=folder, environment={"PYTHONPATH": "."}) as up, up.api() as api:
        pod = {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "web", "image": "nginx"}]}}
        api.request("POST", "/api/v1/namespaces/default/pods", pod)
        until(lambda: any("a plugin failed" in line for line in up.complaints), lambda: up.complaints)
        told = "\n".join(up.complaints)
        assert "plugin=TeamNodes" in told
        assert 'owner = node.labels["team"]' in told
        assert "KeyError: 'team'" in told


def _label(api, name, team):
    api.request("PATCH", f"/api/v1/nodes/{name}", {"metadata": {"labels": {"team": team}}}, content_type=MERGE)


def _waits(pod):
    return next((one["message"] for one in pod["status"].get("conditions", ()) if "message" in one), "")


# --- the tables ---

HEAD = """from muster.framework.plugin import Plugin


class TeamNodes(Plugin):
    def pre_filter(self, pod):
        return pod.metadata.labels.get("team", "nobody")

"""
NAMED = FILES["teams.py"]
AT_START = {
    "the module is not found": (None, "teams:TeamNodes"),
    "it cannot be imported": ("\n\nx", "teams:TeamNodes"),
    "it has no such class": (NAMED, "teams:TeamNode"),
    "no package offers the name": (NAMED, "TeamNodes"),
    "it lacks the method": (NAMED, "teams:TeamNodes"),
    "it has both forms": (NAMED + "\n    def filter_nodes(self, team, nodes):\n        return []\n", "teams:TeamNodes"),
    "`__init__` raises ValueError": (
        NAMED + "\n    def __init__(self, args):\n        raise ValueError('most must be at least 1')\n",
        "teams:TeamNodes",
    ),
    "it is called as another": (NAMED.replace("class TeamNodes", "class NodeName"), "teams:NodeName"),
}
WHILE_IT_RUNS = {
    "a method raises": faulty(),
    "`filter` gives something else than text or `None`": "filter(self, team, node)|False",
    "`score` is out of bounds": "score(self, team, node, prepared)|101",
    "`score` is no whole number": "score(self, team, node, prepared)|0.5",
    "`filter_nodes` gives no list of pairs": "filter_nodes(self, team, nodes)|None",
    "its rows are too few, or no truths": "filter_nodes(self, team, nodes)|[('no', np.zeros(3, bool))]",
    "`score_nodes` gives fractions": "score_nodes(self, team, nodes, takes)|np.zeros(len(nodes))",
    "a trait is no plain data": NAMED.replace('pod.metadata.labels.get("team", "nobody")', "['red']"),
    "it looks at pods without `watches_pods`": "filter(self, team, node)|'full' if node.pods else None",
}


@pytest.fixture
def importable(tmp_path, monkeypatch):
    """Writes teams.py where it is found, or not at all."""

    def write_it(text):
        monkeypatch.delitem(sys.modules, "teams", raising=False)
        if text is not None:
            (tmp_path / "teams.py").write_text(text)
            monkeypatch.syspath_prepend(tmp_path)

    yield write_it
    sys.modules.pop("teams", None)


def test_every_mistake_of_the_page_is_made_here():
    at_start, running = mistakes()
    assert (at_start.keys(), running.keys()) == (AT_START.keys(), WHILE_IT_RUNS.keys())


@pytest.mark.parametrize("mistake", AT_START)
def test_what_is_wrong_at_the_start_is_said_as_the_page_has_it(mistake, importable):
    text, name = AT_START[mistake]
    importable(text)
    config = FILES["config.yaml"].replace("teams:TeamNodes", name)
    if mistake == "it lacks the method":
        config = config.replace("multiPoint", "score")
    with pytest.raises(ConfigError) as error:
        configuration.loads(config, file="config.yaml")
    assert str(error.value).endswith(mistakes()[0][mistake])
    assert str(error.value).startswith("config.yaml: profiles[0]")


@pytest.mark.parametrize("mistake", WHILE_IT_RUNS)
def test_what_is_wrong_while_it_runs_is_said_as_the_page_has_it(mistake, importable):
    text = WHILE_IT_RUNS[mistake]
    if "|" in text:
        method, answer = text.split("|")
        text = f"{HEAD}    def {method}:\n        return {answer}\n"
        text = text.replace("\n\n\n", "\nimport numpy as np\n\n", 1)
    importable(text)
    world = World(*configuration.loads(FILES["config.yaml"]).settings.make_profiles())
    world.node("a", labels={"team": "red"}).node("b").node("c")
    (said,) = only(PodCondition, world.pod("web", labels={"team": "blue"}).decide())
    assert (said.reason, said.message) == ("SchedulerError", mistakes()[1][mistake])


def test_arguments_are_given_as_the_page_says(importable):
    importable(
        NAMED.replace("    def pre_filter", "    def label(self):\n        return self.args\n\n    def pre_filter")
    )
    settings = configuration.loads(FILES["config.yaml"] + ARGUMENTS).settings
    (part,) = (part for part in settings.plugins if part.name == "teams:TeamNodes")
    assert part.args.values == {"label": "example.com/team"}


def test_plugins_are_enabled_as_the_page_on_settings_says(importable, monkeypatch):
    importable(NAMED)
    monkeypatch.syspath_prepend(PACKAGE / "src")
    offered = EntryPoint("RackLimit", "muster_example_plugins.rack_limit:RackLimit", by_users.GROUP)
    monkeypatch.setattr(by_users, "entry_points", lambda *, group, name=None: [offered])
    page = (ROOT / "docs" / "install.md").read_text()
    (example,) = re.findall(r"^```yaml\n(profiles:.*?)^```$", page, flags=re.S | re.M)
    head, _, _ = FILES["config.yaml"].partition("profiles:")
    settings = configuration.loads(head + example).settings
    mine = {part.name: part for part in settings.plugins if isinstance(part.args, UserArgs)}
    assert {name: part.args.values for name, part in mine.items()} == {"RackLimit": {"most": 2}, "teams:TeamNodes": {}}
    assert settings.make_profiles()


def test_every_method_of_a_plugin_is_in_the_table():
    (table,) = re.findall(r"^\| Kubernetes calls it \|.*?(?=\n\n)", TEXT, flags=re.S | re.M)
    methods = [name for name, value in vars(Plugin).items() if callable(value) and not name.startswith("_")]
    assert sorted(re.findall(r"`(\w+)\(", table)) == sorted(methods)
    every = type("Every", (Plugin,), {name: lambda self: None for name in methods})
    upstream = {f"{name[0].lower()}{name[1:]}" for name in re.findall(r"^\| (\w+) \| `", table, flags=re.M)}
    assert upstream == points(every)
