"""The JSON Schemas (draft 2020-12) of what ``--json`` prints, each a file of this directory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def schema(name: str) -> dict[str, Any]:
    """Of ``summary`` (a run), ``compare``, ``history``, ``crossover`` or ``project``."""
    text = Path(__file__).with_name(f"{name}.schema.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded
