"""Plugins by users in a configuration file: found, made with their arguments, or refused in one line."""

import sys
from abc import ABC, abstractmethod
from importlib.metadata import EntryPoint

import pytest

from muster.app import configuration
from muster.base.errors import ConfigError, JournalError
from muster.framework.contract import PodReader, RuleFilter, Wide
from muster.framework.plugin import Plugin
from muster.plugins import by_users, registry

HERE = "tests.framework.plugins_by_users"
FIXED = f"{HERE}:AtMostVector"


def config(plugins, args=""):
    return f"""
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: muster
  plugins: {plugins}
  pluginConfig: [{args}]
"""


def loaded(plugins, args=""):
    return configuration.loads(config(plugins, args)).settings


def of(settings, name):
    return next(part for part in settings.plugins if part.name == name)


def refused(plugins, args=""):
    with pytest.raises(ConfigError) as error:
        loaded(plugins, args)
    return str(error.value)


class Choosy(Plugin):
    def __init__(self, args):
        super().__init__(args)
        if args.get("most", 1) < 1:
            raise ValueError("most must be at least 1")

    def filter(self, trait, node):
        return None


class Clumsy(Plugin):
    def __init__(self, args):
        raise KeyError("most")

    def filter(self, trait, node):
        return None


class Twofold(Plugin):
    def filter(self, trait, node):
        return None

    def filter_nodes(self, trait, nodes):
        return []


class Idle(Plugin):
    pass


class Prepares(Plugin):
    def pre_filter(self, pod):
        return ""

    def pre_score(self, trait, nodes):
        return None


class Unfinished(Plugin, ABC):
    @abstractmethod
    def wanted(self): ...

    def filter(self, trait, node):
        return self.wanted()


class Finished(Unfinished):
    def wanted(self):
        return None


class NodeName(Choosy):
    pass


class Volumes(Choosy):
    name = "VolumeBinding"


class Namesake(Choosy):
    name = "Choosy"


class Greedy(Choosy):
    """Takes its arguments out of what it is given."""

    def __init__(self, args):
        super().__init__(args)
        self.given = {name: args.pop(name) for name in list(args)}
        Greedy.last = self


def test_a_plugin_is_found_by_module_and_class_and_gets_its_arguments():
    settings = loaded(f"{{multiPoint: {{enabled: [{{name: '{FIXED}'}}]}}}}", f"{{name: '{FIXED}', args: {{most: 3}}}}")
    part = of(settings, FIXED)
    assert part.args == registry.UserArgs(points=("preFilter", "filter"), values={"most": 3})
    profile = settings.make_profiles()[0]
    (watcher,) = (plugin for plugin, _ in profile.wide if plugin.name == "AtMostVector")
    assert isinstance(watcher, Wide)
    assert [reader.name for reader in profile.readers] == ["AtMostVector"]


def test_a_plugin_is_found_by_the_name_that_its_package_offers(monkeypatch):
    point = EntryPoint("AtMost", FIXED, by_users.GROUP)
    offers = lambda *, group, name=None: [point] if name in (None, "AtMost") else []  # noqa: E731
    monkeypatch.setattr(by_users, "entry_points", offers)
    assert of(loaded("{filter: {enabled: [{name: AtMost}]}}"), "AtMost").args.points == ("filter",)
    assert "did you mean AtMost" in refused("{filter: {enabled: [{name: AtMots}]}}")


def test_a_plugin_may_inherit_from_an_abstract_one():
    (profile,) = loaded(f"{{filter: {{enabled: [{{name: '{__name__}:Finished'}}]}}}}").make_profiles()
    assert "Finished" in {plugin.name for plugin in profile.rule_filters}


def test_a_plugin_is_made_with_the_same_arguments_each_time_and_as_a_journal_has_them():
    greedy = f"{__name__}:Greedy"
    args = f"{{name: '{greedy}', args: {{since: 2026-01-02, 7: [a, {{b: 1.5}}]}}}}"
    settings = loaded(f"{{multiPoint: {{enabled: [{{name: '{greedy}'}}]}}}}", args)
    wanted = {"since": "2026-01-02", "7": ["a", {"b": 1.5}]}
    for _ in range(2):
        settings.make_profiles()
        assert Greedy.last.given == wanted
    registry.from_journal(registry.to_journal(*settings.parts))
    assert Greedy.last.given == wanted


def profiles(*plugins):
    """Settings with a profile for each, and one without any."""
    head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\npodInitialBackoffSeconds: 3\n"
    rows = ["- {schedulerName: plain}"]
    for number, (name, args) in enumerate(plugins):
        enabled = f"plugins: {{multiPoint: {{enabled: [{{name: '{name}'}}]}}}}"
        rows.append(f"- {{schedulerName: s{number}, {enabled}, pluginConfig: [{{name: '{name}', args: {args}}}]}}")
    return configuration.loads(head + "profiles:\n" + "\n".join(rows)).settings


def test_a_plugin_may_be_in_some_profiles_and_not_in_others():
    settings = profiles((FIXED, "{most: 2}"), (FIXED, "{most: 2}"))
    assert [parts.scheduler_names for parts in settings.parts] == [("plain",), ("s0", "s1")]
    assert [len(profile.readers) for profile in settings.make_profiles()] == [0, 1]


@pytest.mark.parametrize(
    ("plugins", "words"),
    [
        ([(FIXED, "{most: 2}"), (FIXED, "{most: 3}")], "AtMostVector has other arguments than in another profile"),
        ([(f"{__name__}:Choosy", "{}"), (f"{__name__}:Namesake", "{}")], "plugin Choosy is another in one profile"),
    ],
)
def test_profiles_that_mean_different_things_by_one_plugin_are_refused(plugins, words):
    with pytest.raises(ConfigError, match=words):
        profiles(*plugins)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "import nothing_like_it",
            "cannot be loaded: ModuleNotFoundError: No module named 'nothing_like_it' (mine.py:1)",
        ),
        ("x = {}\nx['y']", "cannot be loaded: KeyError: 'y' (mine.py:2)"),
        ("raise SystemExit(3)", "cannot be loaded: SystemExit: 3 (mine.py:1)"),
        ("def f(:", "cannot be loaded: SyntaxError: invalid syntax (mine.py, line 1)"),
        ("", "module mine has no Mine; it has no plugins"),
    ],
)
def test_what_is_wrong_with_a_module_is_told_in_one_line(text, said, tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    assert said in refused("{filter: {enabled: [{name: 'mine:Mine'}]}}")


def test_a_journal_whose_plugin_is_gone_says_so():
    parts = registry.ProfileParts(plugins=loaded(f"{{multiPoint: {{enabled: [{{name: '{FIXED}'}}]}}}}").plugins)
    header = {"profile": registry.to_journal(parts)["profile"].replace(FIXED, "gone:AtMost")}
    with pytest.raises(
        JournalError, match="cannot be made again: plugin gone:AtMost: there is no module gone; install"
    ):
        registry.from_journal(header)


def test_a_plugin_takes_part_only_where_it_is_listed():
    newest = f"{HERE}:NewestVector"
    settings = loaded(f"{{score: {{enabled: [{{name: '{newest}', weight: 7}}]}}}}")
    assert of(settings, newest).weight == 7
    profile = settings.make_profiles()[0]
    assert [plugin.name for plugin, _ in profile.rule_scores].count("NewestVector") == 1
    assert "NewestVector" not in {plugin.name for plugin in profile.rule_filters}


def test_the_profile_survives_a_journal():
    settings = loaded(f"{{multiPoint: {{enabled: [{{name: '{FIXED}'}}]}}}}", f"{{name: '{FIXED}', args: {{most: 3}}}}")
    parts = registry.ProfileParts(plugins=settings.plugins)
    profile = registry.from_journal(registry.to_journal(parts))[0]
    assert [reader.name for reader in profile.readers] == ["AtMostVector"]


@pytest.mark.parametrize(
    ("plugins", "args", "words"),
    [
        ("{filter: {enabled: [{name: 'no.such:Thing'}]}}", "", "there is no module no; install its package where"),
        (
            f"{{filter: {{enabled: [{{name: '{HERE}:Nobody'}}]}}}}",
            "",
            "plugins_by_users has no Nobody; it has AtMost, AtMostSimple",
        ),
        (f"{{filter: {{enabled: [{{name: '{HERE}:ZONE'}}]}}}}", "", "is no plugin"),
        (f"{{score: {{enabled: [{{name: '{FIXED}'}}]}}}}", "", "does not extend score"),
        (f"{{filter: {{enabled: [{{name: '{__name__}:Twofold'}}]}}}}", "", "has both filter and filter_nodes"),
        (f"{{filter: {{enabled: [{{name: '{__name__}:Idle'}}]}}}}", "", "takes part in nothing"),
        (f"{{preFilter: {{enabled: [{{name: '{__name__}:Prepares'}}]}}}}", "", "takes part in nothing"),
        (
            f"{{filter: {{enabled: [{{name: '{__name__}:Unfinished'}}]}}}}",
            "",
            "cannot be made: TypeError: Can't instantiate",
        ),
        (
            f"{{filter: {{enabled: [{{name: '{__name__}:NodeName'}}]}}}}",
            "",
            "is called NodeName, as NodeName is; give its",
        ),
        (
            f"{{filter: {{enabled: [{{name: '{__name__}:Volumes'}}]}}}}",
            "",
            "is called VolumeBinding, as VolumeBinding is",
        ),
        (
            f"{{filter: {{enabled: [{{name: '{__name__}:Choosy'}}, {{name: '{__name__}:Namesake'}}]}}}}",
            "",
            "Namesake is called Choosy, as",
        ),
        (f"{{filter: {{enabled: [{{name: '{__name__}:Clumsy'}}]}}}}", "", "cannot be made: KeyError: 'most'"),
        (
            f"{{filter: {{enabled: [{{name: '{__name__}:Choosy'}}]}}}}",
            f"{{name: '{__name__}:Choosy', args: {{most: 0}}}}",
            "most must be at least 1",
        ),
        (
            f"{{filter: {{enabled: [{{name: '{__name__}:Choosy'}}]}}}}",
            f"{{name: '{__name__}:Choosy', args: [1]}}",
            "must be a mapping",
        ),
    ],
)
def test_what_is_no_plugin_is_refused_in_one_line(plugins, args, words):
    said = refused(plugins, args)
    assert words in said
    assert "\n" not in said


def test_two_orders_for_one_queue_are_refused():
    said = refused(f"{{queueSort: {{enabled: [{{name: '{__name__}:Ordered'}}]}}}}")
    assert "cannot order the queue together" in said
    both = f"{{queueSort: {{enabled: [{{name: '{__name__}:Ordered'}}], disabled: [{{name: PrioritySort}}]}}}}"
    assert loaded(both).make_profiles()[0].order.name == "Ordered"


class Ordered(Plugin):
    def queue_sort(self, unit):
        return unit.priority, unit.created


def test_roles_are_those_of_the_points():
    profile = loaded(f"{{multiPoint: {{enabled: [{{name: '{__name__}:Choosy'}}]}}}}").make_profiles()[0]
    (mine,) = (plugin for plugin in profile.rule_filters if plugin.name == "Choosy")
    assert isinstance(mine, RuleFilter)
    assert all(isinstance(reader, PodReader) for reader in profile.readers)
