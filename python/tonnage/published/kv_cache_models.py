"""The models of MLPerf Storage's key–value cache: bytes that the cache of an inference server has for each token."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_FILE = Path(__file__).with_name("mlperf-storage-kv-cache.csv")


@dataclass(frozen=True, slots=True)
class KvCacheModel:
    """One model, as its file has it."""

    name: str
    layers: int
    layer_values: int
    """Values of a token in a layer: keys and values of all their heads, or what stands for both."""
    value_bytes: int
    source: str
    """Repository, file and commit."""

    @property
    def token_bytes(self) -> int:
        """Bytes of a token."""
        return self.layers * self.layer_values * self.value_bytes


@cache
def kv_cache_models() -> dict[str, KvCacheModel]:
    """Returns all of them, by name: ``llama3.1-8b``."""
    with _FILE.open(encoding="utf-8", newline="") as lines:
        return {row["name"]: _model(row) for row in csv.DictReader(lines)}


def _model(row: dict[str, str]) -> KvCacheModel:
    return KvCacheModel(
        name=row["name"],
        layers=int(row["layers"]),
        layer_values=int(row["layer_values"]),
        value_bytes=int(row["value_bytes"]),
        source=row["source"],
    )
