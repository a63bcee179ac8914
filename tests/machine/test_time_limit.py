"""A call in a process of its own: its value, its error, or the end of its time."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest
from tonnage.errors import RequestError
from tonnage.machine import time_limit as bounded
from tonnage.machine.time_limit import in_time


def test_the_value_comes_back_whatever_bytes_are_in_it() -> None:
    text = os.fsdecode(b"a\xff\n")
    assert in_time(lambda: {"a": [1, text, None]}, timeout_s=10) == {"a": [1, text, None]}
    assert len(in_time(lambda: "x" * 300_000, timeout_s=10)) == 300_000


def test_the_error_comes_back_with_its_kind_and_its_path() -> None:
    with pytest.raises(FileNotFoundError) as caught:
        in_time(lambda: Path("/no/such").stat(), timeout_s=10)
    assert caught.value.filename == "/no/such"
    with pytest.raises(OSError, match="without an answer"):
        in_time(lambda: 1 // 0, timeout_s=10)


def test_values_keep_their_types_and_a_request_that_is_wrong_is_told_in_its_own_words() -> None:
    assert in_time(lambda: (1, {2: b"x"}), timeout_s=10) == (1, {2: b"x"})

    def refuse() -> None:
        raise RequestError("it leads nowhere; hint: mend it")

    with pytest.raises(RequestError, match="it leads nowhere; hint: mend it"):
        in_time(refuse, timeout_s=10)


def test_one_that_does_not_return_is_ended_and_collected() -> None:
    before, started_s = children(), time.monotonic()
    with pytest.raises(TimeoutError):
        in_time(lambda: time.sleep(600), timeout_s=0.2)
    assert time.monotonic() - started_s < 300
    assert not left_after_further_calls(before)


def test_one_that_was_left_is_collected_by_a_later_call(monkeypatch: pytest.MonkeyPatch) -> None:
    before = children()
    monkeypatch.setattr(bounded, "_GRACE_S", -1.0)
    with pytest.raises(TimeoutError):
        in_time(lambda: time.sleep(600), timeout_s=0.01)
    monkeypatch.undo()
    assert not left_after_further_calls(before)


def children() -> set[str]:
    """The numbers of this process' children, also of those that have ended and were not collected."""
    return {pid for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()}


def left_after_further_calls(before: set[str]) -> set[str]:
    """The children besides those of ``before`` when calls that end at once have followed, for a minute at most."""
    until_s = time.monotonic() + 60
    while (left := children() - before) and time.monotonic() < until_s:
        in_time(os.getppid, timeout_s=60)
    return left


def test_any_thread_may_ask_and_children_may_be_of_no_interest() -> None:
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(in_time(os.getppid, timeout_s=10)))
    thread.start()
    thread.join()
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        found.append(in_time(os.getppid, timeout_s=10))
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert found == [os.getpid()] * 2


def test_it_holds_nothing_open_that_somebody_waits_for() -> None:
    readable, writable = os.pipe()
    held = in_time(lambda: [os.path.exists(f"/proc/self/fd/{writable}"), os.readlink("/proc/self/fd/1")], timeout_s=10)  # noqa: PTH110, PTH115
    os.close(readable)
    os.close(writable)
    assert held == [False, "/dev/null"]
