"""At which transfer sizes ceilings are measured: at those of the campaign, as far as its budget bears it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tonnage.campaign.campaign_file import build_campaign
from tonnage.campaign.host_ceilings import _affordable, sized
from tonnage.cli import main

KIB, SECOND = 1 << 10, 10**9
SIZES = [KIB << step for step in range(12)]


def sizes_of(*workloads: dict[str, Any]) -> list[int]:
    """In order."""
    campaign = build_campaign({"target": "null:", "workload": list(workloads)}, stored=True)
    return [stream.transfer_size for stream in sized(campaign.settings())]


def test_every_size_of_any_workload_is_one_the_first_first() -> None:
    stream = {"kind": "stream", "tasks": [1, 2], "transfer_size": ["1MiB", "4KiB"], "block_size": "8MiB"}
    tail = {"kind": "tail", "name": "followed", "transfer_size": "64KiB"}
    assert sizes_of({**stream, "name": "a"}, tail) == [1024 * KIB, 4 * KIB, 64 * KIB]
    assert sizes_of({"kind": "files", "tasks": 1, "items": 8}) == [1024 * KIB], "the engine's plain size"
    assert sizes_of({"kind": "command", "argv": ["true"], "copies": 1}) == []


def test_a_budget_leaves_the_first_and_sizes_evenly_apart() -> None:
    assert _affordable(SIZES, None) == set(SIZES)
    assert _affordable(SIZES, 3600 * SECOND) == set(SIZES)
    assert _affordable(SIZES, 10 * SECOND) == {SIZES[0]}
    assert _affordable(SIZES, 36 * SECOND) == {SIZES[0], SIZES[1], SIZES[-1]}
    many = [KIB * step for step in range(1, 1000)]
    assert len(_affordable(many, None)) == 16 and {many[0], many[-1]} < _affordable(many, None)
    assert _affordable([KIB, 1 << 30], None) == {KIB}, "memory for each processor's buffers"


def test_a_run_keeps_ceilings_and_costs_of_each_size(tmp_path: Path) -> None:
    file = tmp_path / "sizes.toml"
    workload = 'op = "write"\ntasks = 1\ntransfer_size = ["1MiB", "4KiB"]\nblock_size = "1MiB"\n'
    file.write_text(f'target = "null:"\nseed = 1\n[workload]\n{workload}')
    assert main(["run", str(file), "--out", str(tmp_path / "run"), "--no-report"]) == 0
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    found = {(one["name"], one["transfer_size"]): one["bytes_per_s"] for one in manifest["ceilings"]}
    assert set(found) == {(name, size) for name in ("memory-copy", "null-storage") for size in (1 << 20, 4 * KIB)}
    assert all(bytes_per_s > 0 for bytes_per_s in found.values())
    assert [cost["transfer_size"] for cost in manifest["costs"]] == [1 << 20, 4 * KIB]
    assert manifest["cost"] == manifest["costs"][0]
