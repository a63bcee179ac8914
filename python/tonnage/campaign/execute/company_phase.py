"""Company while a phase is measured: files in a place of its own, the rate that it is offered, and a record of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tonnage.campaign.company_trials import COMPANY, beside_setting, company_setting, offered_rate
from tonnage.campaign.execute import executor_of
from tonnage.campaign.execute.run_phase import Harvester, PhaseOutcome, PhaseRunner, Status, TrialRun
from tonnage.campaign.kinds import Setting
from tonnage.campaign.schedule import Trial
from tonnage.campaign.workspace import Workspace
from tonnage.cluster.local_launcher import BesideStep, NativeEnsemble
from tonnage.errors import MeasurementError
from tonnage.records import event_lines, record_name, task_lines, trial_line
from tonnage.records.line_types import CompanyLine, EventLine, TaskLine, TrialLine
from tonnage.records.phase_specs import PhaseSpec
from tonnage.units import utc_text

LEAD_NS = 250_000_000
"""Company starts so much earlier: it is up to speed when the measured phase begins."""
_ENDLESS_NS = 366 * 86_400 * 10**9
"""Longer than any run: company of a phase without a limit of time ends when that phase has."""


@dataclass(frozen=True, slots=True)
class _CompanyRun(TrialRun):
    """What an executor lays company's files out with: under names of records that the measured phases do not have."""

    def record(self, phase: str) -> str:
        return record_name(self.number, f"company-{phase}")

    def phase(
        self,
        setting: Setting,
        phase: str,
        spec: PhaseSpec,
        *,
        purpose: str | None = None,
        harvest: Harvester | None = None,
    ) -> PhaseOutcome:
        return self.phases.run(
            self.number, self.trial, setting, f"company-{phase}", spec, purpose=purpose, harvest=harvest
        )

    def without(self, phase: str, reason: str) -> Status:  # noqa: ARG002  (as every trial's)
        """Its layout has a record; what company then did not do is told by the measured phase."""
        return "failed"


@dataclass(frozen=True, slots=True)
class Company:
    """Company that is about to run, or has run, beside the phase of a trial."""

    number: int
    trial: Trial
    setting: Setting
    text: str
    offered_per_s: int
    alone_per_s: float
    started: str
    step: BesideStep
    host: str

    def lines(self) -> tuple[TrialLine, Sequence[TaskLine], Sequence[EventLine]]:
        """Its records, once the step has told its result."""
        result = self.step.company
        line = trial_line(
            trial=self.number,
            setting=self.setting.as_dict(),
            phase=COMPANY,
            repetition=self.trial.repetition,
            block=self.trial.block,
            started=self.started,
            result=result,
            purpose=COMPANY,
        )
        line["company"] = self.summary(line)
        hosts = [self.host] * (len(result["tasks"]) if result else 0)
        return line, task_lines(line, result, hosts), event_lines(line, result)

    def summary(self, line: TrialLine) -> CompanyLine:
        """Returns ``company`` of the measured phase, from its own line."""
        latency = line["latency"]
        elapsed_ns = line["elapsed_ns"]
        return {
            "beside": self.text,
            "record": line["record"],
            "alone_operations_per_s": self.alone_per_s,
            "offered_operations_per_s": self.offered_per_s,
            "operations_per_s": line["operations"] * 1e9 / elapsed_ns if elapsed_ns else None,
            "p99_ns": latency["p99_ns"] if latency else None,
        }


@dataclass(frozen=True, slots=True)
class Companions:
    """What may run beside the phases of a run."""

    workspace: Workspace
    """Of company alone: no file of what is measured is in it."""
    length_ns: int
    """Of a trial of company alone."""

    def prepare(self, runner: PhaseRunner, number: int, trial: Trial, setting: Setting, spec: PhaseSpec) -> Company:
        """Lays company's files out and leaves the tasks of both at their start lines. MeasurementError or RequestError
        where company cannot run."""
        text = setting.beside or ""
        own = company_setting(text, self.length_ns, setting)
        offered, alone = offered_rate(runner.lines, text, own)
        laying_out = replace(runner, workspace=self.workspace, company=None)
        beside = beside_setting(own)
        asked = executor_of(beside).company(beside, _CompanyRun(number, trial, laying_out))
        ensemble, other = runner.workspace.ensemble(setting), self.workspace.ensemble(beside)
        if asked is None or not isinstance(ensemble, NativeEnsemble) or not isinstance(other, NativeEnsemble):
            raise MeasurementError(f"{own.workload}, which was to run beside it, could not be made ready")
        asked["record"] = record_name(number, COMPANY)
        limit_ns = spec.get("limit", {}).get("time_ns")
        asked["limit"] = {**asked["limit"], "time_ns": limit_ns + 2 * LEAD_NS if limit_ns else _ENDLESS_NS}
        asked["pace"] = {"operations_per_s": offered}
        if runner.keep_operations:
            asked["operation_log"] = runner.keep_operations
        started = utc_text()
        step = ensemble.prepare_beside(spec, other, asked, LEAD_NS)
        return Company(number, trial, beside, text, offered, alone, started, step, ensemble.host)
