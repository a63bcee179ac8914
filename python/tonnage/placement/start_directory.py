"""Checks the directory in which a job starts, its program and its files: whether they exist, and whether their storage
answers."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, TypedDict

from tonnage.errors import RequestError
from tonnage.machine.guarded_access import carefully
from tonnage.placement.where import PathStatus, status_here


class _DirectoryFacts(TypedDict):
    """The facts of the directory, as a child process returns them."""

    may_enter: bool
    status: dict[str, Any] | None
    """The fields of a ``PathStatus``."""
    error: tuple[int | None, str | None]
    """Why it could not be looked at, where ``status`` is None."""
    refused: str | None
    """Why it leads nowhere."""


class StartDirectory:
    """Examines the program, and the directory in which a job is to start; for most jobs the data is there as well."""

    def __init__(
        self, directory: str, program: str, *, timeout_s: float, needs: Mapping[str, str] | None = None
    ) -> None:
        """``needs``: what else must be there when the job begins, as messages call it → its absolute path."""
        self._directory, self._program, self._timeout_s = directory, program, timeout_s
        self._needs = needs or {}
        self._missing: list[str] = []
        self._place: _DirectoryFacts | None = None
        self._failed: OSError | None = None
        self._program_is = "silent"
        """``found``, ``here`` (in the directory alone), ``nowhere``, ``directory``, ``closed`` (not executable), or
        ``silent``: where it may be does not answer."""
        try:
            # Where no part of the path is on a server, this process can check it itself; otherwise a child does, which
            # may hang.
            self._program_is, self._place, self._missing = carefully(
                lambda: (self._find_program(), self._examine(), self._find_missing()),
                [directory, *self._places(), *self._needs.values()],
                timeout_s=timeout_s,
            )
        except TimeoutError as late:
            try:
                # Which of the two is silent.
                self._place = carefully(self._examine, [directory], timeout_s=timeout_s)
            except OSError as error:
                self._failed = late if isinstance(error, TimeoutError) else error
        except OSError as error:
            self._failed = error

    def _places(self) -> list[str]:
        """Where the program is looked for, links and all."""
        apart = [] if "/" in self._program else os.get_exec_path()
        return [os.path.join(self._directory, one) for one in (self._program, *apart)]  # noqa: PTH118

    def _find_program(self) -> str:
        program = self._program
        if shutil.which(program) is not None:
            return "found"
        if "/" not in program:
            return "here" if os.access(program, os.X_OK) else "nowhere"
        if os.path.isdir(program):  # noqa: PTH112  (as the lookup of the program, by its text)
            return "directory"
        return "closed" if os.path.exists(program) else "nowhere"  # noqa: PTH110

    def _find_missing(self) -> list[str]:
        return [what for what, path in self._needs.items() if not os.path.exists(path)]  # noqa: PTH110

    def _examine(self) -> _DirectoryFacts:
        place = _DirectoryFacts(
            may_enter=os.access(self._directory, os.X_OK), status=None, error=(None, None), refused=None
        )
        try:
            place["status"] = asdict(status_here(self._directory))
        except OSError as error:
            place["error"] = (error.errno, error.strerror)
        except RequestError as error:
            place["refused"] = str(error)
        return place

    def notes(self) -> list[str]:
        """What is odd about a job that starts there. RequestError where the directory is closed to this user.

        One that does not answer is no reason to stop: beside its server it may be a local disk.
        """
        if isinstance(self._failed, TimeoutError):
            return [f"{self._directory} did not answer within {self._timeout_s:g} s"]
        if self._failed is not None:
            raise self._failed
        assert self._place is not None
        if not self._place["may_enter"]:
            raise RequestError(f"no permission to enter {self._directory}; hint: cd to a directory that you may enter")
        if self._program_is == "silent":
            what = self._program if "/" in self._program else f"a directory of PATH, where {self._program} may be,"
            return [f"{what} did not answer within {self._timeout_s:g} s; it is submitted all the same"]
        return [*self._program_notes(), *self._missing_notes()]

    def _program_notes(self) -> list[str]:
        if self._program_is == "found":
            return []
        meant = f"; did you mean ./{self._program}?" if self._program_is == "here" else ""
        how = {"directory": "is a directory, not a program", "closed": "is not executable"}
        told = how.get(self._program_is, "is not found on this host")
        return [f"{self._program} {told}; it is submitted all the same{meant}"]

    def _missing_notes(self) -> list[str]:
        return [
            f"{what}, {self._needs[what]}, is not there on this host; the job needs it when it begins"
            for what in self._missing
        ]

    def status(self) -> PathStatus:
        """Returns the status of the directory, for ``locate``, with the errors of ``path_status``."""
        if self._failed is not None:
            raise self._failed
        assert self._place is not None
        if self._place["refused"] is not None:
            raise RequestError(self._place["refused"])
        if self._place["status"] is None:
            raise OSError(*self._place["error"])
        return PathStatus(**self._place["status"])
