"""``kind = "files"``, typed: every phase has its line and its count, and nothing stays behind."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

from .shell import Shell, wait_until

CAMPAIGN = """\
target = "{target}"
seed = 3
[workload]
kind = "files"
tasks = 2
depth = 2
branch = 3
items = 130
file_size = "4k"
sync = "{sync}"
what = "both"
phases = {phases}
verify = true
order = "random"
[repeat]
count = 2
"""
ALL = ["make-tree", "create", "write", "stat", "read", "rename", "read-directory", "remove", "remove-tree"]
COUNTS = {"make-tree": 26, "remove-tree": 26, "read-directory": 26}


def trials(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "trials.jsonl").read_text().splitlines()]


def campaign(shell: Shell, phases: list[str], sync: str = "none") -> Path:
    text = CAMPAIGN.format(target=shell.data, phases=json.dumps(phases), sync=sync)
    return shell.write("c.toml", text)


def test_every_phase_has_a_line_with_its_count_and_nothing_is_left(shell: Shell) -> None:
    said = shell("run", campaign(shell, ALL))
    (run,) = shell.runs
    lines = trials(run)
    assert len(lines) == 2 * 13
    for line in lines:
        assert line["status"] == "ok", line
        assert line["operations"] == COUNTS.get(line["phase"], 260), line["phase"]
        assert line["latency"]["count"] == line["operations"]
        assert line["record"] in said.err, "each phase is told as it ends"
    assert {line["verify"]["checked_bytes"] for line in lines if line["phase"] == "read"} == {260 * 4096}
    assert shell.left_behind == []


def test_a_dry_run_counts_names_and_touches_nothing(shell: Shell) -> None:
    said = shell("run", "--dry-run", campaign(shell, ALL))
    # 9 phases of 260 and 3 of 26 names, twice.
    assert "5356 names to work on" in said.out
    assert "2 repetitions" in said.out
    assert (shell.left_behind, shell.runs) == ([], [])


def test_a_stat_of_what_was_never_created_fails_instead_of_counting(shell: Shell) -> None:
    said = shell("run", campaign(shell, ["stat", "remove"]), check=1)
    (run,) = shell.runs
    lines = [line for line in trials(run) if line["purpose"] == "measure"]
    assert {line["status"] for line in lines} == {"failed"}
    assert all(line["operations"] == 0 for line in lines)
    assert "is not there; create it first, with the same tree" in said.err
    assert shell.left_behind == []


def test_ctrl_c_leaves_no_file_and_a_run_that_can_be_resumed(shell: Shell) -> None:
    text = (
        f'target = "{shell.data}"\nseed = 1\n[workload]\nkind = "files"\ntasks = 2\nitems = 2000000\n'
        'phases = ["create", "stat"]\n[repeat]\ncount = 1\n'
    )
    process = shell.start("run", shell.write("c.toml", text))
    wait_until(lambda: any(shell.data.glob(".tonnage-*/tree.00000001/f.1.99")), "a hundred files are made")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert shell.left_behind == []
    (run,) = shell.runs
    assert [(line["phase"], line["status"]) for line in trials(run)] == [("make-tree", "ok"), ("create", "interrupted")]
