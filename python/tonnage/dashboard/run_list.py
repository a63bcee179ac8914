"""All runs of the page, and the changes of each. Used by one thread at a time."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path

from tonnage import records, units
from tonnage.dashboard import run_text
from tonnage.dashboard.background_thread import WorkRate
from tonnage.dashboard.run_entry import RunRow, Watched
from tonnage.dashboard.run_files import find_runs, unforeseen
from tonnage.dashboard.timeline import Timeline, plain
from tonnage.dashboard.topic_store import encode
from tonnage.records import Run
from tonnage.records.line_types import TrialLine

_LOOK_S = 3.0
"""Seconds between two searches for new runs, and reads of ended ones."""
_LINES = 15
"""Latest records in a table."""
_MOST_NOTES = 10


class Runs:
    """The runs below some directories."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self._roots = roots
        self._known: dict[str, Watched] = {}
        self._courses: dict[str, tuple[Timeline, tuple[int, object], str]] = {}
        """Of the runs that are looked at: the pictures, what the heat map knows (records, and the latest of the phase
        that runs), and that map."""
        self._pace = WorkRate(_LOOK_S)
        self._note: str | None = None

    def get(self, identifier: str) -> Watched | None:
        """One that was found; nothing else can be asked for."""
        return self._known.get(identifier)

    def under_way(self) -> list[Watched]:
        """Those that more is expected of, the newest first."""
        return sorted((run for run in self._known.values() if run.is_under_way), key=_newest, reverse=True)

    def refresh(self, looked_at: Collection[str]) -> dict[str, str]:
        """Topic → what it says now, for all runs and more for those that are ``looked_at``."""
        if self._pace.is_due():
            self._pace.during(self._refresh)
        for identifier, run in list(self._known.items()):
            closely = identifier in looked_at
            if closely or run.is_under_way:
                run.refresh(closely=closely)
        rows = {run.identifier: run.row() for run in sorted(self._known.values(), key=_newest, reverse=True)}
        news = {
            "underway": encode([row for row in rows.values() if row["underWay"]]),
            "ended": encode({"runs": [row for row in rows.values() if not row["underWay"]], "note": self._note}),
        }
        for identifier in looked_at:
            if identifier in rows:
                news |= self._closely(self._known[identifier], rows[identifier])
        for identifier in set(self._courses) - set(looked_at):
            del self._courses[identifier]
        return news

    def _refresh(self) -> None:
        """For new runs, and at those that have ended: one may have been resumed."""
        found = find_runs(self._roots)
        self._note = found.note
        for identifier in set(self._known) - set(found.runs):
            del self._known[identifier]
        for identifier, path in found.runs.items():
            if identifier not in self._known:
                self._known[identifier] = Watched(identifier, path, self._directory_of(path))
        for run in self._known.values():
            if not run.is_under_way:
                run.refresh(closely=False)

    def _directory_of(self, path: Path) -> str:
        for root in self._roots:
            if path.is_relative_to(root.absolute()):
                return str(path.relative_to(root.absolute()).parent)
        return str(path.parent)

    def _closely(self, run: Watched, row: RunRow) -> dict[str, str]:
        """What the page of one run shows."""
        course, known, heat = self._courses.get(run.identifier, (Timeline(), (-1, None), "null"))
        notes = (run.progress or {}).get("notes")
        said = [str(note)[:1000] for note in notes[-_MOST_NOTES:]] if isinstance(notes, list) else []
        shown_run = {**row, "path": str(run.path), "live": live(run), "latest": latest(run), "notes": said}
        found = {f"run:{run.identifier}": encode(shown_run)}
        try:
            opened = Run(run.path, dict(run.manifest))
            lines = list(run.latest)
            figures = [plain(figure) for figure in course.throughput(opened, lines, run.progress)]
            news = (run.recorded, (run.progress or {}).get("heat"))
            if known != news and (course.pace.is_due() or not run.is_under_way):
                figure = course.pace.during(partial(course.latency, opened, lines, run.progress))
                heat, known = "null" if figure is None else encode(plain(figure)), news
            found[f"course:{run.identifier}"] = encode(figures)
            found[f"heat:{run.identifier}"] = heat
        except Exception as error:
            # Lines of any make are drawn: what does not fit leaves the pictures as they were.
            problem = f"no picture of it: {unforeseen(error, run.path)}"
            found[f"run:{run.identifier}"] = encode({**shown_run, "problem": problem})
        self._courses[run.identifier] = (course, known, heat)
        return found


def live(run: Watched) -> dict[str, str]:
    """Returns the figures of this moment, in words."""
    now = (run.progress or {}).get("live")
    if run.state != "running" or not isinstance(now, dict):
        return {}
    tasks, p99_ns = now.get("running_tasks"), now.get("recent_p99_ns")
    return {
        "running": f"{tasks:,}" if type(tasks) is int else "",
        "p99": units.duration(p99_ns) if type(p99_ns) is int and p99_ns > 0 else units.NOT_MEASURED,
    }


def latest(run: Watched) -> list[list[str]]:
    """Rows of the records that ended last, the latest first."""
    rows = []
    for line in list(run.latest)[: -_LINES - 1 : -1]:
        latency = run_text.table(line, "latency")
        ended = str(line["status"]) if line["status"] != "ok" else ""
        ended = f"{ended}: {line['reason']}" if ended and line.get("reason") else ended
        quantiles = (latency.get(name) for name in ("p50_ns", "p99_ns"))
        rows.append(
            [
                line["record"],
                f"{line['setting']['tasks']:,}"[:20],
                _headline(line),
                *(units.duration(value) if type(value) is int else units.NOT_MEASURED for value in quantiles),
                units.duration(line["elapsed_ns"]) if type(line.get("elapsed_ns")) is int else units.NOT_MEASURED,
                ended[:300] or ("laid out" if line["purpose"] == "fill" else "ok"),
            ]
        )
    return rows


def _headline(line: TrialLine) -> str:
    try:
        return units.headline(*records.headline(line))
    except (KeyError, TypeError, ValueError, OverflowError):
        return units.NOT_MEASURED


def _newest(run: Watched) -> tuple[str, str]:
    created = run.manifest.get("created")
    return (created if isinstance(created, str) else "", run.path.name)
