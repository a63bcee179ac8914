"""What is recorded of a phase that no engine ran."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tonnage.campaign.execute.run_phase import PhaseOutcome, PhaseRunner, TrialRun
from tonnage.campaign.schedule import Trial


def test_a_sustained_trial_that_cannot_be_laid_out_is_no_failed_measurement() -> None:
    kept: list[dict[str, Any]] = []

    def record(line: dict[str, Any], _result: Any, _hosts: Any) -> PhaseOutcome:
        kept.append(line)
        return PhaseOutcome(line["status"], line)

    phases: Any = SimpleNamespace(_record=record)
    phases.run_outside_engine = lambda *words: PhaseRunner.run_outside_engine(phases, *words)
    phases.without = lambda *words: PhaseRunner.without(phases, *words)
    setting: Any = SimpleNamespace(as_dict=lambda: {"op": "read", "tasks": 2})
    for purpose in ("measure", "sustain", "offered"):
        status = TrialRun(3, Trial(setting, 1, 0, purpose), phases).without("read", "the files could not be laid out")
        assert (status, kept[-1]["purpose"], kept[-1]["trial"]) == ("failed", purpose, 3)
