"""A run directory, or a target, that becomes full, read-only or is removed while a run goes on."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from waiting import wait_until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="mounting takes root")

CAMPAIGN = """\
target = "{target}"
seed = 9
[workload]
op = "write"
tasks = [1, 2]
block_size = "4MiB"
time_limit = "{each}"
wrap = true
[repeat]
count = {count}
"""


class Mount:
    """A file system in memory; gone at the end of the test."""

    def __init__(self, path: Path, size: str) -> None:
        self.path = path
        path.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", path], check=True)

    def remount(self, option: str) -> None:
        """Again and again where a writer is in the way."""
        command = ["mount", "-o", f"remount,{option}", self.path]
        wait_until(lambda: not subprocess.run(command, capture_output=True).returncode, f"{self.path} is {option}")


class Disk:
    """An ext4 of its own that an error makes read-only, whoever writes; gone at the end of the test."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()
        image = path.with_suffix(".image")
        with image.open("xb") as stream:
            stream.truncate(200 << 20)
        subprocess.run(["mkfs.ext4", "-q", image], check=True)
        subprocess.run(["mount", "-o", "loop,errors=remount-ro", image, path], check=True)

    def fail(self) -> None:
        """The kernel meets an error and takes no more writes."""
        asked = ["findmnt", "--noheadings", "--output", "SOURCE", "--mountpoint", self.path]
        device = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
        Path("/sys/fs/ext4", Path(device).name, "trigger_fs_error").write_text("a test\n")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    if not shutil.which("mkfs.ext4") or not Path("/dev/loop-control").exists():
        pytest.skip("an ext4 of its own needs mkfs.ext4 and loop devices")
    made = Disk(tmp_path / "target")
    yield made
    subprocess.run(["umount", "-l", made.path], check=True)


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Callable[[str, str], Mount]]:
    made: list[Mount] = []

    def make(name: str, size: str) -> Mount:
        made.append(Mount(tmp_path / name, size))
        return made[-1]

    yield make
    for one in made:
        subprocess.run(["umount", "-l", one.path], check=True)


def command(*words: str | Path) -> list[str]:
    return [sys.executable, "-m", "tonnage.cli", *map(str, words)]


def said(cwd: Path, *words: str | Path) -> tuple[int, str]:
    done = subprocess.run(command(*words), cwd=cwd, capture_output=True, text=True, check=False, timeout=240)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout + done.stderr


def campaign(tmp_path: Path, target: str | Path, count: int, each: str = "150ms") -> Path:
    path = tmp_path / "c.toml"
    path.write_text(CAMPAIGN.format(target=target, count=count, each=each))
    return path


def begun(tmp_path: Path, file: Path, run: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        command("run", file, "--out", run, "--no-report"),
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    end = time.monotonic() + 60
    trials = run / "trials.jsonl"
    while not trials.exists() or not trials.stat().st_size:
        assert time.monotonic() < end and process.poll() is None, "no first record"
        time.sleep(0.01)
    return process


def test_a_full_run_directory_is_told_in_one_line_and_the_run_goes_on_once_there_is_room(
    tmp_path: Path, mount: Callable[[str, str], Mount]
) -> None:
    small = mount("small", "2m")
    run = small.path / "run"
    code, text = said(tmp_path, "run", campaign(tmp_path, "sim:knee=2", 200), "--out", run, "--no-report")
    last = text.splitlines()[-1]
    assert code == 1 and last.startswith(f"tonnage: error: cannot write {run}/") and ".tmp" not in last, last
    assert "No space left on device" in last and "records so far are kept" in last and "--resume" in last
    code, text = said(tmp_path, "verify", run)
    assert code == 0 and "not sealed yet" in text, text
    small.remount("size=50m")
    code, text = said(tmp_path, "run", "--resume", run, "--no-report")
    assert code == 0, text
    code, text = said(tmp_path, "verify", run)
    assert code == 0 and "400 records agree" in text and "sealed: " in text


def test_a_run_directory_that_becomes_read_only_is_told_and_its_records_stand(
    tmp_path: Path, mount: Callable[[str, str], Mount]
) -> None:
    small = mount("small", "50m")
    run = small.path / "run"
    process = begun(tmp_path, campaign(tmp_path, "sim:knee=2", 3000), run)
    small.remount("ro")
    _, err = process.communicate(timeout=120)
    last = err.splitlines()[-1]
    assert process.returncode == 1 and f"cannot write {run}/" in last and "Read-only file system" in last, err
    assert "make it writable again, then go on with" in last
    code, text = said(tmp_path, "verify", run)
    assert code == 0, text


def test_a_run_directory_that_is_removed_is_told(tmp_path: Path) -> None:
    run = tmp_path / "run"
    process = begun(tmp_path, campaign(tmp_path, "sim:knee=2", 3000), run)
    # Under another name its records are still there, and nothing that is written finds them.
    run.rename(tmp_path / "gone")
    _, err = process.communicate(timeout=120)
    assert process.returncode == 1 and f"{run} was removed while it was written" in err.splitlines()[-1], err


def test_a_target_that_becomes_read_only_leaves_a_summary_and_names_the_failed_trials(
    tmp_path: Path, disk: Disk
) -> None:
    run = tmp_path / "run"
    process = begun(tmp_path, campaign(tmp_path, disk.path, 20, "600ms"), run)
    disk.fail()
    out, err = process.communicate(timeout=120)
    assert process.returncode == 1 and "Traceback" not in err
    assert "write, 1 MiB transfers" in out, err
    lines = [json.loads(line) for line in (run / "trials.jsonl").read_text().splitlines()]
    assert all(f"tonnage: failed: {line['record']}: " in err for line in lines if line["status"] == "failed")
    assert "what the run made in the target is still there: cannot remove" in err and "Read-only file system" in err
    code, text = said(tmp_path, "verify", run)
    assert code == 0 and "sealed: " in text, text


def test_a_resume_of_which_the_target_is_another_storage_by_now_is_refused_and_writes_nothing(tmp_path: Path) -> None:
    target, run = tmp_path / "target", tmp_path / "run"
    target.mkdir()
    process = begun(tmp_path, campaign(tmp_path, target, 5, "600ms"), run)
    process.kill()
    process.communicate()
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=50m", "none", target], check=True)
    try:
        code, text = said(tmp_path, "run", "--resume", run, "--no-report")
        assert code == 2 and text.count("\n") == 1, text
        assert f"{target} is not what the run was begun on: its file system is tmpfs, and was " in text
        assert list(target.iterdir()) == []
    finally:
        subprocess.run(["umount", target], check=True)
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before
    code, text = said(tmp_path, "run", "--resume", run, "--no-report")
    assert code == 0, text
