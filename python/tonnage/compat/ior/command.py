"""``tonnage ior``: parse, check, run each test the one way, print."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TextIO, cast

from tonnage.campaign.run_lifecycle import Outcome, run_campaign
from tonnage.command_line import HelpAsked
from tonnage.compat.front_end import Voice
from tonnage.compat.ior.campaign_of_test import campaign_of, problems, refuse_striping, seed_of
from tonnage.compat.ior.detail_files import SummaryFile, refuse_foreign, save
from tonnage.compat.ior.file_names import file_names, make_parents, parents, refuse_missing
from tonnage.compat.ior.findings import findings
from tonnage.compat.ior.help import help_text
from tonnage.compat.ior.observer import Rows, begin_test
from tonnage.compat.ior.options import Parameters
from tonnage.compat.ior.parse import parse
from tonnage.compat.ior.results import TestResult
from tonnage.compat.ior.summary_files import CsvPrinter, JsonPrinter
from tonnage.compat.ior.text_output import TextPrinter
from tonnage.compat.ior.validate import unused_hints, validate
from tonnage.compat.measure import Ranks, in_option_names, records_directory
from tonnage.option_names import reworded
from tonnage.records import Run

AnyPrinter = TextPrinter | CsvPrinter | JsonPrinter
FORMATS: dict[str, type[TextPrinter] | type[CsvPrinter] | type[JsonPrinter]] = {
    "default": TextPrinter,
    "csv": CsvPrinter,
    "json": JsonPrinter,
}


_WORDS = {
    "ior: workload.tasks": "-N",
    "ior: workload.transfer_size": "-t",
    "ior: workload.block_size": "-b",
    "ior: workload.segments": "-s",
    "ior: transfer_size": "-t",
    "transfer_size": "-t",
    "a smaller block_size or fewer tasks, or another target": "a smaller -b or -N, or another -o",
    "block_size": "-b",
    "or another target": "or another -o",
    'ask for direct = "auto" or "no"': "leave --posix.odirect out",
    '-E to overwrite its contents (existing = "overwrite")': "-E to overwrite its contents",
}
"""What the messages of a campaign name → IOR's options."""
_FILE = re.compile(r"\bfile ([0-9]{1,9})(?= has )")
"""A file of a test, by its number, in the engine's messages."""


def run(words: Sequence[str], voice: Voice, out: str | None = None) -> int:
    """The exit code: 0 only where everything that was asked for was done, and no data was damaged. ``out``: the run
    directory; None: as :func:`records_directory` says."""
    try:
        with in_option_names(_WORDS, "ior"):
            return _run(words, voice, out or records_directory())
    except HelpAsked:
        voice.out.write(help_text())
        return 0


def _run(words: Sequence[str], voice: Voice, base: str | None) -> int:
    ranks = Ranks.here()
    tests = parse(words)
    for test in tests:
        if ranks.hosts and test.num_tasks > ranks.default:
            voice.say(
                f"WARNING: -N {test.num_tasks} is more than the {ranks.default} processes that MPI started; "
                f"the test has {ranks.default} tasks"
            )
            test.num_tasks = ranks.default
        validate(test, ranks)
        if test.api != "DUMMY":
            parents(test)
            refuse_striping(test)
    # Later tests of a script may read what earlier ones write.
    if not tests[0].dry_run:
        refuse_missing(tests[0])
    refuse_foreign(tests)
    if hints := sorted({name for test in tests for name in unused_hints(test)}):
        voice.tell(f"ior: note: without effect, for hints are of MPIIO and GPFS: {', '.join(hints)}")
    form = FORMATS[tests[-1].summary_format.lower()]
    if not tests[-1].summary_file:
        return _run_tests(tests, form(voice.out, ["ior", *words]), voice, words, base)
    with SummaryFile(tests[-1], voice) as file:
        code = _run_tests(tests, form(cast("TextIO", file), ["ior", *words]), voice, words, base)
        return max(code, file.conclude())


def _run_tests(
    tests: Sequence[Parameters], printer: AnyPrinter, voice: Voice, words: Sequence[str], base: str | None
) -> int:
    results: list[TestResult] = []
    code = 0
    for identifier, test in enumerate(tests):
        result = TestResult(test, identifier)
        if test.dry_run:
            if not results:
                printer.begin(test.verbose)
            begin_test(result, printer, seed_of(test))
        else:
            code = max(code, _run_test(result, printer, voice, words, base, first=not results))
        results.append(result)
        printer.ended(result)
        if code == 130 or (code and not test.check_read and not test.check_write):
            break
    printer.finish(results)
    for result in results:
        for failure in result.failures:
            voice.tell(f"ior: failed: {failure}")
        for finding in result.findings:
            voice.tell(f"ior: finding {finding.code}: {finding.text}")
        if result.test.warning_as_errors and result.warnings:
            code = code or 1
    return code


def _run_test(
    result: TestResult, printer: AnyPrinter, voice: Voice, words: Sequence[str], base: str | None, *, first: bool
) -> int:
    test = result.test
    made = make_parents(test) if test.unique_dir and test.api != "DUMMY" else []
    seed, code = seed_of(test), 0
    try:
        # Files of their own for each repetition: a run of its own for each.
        for repetition in range(test.repetitions) if test.multi_file else [None]:
            campaign = campaign_of(test, seed, repetition)
            rows = Rows(result, printer, voice, seed, repetition or 0, first=first and not repetition)
            with reworded(_with_names(file_names(test, repetition))):
                outcome = run_campaign(
                    campaign,
                    text=None,
                    command_line=["tonnage", "ior", *words],
                    out=_out(test, base, result.identifier, repetition),
                    observer=rows,
                )
            code = max(code, _code(outcome, voice))
            if unstriped := problems(Run.open(outcome.path).manifest):
                result.failures += [f"the files are not striped as asked: {problem}" for problem in unstriped]
                code = code or 1
            if code == 130 or (code and campaign.on_error == "stop"):
                break
    finally:
        for directory in made:
            # One that still holds files stays.
            try:
                directory.rmdir()
            except OSError:
                continue
    failed = len(result.failures)
    save(result)
    if len(result.failures) > failed:
        code = code or 1
    result.findings += findings(result)
    return code


def _with_names(files: Sequence[str]) -> Callable[[str], str]:
    """Puts the names of the files into the engine's messages."""
    return lambda text: _FILE.sub(lambda found: files[int(found[1])], text)


def _code(outcome: Outcome, voice: Voice) -> int:
    if outcome.state == "interrupted":
        voice.tell(f"ior: interrupted; the records so far are in {outcome.path}")
    for trouble in outcome.troubles:
        voice.tell(f"ior: {trouble}")
    return outcome.exit_code


def _out(test: Parameters, base: str | None, identifier: int, repetition: int | None) -> str | None:
    """Where the run directory goes; several of one command line lie in one directory: ``base`` where it names none."""
    out = test.tonnage_out or base
    if not out:
        return None
    parts = [f"test-{identifier}"] if identifier or test.test_scripts else []
    parts += [f"repetition-{repetition}"] if repetition is not None else []
    return str(Path(out, *parts))
