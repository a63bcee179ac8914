"""Where objects are, as a run keeps it, is where the cluster says that they are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import ceph as lab
import pytest
from hosts import wait_for
from impossible import skipped_where_impossible
from tonnage.analysis import analyse
from tonnage.records import Run, verify_files
from tonnage_commands import tonnage


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[lab.Ceph]:
    with skipped_where_impossible(), lab.ceph(tmp_path_factory.mktemp("ceph"), copies=2, groups=16) as found:
        found.pool("bench")
        yield found


def test_each_object_is_recorded_where_a_monitor_says_it_is(cluster: lab.Ceph, tmp_path: Path) -> None:
    file = tmp_path / "campaign.toml"
    file.write_text(
        f'target = "rados://bench?object=256KiB&conf={cluster.conf}"\n[repeat]\ncount = 1\n'
        '[workload]\nop = ["write", "read"]\ntasks = 2\nqueue_depth = [1, 4]\n'
        'transfer_size = "64KiB"\nblock_size = "4MiB"\naccess = "random"\n'
    )
    done = tonnage("run", file, "--out", tmp_path / "run", "--json")
    run = Run.open(tmp_path / "run")
    measured = [line for line in run.trials() if line["purpose"] == "measure"]
    pool = run.manifest["target"]["pool"]
    assert (pool["kind"], pool["copies"], pool["groups"]) == ("replicated", 2, 16)
    assert [osd["osd"] for osd in pool["osds"]] == [0, 1, 2] and all(osd["up"] for osd in pool["osds"])
    namespace = f"tonnage-{run.manifest['run_id']}"
    for line in measured:
        groups = [group for group in run.objects() if group["record"] == line["record"]]
        assert line["objects"]["placed_objects"] == 32 and line["objects"]["unplaced_objects"] == 0
        assert sum(group["written_bytes"] + group["read_bytes"] for group in groups) == line["bytes"]
        assert sum(group["writes"] + group["reads"] for group in groups) == line["operations"]
        asked = [f"osd map bench {group['names'][-1]} {namespace}" for group in groups]
        for group, said in zip(groups, cluster.ask_all(asked), strict=True):
            assert said["pgid"].endswith(f".{group['group']:x}"), said
            assert group["osds"][0] == said["acting_primary"] and sorted(group["osds"]) == sorted(said["acting"])
    assert verify_files(run) == []
    told = json.loads(done.stdout)["balances"]
    assert {(balance["op"], balance["copies"]) for balance in told} == {("write", 2), ("read", 2)}
    assert all(abs(sum(part["share"] for part in balance["parts"]) - 1) < 1e-9 for balance in told)
    page = (tmp_path / "run" / "report.html").read_text()
    assert "Balance of the OSDs" in page


def first_asked(cluster: lab.Ceph, pool: str) -> set[int]:
    """The OSDs that are asked first for some objects of a pool."""
    asked = (f"osd map {pool} some.{number}" for number in range(12))
    return {said["acting_primary"] for said in cluster.ask_all(asked)}


def test_an_osd_that_is_made_to_get_most_is_called_uneven(cluster: lab.Ceph, tmp_path: Path) -> None:
    # Each OSD has a copy of every object, and the first is read: two of them are never asked first.
    pool = cluster.pool("uneven")
    cluster.ask("osd", "pool", "set", pool, "size", "3")
    for number in (1, 2):
        cluster.ask("osd", "primary-affinity", str(number), "0")
    file = tmp_path / "campaign.toml"
    file.write_text(
        f'target = "rados://{pool}?object=64KiB&conf={cluster.conf}"\n[repeat]\ncount = 1\n'
        '[workload]\nop = ["write", "read"]\ntasks = 2\ntransfer_size = "64KiB"\nblock_size = "8MiB"\n'
    )
    try:
        wait_for(lambda: first_asked(cluster, pool) == {0}, "the map says so")
        tonnage("run", file, "--out", tmp_path / "run", "--no-report")
    finally:
        for number in (1, 2):
            cluster.ask("osd", "primary-affinity", str(number), "1")
    found = {balance.op: balance for balance in analyse(Run.open(tmp_path / "run")).balances}
    assert found["read"].verdict == "uneven" and found["read"].parts[0].share > 0.5
    assert found["write"].verdict == "as chance has it"
