"""Published figures of experiments that the examples repeat: facts as CSV, and what is doubtful about them."""

from __future__ import annotations

import csv
import re
from functools import cache
from pathlib import Path

from tonnage.errors import RequestError

EXPERIMENTS: dict[str, tuple[str, ...]] = {
    "knox-epouta": ("knox-epouta-sob", "knox-epouta-iperf3", "knox-epouta-workflows"),
    "knox-epouta-sob": ("knox-epouta-sob",),
    "knox-epouta-iperf3": ("knox-epouta-iperf3",),
    "knox-epouta-workflows": ("knox-epouta-workflows",),
    "lcls-ffb": ("lcls-ffb-read-while-write", "lcls-ffb-limits"),
    "summit-metadata": ("summit-metadata",),
    "summit-nvme": ("summit-ior", "summit-limits", "summit-metadata"),
    "iobsub": ("iobsub-runs", "iobsub-lsload"),
    "ceph-snapshots": ("ceph-mode4-ior", "ceph-mode4-comparison"),
}
"""What ``published`` of a campaign may name, and the files that belong to it."""

Rows = list[dict[str, str]]
_HERE = Path(__file__).parent


def figures(name: str) -> dict[str, Rows]:
    """File (without ``.csv``) → its rows, with columns and numbers as they were published. RequestError if unknown."""
    return {file: _rows(file) for file in _files(name)}


def doubts(name: str) -> list[str]:
    """What to keep in mind about these figures, a sentence each; ``README.md`` beside them holds the list."""
    text = (_HERE / "README.md").read_text(encoding="utf-8")
    parts = []
    for cells in re.findall(r"^\|(.+)\|(.+)\|(.*)\|$", text, re.MULTILINE):
        if any(f"{file}.csv" in cells[0] for file in _files(name)):
            parts += [part.strip() for part in cells[2].split(";")]
    return [doubt for doubt in parts if doubt]


def _files(name: str) -> tuple[str, ...]:
    if name not in EXPERIMENTS:
        raise RequestError(f"there are no published figures {name!r}; hint: give one of {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[name]


@cache
def _read(file: str) -> tuple[tuple[tuple[str, str], ...], ...]:
    with (_HERE / f"{file}.csv").open(encoding="utf-8", newline="") as lines:
        return tuple(tuple(row.items()) for row in csv.DictReader(lines))


def _rows(file: str) -> Rows:
    return [dict(row) for row in _read(file)]
