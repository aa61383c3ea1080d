"""Feature gates: what they switch, and what is said of those that cannot be read."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from muster.app.gates import GATES, read_gates, with_gates
from muster.app.settings import Settings
from muster.base.errors import ConfigError
from muster.cli import main
from muster.framework.profile import PreemptionSettings
from muster.gangs.dialects import DIALECTS, SUBSETS

BOTH_OFF = PreemptionSettings(gangs=False, delayed=False)


def read(*texts):
    return with_gates(Settings(), read_gates(texts))


def test_every_gate_is_open_unless_somebody_closes_it():
    assert read() == Settings()
    assert read(*(f"{gate}=true" for gate in GATES)) == Settings()


@pytest.mark.parametrize(
    ("gate", "settings"),
    [
        ("WorkloadAwarePreemption", Settings(preemption=PreemptionSettings(gangs=False))),
        ("DelayedPreemption", Settings(preemption=PreemptionSettings(delayed=False))),
        ("GangScheduling", Settings(closed=DIALECTS)),
        ("GenericWorkload", Settings(closed=DIALECTS)),
        ("PodGroup", Settings(closed=(SUBSETS,))),
        ("WorkloadBasicPolicyDesiredCount", Settings()),
    ],
)
def test_a_gate_closes_what_it_is_named_for(gate, settings):
    assert read(f"{gate}=false") == settings


def test_every_gate_is_told_apart():
    assert read("GangScheduling=false,PodGroup=false,DelayedPreemption=false") == Settings(
        closed=DIALECTS, preemption=PreemptionSettings(delayed=False)
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("GenericWorkload=false,GangScheduling=true", "GangScheduling is on, but needs GenericWorkload, which is off"),
        (
            "WorkloadAwarePreemption=true,GangScheduling=false",
            "WorkloadAwarePreemption is on, but needs GangScheduling, which is off",
        ),
        (
            "WorkloadAwarePreemption=true,GenericWorkload=false",
            "WorkloadAwarePreemption is on, but needs GenericWorkload, which is off",
        ),
    ],
)
def test_a_gate_is_not_on_where_one_is_off_that_it_needs(text, words):
    with pytest.raises(ConfigError) as caught:
        read(text)
    assert str(caught.value) == f"--feature-gates: {words}"


@pytest.mark.parametrize(
    "texts",
    [
        ("DelayedPreemption=false,WorkloadAwarePreemption=false",),
        ("DelayedPreemption=false", "WorkloadAwarePreemption=0"),
        (" DelayedPreemption = F , WorkloadAwarePreemption=False,",),
        ("DelayedPreemption=true,DelayedPreemption=f", "WorkloadAwarePreemption=FALSE"),
    ],
)
def test_gates_are_spelled_as_for_kube_scheduler(texts):
    assert read(*texts).preemption == BOTH_OFF


def test_gates_leave_what_a_file_says_of_preemption():
    settings = Settings(preemption=PreemptionSettings(rounds=7))
    assert with_gates(settings, {"DelayedPreemption": False}).preemption == PreemptionSettings(rounds=7, delayed=False)


def test_closed_gates_are_the_profiles():
    assert not read("DelayedPreemption=false").make_profiles()[0].preemption.delayed


KNOWN = (
    "known are GenericWorkload, GangScheduling, WorkloadAwarePreemption, DelayedPreemption, PodGroup, "
    "WorkloadBasicPolicyDesiredCount"
)
REFUSALS = {
    "AllAlpha=true": f"there is no gate 'AllAlpha'; {KNOWN}",
    "=true": f"there is no gate ''; {KNOWN}",
    "DelayedPreemption": "DelayedPreemption needs a value; write it like DelayedPreemption=false",
    "DelayedPreemption=no": "DelayedPreemption must be true or false, not 'no'",
    "DelayedPreemption=": "DelayedPreemption must be true or false, not ''",
}


@pytest.mark.parametrize("text", REFUSALS)
def test_what_is_no_gate_is_refused(text):
    with pytest.raises(ConfigError) as caught:
        read(text)
    assert str(caught.value) == f"--feature-gates: {REFUSALS[text]}"


@pytest.mark.parametrize("command", ["run", "up"])
def test_a_gate_that_is_unknown_ends_the_command_with_a_line_that_lists_the_known_ones(command):
    result = CliRunner().invoke(main, [command, "--feature-gates=Nonsense=true"])
    assert result.exit_code == 2
    assert result.stderr == f"muster: --feature-gates: there is no gate 'Nonsense'; {KNOWN}\n"


@pytest.mark.parametrize("command", ["run", "up"])
def test_help_lists_every_gate(command):
    shown = " ".join(CliRunner().invoke(main, [command, "--help"]).stdout.split())
    assert all(gate in shown for gate in GATES)


def test_the_docs_have_a_row_for_every_gate():
    page = (Path(__file__).parents[2] / "docs" / "install.md").read_text()
    rows = [line.split("|")[1:4] for line in page.splitlines() if line.startswith("| `")]
    assert {name.strip(" `") for name, default, _ in rows if default.strip() == "true"} == set(GATES)
