"""Whether the figures of a result still agree with its hash: of one of Tonnage, and of one of the benchmark's own."""

from __future__ import annotations

import re
from pathlib import Path

from tonnage.errors import RequestError
from tonnage.io500.config import Config, hash_text
from tonnage.io500.phase_commands import STEPS
from tonnage.toml_documents import read_text

_SECTION = re.compile(r"\[([\w-]{1,40})\]\s*")
_PAIR = re.compile(r"([\w-]{1,40})\s*= (.*)")
_GROUPS = {step.name: step.group for step in STEPS}


def problems_of(path: str, config: Config | None) -> list[str]:
    """What does not agree; nothing where all does. ``path``: a ``result.txt``, or its directory. RequestError where it
    cannot be read, or has no score."""
    place = Path(path)
    place = place / "result.txt" if place.is_dir() else place
    try:
        sections = _sections(read_text(place))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise RequestError(f"cannot read {place}: {reason}; hint: give a result.txt, or its directory") from None
    found = [
        problem for name in ("SCORE", "SCOREX") if "hash" in sections.get(name, {}) for problem in _of(sections, name)
    ]
    if not any("hash" in sections.get(name, {}) for name in ("SCORE", "SCOREX")):
        raise RequestError(f"{place} has no score with a hash; hint: give the result of a whole benchmark")
    told = sections.get("run", {}).get("config-hash")
    if config is not None and told != f"{config.hash:X}":
        found.append(f"config-hash is {told}, and that of the configuration {config.hash:X}")
    return found


def _sections(text: str) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    now: dict[str, str] = {}
    for line in text.splitlines():
        if section := _SECTION.fullmatch(line):
            now = found.setdefault(section[1], {})
        elif pair := _PAIR.fullmatch(line):
            now.setdefault(pair[1], pair[2].strip())
    return found


def _of(sections: dict[str, dict[str, str]], name: str) -> list[str]:
    score = sections[name]
    extended = name == "SCOREX"
    total, _, mark = score.get("SCORE", "").partition(" ")
    pairs = [("version", sections.get("run", {}).get("version", ""))]
    phases = {
        phase: pairs_of["score"]
        for phase, pairs_of in sections.items()
        if _GROUPS.get(phase) and "score" in pairs_of and (extended or phase not in ("find-easy", "find-hard"))
    }
    pairs += [*phases.items(), ("MD", score.get("MD", "")), ("BW", score.get("BW", "")), ("SCORE", total)]
    pairs += [("valid", "NO")] * bool(mark)
    value = 0
    for key, text in pairs:
        value ^= hash_text(text, hash_text(key))
    found = f"{value:X}"
    return [] if found == score["hash"] else [f"[{name}] hash is {score['hash']}, and of the figures {found}"]
