"""Findings about runs that were imported from files of other tools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, cast

from tonnage.analysis.applications import applications_of
from tonnage.analysis.figure_texts import some
from tonnage.analysis.findings.finding_rules import Evidence, finding
from tonnage.analysis.results import Finding
from tonnage.records import headline
from tonnage.units import duration, plural, rate_text, share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tonnage.records.line_types import ImportedLine, StatedRateLine

_FACTORS = {
    "1.024": (Fraction(1024, 1000), "a kB and a KiB"),
    "1.048576": (Fraction(2**20, 10**6), "an MB and an MiB"),
    "1.073742": (Fraction(2**30, 10**9), "a GB and a GiB"),
    "8": (Fraction(8), "a byte and a bit"),
    "8.388608": (Fraction(8 * 2**20, 10**6), "an MiB and 10^6 bits"),
    "1000": (Fraction(1000), "two prefixes of powers of ten"),
    "1024": (Fraction(1024), "two prefixes of powers of two"),
}
"""Ratios that have only one usual cause."""
SLACK = 0.002
"""Relative: tools round more than once."""
NAMES_OF_CALLS = 0.5
"""Share of the time inside calls."""
NAMES_OF_RUN = 0.01
"""Share of the time of all processes together."""


@finding("unit-mismatch")
def unit_mismatch(evidence: Evidence) -> Iterator[Finding]:
    """Bytes over time against the rate beside them, both as they were printed."""
    found: dict[str, list[tuple[ImportedLine, StatedRateLine, Fraction]]] = {}
    for line in cast("Sequence[ImportedLine]", evidence.trials.where_set("origin")):
        said = line["origin"].get("said")
        if said and (judged := _mismatch(said)):
            found.setdefault(judged[0], []).append((line, said, judged[1]))
    for name, lines in found.items():
        line, said, ratio = lines[0]
        where = line["origin"]
        own = said["count"] * 10**9 / ((said["elapsed_low_ns"] + said["elapsed_high_ns"]) / 2)
        counted = headline(line)[1] == "1/s"
        factor = f"{float(max(ratio, 1 / ratio)):.4g} times"
        cause = _FACTORS[name][1] if name in _FACTORS else None
        yield Finding(
            "unit-mismatch",
            some([each["record"] for each, _, _ in lines]),
            f"line {where['line']} of {_name(evidence, where['file'])} states {said['text']}, and its "
            f"{'operations' if counted else 'bytes'} and time give {f'{own:.0f}/s' if counted else rate_text(own)}, "
            f"{factor} {'less' if ratio > 1 else 'more'}"
            + (f": the ratio of {cause} is {name}" if cause else ", which no unit explains")
            + f"; in {plural(len(lines), 'trial')}",
            "The figures here are counts over time, not the stated rate. Find out which of the file's columns has the "
            "wrong unit, or was changed after it was measured, before anything is compared with it.",
        )


def _mismatch(said: StatedRateLine) -> tuple[str, Fraction] | None:
    """Name of the factor (empty: none that is known) and stated over computed; None where they can agree."""
    if not said["count"] or not said["elapsed_low_ns"]:
        return None
    least, most = (said[f"rate_{way}_per_s"] * said[f"elapsed_{way}_ns"] for way in ("low", "high"))  # type: ignore[literal-required]
    if least <= said["count"] * 10**9 <= most:
        return None
    low = Fraction(said["rate_low_per_s"] * said["elapsed_low_ns"], said["count"] * 10**9)
    high = Fraction(said["rate_high_per_s"] * said["elapsed_high_ns"], said["count"] * 10**9)
    if low * (1 - Fraction(SLACK)) <= 1 <= high * (1 + Fraction(SLACK)) or high <= 0:
        return None
    middle = (low + high) / 2
    wide = (1 - Fraction(SLACK), 1 + Fraction(SLACK))
    fitting = [
        name
        for name, (factor, _) in _FACTORS.items()
        if any(low * wide[0] <= way <= high * wide[1] for way in (factor, 1 / factor))
    ]
    # Figures that are too rounded to tell two causes apart name neither.
    return (fitting[0] if len(fitting) == 1 else ""), middle


def _name(evidence: Evidence, file: int) -> str:
    files = (evidence.run.manifest.get("imported") or {}).get("files") or []
    return str(files[file]["name"]) if file < len(files) else f"file {file}"


@finding("damaged-file")
def damaged_file(evidence: Evidence) -> Iterator[Finding]:
    problems = (evidence.run.manifest.get("imported") or {}).get("problems") or []
    if problems:
        yield Finding(
            "damaged-file",
            plural(len(problems), "place"),
            "; ".join(problems[:3])
            + (f"; and {len(problems) - 3} more, in manifest.json" if len(problems) > 3 else ""),
            "What was understood is here: see whether the rest is missing from the file, or was never measured.",
        )


@finding("name-calls")
def name_calls(evidence: Evidence) -> Iterator[Finding]:
    """A program that waits for opens and stats, which no faster transfer shortens."""
    applications = applications_of(evidence.points, evidence.trials)
    busy_ns: Counter[str] = Counter()
    for one in applications:
        busy_ns[one.file_system] += one.facts.get("busy_ns", 0)
    for one in applications:
        names_ns, run_ns = one.facts.get("busy_ns", 0), one.facts.get("run_ns", 0)
        processes = evidence.line(one.record)["setting"].get("processes") or 1
        of_run = names_ns / (processes * run_ns) if run_ns else 0.0
        if one.point.op != "metadata" or of_run < NAMES_OF_RUN or names_ns < NAMES_OF_CALLS * busy_ns[one.file_system]:
            continue
        calls = one.facts.get("opens", 0) + one.facts.get("stats", 0)
        each = f", {duration(names_ns / calls)} for each of {calls:,} opens and stats" if calls else ""
        lasted = f"{processes:,} process{'es' if processes != 1 else ''} lasted {duration(run_ns)}"
        more = ", which is less: threads waited side by side, or the log's times are wrong" if of_run > 1 else ""
        yield Finding(
            "name-calls",
            f"metadata on {one.file_system}",
            f"calls on names took {duration(names_ns)}, {share(names_ns / busy_ns[one.file_system])} of the time "
            f"inside calls{each}; {lasted}{more}",
            "A faster transfer does not shorten it. Look for files that are opened or asked for again and again, for "
            "many files in one directory, and for libraries that are loaded from this file system.",
        )
