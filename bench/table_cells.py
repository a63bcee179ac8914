"""The cells of the table and the goals they are judged by (the project's first issue, "Speed")."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cell_load import KIB, MIB, Load

TONNAGE, BARE, FIO = "Tonnage", "bare C loop", "fio"
SUMMING = "bare C loop, summing"
"""Adds up what it reads: the limit of any reader that looks at all bytes."""
CONSTANT, VERIFIED = "Tonnage, constant payload", "Tonnage, verified"


@dataclass(frozen=True, slots=True)
class Goal:
    """``of`` must reach ``at_least`` times ``against``; or, where ``against`` is None, operations per second a task.

    With ``cpu``, what is compared is operations per CPU second.
    """

    at_least: float
    against: str | None = BARE
    of: str = TONNAGE
    cpu: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """One load, its place (``tmpfs``, ``disk`` or ``none``), and who carries it out besides those of the goals."""

    title: str
    load: Load
    place: str
    goals: tuple[Goal, ...]
    others: tuple[str, ...] = ()

    def contenders(self) -> list[str]:
        names = [name for goal in self.goals for name in (goal.of, goal.against) if name]
        return list(dict.fromkeys([TONNAGE, *names, *self.others]))


def cells(seconds: float) -> list[Cell]:
    """All cells, each run lasting ``seconds`` where the load has no end of its own."""
    peers = (FIO, "IOR", "elbencho")
    random = Load("read", 4 * KIB, 256 * MIB, random=True, seconds=seconds)
    stream = Load("read", MIB, 256 * MIB, seconds=seconds)
    rewrite = replace(stream, op="write")
    fresh = Load("write", MIB, 512 * MIB, fresh=True, seconds=seconds)
    mixed = replace(random, op="write", read_percent=70)
    beats = tuple(Goal(1.0, against=peer, cpu=cpu) for peer in peers for cpu in (False, True))
    # IOR and fio write the same bytes again and again, elbencho new ones each time: each against its like.
    same = tuple(Goal(1.0, against=peer, of=CONSTANT, cpu=cpu) for peer in peers[:2] for cpu in (False, True))
    write_goals = (Goal(0.97), Goal(0.97, against=CONSTANT), *same, *beats[4:])
    rewrite_goals = (*write_goals, Goal(1.3, against="elbencho"))
    read_goals = (
        Goal(0.97),
        Goal(0.95, against=TONNAGE, of=VERIFIED),
        Goal(0.95, against=SUMMING, of=VERIFIED),
        Goal(1.3, against="IOR -R", of=VERIFIED),
        *beats,
    )
    found = []
    for tasks in (1, 2):
        for title, load, goals, others in (
            ("4 KiB random read", random, (Goal(0.98), *beats), peers),
            ("1 MiB sequential read", stream, read_goals, peers),
            ("1 MiB sequential rewrite", rewrite, rewrite_goals, peers),
            ("1 MiB sequential write of new files", fresh, write_goals, peers),
            ("4 KiB random, 70 % reads", mixed, (Goal(0.97), Goal(1.0, FIO), Goal(1.0, FIO, cpu=True)), ()),
        ):
            many = f"{tasks} task" + "s" * (tasks > 1)
            found.append(Cell(f"{title}, tmpfs, {many}", replace(load, tasks=tasks), "tmpfs", goals, others))
    uring, uring_goals = replace(random, depth=32), (Goal(0.97), Goal(1.3, against=FIO))
    null = Load("read", 4 * KIB, 1 << 40, null=True, seconds=seconds)
    return [
        *found,
        Cell("4 KiB random read, page cache, io_uring depth 32, 1 task", uring, "disk", uring_goals),
        Cell("null storage, 1 task", null, "none", (Goal(45e6, against=None),), (FIO, "IOR")),
    ]
