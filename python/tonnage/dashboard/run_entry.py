"""One run as the page lists it: where it stands, read again only where its files have changed."""

from __future__ import annotations

import os
import platform
import time
from collections import deque
from pathlib import Path
from typing import TypedDict

from tonnage.dashboard import run_text
from tonnage.dashboard.run_files import Signature, check_plain, signature, unforeseen
from tonnage.dashboard.sparkline import Spark, of_summary, of_trials
from tonnage.errors import RecordError
from tonnage.records import Run
from tonnage.records.file_names import LINES, MANIFEST, SUMS, TRIALS
from tonnage.records.line_types import Manifest, TrialLine
from tonnage.records.measuring_process import (
    ENDED_WITHOUT_SUMMARY,
    PROGRESS,
    ended_without_summary,
    is_gone,
    read_progress_file,
)
from tonnage.records.verify_bytes import altered

_AT_ONCE_BYTES = 8 << 20
"""Of trials that are read in one go; the rest is read the next time."""
_KEPT = 200
"""Latest trial lines that are kept."""
_SILENT_S = 120.0
"""A run of another host that has written nothing for so long may be dead."""
_UNDER_WAY = ("running", "silent", "waiting")


class RunRow(TypedDict):
    """A run in the list, as the page's script reads it."""

    id: str
    name: str
    place: str
    campaign: str
    target: str
    host: str
    started: str
    state: str
    problem: str | None
    underWay: bool
    phase: str
    share: float | None
    trials: str
    times: str
    speed: str
    lines: list[str]
    findings: list[str] | None
    spark: Spark | None


class Watched:
    """Refreshed by one thread at a time."""

    def __init__(self, identifier: str, path: Path, place: str) -> None:
        self.identifier = identifier
        self.path = path
        self.place = place
        """Where it lies, below the directories that were named."""
        self.manifest: Manifest = {}
        self.progress: run_text.Keys | None = None
        self.state = "damaged"
        self.problem: str | None = None
        self.latest: deque[TrialLine] = deque(maxlen=_KEPT)
        """Trial lines, read only of a running or a viewed run."""
        self.recorded = self.failed = 0
        self.findings: list[str] | None = None
        """Codes so far; None: not known."""
        self._altered: str | None = None
        """The first file that differs from its seal, among the files that were seen at ``_compared``."""
        self._compared: list[Signature | None] | None = None
        self._seen: Signature | None = None
        self._trials_seen: Signature | None = None
        self._offset = 0

    @property
    def is_under_way(self) -> bool:
        """Whether more is expected of it."""
        return self.state in _UNDER_WAY

    def refresh(self, *, closely: bool) -> None:
        """Reads what is new. ``closely``: its trials too, though it has ended, and whether its files are those that
        were sealed; that it is told from then on."""
        try:
            self._refresh(closely=closely)
            self.problem = None
        except (RecordError, OSError) as error:
            self.state, self.problem = "damaged", str(error)
        except Exception as error:
            # Whatever a run holds, the page goes on for the others.
            self.state, self.problem = "damaged", unforeseen(error, self.path)

    def _refresh(self, *, closely: bool) -> None:
        seen = signature(self.path / MANIFEST)
        if seen is None:
            raise RecordError("its manifest is gone")
        if seen != self._seen or self.problem:
            check_plain(self.path)
            self.manifest = Run.open(self.path).manifest
            self._seen = seen
            self.findings = (
                run_text.codes(self.manifest) if self.findings is None or self._has_ended() else self.findings
            )
        self.progress = None if self._has_ended() else read_progress_file(self.path)
        self.state = self._state()
        if self._has_ended() and (closely or self._altered):
            self._compare_files(closely=closely)
        if self.is_under_way or closely:
            self._read_trials()

    def _compare_files(self, *, closely: bool) -> None:
        found = [signature(self.path / name) for name in (MANIFEST, SUMS, *LINES)]
        if found != self._compared and closely:
            self._altered, self._compared = altered(Run(self.path, self.manifest)), found
        if self._altered and found == self._compared:
            raise RecordError(self._altered)

    def _has_ended(self) -> bool:
        return self.manifest.get("state") != "running"

    def _state(self) -> str:
        state = self.manifest.get("state")
        if state != "running":
            return state if state in ("complete", "interrupted", "failed", "incomplete") else "unknown"
        if ended_without_summary(self.path, self.manifest):
            return ENDED_WITHOUT_SUMMARY
        progress = self.progress or {}
        if (
            progress.get("host") == platform.node()
            and progress.get("ended") is None
            and (pid := run_text.count(progress, "pid"))
        ):
            return "running" if Path(f"/proc/{pid}").exists() and not is_gone(progress.get("process")) else "silent"
        written = [signature(self.path / name) for name in (PROGRESS, TRIALS, MANIFEST)]
        last_s = max((found[2] for found in written if found), default=0) / 1e9
        if time.time() - last_s < _SILENT_S:
            return "running"
        return "waiting" if self.manifest.get("on") and progress.get("ended") is not None else "silent"

    def _read_trials(self) -> None:
        seen = signature(self.path / TRIALS)
        if seen == self._trials_seen:
            return
        run = Run(self.path, dict(self.manifest))
        if seen is None or (self._trials_seen and seen[0] != self._trials_seen[0]) or seen[1] < self._offset:
            self._offset = self.recorded = self.failed = 0
            self.latest.clear()
        lines, self._offset = run.trials_after(self._offset, _AT_ONCE_BYTES)
        self._trials_seen = seen if seen and self._offset + _AT_ONCE_BYTES > seen[1] else None
        self.recorded += len(lines)
        self.failed += sum(line["status"] == "failed" for line in lines)
        self.latest.extend(lines)

    def row(self) -> RunRow:
        """As the page's script lists it: texts, and shares between 0 and 1."""
        manifest, progress = self.manifest, self.progress or {}
        under_way = self.is_under_way
        step = run_text.table(progress, "step") if under_way else {}
        return {
            "id": self.identifier,
            "name": os.fsdecode(os.fsencode(self.path.name)) or str(self.path),
            "place": self.place,
            "campaign": run_text.text(run_text.table(manifest, "campaign").get("name")),
            "target": run_text.target(manifest),
            "host": run_text.text(run_text.table(manifest, "host").get("hostname")),
            "started": run_text.text(manifest.get("created")),
            "state": self.state,
            "problem": self.problem,
            "underWay": under_way,
            "phase": run_text.phase(step, self.latest) if under_way else "",
            "share": run_text.share_done(step, progress) if under_way else None,
            "trials": run_text.trials(step, self.recorded, self.failed) if under_way else "",
            "times": run_text.times(step, progress) if under_way else "",
            "speed": run_text.speed(step, progress) if self.state == "running" else "",
            "lines": run_text.load_lines(manifest),
            "findings": self.findings,
            "spark": of_trials(self.latest) if under_way else of_summary(manifest),
        }
