"""Feature gates: what they switch, and what is said of those that cannot be read."""

import pytest
from click.testing import CliRunner

from muster.app.gates import GATES, with_gates
from muster.app.settings import Settings
from muster.base.errors import ConfigError
from muster.cli import main
from muster.framework.profile import PreemptionSettings

BOTH_OFF = PreemptionSettings(gangs=False, delayed=False)


def read(*texts):
    return with_gates(Settings(), texts)


def test_every_gate_is_open_unless_somebody_closes_it():
    assert read() == Settings()
    assert read("DelayedPreemption=true,WorkloadAwarePreemption=true") == Settings()


@pytest.mark.parametrize(
    ("gate", "preemption"),
    [
        ("WorkloadAwarePreemption", PreemptionSettings(gangs=False)),
        ("DelayedPreemption", PreemptionSettings(delayed=False)),
    ],
)
def test_a_gate_closes_what_it_is_named_for(gate, preemption):
    assert read(f"{gate}=false") == Settings(preemption=preemption)


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
    assert with_gates(settings, ["DelayedPreemption=false"]).preemption == PreemptionSettings(rounds=7, delayed=False)


def test_closed_gates_are_the_profiles():
    assert not read("DelayedPreemption=false").make_profile().preemption.delayed


REFUSALS = {
    "GangScheduling=true": ("there is no gate 'GangScheduling'; known are WorkloadAwarePreemption, DelayedPreemption"),
    "AllAlpha=true": "there is no gate 'AllAlpha'; known are WorkloadAwarePreemption, DelayedPreemption",
    "=true": "there is no gate ''; known are WorkloadAwarePreemption, DelayedPreemption",
    "DelayedPreemption": "DelayedPreemption needs a value; write it like DelayedPreemption=false",
    "DelayedPreemption=no": "DelayedPreemption must be true or false, not 'no'",
    "DelayedPreemption=": "DelayedPreemption must be true or false, not ''",
}


@pytest.mark.parametrize("text", REFUSALS)
def test_what_is_no_gate_is_refused(text):
    with pytest.raises(ConfigError) as caught:
        read(text)
    assert str(caught.value) == f"--feature-gates: {REFUSALS[text]}"


def test_a_gate_that_is_unknown_ends_the_command_with_a_line_that_lists_the_known_ones():
    result = CliRunner().invoke(main, ["run", "--feature-gates=Nonsense=true", "--kubeconfig=/nonexistent"])
    assert result.exit_code == 2
    assert result.stderr == (
        "muster: --feature-gates: there is no gate 'Nonsense'; known are WorkloadAwarePreemption, DelayedPreemption\n"
    )


def test_help_lists_every_gate():
    shown = " ".join(CliRunner().invoke(main, ["run", "--help"]).stdout.split())
    assert all(gate in shown for gate in GATES)
