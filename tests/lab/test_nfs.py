"""The ``nfs`` storage on a real server: the suite of all storages, campaigns, restarts, what a user may get wrong."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import nfs as lab
import pytest
from hosts import Host, Hosts, hosts, wait_for
from throttled import Impossible
from tonnage.records import Run

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 120.0


@pytest.fixture(scope="module")
def site() -> Iterator[Hosts]:
    try:
        with hosts(["server", "client"]) as found:
            yield found
    except Impossible as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def server(site: Hosts) -> Iterator[lab.Server]:
    try:
        with lab.server(site["server"]) as found:
            yield found
    except Impossible as error:
        pytest.skip(str(error))


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


def built(test: str) -> Path:
    """The test program of the storages, built here."""
    argv = [
        "cargo",
        "test",
        "--quiet",
        "--package=tonnage-storage",
        f"--test={test}",
        "--no-run",
        "--message-format=json",
    ]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=580, check=False)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    (program,) = [line["executable"] for line in lines if line.get("executable") and line["target"]["name"] == test]
    return Path(program)


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("test", "name", "tests"), [("conformance", "nfs", 9), ("tree", "an_export", 1)])
def test_it_passes_the_suite_of_all_storages(site: Hosts, server: lab.Server, test: str, name: str, tests: int) -> None:
    if shutil.which("cargo") is None:
        pytest.skip("no cargo here to build the suite with")
    before = server.names()
    given = {"TONNAGE_TEST_EXPORT": f"server:{lab.EXPORT}"}
    done = site["client"].run(built(test), "--ignored", name, environment=given, check=False, timeout_s=300)
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
    file = campaign(tmp_path, server.uri, workload)
    # So slow that there is time to end the server in the middle.
    site.limit("server", 40_000_000)
    words = [sys.executable, "-m", "tonnage.cli", "run", file, "--out", tmp_path / "run", "--no-report"]
    environment = {"PYTHONPATH": os.pathsep.join(sys.path)}
    running = site["client"].daemon(*words, environment=environment)
    try:
        wait_for(lambda: written(server) > 20 << 20 or not running.running(), "the run writes")
        server.kill()
        time.sleep(1)
        server.start()
        wait_for(lambda: not running.running(), "the run ends", patience_s=LIMIT_S)
    finally:
        running.end()
        site.limit("server", 10_000_000_000)
    assert (tmp_path / "run").exists(), running.said()
    run = Run.open(tmp_path / "run")
    trials = [line for line in run.trials() if line["purpose"] == "measure"]
    assert [line["status"] for line in trials] == ["ok", "ok"], running.said()
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
    site.limit("server", 40_000_000)
    words = [sys.executable, "-m", "tonnage.cli", "run", file, "--out", tmp_path / "run", "--no-report"]
    running = site["client"].daemon(*words, environment={"PYTHONPATH": os.pathsep.join(sys.path)})
    try:
        wait_for(lambda: written(server) > 0 or not running.running(), "the run writes")
        (directory,) = server.directory.glob(".tonnage-*")
        (directory / "thesis.tex").touch()
        site.limit("server", 10_000_000_000)
        wait_for(lambda: not running.running(), "the run ends", patience_s=LIMIT_S)
    finally:
        running.end()
        site.limit("server", 10_000_000_000)
    assert "thesis.tex" in running.said()
    assert sorted(path.name for path in directory.iterdir()) == ["TONNAGE-SCRATCH", "thesis.tex"]
    for path in directory.iterdir():
        path.unlink()
    directory.rmdir()
