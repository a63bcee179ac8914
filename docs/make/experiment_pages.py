"""The generated parts of the experiments' pages: published tables as printed, and ours beside them, as Markdown.

Everything here comes from where the report has it too: the package's published figures, and the analysis of a run.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tonnage import published
from tonnage.analysis import analyse
from tonnage.analysis.run_analysis import Analysis
from tonnage.records import Run
from tonnage.report.page_data import Source
from tonnage.report.published.comparisons import comparisons
from tonnage.report.sections import balance, exhibits_of, sentences_of

AS_PRINTED = "as printed"
"""The part of every page that needs no run."""


@dataclass(frozen=True, slots=True)
class RunDescription:
    """What a page says of a run besides its figures."""

    storage: str
    """A sentence without its full stop: what was measured."""
    command: str
    """As a reader would type it."""
    picture: str = ""
    """Path of its picture, relative to the page; empty where there is none."""
    section: str = ""
    """Of the report: what the picture shows."""


def marks(part: str) -> tuple[str, str]:
    """The lines between which a part is written anew."""
    return f"<!-- {part}: written by `make experiments` -->", f"<!-- end of {part} -->"


def replaced(page: str, part: str, text: str) -> str:
    """The page with this text between the part's marks. ValueError if it does not have them once each, in order."""
    begin, end = marks(part)
    if page.count(begin) != 1 or page.count(end) != 1 or page.index(begin) > page.index(end):
        raise ValueError(f"the marks of {part!r} are not in the page once each; hint: put {begin} above {end}")
    before, rest = page.split(begin)
    return f"{before}{begin}\n\n{text.strip()}\n\n{end}{rest.split(end)[1]}"


def section_of(page: str, part: str) -> str:
    """What stands between the part's marks."""
    begin, end = marks(part)
    return page.split(begin)[1].split(end)[0].strip()


def as_printed(name: str) -> str:
    """Each published table of an experiment with the numbers and units that were printed, and what is doubtful."""
    found = []
    for file, rows in published.figures(name).items():
        source = f"[`{file}.csv`](../../python/tonnage/published/{file}.csv)"
        content = table(list(rows[0]), [list(row.values()) for row in rows])
        found.append(f"<details><summary>{file}, {len(rows)} rows</summary>\n\n{content}\n\n{source}\n\n</details>")
    doubts = [f"- {_capital(doubt)}." for doubt in published.doubts(name)]
    return "\n\n".join([*found, "What to keep in mind about them:", "\n".join(doubts)])


def of_run(directory: Path, told: RunDescription) -> str:
    """A run: when and where, what it says in sentences, the published tables with ours beside, the findings."""
    run = Run.open(directory)
    analysis = analyse(run)
    measured = sum(line["purpose"] == "measure" for line in run.trials())
    parts = [_facts(run.manifest, measured, told), f"    {told.command}"]
    if said := _sentences(analysis):
        parts.append("\n".join(f"> {sentence}\n>" for sentence in said).removesuffix("\n>"))
    if told.picture:
        parts.append(f"![{_shown(analysis, Source.of(run), told.section)}]({told.picture})")
    for comparison in comparisons(analysis):
        parts.append(f"**{comparison.title}**\n\n{table(comparison.table.headings, comparison.table.rows)}")
        # What is doubtful about the published figures stands once on the page, beside them.
        notes = [f"- {note}" for note in comparison.notes if not note.startswith("Published: ")]
        parts += ["\n".join(notes)] if notes else []
    return "\n\n".join([*parts, *_balances(analysis), *_findings(analysis)])


def scale_of(directory: Path) -> float:
    """How much of its file's work a run did."""
    return float(Run.open(directory).manifest["campaign"]["scale"])


def table(columns: Iterable[str], rows: Iterable[Sequence[str]]) -> str:
    """As Markdown; a bar in a cell stays in it."""
    lines = [[cell.replace("|", "\\|") for cell in row] for row in [list(columns), *rows]]
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _facts(manifest: dict[str, Any], records: int, told: RunDescription) -> str:
    host = manifest["host"]
    kernel = ".".join(re.split(r"[.-]", str(host["kernel"]))[:2])
    machine = f"{host['cpu_model']}, {host['cpu_count']} processors, {_gib(host['memory_bytes'])}, Linux {kernel}"
    campaign = manifest["campaign"]
    return (
        f"**Run of {manifest['created'][:10]}**, Tonnage {manifest['tonnage_version']}, on {machine}: {told.storage}. "
        f"Scale {campaign['scale']:g}, {campaign['repeat']['count']} repetitions, {records} records."
    )


def _shown(analysis: Analysis, source: Source, section: str) -> str:
    """What that section's picture shows, in words. ValueError if the report has no such section."""
    lines, closer = exhibits_of(analysis, source)
    found = {exhibit.identifier: exhibit for exhibit in (*lines, *closer)}
    if section not in found:
        raise ValueError(f"the report has no section {section!r}; hint: use one of {', '.join(found)}")
    exhibit = found[section]
    alt = exhibit.variants[exhibit.default].figures[0].alt
    return f"{exhibit.title}: {alt}".replace("[", "(").replace("]", ")").replace("\n", " ")


def _gib(memory_bytes: int) -> str:
    return f"{memory_bytes / 2**30:.0f} GiB"


def _sentences(analysis: Analysis) -> list[str]:
    """What the report says at its top, each ending as a sentence does."""
    return [f"{told.text.removesuffix('.')}." for told in sentences_of(analysis)]


def _balances(analysis: Analysis) -> list[str]:
    """What each OSD of a pool had, of each operation's point with the most objects."""
    told = zip(balance.tables(analysis), balance.largest(analysis.balances), strict=True)
    return [
        f"**Figures per OSD: {title}**\n\n{table(content.headings, content.rows)}\n\n- {_capital(balance.story(found))}"
        for (title, content), found in told
    ]


def _findings(analysis: Analysis) -> list[str]:
    """Each code with how often, and the first of them."""
    number = Counter(finding.code for finding in analysis.findings)
    first = {finding.code: finding for finding in reversed(analysis.findings)}
    pages = "../../python/tonnage/explained"
    rows = [
        (f"[`{code}`]({pages}/{code}.md)", str(times), f"{first[code].subject}: {first[code].evidence}")
        for code, times in sorted(number.items())
    ]
    return [f"**Findings**\n\n{table(('code', 'times', 'the first'), rows)}"] if rows else []


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
