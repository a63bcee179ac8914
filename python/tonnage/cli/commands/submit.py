"""``tonnage submit``: from words to a wish, from its outcome to lines."""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace
from dataclasses import asdict
from pathlib import Path

from tonnage.cli.placement.decision import report
from tonnage.cli.stream import one_line
from tonnage.cluster.terms import Mail, Terms
from tonnage.errors import RequestError
from tonnage.placement.answers.submit import previewed, submitted
from tonnage.placement.choice import NoFileServer
from tonnage.placement.plan import Plan, Wish, where_to
from tonnage.placement.submit import Outcome, preview, run_interactive, stay, submit


def run(arguments: Namespace) -> int:
    """Exit code; an interactive job's own."""
    wish = wish_of(arguments)
    try:
        if arguments.dry_run:
            return _show(preview(wish), arguments.json)
        if arguments.interactive:
            return run_interactive(wish, tell=_announce).status or 0
        outcome = submit(wish, key_given=arguments.key is not None, tell=_notes if arguments.json else _announce)
    except NoFileServer as error:
        return _no_server(wish, error)
    if arguments.json:
        print(json.dumps(asdict(submitted(wish.key, outcome))), flush=True)
    elif outcome.receipt is not None:
        if outcome.plan is None:
            print(f"tonnage: note: the key {wish.key} was submitted before; nothing new was", file=sys.stderr)
        print(outcome.receipt.line, flush=True)
    for told in outcome.followed:
        print(f"tonnage: note: {told}", file=sys.stderr)
    if arguments.wait and outcome.receipt is not None:
        return stay(wish, outcome.receipt.job)
    return 0


def wish_of(arguments: Namespace) -> Wish:
    """What the options and the program's words ask for; RequestError where they contradict each other."""
    program = tuple(arguments.program)
    if not program or not program[0]:
        raise RequestError("there is no command to submit; hint: write it after the options, or see --help")
    if any("\0" in word for word in program):
        raise RequestError("a word of the command holds a NUL; hint: no program can be given that")
    if arguments.path == "":
        raise RequestError("--path is empty; hint: leave it out for the working directory")
    if arguments.interactive:
        _refuse_with_interactive(arguments)
    if isinstance(arguments.cap, int) and arguments.copies is None:
        raise RequestError("--cap counts copies; hint: add --copies N")
    if arguments.profile is not None and arguments.io_share is not None:
        raise RequestError("--profile and --io-share say the same thing; hint: give one of them")
    numbers, at_once = arguments.copies or ((), None)
    if at_once is not None and arguments.cap is not None:
        raise RequestError("--cap and the % of --copies say the same thing; hint: give one of them")
    return Wish(
        argv=program,
        # Drawn where the user gives none: it names the job in the scheduler and in the ledger.
        key=arguments.key or os.urandom(8).hex(),
        path=arguments.path,
        name=arguments.name,
        queue=arguments.queue,
        slots=arguments.tasks or 1,
        numbers=numbers,
        cap=at_once or arguments.cap or "auto",
        output=arguments.output,
        error=arguments.error,
        input=arguments.input,
        terms=_terms(arguments),
        profile=None if arguments.profile is None else Path(arguments.profile),
        io_share=arguments.io_share,
        anywhere=arguments.anywhere,
        scheduler=arguments.scheduler,
        local_wait_ns=arguments.local_wait,
        site_file=None if arguments.site is None else Path(arguments.site),
    )


def _terms(arguments: Namespace) -> Terms:
    if arguments.mail_to is not None and arguments.mail is None:
        raise RequestError("--mail-to says to whom, and not when; hint: add --mail end,fail")
    if arguments.memory == 0:
        raise RequestError("--memory 0 is no memory; hint: write it like 4GiB")
    return Terms(
        time_limit_s=None if arguments.time_limit is None else -(-arguments.time_limit // 10**9),
        account=arguments.account,
        memory_bytes=arguments.memory,
        gpus=arguments.gpus,
        dependency=arguments.dependency,
        mail=None if arguments.mail is None else Mail(arguments.mail, arguments.mail_to),
        exclusive=arguments.exclusive,
        words=tuple(word for words in arguments.scheduler_options or () for word in words),
    )


def _refuse_with_interactive(arguments: Namespace) -> None:
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
    print(where_to(plan), flush=True)
    if plan.decision.cap_why is not None:
        print(f"tonnage: {one_line(plan.decision.cap_why)}", file=sys.stderr)
    _notes(plan)


def _notes(plan: Plan) -> None:
    for note in plan.notes:
        print(f"tonnage: note: {note}", file=sys.stderr)


def _no_server(wish: Wish, error: NoFileServer) -> int:
    """The sentence that iobsub's users know, by itself, then why."""
    print(f"Cannot find fileserver for {wish.path or 'current working directory'}.", file=sys.stderr)
    hint = ", or" if "; hint: " in str(error) else "; hint: name the server in tonnage.toml, or"
    print(f"tonnage: error: {' '.join(str(error).split())}{hint} go on with --anywhere", file=sys.stderr)
    return error.exit_code


def _show(outcome: Outcome, as_json: bool) -> int:
    assert outcome.plan is not None
    if as_json:
        print(json.dumps(asdict(previewed(outcome.plan, outcome.command))))
    else:
        print(report(outcome.plan, outcome.command))
        _notes(outcome.plan)
    return 0
