"""OSDs that hang or die while a campaign runs: counted, tried again, told as events, and nothing is damaged."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ceph as lab
import pytest
from commands import LIMIT_S, argv_of, tonnage
from throttled import Impossible
from tonnage.analysis import analyse
from tonnage.records import Run, verify_files
from tonnage.report.source import Source
from tonnage.report.trials import exhibits

RATE = 40
"""Operations a second: a phase lasts some seconds, however fast the machine is."""


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[lab.Ceph]:
    try:
        with lab.ceph(tmp_path_factory.mktemp("ceph"), store="bluestore") as found:
            found.pool("bench")
            yield found
    except Impossible as error:
        pytest.skip(str(error))


def campaign(directory: Path, cluster: lab.Ceph, more: str) -> Path:
    file = directory / "campaign.toml"
    file.write_text(
        f'target = "rados://bench?object=64KiB&timeout=1s&conf={cluster.conf}"\n[repeat]\ncount = 1\n'
        '[workload]\nop = "write"\ntasks = 2\nqueue_depth = 4\ntransfer_size = "64KiB"\nblock_size = "8MiB"\n'
        f"operations_rate = {RATE}\ncheck_written = true\n{more}\n"
    )
    return file


def during_write(file: Path, out: Path, act: Callable[[], None]) -> subprocess.CompletedProcess[str]:
    """Runs a campaign and acts when its first write has begun."""
    argv = argv_of("run", file, "--out", out, "--no-report")
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + LIMIT_S
        series = out / "series"
        while not (series.is_dir() and any(series.iterdir())):
            assert process.poll() is None and time.monotonic() < deadline, process.communicate()
            time.sleep(0.05)
        time.sleep(1.0)  # into the phase, which lasts for more than six
        act()
        said, complained = process.communicate(timeout=LIMIT_S)
    except BaseException:
        process.kill()
        process.communicate()
        raise
    return subprocess.CompletedProcess(argv, process.returncode, said, complained)


def write_of(run: Run) -> dict[str, Any]:
    (line,) = [line for line in run.trials() if line["phase"] == "write"]
    return line


def test_an_osd_that_hangs_and_goes_on_is_waited_for_and_told(cluster: lab.Ceph, tmp_path: Path) -> None:
    def hang() -> None:
        cluster.halt("osd.1")
        time.sleep(4.0)  # how long it hangs
        cluster.go_on("osd.1")

    out = tmp_path / "run"
    done = during_write(campaign(tmp_path, cluster, 'retry_for = "60s"'), out, hang)
    assert done.returncode == 0, done.stdout + done.stderr
    run = Run.open(out)
    line = write_of(run)
    assert (line["status"], line["errors"], line["bytes"]) == ("ok", 0, 16 << 20)
    troubles = [event for event in run.events() if event["kind"] == "retry"]
    assert line["retries"] == sum(event["attempts"] for event in troubles) > 0
    assert all("timed out" in event["message"].lower() for event in troubles)
    assert max(event["duration_ns"] for event in troubles) >= 1.5e9
    (check,) = [line for line in run.trials() if line["phase"] == "check"]
    assert check["status"] == "ok" and check["verify"]["damaged_operations"] == 0
    assert check["verify"]["checked_bytes"] == 16 << 20
    assert verify_files(run) == []
    captions = [
        figure.caption
        for exhibit in exhibits(analyse(run), Source.of(run))
        for variant in exhibit.variants
        for figure in variant.figures
    ]
    assert any("and were tried again" in caption for caption in captions), captions


def test_an_osd_that_dies_and_is_started_again_loses_nothing(cluster: lab.Ceph, tmp_path: Path) -> None:
    def die() -> None:
        cluster.stop("osd.1")
        time.sleep(1.0)  # how long it is away
        cluster.start_osd(1)

    out = tmp_path / "run"
    done = during_write(campaign(tmp_path, cluster, 'retry_for = "60s"'), out, die)
    assert done.returncode == 0, done.stdout + done.stderr
    run = Run.open(out)
    assert write_of(run)["bytes"] == 16 << 20
    assert any(event["kind"] in ("retry", "stall") for event in run.events())
    (check,) = [line for line in run.trials() if line["phase"] == "check"]
    assert check["status"] == "ok" and check["verify"]["checked_bytes"] == 16 << 20


def test_without_patience_an_osd_that_hangs_fails_the_phase(cluster: lab.Ceph, tmp_path: Path) -> None:
    out = tmp_path / "run"
    try:
        done = during_write(campaign(tmp_path, cluster, ""), out, lambda: cluster.halt("osd.1"))
    finally:
        cluster.go_on("osd.1")
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    line = write_of(Run.open(out))
    assert line["status"] == "failed" and line["first_error"]["errno"] == 110
    assert line["retries"] == 0 and line["errors"] > 0


def test_a_cluster_whose_monitor_is_gone_is_one_line(cluster: lab.Ceph, tmp_path: Path) -> None:
    cluster.stop("mon.a")
    done = tonnage("run", campaign(tmp_path, cluster, ""), "--out", tmp_path / "run", expect=2)
    assert "no monitor answered within 10 s" in done.stderr and done.stderr.count("\n") == 1, done.stderr
