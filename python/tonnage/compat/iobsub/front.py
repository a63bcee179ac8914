"""iobsub, through ``tonnage.placement``."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tonnage.compat.front import HelpAsked, help_text, parse_arguments, split_program
from tonnage.compat.iobsub.options import IOBSUB
from tonnage.compat.voice import Voice
from tonnage.errors import RequestError
from tonnage.placement.choice import NoFileServer
from tonnage.placement.plan import Plan, Wish, where_to
from tonnage.placement.submit import run_interactive, stay, submit

NOT_FOUND = "Cannot find fileserver for current working directory."


def run(words: Sequence[str], voice: Voice) -> int:
    """Exit code; an interactive job's own."""
    try:
        options, program = split_program(IOBSUB, words)
        given = parse_arguments(IOBSUB, options)
    except HelpAsked:
        voice.say(help_text(IOBSUB))
        return 0
    if not program or not program[0]:
        raise RequestError("iobsub: there is no program to run; hint: iobsub [OPTION]... PROGRAM [WORD]...")
    wish = _wish(given, program)

    def tell(plan: Plan) -> None:
        if given["-q"]:
            return
        voice.say(where_to(plan))
        for note in plan.notes:
            voice.tell(f"iobsub: note: {note}")
        voice.out.flush()

    try:
        if given["-I"]:
            return run_interactive(wish, tell=tell).status or 0
        outcome = submit(wish, key_given=False, tell=tell)
    except NoFileServer as error:
        voice.tell(NOT_FOUND)
        voice.tell(f"iobsub: {error}")
        return 1
    assert outcome.receipt is not None
    if not given["-q"]:
        voice.say(outcome.receipt.line)
        for told in outcome.followed:
            voice.tell(f"iobsub: note: {told}")
        voice.out.flush()
    return stay(wish, outcome.receipt.job) if given["-K"] else 0


def _wish(given: dict[str, Any], program: Sequence[str]) -> Wish:
    if given["-I"] and (given["-o"] or given["-e"]):
        raise RequestError("iobsub: an interactive job writes to this terminal; hint: leave -o, -e or -I out")
    return Wish(
        argv=(_found(program[0]), *program[1:]),
        key=os.urandom(8).hex(),
        name=given["-J"],
        queue=given["--queue"],
        slots=given["-n"],
        output=given["-o"],
        error=given["-e"],
    )


def _found(program: str) -> str:
    """With ``./`` where it is a file here and not on PATH: bsub's shell looked in the working directory as well."""
    here = Path(program)
    if "/" not in program and shutil.which(program) is None and here.is_file() and os.access(here, os.X_OK):
        return f"./{program}"
    return program
