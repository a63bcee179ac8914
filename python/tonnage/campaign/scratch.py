"""The marked directories in which a run makes its files, and those that killed runs left behind."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from tonnage import _native
from tonnage.campaign.host_queries import LIMIT_S, ask_all, others
from tonnage.campaign.model import Campaign
from tonnage.campaign.named_scratch import NamedScratch
from tonnage.campaign.target import Target
from tonnage.campaign.workspace import needs_scratch
from tonnage.cluster.launcher import Launcher
from tonnage.errors import MeasurementError, RequestError
from tonnage.printable_text import typed
from tonnage.records.line_types import Json
from tonnage.records.phase_specs import PoolSpec

_PREFIX = ".tonnage-"
"""Of the names of scratch directories (``crates/storage/src/scratch``)."""


@dataclass(frozen=True, slots=True)
class Leftover:
    """A marked scratch directory, or file of a user's naming, that is there."""

    path: str
    """``rados://POOL/NAMESPACE`` where it is a namespace of a Ceph pool."""
    run_id: str
    host: str
    pid: int
    state: Literal["running", "dead", "kept", "copy", "unknown"]
    """Of its run: ``kept``: the run left it on purpose; ``copy``: the marker was made for another directory;
    ``unknown``: this host cannot see whether the run goes on."""
    why: str
    """A clause that says so."""
    is_file: bool = False

    @property
    def may_go(self) -> bool:
        """Whether its run has ended and its files are not kept."""
        return self.state == "dead"

    @property
    def may_be_forced(self) -> bool:
        """The same, or the state is unknown and the user may decide."""
        return self.state in ("dead", "unknown")


def leftovers(parent: str | Path) -> list[Leftover]:
    """Returns the scratch directories in ``parent``."""
    return _read(_native.Scratch.leftovers(str(parent)))


def closed_scratch(parent: str | Path) -> list[str]:
    """What has the name of a scratch directory in ``parent`` and cannot be looked into: another user's, as a rule."""
    with os.scandir(parent) as entries:
        found = [entry.path for entry in entries if entry.name.startswith(_PREFIX) and not entry.is_symlink()]
    return sorted(path for path in found if Path(path).is_dir() and not os.access(path, os.R_OK | os.X_OK))


def file_leftovers(parent: str | Path) -> list[Leftover]:
    """The files in ``parent`` that users named and killed runs left, or that runs still write."""
    return [replace(left, is_file=True) for left in _read(_native.Scratch.file_leftovers(str(parent)))]


def pool_leftovers(pool: PoolSpec) -> list[Leftover]:
    """The namespaces that runs marked in a Ceph pool (``Target.pool``). RequestError where it cannot be reached."""
    try:
        return _read(_native.pool_leftovers(json.dumps({**pool, "namespace": "-"})))
    except (OSError, ValueError) as error:
        raise RequestError(str(error)) from None


def _read(found: Sequence[Json]) -> list[Leftover]:
    return [
        Leftover(item["path"], item["run_id"], item["host"], item["pid"], item["state"], item["why"]) for item in found
    ]


def left_at_ns(leftover: Leftover) -> int:
    """When the run that ``kept`` it left it, in nanoseconds, by the clock of its file system. OSError where it is
    gone."""
    return _native.Scratch.left_ns(leftover.path)


def remove_kept(leftover: Leftover, until_ns: int | None) -> None:
    """Removes what a run kept, or one that died left, as :func:`remove_leftover` does; files that were changed after
    ``until_ns`` stay and are an OSError."""
    parent, name = os.path.split(leftover.path)
    # One that is killed at it leaves what was kept as kept.
    _native.Scratch.reopen_kept(parent, name).remove(until_ns)


def remove_leftover(leftover: Leftover, pool: PoolSpec | None = None, *, force: bool = False) -> None:
    """Removes the files that Tonnage made in it, and it; in a ``pool`` its objects and the snapshots that it noted.
    ``force``: also where it is unknown whether its run has ended. OSError or ValueError where it holds anything else,
    or where its run goes on by now. What a run ``kept`` goes as well, but for files that were changed since: only call
    it where the user said so."""
    if leftover.is_file:
        _native.Scratch.remove_left_file(leftover.path)
    elif pool is None and leftover.state == "kept":
        remove_kept(leftover, left_at_ns(leftover))
    elif pool is None:
        _native.Scratch.reopen(leftover.path, force=force).remove()
    else:
        _native.clean_pool(json.dumps({**pool, "namespace": leftover.path.rpartition("/")[2]}), force=force)


class RunScratch:
    """The marked directories of the run, one in each directory of the target; none where no scratch files are made.

    On a host with a file system of its own under the target's path the first process makes them as well."""

    def __init__(
        self, target: Target, campaign: Campaign, run_id: str, start: Launcher | None = None, *, alone: bool = False
    ) -> None:
        """``alone``: no other process carries out this run now, so that leftovers of a host that failed are not in
        use."""
        self.directories: tuple[Path, ...] = ()
        self.run_id = run_id
        self._made: list[_native.Scratch] = []
        self._place = campaign.place
        self._start = start
        self.own: dict[str, list[str]] = {}
        """Paths on each host that has a file system of its own."""
        settings = campaign.settings()
        self._only_looks = all(setting.only_looks for setting in settings)
        storages = tuple(setting.storage for setting in settings)
        if not needs_scratch(target, storages, striped=campaign.stripe is not None):
            return
        # In a directory that is used for several devices each has its own.
        places = [
            (parent, f"{run_id}-{again}" if (again := target.paths[:number].count(parent)) else run_id)
            for number, parent in enumerate(target.paths)
        ]
        for parent, name in places:
            _remove_own_leftover(parent, name, alone=alone)
        try:
            for parent, name in places:
                self._made.append(_make(parent, name, self._place))
            self.directories = tuple(Path(scratch.path) for scratch in self._made)
            if start is not None and others(start):
                self._make_on_hosts(start, places)
        except BaseException:
            self.leave(well=False)
            raise

    def _make_on_hosts(self, start: Launcher, places: Sequence[tuple[Path, str]]) -> None:
        parents = [str(parent) for parent, _ in places]
        look = {"paths": [str(path) for path in self.directories], "parents": parents}
        seen = ask_all(start, "look-scratch", dict.fromkeys(others(start), look))
        absent = [host for host, found in seen.items() if "absent" in found]
        for host in absent:
            if "shared" in seen[host]:
                raise RequestError(
                    f"{host} shares some of the target's directories and not others; hint: give directories of one kind"
                )
        place = self._place and self._place.model_dump(mode="json")
        make = {"parents": parents, "names": [name for _, name in places], "place": place, "run_id": self.run_id}
        said = start.host_group.ask("make-scratch", dict.fromkeys(absent, make), timeout_s=LIMIT_S)
        # Those that were made are left again, also where another host could not make one.
        self.own = {host: answer.value for host, answer in said.items() if answer.problem is None}
        start.apart = frozenset(self.own)
        for host, answer in said.items():
            if answer.problem is not None:
                raise RequestError(
                    f"cannot make a scratch directory on {host}: {answer.problem}; hint: try another target"
                )

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
                    scratch.keep(as_found=self._only_looks)
                else:
                    scratch.remove()
            except (OSError, ValueError) as error:
                failed = failed or error
        own, self.own = self.own, {}
        # Where a process is lost the others have removed their own already.
        if self._start is not None and own and self._start.lost is None:
            leaving = {
                host: {"paths": paths, "keep": kept, "as_found": self._only_looks} for host, paths in own.items()
            }
            for host, answer in self._start.host_group.ask("leave-scratch", leaving, timeout_s=LIMIT_S).items():
                if answer.problem is not None:
                    failed = failed or MeasurementError(f"{host}: {answer.problem}")
        if failed is not None:
            raise failed


def _remove_own_leftover(parent: Path, run_id: str, *, alone: bool) -> None:
    """A resumed run begins on fresh files."""
    for left in leftovers(parent):
        if left.run_id == run_id:
            if left.state == "running":
                raise RequestError(
                    f"{left.path} belongs to a run that is still going; hint: wait for it, or stop it first"
                )
            if not (left.may_be_forced if alone else left.may_go):
                raise RequestError(
                    f"{left.path} may belong to a run that is still going ({left.why}); "
                    f"hint: see that it has ended, then `tonnage clean --force {typed(parent)}`"
                )
            remove_leftover(left, force=alone)


def check_place(place: NamedScratch | None, target: Target) -> None:
    """RequestError where a new run could not make, or find, the directory under its name."""
    if place is None:
        return
    for path in (parent / place.name for parent in target.paths):
        if os.path.lexists(path) is place.fresh:
            raise RequestError(_taken(path) if place.fresh else _missing(path))


def _taken(path: Path) -> str:
    return (
        f"{path} is there already; hint: remove what an earlier run left there "
        f"(`tonnage clean {typed(path.parent)}` does if that was killed), or move it away"
    )


def _missing(path: Path) -> str:
    return f"there is no {path}; hint: create what is to be measured first"


def _make(parent: Path, run_id: str, place: NamedScratch | None) -> _native.Scratch:
    try:
        if place is None:
            return _native.Scratch.create(str(parent), run_id)
        if place.fresh:
            return _native.Scratch.create_named(str(parent), place.name, run_id)
        return _native.Scratch.reopen_named(str(parent), place.name, stays=place.keep)
    except OSError as error:
        path = parent / place.name if place else parent
        if place and isinstance(error, FileExistsError):
            raise RequestError(_taken(path)) from None
        if place and not place.fresh and isinstance(error, FileNotFoundError):
            raise MeasurementError(_missing(path)) from None
        raise RequestError(
            f"cannot make a scratch directory in {parent}: {os.strerror(error.errno or 0)}; "
            "hint: give a directory in which you may create files"
        ) from None
    except ValueError as error:
        raise RequestError(f"{error}; hint: move it away, or give another directory") from None
