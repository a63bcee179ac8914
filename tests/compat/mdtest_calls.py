"""Calls of ``tonnage mdtest`` in this process, and what is looked at after them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROW = re.compile(r"   (\w+ \w+) +(\d+\.\d{3}) +(\d+\.\d{3}) +(\d+\.\d{3}) +(\d+\.\d{3})")


class Said:
    """What a run printed."""

    def __init__(self, out: str, err: str) -> None:
        self.out, self.err = out, err
        self.rows = {match[1]: [float(value) for value in match.groups()[1:]] for match in ROW.finditer(out)}

    @property
    def mean(self) -> dict[str, float]:
        return {name: values[2] for name, values in self.rows.items()}


Mdtest = Callable[..., Said]


def lines_of(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "trials.jsonl").read_text().splitlines()]
