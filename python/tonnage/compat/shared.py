"""What the front ends share: the one way to a run, what they refuse, and what they say after the output."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from tonnage.campaign.load import build_campaign
from tonnage.campaign.observer import Observer
from tonnage.campaign.session import Outcome, run_campaign
from tonnage.errors import RequestError
from tonnage.records import Run

_RANKS = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_SIZE", "MV2_COMM_WORLD_SIZE", "MPI_LOCALNRANKS")
"""Where MPI launchers say how many ranks they started."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What the original would not have told. ``code`` is in docs/findings.md."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Voice:
    """Where a front end speaks: the original's output on one stream, everything that is ours on the other."""

    out: TextIO
    err: TextIO

    def say(self, text: str) -> None:
        """A line of the original's output."""
        self.out.write(f"{text}\n")

    def tell(self, text: str) -> None:
        """A line of ours, after what was said so far."""
        self.out.flush()
        self.err.write(f"{text}\n")


def refuse_ranks(name: str, environment: Mapping[str, str] | None = None) -> None:
    """RequestError where an MPI launcher started several of us: each would measure alone and take itself for all."""
    environment = os.environ if environment is None else environment
    for variable in _RANKS:
        ranks = environment.get(variable, "")
        if ranks.isascii() and ranks.isdigit() and int(ranks) > 1:
            raise RequestError(
                f"{name} was started as {ranks} MPI ranks ({variable}) and runs its tasks in one process; "
                f"hint: start it without the MPI launcher, with --tasks {ranks}"
            )


def measure(
    name: str, campaign: Mapping[str, Any], arguments: Sequence[str], observer: Observer
) -> tuple[Outcome, list[dict[str, Any]], list[dict[str, Any]]]:
    """Carries out what a front end asks for, the one way there is; how it ended, its trials and their tasks.

    The run directory is below ``./tonnage-runs``, or what the environment's TONNAGE_OUT says.
    """
    built = build_campaign({"name": name, "order": "given", "repeat": {"count": 1}, **campaign}, name, stored=True)
    out = os.environ.get("TONNAGE_OUT") or None
    outcome = run_campaign(built, text=None, command_line=["tonnage", name, *arguments], out=out, observer=observer)
    run = Run.open(outcome.path)
    return outcome, run.trials(), run.tasks()


def conclude(name: str, outcome: Outcome, findings: Iterable[Finding], voice: Voice) -> int:
    """Tells, after the output, what went wrong and what the output does not say; the exit code."""
    for failure in outcome.failed:
        voice.tell(f"{name}: failed: {failure}")
    if outcome.state == "interrupted":
        voice.tell(f"{name}: interrupted; the records so far are in {outcome.path}")
    for finding in findings:
        voice.tell(f"{name}: finding {finding.code}: {finding.text}")
    return outcome.exit_code
