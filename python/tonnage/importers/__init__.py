"""What other tools left, read into records' terms: traces of workflow engines, reports of iperf3 (``iperf3.read``)."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from tonnage.importers.trace import Trace, TracedTask

__all__ = ["ENGINES", "Trace", "TracedTask"]


def _reader(engine: str) -> Callable[[Path], Trace]:
    """Its module is imported where a file is read: every command knows the engines' names."""

    def read(path: Path) -> Trace:
        found: Trace = import_module(f"tonnage.importers.{engine}").read(path)
        return found

    return read


ENGINES: dict[str, Callable[[Path], Trace]] = {engine: _reader(engine) for engine in ("nextflow", "snakemake")}
"""Workflow engine → what reads a trace file of it. OSError where the file cannot be read; never anything else."""
