"""``kind = "files"``, typed: every phase has its line and its count, and nothing stays behind."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from waiting import wait_until

from .shell import Shell

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
    told = re.findall(r"^\d{4}-\S+ .*?(?:\(and (\d+) before it\))?$", said.err, re.MULTILINE)
    assert sum(1 + int(before or 0) for before in told) == len(lines), "each phase is told, or counted"
    assert lines[-1]["record"] in said.err
    for line in lines:
        assert line["status"] == "ok", line
        assert line["operations"] == COUNTS.get(line["phase"], 260), line["phase"]
        assert line["latency"]["count"] == line["operations"]
    assert {line["verify"]["checked_bytes"] for line in lines if line["phase"] == "read"} == {260 * 4096}
    assert shell.left_behind == []


def test_a_dry_run_counts_names_and_touches_nothing(shell: Shell) -> None:
    said = shell("run", "--dry-run", campaign(shell, ALL))
    # 9 phases of 260 and 3 of 26 names, twice.
    assert "5,356 names to work on" in said.out
    assert "2 repetitions" in said.out
    assert (shell.left_behind, shell.runs) == ([], [])


def test_a_stat_of_what_was_never_created_fails_instead_of_counting(shell: Shell) -> None:
    file = campaign(shell, ["stat", "remove"])
    refused = shell("run", file, check=2)
    assert "stat finds no items: none are there before it; hint: put create before it" in refused.err
    file.write_text(file.read_text().replace("verify = true", "verify = true\nkeep = true"))
    said = shell("run", file, check=1)
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


def test_a_killed_run_s_tree_goes_by_clean(shell: Shell) -> None:
    text = f'target = "{shell.data}"\nseed = 1\n[workload]\nkind = "files"\ntasks = 1\nitems = 1000000\n'
    process = shell.start("run", shell.write("c.toml", text))
    wait_until(lambda: any(shell.data.glob(".tonnage-*/tree.00000000/f.0.99")), "a hundred files are made")
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    (scratch,) = shell.left_behind
    (scratch / "tree.00000000" / "mine.txt").write_text("a user's")
    said = shell("clean", shell.data, "--yes", check=1)
    assert "mine.txt" in said.out + said.err
    assert [path.name for path in (scratch / "tree.00000000").iterdir()] == ["mine.txt"]
    (scratch / "tree.00000000" / "mine.txt").unlink()
    shell("clean", shell.data, "--yes")
    assert shell.left_behind == []


def test_a_file_system_without_inodes_left_is_one_line_and_a_cleaned_up_trial(shell: Shell) -> None:
    if os.geteuid() != 0:
        pytest.skip("mounting a small tmpfs needs root")
    mount = ["mount", "-t", "tmpfs", "-o", "size=64m,nr_inodes=500", "tonnage-test", str(shell.data)]
    mounted = subprocess.run(mount, capture_output=True, text=True, check=False)
    if mounted.returncode != 0:
        pytest.skip(f"cannot mount a tmpfs: {mounted.stderr.strip()}")
    try:
        text = f'target = "{shell.data}"\nseed = 1\n[workload]\nkind = "files"\ntasks = 1\n[repeat]\ncount = 2\n'
        refused = shell("run", shell.write("c.toml", text), check=2)
        assert (
            "the campaign makes 1001 files and directories at once" in refused.err and list(shell.data.iterdir()) == []
        )
        # Somebody takes names after the look.
        taking = f'["sh", "-c", "for n in $(seq 200); do : > {shell.data}/other-$n; done"]'
        text = text.replace("tasks = 1\n", f"tasks = 1\nitems = 400\nbefore_phase = {taking}\n")
        said = shell("run", shell.write("c.toml", text), check=1)
        lines = [line for line in trials(shell.runs[0]) if line["purpose"] == "measure"]
        assert [line["status"] for line in lines] == ["failed"] * 8
        assert [line["operations"] for line in lines if line["phase"] == "create"] == [lines[0]["operations"]] * 2
        assert "cannot create tree.00000000/f.0." in said.err
        assert "No space left on device" in said.err
        assert [path for path in shell.left_behind if not path.name.startswith("other-")] == []
    finally:
        subprocess.run(["umount", shell.data], check=True)
