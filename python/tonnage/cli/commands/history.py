"""``tonnage history``: runs over time, or with ``--servers`` the load of file servers over time."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from dataclasses import asdict
from pathlib import Path

from tonnage.cli.outcome import console, print_json
from tonnage.cli.rundir import failing, once, runs_in
from tonnage.errors import MeasurementError, RequestError


def run(arguments: Namespace) -> int:
    """Exit code: 1 where ``--fail-if`` holds."""
    if arguments.servers:
        return _of_servers(arguments)
    if arguments.since is not None or arguments.site is not None:
        raise RequestError("--since and --site are for file servers; hint: add --servers")
    if not arguments.runs:
        raise RequestError("the following arguments are required: DIR; hint: see `tonnage history --help`")
    from tonnage.analysis.compare.history import history_of
    from tonnage.analysis.compare.per import given_to, owner_of
    from tonnage.analysis.compare.runs import THRESHOLD
    from tonnage.report.answers.history import answer

    groups = once([runs_in([path]) for path in arguments.runs])
    runs = [run for group in groups for run in group]
    if len(runs) < 2:
        raise RequestError("there is one run, and a history has several; hint: give more runs, or a directory of them")
    owners = [[owner_of(run) for run in group] for group in groups]
    per = None if arguments.per is None else given_to(arguments.per, owners, "DIR")
    history = history_of(runs, THRESHOLD if arguments.threshold is None else arguments.threshold, per)
    if arguments.out is not None:
        from tonnage.report.page import write_answer

        write_answer(answer(history), arguments.out)
    if arguments.json:
        print_json({"history": asdict(history)})
    else:
        from tonnage.report.terminal import print_answer

        print_answer(answer(history), console())
    if not history.series:
        raise MeasurementError("no run has a trial that ended well; hint: see trials.jsonl of each")
    failed = sum(series.verdict in failing(arguments.fail_if) for series in history.series)
    if failed:
        one = "1 setting is" if failed == 1 else f"{failed} settings are"
        raise MeasurementError(f"{one} {arguments.fail_if} at the newest change, as --fail-if asked")
    return 0


def _of_servers(arguments: Namespace) -> int:
    from tonnage.analysis.text import count
    from tonnage.cli.placement.server_history import answer, text
    from tonnage.placement.load_lines import all_lines
    from tonnage.placement.site import load_site
    from tonnage.placement.watch.history import History
    from tonnage.placement.watch.report import reports

    for name in ("threshold", "per", "fail_if", "out"):
        if getattr(arguments, name) is not None:
            raise RequestError(f"--{name.replace('_', '-')} is for runs; hint: leave it out with --servers")
    site = load_site(Path(), Path(arguments.site) if arguments.site else None)
    kept = History().read()
    lines, notes = all_lines(site)
    if kept.damaged:
        lost = count(kept.damaged, "line")
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
