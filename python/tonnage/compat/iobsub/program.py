"""The program of a command line, found as bsub's shell found it: on PATH, else in the working directory."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tonnage.errors import RequestError
from tonnage.machine.guarded_access import carefully
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
    told = f"iobsub: there is no program {program!r} on PATH or here"
    if why_no_queue is not None:
        raise RequestError(f"{told}, and as the word after -q: {why_no_queue}; hint: see `tonnage queues`")
    raise RequestError(f"{told}; hint: write its whole path where only the job's host has it")


def _places(program: str, directory: str | None) -> list[str]:
    here = working_directory()
    return [str(Path(directory or here) / program), *(str(Path(here) / one) for one in os.get_exec_path())]


def _find_program(program: str, directory: str | None) -> list[bool]:
    here = Path(directory or "") / program
    return [shutil.which(program) is not None, here.is_file() and os.access(here, os.X_OK)]
