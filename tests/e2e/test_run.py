"""``tonnage run``: a campaign file, planned, carried out, failed and resumed."""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from .shell import ROOT, Shell

SWEEP = """\
name = "sweep"
target = "{target}"
seed = 3
[workload]
tasks = [1, 2]
transfer_size = "64KiB"
block_size = ["1MiB", "2MiB"]
access = ["sequential", "random"]
layout = "shared"
verify = true
[repeat]
count = 2
"""

FAULTY = """\
target = "sim:fault-every=100"
seed = 1
{extra}[workload]
op = "write"
block_size = ["10MiB", "90MiB"]
tasks = 1
[repeat]
count = 3
"""
FILLING = """\
target = "{target}"
seed = 1
[workload]
op = "write"
tasks = 1
block_size = ["4MiB", "48MiB"]
[repeat]
count = 3
"""


def trials(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "trials.jsonl").read_text().splitlines()]


def measured_lines(run: Path) -> list[dict[str, Any]]:
    return [line for line in trials(run) if line["purpose"] == "measure"]


def test_a_dry_run_prints_the_plan_and_writes_nothing(shell: Shell) -> None:
    file = shell.write("c.toml", SWEEP.format(target=shell.data))
    before = sorted(shell.home.rglob("*"))
    said = shell("run", "--dry-run", file)
    assert "32 trials: 16 settings in randomised blocks, 2 repetitions" in said.out
    assert "at most 4 MiB of " in said.out
    assert "at 1 GB/s" in said.out
    assert sorted(shell.home.rglob("*")) == before


PLANNED = {
    "pause": ('pause = "1h"\n[workload]\ntasks = 1', "at least 10h of pauses and times to wait; at most 960 MiB"),
    "rate": (
        '[workload]\nop = "write"\ntasks = 1\nblock_size = "4MiB"\nrate = "1MB/s"\n[repeat]\ncount = 2',
        "at least 6s of pauses and times to wait",
    ),
    "repeated": (
        '[workload]\nop = "write"\ntasks = 1\nmin_time = "2s"\n[repeat]\ncount = 2',
        "time      at least 4s of",
    ),
    "two tiers": (
        '[workload]\nkind = "stage"\ntasks = 2\nby = "copy"\nblock_size = "100MiB"\n[repeat]\ncount = 1',
        "1 trial: 1 setting in randomised blocks, 1 repetition\n",
    ),
}


@pytest.mark.parametrize("case", PLANNED)
def test_a_dry_run_counts_what_the_file_asks_for(shell: Shell, case: str) -> None:
    text, told = PLANNED[case]
    said = shell("run", "--dry-run", shell.write("c.toml", f"target = {str(shell.data)!r}\n{text}\n"))
    assert told in said.out, said.out
    assert case != "repeated" or "to move" not in said.out
    assert case != "two tiers" or "at most 400 MiB of" in said.out


OF_A_MODEL = {
    "a budget": (
        '[workload]\nop = "write"\ntasks = 1\nblock_size = "100GiB"\n[budget]\ntime = "5s"\n',
        "time      in virtual time no trial starts after 5 s of measuring; ",
    ),
    "company": (
        (
            '[workload]\nop = "read"\ntasks = 4\ntime_limit = "1s"\nwrap = true\n'
            'beside = ["alone", "metadata-storm@50%"]\n'
            "[repeat]\ncount = 2\n"
        ),
        (
            "directories of its own; 3 trials of 1s alone before it is company\n"
            "time      in virtual time at most 7 s of measuring\n"
        ),
    ),
    "pause": (
        'pause = "1h"\n[workload]\ntasks = 1\n',
        "time      at least 10h of pauses; in virtual time at most 960 MiB to move",
    ),
    "a search": (
        'pause = "2s"\n[search]\nop = "write"\nbudget = "30s"\n[workload]\n',
        "time      a pause of 2s before each trial; in virtual time at most 30 s of measuring\n",
    ),
    "think": (
        '[workload]\nop = "write"\ntasks = 1\nblock_size = "4MiB"\nthink = "1s"\n[repeat]\ncount = 2\n',
        "time      in virtual time at least 8s of times to wait; ",
    ),
}


@pytest.mark.parametrize("case", OF_A_MODEL)
def test_a_dry_run_on_a_model_tells_its_time_apart_from_pauses_that_are_waited_for(shell: Shell, case: str) -> None:
    text, told = OF_A_MODEL[case]
    said = shell("run", "--dry-run", shell.write("c.toml", f'target = "sim:knee=4"\n{text}'))
    assert told in said.out, said.out


REFUSED = {
    "assign": ("assign = [0, 2]\n[workload]\n", "assign names directory 2 and the target has 1"),
    "a name": ('[place]\nname = "../x"\n[workload]\n', "'../x' cannot name it; hint: give one name that does not"),
    "op": ('[search]\n[workload]\nop = "read"\n', "search.op says the op of a search; hint: leave op out"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_plan_cannot_be_is_refused(shell: Shell, case: str) -> None:
    text, told = REFUSED[case]
    assert told in shell("run", shell.write("c.toml", f"target = {str(shell.data)!r}\n{text}"), check=2).err


@pytest.mark.parametrize(("fresh", "told"), [("true", "is there already; hint: "), ("false", "there is no ")])
def test_a_place_that_a_run_could_not_use_is_no_plan(shell: Shell, fresh: str, told: str) -> None:
    if fresh == "true":
        (shell.data / "mine").mkdir()
    text = f'target = {str(shell.data)!r}\n[place]\nname = "mine"\nfresh = {fresh}\n[workload]\n'
    assert told in shell("run", "--dry-run", shell.write("c.toml", text), check=2).err


def test_a_plan_is_no_json(shell: Shell) -> None:
    file = shell.write("c.toml", SWEEP.format(target=shell.data))
    said = shell("run", "--dry-run", "--json", file, check=2)
    assert said.out == "" and said.err == "tonnage: error: --dry-run prints its plan as text; hint: leave --json out\n"


def test_every_setting_is_measured_as_often_as_the_file_says(shell: Shell) -> None:
    shell("run", shell.write("c.toml", SWEEP.format(target=shell.data)))
    (run,) = shell.runs
    counts = Counter(json.dumps(line["setting"], sort_keys=True) for line in measured_lines(run))
    assert len(counts) == 16
    assert set(counts.values()) == {2}
    assert all(line["status"] == "ok" for line in trials(run))
    assert all(
        line["verify"]["checked_bytes"] == line["bytes"] for line in measured_lines(run) if line["phase"] == "read"
    )
    assert json.loads((run / "manifest.json").read_text())["campaign_text"] == (shell.home / "c.toml").read_text()
    assert shell.left_behind == []


def test_the_first_example_is_a_valid_campaign(shell: Shell) -> None:
    assert "40 trials" in shell("run", "--dry-run", ROOT / "examples/first-light.toml").out


def test_the_campaign_schema_accepts_a_campaign(shell: Shell) -> None:
    schema = shell("schema", "campaign").json
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(
        {"target": "null:", "workload": {"tasks": [1, 2], "transfer_size": "1MiB", "time_limit": "10s"}}, schema
    )
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"target": "null:", "workload": {"task": 1}}, schema)


def test_faults_fail_their_trials_with_exit_1_and_the_others_go_on(shell: Shell) -> None:
    text = FAULTY
    said = shell("run", shell.write("c.toml", text.format(extra="")), "--no-report", check=1)
    assert "tonnage: error: " in said.err
    (run,) = shell.runs
    assert len(measured_lines(run)) == 6
    assert {line["status"] for line in measured_lines(run)} == {"ok", "failed"}
    failed = next(line for line in measured_lines(run) if line["status"] == "failed")
    assert failed["errors"] >= 1
    assert failed["first_error"]["offset"] >= 0
    shell(
        "run",
        shell.write("d.toml", text.format(extra='on_error = "stop"\n')),
        "--out",
        "stopped",
        "--no-report",
        check=1,
    )
    stopped = measured_lines(shell.home / "stopped")
    assert [line["status"] for line in stopped].count("failed") == 1
    assert stopped[-1]["status"] == "failed"


def test_a_complete_run_has_nothing_to_resume(shell: Shell) -> None:
    shell("run", shell.write("c.toml", SWEEP.format(target="sim:")))
    said = shell("run", "--resume", shell.runs[0], check=2)
    assert "is complete: there is nothing to resume" in said.err


def test_a_full_disk_fails_its_trials_and_leaves_room_for_the_rest(shell: Shell) -> None:
    if os.geteuid() != 0:
        pytest.skip("mounting a small tmpfs needs root")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64m", "tonnage-test", shell.data],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode != 0:
        pytest.skip(f"cannot mount a tmpfs: {mounted.stderr.strip()}")
    try:
        file = shell.write(
            "c.toml",
            FILLING.format(target=shell.data),
        )
        # The plan saw room enough; then another user took it.
        process = shell.start("run", file, "--no-report")
        assert process.stderr is not None
        process.stderr.readline()
        (shell.data / "other").write_bytes(bytes(40 << 20))
        _, err = process.communicate(timeout=60)
        assert process.returncode == 1, err
        (run,) = shell.runs
        status = {(line["setting"]["block_size"], line["status"]) for line in measured_lines(run)}
        assert (4 << 20, "ok") in status
        assert (48 << 20, "failed") in status
        assert len(measured_lines(run)) == 6
        assert any("space" in line["reason"].lower() for line in measured_lines(run) if line["status"] == "failed")
        assert [path.name for path in shell.left_behind] == ["other"]
    finally:
        subprocess.run(["umount", shell.data], check=True)
