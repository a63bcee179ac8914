"""iobsub, through ``tonnage.placement``."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from tonnage.cluster.job_terms import Terms
from tonnage.compat.front_end import Given, Voice, parse_arguments
from tonnage.compat.iobsub.options import IOBSUB
from tonnage.compat.iobsub.parse import IobsubRequest, read_arguments, read_script, with_script
from tonnage.compat.iobsub.translate import OF_LSF, Translated, hosts, name_of, translate
from tonnage.errors import RequestError
from tonnage.machine.guarded_access import carefully
from tonnage.placement.choice import NoFileServer
from tonnage.placement.plan import Plan, where_to
from tonnage.placement.submit import failed_text, queue_names, run_interactive, site_scheduler, submit, wait_until_ended
from tonnage.placement.submit_request import SubmitRequest
from tonnage.program_places import working_directory

_LOOK_S = 2.0
"""A directory that does not answer is no reason to refuse: the job may find the program there."""


def find_directory(name: str) -> str:
    """The whole path of a directory in which the job is to run. RequestError where it is none."""
    path = str(Path(working_directory()) / name)
    try:
        if carefully(lambda: Path(path).is_dir(), [path], timeout_s=_LOOK_S):
            return path
    except TimeoutError:
        raise RequestError(
            f"iobsub -cwd: {name!r} did not answer within {_LOOK_S:g} s; hint: give another one"
        ) from None
    except OSError as error:
        raise RequestError(f"iobsub -cwd: {name!r} cannot be looked at: {error}; hint: give another one") from None
    raise RequestError(f"iobsub -cwd: there is no directory {name!r}; hint: make it first")


def find_program(program: str, *, why_no_queue: str | None, directory: str | None = None) -> str:
    """With ``./`` where it is a file here and not on PATH. RequestError where it is nowhere.

    ``directory``: where it will run, in the place of here.
    ``why_no_queue``: it stands right after ``-q``, where LSF's users write a queue, and this is why it is none.
    """
    if "/" in program:
        # `submit` looks at it, within its time limit.
        return program
    try:
        on_path, is_here = carefully(
            lambda: _find_program(program, directory), _places(program, directory), timeout_s=_LOOK_S
        )
    except OSError:  # TimeoutError is one
        return program
    if on_path:
        return program
    if is_here:
        return f"./{program}"
    problem = f"iobsub: there is no program {program!r} on PATH or here"
    if why_no_queue is not None:
        raise RequestError(f"{problem}, and as the word after -q: {why_no_queue}; hint: see `tonnage queues`")
    raise RequestError(f"{problem}; hint: write its whole path where only the job's host has it")


def _places(program: str, directory: str | None) -> list[str]:
    here = working_directory()
    return [str(Path(directory or here) / program), *(str(Path(here) / one) for one in os.get_exec_path())]


def _find_program(program: str, directory: str | None) -> list[bool]:
    here = Path(directory or "") / program
    return [shutil.which(program) is not None, here.is_file() and os.access(here, os.X_OK)]


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
