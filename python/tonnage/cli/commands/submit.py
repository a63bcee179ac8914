"""``tonnage submit``: from words to a wish, from its outcome to lines."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from dataclasses import asdict, fields

from tonnage.cli.placement.decision import report
from tonnage.errors import RequestError
from tonnage.placement.answers import previewed, submitted
from tonnage.placement.choice import NoFileServer
from tonnage.placement.plan import Plan, where_to
from tonnage.placement.submit import Outcome, preview, run_interactive, submit, wait_until_ended
from tonnage.placement.submit_request import SubmitOptions, SubmitRequest
from tonnage.plain import one_line


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
        return wait_until_ended(wish, outcome.receipt.job)
    return 0


def wish_of(arguments: Namespace) -> SubmitRequest:
    """What the options and the program's words ask for; RequestError where they contradict each other."""
    if arguments.program and arguments.interactive:
        _refuse_with_interactive(arguments)
    return SubmitOptions(**{one.name: getattr(arguments, one.name) for one in fields(SubmitOptions)}).request(
        arguments.program
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


def _no_server(wish: SubmitRequest, error: NoFileServer) -> int:
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
