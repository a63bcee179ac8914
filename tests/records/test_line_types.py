"""The typed lines, results and specifications are those of the engine's sources, key by key, and those of real runs."""

from __future__ import annotations

import re
import typing
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union

import pytest
import tonnage
from tonnage.records import Run, phase_results, phase_specs
from tonnage.records import line_types as shapes
from tonnage.staging import mover_status

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("records/src", "workload/src", "storage/src/target", "mover/src")

RESULTS = {
    "LatencySummary": phase_results.LatencySummary, "ErrorAt": phase_results.ErrorAt,
    "DamageAt": phase_results.DamageAt, "VerifyResult": phase_results.VerifyResult,
    "CacheFacts": phase_results.CacheFacts, "Note": phase_results.Note, "Event": phase_results.Event,
    "OperationResult": phase_results.OperationResult, "FollowResult": phase_results.TailResult,
    "CopyResult": phase_results.CopyResult,
    "CheckpointResult": phase_results.CheckpointResult, "HeldResult": phase_results.GroupPlacement,
    "PlacementResult": phase_results.PlacementResult, "TaskResult": phase_results.TaskResult,
    "PhaseResult": phase_results.PhaseResult, "TrainingResult": phase_results.TrainingResult,
    "KvCacheResult": phase_results.KvCacheResult,
}  # fmt: skip
SPECS = {
    "TaskRange": phase_specs.TaskRange, "Limit": phase_specs.Limit, "RateLimits": phase_specs.RateLimits,
    "Geometry": phase_specs.Geometry, "Tree": phase_specs.Tree, "PhaseSpec": phase_specs.PhaseSpec,
    "Cut": phase_specs.Cut, "PoolSpec": phase_specs.PoolSpec, "FileView": phase_specs.FileView,
    "MpiioSpec": phase_specs.MpiioSpec, "ExportSpec": phase_specs.ExportSpec, "BucketSpec": phase_specs.BucketSpec,
    "Delays": phase_specs.Delays, "TargetSpec": phase_specs.TargetSpec, "Dataset": phase_specs.Dataset,
    "Saving": phase_specs.Saving,
}  # fmt: skip
MOVER = {
    "Totals": mover_status.Totals, "Waiting": mover_status.PathReason, "Failure": mover_status.PathReason,
    "Status": mover_status.MoverStatus, "Report": mover_status.CopiesReport,
}  # fmt: skip
TYPES = RESULTS | SPECS | MOVER
NOT_OF_THE_ENGINE = {"TaskResult": {"tasks", "together"}, "PhaseResult": {"stage", "network"}}
"""What other programs' phases have besides."""
WORKS = ("Stream", "Files", "Tail", "Command", "Find", "Checkpoint", "Training", "KvCache")
PLAIN = {
    "u8": int,
    "u16": int,
    "u32": int,
    "u64": int,
    "i32": int,
    "f64": float,
    "bool": bool,
    "String": str,
    "PathBuf": str,
}


def fields(name: str) -> dict[str, str]:
    """Name and type of each public field of a struct of the engine's sources."""
    for place in SOURCES:
        for file in sorted((ROOT / "crates" / place).rglob("*.rs")):
            if found := re.search(rf"pub struct {name} \{{\n(.*?)\n\}}", file.read_text(), re.DOTALL):
                return dict(re.findall(r"^    pub (\w+): (.+),$", found[1], re.MULTILINE))
    raise LookupError(f"no struct {name} in {SOURCES}")


def fits(rust: str, kind: Any, types: dict[str, Any] = RESULTS | SPECS) -> bool:
    """Whether a value of the Rust type, as JSON has it, is one of the Python type."""
    if inner := re.fullmatch(r"Option<(.+)>", rust):
        return allows_none(kind) and fits(inner[1], kind, types)
    kinds = [each for each in members(kind) if each is not NoneType]
    if inner := re.fullmatch(r"Vec<(.+)>", rust):
        return any(
            typing.get_origin(each) is list and fits(inner[1], typing.get_args(each)[0], types) for each in kinds
        )
    if re.fullmatch(r"BTreeMap<String, (\w+)>", rust):
        return any(typing.get_origin(each) is dict for each in kinds)
    if rust in PLAIN and rust != "String":
        return PLAIN[rust] in kinds
    if rust in ("RoundWindow", "[u64; 2]", "[u64; 3]"):
        return list[int] in kinds
    known = types | {"Source": phase_specs.Source, "Work": phase_specs.Work, "Means": phase_specs.SnapshotMeans}
    if rust in known:
        return known[rust] in kinds
    # A text, or an enum: one of several words.
    return any(each is str or typing.get_origin(each) is Literal for each in kinds)


def members(kind: Any) -> tuple[Any, ...]:
    return typing.get_args(kind) if typing.get_origin(kind) in (Union, UnionType) else (kind,)


def allows_none(kind: Any) -> bool:
    return NoneType in members(kind)


@pytest.mark.parametrize("name", TYPES)
def test_a_type_has_the_keys_of_the_engines_struct(name: str) -> None:
    rust, python = fields(name), typing.get_type_hints(TYPES[name])
    assert set(rust) == set(python) - NOT_OF_THE_ENGINE.get(name, set())
    types = MOVER if name in MOVER else RESULTS | SPECS
    assert [key for key, kind in rust.items() if not fits(kind, python[key], types)] == []


def test_work_has_the_keys_of_all_kinds() -> None:
    python = typing.get_type_hints(phase_specs.Work)
    rust = {key: kind for name in WORKS for key, kind in fields(name).items()}
    assert {"kind", *rust} == set(python)
    assert [key for name in WORKS for key, kind in fields(name).items() if not fits(kind, python[key])] == []
    assert typing.get_args(python["kind"]) == tuple({"KvCache": "kv-cache"}.get(name, name.lower()) for name in WORKS)
    assert set(fields("SnapshotCommand")) | {"means"} == set(typing.get_type_hints(phase_specs.SnapshotMeans))


def complaints(value: Any, kind: Any, where: str) -> list[str]:
    """What a value of JSON has that its type does not allow."""
    if kind is Any:
        return []
    if typing.get_origin(kind) in (Union, UnionType):
        found = [complaints(value, each, where) for each in typing.get_args(kind)]
        return [] if [] in found else max(found, key=len)
    if typing.is_typeddict(kind):
        if not isinstance(value, dict):
            return [f"{where} is {value!r}"]
        hints = typing.get_type_hints(kind)
        found = [f"{where}.{key} is unknown" for key in value if key not in hints]
        found += [f"{where}.{key} is missing" for key in kind.__required_keys__ if key not in value]
        return found + [
            each for key in value if key in hints for each in complaints(value[key], hints[key], f"{where}.{key}")
        ]
    origin = typing.get_origin(kind)
    if origin is Literal:
        return [] if value in typing.get_args(kind) else [f"{where} is {value!r}"]
    if origin is list:
        if not isinstance(value, list):
            return [f"{where} is {value!r}"]
        return [each for one in value for each in complaints(one, typing.get_args(kind)[0], f"{where}[]")]
    if origin is not None:
        return [] if isinstance(value, origin) else [f"{where} is {value!r}"]
    return [] if type(value) is kind or (kind is float and type(value) is int) else [f"{where} is {value!r}"]


def test_lines_of_real_runs_have_their_types(tmp_path: Path) -> None:
    pytest.importorskip("tonnage._native", reason="the engine is not built: run make build")
    target = tmp_path / "target"
    target.mkdir()
    common = {"tasks": [2], "time_limit": "100ms"}
    stream = {"transfer_size": "64KiB", "block_size": "1MiB"}
    workloads: list[dict[str, Any]] = [
        {"name": "stream", "kind": "stream", "op": ["write", "read"], "verify": True, "tasks": [2], **stream},
        {"name": "files", "kind": "files", "operations": 20, **common},
        {"name": "tail", "kind": "tail", "file_size": "1MiB", "transfer_size": "64KiB", "readers": [1]},
        {"name": "command", "kind": "command", "argv": ["true"], "copies": 2, "tasks": [2]},
        {"name": "checkpoint", "kind": "checkpoint", "rounds": 2, "tasks": [2], **stream},
    ]
    seen: set[str] = set()
    for workload in workloads:
        campaign = {"name": "shapes", "target": str(target), "repeat": {"count": 1}, "workload": [workload]}
        run = Run.open(tonnage.run(campaign, out=tmp_path / workload["name"]).run.path)
        for name, kind, lines in (
            ("trial", shapes.TrialLine, run.trials()),
            ("task", shapes.TaskLine, run.tasks()),
            ("copy", shapes.CopyLine, run.copies()),
            ("event", shapes.EventLine, run.events()),
            ("device", shapes.DeviceLine, run.devices()),
        ):
            seen |= {name} if lines else set()
            assert [each for line in lines for each in complaints(line, kind, f"{workload['name']}: {name}")] == []
        assert all(line["status"] == "ok" for line in run.trials())
    assert seen >= {"trial", "task", "copy"}
