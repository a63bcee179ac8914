"""``tonnage submit``: makes a request of the options, submits it, and prints the outcome."""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import asdict, fields
from typing import TYPE_CHECKING

from tonnage.cli.command import Arguments
from tonnage.cli.output_stream import STDOUT_HINT, StdoutError
from tonnage.cli.shared_options import JSON, SCHEDULER, SITE
from tonnage.command_line import Command
from tonnage.command_option import Option
from tonnage.errors import RequestError, TonnageError
from tonnage.printable_text import one_line
from tonnage.units import parse_count, parse_share, parse_size, parse_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tonnage.cluster.array_numbers import Numbers
    from tonnage.cluster.job_terms import Dependency, Event
    from tonnage.placement.choice import NoFileServer, Scored
    from tonnage.placement.plan import Plan
    from tonnage.placement.submit import Outcome
    from tonnage.placement.submit_request import SubmitRequest


def _cap(text: str) -> int | str:
    from tonnage.placement.submit_request import parse_cap

    return parse_cap(text)


def _key(text: str) -> str:
    from tonnage.placement.submit_request import parse_key

    return parse_key(text)


def _copies(text: str) -> tuple[Numbers, int | None]:
    from tonnage.placement.submit_request import parse_copies

    return parse_copies(text)


def _dependency(text: str) -> Dependency:
    from tonnage.cluster.job_terms import parse_dependency

    return parse_dependency(text)


def _mail(text: str) -> tuple[Event, ...]:
    from tonnage.cluster.job_terms import parse_mail

    return parse_mail(text)


def _split_arguments(text: str) -> tuple[str, ...]:
    from tonnage.cluster.job_terms import split_arguments

    return split_arguments(text)


COMMAND = Command(
    "submit",
    "run a job where its data lives, and no more at once than the storage carries",
    "Submits COMMAND through the site's scheduler, on the hosts next to the file server of the working "
    "directory. The arguments reach the program exactly as typed: no shell interprets them again. Options of "
    "tonnage come before COMMAND.",
    (
        Option(("-q", "--queue"), "queue or partition", "QUEUE", "the server's in the site file"),
        Option(
            ("-I", "--interactive"), "run it in this terminal, with its input, output and signals, and wait for the end"
        ),
        Option(("-K", "--wait"), "wait for the end of all copies, and exit with the worst status"),
        Option(("-o", "--output"), "file of its output; %J: job, %I: copy", "OUT", "the scheduler's", completes="file"),
        Option(("-e", "--error"), "file of its errors", "ERR", "with the output", completes="file"),
        Option(("-n", "--tasks"), "number of slots", "TASKS", "1", parse=parse_count),
        Option(("-J", "--name"), "name of the job", "NAME", "the program's"),
        Option(("--input",), "file of its standard input", "FILE", "nothing", completes="file"),
        Option(
            ("--time-limit",), "the scheduler ends the job after this time", "TIME", "the queue's", parse=parse_time
        ),
        Option(("--account",), "account that is charged", "NAME", "the user's default"),
        Option(("--memory",), "memory of the job on its host, at most", "SIZE", "the queue's", parse=parse_size),
        Option(("--gpus",), "number of GPUs on its host", "N", "none", parse=parse_count),
        Option(
            ("--dependency",),
            "start after other jobs: afterok:JOB,afterany:JOB; also afternotok, and after (JOB has started). "
            "With ? instead of the comma one of them is enough",
            "WHEN:JOB",
            parse=_dependency,
        ),
        Option(
            ("--mail",), "the scheduler sends e-mail when the job begins, ends or fails", "begin,end,fail", parse=_mail
        ),
        Option(("--mail-to",), "address for that e-mail", "ADDRESS", "you"),
        Option(("--exclusive",), "no other job runs on its host at the same time"),
        Option(
            ("--scheduler-options",),
            "options of the scheduler's own command (sbatch, bsub, qsub, flux submit), split as a shell does",
            "'--OPTION=VALUE...'",
            parse=_split_arguments,
            repeats=True,
        ),
        Option(
            ("--copies",),
            "number of copies to run, or their numbers; the variable TONNAGE_COPY has a copy's own number",
            "N|1-4,7,10-20:2[%LIMIT]",
            parse=_copies,
        ),
        Option(
            ("--cap",), "copies that run at once: a number, or auto for the load line", "auto|N", "auto", parse=_cap
        ),
        Option(("--path",), "place the job by the data at PATH", "PATH", "the working directory", completes="file"),
        Option(
            ("--profile",),
            "run directory that measured the program, or its Darshan log: gives the demand of one copy",
            "RUN|LOG",
            completes="file",
        ),
        Option(
            ("--transfer",),
            "bytes of one operation; the load line of the nearest transfer size is used",
            "SIZE",
            "1MiB",
            parse=parse_size,
        ),
        Option(
            ("--io-share",),
            "share of its time that it waits for storage when it runs alone",
            "SHARE",
            "1",
            parse=parse_share,
        ),
        Option(
            ("--anywhere",),
            "submit also if the file server is unknown, or no host next to it takes the job",
        ),
        Option(("--key",), "name of this submission; one name is never submitted twice", "KEY", "random", parse=_key),
        Option(("--dry-run",), "print the decision and the command; submit nothing"),
        SCHEDULER,
        Option(
            ("--local-wait",),
            "longest expected wait for a slot next to the data",
            "TIME",
            "the site file's, 60s",
            parse=parse_time,
        ),
        SITE,
        JSON,
    ),
    (
        ("tonnage submit gzip -k big.dat", "at the file server of the working directory"),
        ("tonnage submit -I uname -n", "and wait for it"),
        ("tonnage submit --copies 50 --cap auto ./align.sh", "50 copies, as many at once as the storage carries"),
        ("tonnage submit --scheduler-options='--nice=5 --qos=low' ./align.sh", "with options of sbatch"),
        ("tonnage submit --dry-run -q short ./align.sh", "where it would go, and why"),
    ),
    program="COMMAND [WORD]...",
    hints=dict.fromkeys(("-W", "-t", "--time"), "the time after which the scheduler ends it is --time-limit")
    | dict.fromkeys(("-D", "--chdir"), "cd to the directory first: a job starts where it is submitted"),
    loads=("tonnage.placement.submit_request", "tonnage.placement.submit"),
)

_MOST_ROWS = 16
_COLUMNS = ("HOST", "SERVER", "BESIDE", "ACCESS", "LOAD", "WAIT", "SCORE", "")


def run(arguments: Arguments) -> int:
    """Submits the job and returns the exit code: an interactive job's own."""
    from tonnage.placement.answer_types import submitted
    from tonnage.placement.choice import NoFileServer
    from tonnage.placement.submit import failed_text, preview, run_interactive, submit, wait_until_ended

    request = request_of(arguments)
    try:
        if arguments.dry_run:
            return _show(preview(request), arguments.json)
        if arguments.interactive:
            return run_interactive(request, tell=_announce).status or 0
        outcome = submit(request, key_given=arguments.key is not None, tell=_notes if arguments.json else _announce)
    except NoFileServer as error:
        return _no_server(request, error)
    if arguments.json:
        _answer(json.dumps(asdict(submitted(request.key, outcome))), outcome)
    elif outcome.receipt is not None:
        if outcome.plan is None:
            print(f"tonnage: note: the key {request.key} was submitted before; nothing new was", file=sys.stderr)
        _answer(outcome.receipt.line, outcome)
    for note in outcome.followed:
        print(one_line(f"tonnage: note: {note}"), file=sys.stderr)
    if arguments.wait and outcome.receipt is not None:
        job = f"job {outcome.receipt.job}"
        what = f"{job} has ended" if request.copies is None else f"all {request.copies} copies of {job} have ended"
        print(f"tonnage: waiting until {what}; Ctrl-C ends the waiting only", file=sys.stderr)
        status, why = wait_until_ended(request, outcome.receipt.job)
        if status:
            print(f"tonnage: {failed_text(outcome.receipt.job, status, why)}", file=sys.stderr)
        return status
    return 0


def _answer(text: str, outcome: Outcome) -> None:
    """TonnageError, which names the job, where the answer cannot be written: it is submitted all the same."""
    try:
        print(text, flush=True)
    except StdoutError as error:
        job = outcome.receipt.job if outcome.receipt is not None else "nothing"
        raise TonnageError(f"{error}; job {job} is submitted; hint: `tonnage jobs` lists it") from None


def request_of(arguments: Arguments) -> SubmitRequest:
    """Makes the request of the options and the program's arguments; RequestError where they contradict each other."""
    from tonnage.placement.submit_request import SubmitOptions

    if arguments.program and arguments.interactive:
        _refuse_with_interactive(arguments)
    options = SubmitOptions(**{one.name: getattr(arguments, one.name) for one in fields(SubmitOptions)})
    return options.request(arguments.program)


def _refuse_with_interactive(arguments: Arguments) -> None:
    for option, given, why in (
        ("--copies", arguments.copies is not None, "has one terminal"),
        ("--input", arguments.input is not None, "reads from this terminal"),
        ("--output", arguments.output is not None, "writes to this terminal"),
        ("--error", arguments.error is not None, "writes to this terminal"),
        ("--key", arguments.key is not None, "ends with this command"),
        ("--wait", arguments.wait, "is waited for in any case"),
        ("--json", arguments.json and not arguments.dry_run, "writes to this terminal"),
    ):
        if given:
            raise RequestError(f"an interactive job {why}; hint: leave {option} or --interactive out")


def _announce(plan: Plan) -> None:
    from tonnage.placement.plan import where_to

    try:
        print(where_to(plan), flush=True)
    except StdoutError as error:
        raise TonnageError(f"{error}; nothing was submitted; hint: {STDOUT_HINT}") from None
    if plan.decision.cap_why is not None:
        print(f"tonnage: {one_line(plan.decision.cap_why)}", file=sys.stderr)
    _notes(plan)


def _notes(plan: Plan) -> None:
    for note in plan.notes:
        print(one_line(f"tonnage: note: {note}"), file=sys.stderr)


def _no_server(request: SubmitRequest, error: NoFileServer) -> int:
    """The sentence that iobsub's users know, by itself, then why."""
    print(one_line(f"Cannot find fileserver for {request.path or 'current working directory'}."), file=sys.stderr)
    hint = ", or" if "; hint: " in str(error) else "; hint: name the server in tonnage.toml, or"
    print(one_line(f"tonnage: error: {' '.join(str(error).split())}{hint} go on with --anywhere"), file=sys.stderr)
    return error.exit_code


def _show(outcome: Outcome, as_json: bool) -> int:
    from tonnage.placement.answer_types import previewed

    assert outcome.plan is not None
    if as_json:
        print(json.dumps(asdict(previewed(outcome.plan, outcome.command))))
    else:
        print(report(outcome.plan, outcome.command))
        _notes(outcome.plan)
    return 0


def report(plan: Plan, command: Sequence[str]) -> str:
    """The whole decision for a person. The command is quoted for reading only: no shell runs it."""
    from tonnage.placement.plan import first_names

    located, decision = plan.located, plan.decision
    mount = located.mount
    on = f", {mount.file_system} on {mount.mount_point}" if mount is not None else ""
    lines = [f"{'data':<10} {located.path}{on}"]
    lines += [f"{'known by' if not number else '':<10} {sentence}" for number, sentence in enumerate(located.how)]
    lines.append(f"{'server':<10} {first_names([server.name for server in plan.servers]) or 'nobody knows'}")
    lines += ["", *_table(decision.considered), ""]
    lines.append(f"{'goes to':<10} {_goes_to(plan)}")
    lines += [f"{'because' if not number else '':<10} {sentence}" for number, sentence in enumerate(decision.why)]
    lines.append(f"{'command':<10} {shlex.join(command)}")
    return "\n".join(map(one_line, lines))


def _goes_to(plan: Plan) -> str:
    from tonnage.placement.plan import first_names

    decision, request = plan.decision, plan.request
    how = {"pin": "", "prefer": ", if free", "free": ""}[decision.bind]
    parts = [f"{first_names(decision.hosts)}{how}" if decision.hosts else "any host"]
    if request.queue:
        parts.append(f"queue {request.queue}")
    if request.copies is not None:
        at_once = f"{request.cap} at once" if request.cap is not None else "no limit on how many at once"
        parts.append(f"{request.copies} copies, {at_once}")
    return "; ".join(parts)


def _table(considered: Sequence[Scored]) -> list[str]:
    """The candidates in columns; seconds."""
    if not considered:
        return ["no host was considered"]
    rows = [_COLUMNS, *(_row(one) for one in considered[:_MOST_ROWS])]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
    lines = [
        "  ".join(
            cell.rjust(width) if 3 <= column <= 6 else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    if len(considered) > _MOST_ROWS:
        lines.append(f"and {len(considered) - _MOST_ROWS} more; --json has them all")
    return lines


def _row(one: Scored) -> tuple[str, ...]:
    seconds = (one.access_s, one.load_s, one.wait_s, one.score_s)
    return (
        one.host,
        one.server or "-",
        "yes" if one.near else "no",
        *(f"{value:.2f} s" for value in seconds),
        f"passed over: {one.passed_over}" if one.passed_over else "",
    )
