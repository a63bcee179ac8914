"""Writes the page: one file that opens by double click, asks the network for nothing, and runs only its own script."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tonnage import units
from tonnage.analysis.run_analysis import Analysis
from tonnage.errors import RequestError
from tonnage.outputs import Form, Output
from tonnage.records import Run, Tasks, Trials
from tonnage.records.file_names import ODD_BYTES
from tonnage.records.verify_bytes import altered
from tonnage.report import phrases
from tonnage.report.answer import Answer
from tonnage.report.figures.figure import Column, Exhibit
from tonnage.report.page_data import Source
from tonnage.report.page_kit import plotly_script, templates
from tonnage.report.published.comparisons import comparisons
from tonnage.report.sections import codes_in_answers, exhibits_of, findings, sentences_of
from tonnage.report.sections import divided_rates as divided
from tonnage.report.sections import point_table as points

if TYPE_CHECKING:
    from markupsafe import Markup

MARKER = '<meta name="generator" content="Tonnage report">'
"""In the first bytes of every page: what is replaced must carry it."""

LISTED_MOST = 500
"""Trials that did not finish, of which a page has the list."""

FOLDED_FROM = 9
"""From so many settings of operations on, a page folds all but its answers."""

_PACKED = 5
"""Level of gzip: a page is 1 % larger than at 9, and its library is packed in half the time."""
_FILE = "report.html"
_STATIC = Path(__file__).parent / "static"
_HEADING = re.compile(r'<h[12] id="([^"]+)-title">([^<]*)</h[12]>')
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
_NUMBER_AND_UNIT = re.compile(r"(\d) (?=%|[kMGTP]?B/s|[nµm]?s\b|[kKMGT]i?B\b|tasks?\b)")


class NoChartsError(RequestError):
    """The package that draws charts is not installed, which is a choice: the terminal has the tables."""


def write_report(run_path: str | Path, out: str | Path | None = None) -> Path:
    """Writes the report of a run and returns its path: ``RUN/report.html``, or ``out``.

    A report is replaced whole or not at all. RequestError if ``out`` is a file that is no report, or its directory does
    not exist; RecordError if the run cannot be read.
    """
    from tonnage.analysis import analyse

    run = Run.open(run_path)
    _output(run, out).check()
    trials, tasks = run.each_trial(), run.each_task()
    return write_page(run, analyse(run, trials, tasks), trials, tasks, out)


def write_page(run: Run, analysis: Analysis, trials: Trials, tasks: Tasks, out: str | Path | None = None) -> Path:
    """The same of a run whose trials and tasks were read and analysed."""
    page = _output(run, out)
    page.check()
    page.write(render(analysis, Source.of(run, trials, tasks)))
    return page.path


_FORM = Form("a report of Tonnage", lambda file: MARKER.encode() in file.read(1024))


def _output(run: Run, out: str | Path | None) -> Output:
    if out is not None:
        return Output(Path(out), "--out", _FORM)
    return Output(run.path / _FILE, "report", _FORM, "report a copy of the run")


def render(analysis: Analysis, source: Source) -> str:
    """Renders the page as text."""
    lines, closer = exhibits_of(analysis, source)
    statements = sentences_of(analysis)
    # A surface says the lines of all its sizes in one sentence.
    load_lines = () if analysis.surfaces else analysis.load_lines
    known = {(line.op, line.group) for line in load_lines}
    unfinished = source.unfinished
    return _filled(
        "page.html",
        [*lines, *closer],
        analysis=analysis,
        # The page has its own sentence for a load line.
        load_lines=list(zip(load_lines, (one for one in statements if one.curve in known), strict=True)),
        beside=[one for one in statements if one.curve not in known],
        manifest=source.manifest,
        manifest_text=json.dumps(source.manifest, indent=2, ensure_ascii=False),
        facts=_facts(source),
        state=_state(analysis, source),
        findings=findings.items(analysis.findings),
        told_above=codes_in_answers(analysis),
        is_folded=len({(point.op, point.group) for point in analysis.points}) >= FOLDED_FROM,
        points=points.table(analysis.points),
        lines=lines,
        comparisons=comparisons(analysis),
        divided=divided.tables(analysis),
        divided_notes=divided.notes(analysis),
        closer=closer,
        unfinished=unfinished[:LISTED_MOST],
        unfinished_more=max(0, len(unfinished) - LISTED_MOST),
        unreadable=source.unreadable,
        phrases=phrases,
    )


def write_answer(answer: Answer, out: str | Path) -> Path:
    """Writes the page of an answer; errors as of ``write_report``."""
    page = Output(Path(out), "--out", _FORM)
    page.check()
    page.write(render_answer(answer))
    return page.path


def render_answer(answer: Answer) -> str:
    """Renders the page of an answer as text."""
    return _filled("answer.html", list(answer.exhibits), answer=answer, facts=answer.facts)


def _filled(template: str, drawn: list[Exhibit], **given: Any) -> str:
    """A page with its style, its scripts and the data of its figures. The library of charts is three quarters of most
    pages: it goes packed, and the page's script unpacks it."""
    library, script = _packed_plotly(), _static("figures.js") + _static("report.js")
    page: str = (
        _environment()
        .get_template(template)
        .render(
            units=units,
            marker=MARKER,
            style=_static("report.css"),
            library=library.packed,
            script=script,
            policy=_policy(library.hash, _hash(script.encode(errors=ODD_BYTES))),
            data=_embedded(drawn),
            **given,
        )
    )
    return page


@cache
def _environment() -> Any:
    environment = templates(_STATIC)
    environment.filters["unbroken"] = _unbroken
    environment.filters["contents"] = _contents
    return environment


def _facts(source: Source) -> list[tuple[str, str]]:
    """What the small header says: which storage, where, when."""
    manifest = source.manifest
    target, host = manifest.get("target") or {}, manifest.get("host") or {}
    found = [
        ("target", target.get("name") or target.get("uri")),
        ("file system", target.get("file_system")),
        ("storage", target.get("kind")),
        ("host", host.get("hostname")),
        ("started", (manifest.get("created") or "").replace("T", " ").replace("+00:00", " UTC").replace("Z", " UTC")),
        ("Tonnage", manifest.get("tonnage_version")),
    ]
    return [(name, str(value)) for name, value in found if value]


def _state(analysis: Analysis, source: Source) -> str | None:
    """What a reader must know before any figure: that the run is not whole, or not as it was sealed. None where it
    is."""
    trials_run, failed = len(source.trials), len(source.unfinished)
    parts = [ended] if (ended := phrases.state(analysis)) else []
    if wrong := altered(Run(source.path, source.manifest)):
        parts.append(f"{phrases.as_they_are(wrong)}.")
    if not trials_run:
        parts.append("It has no record of any trial, so there is nothing to draw.")
    elif failed:
        parts.append(f"{failed} of {trials_run} trials did not finish; they are listed below and in no figure.")
    if trials_run and not analysis.points:
        parts.append("No measured trial succeeded, so there is nothing to draw.")
    return " ".join(parts) or None


def _unbroken(text: str) -> Markup:
    """A number and its unit stay on one line, and so does the name of an option."""
    from markupsafe import Markup, escape

    joined = _NUMBER_AND_UNIT.sub("\\1\u00a0", text)
    return Markup(_OPTION.sub(r'<span class="option">\g<0></span>', str(escape(joined))))


def _contents(content: str) -> list[tuple[str, Markup]]:
    """Each section of a page: what a link to it names, and its heading, of which everything is escaped already."""
    from markupsafe import Markup

    return [(name, Markup(title)) for name, title in _HEADING.findall(content)]


def _embedded(exhibits: list[Exhibit]) -> str:
    """The figures as JSON that is safe inside a script element whatever the strings in it say."""
    data = {exhibit.identifier: exhibit for exhibit in exhibits}
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_as_map)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _as_map(part: Any) -> dict[str, object] | str:
    """Of an exhibit. Nothing is copied: its lists are long."""
    if isinstance(part, Column):
        return part.heading
    return {field.name: getattr(part, field.name) for field in fields(part)}


def _policy(*hashes: str) -> str:
    """A Content Security Policy: no network at all, and no script but those of this page, named by their hashes."""
    named = " ".join(f"'sha256-{one}'" for one in hashes)
    return (
        f"default-src 'none'; script-src {named}; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; "
        "form-action 'none'"
    )


def _hash(script: bytes) -> str:
    return base64.b64encode(hashlib.sha256(script).digest()).decode()


def _static(name: str) -> str:
    return (_STATIC / name).read_text(encoding="utf-8")


class _Script(NamedTuple):
    packed: str
    """Of gzip, in base64."""
    hash: str
    """SHA-256 of the script as it runs, in base64."""


@cache
def _packed_plotly() -> _Script:
    """Packed once for all pages that a process writes: for one it is a third of the work."""
    script = plotly_script()
    if script is None:
        raise NoChartsError("the report needs plotly for its figures; hint: pip install 'tonnage[report]'")
    return _Script(base64.b64encode(gzip.compress(script, _PACKED, mtime=0)).decode(), _hash(script))
