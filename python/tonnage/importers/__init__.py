"""What other tools left, read into records' terms: traces of workflow engines, reports of iperf3 (``iperf3.read``)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tonnage.importers import nextflow, snakemake
from tonnage.importers.trace import Trace, TracedTask

__all__ = ["ENGINES", "Trace", "TracedTask"]

ENGINES: dict[str, Callable[[Path], Trace]] = {"nextflow": nextflow.read, "snakemake": snakemake.read}
"""Workflow engine → what reads a trace file of it. OSError where the file cannot be read; never anything else."""
