"""Results of IO500 of any year: ``result.txt`` with its sections, or ``result_summary.txt`` with a line a phase.

A phase states a rate and the time of the whole phase, which is longer than what the rate is over. How much was done
follows from their product; a search of ``result.txt`` states it. What GB/s are called up to 2019 are GiB/s. Scores are
no trials: they follow from the rates.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from tonnage.importers.imported_phases import ImportedFile, Note, Phase, arguments_of, few
from tonnage.importers.rounded_numbers import GIB, elapsed_ns, letters, nanoseconds, rounded, whole
from tonnage.importers.trace import LARGEST, content
from tonnage.records.line_types import SettingValues

_SUMMARY = re.compile(
    r"\[(?:RESULT|      )(-invalid)?\]\s+(?:(?:BW|IOPS)\s+phase [0-9]{1,2}\s+)?([\w-]{1,40})\s+([0-9.]{1,24}) "
    r"(GiB/s|GB/s|kIOPS|kiops)\s*: time\s+([0-9.]{1,24}) seconds(.*)\Z"
)
_SECTION = re.compile(r"\[([\w-]{1,40})\]\s*\Z")
_PAIR = re.compile(r"([\w-]{1,40})\s*= (.*)\Z")
_VERSION = re.compile(r"IO500 version (\S+)(?: \((\w+)\))?")
_PHASES = {"write": "create", "stat": "stat", "read": "read", "delete": "remove"}
"""Of mdtest → the operation."""
_STAMP = re.compile(r"/(?:io500\.)?[0-9]{4}\.[0-9]{2}\.[0-9]{2}-[0-9]{2}\.[0-9]{2}\.[0-9]{2}(?:-app)?(?=/|\Z)")
_KNOWN = re.compile(
    r"ior-(easy|hard)-(write|read)|ior-rnd4K-easy-read|mdtest-(easy|hard)-(write|stat|read|delete)|find.*"
)
_FROM_RATE = Note(
    "from-summary", "the file states a rate and the time of the whole phase; how much was done is their product"
)
_INVALID = Note("marked-invalid", "IO500 marked the result [INVALID]: by the rules of the benchmark there is no score")
_NO_TASKS = Note("from-summary", "the file does not say how many tasks there were: 1 stands for all of them")


@dataclass(slots=True)
class _Section:
    name: str
    line: int
    pairs: dict[str, str] = field(default_factory=dict)
    is_invalid: bool = False


@dataclass(slots=True)
class _Run:
    """What the file says of all phases."""

    procs: int | None = None
    version: str | None = None
    mode: str | None = None
    began: str | None = None
    path: str | None = None
    is_invalid: bool = False


def read(data: bytes, _: str) -> ImportedFile:
    """Reads a result. Never raises: ``problems`` names the line of each part that it cannot read."""
    lines, torn = content(data)
    run, sections, problems = _Run(), [], []
    for number, line in enumerate(lines, 1):
        if found := _SUMMARY.match(line):
            is_invalid = bool(found[1]) or "INVALID" in found[6]
            pairs = {"score": found[3], "t_delta": found[5]}
            sections.append(_Section(found[2].replace("_", "-"), number, pairs, is_invalid))
        elif found := _VERSION.match(line):
            run.version, run.mode = found[1], found[2]
        elif found := _SECTION.match(line):
            sections.append(_Section(found[1], number))
        elif line.startswith("[SCORE"):
            run.is_invalid |= line.endswith("[INVALID]")
        elif line.startswith("; ERROR INVALID"):
            run.is_invalid = True
            if sections:
                sections[-1].is_invalid = True
        elif sections and (found := _PAIR.match(line)):
            sections[-1].pairs[found[1]] = found[2].strip()
    _of_run(run, sections)
    phases = []
    for section in sections:
        if not _KNOWN.fullmatch(section.name):
            continue
        phase = _phase(run, section)
        if isinstance(phase, Phase):
            phases.append(phase)
        elif phase:
            problems.append(f"line {section.line}: {section.name} {phase}; left out")
    if not phases and not problems:
        problems.append("line 1: this is no result of IO500: it has no phase with its score")
    elif torn or (not any(section.name in ("SCORE", "SCOREX") for section in sections) and not _is_whole(lines)):
        problems.append(f"line {len(lines)}: the result breaks off here, before its score; what it holds is kept")
    return ImportedFile(
        phases=tuple(phases),
        problems=few(problems),
        tool="IO500",
        version=run.version,
        began=run.began,
        path=run.path,
    )


def _is_whole(lines: Sequence[str]) -> bool:
    return any(line.startswith("[SCORE") for line in lines)


def _of_run(run: _Run, sections: Sequence[_Section]) -> None:
    for section in sections:
        run.is_invalid |= section.is_invalid or section.pairs.get("SCORE", "").endswith("[INVALID]")
        if section.name == "run":
            run.procs = whole(section.pairs.get("procs"))
            run.version = section.pairs.get("version", run.version)
            run.mode = section.pairs.get("mode", run.mode)
        run.began = run.began or section.pairs.get("t_start")
        command = section.pairs.get("exe")
        if command and run.path is None and (place := _options(command).get("-o") or _options(command).get("-d")):
            parent = re.sub(r"/(?:ior|mdtest)-(?:easy|hard)(?:/.*)?\Z", "", place)
            run.path = _STAMP.sub("", parent)


def _phase(run: _Run, section: _Section) -> Phase | str | None:
    """A phase; why it is none; None for one that was not run."""
    score, time = section.pairs.get("score"), section.pairs.get("t_delta") or section.pairs.get("time")
    if score is None:
        return "has no score"
    rate, lasted = rounded(score), nanoseconds(time) if time else None
    if rate is None:
        return f"has the score {score!r}, which is no number"
    if rate.middle * 10**6 <= 1:
        return None  # It was left out, or failed: 0.000000.
    if not lasted:
        return "has no time"
    is_bandwidth = section.name.startswith("ior")
    rate = rate.times(GIB if is_bandwidth else 1000)
    stated = whole(section.pairs.get("total-files", ""))
    count = stated or round(rate.middle * Fraction(lasted, 10**9))
    if stated:
        lasted = elapsed_ns(stated, None, rate) or lasted
    setting = _setting(run, section)
    size = setting.get("transfer_size") if is_bandwidth else 0
    if not 0 < count < LARGEST:
        return f"has the score {score!r}, which is out of all bounds"
    notes = (*(() if stated else (_FROM_RATE,)), *(() if run.procs else (_NO_TASKS,)))
    return Phase(
        phase=_operation(section.name),
        setting=setting,
        elapsed_ns=lasted,
        bytes=count if is_bandwidth else 0,
        operations=max(count // size, 1) if size else count if not is_bandwidth else 0,
        line=section.line,
        durability="fsync" if is_bandwidth and section.name.endswith("write") else None,
        facts={"valid": int(not section.is_invalid)},
        notes=(*notes, *((_INVALID,) if run.is_invalid else ())),
    )


def _operation(name: str) -> str:
    if name.startswith("find"):
        return "find"
    verb = name.rpartition("-")[2]
    return verb if name.startswith("ior") else _PHASES[verb]


def _setting(run: _Run, section: _Section) -> SettingValues:
    """What makes two phases equal: which one it is, the tasks and the sizes; no path, for its time stamp differs."""
    options = _options(section.pairs.get("exe", ""))
    kind = "stream" if section.name.startswith("ior") else "find" if section.name.startswith("find") else "files"
    setting: dict[str, object] = {
        "kind": kind, "workload": section.name, "tasks": run.procs or 1, "mode": run.mode, "stonewall_s": None,
    }  # fmt: skip
    if kind == "stream":
        size = "2m" if section.name.startswith("ior-easy") else "47008"
        size = "4096" if "rnd4K" in section.name else size
        setting |= {
            "op": _operation(section.name),
            "transfer_size": letters(options.get("-t", size)),
            "block_size": letters(options["-b"]) if "-b" in options else None,
            "layout": ("file-per-task" if "-F" in options else "shared") if options else None,
            "access": "random-blocks" if "rnd4K" in section.name else "sequential",
        }
    elif kind == "files":
        setting |= {"items": whole(options.get("-n")), "file_size": 3901 if "hard" in section.name else 0}
    limit = whole(options.get("-D") or options.get("-W"))
    return {**setting, "stonewall_s": limit}


def _options(command: str) -> Mapping[str, str]:
    """Options of a command line by their names, with the word that follows."""
    words = arguments_of(command)
    found: dict[str, str] = {}
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if word.startswith("-"):
            found.setdefault(name, value if equals else words[at + 1] if at + 1 < len(words) else "")
    return found
