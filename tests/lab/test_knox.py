"""The whole experiment of ``examples/knox-epouta.toml``, small, on the hosts of the lab and through its scheduler."""

from __future__ import annotations

import copy
import importlib.util
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nextflow
import pytest
from impossible import skipped_where_impossible
from two_sites import FILES, GBIT_BYTES_PER_S, Plan, TwoSites, two_sites

pytestmark = pytest.mark.alone("rates of links")

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
SCALE = "0.001"
LIMIT_S = 240.0
several = pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="several hosts at once need mpi4py")
Lines = list[dict[str, Any]]


@pytest.fixture(scope="module")
def sites() -> Iterator[TwoSites]:
    with skipped_where_impossible(), two_sites(Plan(link_bytes_per_s=GBIT_BYTES_PER_S)) as whole:
        yield whole


def part(change: Callable[[dict[str, Any]], bool]) -> str:
    """The example's text with one repetition, and of its workloads those that ``change`` keeps, as it leaves them."""
    whole = tomllib.loads((ROOT / "examples/knox-epouta.toml").read_text(encoding="utf-8"))
    whole["repeat"]["count"] = 1
    kept = [table for table in copy.deepcopy(whole.pop("workload")) if change(table)]
    tables = [("", {key: value for key, value in whole.items() if not isinstance(value, dict)})]
    tables += [(f"[{name}]", table) for name, table in whole.items() if isinstance(table, dict)]
    tables += [("[[workload]]", table) for table in kept]
    return "\n".join(line for head, table in tables for line in (head, *(_entry(*item) for item in table.items())))


def _entry(key: str, value: Any) -> str:
    if isinstance(value, dict):
        return f"{key} = {{ {', '.join(_entry(*item) for item in value.items())} }}"
    return f"{key} = {json.dumps(value)}"


def measure_from_head(sites: TwoSites, name: str, text: str, *, path: str = "") -> tuple[Lines, str]:
    """Runs it from ``head``: the lines of its trials, and what it said."""
    files = sites.hosts["head"].path(FILES)
    (files / f"{name}.toml").write_text(text, encoding="utf-8")
    words = ["run", "--scale", SCALE, "--target", FILES, "--out", FILES / name, FILES / f"{name}.toml"]
    argv = ["env", f"PATH={path}{os.environ['PATH']}:/usr/sbin", "COLUMNS=200", sys.executable, "-m", "tonnage.cli"]
    done = sites.run(*argv, *words, directory=FILES, timeout_s=LIMIT_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [json.loads(line) for line in (files / name / "trials.jsonl").read_text().splitlines()]
    return [line for line in lines if line["purpose"] == "measure"], done.stdout


@several
def test_sob_on_sets_of_hosts_keeps_their_order_and_stands_below_the_published_figures(sites: TwoSites) -> None:
    kept = {"test-1", "test-2", "test-4"}

    def small(table: dict[str, Any]) -> bool:
        if isinstance(table["hosts"][0], list):
            table["hosts"] = table["hosts"][1:3]
        return table["name"] in kept

    lines, said = measure_from_head(sites, "sob", part(lambda table: table["name"].startswith("test") and small(table)))
    assert {line["status"] for line in lines} == {"ok"}
    order = {tuple(host["host"] for host in line["ensemble"]["hosts"]) for line in lines}
    assert order == {("epouta3", "epouta2", "epouta1"), ("compute1", "epouta1", "epouta2")}
    assert {(line["setting"]["workload"], line["phase"]) for line in lines} == {
        ("test-1", "write"), ("test-1", "read"), ("test-2", "write"), ("test-4", "write"), ("test-4", "read"),
    }  # fmt: skip
    assert said.count("this run, together") == 2


@several
def test_hosts_of_the_far_site_get_what_the_link_carries_and_never_more(sites: TwoSites) -> None:
    def small(table: dict[str, Any]) -> bool:
        if table["name"] == "three-pairs":
            table["duration"], table["direction"] = "4000s", "receive"
        if table["name"] == "link":
            table["block_size"] = "40GiB"
        return table["name"] in ("three-pairs", "link")

    lines, _ = measure_from_head(sites, "link", part(small))
    assert {line["status"] for line in lines} == {"ok"}
    together = [line for line in lines if line["phase"] == "network" and len(line["setting"]["pairs"]) == 3]
    assert together
    for line in together:
        assert 0.85 < line["bandwidth_bytes_per_s"] / GBIT_BYTES_PER_S < 1.05, line["record"]
    # What is read may have stayed in memory; what is written has to arrive.
    for line in lines:
        if line["phase"] == "write":
            assert 0.4 < line["bandwidth_bytes_per_s"] / GBIT_BYTES_PER_S < 1.05, line["record"]


def test_workflows_go_to_their_partition_and_their_trace_is_read(sites: TwoSites) -> None:
    with skipped_where_impossible():
        program = nextflow.program()

    def small(table: dict[str, Any]) -> bool:
        table["partition"] = {"cancer-analysis": ["epouta1-mm2"], "wgs-structvar-manta": ["mm"]}.get(table["name"])
        return table["partition"] is not None

    sites.hosts["head"].run("cp", "-r", ROOT / "lab/workflows", FILES)
    lines, said = measure_from_head(sites, "flows", part(small), path=f"{program.parent}:")
    assert {line["status"] for line in lines} == {"ok"}
    assert {line["setting"]["partition"] for line in lines} == {"mm", "epouta1-mm2"}
    traced = (sites.hosts["head"].path(FILES) / "flows" / "workflow.jsonl").read_text().splitlines()
    assert {json.loads(line)["record"] for line in traced} == {line["record"] for line in lines}
    ended = (sites.hosts.site / "slurm/ended").read_text()
    went = re.findall(r"Name=nf-\S+ .*Partition=(\S+) .*NodeList=(\S+)", ended)
    assert ("mm", "compute1") in went
    assert ("epouta1-mm2", "epouta1") in went
    assert {partition for partition, _ in went} == {"mm", "epouta1-mm2"}
    assert "Workflows over six partitions" in said
