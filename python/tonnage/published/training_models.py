"""The training workloads of MLPerf Storage: what an accelerator of a kind asks of a storage for a model, and how large
checkpoints are."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_FILE = Path(__file__).with_name("mlperf-storage-training.csv")
_CHECKPOINTS = Path(__file__).with_name("mlperf-storage-checkpoints.csv")


@dataclass(frozen=True, slots=True)
class TrainingModel:
    """One configuration, as its file has it; ``prefetch`` is what DLIO makes of its own default."""

    name: str
    model: str
    accelerator: str
    sample_bytes: int
    sample_spread_bytes: int
    samples_per_file: int
    batch: int
    readers: int
    prefetch: int
    compute_ns: int
    shuffle: str
    utilisation: float
    checkpoint_bytes: int | None
    """Of a checkpoint; None: it writes none."""
    source: str
    """Repository, file and commit."""


@cache
def training_models() -> dict[str, TrainingModel]:
    """Returns all of them, by name: ``unet3d-h100``."""
    with _FILE.open(encoding="utf-8", newline="") as lines:
        return {row["name"]: _model(row) for row in csv.DictReader(lines)}


@cache
def checkpoint_sizes() -> dict[str, int]:
    """Returns the bytes of a checkpoint, model and optimizer, of each published large language model: ``llama3-8b``."""
    with _CHECKPOINTS.open(encoding="utf-8", newline="") as lines:
        return {row["name"]: int(row["model_bytes"]) + int(row["optimizer_bytes"]) for row in csv.DictReader(lines)}


def _model(row: dict[str, str]) -> TrainingModel:
    return TrainingModel(
        name=row["name"],
        model=row["model"],
        accelerator=row["accelerator"],
        sample_bytes=int(row["sample_bytes"]),
        sample_spread_bytes=int(row["sample_spread_bytes"]),
        samples_per_file=int(row["samples_per_file"]),
        batch=int(row["batch"]),
        readers=int(row["readers"]),
        prefetch=int(row["prefetch"]),
        compute_ns=int(row["compute_ns"]),
        shuffle=row["shuffle"],
        utilisation=float(row["utilisation"]),
        checkpoint_bytes=int(row["checkpoint_bytes"]) if row["checkpoint_bytes"] else None,
        source=row["source"],
    )
