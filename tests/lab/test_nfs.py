"""The ``nfs`` storage on a real server: the suite of all storages, campaigns, restarts, what a user may get wrong."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nfs as lab
import pytest
import rust_suites
from hosts import Daemon, Host, Hosts, wait_for
from impossible import skipped_where_impossible
from tonnage.records import Run

LIMIT_S = 120.0
SLOW_BYTES_PER_S, FAST_BYTES_PER_S = 40_000_000, 10_000_000_000


def tonnage(host: Host, *words: str | Path, expect: int = 0) -> subprocess.CompletedProcess[str]:
    environment = {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = host.run(
        sys.executable, "-m", "tonnage.cli", *words, environment=environment, check=False, timeout_s=LIMIT_S
    )
    assert done.returncode == expect, (done.returncode, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    return done


def campaign(directory: Path, target: str, workload: str = 'op = "write"\nblock_size = "1MiB"') -> Path:
    file = directory / "campaign.toml"
    # What comes first is not left to chance: before a read its file would be filled.
    file.write_text(f'target = "{target}"\norder = "given"\n[repeat]\ncount = 1\n[workload]\n{workload}\n')
    return file


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("names", "tests"), [("conformance::nfs", 10), ("tree::an_export", 1)])
def test_it_passes_the_suite_of_all_storages(site: Hosts, server: lab.Server, names: str, tests: int) -> None:
    with skipped_where_impossible():
        program = rust_suites.program("storage")
    before = server.names()
    given = {"TONNAGE_TEST_EXPORT": f"server:{lab.EXPORT}"}
    done = site["client"].run(
        program, "--ignored", names, environment=given, check=False, timeout_s=rust_suites.RUN_LIMIT_S
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{tests} passed" in done.stdout
    # The suite leaves what it wrote, and the next tests count what is in the export.
    for left in server.directory.glob(".tonnage-test-*"):
        for path in sorted(left.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        left.rmdir()
    assert server.names() == before


def test_a_campaign_writes_reads_back_what_it_wrote_and_leaves_nothing(
    site: Hosts, server: lab.Server, tmp_path: Path
) -> None:
    before = server.names()
    workload = (
        'op = ["write", "read"]\ntasks = [1, 3]\nqueue_depth = [1, 8]\nsync = ["fsync", "fsync-each"]\n'
        'transfer_size = "64KiB"\nblock_size = "1MiB"\nverify = true'
    )
    file = campaign(tmp_path, f"{server.uri}?rsize=40KiB&wsize=40KiB", workload)
    tonnage(site["client"], "run", file, "--out", tmp_path / "run", "--no-report")
    run = Run.open(tmp_path / "run")
    measured = [line for line in run.trials() if line["purpose"] == "measure"]
    assert len(measured) == 16 and all(line["status"] == "ok" for line in measured)
    assert {line["bytes"] for line in measured} == {1 << 20, 3 << 20}
    assert run.manifest["target"]["kind"] == "nfs"
    export = run.manifest["target"]["export"]
    assert (export["version"], export["rsize"], export["wsize"]) == (3, 40 << 10, 40 << 10)
    assert export["dtpref"] > 0 and export["free_bytes"] > 0
    # This host has no cache of them, and what comes from the server's memory, nobody here counts.
    assert {line["cache"]["state"] for line in measured if line["phase"] == "read"} == {"unknown"}
    assert server.names() == before


def test_trees_of_small_files_are_made_visited_and_removed(site: Hosts, server: lab.Server, tmp_path: Path) -> None:
    before = server.names()
    workload = (
        'kind = "files"\nphases = ["create", "stat", "read", "remove"]\ntasks = 2\nitems = 50\nfile_size = "3KiB"'
    )
    file = campaign(tmp_path, server.uri, workload)
    tonnage(site["client"], "run", file, "--out", tmp_path / "run", "--no-report")
    trials = [line for line in Run.open(tmp_path / "run").trials() if line["purpose"] == "measure"]
    assert {line["phase"] for line in trials} >= {"create", "stat", "read", "remove"}
    assert all(line["status"] == "ok" for line in trials)
    assert server.names() == before


@contextmanager
def slow_run(site: Hosts, file: Path) -> Iterator[Daemon]:
    """A campaign under way on the client, so slow that there is time for something to happen to the server."""
    site.limit("server", SLOW_BYTES_PER_S)
    words = [sys.executable, "-m", "tonnage.cli", "run", file, "--out", file.parent / "run", "--no-report"]
    running = site["client"].daemon(*words, environment={"PYTHONPATH": os.pathsep.join(sys.path)})
    try:
        yield running
    finally:
        running.end()
        site.limit("server", FAST_BYTES_PER_S)


def notes_of(run: Run) -> dict[str, str]:
    return {note["code"]: note["message"] for line in run.trials() for note in line["notes"]}


@pytest.mark.parametrize("depth", [1, 8])
def test_a_server_that_restarts_in_a_write_is_waited_for_and_gets_again_what_it_lost(
    site: Hosts, server: lab.Server, tmp_path: Path, depth: int
) -> None:
    before = server.names()
    workload = (
        f'op = ["write", "read"]\ntasks = 2\nqueue_depth = {depth}\ntransfer_size = "64KiB"\nblock_size = "96MiB"\n'
        "verify = true"
    )
    with slow_run(site, campaign(tmp_path, server.uri, workload)) as running:
        wait_for(lambda: written(server) > 20 << 20 or not running.running(), "the run writes")
        server.kill()
        time.sleep(1)
        server.start()
        site.limit("server", FAST_BYTES_PER_S)
        wait_for(lambda: not running.running(), "the run ends", patience_s=LIMIT_S)
    assert (tmp_path / "run").exists(), running.output_end()
    run = Run.open(tmp_path / "run")
    trials = [line for line in run.trials() if line["purpose"] == "measure"]
    assert [line["status"] for line in trials] == ["ok", "ok"], running.output_end()
    (read,) = (line for line in trials if line["phase"] == "read")
    assert read["verify"]["checked_bytes"] == 192 << 20 and read["verify"]["damaged_operations"] == 0
    notes = notes_of(run)
    again = re.search(r"broke (\d+) times .* (\d+) calls were sent again", notes["nfs-reconnected"])
    assert again and int(again[1]) >= 2 and int(again[2]) >= 1
    assert "were to be written again" in notes["nfs-restarted"]
    (write,) = (line for line in trials if line["phase"] == "write")
    events = [event for event in run.events() if event["kind"] == "retry" and event["record"] == write["record"]]
    assert {event["task"] for event in events} == {0, 1}
    assert sum(event["attempts"] for event in events) == write["retries"] >= int(again[2])
    assert all(write["first_start_ns"] < event["time_ns"] < write["last_done_ns"] for event in events)
    broke = [event for event in events if "the connection to the server broke" in event["message"]]
    # It was away for a second at least, and then had to be reached again.
    assert {event["task"] for event in broke} == {0, 1} and max(event["duration_ns"] for event in broke) > 900_000_000
    assert any("write it again" in event["message"] for event in events)
    assert server.names() == before


@pytest.mark.parametrize("depth", [1, 8])
def test_a_server_that_falls_silent_fails_the_write_when_its_retry_for_is_over(
    site: Hosts, server: lab.Server, tmp_path: Path, depth: int
) -> None:
    before = server.names()
    workload = (
        f'op = "write"\ntasks = 1\nqueue_depth = {depth}\ntransfer_size = "64KiB"\nblock_size = "96MiB"\n'
        'retry_for = "3s"'
    )
    trials = tmp_path / "run" / "trials.jsonl"
    with slow_run(site, campaign(tmp_path, server.uri, workload)) as running:
        try:
            wait_for(lambda: written(server) > 10 << 20 or not running.running(), "the run writes")
            server.send(signal.SIGSTOP)
            began = time.monotonic()
            # It is recorded while the server is silent still: nobody else is waited for.
            wait_for(
                lambda: trials.exists() and '"failed"' in trials.read_text(), "the trial fails", patience_s=LIMIT_S
            )
            took = time.monotonic() - began
            server.send(signal.SIGCONT)
            wait_for(lambda: not running.running(), "the run ends", patience_s=LIMIT_S)
        finally:
            server.send(signal.SIGCONT)
    assert 2.5 < took < 30, took
    (line,) = Run.open(tmp_path / "run").trials()
    # A COMMIT at its end would be waited for 60 s: what failed is not closed by one.
    assert "did not come back within 3 s" in line["first_error"]["message"], line["first_error"]
    assert server.names() == before


@pytest.mark.parametrize("depth", [1, 8])
def test_a_second_signal_does_not_wait_for_a_silent_server(
    site: Hosts, server: lab.Server, tmp_path: Path, depth: int
) -> None:
    before = server.names()
    workload = f'op = "write"\ntasks = 2\nqueue_depth = {depth}\ntransfer_size = "64KiB"\nblock_size = "48MiB"\n'
    with slow_run(site, campaign(tmp_path, server.uri, workload)) as running:
        try:
            wait_for(lambda: written(server) > 10 << 20 or not running.running(), "the run writes")
            server.send(signal.SIGSTOP)
            running.send(signal.SIGTERM)
            time.sleep(2.0)  # longer than what a terminal and a launcher send is taken for one wish
            assert running.running(), "the operation in hand is waited for"
            running.send(signal.SIGTERM)
            began = time.monotonic()
            manifest = tmp_path / "run" / "manifest.json"
            wait_for(lambda: '"interrupted"' in manifest.read_text(), "the run ends")
            took = time.monotonic() - began
            wait_for(lambda: not running.running(), "its summary is there")
        finally:
            server.send(signal.SIGCONT)
    assert took < 5.0, took  # a second, on a machine that does nothing else
    said = running.output_end()
    assert "Traceback" not in said and "waits for no server any more" in said, said
    run = Run.open(tmp_path / "run")
    (line,) = run.trials()
    assert (run.manifest["state"], line["status"], line["first_error"]) == ("interrupted", "interrupted", None)
    assert server.names() != before
    tonnage(site["client"], "run", "--resume", tmp_path / "run", "--no-report")
    assert server.names() == before


def written(server: lab.Server) -> int:
    """Bytes of data files in the export."""
    total = 0
    for path in server.directory.glob(".tonnage-*/data.*"):
        total += path.stat().st_size
    return total


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("nfs://server/run/nothing", "server does not let this host mount /run/nothing"),
        ("nfs://server/run/export/squashed", "user 0 may make nothing in"),
        ("nfs://client/run/export", "nothing listens on"),
        ("nfs://10.77.0.99/run/export", "for its portmapper"),
        ("nfs://nosuchhost/run/export", "no address is known of nosuchhost"),
        ("nfs://server", "write nfs://SERVER/PATH"),
        ("nfs://server/run/export?resize=1MiB", "did you mean 'rsize'"),
    ],
)
def test_what_cannot_be_used_is_one_line_and_exit_2(
    site: Hosts, server: lab.Server, tmp_path: Path, target: str, said: str
) -> None:
    before, began = server.names(), time.monotonic()
    done = tonnage(site["client"], "run", campaign(tmp_path, target), "--out", tmp_path / "run", expect=2)
    assert said in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert time.monotonic() - began < 20
    assert not (tmp_path / "run").exists()
    assert server.names() == before


def test_what_another_put_into_the_directory_stays_and_is_told(site: Hosts, server: lab.Server, tmp_path: Path) -> None:
    file = campaign(tmp_path, server.uri, 'op = "write"\ntasks = 1\nblock_size = "96MiB"\ntransfer_size = "64KiB"')
    site.limit("server", SLOW_BYTES_PER_S)
    words = [sys.executable, "-m", "tonnage.cli", "run", file, "--out", tmp_path / "run", "--no-report"]
    running = site["client"].daemon(*words, environment={"PYTHONPATH": os.pathsep.join(sys.path)})
    try:
        wait_for(lambda: written(server) > 0 or not running.running(), "the run writes")
        (directory,) = server.directory.glob(".tonnage-*")
        (directory / "thesis.tex").touch()
        site.limit("server", FAST_BYTES_PER_S)
        wait_for(lambda: not running.running(), "the run ends", patience_s=LIMIT_S)
    finally:
        running.end()
        site.limit("server", FAST_BYTES_PER_S)
    assert "thesis.tex" in running.output_end()
    assert sorted(path.name for path in directory.iterdir()) == ["TONNAGE-SCRATCH", "thesis.tex"]
    for path in directory.iterdir():
        path.unlink()
    directory.rmdir()
