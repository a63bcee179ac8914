"""``tonnage stage verify`` on manifests that were damaged, and on what is none."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .shell import Shell
from .stage import Stage


@pytest.fixture
def stage(shell: Shell) -> Iterator[Stage]:
    made = Stage(shell)
    for name in ("a", "b", "c"):
        (made.local / name).write_text(name * 100)
    made("in", *made.trees, "--state", made.state)
    yield made
    made.clean_up()


def manifest(stage: Stage) -> Path:
    [found] = (stage.remote / ".tonnage-stage").glob("manifest-*.jsonl")
    return found


def edited(lines: list[bytes], change: Callable[[bytes], bytes]) -> bytes:
    """The second line of three changed."""
    return b"".join([lines[0], change(lines[1]), *lines[2:]])


CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "a bit flipped in a key": lambda line: line.replace(b'"blake3"', b'"blake2"'),
    "a checksum that is gone": lambda line: line[: line.index(b'"blake3"')] + line[line.index(b'"staged_ns"') :],
    "half a line": lambda line: line[: len(line) // 2] + b"\n",
    "an empty line": lambda _: b"\n",
    "NUL bytes": lambda line: b"\0" * (len(line) - 1) + b"\n",
    "bytes that are not UTF-8": lambda line: line.replace(b'"host":"', b'"host":"\xff\xfe'),
    "a key twice": lambda line: line.replace(b'"size"', b'"size":1,"size"'),
    "a negative size": lambda line: line.replace(b'"size":', b'"size":-'),
    "a size that is a text": lambda line: line.replace(b'"size":100', b'"size":"100"'),
    "a path that leads out": lambda line: line.replace(b'"path":"', b'"path":"../'),
    "an absolute path": lambda line: line.replace(b'"path":"', b'"path":"/'),
    "no path at all": lambda line: line.replace(b'"path":"b"', b'"path":""'),
    "two lines in one": lambda line: line.rstrip(b"\n"),
    "a kind that nobody stages": lambda line: line.replace(b'"kind":"file"', b'"kind":"special"'),
    "the name of another file": lambda line: line.replace(b'"path":"b"', b'"path":"c"'),
    "a time of staging that is another": lambda line: line.replace(b'"staged_ns":1', b'"staged_ns":2'),
    "a mode that is none": lambda line: line.replace(b'"mode":', b'"mode":9999999'),
    "an array": lambda _: b"[]\n",
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_damaged_line_is_named_and_the_exit_code_is_1(stage: Stage, change: Callable[[bytes], bytes]) -> None:
    file = manifest(stage)
    lines = sorted(file.read_bytes().splitlines(keepends=True))
    assert len(lines) == 3
    assert changed(lines, change) != b"".join(lines)
    file.write_bytes(changed(lines, change))
    said = stage("verify", "--to", stage.remote, check=1)
    assert f"{file.name} line 2" in said.out, said.out
    assert "; hint: " in said.err and "manifest" in said.err, said.err
    report = stage("verify", "--to", stage.remote, "--json", check=1).json
    assert len(report["damaged"]) == 1 and report["torn_lines"] == 0, report


def changed(lines: list[bytes], change: Callable[[bytes], bytes]) -> bytes:
    return edited(lines, change)


def test_the_unfinished_last_line_of_a_crash_is_counted_and_does_not_fail(stage: Stage) -> None:
    file = manifest(stage)
    whole = file.read_bytes()
    for torn in (b'{"path":"d","si', b"{", b'{"path":"d\0\0\0\0', b"\0\0\0\0"):
        file.write_bytes(whole + torn)
        report = stage("verify", "--to", stage.remote, "--json").json
        assert (report["torn_lines"], report["damaged"], report["checked"]) == (1, [], 3), torn
    file.write_bytes(whole + b"no line of ours")
    assert "line 4" in stage("verify", "--to", stage.remote, check=1).out


def test_a_torn_line_is_gone_after_the_next_mover_and_all_is_checked(stage: Stage) -> None:
    file = manifest(stage)
    whole = file.read_bytes()
    file.write_bytes(whole + b'{"path":"d","si')
    (stage.local / "d").write_text("more")
    stage("in", *stage.trees, "--state", stage.state)
    report = stage("verify", "--to", stage.remote, "--json").json
    assert (report["torn_lines"], report["damaged"], report["checked"]) == (0, [], 4)
    assert file.read_bytes().startswith(whole)


@pytest.mark.parametrize("kind", ["FIFO", "link to a FIFO", "directory", "socket", "link to nothing"])
def test_what_is_no_file_is_no_manifest_and_hangs_nothing(stage: Stage, kind: str) -> None:
    place = stage.remote / ".tonnage-stage" / "manifest-x.jsonl"
    if kind == "FIFO":
        os.mkfifo(place)
    elif kind == "link to a FIFO":
        os.mkfifo(stage.shell.home / "fifo")
        place.symlink_to(stage.shell.home / "fifo")
    elif kind == "directory":
        place.mkdir()
    elif kind == "socket":
        here = Path.cwd()
        os.chdir(place.parent)
        try:
            with socket.socket(socket.AF_UNIX) as made:
                made.bind(place.name)
        finally:
            os.chdir(here)
    else:
        place.symlink_to("nowhere")
    said = stage("verify", "--to", stage.remote, check=1)
    assert "manifest-x.jsonl" in said.out and "3 files checked" in said.out, said.out


def test_a_manifest_of_one_endless_line_takes_no_memory(stage: Stage) -> None:
    place = stage.remote / ".tonnage-stage" / "manifest-x.jsonl"
    with place.open("wb") as file:
        file.truncate(1 << 40)
    place.unlink()
    place.write_bytes(b"x" * (40 << 20))
    said = stage("verify", "--to", stage.remote, check=1)
    assert "manifest-x.jsonl line 1" in said.out and "3 files checked" in said.out


def test_an_empty_manifest_says_nothing_and_its_files_are_told_as_nobody_s(stage: Stage) -> None:
    manifest(stage).write_bytes(b"")
    said = stage("verify", "--to", stage.remote)
    assert "0 files checked" in said.out and "3 files that no mover placed" in said.out
