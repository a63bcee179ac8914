"""``tonnage history``: runs over time."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict

from tonnage.cli.outcome import console, print_json
from tonnage.cli.rundir import failing, once, runs_in
from tonnage.errors import MeasurementError, RequestError


def run(arguments: Namespace) -> int:
    """Exit code: 1 where ``--fail-if`` holds."""
    from tonnage.analysis.between import THRESHOLD
    from tonnage.analysis.history import history_of
    from tonnage.analysis.per import given_to, owner_of
    from tonnage.report.history import answer

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
        from tonnage.report.text import print_answer

        print_answer(answer(history), console())
    if not history.series:
        raise MeasurementError("no run has a trial that ended well; hint: see trials.jsonl of each")
    failed = sum(series.verdict in failing(arguments.fail_if) for series in history.series)
    if failed:
        one = "1 setting is" if failed == 1 else f"{failed} settings are"
        raise MeasurementError(f"{one} {arguments.fail_if} at the newest change, as --fail-if asked")
    return 0
