"""The marked directories in which a run makes its files, and those that killed runs left behind."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from tonnage import _native
from tonnage.campaign.model import Campaign
from tonnage.campaign.room import needs_scratch
from tonnage.campaign.target import Target
from tonnage.errors import RequestError


@dataclass(frozen=True, slots=True)
class Leftover:
    """A marked scratch directory that is there."""

    path: str
    run_id: str
    host: str
    pid: int
    alive: bool | None
    """Whether its run still goes on; None where it runs on another host, so that nobody here can know."""


def leftovers(parent: str | Path) -> list[Leftover]:
    """The scratch directories in ``parent``."""
    found = _native.Scratch.leftovers(str(parent))
    return [Leftover(item["path"], item["run_id"], item["host"], item["pid"], item["alive"]) for item in found]


def remove_leftover(leftover: Leftover) -> None:
    """Removes the files that Tonnage made in it, and it. OSError or ValueError where it holds anything else."""
    _native.Scratch.reopen(leftover.path).remove()


class RunScratch:
    """The marked directories of the run, one in each directory of the target; none where no scratch files are made."""

    def __init__(self, target: Target, campaign: Campaign, run_id: str) -> None:
        self.directories: tuple[Path, ...] = ()
        self.run_id = run_id
        self._made: list[_native.Scratch] = []
        if not needs_scratch(target, tuple(setting.storage for setting in campaign.settings())):
            return
        for parent in target.paths:
            _remove_own_leftover(parent, run_id)
        try:
            for parent in target.paths:
                self._made.append(_make(parent, run_id))
        except BaseException:
            self.remove()
            raise
        self.directories = tuple(Path(scratch.path) for scratch in self._made)

    def __enter__(self) -> RunScratch:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def remove(self) -> None:
        """Removes them, once: all that can be, whatever stands in the way of one."""
        made, self._made = self._made, []
        failed: Exception | None = None
        for scratch in made:
            try:
                scratch.remove()
            except (OSError, ValueError) as error:
                failed = failed or error
        if failed is not None:
            raise failed


def _remove_own_leftover(parent: Path, run_id: str) -> None:
    """A resumed run begins on fresh files."""
    for left in leftovers(parent):
        if left.run_id == run_id:
            if left.alive is not False:
                raise RequestError(
                    f"{left.path} belongs to a run that is still going; hint: wait for it, or stop it first"
                )
            remove_leftover(left)


def _make(parent: Path, run_id: str) -> _native.Scratch:
    try:
        return _native.Scratch.create(str(parent), run_id)
    except OSError as error:
        raise RequestError(
            f"cannot make a scratch directory in {parent}: {os.strerror(error.errno or 0)}; "
            "hint: give a directory in which you may create files"
        ) from None
