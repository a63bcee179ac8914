"""The marked directories in which a run makes its files, and those that killed runs left behind."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from tonnage import _native
from tonnage.campaign.model import Campaign, Place
from tonnage.campaign.room import needs_scratch
from tonnage.campaign.target import Target
from tonnage.errors import MeasurementError, RequestError


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

    def __init__(self, target: Target, campaign: Campaign, run_id: str, *, alone: bool = False) -> None:
        """``alone``: nobody else carries out this run now, so that what a host left that died is not in use."""
        self.directories: tuple[Path, ...] = ()
        self.run_id = run_id
        self._made: list[_native.Scratch] = []
        self._place = campaign.place
        storages = tuple(setting.storage for setting in campaign.settings())
        if not needs_scratch(target, storages, striped=campaign.stripe is not None):
            return
        # In a directory that stands for several devices each has one of its own.
        places = [
            (parent, f"{run_id}-{again}" if (again := target.paths[:number].count(parent)) else run_id)
            for number, parent in enumerate(target.paths)
        ]
        for parent, name in places:
            _remove_own_leftover(parent, name, alone=alone)
        try:
            for parent, name in places:
                self._made.append(_make(parent, name, self._place))
        except BaseException:
            self.leave(well=False)
            raise
        self.directories = tuple(Path(scratch.path) for scratch in self._made)

    def __enter__(self) -> RunScratch:
        return self

    def __exit__(self, *_: object) -> None:
        self.leave(well=False)

    def leave(self, *, well: bool) -> None:
        """Removes them, once: all that can be, whatever stands in the way of one. Leaves them to later runs where the
        campaign says so and the run went ``well``; those of an earlier run stay after one that did not."""
        made, self._made = self._made, []
        kept = self._place is not None and (self._place.keep if well else not self._place.fresh)
        failed: Exception | None = None
        for scratch in made:
            try:
                if kept:
                    scratch.keep()
                else:
                    scratch.remove()
            except (OSError, ValueError) as error:
                failed = failed or error
        if failed is not None:
            raise failed


def _remove_own_leftover(parent: Path, run_id: str, *, alone: bool) -> None:
    """A resumed run begins on fresh files."""
    for left in leftovers(parent):
        if left.run_id == run_id:
            if left.alive or (left.alive is None and not alone):
                raise RequestError(
                    f"{left.path} belongs to a run that is still going; hint: wait for it, or stop it first"
                )
            remove_leftover(left)


def _make(parent: Path, run_id: str, place: Place | None) -> _native.Scratch:
    try:
        if place is None:
            return _native.Scratch.create(str(parent), run_id)
        if place.fresh:
            return _native.Scratch.create_named(str(parent), place.name, run_id)
        return _native.Scratch.reopen_named(str(parent), place.name)
    except OSError as error:
        path = parent / place.name if place else parent
        if place and isinstance(error, FileExistsError):
            raise RequestError(
                f"{path} is there already; hint: remove what an earlier run left there, or move it away"
            ) from None
        if place and not place.fresh and isinstance(error, FileNotFoundError):
            raise MeasurementError(f"there is no {path}; hint: create what is to be measured first") from None
        raise RequestError(
            f"cannot make a scratch directory in {parent}: {os.strerror(error.errno or 0)}; "
            "hint: give a directory in which you may create files"
        ) from None
    except ValueError as error:
        raise RequestError(f"{error}; hint: move it away, or give another directory") from None
