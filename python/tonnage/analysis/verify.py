"""Whether a run still says what it said: its figures from its files, its sentences from its figures."""

from __future__ import annotations

from typing import Any

from tonnage.analysis import analyse
from tonnage.analysis.summary import summary
from tonnage.records import Run, verify_files

_PLACES = frozenset({"run", "report"})
"""Where the run was when it was summarised; it may have moved since."""


def verify(run: Run) -> list[str]:
    """Sentences, one for each contradiction; empty where everything holds.

    Checks every derived figure of the records, then analyses the run again and compares the result with the ``summary``
    that its manifest keeps from the time it ended (if it keeps one).
    """
    found = verify_files(run)
    said = run.manifest.get("summary")
    if isinstance(said, dict):
        now = summary(analyse(run), None)
        for key in sorted((said.keys() | now.keys()) - _PLACES):
            found.extend(_differences(f"summary.{key}", said.get(key), now.get(key)))
    return found


def _differences(where: str, said: Any, now: Any) -> list[str]:
    if isinstance(said, dict) and isinstance(now, dict):
        pairs = [(f"{where}.{key}", said.get(key), now.get(key)) for key in sorted(said.keys() | now.keys())]
        return [text for pair in pairs for text in _differences(*pair)]
    if isinstance(said, list | tuple) and isinstance(now, list | tuple) and len(said) == len(now):
        pairs = [(f"{where}[{i}]", *both) for i, both in enumerate(zip(said, now, strict=True))]
        return [text for pair in pairs for text in _differences(*pair)]
    return [] if said == now else [f"{where} was {said!r}, and is {now!r} when analysed again"]
