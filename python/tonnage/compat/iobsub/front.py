"""iobsub, through ``tonnage.placement``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from tonnage.compat.front import HelpAsked, help_text, parse_arguments
from tonnage.compat.iobsub.options import IOBSUB
from tonnage.compat.iobsub.program import find_program
from tonnage.compat.iobsub.words import read_words
from tonnage.compat.voice import Voice
from tonnage.errors import RequestError
from tonnage.placement.choice import NoFileServer
from tonnage.placement.plan import Plan, Wish, where_to
from tonnage.placement.submit import queue_names, run_interactive, stay, submit

NOT_FOUND = "Cannot find fileserver for current working directory."


def run(words: Sequence[str], voice: Voice) -> int:
    """Exit code; an interactive job's own."""
    try:
        asked = read_words(words, queue_names)
        given = parse_arguments(IOBSUB, asked.options)
    except HelpAsked:
        voice.say(help_text(IOBSUB))
        return 0
    for note in asked.notes:
        voice.tell(f"iobsub: note: {note}")
    if not asked.program or not asked.program[0]:
        raise RequestError("iobsub: there is no program to run; hint: iobsub [OPTION]... PROGRAM [WORD]...")
    program = find_program(asked.program[0], why_no_queue=asked.why_no_queue)
    wish = _wish(given, (program, *asked.program[1:]), asked.queue)

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
        voice.tell(f"iobsub: {error}; hint: name its server in tonnage.toml, or go on with --anywhere")
        return 1
    assert outcome.receipt is not None
    if not given["-q"]:
        voice.say(outcome.receipt.line)
        for told in outcome.followed:
            voice.tell(f"iobsub: note: {told}")
        voice.out.flush()
    return stay(wish, outcome.receipt.job) if given["-K"] else 0


def _wish(given: dict[str, Any], argv: tuple[str, ...], queue: str | None) -> Wish:
    if given["-I"] and (given["-o"] or given["-e"]):
        raise RequestError("iobsub: an interactive job writes to this terminal; hint: leave -o, -e or -I out")
    if queue and given["--queue"] not in (None, queue):
        raise RequestError(f"iobsub: -q {queue} and --queue {given['--queue']} are two queues; hint: give one of them")
    return Wish(
        argv=argv,
        key=os.urandom(8).hex(),
        name=given["-J"],
        queue=queue or given["--queue"],
        slots=given["-n"],
        output=given["-o"],
        error=given["-e"],
        anywhere=bool(given["--anywhere"]),
        served=True,
    )
