"""``tonnage history``: runs over time, or with ``--servers`` the load of file servers over time."""

from __future__ import annotations

import re
import sys
import time
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

from tonnage.cli.command import Arguments
from tonnage.cli.shared_options import JSON, PAGE, SITE
from tonnage.command_line import Command
from tonnage.command_option import Option
from tonnage.errors import MeasurementError, RequestError
from tonnage.units import parse_share, parse_time, plural

_DAYS = re.compile(r"([0-9]{1,6})d")
_DAY_S = 86400.0
_AGE = re.compile(r"[0-9.]+ *(?:s|m|min|h)")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2})?(?:[+-][0-9]{2}:[0-9]{2})?)?")


def parse_since(text: str) -> float:
    """Seconds since 1970 of ``2026-11-01``, ``2026-11-01T09:00``, ``12h`` or ``7d``; by this host's zone where none is
    given. RequestError if it is neither, or not yet."""
    stripped = text.strip()
    now_s = time.time()
    if days := _DAYS.fullmatch(stripped):
        return max(0.0, now_s - int(days[1]) * _DAY_S)
    if _AGE.fullmatch(stripped):
        return max(0.0, now_s - parse_time(stripped) / 1e9)
    found = None
    if _DATE.fullmatch(stripped):
        try:
            found = datetime.fromisoformat(stripped).timestamp()
        except (ValueError, OverflowError, OSError):
            found = None
    if found is None:
        raise RequestError(f"{text!r} is no time; hint: write it like 2026-11-01, 2026-11-01T09:00, 12h or 7d")
    if found > now_s:
        raise RequestError(f"{text!r} is not yet; hint: give a time that is over")
    return found


COMMAND = Command(
    "history",
    "tell when runs became faster or slower, and what changed then",
    "Orders runs by time and searches the levels of each setting for changes. Beside each change it prints "
    "what differs between the manifests at that time: kernel, mount options, versions, host, file system. "
    "Where nothing changed, at most one history in twenty shows a change. The verdicts are faster, slower, "
    "no change shown. With --servers it shows the load of file servers over time (`tonnage explain watch`).",
    (
        Option(
            ("runs",),
            "run directories, or directories of them; with --servers: names of file servers, by default all",
            "DIR",
            optional=True,
            repeats=True,
            completes="directory",
        ),
        Option(
            ("--servers",),
            "show file servers instead, from the records of `tonnage watch`: when each was above its load "
            "line, whose jobs ran there, and how much it carried",
        ),
        Option(("--since",), "with --servers: begin at this date, or this long ago", "TIME", "all", parse=parse_since),
        Option(
            ("--threshold",),
            "smallest change of a throughput that counts as a change",
            "SHARE",
            "2%",
            parse=parse_share,
        ),
        Option(
            ("--per",),
            "divide rates by disks, servers, nodes or links: as [normalise] of each run's campaign says (disk), or one "
            "for each DIR, for all runs in it (disk=60,84; link=10Gbit/s)",
            "THING",
        ),
        Option(
            ("--fail-if",),
            "exit with 1 if the newest change of a setting has this verdict or its newest run failed; with 2 "
            "if no verdict is possible",
            choices=("slower", "faster", "changed"),
        ),
        PAGE,
        SITE,
        JSON,
    ),
    (
        ("tonnage history tonnage-runs --out history.html", "all runs of a directory, as a picture"),
        ("tonnage history --fail-if slower nightly/*", "for a pipeline: exit code 1 if it got slower"),
        ("tonnage history --per disk=60,84 old new", "all runs of two directories, divided by their disks"),
        ("tonnage history --servers --since 30d rcss1", "when was this file server above its load line?"),
    ),
    loads=("tonnage.cli.runs",),
)


def run(arguments: Arguments) -> int:
    """Exit code: 1 where ``--fail-if`` holds."""
    if arguments.servers:
        return _of_servers(arguments)
    if arguments.since is not None or arguments.site is not None:
        raise RequestError("--since and --site are for file servers; hint: add --servers")
    if not arguments.runs:
        raise RequestError("tonnage history needs DIR; hint: write `tonnage history [OPTION]... DIR...`")
    from tonnage.analysis.compare.divisors import given_to, owner_of
    from tonnage.analysis.compare.history import history_of
    from tonnage.analysis.compare.level_change import FEWEST
    from tonnage.analysis.compare.runs import THRESHOLD
    from tonnage.analysis.summary import plain
    from tonnage.cli.runs import failed_text, failing, once, runs_in, show_answer, tell_undone
    from tonnage.report.answers.history import answer, unjudged

    groups = once([runs_in([path]) for path in arguments.runs])
    runs = [run for group in groups for run in group]
    if len(runs) < 2:
        raise RequestError("there is one run, and a history has several; hint: give more runs, or a directory of them")
    owners = [[owner_of(run) for run in group] for group in groups]
    per = None if arguments.per is None else given_to(arguments.per, owners, "DIR")
    history = history_of(runs, THRESHOLD if arguments.threshold is None else arguments.threshold, per)
    show_answer(answer(history), lambda: {"history": plain(history)}, arguments)
    for note in unjudged(history):
        print(f"tonnage: {note}", file=sys.stderr)
    if not history.series:
        raise MeasurementError("no run has a trial that ended well; hint: see trials.jsonl of each")
    if arguments.fail_if is not None:
        tell_undone(history.undone_by)
        if all(one.too_few for one in history.series):
            raise RequestError(
                f"--fail-if: no setting can have a verdict: each is in fewer than {FEWEST} runs; hint: give more runs, "
                "or set some against others with tonnage compare"
            )
        if history.failed:
            lost = failed_text(history.failed, "its newest run" if len(history.failed) == 1 else "their newest run")
            raise MeasurementError(f"{lost}; hint: what has no figure passes no check")
    failed = sum(series.verdict in failing(arguments.fail_if) for series in history.series)
    if failed:
        one = "1 setting is" if failed == 1 else f"{failed} settings are"
        raise MeasurementError(f"{one} {arguments.fail_if} at the newest change, as --fail-if asked")
    return 0


def _of_servers(arguments: Arguments) -> int:
    from tonnage.cli.runs import print_json
    from tonnage.cli.server_history import answer, text
    from tonnage.placement.server_load_lines import all_lines
    from tonnage.placement.site import load_site
    from tonnage.placement.watch.load_report import reports
    from tonnage.placement.watch.watch_history import History

    for name in ("threshold", "per", "fail_if", "out"):
        if getattr(arguments, name) is not None:
            raise RequestError(f"--{name.replace('_', '-')} is for runs; hint: leave it out with --servers")
    site = load_site(Path(), Path(arguments.site) if arguments.site else None)
    kept = History().read()
    lines, notes = all_lines(site)
    if kept.damaged:
        lost = plural(kept.damaged, "line")
        notes.append(f"{lost} of the history cannot be read; a watch that is killed while it writes leaves one")
    now_s = time.time()
    every = {one.server for one in reports(kept, site, (), now_s=now_s)}
    if not every:
        raise RequestError("no watch has kept anything yet; hint: `tonnage watch` does, while it runs")
    for name in arguments.runs:
        if name not in every:
            raise RequestError(f"no watch has kept anything of {name!r}; hint: it has {', '.join(sorted(every))}")
    found = reports(kept, site, lines, now_s=now_s, only=arguments.runs, since_s=arguments.since)
    if not found:
        raise RequestError("no watch has kept anything since then; hint: give an earlier --since")
    if arguments.json:
        print_json(asdict(answer(found, notes)))
        return 0
    print("\n\n".join(map(text, found)))
    for note in notes:
        print(f"tonnage: {note}", file=sys.stderr)
    return 0
