"""The names of a test's files, as IOR makes them."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from tonnage.compat.ior.options import Parameters
from tonnage.errors import RequestError
from tonnage.program_places import working_directory


def file_name(test: Parameters, task: int, repetition: int | None = None) -> str:
    """Returns the file of a task: ``FILE``, ``FILE.00000003`` with ``-F``, in a repetition with ``-m``
    ``FILE.00000003.1``."""
    roots = test.test_file.split("@")
    name = roots[0]
    if test.file_per_proc:
        name = roots[task % len(roots)]
        if test.unique_dir:
            directory, base = os.path.split(name)
            name = os.path.join(directory, str(task), base)  # noqa: PTH118 - printed as IOR prints it
        name = f"{name}.{task:08d}"
    return f"{name}.{repetition}" if test.multi_file and repetition is not None else name


def file_names(test: Parameters, repetition: int | None = None) -> list[str]:
    """Returns the absolute paths of the files, by task; one path where all tasks share it."""
    count = test.num_tasks if test.file_per_proc else 1
    here = working_directory()
    return [str(Path(here, file_name(test, task, repetition))) for task in range(count)]


def parents(test: Parameters) -> list[Path]:
    """The directories of the files, each once. RequestError where one is missing and not ours to make."""
    found = list(dict.fromkeys(Path(name).parent for name in file_names(test)))
    for directory in found:
        above = directory.parent if test.unique_dir else directory
        if not above.is_dir():
            raise RequestError(f"{above} is not a directory; hint: make it first, or give another -o")
    return found


def refuse_missing(test: Parameters) -> None:
    """RequestError where a test that only reads has no file to read."""
    if test.write_file or test.api == "DUMMY":
        return
    for name in file_names(test, 0 if test.multi_file else None):
        if not os.path.lexists(name):
            raise RequestError(f"{name} is missing; hint: add -w to write it first, or give another -o")


def make_parents(test: Parameters) -> list[Path]:
    """Makes the directories of ``-u`` that are missing; those it made."""
    made: list[Path] = []
    for directory in parents(test):
        if not directory.exists():
            try:
                directory.mkdir(0o700)
            except OSError as error:
                for ours in reversed(made):
                    with suppress(OSError):
                        ours.rmdir()
                raise RequestError(f"cannot make {directory}: {error.strerror}; hint: give another -o") from None
            made.append(directory)
    return made
