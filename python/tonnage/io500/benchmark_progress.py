"""What a benchmark keeps beside its results to go on after an interrupt: which phases are done, and what it made."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tonnage.analysis.io500 import PhaseFigure
from tonnage.errors import RequestError

FILE = "tonnage-io500.json"
_VERSION = 1


@dataclass(slots=True)
class Kept:
    """The state of one benchmark."""

    config: str
    """The text of the configuration."""
    mode: str
    tasks: int
    repeat: int
    timestamp: str
    data: str
    results: str
    """Both as the configuration spells them, with the time stamp where it asks for one."""
    here: str
    """The directory from which these paths lead."""
    made: list[str] = field(default_factory=list)
    """Directories that were not there before, absolute, each below the one before it."""
    done: list[list[PhaseFigure]] = field(default_factory=list)
    """Of each repetition, in order."""
    begun: str | None = None
    """The phase that was begun last and is not done."""
    is_complete: bool = False

    def save(self, path: Path) -> None:
        """Replaces the file whole."""
        fresh = path / f".{FILE}.new"
        with fresh.open("w", encoding="utf-8") as file:
            json.dump({"version": _VERSION, **asdict(self)}, file)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path / FILE)

    @classmethod
    def load(cls, path: Path) -> Kept:
        """RequestError where there is none, or it is of another version."""
        try:
            found = json.loads((path / FILE).read_bytes())
            if found.pop("version") != _VERSION:
                raise ValueError
            done = [[_figure(one) for one in repetition] for repetition in found.pop("done")]
            return cls(**found, done=done)
        except OSError as error:
            raise RequestError(
                f"{path} has no benchmark to go on with: {error.strerror}; hint: give the result directory of one"
            ) from None
        except (ValueError, KeyError, TypeError, AttributeError):
            raise RequestError(f"{path / FILE} cannot be read; hint: begin a new benchmark") from None


def _figure(stored: dict[str, object]) -> PhaseFigure:
    """JSON has lists where a figure has tuples."""
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in stored.items()}
    return PhaseFigure(**values)  # type: ignore[arg-type]
