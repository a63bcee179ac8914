"""``tonnage compare``: runs against a first one."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict

from tonnage.cli.outcome import console, print_json
from tonnage.cli.rundir import failing, open_run
from tonnage.errors import MeasurementError, RequestError


def run(arguments: Namespace) -> int:
    """Exit code: 1 where ``--fail-if`` holds."""
    from tonnage.analysis.between import THRESHOLD, compare_runs
    from tonnage.analysis.per import bases

    if len(arguments.runs) < 2:
        raise RequestError("there is one run, and two are compared; hint: tonnage compare BASE OTHER")
    base, *others = (open_run(path) for path in arguments.runs)
    threshold = THRESHOLD if arguments.threshold is None else arguments.threshold
    per = None if arguments.per is None else bases(arguments.per, (base, *others))
    found = [
        compare_runs(base, other, threshold, (per[0], per[number]) if per else None)
        for number, other in enumerate(others, 1)
    ]
    if arguments.out is not None:
        from tonnage.report.between import answer
        from tonnage.report.page import write_answer

        write_answer(answer(found, threshold), arguments.out)
    if arguments.json:
        print_json({"comparisons": [asdict(between) for between in found]})
    else:
        from tonnage.report.text import print_between

        for between in found:
            print_between(between, console())
    if not all(between.cells for between in found):
        raise MeasurementError("runs without an equal setting cannot be compared; hint: see what differs above")
    failed = sum(between.count(verdict) for between in found for verdict in failing(arguments.fail_if))
    if failed:
        one = f"{failed} setting is" if failed == 1 else f"{failed} settings are"
        raise MeasurementError(f"{one} {arguments.fail_if}, as --fail-if asked")
    return 0
