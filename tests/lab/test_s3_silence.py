"""A service of S3 that falls silent while a campaign writes: how long it is waited for, and that nobody has to."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import s3_service as lab
from hosts import wait_for
from tonnage.records import Run
from tonnage_commands import LIMIT_S, argv_of, tonnage

pytestmark = pytest.mark.usefixtures("let_in")
DEPTHS = pytest.mark.parametrize("depth", [1, 4])


def bucket_of(directory: Path) -> str:
    return directory.name.replace("_", "-")


def left(service: lab.S3, directory: Path) -> list[str]:
    """Objects. A gateway that was halted goes on to store the parts that it had begun to take, of uploads that were
    given up since: those stay among its own files."""
    return [key for key in service.keys(bucket_of(directory)) if not key.startswith(".sgwtmp/")]


@contextmanager
def halted_in_a_write(service: lab.S3, directory: Path, depth: int, more: str) -> Iterator[subprocess.Popen[str]]:
    """A run under way, whose service has just fallen silent, until the end of the context."""
    file, bucket = directory / "campaign.toml", bucket_of(directory)
    service.bucket(bucket)
    file.write_text(
        f'target = "s3://{bucket}?endpoint={service.endpoint}"\n[repeat]\ncount = 1\n[workload]\nop = "write"\n'
        f'tasks = 2\nqueue_depth = {depth}\ntransfer_size = "5MiB"\nblock_size = "100MiB"\n'
        f"operations_rate = 8\n{more}\n"
    )
    argv = argv_of("run", file, "--out", directory / "run", "--no-report")
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        wait_for(lambda: len(service.keys(bucket)) > 4 or process.poll() is not None, "the run writes")
        service.halt()
        yield process
    finally:
        service.go_on()
        process.kill()
        process.communicate()


@DEPTHS
def test_a_silent_service_is_given_up_when_retry_for_is_over(service: lab.S3, tmp_path: Path, depth: int) -> None:
    trials = tmp_path / "run" / "trials.jsonl"
    with halted_in_a_write(service, tmp_path, depth, 'retry_for = "3s"') as process:
        began = time.monotonic()
        # It is recorded while the service is silent still: nobody else is waited for.
        wait_for(lambda: trials.exists() and '"failed"' in trials.read_text(), "the trial fails", patience_s=LIMIT_S)
        took = time.monotonic() - began
        service.go_on()
        _, said = process.communicate(timeout=LIMIT_S)
    # One wait, and not one more for each attempt.
    assert 2.5 < took < 5.5, took
    assert process.returncode == 1 and "Traceback" not in said, said
    (line,) = Run.open(tmp_path / "run").trials()
    assert "the service was silent for 3 s" in line["first_error"]["message"], line["first_error"]
    assert left(service, tmp_path) == []


@DEPTHS
def test_a_service_that_goes_on_in_time_is_waited_for(service: lab.S3, tmp_path: Path, depth: int) -> None:
    with halted_in_a_write(service, tmp_path, depth, 'retry_for = "60s"') as process:
        time.sleep(3.0)  # how long it is silent
        service.go_on()
        _, said = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0, said
    (line,) = Run.open(tmp_path / "run").trials()
    assert (line["status"], line["bytes"]) == ("ok", 200 << 20) and line["latency"]["max_ns"] > 2e9
    assert left(service, tmp_path) == []


@DEPTHS
def test_a_second_ctrl_c_does_not_wait_for_a_silent_service(service: lab.S3, tmp_path: Path, depth: int) -> None:
    with halted_in_a_write(service, tmp_path, depth, "") as process:
        process.send_signal(signal.SIGINT)
        time.sleep(2.0)  # longer than what a terminal and a launcher send is taken for one wish
        assert process.poll() is None, "the operation in hand is waited for"
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        manifest = tmp_path / "run" / "manifest.json"
        wait_for(lambda: '"interrupted"' in manifest.read_text(), "the run ends")
        took = time.monotonic() - began
        _, said = process.communicate(timeout=LIMIT_S)
    assert took < 5.0, took  # a second, on a machine that does nothing else
    assert process.returncode == 130 and "Traceback" not in said, said
    assert "waits for no server any more" in said, said
    run = Run.open(tmp_path / "run")
    assert run.manifest["state"] == "interrupted" and {line["status"] for line in run.trials()} == {"interrupted"}
    tonnage("run", "--resume", tmp_path / "run", "--no-report")
    assert left(service, tmp_path) == []
