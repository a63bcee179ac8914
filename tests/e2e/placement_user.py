"""A user in a directory of this host, whose jobs this host runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import warm_start
from waiting import wait_until

from .shell import Said, Shell

DIRECTORIES = ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "TONNAGE_SYSTEM_CONFIG")
"""Variables of what a user's submissions and site files lie in."""


class PlacementUser:
    """Types commands of placement in ``data``, whose site file the test writes."""

    def __init__(self, shell: Shell) -> None:
        self.shell, self.data = shell, shell.data

    def site(self, text: str) -> None:
        (self.data / "tonnage.toml").write_text(text)

    def run(self, *words: str | Path, codes: tuple[int, ...] = (0,), text: str = "", at: Path | None = None) -> Said:
        done = warm_start.finished(*words, cwd=at or self.data, environment=self.shell.environment(), text=text)
        assert done.returncode in codes, done.stderr
        assert "Traceback" not in done.stderr
        return Said(done.returncode, done.stdout, done.stderr)

    def json(self, command: str, *words: str | Path, codes: tuple[int, ...] = (0,)) -> dict[str, Any]:
        """The answer of ``tonnage COMMAND --json WORDS``."""
        return self.run(command, "--json", *words, codes=codes).json

    def checked(self, command: str, found: dict[str, Any]) -> dict[str, Any]:
        """An answer of ``command`` that has each key that its schema states, and no other."""
        validator = jsonschema.Draft202012Validator(self.run("schema", command).json)
        validator.validate(found)
        assert not validator.is_valid({**found, "forgotten": 1})
        for key in found:
            assert not validator.is_valid({name: value for name, value in found.items() if name != key}), key
        return found

    def text_of(self, name: str, limit_s: float = 60.0) -> str:
        """What a job writes to a file, once it ends with a newline."""
        file = self.data / name
        wait_until(lambda: file.exists() and file.read_text().endswith("\n"), f"{name} is written", limit_s)
        return file.read_text()

    def spans(self, name: str, copies: int) -> list[tuple[float, ...]]:
        """When each copy began and ended, as it printed it, in the order in which they began."""
        texts = [self.text_of(f"{name}.{number}", 200) for number in range(1, copies + 1)]
        return sorted(tuple(map(float, text.split())) for text in texts)
