"""What all contenders have in common."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from cell_files import Ground
from cell_load import Load, Sample


class Contender(Protocol):
    """Somebody who carries out loads. ``prepare`` comes once a cell (Tonnage's first), ``run`` once a round."""

    name: str
    program: Path | None
    """The file that is started; None for Tonnage, which runs in this process."""

    def can(self, load: Load, /) -> bool:
        """Whether it knows this kind of load."""

    def prepare(self, load: Load, ground: Ground) -> None:
        """Takes its place on the ground; its files are in the page cache afterwards."""

    def run(self, load: Load) -> Sample:
        """Carries the load out once. RuntimeError with what it printed if it fails."""
