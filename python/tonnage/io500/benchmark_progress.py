"""What a benchmark keeps beside its results to go on after an interrupt: which phases are done, and what it made."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tonnage.analysis.io500 import PhaseFigure
from tonnage.errors import RequestError
from tonnage.io500.data_directory import Identity

FILE = "tonnage-io500.json"
_VERSION = 2


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
    written: dict[str, Identity] = field(default_factory=dict)
    """The files of IOR that its phases wrote, by their absolute names: what may be removed."""
    trees: dict[str, int] = field(default_factory=dict)
    """Until when files of the trees of mdtest are those that its phases wrote, by the paths of the trees: nanoseconds
    since 1970, by their file system's clock."""
    begun: str | None = None
    """The phase that was begun last and is not done."""
    sizes: dict[str, int] = field(default_factory=dict)
    """Bytes of the result files of the repetition in hand, with what is done alone."""
    is_complete: bool = False

    def save(self, path: Path) -> None:
        """Replaces the file whole. Nobody else may write to it: what it says is removed, is removed."""
        fresh = path / f".{FILE}.new"
        fresh.unlink(missing_ok=True)
        handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump({"version": _VERSION, **asdict(self)}, file)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path / FILE)

    @classmethod
    def load(cls, path: Path) -> Kept:
        """RequestError where there is none, it is of another version, or somebody else may have written it."""
        try:
            _refuse_foreign(path)
            found = json.loads((path / FILE).read_bytes())
            if found.pop("version") != _VERSION:
                raise ValueError
            done = [[_figure(one) for one in repetition] for repetition in found.pop("done")]
            written = {name: _identity(*facts) for name, facts in found.pop("written").items()}
            return cls(**found, done=done, written=written)
        except OSError as error:
            raise RequestError(
                f"{path} has no benchmark to go on with: {error.strerror}; hint: give the result directory of one"
            ) from None
        except (ValueError, KeyError, TypeError, AttributeError):
            raise RequestError(f"{path / FILE} cannot be read; hint: begin a new benchmark") from None


def _refuse_foreign(path: Path) -> None:
    """What it says decides what is removed."""
    for place in (path, path / FILE):
        facts = place.lstat()
        if stat.S_ISLNK(facts.st_mode):
            raise RequestError(f"{place} is a link; hint: give the result directory itself")
        if facts.st_uid != os.geteuid():
            raise RequestError(f"{place} belongs to somebody else; hint: begin a benchmark of your own")
        if facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise RequestError(
                f"others may write to {place}, and what it says is removed; hint: look at it, then chmod go-w {place}"
            )


def _identity(inode: int, size: int, written_ns: int) -> Identity:
    return inode, size, written_ns


def _figure(stored: dict[str, object]) -> PhaseFigure:
    """JSON has lists where a figure has tuples."""
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in stored.items()}
    return PhaseFigure(**values)  # type: ignore[arg-type]
