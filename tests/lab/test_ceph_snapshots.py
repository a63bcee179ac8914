"""``examples/ceph-snapshots.toml``, fewer trials of it, on Ceph, on CephFS, on Btrfs and XFS, and where none can be."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import ceph as lab
import pytest
from cephfs import cephfs
from hosts import Host, hosts
from impossible import skipped_where_impossible
from throttled import Throttled, run
from tonnage.analysis import analyse
from tonnage.analysis.statistics.fixed_cost import COSTS, NOT_SHOWN, SAVES
from tonnage.analysis.verify import verify
from tonnage.records import Run
from tonnage.report.published import comparisons as published

from .conftest import Command, Said

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 800.0
SMALLER = (
    ("count = 10", "count = 2"),
    ("[1, 2, 4, 8, 16, 32]", "[1, 2]"),
    ("[1, 10, 100]", "[1, 100]"),
    ('["4KiB", "512KiB", "1MiB"]', '["4KiB", "16KiB"]'),
    ('restart = "newest"', 'restart = "newest"\nverify = true'),
)
SETTINGS = 2 * 2 * 2 * 2


@pytest.fixture
def example(tmp_path: Path) -> Path:
    text = (ROOT / "examples" / "ceph-snapshots.toml").read_text(encoding="utf-8")
    for whole, small in SMALLER:
        assert whole in text
        text = text.replace(whole, small)
    file = tmp_path / "ceph-snapshots.toml"
    file.write_text(text, encoding="utf-8")
    return file


def holds(said: Said, directory: Path, means: str) -> None:
    """Every phase of every trial was measured and what was read back was right; the snapshot's cost is told, or which
    one would have been; the published figures stand beside ours; and the records say what the report does."""
    assert said.code == 0, (said.out, said.err)
    for phase in ("checkpoint", "restart", "drop"):
        lines = said.measured(phase)
        assert len(lines) == 2 * SETTINGS and all(line["status"] == "ok" for line in lines)
    for line in said.measured("restart"):
        assert line["verify"]["checked_bytes"] == line["bytes"] > 0 and not line["verify"]["damaged_operations"]
    for line in said.measured("checkpoint"):
        assert line["setting"]["snapshot"] in ("none", means)
        assert line["checkpoint"]["snapshot"]["count"] == (3 if line["setting"]["snapshot"] == means else 0)
    whole = Run.open(directory)
    found = analyse(whole)
    (cost,) = found.snapshots
    assert cost.means == means and cost.call_ns and cost.cost.confidence
    assert cost.cost.verdict in (COSTS, SAVES, NOT_SHOWN)
    if cost.cost.verdict == NOT_SHOWN:
        assert cost.cost.shown_from_ns and cost.cost.shown_from_ns > 0
    rates, costs, divided = published.comparisons(found)
    assert {row[2] for row in rates.table.rows if row[:2] == ("write with snapshot", "4 KiB")} == {
        "published",
        "this run",
    }
    assert costs.table.rows and divided.table.rows
    assert verify(whole).contradictions == ()


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("file_system", "means"), [("btrfs", "btrfs"), ("xfs", "reflink")])
def test_in_a_directory_the_snapshots_are_those_of_its_file_system(
    tonnage: Command, device: Callable[..., Throttled], example: Path, file_system: str, means: str
) -> None:
    here = device(file_system=file_system, size=1 << 30).path
    holds(tonnage("run", "--target", here, example), tonnage.work / "run-1", means)
    assert {path.name for path in here.iterdir()} <= {"lost+found"}
    if file_system == "btrfs":
        assert run("btrfs", "subvolume", "list", here) == ""


@pytest.mark.timeout(900)
def test_on_cephfs_they_are_its_own(tmp_path: Path, example: Path) -> None:
    with skipped_where_impossible(), hosts(["server", "client"]) as site, cephfs(site, ("server",), "client") as found:
        found.ceph("fs", "set", "cephfs", "allow_new_snaps", "true")
        said = on_host(found.client, "run", "--target", found.path, example, "--out", tmp_path / "run")
        holds(said, tmp_path / "run", "cephfs")
        place = found.client.path(found.path)
        assert not list(place.iterdir()) and not list((place / ".snap").iterdir())


def on_host(host: Host, *words: str | Path) -> Said:
    """The command on a host of the lab; ``--out`` comes last."""
    argv = (sys.executable, "-m", "tonnage.cli", *words, "--no-report", "--json")
    environment = {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = host.run(*argv, environment=environment, check=False, timeout_s=LIMIT_S)
    kept = Path(words[-1]) / "trials.jsonl"
    lines = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    return Said(done.returncode, lines, done.stdout, done.stderr)


@pytest.mark.timeout(900)
def test_on_a_pool_they_are_self_managed(tonnage: Command, tmp_path: Path, example: Path) -> None:
    (tmp_path / "ceph").mkdir()
    with skipped_where_impossible(), lab.ceph(tmp_path / "ceph") as cluster:
        cluster.pool("tonnage")
        said = tonnage("run", "--target", f"rados://tonnage?conf={cluster.conf}", example)
        holds(said, tonnage.work / "run-1", "rados")
        argv = ["rados", "--conf", str(cluster.conf), "--pool", "tonnage", "ls", "--all"]
        left = subprocess.run(argv, check=True, capture_output=True, text=True, timeout=60).stdout
        assert left == "", "objects of the run are gone"


@pytest.mark.timeout(300)
@pytest.mark.parametrize("words", [(), ("--dry-run",)])
def test_where_there_are_none_one_line_says_so_before_anything_is_written(
    tonnage: Command, device: Callable[..., Throttled], example: Path, words: tuple[str, ...]
) -> None:
    here = device(file_system="ext4", size=1 << 28).path
    said = tonnage("run", "--target", here, example, *words)
    assert said.code == 2 and "Traceback" not in said.err
    (line,) = [line for line in said.err.splitlines() if line.strip()]
    assert f"workload.snapshot: {here} is on ext4, which has no snapshots" in line and "hint: give another" in line
    assert {path.name for path in here.iterdir()} <= {"lost+found"}
