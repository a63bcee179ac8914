"""What the front ends share: the one way to a run, what they refuse, and what they say after the output."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tonnage.campaign.campaign_file import build_campaign
from tonnage.campaign.observer import Live, Observer, Step
from tonnage.campaign.run_lifecycle import Outcome, run_campaign
from tonnage.cluster.launcher_by_name import launcher
from tonnage.compat.front_end import Voice
from tonnage.option_names import reworded, reworded_errors
from tonnage.outputs import lines
from tonnage.records import Run
from tonnage.records.line_types import TaskLine, TrialLine

NUMBER = lines("a status file, which holds one number", r"\d{1,20}")
_OPERATION_HEAD = "time,runtime,tp"
OPERATIONS = lines("a table of single operations", _OPERATION_HEAD, r"-?[\d.]+e[+-]\d+,[\d.]+e[+-]\d+,[\d.]+e[+-]\d+")
"""Forms of files that ior and mdtest write alike."""


def operation_tables(columns: Mapping[str, Sequence[int]], tasks: Iterable[int], size: int) -> dict[int, str]:
    """Returns the table of single operations of each task: when each began, counted from the task's first one, how long
    it took, and its ``size`` bytes over that. ``columns``: of ``operations/`` of a run."""
    found: dict[int, list[tuple[int, int]]] = {task: [] for task in tasks}
    for task, end_ns, latency_ns in zip(
        *(columns.get(key, ()) for key in ("task", "end_ns", "latency_ns")), strict=True
    ):
        if task in found:
            found[task].append((end_ns - latency_ns, latency_ns))
    return {task: "".join(_operation_lines(operations, size)) for task, operations in found.items()}


def _operation_lines(operations: Sequence[tuple[int, int]], size: int) -> Iterator[str]:
    yield f"{_OPERATION_HEAD}\n"
    first_ns = min((start_ns for start_ns, _ in operations), default=0)
    for start_ns, latency_ns in operations:
        seconds = latency_ns / 1e9
        yield f"{(start_ns - first_ns) / 1e9:.8e},{seconds:.8e},{size / seconds if seconds else 0.0:e}\n"


@dataclass(frozen=True, slots=True)
class Finding:
    """What the original would not have told. ``code`` has a page in ``tonnage explain``."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Ranks:
    """The processes that an MPI launcher started: each is a task, as in the originals. Alone: tasks are threads."""

    hosts: tuple[str, ...] = ()
    """Of each process, by its number; empty: this one alone."""

    @classmethod
    def here(cls) -> Ranks:
        """Those of which this process is the first. RequestError where they cannot work together."""
        start = launcher("auto")
        return cls(tuple(start.hosts_of(start.processes))) if start.processes > 1 else cls()

    @property
    def default(self) -> int:
        """Tasks unless a number is given."""
        return len(self.hosts) or 1

    def nodes(self, tasks: int) -> int:
        """Returns the number of hosts of the first tasks."""
        return len(set(self.hosts[:tasks])) or 1

    def on_first(self, tasks: int) -> int:
        """How many of them are on the first one's host."""
        return self.hosts[:tasks].count(self.hosts[0]) if self.hosts else tasks

    def nodemap(self, tasks: int) -> str:
        """``1`` for each of them that is on the first one's host, ``0`` for the others."""
        return "".join("1" if host == self.hosts[0] else "0" for host in self.hosts[:tasks]) or "1" * tasks

    @property
    def in_blocks(self) -> bool:
        """Whether the second one is on the first one's host, and not each on the next host in turn."""
        return len(self.hosts) < 2 or self.hosts[0] == self.hosts[1]


ALONE = Ranks()


@contextmanager
def in_option_names(words: Mapping[str, str], page: str) -> Iterator[None]:
    """A front end's test is a campaign that nobody wrote: errors that leave it have its options for the keys."""
    with (
        reworded(_without_target),
        reworded_errors({**words, "hint: see `tonnage explain campaign`": f"hint: see `tonnage {page} --help`"}),
    ):
        yield


def _without_target(text: str) -> str:
    """What a target refuses names the file itself."""
    return (text.partition(" refuses this: ")[2] or text).replace("; hint: change what it names", "")


class HeaderObserver(Observer):
    """Says ``head`` once the first run has begun, and passes on what it hears: a request that is refused has no
    output."""

    def __init__(self, head: Iterable[str], voice: Voice, listener: Observer) -> None:
        self._head = list(head)
        self._voice, self._listener = voice, listener

    def started(self, path: Path, target: str, name: str) -> None:
        for line in self._head:
            self._voice.say(line)
        self._head = []
        self._listener.started(path, target, name)

    def step(self, step: Step) -> None:
        self._listener.step(step)

    def tick(self, live: Live) -> None:
        self._listener.tick(live)

    def waiting(self, text: str) -> None:
        self._listener.waiting(text)

    def recorded(self, line: TrialLine) -> None:
        self._listener.recorded(line)

    def note(self, text: str) -> None:
        self._listener.note(text)

    def ended(self) -> None:
        self._listener.ended()


def measure(
    name: str, campaign: Mapping[str, object], arguments: Sequence[str], observer: Observer, out: str | None
) -> tuple[Outcome, list[TrialLine], list[TaskLine]]:
    """Carries out what a front end asks for, the one way there is; how it ended, its trials and their tasks.

    ``out``: the run directory, as :func:`records_directory` says; None: below ``./tonnage-runs``.
    """
    built = build_campaign({"name": name, "order": "given", "repeat": {"count": 1}, **campaign}, name, stored=True)
    outcome = run_campaign(built, text=None, command_line=["tonnage", name, *arguments], out=out, observer=observer)
    run = Run.open(outcome.path)
    return outcome, run.trials(), run.tasks()


def records_directory() -> str | None:
    """Where the environment's TONNAGE_OUT has the records of a command: that directory, or with ``-2``, ``-3`` … behind
    its name where earlier commands of the same job left theirs. None where it says nothing."""
    named = os.environ.get("TONNAGE_OUT")
    if not named:
        return None
    numbered = (f"{named.rstrip('/')}-{number}" for number in itertools.count(2))
    return next(path for path in itertools.chain([named], numbered) if not _is_used(path))


def _is_used(path: str) -> bool:
    try:
        with os.scandir(path) as entries:
            return any(entries)
    except OSError:
        return False  # not there; or the run says why nothing can be written


def conclude(name: str, outcome: Outcome, findings: Iterable[Finding], voice: Voice) -> int:
    """Tells, after the output, what went wrong and what the output does not say; the exit code."""
    for failure in outcome.failed:
        voice.tell(f"{name}: failed: {failure}")
    for trouble in outcome.troubles:
        voice.tell(f"{name}: {trouble}")
    if outcome.state == "interrupted":
        voice.tell(f"{name}: interrupted; the records so far are in {outcome.path}")
    for finding in findings:
        voice.tell(f"{name}: finding {finding.code}: {finding.text}")
    return outcome.exit_code
