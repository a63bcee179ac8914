"""Each finding fires on the simulated trap it is for, and on nothing else."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tonnage.analysis import analyse
from tonnage.analysis.verify import verify
from tonnage.records import Run, RunWriter, copy_lines, event_lines, task_lines, trial_line

from .chance import seeds as tried
from .simulate import phase, run_phase, setting

native = pytest.importorskip("tonnage._native", reason="the engine is not built: run make build")

SEEDS = tried(6, 2)
REPETITIONS = 3
TASKS = (1, 2, 4, 6, 8, 12, 16)

TRAPS: dict[str, dict[str, Any]] = {
    "a quiet write": {"model": {}, "codes": set()},
    "a quiet read": {"model": {}, "op": "read", "codes": set()},
    "a page cache": {"model": {"cache_bytes": 1 << 40}, "op": "read", "codes": {"cache-read"}},
    "noise of 20 %": {"model": {"noise": 0.2}, "codes": {"unsteady"}},
    "drift": {"model": {"drift": 0.9}, "codes": {"unsteady", "no-plateau"}, "seconds": 2.0},
    "a slow first third": {"model": {"warmup_ns": 10**9}, "codes": {"warm-up"}, "seconds": 3.0},
    "a task four times slower": {"model": {"straggler": 4.0}, "codes": {"straggler-task"}},
    "a lock stall": {
        "model": {"stall_every_ns": 2 * 10**9, "stall_ns": 3 * 10**9},
        "codes": {"stall", "coordinated-omission"},
        "seconds": 4.0,
    },
    "I/O errors": {"model": {"fault_every": 5000}, "codes": {"trial-failed"}},
    "no plateau": {"model": {"shape": "linear", "knee": 16}, "codes": {"no-plateau"}},
    "one repetition": {"model": {}, "repetitions": 1, "codes": {"single-repetition", "no-plateau"}},
    "a dip": {"model": {"knee": 3, "dip": 0.3, "dip_from": 6, "dip_to": 8}, "codes": {"odd-curve"}},
    "two speeds": {"model": {"outliers": 0.4, "outlier_speed": 0.7}, "codes": {"two-speeds", "unsteady", "no-plateau"}},
    "a small block": {"model": {}, "block": 64 << 20, "codes": {"wrapped"}},
}

QUIET_HOST = {
    "hostname": "node", "cpu_count": 8, "clock": "tsc", "cpu_affinity": list(range(8)),
}  # fmt: skip
LOAD = {"load_1min": 3.9, "pressure": {"io": {"some_avg10": 9.0}}}
FACTS: dict[str, Any] = {
    "target": {"kind": "posix", "name": "/mnt", "file_system": "ext4", "interrupt_cpus": [1]}, "host": QUIET_HOST,
    "load_before": LOAD, "ceilings": [{"name": "memory-copy", "bytes_per_s": 1_950_000_000}],
    "costs": [{"transfer_size": 512 << 10, "ns_per_operation": 200_000}],
}  # fmt: skip
"""Of a host on which everything is just below its threshold: the storage has a plateau of 2 GB/s, so an operation of
six tasks takes 1.5 ms."""
MEANWHILE = {
    "lasted_ns": 10**9, "clock_step_ns": -9_000_000, "memory_stall_ns": 45_000_000, "swapped_out_bytes": 0,
    "stolen_ns": 750_000_000,
}  # fmt: skip
LINE: dict[str, Any] = {
    "meanwhile": MEANWHILE, "ensemble": {"launcher": "mpi", "hosts": [], "skew_ns": 40_000_000}, "direct": True,
    "cpu_user_ns": 6 * 10**9, "cpu_system_ns": 10**9,
}  # fmt: skip


def host(
    code: str | None, *, facts: dict[str, Any] | None = None, line: dict[str, Any] | None = None
) -> dict[str, Any]:
    """A trap on that host: the same storage, with facts of the run or of its trials changed."""
    trap = {"model": {}, "seeds": 2, "facts": {**FACTS, **(facts or {})}, "line": {**LINE, **(line or {})}}
    return {**trap, "codes": {code} if code else set()}


def host_counters(**counted: int) -> dict[str, Any]:
    return {"meanwhile": {**MEANWHILE, **counted}}


TRAPS |= {
    "a host below every threshold": host(None),
    "other work": host("load-present", facts={"load_before": {**LOAD, "load_1min": 4.2}}),
    "other I/O": host("load-present", facts={"load_before": {"load_1min": 0, "pressure": {"io": {"some_avg10": 11}}}}),
    "waits for memory": host("memory-pressure", line=host_counters(memory_stall_ns=55_000_000)),
    "a page in swap": host("memory-pressure", line=host_counters(swapped_out_bytes=4096)),
    "stolen processors": host("processor-stolen", line=host_counters(stolen_ns=900_000_000)),
    "a clock that was set": host("clock", line=host_counters(clock_step_ns=-11_000_000)),
    "a slow clock": host("clock", facts={"host": {**QUIET_HOST, "clock": "hpet"}}),
    "hosts that began apart": host(
        "clock", line={"ensemble": {"launcher": "mpi", "hosts": [], "skew_ns": 120_000_000}}
    ),
    "busy processors": host("client-limited", line={"cpu_user_ns": 9 * 10**9}),
    "a slow generator": host("client-limited", facts={"costs": [{"ns_per_operation": 5_000_000}]}),
    "a low ceiling": host("above-ceiling", facts={"ceilings": [{"name": "memory-copy", "bytes_per_s": 15 * 10**8}]}),
    "memory as a file system": host(
        "memory-backed", facts={"target": {"kind": "posix", "memory_backed": True, "file_system": "tmpfs"}}
    ),
    "the other processor's interrupts": host(
        "away-from-interrupt", facts={"host": {**QUIET_HOST, "cpu_affinity": [0]}}
    ),
    "directories of one device": host(
        "same-device",
        facts={
            "target": {
                "kind": "posix",
                "directories": [{"path": "/a", "file_system": "ext4", "device_number": "8:1"}] * 2,
            }
        },
    ),
    "a fallback": host("no-direct", line={"notes": [{"code": "no-direct", "message": "refused"}]}),
}
COMPANIONS = {
    "a dip": {"no-plateau"},  # few points are left on the plateau, and three repetitions of each
    "noise of 20 %": {"no-plateau"},  # three repetitions are too few to see through it
    "a lock stall": {"unsteady", "warm-up", "no-plateau"},  # a trial with a stall in it differs from one without
    "a task four times slower": {"no-plateau", "odd-curve"},  # the last task's share is another at each number of tasks
    "I/O errors": {"single-repetition", "no-plateau"},  # fewer trials are left to repeat and to bracket with
}
"""What a trap truly does besides, as these storages are not quiet in that respect either."""


def simulated_run(directory: Path, seed: int, trap: dict[str, Any]) -> Run:
    """A run of the trap's storage, written as the campaign writes it."""
    op, seconds, block = trap.get("op", "write"), trap.get("seconds", 1.0), trap.get("block", 1 << 32)
    writer = RunWriter.create(
        directory, {"target": {"kind": "sim"}, "seed": seed, "state": "running", **trap.get("facts", {})}
    )
    model = {"kind": "sim", "knee": 5, "noise": 0.03, "jitter": 0.02, "seed": seed, **trap["model"]}
    target = native.Target(json.dumps(model), series_directory=str(directory))
    trial = 0
    for repetition in range(trap.get("repetitions", REPETITIONS)):
        for tasks in TASKS:
            phases = [("write", "fill"), ("read", "measure")] if op == "read" else [("write", "measure")]
            for kind, purpose in phases:
                record = f"{trial:04d}-{kind}"
                # A read needs whole files: they are laid out by size, not by time.
                spec = phase(record, tasks, kind, seconds, 64 << 20 if op == "read" else block)
                result = run_phase(target, {**spec, "limit": {}} if purpose == "fill" else spec)
                line = trial_line(
                    trial=trial, setting=setting(tasks, op), phase=kind, repetition=repetition, block=repetition,
                    started="", result=result, purpose=purpose,
                )  # fmt: skip
                line.update(trap.get("line", {}))
                writer.append_trial(
                    line, task_lines(line, result, ["host"] * len(result["tasks"])), event_lines(line, result)
                )
            trial += 1
    return Run.open(directory)


@pytest.mark.slow
@pytest.mark.parametrize("name", TRAPS)
def test_a_finding_fires_on_its_trap_and_on_nothing_else(
    name: str, tmp_path: Path, calibration_report: Callable[[str], None]
) -> None:
    trap = TRAPS[name]
    fired: Counter[str] = Counter()
    seeds = trap.get("seeds", SEEDS)
    for seed in range(seeds):
        run = simulated_run(tmp_path / str(seed), seed, trap)
        fired.update({finding.code for finding in analyse(run).findings})
        assert verify(run).contradictions == ()
    said = ", ".join(f"{code} {count}/{seeds}" for code, count in sorted(fired.items())) or "nothing"
    calibration_report(f"findings on {name + ':':<28}{said}")
    assert all(fired[code] == seeds for code in trap["codes"])
    assert set(fired) - trap["codes"] <= COMPANIONS.get(name, set()) | seldom(fired, seeds)


def seldom(fired: Counter[str], seeds: int) -> set[str]:
    """Three repetitions of each of seven numbers of tasks do not always exclude a rise at the last."""
    return {"no-plateau"} if 2 * fired["no-plateau"] <= seeds else set()


MIB = 1 << 20
WRITE = {"kind": "stream", "op": "write", "durability": "none", "cache": "keep"}
GEOMETRY = {"transfer_size": MIB, "block_size": 64 * MIB, "layout": "file-per-task", "access": "random"}
TAIL = {
    "kind": "tail", "transfer_size": MIB, "file_bytes": 2048 * MIB, "follow": "whole", "waiting": "poll",
    "poll_ns": 10**8, "durability": "none",
}  # fmt: skip
COMMAND = {"kind": "command", "argv": ["compress"], "copies": 48, "directory": "/"}
TREE = {"depth": 1, "branch": 4, "items_per_directory": 100, "leaves_only": False, "shared": False}
FILES = {"kind": "files", "tree": TREE, "file_bytes": 64 << 10, "cache": "keep"}
PLANTED = [{**FILES, "op": "make-tree"}, {**FILES, "op": "create"}]

KINDS: dict[str, dict[str, Any]] = {
    "a quiet mix": {
        "work": {**WRITE, "read_percent": 70, "geometry": GEOMETRY}, "op": "mixed", "codes": set(),
        "before": [{**WRITE, "geometry": GEOMETRY}],
    },
    "a tail that readers can follow": {
        "work": TAIL, "op": "tail", "tasks": (1, 2, 9), "codes": set(), "pace": {"bytes_per_s": 100 * MIB},
    },
    "a tail with more readers than the storage feeds": {
        "work": TAIL, "op": "tail", "tasks": (1, 2, 9), "codes": {"lag"},
    },
    "a tail under a lock": {
        "work": TAIL, "op": "tail", "tasks": (2, 9), "codes": {"stall", "lag"},
        "model": {"stall_every_ns": 2 * 10**9, "stall_ns": 3 * 10**9},
    },
    "a rate that is kept": {
        "work": {**WRITE, "geometry": GEOMETRY}, "op": "write", "tasks": (8,), "codes": set(),
        "pace": {"bytes_per_s": 500 * MIB},
    },
    "a rate above the plateau": {
        "work": {**WRITE, "geometry": GEOMETRY}, "op": "write", "tasks": (8,), "codes": {"late"},
        "pace": {"bytes_per_s": 4000 * MIB},
    },
    "a quiet command": {"work": COMMAND, "op": "command", "codes": set()},
    "quiet creates": {"work": {**FILES, "op": "create"}, "op": "create", "before": PLANTED[:1], "codes": set()},
    "quiet stats": {"work": {**FILES, "op": "stat"}, "op": "stat", "before": PLANTED, "codes": set()},
    "quiet small reads": {
        "work": {**FILES, "op": "read", "verify": True}, "op": "read", "before": PLANTED, "codes": set(),
    },
    "small files in the page cache": {
        "work": {**FILES, "op": "read"}, "op": "read", "before": PLANTED, "codes": {"cache-read"},
        "model": {"cache_bytes": 1 << 40},
    },
    "small files with damage": {
        "work": {**FILES, "op": "read", "verify": True}, "op": "read", "before": PLANTED,
        "codes": {"damaged-data", "trial-failed"},  # damage fails its trial
        "model": {"damage_every": 500},
    },
    "creates under a lock": {
        "work": {**FILES, "op": "create"}, "op": "create", "before": PLANTED[:1],
        "codes": {"stall", "coordinated-omission"},
        "tasks": (8, 16), "model": {"stall_every_ns": 10**8, "stall_ns": 3 * 10**9},
    },
    "names without a plateau": {
        "work": {**FILES, "op": "stat"}, "op": "stat", "before": PLANTED, "codes": {"no-plateau"},
        "model": {"shape": "linear", "knee": 16},
    },
}  # fmt: skip
KIND_COMPANIONS = {
    "a tail under a lock": {"unsteady", "warm-up"},
    "a rate above the plateau": {"warm-up"},
    # Three repetitions with noise do not always tell a corner from a creep.
    "a quiet command": {"no-plateau"},
    "quiet stats": {"no-plateau"},
    "creates under a lock": {"unsteady", "warm-up", "no-plateau"},
}


def run_of_kind(directory: Path, seed: int, trap: dict[str, Any]) -> Run:
    """A run of another kind of workload, as the campaign writes it."""
    writer = RunWriter.create(directory, {"target": {"kind": "sim"}, "seed": seed, "state": "running"})
    model = {"kind": "sim", "knee": 5, "noise": 0.03, "jitter": 0.02, "seed": seed, **trap.get("model", {})}
    work, op, pace = trap["work"], trap["op"], trap.get("pace", {})
    trials = [(repetition, tasks) for repetition in range(REPETITIONS) for tasks in trap.get("tasks", TASKS)]
    for trial, (repetition, tasks) in enumerate(trials):
        # A tail starts on a fresh file, and so does everything else.
        target = native.Target(json.dumps({**model, "seed": 100 * seed + trial}), series_directory=str(directory))
        spec = {"tasks": {"first": 0, "here": tasks, "total": tasks}, "seed": 1, "work": work}
        for number, fill in enumerate(trap.get("before", ())):
            run_phase(target, {**spec, "record": f"{trial:04d}-fill-{number}", "work": fill})
        result = run_phase(target, {**spec, "record": f"{trial:04d}-{op}", "pace": pace})
        kind = {"kind": work["kind"], "tasks": tasks, "poll_ns": work.get("poll_ns")}
        line = trial_line(
            trial=trial, setting={**kind, "rate_bytes_per_s": pace.get("bytes_per_s")}, phase=op,
            repetition=repetition, block=repetition, started="", result=result,
        )  # fmt: skip
        events, copies = event_lines(line, result), copy_lines(line, result)
        writer.append_trial(line, task_lines(line, result, ["host"] * len(result["tasks"])), events, copies)
    return Run.open(directory)


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_a_finding_fires_on_its_trap_of_another_kind_and_on_nothing_else(
    name: str, tmp_path: Path, calibration_report: Callable[[str], None]
) -> None:
    trap = KINDS[name]
    fired: Counter[str] = Counter()
    for seed in range(SEEDS):
        run = run_of_kind(tmp_path / str(seed), seed, trap)
        fired.update({finding.code for finding in analyse(run).findings})
        assert verify(run).contradictions == ()
    said = ", ".join(f"{code} {count}/{SEEDS}" for code, count in sorted(fired.items())) or "nothing"
    calibration_report(f"findings on {name + ':':<28}{said}")
    assert all(fired[code] == SEEDS for code in trap["codes"])
    assert set(fired) - trap["codes"] <= KIND_COMPANIONS.get(name, set()) | seldom(fired, SEEDS)


ELSEWHERE = {
    "straggler-host": "tests/report/test_hosts.py",
    "unequal-ranks": "tests/report/test_hosts.py",
    "straggler-device": "tests/analysis/test_devices.py",
    "link-limited": "tests/analysis/test_links.py",
    "unit-mismatch": "tests/importers/test_import_ior.py",
    "mean-of-rates": "tests/compat/test_misleading_output.py",
    "fixed-cost": "tests/calibration/test_snapshots.py",
}
"""Codes whose traps need several hosts, links, devices, files or programs: where they fire and where they do not."""
NAMED = (
    "cache-read", "above-ceiling", "no-plateau", "client-limited", "straggler-task", "unsteady", "stall", "warm-up",
    "coordinated-omission", "single-repetition", "memory-pressure", "load-present", "clock", "two-speeds",
    "odd-curve", *ELSEWHERE,
)  # fmt: skip
"""What every user of a storage benchmark should be told, and is told nowhere else."""


def test_every_named_finding_has_its_trap() -> None:
    here = {code for trap in (*TRAPS.values(), *KINDS.values()) for code in trap["codes"]}
    assert set(NAMED) - here == set(ELSEWHERE)
    root = Path(__file__).parents[2]
    assert [code for code, path in ELSEWHERE.items() if f'"{code}"' not in (root / path).read_text()] == []
