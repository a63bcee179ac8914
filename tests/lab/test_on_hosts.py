"""``tonnage run --on slurm`` from the login host of a site whose hosts are apart: what runs where, in what order."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hosts import wait_for
from impossible import skipped_where_impossible
from two_sites import FILES, Plan, TwoSites, two_sites

LIMIT_S = 240.0
"""Some times ten seconds, and a busy machine."""

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def sites() -> Iterator[TwoSites]:
    pytest.importorskip("tonnage._native", reason="the engine is not built: run ./tonnage once")
    with skipped_where_impossible(), two_sites(Plan(files=False)) as whole:
        whole.run("mkdir", FILES / "target")
        yield whole


def command(sites: TwoSites, name: str, workload: str, *words: str, job: str = "") -> list[str]:
    """A campaign's command line, for ``head``."""
    file = sites.hosts["head"].path(FILES) / f"{name}.toml"
    top = f'target = "{FILES}/target"\norder = "given"\n[job]\non = "slurm"\n{job}\n[repeat]\ncount = 1\n'
    file.write_text(f"{top}[[workload]]\n{workload}")
    return [sys.executable, "-m", "tonnage.cli", "run", str(FILES / file.name), "--no-report", *words]


def run(sites: TwoSites, name: str, workload: str, *words: str) -> tuple[int, str]:
    done = sites.run(*command(sites, name, workload, *words), directory=FILES, timeout_s=LIMIT_S, check=False)
    return done.returncode, done.stderr


def trials_of(sites: TwoSites, name: str) -> list[dict[str, Any]]:
    lines = (sites.hosts["head"].path(FILES) / name / "trials.jsonl").read_text().splitlines()
    return [line for line in map(json.loads, lines) if line["purpose"] == "measure"]


def test_each_host_of_a_factor_has_its_trials_in_a_job_of_its_own(sites: TwoSites) -> None:
    workload = 'op = "write"\ntasks = 2\nblock_size = "1MiB"\npartition = "all"\nhosts = [["compute2"], ["epouta3"]]\n'
    code, said = run(sites, "single", workload, "--out", str(FILES / "single"))
    assert code == 0, said
    place = sites.hosts["head"].path(FILES) / "single"
    trials = {line["record"]: line for line in trials_of(sites, "single")}
    tasks = [json.loads(line) for line in (place / "tasks.jsonl").read_text().splitlines()]
    assert {(task["host"], *trials[task["record"]]["setting"]["hosts"]) for task in tasks} == {
        ("compute2", "compute2"),
        ("epouta3", "epouta3"),
    }
    manifest = json.loads((place / "manifest.json").read_text())
    assert manifest["on"] == {"scheduler": "slurm", "host": "head"}
    assert {manifest["host"]["hostname"], *manifest["hosts"]} == {"compute2", "epouta3"}


def test_a_run_directory_that_the_hosts_do_not_see_is_a_wrong_request(sites: TwoSites) -> None:
    code, said = run(sites, "unseen", 'op = "write"\ntasks = 1\nblock_size = "1MiB"\n', "--out", "/tmp/unseen")
    assert code == 2, said
    assert "left nothing in /tmp/unseen" in said.splitlines()[-1]
    assert said.splitlines()[-1].endswith("hint: give a run directory that all hosts share")


needs_mpi = pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed")


@needs_mpi
def test_tasks_come_in_the_order_of_the_hosts_asked_for(sites: TwoSites) -> None:
    sets = [["compute2", "compute1", "epouta1"], ["epouta1", "compute1", "compute2"]]
    workload = 'op = "write"\ntasks = 6\ntasks_per_node = 2\nblock_size = "1MiB"\npartition = "all"\n'
    code, said = run(sites, "order", f"{workload}hosts = {json.dumps(sets)}\n", "--out", str(FILES / "order"))
    assert code == 0, said
    place = sites.hosts["head"].path(FILES) / "order"
    tasks = [json.loads(line) for line in (place / "tasks.jsonl").read_text().splitlines()]
    trials = trials_of(sites, "order")
    assert len(trials) == 2
    for trial in trials:
        asked = trial["setting"]["hosts"]
        assert [one["host"] for one in trial["ensemble"]["hosts"]] == asked
        mine = [task["host"] for task in tasks if task["record"] == trial["record"]]
        assert mine == [host for host in asked for _ in range(2)]
    assert sorted(trial["setting"]["hosts"] for trial in trials) == sorted(sets)


@needs_mpi
def test_a_node_that_dies_is_named_and_the_rest_is_measured_on_others(sites: TwoSites) -> None:
    # Longer than it takes on the busiest machine to find out who measures, and to end it.
    write = 'op = "write"\ntasks = 3\ntasks_per_node = 1\nwrap = true\noperations_rate = 100\n'
    first = f'name = "long"\n{write}time_limit = "600s"\n'
    second = first.replace("600s", "1s").replace("long", "short")
    words = ("--target", "null:", "--out", str(FILES / "dies"))
    argv = command(sites, "dies", f"{first}[[workload]]\n{second}", *words, job='partition = "all"\nnodes = 3')
    head = sites.hosts["head"]
    process = subprocess.Popen(
        head.command_line(argv, FILES), env=os.environ | sites.environment, stderr=subprocess.PIPE, text=True
    )
    progress = head.path(FILES) / "dies" / "progress.json"

    def under_way() -> bool:
        assert process.poll() is None, process.communicate()
        return progress.exists() and bool(json.loads(progress.read_text())["live"])

    wait_for(under_way, "a phase is under way", patience_s=LIMIT_S)
    said = sites.run("squeue", "--noheader", "--format=%N").stdout
    gone = sites.run("scontrol", "show", "hostnames", said.strip()).stdout.split()[-1]
    sites.down(gone)
    try:
        _, told = process.communicate(timeout=LIMIT_S)
    finally:
        sites.up(gone)
    assert process.returncode == 1, told
    measured = [line for line in trials_of(sites, "dies") if line["status"] != "interrupted"]
    assert [line["status"] for line in measured] == ["failed", "ok"], measured
    assert "NODE_FAIL: NodeDown" in measured[0]["reason"] and f"{gone} is down" in measured[0]["reason"]
    assert gone not in {one["host"] for one in measured[1]["ensemble"]["hosts"]}
