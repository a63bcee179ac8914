"""OSDs that hang or die while a campaign runs: counted, tried again, told as events, and nothing is damaged."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ceph as lab
import pytest
from hosts import wait_for
from impossible import skipped_where_impossible
from tonnage.analysis import analyse
from tonnage.records import Run, verify_files
from tonnage.report.page_data import Source
from tonnage.report.sections.trials import exhibits
from tonnage_commands import LIMIT_S, argv_of, tonnage
from waiting import wait_until

RATE = 40
"""Operations a second: a phase lasts some seconds, however fast the machine is."""


OSDS = 3


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[lab.Ceph]:
    with skipped_where_impossible(), lab.ceph(tmp_path_factory.mktemp("ceph"), osds=OSDS, store="bluestore") as found:
        found.pool("bench")
        yield found


@pytest.fixture
def cluster(shared: lab.Ceph) -> lab.Ceph:
    """Whole again, whatever the test before did to it: who hung may have been given up meanwhile."""
    wait_for(lambda: shared.up() == set(range(OSDS)), "all OSDs are up")
    return shared


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
        cluster.start_osds(1)

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
    assert "no answer within 1 s; Ceph says that" in line["first_error"]["message"]


def test_what_timed_out_says_which_osd_is_down(cluster: lab.Ceph, tmp_path: Path) -> None:
    out = tmp_path / "run"
    uri, told = f"rados://bench?timeout=1s&conf={cluster.conf}", "Ceph says that osd.1 is down (2 of 3 up)"
    try:
        done = during_write(campaign(tmp_path, cluster, ""), out, lambda: cluster.stop("osd.1"))
        refused = tonnage("clean", uri, "--yes", expect=2)
    finally:
        cluster.start_osds(1)
    assert done.returncode == 1, done.stdout + done.stderr
    assert told in write_of(Run.open(out))["first_error"]["message"]
    # What it left cannot be removed now, and that says why as well.
    assert told in done.stderr.partition("note: ")[2], done.stderr
    assert told in refused.stderr and refused.stderr.count("\n") == 1, refused.stderr
    assert "removed rados://bench/" in tonnage("clean", uri, "--yes").stdout


def checkpoints(
    directory: Path,
    cluster: lab.Ceph,
    timeout: str,
    *,
    rounds: int = 20,
    count: int = 1,
    means: str = "rados",
    pool: str = "bench",
) -> Path:
    """Rounds that snapshots end, which a monitor takes."""
    file = directory / "campaign.toml"
    file.write_text(
        f'target = "rados://{pool}?object=64KiB&timeout={timeout}&conf={cluster.conf}"\n[repeat]\ncount = {count}\n'
        '[workload]\nkind = "checkpoint"\ntasks = 1\ntransfer_size = "64KiB"\nblock_size = "64KiB"\n'
        f'rounds = {rounds}\nthink = "200ms"\nsnapshot = "{means}"\nrestart = "no"\n'
    )
    return file


def test_a_monitor_that_hangs_is_waited_for_as_long_as_an_osd(cluster: lab.Ceph, tmp_path: Path) -> None:
    def hang() -> None:
        cluster.halt("mon.a")
        time.sleep(20.0)  # how long it hangs: twice as long as one is waited for at the start
        cluster.go_on("mon.a")

    out = tmp_path / "run"
    done = during_write(checkpoints(tmp_path, cluster, "60s"), out, hang)
    assert done.returncode == 0, done.stdout + done.stderr
    (line,) = [line for line in Run.open(out).trials() if line["phase"] == "checkpoint"]
    assert line["status"] == "ok" and line["checkpoint"]["snapshot"]["count"] == 20
    assert max(event["duration_ns"] for event in Run.open(out).events() if event["kind"] == "snapshot") > 10e9


def test_a_monitor_that_does_not_come_back_fails_the_snapshot_in_time(cluster: lab.Ceph, tmp_path: Path) -> None:
    out = tmp_path / "run"

    def hang() -> None:
        cluster.halt("mon.a")
        trials = out / "trials.jsonl"
        # It is recorded while nobody answers; to remove what is there takes a monitor again.
        wait_until(lambda: trials.exists() and '"failed"' in trials.read_text(), limit_s=LIMIT_S)
        cluster.go_on("mon.a")

    try:
        # Longer than a write waits for its OSD on a busy machine: the snapshot shall be what times out.
        done = during_write(checkpoints(tmp_path, cluster, "8s"), out, hang)
    finally:
        cluster.go_on("mon.a")
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    (line,) = [line for line in Run.open(out).trials() if line["phase"] == "checkpoint"]
    assert line["status"] == "failed" and "take the snapshot" in line["first_error"]["message"]
    assert line["last_done_ns"] - line["first_start_ns"] < 25e9, line


@pytest.mark.parametrize("means", ["rados", "rados-pool"])
def test_a_run_whose_monitor_never_comes_back_ends_in_time_and_is_taken_up_again(
    cluster: lab.Ceph, tmp_path: Path, means: str
) -> None:
    out, halted, pool = tmp_path / "run", [0.0], cluster.pool(f"left-{means}")
    file = checkpoints(tmp_path, cluster, "2s", rounds=5, count=3, means=means, pool=pool)

    def hang() -> None:
        kept = out / "trials.jsonl"
        wait_for(lambda: kept.exists() and "\n" in kept.read_text(), "a trial was recorded")
        cluster.halt("mon.a")
        halted[0] = time.monotonic()

    try:
        done = during_write(file, out, hang)
        took_s = time.monotonic() - halted[0]
    finally:
        cluster.go_on("mon.a")
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    assert took_s < 60, (took_s, done.stderr)
    assert "the monitor does not answer either" in done.stderr, done.stderr
    lines = Run.open(out).trials()
    failed = {line["trial"] for line in lines if line["status"] == "failed"}
    assert lines[0]["status"] == "ok" and len(failed) == 1
    # What failed is not measured again, and so the exit code stays that of a run with a failure.
    tonnage("run", "--resume", out, "--no-report", expect=1)
    run = Run.open(out)
    assert run.manifest["state"] == "complete" and run.trials()[: len(lines)] == lines
    well = [line for line in run.trials() if line["trial"] not in failed]
    assert {line["trial"] for line in run.trials()} == {0, 1, 2} and {line["status"] for line in well} == {"ok"}
    assert held_by(cluster, pool) == ("", "0 snaps\n")


def test_a_second_ctrl_c_begins_nothing_more_on_a_silent_pool(cluster: lab.Ceph, tmp_path: Path) -> None:
    out, pool = tmp_path / "run", cluster.pool("interrupted")
    file = campaign(tmp_path, cluster, 'retry_for = "60s"')
    file.write_text(file.read_text().replace("timeout=1s", "timeout=4s").replace("bench?", f"{pool}?"))
    process = subprocess.Popen(
        argv_of("run", file, "--out", out, "--no-report"), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )
    try:
        series = out / "series"
        wait_for(lambda: process.poll() is not None or (series.is_dir() and any(series.iterdir())), "it writes")
        for number in range(3):
            cluster.halt(f"osd.{number}")
        process.send_signal(signal.SIGINT)
        time.sleep(1.0)  # longer than what a terminal and a launcher send is taken for one wish
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        _, said = process.communicate(timeout=LIMIT_S)
        took_s = time.monotonic() - began
    finally:
        process.kill()
        process.communicate()
        for number in range(3):
            cluster.go_on(f"osd.{number}")
    # What was under way has the library's own limit; neither another attempt nor the removal follows.
    assert took_s < 4 + 3, (took_s, said)
    assert process.returncode == 130 and "waits for no server any more" in said, said
    tonnage("run", "--resume", out, "--no-report")
    assert held_by(cluster, pool)[0] == ""


def held_by(cluster: lab.Ceph, pool: str) -> tuple[str, str]:
    """The objects of a pool, and its snapshots."""
    argv = ["rados", "--conf", str(cluster.conf), "--pool", pool]
    asked = [
        subprocess.run([*argv, *words], check=True, capture_output=True, text=True, timeout=LIMIT_S).stdout
        for words in (["ls", "--all"], ["lssnap"])
    ]
    return asked[0], asked[1]


def test_a_daemon_of_the_lab_that_ends_by_itself_is_told_as_the_cause(tmp_path: Path) -> None:
    def crash() -> None:
        with lab.ceph(tmp_path, osds=1) as found:
            found.daemons["osd.0"].send_signal(signal.SIGSEGV)
            found.daemons["osd.0"].wait(LIMIT_S)
            raise TimeoutError("a symptom")

    with pytest.raises(lab.DaemonEnded, match=r"osd\.0 ended by itself(.|\n)*Segmentation fault") as told:
        crash()
    assert isinstance(told.value.__context__, TimeoutError)


def test_a_cluster_whose_monitor_is_gone_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "ceph").mkdir()
    with skipped_where_impossible(), lab.ceph(tmp_path / "ceph", osds=0) as cluster:
        cluster.stop("mon.a")
        done = tonnage("run", campaign(tmp_path, cluster, ""), "--out", tmp_path / "run", expect=2)
    assert "no monitor answered within 10 s" in done.stderr and done.stderr.count("\n") == 1, done.stderr
