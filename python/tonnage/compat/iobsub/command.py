"""iobsub, through ``tonnage.placement``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from tonnage.cluster.job_terms import Terms
from tonnage.compat.front_end import Given, parse_arguments
from tonnage.compat.iobsub.options import IOBSUB
from tonnage.compat.iobsub.parse import IobsubRequest, read_arguments, with_script
from tonnage.compat.iobsub.program import find_directory, find_program
from tonnage.compat.iobsub.script import read_script
from tonnage.compat.iobsub.translate import OF_LSF, Translated, hosts, name_of, translate
from tonnage.compat.output import Voice
from tonnage.errors import RequestError
from tonnage.placement.choice import NoFileServer
from tonnage.placement.plan import Plan, where_to
from tonnage.placement.submit import failed_text, queue_names, run_interactive, site_scheduler, submit, wait_until_ended
from tonnage.placement.submit_request import SubmitRequest

NOT_FOUND = "Cannot find fileserver for current working directory."


def run(words: Sequence[str], voice: Voice) -> int:
    """Submits the job and returns the exit code: an interactive job's own."""
    asked = read_arguments(words, queue_names)
    if not asked.program and (script := read_script()) is not None:
        asked = with_script(asked, script, queue_names)
    given = parse_arguments(IOBSUB, asked.options)
    if not asked.program or not asked.program[0]:
        raise RequestError("iobsub: there is no program to run; hint: iobsub [OPTION]... PROGRAM [WORD]...")
    translated = translate(given, site_scheduler().name) if any(given[name] for name in OF_LSF) else Translated(Terms())
    request = _request(given, asked, translated.terms)
    for note in (*asked.notes, *translated.notes, *_unordered(given)):
        voice.tell(f"iobsub: note: {note}")

    def tell(plan: Plan) -> None:
        if given["-q"]:
            return
        voice.say(where_to(plan))
        for note in plan.notes:
            voice.tell(f"iobsub: note: {note}")
        voice.out.flush()

    try:
        if _is_interactive(given):
            return run_interactive(request, tell=tell).status or 0
        outcome = submit(request, key_given=False, tell=tell)
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
    return _wait(request, outcome.receipt.job, given, voice) if given["-K"] else 0


def _wait(request: SubmitRequest, job: str, given: Given, voice: Voice) -> int:
    """Returns the job's exit status once it has ended, and reports one that is not 0."""
    status, why = wait_until_ended(request, job)
    if status and not given["-q"]:
        voice.tell(f"iobsub: {failed_text(job, status, why)}")
    return status


def _unordered(given: Given) -> tuple[str, ...]:
    """What becomes of ``+N``: only LSF takes it, and of us only where the hosts are a preference."""
    names, prefer = hosts(given.text_if("-m"))
    if len(names) < 2 or "+" not in given.text("-m") or (prefer and site_scheduler().name == "lsf"):
        return ()
    return (f"-m: which of {', '.join(names)} comes first is the scheduler's own choice; +N is not passed on",)


def _is_interactive(given: Given) -> bool:
    return bool(given["-I"] or given["-Ip"])


def _request(given: Given, asked: IobsubRequest, terms: Terms) -> SubmitRequest:
    if _is_interactive(given) and any(given[name] for name in ("-o", "-e", "-i")):
        raise RequestError("iobsub: an interactive job has this terminal; hint: leave -i, -o, -e or -I out")
    queue, directory = given.text_if("--queue"), None
    if asked.queue and queue not in (None, asked.queue):
        raise RequestError(f"iobsub: -q {asked.queue} and --queue {queue} are two queues; hint: give one of them")
    if given["-cwd"] is not None:
        directory = find_directory(given.text("-cwd"))
    program = find_program(asked.program[0], why_no_queue=asked.why_no_queue, directory=directory)
    names, prefer = hosts(given.text_if("-m"))

    def beside(file: str | None) -> str | None:
        return file if file is None or directory is None else str(Path(directory) / file)

    name, numbers, at_once = name_of(given.text("-J")) if given["-J"] is not None else (None, (), None)
    return SubmitRequest(
        argv=(program, *asked.program[1:]),
        key=os.urandom(8).hex(),
        name=name,
        queue=asked.queue or queue,
        slots=given.number("-n"),
        numbers=numbers,
        cap=at_once or "auto",
        directory=directory,
        path=directory,
        hosts=names,
        prefer=prefer,
        input=beside(given.text_if("-i")),
        output=beside(given.text_if("-o")),
        error=beside(given.text_if("-e")),
        terms=terms,
        pty=bool(given["-Ip"]),
        anywhere=bool(given["--anywhere"]),
        served=True,
    )
