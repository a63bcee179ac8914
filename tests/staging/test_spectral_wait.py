"""``spectral_wait.py`` on logs as Spectral writes them, with and without a mover that answers."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from tonnage.compat.front_end import Voice
from tonnage.compat.spectral_wait import command
from tonnage.compat.spectral_wait.command import Log
from tonnage.errors import RequestError
from tonnage.staging.control_socket import Server
from tonnage.staging.mover_plan import STATE_DIRECTORY

from .mover_status import status

NAMES = [f"/gpfs/out/ior_file_easy.{number:08d}" for number in range(32)]


def lines(word: str, names: list[str]) -> str:
    return "".join(f"Spectral Work {word} File : {name}\n" for name in names)


@pytest.fixture
def trees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr(command, "_SAY_S", 0.0)
    monkeypatch.setattr(command, "_LOOK_S", 0.001)
    found = {}
    for name in ("PERSIST_DIR", "PFS_DIR"):
        (tmp_path / name).mkdir()
        found[name] = str(tmp_path / name)
    return found


def waited(trees: Mapping[str, str]) -> tuple[int, list[str], str]:
    out, err = io.StringIO(), io.StringIO()
    code = command.run([], Voice(out, err), trees)
    return code, out.getvalue().splitlines(), err.getvalue()


def mover(trees: Mapping[str, str], answer: Callable[[], Mapping[str, Any]]) -> Server:
    state = Path(trees["PERSIST_DIR"]) / STATE_DIRECTORY
    state.mkdir()
    told = {"scans": 2}
    return Server(state, lambda request: told if request["do"] == "rescan" else answer())


def test_a_finished_log_prints_what_spectral_printed(trees: dict[str, str]) -> None:
    text = lines("ENQUEUE", NAMES) + lines("DEQUEUE", NAMES) + lines("DONE", NAMES)
    Path(trees["PFS_DIR"], "spectral.log").write_text(text)
    assert waited(trees) == (0, ["Enqueued:32 Dequeued:32 Done:32", "All files moved"], "")


def test_it_waits_for_what_another_node_still_moves(trees: dict[str, str]) -> None:
    log = Path(trees["PFS_DIR"], "spectral.log")
    log.write_text(lines("ENQUEUE", NAMES) + lines("DEQUEUE", NAMES) + lines("DONE", NAMES[1:]))

    def finish() -> None:
        with log.open("a") as out:
            out.write(lines("DONE", NAMES[:1]))

    timer = threading.Timer(0.1, finish)
    timer.start()
    code, said, _ = waited(trees)
    timer.join()
    assert code == 0 and said[-2:] == ["Enqueued:32 Dequeued:32 Done:32", "All files moved"]
    assert set(said[:-2]) == {"Enqueued:32 Dequeued:32 Done:31"}


def test_a_file_that_is_written_again_is_not_done_until_it_is_again(tmp_path: Path) -> None:
    log = Log(tmp_path / "spectral.log")
    assert not log.read_on()
    text = lines("ENQUEUE", NAMES[:2]) + lines("DEQUEUE", NAMES[:2]) + lines("DONE", NAMES[:2])
    log.path.write_text(text + lines("ENQUEUE", NAMES[:1]))
    assert log.read_on()
    assert (log.counts, log.unfinished) == ("Enqueued:2 Dequeued:1 Done:1", 1)


def test_a_line_that_is_still_being_written_counts_once_it_has_its_end(tmp_path: Path) -> None:
    log = Log(tmp_path / "spectral.log")
    text = lines("ENQUEUE", NAMES).encode()
    for end in (10, 40, 41, len(text) - 1, len(text)):
        log.path.write_bytes(text[:end])
        log.read_on()
    assert log.counts == "Enqueued:32 Dequeued:0 Done:0"


def test_a_name_with_odd_bytes_and_a_line_of_somebody_else_do_no_harm(tmp_path: Path) -> None:
    log = Log(tmp_path / "spectral.log")
    log.path.write_bytes(b"module loaded\nSpectral Work DONE File : \xff File : \\x0a\nSpectral Work LOST File : a\n")
    log.read_on()
    assert log.counts == "Enqueued:1 Dequeued:1 Done:1"


def test_the_mover_of_this_host_is_waited_for_through_a_fresh_scan(trees: dict[str, str]) -> None:
    scans = iter([*[1] * 5, 2, 2])
    server = mover(trees, lambda: status(scans=next(scans, 2), done=(3, 30)))
    try:
        code, said, _ = waited(trees)
    finally:
        server.close()
    assert code == 0 and said[-2:] == ["Enqueued:3 Dequeued:3 Done:3", "All files moved"] and len(said) > 3


def test_what_left_the_source_before_it_was_safe_is_not_waited_for(trees: dict[str, str]) -> None:
    Path(trees["PFS_DIR"], "spectral.log").write_text(lines("ENQUEUE", NAMES) + lines("DONE", NAMES[1:]))
    server = mover(trees, lambda: status(scans=2, done=(31, 31), gone=(1, 1)))
    try:
        assert waited(trees)[0] == 0
    finally:
        server.close()


def test_a_file_that_failed_ends_the_wait_with_its_reason(trees: dict[str, str]) -> None:
    failure = {"path": "big", "reason": "no space at the destination"}
    server = mover(trees, lambda: status(scans=2, failed=(1, 5), failures=[failure]))
    try:
        code, said, err = waited(trees)
    finally:
        server.close()
    assert code == 1 and "All files moved" not in said
    assert "1 files failed, first big: no space at the destination; hint: " in err


def test_without_a_log_and_without_a_mover_it_says_what_to_start(trees: dict[str, str]) -> None:
    with pytest.raises(RequestError, match=r"no mover for .*hint: `tonnage stage start` before the application"):
        waited(trees)


def test_a_variable_that_is_missing_is_named() -> None:
    with pytest.raises(RequestError, match="PFS_DIR is not set"):
        command.run([], Voice(io.StringIO(), io.StringIO()), {"PERSIST_DIR": "/local"})
