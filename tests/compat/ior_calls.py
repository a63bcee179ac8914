"""Calls of ``tonnage ior`` in this process, and what is looked at after them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tonnage.errors import RequestError


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    def rows(self, access: str) -> list[list[str]]:
        """The rows of the results table."""
        return [
            line.split() for line in self.out.splitlines() if line.startswith(f"{access} ") and len(line.split()) == 11
        ]


Ior = Callable[..., Said]


def refused(ior: Ior, *words: str) -> str:
    with pytest.raises(RequestError) as caught:
        ior(*words)
    assert caught.value.exit_code == 2
    return str(caught.value)


def left(data: Path) -> list[str]:
    return sorted(str(path.relative_to(data)) for path in data.rglob("*") if path.is_file())


def recorded_trials(tmp_path: Path) -> list[dict[str, Any]]:
    """Of the first run."""
    return [json.loads(line) for line in (tmp_path / "run-0" / "trials.jsonl").read_text().splitlines()]
