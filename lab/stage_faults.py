"""Every system call of a mover on its trees fails once, and the mover is killed before and after each.

A run that nothing disturbs is recorded first: which calls it does, on what, and from where in its code. Then it is done
again for each call and each fault, from the same beginning, and goes on from there without faults; the trees are
compared with what was written. ``tests/lab/test_stage_calls.py`` says how many of them are tried.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import multiprocessing
import os
import re
import signal
import stat
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stage_policies import POLICIES, Policy
from stage_trees import STATE, Found, Stage
from stage_truth import Truth, plant, wrong_at_once, wrong_at_the_end
from tracer import Action, Ask, Call, Hangs, apart, traced

PATIENCE_S = 120.0

MAKES = re.compile(r"open|write|ftruncate|fallocate|mkdir|link|mknod|rename|sync|setxattr|copy_file")
WAITS = re.compile(r"open|read$|read64|write|sync|fallocate|ftruncate|fcntl|statfs|copy_file|getdents")
CHANGES = re.compile(r"mkdir|link|mknod|rename|ftruncate|setxattr|chmod|chown|utimens")
ALTERS = re.compile(r"write|sync|ftruncate|fallocate|mkdir|link|mknod|rename|setxattr|chmod|chown|utimens|copy_file")
PARTIAL = re.compile(r"p?(read|write)(64)?$")


PLANTED: dict[bytes, Found] = {}
"""The tree that is planted, which is the same each time."""


@dataclass(frozen=True, order=True)
class Site:
    """One call of a policy's run: the ``nth`` of its name on its paths."""

    name: str
    paths: tuple[str, ...]
    nth: int

    def __str__(self) -> str:
        return f"{self.name} {' '.join(self.paths)} {self.nth}"


@dataclass(frozen=True)
class Trial:
    """One fault at one call."""

    policy: str
    site: Site
    fault: str
    victim: str = ""
    """The file that somebody else writes to, or puts at the destination."""

    def __str__(self) -> str:
        return f"{self.policy} | {self.site} | {self.fault}"


@dataclass(frozen=True)
class Recorded:
    """A call that was seen, and from where it was made."""

    site: Site
    stack: tuple[int, ...]


class Numbered:
    """Gives the calls of one run their names, which are the same in each."""

    def __init__(self, stage: Stage) -> None:
        self.base = f"{stage.work}/"
        self.seen: Counter[tuple[str, tuple[str, ...]]] = Counter()
        self.drawn: dict[str, str] = {}
        """Entries of a journal that was made anew, whose numbers begin anywhere, by their order."""

    def site(self, call: Call) -> Site:
        paths = tuple(self.role(path) for path in call.paths)
        self.seen[call.name, paths] += 1
        return Site(call.name, paths, self.seen[call.name, paths])

    def role(self, path: str) -> str:
        name = path.removeprefix(self.base)
        name = re.sub(r"[0-9a-f]{16,32}|(?<=tonnage-)[0-9a-f]{8}(?=-)|(?<=cleared/)[0-9a-f]{8}(?=-)", "ID", name)
        return re.sub(r"\d{7,}", lambda found: self.drawn.setdefault(found[0], f"new{len(self.drawn)}"), name)


class Bench:
    """One policy's trees, made anew."""

    def __init__(self, work: Path, policy: Policy) -> None:
        from tonnage import _native

        self.native, self.policy = _native, policy
        self.stage = Stage(work, {"workers": 1, "name": "lab", "settle_ns": 0, "attempts": 3, **policy.options})
        plant(self.stage.source)
        self.truth = Truth(self.stage, PLANTED)
        self.truth.moves_out = bool(policy.lacks)
        self.truth.links = "linkat" not in policy.lacks
        self.prepared = False
        policy.prepare(self)
        self.prepared = True

    @property
    def clears(self) -> bool:
        return self.policy.options.get("clear", "never") != "never"

    @property
    def clears_all(self) -> bool:
        return self.policy.options.get("clear") == "done"

    def run(self, ask: Ask | None = None, **options: Any) -> tuple[int | None, dict[str, Any]]:
        """Runs a mover in a process of its own; returns its exit code and last status."""
        kept, self.stage.options = self.stage.options, {**self.stage.options, **options}
        text, told = self.stage.written().read_text(), self.stage.work / "status"
        self.stage.options = kept
        told.unlink(missing_ok=True)

        def move() -> int:
            try:
                mover = self.native.Mover(text)
                mover.start()
                mover.drain()
                mover.wait(PATIENCE_S)
            except (OSError, ValueError, RuntimeError) as error:
                told.write_text(json.dumps({"error": str(error)}))
                return 2
            status = mover.status()
            told.write_text(json.dumps(status))
            # As ``stage run`` counts; what a scan could not read is among the failures without having an entry.
            return int(
                status["progress"] != "finished"
                or bool(status["queued"]["files"] or status["failed"]["files"] or status["failures"])
            )

        if ask is None and not self.policy.lacks:
            return apart(move, PATIENCE_S), json.loads(told.read_text()) if told.exists() else {}
        roots = [self.stage.source, self.stage.to]
        code = traced(move, roots, self.ruled(ask), self.native.__file__, PATIENCE_S)
        return code, json.loads(told.read_text()) if told.exists() else {}

    def ruled(self, ask: Ask | None) -> Ask:
        """What the policy's file systems do not know fails in each run; who comes in between comes once."""
        to, rules = str(self.stage.to), self.policy.lacks

        def both(call: Call) -> Action | None:
            if ask and self.prepared and not (self.truth.foreign or self.truth.loose) and self.policy.comes(call):
                names = [os.fsencode(os.path.relpath(path, to)) for path in call.paths]
                path = next(name for name in names if name in self.truth.source)
                self.truth.foreign_arrives(path, replaces=True)
                if self.policy.options.get("overwrite") == "always":
                    self.truth.may_go(path)
            found = ask(call) if ask else None
            unknown = [rules[name] for name in rules if call.name.startswith(name) and call.paths[-1].startswith(to)]
            if not unknown or call.name.endswith(":0"):
                return found
            # A call that the file system does not know has done nothing, whatever happens after it.
            if found is None or found.done:
                return Action(unknown[0])
            return Action(kill="before") if found.kill else found

        return both

    def kill_at(self, wanted: Callable[[Call], bool], when: str, **options: Any) -> None:
        """A mover that is killed at the first such call."""
        hit = []

        def ask(call: Call) -> Action | None:
            if hit or not wanted(call):
                return None
            hit.append(call)
            return Action(kill=when)

        code, status = self.run(ask, **options)
        assert hit and code is None, f"{self.policy.name}: nothing to kill at: {code} {status}"

    def judged(self, status: dict[str, Any]) -> list[str]:
        report = self.native.stage_verify(str(self.stage.to), 1, lambda *_: True)
        return wrong_at_the_end(self.truth, status, self.clears, self.clears_all, report)


@dataclass(frozen=True)
class Run:
    """One that nothing disturbs: its calls, and what is wrong all the same."""

    policy: str
    calls: list[Recorded]
    wrong: list[str]


def record(name: str) -> Run:
    """Records a policy's run without a fault."""
    with tempfile.TemporaryDirectory(dir=memory(), prefix="tonnage-lab-") as work:
        bench = Bench(Path(work), POLICIES[name])
        numbered, seen = Numbered(bench.stage), []

        def ask(call: Call) -> None:
            seen.append(Recorded(numbered.site(call), call.stack()))

        code, status = bench.run(ask)
        wrong = bench.judged(status)
        if code != int(bool(bench.truth.foreign)):
            wrong.append(f"EXIT {code}: {status}")
        return Run(name, seen, wrong)


def memory() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def faults_of(recorded: list[Recorded], name: str) -> Iterator[Trial]:
    """All that happens to each call of a run."""
    final = {paths[0]: paths[1] for site in (found.site for found in recorded) if len(paths := site.paths) == 2}
    for site in (found.site for found in recorded):
        call, last = site.name.split(":")[0], site.paths[-1]
        yield Trial(name, site, "kill before")
        yield Trial(name, site, "kill after")
        if call == "close":
            yield Trial(name, site, "answer lost")
            continue
        yield Trial(name, site, "EIO")
        if MAKES.match(call):
            yield Trial(name, site, "ENOSPC")
        if WAITS.match(call):
            yield Trial(name, site, "EINTR")
        if CHANGES.search(call):
            yield Trial(name, site, "answer lost")
        if PARTIAL.match(call):
            yield Trial(name, site, "short")
        if STATE in last:
            continue
        if last.startswith("to/"):
            yield Trial(name, site, "foreign", final.get(last, last).removeprefix("to/"))
        if last.startswith("from/"):
            yield Trial(name, site, "late", last.removeprefix("from/"))


def sample(everything: Iterable[tuple[Trial, tuple[int, ...]]], turn: int = 0) -> list[Trial]:
    """Each place in the code that makes a call, once with one of its faults, in turn; where the call changes something,
    also once with a kill: elsewhere a kill leaves what a kill at the change before it leaves. Another ``turn`` has the
    next fault of each."""
    kinds: dict[tuple[str, tuple[int, ...]], dict[str, list[Trial]]] = {}
    for trial, stack in everything:
        kind = "kill" if trial.fault.startswith("kill") else "fault"
        if kind == "kill" and not ALTERS.search(trial.site.name):
            continue
        kinds.setdefault((trial.site.name, stack[:2]), {}).setdefault(kind, []).append(trial)
    return [trials[(at + turn) % len(trials)] for at, found in enumerate(kinds.values()) for trials in found.values()]


def each(everything: Iterable[tuple[Trial, tuple[int, ...]]]) -> list[Trial]:
    """Chooses each place on each kind of file with each fault, once."""
    found: dict[tuple[object, ...], Trial] = {}
    for trial, stack in everything:
        found.setdefault((trial.site.name, trial.site.paths, stack, trial.fault), trial)
    return list(found.values())


def without_ids(text: str) -> str:
    """Returns the same for movers whose ids differ."""
    return re.sub(r"[0-9a-f]{8}-|[0-9a-f]{32}|\d{7,}", "ID", text)


@dataclass(frozen=True)
class Ended:
    """What came of one trial."""

    trial: Trial
    hit: bool
    wrong: list[str]


def attempt(trial: Trial) -> Ended:
    """One fault, the resume after it, and what is wrong then."""
    with tempfile.TemporaryDirectory(dir=memory(), prefix="tonnage-lab-") as work:
        bench = Bench(Path(work), POLICIES[trial.policy])
        numbered, hit = Numbered(bench.stage), []

        def ask(call: Call) -> Action | None:
            if hit or numbered.site(call) != trial.site:
                return None
            hit.append(call)
            return happen(bench, trial)

        wrong: list[str] = []
        try:
            code, status = bench.run(ask)
            # What is written while it ends may have come too late for it.
            if code == 0 and not bench.truth.changed:
                return Ended(trial, bool(hit), [f"{text} (exit 0)" for text in bench.judged(status)])
            wrong += wrong_at_once(bench.truth)
            told = status.get("notes", [])
            code, status = bench.run()
            if "progress" not in status:
                wrong += [f"STUCK the resume ended with {code}: {status}", *wrong_at_once(bench.truth)]
            else:
                wrong += bench.judged({**status, "notes": [*told, *status["notes"]]})
        except Hangs:
            wrong.append("HANGS")
        return Ended(trial, bool(hit), wrong)


def happen(bench: Bench, trial: Trial) -> Action | None:
    match trial.fault:
        case "kill before" | "kill after":
            return Action(kill=trial.fault.split()[1])
        case "answer lost":
            return Action(errno.EIO, done=True)
        case "short":
            return Action(short=True)
        case "foreign":
            path = os.fsencode(trial.victim)
            always = bench.policy.options.get("overwrite") == "always"
            found = bench.truth.source.get(path)
            if found and not (always and stat.S_ISDIR(found.kind)):
                bench.truth.foreign_arrives(path, replaces=not bench.clears)
                if always:
                    bench.truth.may_go(path)
        case "late":
            late(bench, trial.victim)
        case error:
            return Action(getattr(errno, error))
    return None


def late(bench: Bench, name: str) -> None:
    """The application writes into a file in place, unless the mover's lease makes it wait."""
    path = bench.stage.source / name
    if path.is_symlink() or not path.is_file():
        return
    try:
        file = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    except BlockingIOError:
        return
    os.pwrite(file, b"late", 10)
    os.close(file)
    bench.truth.written_late(os.fsencode(name))


def die_with_parent() -> None:
    """Ends this worker as Ctrl-C does when the process that wanted it is gone."""
    ctypes.CDLL(None).prctl(1, signal.SIGINT)


def workers(count: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), die_with_parent)


@contextlib.contextmanager
def attempts() -> Iterator[Callable[[list[Trial]], list[Ended]]]:
    """Does trials, in as many processes as there are processors."""
    with workers(len(os.sched_getaffinity(0))) as pool:
        yield lambda trials: list(pool.map(attempt, trials, chunksize=2))


def runs(policies: Iterable[str]) -> list[Run]:
    """Records a run of each policy, without a fault."""
    with workers(1) as pool:
        return list(pool.map(record, policies))


def all_trials(found: Iterable[Run]) -> list[tuple[Trial, tuple[int, ...]]]:
    """Every fault at every call. Of the many that SQLite makes on the journal, the first two of each kind and place."""
    trials = []
    for run in found:
        stacks = {each.site: each.stack for each in run.calls}
        alike: Counter[tuple[str, tuple[str, ...], str, tuple[int, ...]]] = Counter()
        for trial in faults_of(run.calls, run.policy):
            site = trial.site
            kind = (site.name, site.paths, trial.fault, stacks[site])
            alike[kind] += 1
            if f"{STATE}/journal" not in site.paths[-1] or alike[kind] <= 2:
                trials.append((trial, stacks[site]))
    return trials
