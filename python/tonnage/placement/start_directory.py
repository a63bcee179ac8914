"""The directory in which a job starts, and its program: whether they are there, and answer."""

from __future__ import annotations

import os
import shutil
from typing import Any

from tonnage.errors import RequestError
from tonnage.machine.careful import carefully
from tonnage.placement.where import PathStatus, read_status, status_here


def working_directory() -> str:
    """Where the job will run. RequestError where it is gone."""
    try:
        return os.getcwd()  # noqa: PTH109
    except FileNotFoundError:
        raise RequestError("the working directory was removed; hint: cd to one that exists") from None
    except PermissionError:
        raise RequestError("no permission to see the working directory; hint: cd to one that you may enter") from None


class StartDirectory:
    """A look at the program, and at the directory in which a job is to start, where for most its data is as well."""

    def __init__(self, directory: str, program: str, *, timeout_s: float) -> None:
        self._directory, self._program, self._timeout_s = directory, program, timeout_s
        self._said: dict[str, Any] = {}
        self._failed: OSError | None = None
        self._silent_program = False
        try:
            # Where nothing on the way is a server's, no process is needed that could be left behind.
            self._said = carefully(self._ask, [directory, *self._places()], timeout_s=timeout_s)
        except TimeoutError as error:
            self._ask_apart(error)
        except OSError as error:
            self._failed = error

    def _ask_apart(self, late: TimeoutError) -> None:
        """Which of the two is silent."""
        try:
            self._said = {
                "program": [True, False],
                **carefully(self._ask_place, [self._directory], timeout_s=self._timeout_s),
            }
            self._silent_program = True
        except TimeoutError:
            self._failed = late
        except OSError as error:
            self._failed = error

    def _places(self) -> list[str]:
        """Where the program is looked for, links and all."""
        apart = [] if "/" in self._program else os.get_exec_path()
        return [os.path.join(self._directory, one) for one in (self._program, *apart)]  # noqa: PTH118

    def _ask(self) -> dict[str, Any]:
        program = self._program
        here = "/" not in program and os.access(program, os.X_OK)
        return {"program": [shutil.which(program) is not None, here], **self._ask_place()}

    def _ask_place(self) -> dict[str, Any]:
        directory = self._directory
        may_enter = os.access(directory, os.X_OK)
        try:
            return {"may_enter": may_enter, "look": status_here(directory)}
        except OSError as error:
            return {"may_enter": may_enter, "error": [error.errno, error.strerror]}

    def notes(self) -> list[str]:
        """What is odd about a job that starts there. RequestError where the directory is closed to this user.

        One that does not answer is no reason to stop: beside its server it may be a local disk.
        """
        if isinstance(self._failed, TimeoutError):
            return [f"{self._directory} did not answer within {self._timeout_s:g} s"]
        if self._failed is not None:
            raise self._failed
        if not self._said["may_enter"]:
            raise RequestError(f"no permission to enter {self._directory}; hint: cd to a directory that you may enter")
        if self._silent_program:
            what = self._program if "/" in self._program else f"a directory of PATH, where {self._program} may be,"
            return [f"{what} did not answer within {self._timeout_s:g} s; it is submitted all the same"]
        is_found, is_here = self._said["program"]
        if is_found:
            return []
        meant = f"; did you mean ./{self._program}?" if is_here else ""
        return [f"{self._program} is not found on this host; it is submitted all the same{meant}"]

    def look(self) -> PathStatus:
        """At the directory, for ``locate``."""
        if self._failed is not None:
            raise self._failed
        if "error" in self._said:
            raise OSError(*self._said["error"])
        return read_status(self._said["look"])
