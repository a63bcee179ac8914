"""``kind = "tail"`` as a user runs it: on a disk and in memory, verified, stalled, interrupted."""

from __future__ import annotations

import json
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .shell import Said, Shell

MIB = 1 << 20
MEMORY = Path("/dev/shm")

FOLLOWED = """\
target = {target}
order = "given"
[workload]
kind = "tail"
readers = [0, 1, 3]
follow = ["whole", "share"]
wait = "{wait}"
poll = "2ms"
file_size = "8MiB"
transfer_size = "256KiB"
rate = "80MB/s"
verify = true
[repeat]
count = 1
"""


def lines(run: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / name).read_text().splitlines()]


@pytest.mark.parametrize("wait", ["poll", "notify"])
@pytest.mark.parametrize("memory", [False, True])
def test_readers_follow_and_the_records_agree(shell: Shell, wait: str, memory: bool) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY if memory else shell.home) as target:
        shell("run", shell.write("tail.toml", FOLLOWED.format(target=json.dumps(target), wait=wait)), "--out", "run")
        assert not list(Path(target).iterdir())
    trials = lines(shell.home / "run", "trials.jsonl")
    assert [(line["record"], line["status"]) for line in trials] == [(f"000{n}-tail", "ok") for n in range(5)]
    for line in trials:
        setting, follow = line["setting"], line["follow"]
        assert (line["bytes"], line["latency"]["count"]) == (8 * MIB, 32)
        # Thirty-two transfers at 80 MB/s start within 0.102 s of each other.
        assert 75_000_000 < line["bandwidth_bytes_per_s"] < 90_000_000 or line["elapsed_ns"] > 105_000_000
        if not setting["readers"]:
            assert follow is None
            continue
        assert follow["readers"] == setting["readers"]
        assert follow["bytes"] == 8 * MIB * (setting["readers"] if setting["follow"] == "whole" else 1)
        assert line["verify"] == {"checked_bytes": follow["bytes"], "damaged_operations": 0, "first_damage": []}
        assert follow["lag"]["count"] == follow["bytes"] // (256 << 10)
    assert shell("verify", "run").code == 0


def test_a_tail_on_nothing_is_refused_before_anything_is_written(shell: Shell) -> None:
    file = shell.write("tail.toml", 'target = "null:"\n[workload]\nkind = "tail"\nreaders = 1\n')
    said = shell("run", file, "--out", "run", check=2)
    assert "on a storage that keeps what it is given" in said.err and said.err.count("\n") == 1
    assert not (shell.home / "run").exists()


def test_ctrl_c_ends_a_slow_tail_and_leaves_no_file(
    shell: Shell, interrupt: Callable[[subprocess.Popen[str], signal.Signals], Said]
) -> None:
    text = f'target = "{shell.data}"\n[workload]\nkind = "tail"\nreaders = 2\nrate = "1MB/s"\n'
    process = shell.start("run", shell.write("tail.toml", text), "--out", "run")
    while not any(file.stat().st_size for file in shell.data.glob(".tonnage-*/data.*")):
        assert process.poll() is None
        time.sleep(0.01)
    assert interrupt(process, signal.SIGINT).code == 130
    assert list(shell.data.iterdir()) == []
    (trial,) = lines(shell.home / "run", "trials.jsonl")
    assert (trial["status"], trial["stop_reason"]) == ("interrupted", "interrupted")
    assert not [event for event in lines(shell.home / "run", "events.jsonl") if event["kind"] == "stall"]
