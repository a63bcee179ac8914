"""The ``rados`` storage on a real Ceph: the suite of all storages, campaigns, and what a user may get wrong."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ceph as lab
import pytest
import rust_suites
from impossible import skipped_where_impossible
from tonnage.records import Run
from tonnage_commands import LIMIT_S, tonnage


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[lab.Ceph]:
    with skipped_where_impossible(), lab.ceph(tmp_path_factory.mktemp("ceph")) as found:
        found.pool("bench")
        yield found


def objects(cluster: lab.Ceph) -> list[str]:
    """All that are in the pool, with their namespaces."""
    argv = ["rados", "--conf", str(cluster.conf), "--pool", "bench", "ls", "--all"]
    return subprocess.run(argv, check=True, capture_output=True, text=True, timeout=LIMIT_S).stdout.split("\n")[:-1]


def campaign(directory: Path, target: str) -> Path:
    file = directory / "campaign.toml"
    file.write_text(f'target = "{target}"\n[repeat]\ncount = 1\n[workload]\nop = "write"\nblock_size = "1MiB"\n')
    return file


@pytest.mark.timeout(600)
def test_it_passes_the_suite_of_all_storages(cluster: lab.Ceph) -> None:
    given = {**os.environ, "CEPH_CONF": str(cluster.conf), "TONNAGE_TEST_POOL": "bench"}
    with skipped_where_impossible():
        rust_suites.passes("storage", "conformance::rados", 10, given)
        rust_suites.passes("storage", "tree::a_pool", 1, given)


def test_a_campaign_writes_reads_back_what_it_wrote_and_leaves_nothing(cluster: lab.Ceph, tmp_path: Path) -> None:
    before = objects(cluster)
    file = tmp_path / "campaign.toml"
    file.write_text(
        f'target = "rados://bench?object=256KiB&conf={cluster.conf}"\n[repeat]\ncount = 2\n'
        '[workload]\nop = ["write", "read"]\ntasks = [1, 3]\nqueue_depth = [1, 8]\n'
        'transfer_size = "64KiB"\nblock_size = "2MiB"\nverify = true\n'
    )
    tonnage("run", file, "--out", tmp_path / "run", "--no-report")
    run = Run.open(tmp_path / "run")
    measured = [line for line in run.trials() if line["purpose"] == "measure"]
    assert len(measured) == 16 and all(line["status"] == "ok" for line in measured)
    assert {line["bytes"] for line in measured} == {2 << 20, 6 << 20}
    assert run.manifest["target"]["kind"] == "rados"
    # What an OSD has in memory it does not tell, and this host counts no read of a device.
    assert {line["cache"]["state"] for line in measured if line["phase"] == "read"} == {"unknown"}
    assert objects(cluster) == before


@pytest.mark.timeout(120)
def test_writes_that_are_lent_one_place_of_memory_after_another_carry_what_it_holds_now(
    cluster: lab.Ceph, tmp_path: Path
) -> None:
    """A transfer as large as all of a task's bytes in memory: the library knows a sum of the ones before."""
    file = tmp_path / "campaign.toml"
    file.write_text(
        f'target = "rados://bench?conf={cluster.conf}&timeout=10s"\n[repeat]\ncount = 1\n'
        '[workload]\nop = ["write", "read"]\ntasks = 2\ntransfer_size = "2MiB"\nblock_size = "16MiB"\nverify = true\n'
    )
    tonnage("run", file, "--out", tmp_path / "run", "--no-report")
    lines = [line for line in Run.open(tmp_path / "run").trials() if line["purpose"] == "measure"]
    assert {line["phase"]: line["status"] for line in lines} == {"write": "ok", "read": "ok"}
    (checked,) = [line["verify"] for line in lines if line["phase"] == "read"]
    assert (checked["checked_bytes"], checked["damaged_operations"]) == (32 << 20, 0)


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("rados://nosuch?conf={conf}", "Ceph has no pool nosuch"),
        ("rados://bench?conf=/no/such/ceph.conf", "cannot read /no/such/ceph.conf"),
        ("rados://bench?conf={silent}", "no monitor answered within 10 s"),
        ("rados:bench", "write rados://POOL"),
        ("rados://bench?objekt=1MiB", "did you mean 'object'"),
    ],
)
def test_what_cannot_be_reached_is_one_line_and_exit_2(
    cluster: lab.Ceph, tmp_path: Path, target: str, said: str
) -> None:
    silent = tmp_path / "silent.conf"
    silent.write_text("[global]\nmon host = [v2:127.0.0.1:1]\nauth client required = none\n")
    file = campaign(tmp_path, target.format(conf=cluster.conf, silent=silent))
    done = tonnage("run", file, "--out", tmp_path / "run", expect=2)
    assert said in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert not (tmp_path / "run").exists()


def test_a_probe_keeps_to_its_space_and_leaves_nothing(cluster: lab.Ceph, tmp_path: Path) -> None:
    before, uri = objects(cluster), f"rados://bench?conf={cluster.conf}"
    limits = ["--space", "16MiB", "--budget", "4s", "--max-tasks", "3"]
    tonnage("probe", uri, *limits, "--out", tmp_path / "run", "--no-report")
    trials = Run.open(tmp_path / "run").trials()
    assert {line["phase"] for line in trials} == {"write", "read"}
    assert all(line["setting"]["block_size"] * line["setting"]["tasks"] <= 16 << 20 for line in trials)
    assert objects(cluster) == before


def test_small_objects_are_made_looked_at_read_and_removed(cluster: lab.Ceph, tmp_path: Path) -> None:
    before = objects(cluster)
    file = tmp_path / "campaign.toml"
    file.write_text(
        f'target = "rados://bench?conf={cluster.conf}"\n[repeat]\ncount = 1\n[workload]\nkind = "files"\n'
        'phases = ["create", "write", "stat", "read", "remove"]\ntasks = [1, 3]\ndepth = [0, 1]\nbranch = 2\n'
        'items_per_directory = 20\nfile_size = [0, "3KiB"]\nshift = 1\nverify = true\n'
    )
    tonnage("run", file, "--out", tmp_path / "run", "--no-report")
    lines = [line for line in Run.open(tmp_path / "run").trials() if line["purpose"] == "measure"]
    assert {line["status"] for line in lines} == {"ok"} and len(lines) == 8 * 5
    for line in lines:
        setting = line["setting"]
        items = setting["tasks"] * 20 * (3 if setting["depth"] else 1)
        moved = setting["file_size"] * items if line["phase"] in ("create", "write", "read") else 0
        assert (line["operations"], line["bytes"]) == (items, moved), line["phase"]
        if line["phase"] == "read":
            assert line["verify"]["checked_bytes"] == moved and not line["verify"]["damaged_operations"]
    assert objects(cluster) == before


@pytest.mark.parametrize(
    ("workload", "said"),
    [
        ('phases = ["create", "rename"]', "nothing to rename"),
        ('phases = ["create", "read-directory"]', "a pool lists all of its objects or none"),
        ('what = "both"', "objects have no directories"),
        ('file_size = "5MiB"', "a file of 5MiB is one object, and those have 4MiB"),
    ],
)
def test_what_objects_do_not_do_is_refused_and_leaves_nothing(
    cluster: lab.Ceph, tmp_path: Path, workload: str, said: str
) -> None:
    before = objects(cluster)
    file = tmp_path / "campaign.toml"
    file.write_text(f'target = "rados://bench?conf={cluster.conf}"\n[workload]\nkind = "files"\n{workload}\n')
    done = tonnage("run", file, "--out", tmp_path / "refused", expect=2)
    assert said in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert objects(cluster) == before


def test_objects_of_others_stay(cluster: lab.Ceph, tmp_path: Path) -> None:
    argv = ["rados", "--conf", str(cluster.conf), "--pool", "bench", "put", "data.00000000.00000000", str(cluster.conf)]
    subprocess.run(argv, check=True, timeout=LIMIT_S)
    file = campaign(tmp_path, f"rados://bench?conf={cluster.conf}")
    done = tonnage("run", file, "--json", "--no-report", "--out", tmp_path / "run")
    assert json.loads(done.stdout)
    assert any("data.00000000.00000000" in name for name in objects(cluster))


def written(cluster: lab.Ceph, namespace: str, *, depth: int, transfer_size: int, write_once: bool) -> Any:
    """A file of one object in a namespace of its own; the target, which keeps it."""
    native = pytest.importorskip("tonnage._native", reason="the engine is not built: run ./tonnage once")
    pool = {"pool": "bench", "namespace": namespace, "object_bytes": 1 << 20, "conf": str(cluster.conf)}
    target = native.Target(json.dumps({"kind": "rados", "rados": {**pool, "write_once": write_once}}))
    block = {"block_size": 1 << 20, "layout": "file-per-task", "access": "sequential"}
    work = {"kind": "stream", "op": "write", "queue_depth": depth, "durability": "none", "cache": "keep"}
    phase = target.start(
        json.dumps(
            {
                "record": "0000-write",
                "tasks": {"here": 1, "total": 1},
                "seed": 1,
                "work": {**work, "geometry": {**block, "transfer_size": transfer_size}},
            }
        )
    )
    phase.go()
    assert phase.wait(30.0)
    assert phase.result()["first_error"] is None
    return target


@pytest.mark.timeout(120)
def test_an_osd_knows_of_objects_that_are_written_once(tmp_path: Path) -> None:
    """Its own tool says what it was told, once it is stopped."""
    ways = {
        "plain": {"depth": 4, "transfer_size": 65536, "write_once": False},
        "lent": {"depth": 4, "transfer_size": 65536, "write_once": True},
        "copied": {"depth": 4, "transfer_size": 4096, "write_once": True},
        "one-by-one": {"depth": 1, "transfer_size": 4096, "write_once": True},
    }
    with skipped_where_impossible(), lab.ceph(tmp_path, osds=1, store="bluestore", groups=1) as cluster:
        cluster.pool("bench")
        kept = [written(cluster, namespace, **way) for namespace, way in ways.items()]
        cluster.stop("osd.0")
        known = kept_by_stopped_osd(cluster)
        assert len(kept) == len(ways)
    # LIBRADOS_ALLOC_HINT_FLAG_SEQUENTIAL_WRITE, _SEQUENTIAL_READ, _APPEND_ONLY and _IMMUTABLE.
    flags = 1 + 4 + 16 + 32
    assert known == {
        "plain": (0, 0, 0),
        "lent": (1 << 20, 65536, flags),
        "copied": (1 << 20, 4096, flags),
        "one-by-one": (1 << 20, 4096, flags),
    }


def kept_by_stopped_osd(cluster: lab.Ceph) -> dict[str, tuple[int, int, int]]:
    """By namespace, what a stopped OSD keeps of its object: its bytes, a write's, and how it is used."""

    def asked(*words: str) -> str:
        argv = ["ceph-objectstore-tool", f"--conf={cluster.conf}", "--no-mon-config"]
        place = f"--data-path={cluster.directory / 'osd.0'}"
        return subprocess.run(
            [*argv, place, *words], check=True, capture_output=True, text=True, timeout=LIMIT_S
        ).stdout

    found = {}
    for line in asked("--op", "list").splitlines():
        _, name = json.loads(line)
        if name["oid"].startswith("data."):
            info = json.loads(asked(line, "dump"))["info"]
            size, write = info["expected_object_size"], info["expected_write_size"]
            found[name["namespace"]] = (size, write, info["alloc_hint_flags"])
    return found
