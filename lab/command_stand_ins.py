"""Stand-ins for a scheduler's commands: programs on PATH that log their words and say what the real ones said."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path

import pytest

_START = '#!/bin/sh\nexec {python} {program} "$@"\n'
"""A path with a blank cannot stand in the first line of a script."""
_PROGRAM = """import json, os, subprocess, sys
words = sys.argv[1:]
with open({log!r}, "a") as log:
    print(json.dumps([{name!r}, *words]), file=log)
{behaviour}
"""


class StandIns:
    """A directory of programs, first on PATH."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._place = directory / "commands"
        self._place.mkdir()
        self._log = directory / "commands.log"
        monkeypatch.setenv("PATH", f"{self._place}{os.pathsep}{os.environ['PATH']}")

    def add(self, name: str, behaviour: str) -> None:
        """``behaviour``: lines of Python; ``words`` are those of the command line."""
        file, program = self._place / name, self._place.parent / f"{name}.py"
        program.write_text(_PROGRAM.format(log=str(self._log), name=name, behaviour=behaviour))
        file.write_text(_START.format(python=shlex.quote(sys.executable), program=shlex.quote(str(program))))
        file.chmod(0o755)

    def prints(self, name: str, text: str) -> None:
        """It prints the text and ends."""
        self.add(name, f"sys.stdout.write({text!r})")

    @property
    def called(self) -> bool:
        """Whether any was."""
        return self._log.exists()

    @property
    def calls(self) -> list[list[str]]:
        """Each call's words, the program first."""
        return [json.loads(line) for line in self._log.read_text().splitlines()]


ODD = ("a b", "", "$HOME", "`id`", "*", "'", '"', "\\", "new\nline", "-x", "%J", "!!", "#", ";", "~", "tab\t", "--")
"""Words that a shell would read otherwise."""
TELL = "import json, os, sys; json.dump([sys.argv[1:], os.getcwd(), os.environ.get('TONNAGE_COPY')], open({!r}, 'w'))"
"""A program that writes its words, its directory and its copy's number into a file."""
