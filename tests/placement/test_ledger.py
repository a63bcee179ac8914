"""The ledger: an intent outlives whatever happens after it, and two with one key are never at work at once."""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import signal
import threading
import time
from pathlib import Path

import pytest
from tonnage.placement import submission_ledger as module
from tonnage.placement.submission_ledger import FILE, Ledger, LedgerError

FORK = multiprocessing.get_context("fork")


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path)


def test_an_entry_goes_from_open_to_its_receipt(ledger: Ledger) -> None:
    assert ledger.entry("k1") is None
    ledger.intend("k1", 10.0, {"server": "rcss1"})
    found = ledger.entry("k1")
    assert found is not None and found.open and found.intent["server"] == "rcss1"
    ledger.receive("k1", 11.0, "3734", "Job <3734> is submitted to queue <normal>.")
    found = ledger.entry("k1")
    assert found is not None and not found.open
    assert (found.job, found.line, found.at_s) == ("3734", "Job <3734> is submitted to queue <normal>.", 10.0)


def test_a_refused_key_may_be_tried_again(ledger: Ledger) -> None:
    ledger.intend("k1", 10.0, {})
    ledger.refuse("k1", 10.1, "no such queue")
    found = ledger.entry("k1")
    assert found is not None and found.refused == "no such queue"
    ledger.intend("k1", 20.0, {})
    found = ledger.entry("k1")
    assert found is not None and found.open and found.at_s == 20.0


def test_a_key_is_not_found_in_the_words_of_another(ledger: Ledger) -> None:
    ledger.intend("k2", 10.0, {"request": {"argv": ["k1", '"k1"']}})
    assert ledger.entry("k1") is None


def test_lately_means_since_a_time(ledger: Ledger) -> None:
    for number in range(20):
        ledger.intend(f"k{number}", float(number), {})
        ledger.receive(f"k{number}", number + 0.5, str(number), "line")
    assert [entry.key for entry in ledger.since(17.0)] == ["k17", "k18", "k19"]
    assert all(entry.job for entry in ledger.since(17.0))


def test_the_last_intent_for_a_target_is_found(ledger: Ledger) -> None:
    for at_s, target, line in ((1.0, "nfs:a", 8), (2.0, "nfs:b", 4), (3.0, "nfs:a", 9)):
        ledger.intend(f"k{at_s}", at_s, {"target": target, "pattern": "read", "line": line})
    found = ledger.last({"target": "nfs:a", "pattern": "read"})
    assert found is not None and found["line"] == 9
    assert ledger.last({"target": "nfs:a", "pattern": "write"}) is None


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_line_that_a_dead_writer_left_half_costs_nothing_else(ledger: Ledger, tmp_path: Path, cut: int) -> None:
    ledger.intend("k1", 1.0, {"words": "x" * 40})
    whole = (tmp_path / FILE).read_bytes()
    (tmp_path / FILE).write_bytes(whole + whole.replace(b"k1", b"k2")[:-cut])
    assert ledger.entry("k1") is not None
    assert (ledger.entry("k2") is None) == (cut > 1)
    ledger.intend("k3", 3.0, {})
    assert [ledger.entry(key) is not None for key in ("k1", "k3")] == [True, True]
    assert [entry.key for entry in ledger.since(0.0) if entry.key != "k2"] == ["k1", "k3"]


def test_words_that_are_no_text_come_back_as_they_were(ledger: Ledger) -> None:
    odd = ["a\nb", "\udcff", "ü", '"']  # what a file name may hold
    ledger.intend("k1", 1.0, {"argv": odd})
    found = ledger.entry("k1")
    assert found is not None and found.intent["argv"] == odd


def test_a_large_ledger_is_written_anew_with_its_newest_lines(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 20_000)
    monkeypatch.setattr(module, "KEPT_BYTES", 5_000)
    for number in range(400):
        ledger.intend(f"k{number}", float(number), {"words": "x" * 50})
        assert (tmp_path / FILE).stat().st_size < 21_000
    kept = [json.loads(line)["key"] for line in (tmp_path / FILE).read_bytes().splitlines()]
    assert kept == [f"k{number}" for number in range(400 - len(kept), 400)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lock", FILE]


def _append_many(directory: Path, writer: int) -> None:
    ledger = Ledger(directory)
    for number in range(50):
        ledger.intend(f"{writer}-{number}", time.time(), {"words": "x" * 500})


def test_many_writers_lose_no_line(ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 60_000)
    monkeypatch.setattr(module, "KEPT_BYTES", 200_000)
    writers = [FORK.Process(target=_append_many, args=(tmp_path, number)) for number in range(6)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
        assert writer.exitcode == 0
    assert len(ledger.since(0.0)) == 300


def _hold_until_killed(directory: Path, ready: object) -> None:
    with Ledger(directory).locked("k1", timeout_s=1):
        ready.set()  # type: ignore[attr-defined]
        signal.pause()


def test_a_key_is_held_by_one_process_at_a_time_and_freed_by_its_death(ledger: Ledger, tmp_path: Path) -> None:
    ready = FORK.Event()
    holder = FORK.Process(target=_hold_until_killed, args=(tmp_path, ready))
    holder.start()
    assert ready.wait(30)
    with ledger.locked("another", timeout_s=0.0):
        ledger.intend("while-held", 1.0, {})
    with pytest.raises(LedgerError, match="k1 has not ended"), ledger.locked("k1", timeout_s=0.05):
        pytest.fail("two held the same key")
    assert holder.pid is not None
    os.kill(holder.pid, signal.SIGKILL)
    holder.join(30)
    with ledger.locked("k1", timeout_s=5):
        pass


def test_threads_of_one_process_keep_each_other_away(ledger: Ledger) -> None:
    order: list[str] = []

    def second() -> None:
        with ledger.locked("k1", timeout_s=10):
            order.append("second")

    with ledger.locked("k1", timeout_s=1):
        thread = threading.Thread(target=second)
        thread.start()
        time.sleep(0.05)
        order.append("first")
    thread.join(20)
    assert order == ["first", "second"]


def _fill(directory: Path) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    try:
        Ledger(directory).intend("k2", 2.0, {"words": "x" * 2000})
    except LedgerError as error:
        os._exit(0 if "nothing is submitted without a record" in str(error) else 3)
    os._exit(4)


def test_a_disk_without_room_stops_the_submission(ledger: Ledger, tmp_path: Path) -> None:
    ledger.intend("k1", 1.0, {})
    writer = FORK.Process(target=_fill, args=(tmp_path,))
    writer.start()
    writer.join(30)
    assert writer.exitcode == 0
    assert ledger.entry("k2") is None and ledger.entry("k1") is not None
    ledger.intend("k3", 3.0, {})
    assert ledger.entry("k3") is not None


def test_what_a_decision_on_another_job_needs_comes_without_the_rest(ledger: Ledger) -> None:
    for number in range(9):
        intent = {"target": f"t{number % 2}", "by_line": True, "line": number, "request": {"argv": ["x" * number * 20]}}
        ledger.intend(f"k{number}", 100.0 + number, intent)
        ledger.receive(f"k{number}", 100.5 + number, str(number), "said")
    ledger.recap("k7", 110.0, 3, 70)
    assert [entry.key for entry in ledger.since(104.0)] == [f"k{number}" for number in range(4, 9)]
    marked = ledger.since(0.0, {"target": "t1", "by_line": True})
    assert [(entry.key, entry.job) for entry in marked] == [("k1", "1"), ("k3", "3"), ("k5", "5"), ("k7", "7")]
    assert (marked[-1].intent["line"], marked[-1].answered_s) == (70, 107.5)
    assert "request" not in marked[0].intent
    whole = ledger.entry("k3")
    assert whole is not None and whole.intent["request"] == {"argv": ["x" * 60]}
    last = ledger.last({"target": "t0"})
    assert last is not None and last["line"] == 8
