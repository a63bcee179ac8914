"""What is kept beside the ledger says what the ledger says, whatever happened to either."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tonnage.cluster.scheduler import ClusterHost, Job
from tonnage.placement import submission_ledger as module
from tonnage.placement import submission_ledger as writing
from tonnage.placement.candidates import make_candidates
from tonnage.placement.cluster_snapshot import ClusterSnapshot, placements_of, promised_tasks
from tonnage.placement.site import Server, Site
from tonnage.placement.submission_ledger import FILE, KEPT, Entries, Entry, Ledger
from tonnage.placement.where import Located

SERVERS = tuple(Server(name=f"rcss{number}", hosts=(f"rcss{number}",)) for number in (1, 2, 3))
MARKS = {"target": "nfs:a", "pattern": "read", "by_line": True}


class History:
    """A user's submissions from two hosts, of which one's clock is behind, and what goes wrong on the way."""

    def __init__(self, directory: Path, seed: int) -> None:
        self.directory = directory
        self.chance = random.Random(seed)
        self.now_s = 1_000_000.0
        self.keys: list[str] = []
        self.jobs: list[Job] = []
        # Each host asks through a ledger of its own, and has what it read before in mind.
        self.hosts = [Ledger(directory), Ledger(directory)]

    def step(self) -> None:
        self.now_s += self.chance.random() * 20
        does: list[Callable[[Ledger, float], None]] = [self.submit] * 5 + [self.recap, self.tear, self.start_anew]
        host = self.chance.randrange(2)
        self.chance.choice(does)(self.hosts[host], self.now_s - 7 * host)

    def submit(self, ledger: Ledger, at_s: float) -> None:
        chance = self.chance
        again = bool(self.keys) and chance.random() < 0.1
        key = chance.choice(self.keys) if again else f"k{len(self.keys)}"
        self.keys.append(key)
        server = f"rcss{chance.randint(1, 3)}"
        cap = chance.choice((None, 4))
        ledger.intend(
            key,
            at_s,
            {
                "target": chance.choice(("nfs:a", "nfs:b")),
                "pattern": "read",
                "server": server,
                "line": chance.choice((None, 8, 9)),
                "by_line": cap is not None,
                "cap": cap,
                "tasks": cap or 1,
                "io_share": chance.choice((1.0, 0.25)),
                "request": {"argv": ["x" * chance.randrange(300), '"request":', "\udcff\n"]},
                "decision": {"why": ["}"]},
            },
        )
        fate, number = chance.random(), str(len(self.jobs) + 1)
        if fate < 0.2:
            ledger.refuse(key, at_s + 1, "no such queue")
        elif fate < 0.9:
            ledger.receive(key, at_s + 1, number, f"Job <{number}>")
            state = chance.choice(("pending", "running"))
            self.jobs.append(
                Job(job=number, key=key, server=server, state=state, submitted_at_s=at_s, started_at_s=at_s)  # type: ignore[arg-type]
            )

    def recap(self, ledger: Ledger, at_s: float) -> None:
        if self.keys:
            ledger.recap(self.chance.choice(self.keys), at_s, self.chance.randint(1, 6), 7)

    def tear(self, _ledger: Ledger, at_s: float) -> None:
        whole = json.dumps({"kind": "intent", "key": f"torn{at_s}", "at_s": at_s, "server": "rcss1"}).encode()
        with (self.directory / FILE).open("ab") as file:
            file.write(whole[: self.chance.randrange(len(whole))])

    def start_anew(self, ledger: Ledger, _at_s: float) -> None:
        self.hosts[self.hosts.index(ledger)] = Ledger(self.directory)


def read_whole(directory: Path) -> dict[str, dict[str, Any]]:
    """All that a ledger says, the plain way: each line, one after the other."""
    found: dict[str, dict[str, Any]] = {}
    answer = {"job": None, "line": None, "refused": None, "answered_s": None}
    file = directory / FILE
    for line in file.read_bytes().split(b"\n")[:-1] if file.exists() else ():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        kind, key, at_s = record.pop("kind"), record.pop("key"), record.pop("at_s")
        if kind == "intent":
            found.pop(key, None)
            short = {name: value for name, value in record.items() if name not in ("request", "decision")}
            found[key] = {"key": key, "at_s": at_s, "intent": short, **answer}
        elif key not in found:
            continue
        elif kind == "recap":
            intent = {**found[key]["intent"], "cap": record["cap"], "tasks": record["cap"], "line": record["line"]}
            found[key]["intent"] = intent
        elif kind == "receipt":
            found[key] |= {**answer, "job": record["job"], "line": record["line"], "answered_s": at_s}
        else:
            found[key] |= {**answer, "refused": record["why"]}
    return found


def decision(history: History, placements: list[Entry]) -> Any:
    """All that depends on the ledger in it."""
    world = ClusterSnapshot(
        now_s=history.now_s,
        hosts=[ClusterHost(name=server.name, up=True, slots=8) for server in SERVERS],
        jobs=history.jobs[-40:],
        jobs_at_s=history.now_s - 5,
        placements=placements,
    )
    located = Located(path="/data", mount=None, target="nfs:a", servers=tuple(server.name for server in SERVERS))
    candidates = make_candidates(Site(server=SERVERS), SERVERS, located, world)
    return candidates, sum(promised_tasks([server.name for server in SERVERS], world).values())


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Often kept, often cut to its newest lines, and not waited for."""
    monkeypatch.setattr(os, "fdatasync", lambda _descriptor: None)
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)
    monkeypatch.setattr(module, "UNKEPT_BYTES", 700)
    monkeypatch.setattr(module, "_MARK_BYTES", 200)
    monkeypatch.setattr(writing, "MOST_BYTES", 12_000)
    monkeypatch.setattr(writing, "KEPT_BYTES", 6_000)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("seed", range(12))
def test_a_decision_is_the_same_with_and_without_what_was_kept(tmp_path: Path, seed: int) -> None:
    history = History(tmp_path, seed)
    kept = 0
    for _ in range(120):
        history.step()
        ledger = history.chance.choice(history.hosts)
        whole = read_whole(tmp_path)
        at_s = history.now_s - history.chance.random() * 400
        found = ledger.since(at_s)
        assert [entry._asdict() for entry in found] == [one for one in whole.values() if one["at_s"] >= at_s]
        keys = {job.key or "" for job in history.jobs[::3]}
        assert [entry._asdict() for entry in ledger.of(keys)] == [one for key, one in whole.items() if key in keys]
        kept += (tmp_path / KEPT).exists()
        without = Ledger(tmp_path)
        without._entries = Entries()
        for marks in (MARKS, {"target": "nfs:b"}, {"target": "nowhere"}):
            assert ledger.since(0.0, marks) == without.since(0.0, marks)
            assert ledger.last(marks) == without.last(marks)
        jobs = history.jobs[-40:]
        with_it, without_it = (placements_of(one, jobs, since_s=at_s) for one in (ledger, without))
        assert decision(history, with_it) == decision(history, without_it)
    assert kept > 80


def fill(directory: Path, first: int, last: int) -> None:
    ledger = Ledger(directory)
    for number in range(first, last):
        ledger.intend(f"k{number}", float(number), {"server": "rcss1", "request": {"argv": ["x" * 2000]}})
        ledger.receive(f"k{number}", number + 0.5, str(number), "said")


def bytes_read(monkeypatch: pytest.MonkeyPatch, directory: Path) -> tuple[int, int]:
    """(entries, bytes of lines) that a question finds and reads."""
    read = 0
    add = Entries.add

    def counting(self: Entries, line: bytes) -> None:
        nonlocal read
        read += len(line)
        add(self, line)

    with monkeypatch.context() as patch:
        patch.setattr(Entries, "add", counting)
        found = len(Ledger(directory).since(0.0))
    return found, read


def test_only_what_was_added_since_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path, 0, 100)
    everything = bytes_read(monkeypatch, tmp_path)
    assert bytes_read(monkeypatch, tmp_path) == (100, 0)
    fill(tmp_path, 100, 101)
    assert bytes_read(monkeypatch, tmp_path) == (101, pytest.approx(everything[1] / 100, abs=20))


def test_it_is_kept_again_only_when_much_was_added(tmp_path: Path) -> None:
    fill(tmp_path, 0, 60)
    ledger = Ledger(tmp_path)
    ledger.since(0.0)
    first = (tmp_path / KEPT).stat().st_mtime_ns
    for number in range(60, 80):
        fill(tmp_path, number, number + 1)
        assert len(ledger.since(0.0)) == number + 1
    assert (tmp_path / KEPT).stat().st_mtime_ns == first
    fill(tmp_path, 80, 100)
    assert len(ledger.since(0.0)) == 100
    assert (tmp_path / KEPT).stat().st_mtime_ns != first


def test_a_line_that_is_still_being_written_counts_when_it_is_whole(tmp_path: Path) -> None:
    fill(tmp_path, 0, 1)
    ledger = Ledger(tmp_path)
    line = (tmp_path / FILE).read_bytes().splitlines(keepends=True)[0].replace(b"k0", b"k1")
    with (tmp_path / FILE).open("ab", buffering=0) as file:
        for part, keys in ((line[:50], ["k0"]), (line[50:-1], ["k0"]), (line[-1:], ["k0", "k1"])):
            file.write(part)
            assert [entry.key for entry in ledger.since(0.0)] == keys


@pytest.mark.parametrize("damage", [b"", b"{}", b"\xff\n", b"half", b"other version", b"another ledger"])
def test_what_is_damaged_or_of_another_ledger_is_read_anew(tmp_path: Path, damage: bytes) -> None:
    fill(tmp_path, 0, 60)
    before = Ledger(tmp_path).since(0.0)
    kept = tmp_path / KEPT
    whole = kept.read_bytes()
    if damage == b"half":
        kept.write_bytes(whole[: len(whole) // 2])
    elif damage == b"other version":
        told = json.dumps({"version": 0}).encode()
        kept.write_bytes(module._mark(told).encode() + b"\n" + told)
    elif damage == b"another ledger":
        lines = (tmp_path / FILE).read_bytes().replace(b"rcss1", b"rcss2")
        (tmp_path / FILE).write_bytes(lines)
        before = [entry._replace(intent={"server": "rcss2"}) for entry in before]
    else:
        kept.write_bytes(damage)
    assert Ledger(tmp_path).since(0.0) == before
    assert len(kept.read_bytes()) == len(whole), "and kept again"


def test_a_disk_without_room_for_it_costs_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path, 0, 60)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    monkeypatch.setattr(Path, "replace", full)
    assert len(Ledger(tmp_path).since(0.0)) == 60
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lock", FILE]
