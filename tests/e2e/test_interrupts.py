"""A signal at any moment leaves no scratch, no process, and a run that reports and resumes."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from waiting import wait_until

from .shell import LAUNCHER, Said, Shell, group_members

SLOW = """\
target = "{target}"
seed = 9
[workload]
tasks = [1, 2]
block_size = "4MiB"
time_limit = "150ms"
wrap = true
[repeat]
count = 3
"""


@pytest.mark.slow
@pytest.mark.parametrize("attempt", range(6))
def test_a_signal_at_a_random_moment_leaves_nothing_but_a_run_that_resumes(
    shell: Shell, interrupt: Callable[..., Said], attempt: int
) -> None:
    moment = random.Random(attempt)
    number = moment.choice((signal.SIGINT, signal.SIGTERM))
    process = shell.start("run", shell.write("c.toml", SLOW.format(target=shell.data)), "--no-report")
    # The moment is what is tried out here: from before the run directory exists to the middle of a trial.
    time.sleep(moment.uniform(0.2, 1.8))
    said = interrupt(process, number)
    assert said.code == 130 or (said.code == -number and not shell.runs), said.err
    assert shell.left_behind == []
    if not shell.runs:
        return
    (run,) = shell.runs
    assert json.loads((run / "manifest.json").read_text())["state"] == "interrupted"
    shell("verify", run)
    shell("run", "--resume", run, "--no-report")
    lines = [json.loads(line) for line in (run / "trials.jsonl").read_text().splitlines()]
    ok = [
        (json.dumps(line["setting"]), line["repetition"])
        for line in lines
        if line["purpose"] == "measure" and line["status"] == "ok"
    ]
    assert len(ok) == len(set(ok)) == 12
    assert shell.left_behind == []
    shell("report", run)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_delay_of_days_ends_with_the_first_signal(
    shell: Shell, interrupt: Callable[..., Said], number: signal.Signals
) -> None:
    campaign = shell.write("c.toml", 'target = "null:transfer=99h"\n[workload]\ntasks = 2\noperations = 1\n')
    process = shell.start("run", campaign, "--no-report")

    def waits() -> bool:
        manifests = [run / "manifest.json" for run in shell.runs]
        return any(json.loads(path.read_text())["ceilings"] for path in manifests if path.exists())

    wait_until(waits, "the beginning of the first trial")
    assert interrupt(process, number).code == 130


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_file_of_many_exbibytes_ends_with_the_first_signal(
    shell: Shell, interrupt: Callable[..., Said], number: signal.Signals
) -> None:
    work = '[workload]\nkind = "files"\ntasks = 2\nitems_per_directory = 1\nfile_size = "100000TiB"\n'
    process = shell.start("run", shell.write("c.toml", f'target = "null:"\n{work}'), "--no-report")

    def writes() -> bool:
        trials = [run / "trials.jsonl" for run in shell.runs]
        return any("make-tree" in path.read_text() for path in trials if path.exists())

    wait_until(writes, "the end of the phase before the one that writes")
    assert interrupt(process, number).code == 130


def test_an_interrupted_probe_reports_and_resumes(shell: Shell, interrupt: Callable[..., Said]) -> None:
    process = shell.start("probe", shell.data, "--budget", "6s", "--max-tasks", "4")
    wait_until(
        lambda: any((run / "trials.jsonl").exists() and (run / "trials.jsonl").stat().st_size for run in shell.runs),
        "a first record",
    )
    said = interrupt(process, signal.SIGINT)
    assert said.code == 130
    assert "hint: go on with `tonnage run --resume" in said.err
    (run,) = shell.runs
    assert shell.left_behind == []
    found = shell("run", "--resume", run, "--json").json
    assert {line["op"] for line in found["load_lines"]} == {"write", "read"}


def test_a_model_goes_on_where_its_clock_and_its_noise_stood(shell: Shell, interrupt: Callable[..., Said]) -> None:
    text = """\
target = "sim:noise=5%,correlation=0.9,tails=4,day=5%,drift=-20%,step=-30%,step-at=4s"
seed = 4
pause = "400ms"
[workload]
tasks = [1, 2]
time_limit = "1s"
wrap = true
op = "write"
[repeat]
count = 6
"""

    def rates(run: Path) -> list[float]:
        return [json.loads(line)["bandwidth_bytes_per_s"] for line in (run / "trials.jsonl").read_text().splitlines()]

    shell("run", shell.write("whole.toml", text.replace("400ms", "1ns")), "--no-report", "--out", "whole")
    process = shell.start("run", shell.write("c.toml", text), "--no-report", "--out", "parts")
    whole, parts = shell.home / "whole", shell.home / "parts"
    wait_until(lambda: (parts / "trials.jsonl").exists() and len(rates(parts)) > 1, "a second record")
    assert interrupt(process, signal.SIGINT).code == 130
    assert len(rates(parts)) < 12
    shell("run", "--resume", parts, "--no-report")
    assert rates(parts) == rates(whole)
    assert len(rates(whole)) == 12


def test_clean_removes_what_a_killed_run_left_and_nothing_else(shell: Shell, interrupt: Callable[..., Said]) -> None:
    (shell.data / "mine").write_text("precious")
    process = shell.start("probe", shell.data, "--budget", "30s", "--max-tasks", "3")
    wait_until(lambda: any(path.name.startswith(".tonnage-") for path in shell.left_behind), "a scratch directory")
    running = shell("clean", shell.data, "--yes")
    assert "still running" in running.out
    assert len(shell.left_behind) == 2
    interrupt(process, signal.SIGKILL)
    wait_until(lambda: not group_members(process.pid), "the end of the killed process")
    assert "hint: add --yes" in shell("clean", shell.data, check=2).err
    assert "removed" in shell("clean", shell.data, "--yes").out
    assert [path.name for path in shell.left_behind] == ["mine"]


def test_a_run_is_resumed_where_it_was_begun_wherever_the_user_is(shell: Shell, interrupt: Callable[..., Said]) -> None:
    text = SLOW.replace('"150ms"', '"1s"').replace("count = 3", "count = 1").format(target="data")
    process = shell.start("run", shell.write("c.toml", text), "--no-report")
    wait_until(lambda: any(any(run.glob("series/0000-*")) for run in shell.runs), "the first trial runs")
    assert interrupt(process, signal.SIGINT).code == 130
    (run,) = shell.runs
    elsewhere = shell.home / "elsewhere"
    elsewhere.mkdir()
    resume = [LAUNCHER, "run", "--resume", Path("..", run.relative_to(shell.home)), "--no-report"]
    done = subprocess.run(resume, cwd=elsewhere, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not list(elsewhere.iterdir()) and shell.left_behind == []


@pytest.mark.parametrize("is_older", [False, True], ids=["", "of-an-older-version"])
def test_a_resume_whose_target_leads_to_another_directory_is_refused_and_writes_nothing(
    shell: Shell, is_older: bool
) -> None:
    text = SLOW.replace('"150ms"', '"1s"').replace("count = 3", "count = 1").format(target="data")
    process = shell.start("run", shell.write("c.toml", text), "--no-report")
    wait_until(lambda: any(any(run.glob("series/0000-*")) for run in shell.runs), "the first trial runs")
    process.kill()
    process.communicate()
    (run,) = shell.runs
    manifest = run / "manifest.json"
    if is_older:
        kept = json.loads(manifest.read_text())
        for directory in kept["target"]["directories"]:
            for key in ("real_path", "identity", "file_system_id"):
                del directory[key]
        del kept["seal"]
        manifest.write_text(json.dumps(kept))
        for name in ("chain.jsonl", "files.sha256"):
            (run / name).unlink()
    before = manifest.read_bytes()
    shell.data.rename(shell.home / "first")
    (shell.home / "second").mkdir()
    shell.data.symlink_to("second")
    said = shell("run", "--resume", run, "--no-report", check=None)
    if is_older:
        assert said.code == 0, said.err
        return
    assert (said.code, said.err.count("\n")) == (2, 1), said.err
    assert f"it leads to {shell.home}/second, and led to {shell.home}/data" in said.err
    assert manifest.read_bytes() == before and list((shell.home / "second").iterdir()) == []
    shell.data.unlink()
    (shell.home / "first").rename(shell.data)
    shell("run", "--resume", run, "--no-report")
