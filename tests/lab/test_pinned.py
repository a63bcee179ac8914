"""Tasks pinned to devices of real file systems: whose files are where is looked up on the devices themselves."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from glusterfs import Volume, volume
from hosts import Host, Hosts, hosts
from impossible import entered
from moosefs import Moosefs, moosefs
from tonnage.records import Run

ROOT = Path(__file__).resolve().parents[2]
SERVERS = ("oss1", "oss2", "oss3")
MIB = 1 << 20


@pytest.fixture(scope="module")
def site() -> Iterator[Hosts]:
    pytest.importorskip("tonnage._native", reason="the engine is not built: run ./tonnage once")
    with ExitStack() as stack:
        yield entered(stack, hosts([*SERVERS, "node1"]))


@pytest.fixture(scope="module")
def bricks(site: Hosts) -> Iterator[Volume]:
    with ExitStack() as stack:
        servers = ("oss1", "oss1", "oss2", "oss2")
        yield entered(stack, volume(site, servers, at=Path("/run/scratch"), size=320 * MIB))


@pytest.fixture(scope="module")
def chunks(site: Hosts) -> Iterator[Moosefs]:
    with ExitStack() as stack:
        yield entered(stack, moosefs(site, "oss1", SERVERS, "node1"))


def measure_pinned(host: Host, work: Path, target: Path, *lines: str) -> Run:
    """A run of a campaign on a host of the lab, as its user would start it there."""
    file, out = work / "campaign.toml", work / "run"
    file.write_text(f"target = {json.dumps(str(target))}\n" + "\n".join(lines) + "\n")
    environment = {"PYTHONPATH": str(ROOT / "python"), "HOME": "/run"}
    words = (sys.executable, "-m", "tonnage.cli", "run", file, "--out", out, "--json")
    done = host.run(*words, environment=environment, check=False)
    assert done.returncode == 0, done.stderr
    return Run.open(out)


def write(run: Run) -> dict[str, Any]:
    return next(line for line in run.trials() if line["phase"] == "write" and line["purpose"] == "measure")


def test_glusterfs_has_each_task_on_the_brick_that_was_asked_for(site: Hosts, bricks: Volume, tmp_path: Path) -> None:
    run = measure_pinned(
        site["node1"],
        tmp_path,
        bricks.path,
        "[repeat]",
        "count = 2",
        "[stripe]",
        "osts = [3, 1]",
        "[workload]",
        'op = ["write", "read"]',
        "tasks = [4]",
        "devices = 2",
        'transfer_size = "256KiB"',
        'block_size = "2MiB"',
    )
    assert run.manifest["target"]["stripe"]["problems"] == []
    last = [row for row in run.devices() if row["record"] == write(run)["record"]]
    held = {row["task"]: row["parts"][0]["device"] for row in last}
    third, first = (f"{bricks.bricks[number].server}:/run/scratch-{number}/brick" for number in (3, 1))
    assert held == {0: third, 1: first, 2: third, 3: first}
    for line in run.trials():
        rows = {row["device"]: row for row in line["devices"]["balance"]}
        assert (rows[third]["first_bytes"], rows[first]["first_bytes"]) == (4 * MIB, 4 * MIB), line["record"]
        assert len(rows) == 4, "a brick without a file is in the balance as well"
    page = (run.path / "report.html").read_text()
    assert third in page
    facts = run.manifest["target"]["directories"][0]["facts"]
    assert [brick["name"] for brick in facts["bricks"]] == [f"scratch-client-{number}" for number in range(4)]
    assert facts["write_behind_bytes"] == MIB


def test_glusterfs_places_files_by_their_names_where_nothing_was_asked(
    site: Hosts, bricks: Volume, tmp_path: Path
) -> None:
    lines = ("[repeat]", "count = 1", "[workload]", 'op = ["write"]', "tasks = [12]", 'block_size = "1MiB"')
    run = measure_pinned(site["node1"], tmp_path, bricks.path, *lines)
    told = write(run)["devices"]
    assert (told["examined"], told["total"], told["problem"]) == (12, 12, None)
    assert sum(row["first_bytes"] for row in told["balance"]) == 12 * MIB
    assert len([row for row in told["balance"] if row["holds"]]) > 1, "all names fell on one brick: the test is weak"


def test_moosefs_has_each_task_on_the_servers_of_its_storage_class(
    site: Hosts, chunks: Moosefs, tmp_path: Path
) -> None:
    run = measure_pinned(
        site["node1"],
        tmp_path,
        chunks.path,
        "[repeat]",
        "count = 1",
        "[stripe]",
        'pool = ["only-c", "only-a"]',
        "[workload]",
        'op = ["write"]',
        "tasks = [2]",
        "devices = 2",
        'block_size = "2MiB"',
    )
    assert run.manifest["target"]["stripe"]["problems"] == []
    held = {row["task"]: row["parts"][0]["device"] for row in run.devices()}
    assert held == {0: chunks.servers["only-c"], 1: chunks.servers["only-a"]}
    facts = run.manifest["target"]["directories"][0]["facts"]
    # What MooseFS gives a directory of which nobody said anything.
    assert (facts["storage_class"], facts["write_cache_bytes"]) == ("2", 256 * MIB)


def test_a_storage_class_that_is_not_there_is_told_of(site: Hosts, chunks: Moosefs, tmp_path: Path) -> None:
    lines = (
        "[repeat]",
        "count = 1",
        "[stripe]",
        'pool = "nobodys"',
        "[workload]",
        "tasks = [1]",
        'block_size = "1MiB"',
    )
    run = measure_pinned(site["node1"], tmp_path, chunks.path, *lines)
    (problem,) = run.manifest["target"]["stripe"]["problems"]
    assert problem.startswith("mfssetsclass failed with status 1")
