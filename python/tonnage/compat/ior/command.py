"""``tonnage ior``: parse, check, run each test the one way, print."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TextIO

from tonnage.campaign.session import Outcome, run_campaign
from tonnage.compat.ior.build import campaign_of, seed_of
from tonnage.compat.ior.csvform import CsvPrinter
from tonnage.compat.ior.files import make_parents, parents
from tonnage.compat.ior.findings import findings
from tonnage.compat.ior.help import help_text
from tonnage.compat.ior.jsonform import JsonPrinter
from tonnage.compat.ior.observer import Rows, begin_test
from tonnage.compat.ior.options import Parameters
from tonnage.compat.ior.parse import parse, wants_help
from tonnage.compat.ior.results import Row, TestResult
from tonnage.compat.ior.text import TextPrinter
from tonnage.compat.ior.validate import validate
from tonnage.compat.shared import Voice, refuse_ranks
from tonnage.errors import RequestError

AnyPrinter = TextPrinter | CsvPrinter | JsonPrinter
FORMATS: dict[str, type[TextPrinter] | type[CsvPrinter] | type[JsonPrinter]] = {
    "default": TextPrinter,
    "csv": CsvPrinter,
    "json": JsonPrinter,
}
_RANK_HEAD = "access,rank,runtime-with-openclose,runtime,throughput-withopenclose,throughput\n"


def run(words: Sequence[str], voice: Voice) -> int:
    """The exit code: 0 only where everything that was asked for was done, and no data was damaged."""
    if wants_help(words):
        voice.out.write(help_text())
        return 0
    refuse_ranks("ior")
    tests = parse(words)
    for test in tests:
        validate(test)
        if test.api != "DUMMY":
            parents(test)
    with ExitStack() as stack:
        out = voice.out
        if tests[-1].summary_file:
            out = stack.enter_context(_open(tests[-1].summary_file, "summaryFile"))
            voice.say(f"Writing output to {tests[-1].summary_file}")
        printer = FORMATS[tests[-1].summary_format.lower()](out, ["ior", *words])
        return _run_tests(tests, printer, voice, words)


def _run_tests(tests: Sequence[Parameters], printer: AnyPrinter, voice: Voice, words: Sequence[str]) -> int:
    results: list[TestResult] = []
    code = 0
    for identifier, test in enumerate(tests):
        result = TestResult(test, identifier)
        if test.dry_run:
            if not results:
                printer.begin(test.verbose)
            begin_test(result, printer, seed_of(test))
        else:
            code = max(code, _run_test(result, printer, voice, words, first=not results))
        results.append(result)
        printer.ended(result)
        if code == 130 or (code and not test.check_read and not test.check_write):
            break
    printer.finish(results)
    for result in results:
        for failure in result.failures:
            voice.tell(f"tonnage: failed: {failure}")
        for finding in result.findings:
            voice.tell(f"tonnage: finding: {finding}")
        if result.test.warning_as_errors and result.warnings:
            code = code or 1
    return code


def _run_test(result: TestResult, printer: AnyPrinter, voice: Voice, words: Sequence[str], *, first: bool) -> int:
    test = result.test
    made = make_parents(test) if test.unique_dir and test.api != "DUMMY" else []
    seed, code, written = seed_of(test), 0, 0
    try:
        # Files of their own for each repetition: a run of its own for each.
        for repetition in range(test.repetitions) if test.multi_file else [None]:
            campaign = campaign_of(test, seed, repetition)
            rows = Rows(result, printer, voice, seed, repetition or 0, first=first and not repetition)
            outcome = run_campaign(
                campaign,
                text=None,
                command_line=["tonnage", "ior", *words],
                out=_out(test, result.identifier, repetition),
                observer=rows,
            )
            code = max(code, _code(outcome, voice))
            written = _save_ranks(test, result.rows, written)
            if code == 130 or (code and campaign.on_error == "stop"):
                break
    finally:
        for directory in made:
            # One that still holds files stays.
            try:
                directory.rmdir()
            except OSError:
                continue
    _save_stonewall(test, result.rows)
    result.findings += findings(result)
    return code


def _code(outcome: Outcome, voice: Voice) -> int:
    if outcome.state == "interrupted":
        voice.tell(f"tonnage: interrupted; the records so far are in {outcome.path}")
    return outcome.exit_code


def _out(test: Parameters, identifier: int, repetition: int | None) -> str | None:
    """Where the run directory goes; several of one command line lie in one directory."""
    out = test.tonnage_out or os.environ.get("TONNAGE_OUT")
    if not out:
        return None
    parts = [f"test-{identifier}"] if identifier or test.test_scripts else []
    parts += [f"repetition-{repetition}"] if repetition is not None else []
    return str(Path(out, *parts))


def _save_ranks(test: Parameters, rows: Sequence[Row], written: int) -> int:
    """Appends what ``saveRankPerformanceDetailsCSV`` wants of the rows from ``written`` on; how many there are."""
    if not test.save_rank_details_csv:
        return len(rows)
    with _open(test.save_rank_details_csv, "saveRankPerformanceDetailsCSV", "a" if written else "w") as file:
        if not written:
            file.write(_RANK_HEAD)
        for row in rows[written:]:
            # IOR takes every task's share to be the same.
            share = row.bytes / test.num_tasks
            for task, times in zip(row.tasks, row.times, strict=True):
                whole = times.close_stop - times.open_start
                moved = times.transfer_stop - times.transfer_start
                numbers = (whole, moved, share / whole, share / moved)
                file.write(f"{row.access},{task['task']},{','.join(f'{number:.10e}' for number in numbers)}\n")
    return len(rows)


def _save_stonewall(test: Parameters, rows: Sequence[Row]) -> None:
    """IOR's status file: how many transfers a task made, for a later read."""
    writes = [row for row in rows if row.access == "write"]
    if test.stone_walling_status_file and writes:
        pairs = max(task["operations"] for task in writes[-1].tasks)
        with _open(test.stone_walling_status_file, "stoneWallingStatusFile") as file:
            file.write(f"{pairs}\n")


def _open(path: str, directive: str, mode: str = "w") -> TextIO:
    try:
        return Path(path).open(mode, encoding="utf-8")  # type: ignore[return-value]
    except OSError as error:
        raise RequestError(
            f"cannot open {path} for {directive}: {error.strerror}; hint: give a file that you may write"
        ) from None
