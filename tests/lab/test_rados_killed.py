"""A run on a pool that is killed: its objects and its snapshots go by ``clean`` or by resuming it, and no others."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import ceph as lab
import pytest
from impossible import skipped_where_impossible
from tonnage_commands import LIMIT_S, argv_of, tonnage
from waiting import wait_until

TASKS = 2
KINDS = pytest.mark.parametrize("means", ["rados", "rados-pool"])


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[lab.Ceph]:
    with skipped_where_impossible(), lab.ceph(tmp_path_factory.mktemp("ceph")) as found:
        yield found


@pytest.fixture
def pool(cluster: lab.Ceph, request: pytest.FixtureRequest) -> str:
    """One of its own: a pool takes one kind of snapshots for good."""
    return cluster.pool(request.node.name.translate(str.maketrans("[]", "--")))


def rados(cluster: lab.Ceph, pool: str, *words: str) -> str:
    argv = ["rados", "--conf", str(cluster.conf), "--pool", pool, *words]
    return subprocess.run(argv, check=True, capture_output=True, text=True, timeout=LIMIT_S).stdout


def objects(cluster: lab.Ceph, pool: str) -> list[tuple[str, ...]]:
    """Namespace and name of each."""
    return sorted(tuple(line.split("\t")) for line in rados(cluster, pool, "ls", "--all").splitlines())


def pool_snapshots(cluster: lab.Ceph, pool: str) -> list[str]:
    lines = rados(cluster, pool, "lssnap").splitlines()[:-1]
    return [line.split("\t")[1] for line in lines]


def clones(cluster: lab.Ceph, pool: str, namespace: str, name: str) -> int:
    """Old versions that snapshots keep of an object."""
    said = json.loads(rados(cluster, pool, "--namespace", namespace, "listsnaps", name, "--format=json"))
    return sum(clone["id"] != "head" for clone in said["clones"])


def campaign(directory: Path, uri: str, means: str, coordination: str = "together") -> Path:
    file = directory / "campaign.toml"
    file.write_text(
        f'target = "{uri}"\n[repeat]\ncount = 1\n[workload]\nkind = "checkpoint"\nsnapshot = "{means}"\nrounds = 400\n'
        f'think = "100ms"\ntasks = {TASKS}\ncoordination = "{coordination}"\n'
        'transfer_size = "64KiB"\ntransfers = 2\n'
    )
    return file


@contextmanager
def running(cluster: lab.Ceph, pool: str, file: Path, out: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A run whose objects have old versions by now, and its namespace."""
    argv = argv_of("run", file, "--out", out, "--no-report")
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        data = "data.00000000.00000000"

        def old_versions() -> bool:
            assert process.poll() is None, process.communicate()[1]
            spaces = [found[0] for found in objects(cluster, pool) if found[-1] == data and found[0]]
            return bool(spaces) and clones(cluster, pool, spaces[0], data) >= 2

        wait_until(old_versions, "the run took snapshots")
        (space,) = {found[0] for found in objects(cluster, pool) if found[-1] == data and found[0]}
        yield process, space
    finally:
        process.kill()
        process.communicate()


def noted(cluster: lab.Ceph, pool: str, namespace: str, file: Path) -> list[dict[str, object]]:
    rados(cluster, pool, "--namespace", namespace, "get", "TONNAGE-SNAPSHOTS", str(file))
    return [json.loads(line) for line in file.read_text().splitlines()]


@KINDS
@pytest.mark.parametrize("coordination", ["together", "each"])
@pytest.mark.timeout(300)
def test_what_a_killed_run_left_goes_by_clean_and_nothing_else(
    cluster: lab.Ceph, pool: str, tmp_path: Path, means: str, coordination: str
) -> None:
    uri = f"rados://{pool}?conf={cluster.conf}"
    rados(cluster, pool, "put", "data.00000000.00000000", str(cluster.conf))
    if means == "rados-pool":
        rados(cluster, pool, "mksnap", "foreign")
    file = campaign(tmp_path, uri, means, coordination)
    with running(cluster, pool, file, tmp_path / "run") as (process, space):
        said = tonnage("clean", uri, "--yes").stdout
        assert "still running" in said and "nothing to remove" in said
        process.kill()
        process.wait()
    key = "pool" if means == "rados-pool" else "self_managed"
    known = noted(cluster, pool, space, tmp_path / "notes")
    assert len(known) >= 2 and all(list(note) == [key] for note in known)
    if means == "rados-pool":
        assert {note["pool"] for note in known} >= set(pool_snapshots(cluster, pool)) - {"foreign"} != set()
    assert "hint: add --yes" in tonnage("clean", uri, expect=2).stderr
    said = tonnage("clean", uri, "--yes").stdout
    assert f"removed rados://{pool}/{space}" in said
    assert objects(cluster, pool) == [("", "data.00000000.00000000")]
    assert pool_snapshots(cluster, pool) == (["foreign"] if means == "rados-pool" else [])
    # What was kept is trimmed in the background: an object of that name has no old versions any more.
    rados(cluster, pool, "--namespace", space, "create", "data.00000000.00000000")
    wait_until(lambda: clones(cluster, pool, space, "data.00000000.00000000") == 0, "the old versions are gone")
    assert "no namespaces of runs" in tonnage("clean", uri, "--yes").stdout


@KINDS
@pytest.mark.timeout(300)
def test_a_resumed_run_removes_what_it_left_when_it_was_killed(
    cluster: lab.Ceph, pool: str, tmp_path: Path, means: str
) -> None:
    uri, out = f"rados://{pool}?conf={cluster.conf}", tmp_path / "run"
    with running(cluster, pool, campaign(tmp_path, uri, means), out) as (process, space):
        process.kill()
        process.wait()
    before = noted(cluster, pool, space, tmp_path / "notes")
    assert len(before) >= 2
    marker = tmp_path / "marker"
    again = argv_of("run", "--resume", out, "--no-report")
    process = subprocess.Popen(again, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:

        def taken_over() -> bool:
            assert process.poll() is None, process.communicate()[1]
            rados(cluster, pool, "--namespace", space, "get", "TONNAGE-SCRATCH", str(marker))
            return bool(json.loads(marker.read_text())["pid"] == process.pid)

        wait_until(taken_over, "it goes on")
        process.terminate()
        assert process.wait(LIMIT_S) == 130
    finally:
        process.kill()
        process.communicate()
    assert objects(cluster, pool) == [] and pool_snapshots(cluster, pool) == []


def test_a_namespace_without_our_marker_is_never_touched(cluster: lab.Ceph, pool: str, tmp_path: Path) -> None:
    uri = f"rados://{pool}?conf={cluster.conf}"
    strange = tmp_path / "strange"
    strange.write_text("not a marker")
    for name in ("TONNAGE-SCRATCH", "data.00000000.00000000"):
        rados(cluster, pool, "--namespace", "tonnage-0badcafe", "put", name, str(strange))
    before = objects(cluster, pool)
    assert "no namespaces of runs" in tonnage("clean", uri, "--yes").stdout
    assert objects(cluster, pool) == before
    assert "Ceph has no pool nosuch" in tonnage("clean", f"rados://nosuch?conf={cluster.conf}", expect=2).stderr
