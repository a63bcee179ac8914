"""What a command prints with ``--json``: one object, and as its published schema says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tonnage.analysis.summary import schema
from tonnage.cli import main


def answered(capsys: pytest.CaptureFixture[str], command: str, *words: object, code: int = 0) -> dict[str, Any]:
    """The object of ``tonnage COMMAND WORDS --json``, which ends with ``code``."""
    capsys.readouterr()
    assert main([command, *map(str, words), "--json"]) == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    jsonschema.validate(found, schema("summary" if command == "report" else command))
    return found


def drawn(page: Path) -> dict[str, Any]:
    """The figures of a page, by the names of their sections."""
    found: dict[str, Any] = json.loads(page.read_text().partition('id="report-data">')[2].partition("</script>")[0])
    return found
