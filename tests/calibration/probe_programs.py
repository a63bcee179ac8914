"""What the programs of this directory that run ``tonnage`` on simulated storages have in common: each is
``PROGRAM PART PARTS < cells.json``, and prints one JSON line a seed."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shlex
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tonnage.cli import main as tonnage

sys.path.insert(0, str(Path(__file__).parent))

from memory_directory import in_memory

Json = dict[str, Any]


def printed(arguments: Sequence[str]) -> str:
    """What a command prints on stdout."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = tonnage(list(arguments))
    if code:
        raise RuntimeError(f"{shlex.join(arguments)} ended with {code}: {out.getvalue()}{err.getvalue()}")
    return out.getvalue()


def summary_of_campaign(text: str) -> Json:
    """The object of ``tonnage run --json`` on this campaign."""
    with tempfile.TemporaryDirectory(dir=in_memory()) as directory:
        file = Path(directory) / "c.toml"
        file.write_text(text, encoding="utf-8")
        found: Json = json.loads(printed(["run", str(file), "--json", "--no-report", "--out", f"{directory}/run"]))
    return found


def print_rows(row: Callable[[Json, int], Json]) -> None:
    """Prints the row of each cell of stdin and each of its seeds that is this part's."""
    os.environ["XDG_STATE_HOME"] = tempfile.gettempdir()
    part, parts = int(sys.argv[1]), int(sys.argv[2])
    for number, cell in enumerate(json.load(sys.stdin)):
        for seed in range(part, cell["seeds"], parts):
            print(json.dumps({"cell": number, "seed": seed, **row(cell, seed)}), flush=True)
