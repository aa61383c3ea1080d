"""Plugins by users in a configuration file: found, made with their arguments, or refused in one line."""

from importlib.metadata import EntryPoint

import pytest

from muster.app import configuration
from muster.base.errors import ConfigError
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
        ("{filter: {enabled: [{name: 'no.such:Thing'}]}}", "", "No module named 'no'"),
        (f"{{filter: {{enabled: [{{name: '{HERE}:Nobody'}}]}}}}", "", "has no attribute 'Nobody'"),
        (f"{{filter: {{enabled: [{{name: '{HERE}:ZONE'}}]}}}}", "", "is no plugin"),
        (f"{{score: {{enabled: [{{name: '{FIXED}'}}]}}}}", "", "does not extend score"),
        (f"{{filter: {{enabled: [{{name: '{__name__}:Twofold'}}]}}}}", "", "has both filter and filter_nodes"),
        (f"{{filter: {{enabled: [{{name: '{__name__}:Idle'}}]}}}}", "", "takes part in nothing"),
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
