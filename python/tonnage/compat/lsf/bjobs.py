"""``bjobs``: its columns, its long form, and the fields of ``-o``."""

from __future__ import annotations

import json
import re
import textwrap
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tonnage.cluster.scheduler import Job, State
from tonnage.compat.front_end import Given, Voice, parse_arguments
from tonnage.compat.lsf import job_texts
from tonnage.compat.lsf.options import BJOBS
from tonnage.compat.lsf.select_jobs import FAILED, matches, named
from tonnage.errors import RequestError
from tonnage.machine.user_state import user_name
from tonnage.placement.jobs import asked_scheduler
from tonnage.printable_text import shown

_SPLIT = re.compile(r"delimiter=(?P<quote>['\"]?)(?P<sign>.+?)(?P=quote)(?:\s|$)")
_FIELD = re.compile(r"(?P<name>[a-z_]+)(?::(?P<right>-)?(?P<width>\d{1,4})?)?", re.IGNORECASE)


def _run_time(job: Job) -> str:
    if job.started_at_s is None:
        return job_texts.UNKNOWN
    return f"{max(0.0, (job.ended_at_s or time.time()) - job.started_at_s):.0f} second(s)"


def _text(value: object) -> str:
    return job_texts.UNKNOWN if value in (None, "") else str(value)


_VALUES: dict[str, tuple[int, Callable[[Job], str]]] = {
    "jobid": (7, lambda job: job.job),
    "jobindex": (8, lambda job: str(job.copy or 0)),
    "stat": (5, lambda job: job_texts.STATES[job.state]),
    "user": (7, lambda job: _text(job.user)),
    "queue": (10, lambda job: _text(job.queue)),
    "job_name": (10, job_texts.name),
    "from_host": (11, lambda job: _text(job.from_host)),
    "exec_host": (11, job_texts.hosts),
    "nexec_host": (10, lambda job: _text(len(job.hosts) or None)),
    "slots": (5, lambda job: str(job.slots)),
    "exit_code": (10, lambda job: _text(job.exit_status or None)),
    "submit_time": (15, lambda job: job_texts.when(job.submitted_at_s)),
    "start_time": (15, lambda job: job_texts.when(job.started_at_s)),
    "finish_time": (16, lambda job: job_texts.when(job.ended_at_s)),
    "run_time": (15, _run_time),
    "pend_reason": (11, lambda job: _text(job.reason if job.state == "pending" else None)),
    "exit_reason": (50, lambda job: _text(job.reason if job.state in ("failed", "cancelled") else None)),
    "server": (11, lambda job: _text(job.server)),
}
"""By LSF's names, with LSF's widths; ``server`` is ours."""
_ALIASES = {"id": "jobid", "name": "job_name", "status": "stat", "fhost": "from_host", "ehost": "exec_host"}
NAMES = tuple(_VALUES)


@dataclass(frozen=True, slots=True)
class Field:
    """One column."""

    heading: str
    value: Callable[[Job], str]
    width: int
    right: bool
    cut: bool
    """A value that is longer is cut to the width, which was asked for."""

    def cell(self, text: str) -> str:
        """Formats a value in its width."""
        if self.cut and len(text) > self.width:
            text = f"*{text[len(text) - self.width + 1 :]}" if self.width > 1 else text[: self.width]
        return text.rjust(self.width) if self.right else text.ljust(self.width)


@dataclass(frozen=True, slots=True)
class Format:
    """What ``-o`` asks for."""

    fields: tuple[Field, ...]
    delimiter: str | None
    """None: columns."""

    def rows(self, jobs: Sequence[Job], *, heading: bool) -> list[str]:
        """Returns one line for each job."""
        lines = [[field.heading for field in self.fields]] if heading else []
        lines += [[shown(field.value(job)) for field in self.fields] for job in jobs]
        if self.delimiter is not None:
            return [self.delimiter.join(line) for line in lines]
        return [
            " ".join(field.cell(text) for field, text in zip(self.fields, line, strict=True)).rstrip() for line in lines
        ]

    def records(self, jobs: Sequence[Job]) -> list[dict[str, str]]:
        """An object a job, for ``-json``: what is not known is empty, as LSF has it."""
        records = [{field.heading: field.value(job) for field in self.fields} for job in jobs]
        return [{key: "" if text == job_texts.UNKNOWN else text for key, text in record.items()} for record in records]


def read_format(text: str) -> Format:
    """``jobid:10 stat:-8 delimiter=','``. RequestError for a name that is no field of ours."""
    found = _SPLIT.search(text)
    delimiter = None if found is None else found["sign"]
    plain = text if found is None else f"{text[: found.start()]} {text[found.end() :]}"
    fields = [_field(word) for word in plain.split()]
    if not fields:
        raise RequestError("bjobs -o names no field; hint: write it like 'jobid stat exit_code'")
    return Format(tuple(fields), delimiter)


def _field(word: str) -> Field:
    match = _FIELD.fullmatch(word)
    name = "" if match is None else match["name"].lower()
    name = _ALIASES.get(name, name)
    if match is None or name not in _VALUES:
        raise RequestError(f"bjobs -o: there is no field {word!r}; hint: they are {', '.join(NAMES)}")
    width, value = _VALUES[name]
    own = match["width"]
    return Field(name.upper(), value, int(own) if own else width, bool(match["right"]), own is not None)


_WIDTH = 80
_INDENT = " " * 21
_BETWEEN = "-" * 78


def long_form(jobs: Sequence[Job]) -> list[str]:
    """Returns paragraphs, with a line between jobs."""
    lines: list[str] = []
    for number, job in enumerate(jobs):
        lines += [_BETWEEN] if number else []
        lines += ["", *_wrapped(_first_lines(job)), *(line for told in _story(job) for line in _wrapped(told))]
        if job.state == "pending" and job.reason:
            lines += [" PENDING REASONS:", f" {shown(job.reason)};"]
    return [*lines, ""]


def _first_lines(job: Job) -> str:
    number = job.job if job.copy is None else f"{job.job}[{job.copy}]"
    facts = (
        ("Job", number),
        ("Job Name", job_texts.name(job)),
        ("User", job.user),
        ("Status", job_texts.STATES[job.state]),
        ("Queue", job.queue),
        ("File Server", job.server),
    )
    return ", ".join(f"{what} <{text}>" for what, text in facts if text)


def _story(job: Job) -> list[str]:
    slots = f"{job.slots} slots, " if job.slots > 1 else ""
    events = [(job.submitted_at_s, f"Submitted{f' from host <{job.from_host}>' if job.from_host else ''}")]
    if job.started_at_s is not None:
        events.append((job.started_at_s, f"Started {slots}on <{job_texts.hosts(job)}>"))
    if job.state == "done":
        events.append((job.ended_at_s, "Done successfully"))
    elif job.state in ("failed", "cancelled"):
        status = "" if job.exit_status is None else f" with exit code {job.exit_status}"
        events.append((job.ended_at_s, f"Exited{status}{f' ({job.reason})' if job.reason else ''}"))
    return [f"{_moment(at_s)}: {text};" for at_s, text in events]


def _moment(at_s: float | None) -> str:
    # Asctime, in English everywhere: Sat Nov 21 20:26:00.
    return job_texts.UNKNOWN if at_s is None else time.asctime(time.localtime(at_s))[:-5]


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(shown(text), _WIDTH, subsequent_indent=_INDENT, break_on_hyphens=False)


_COLUMNS = (
    ("JOBID", 7),
    ("USER", 7),
    ("STAT", 5),
    ("QUEUE", 10),
    ("FROM_HOST", 11),
    ("EXEC_HOST", 11),
    ("JOB_NAME", 10),
    ("SUBMIT_TIME", 0),
)
_WHOLE = ("JOBID", "STAT", "SUBMIT_TIME")
"""Never cut."""
_HOSTS = [name for name, _ in _COLUMNS].index("EXEC_HOST")
_STATES: dict[str, tuple[State, ...]] = {
    "-r": ("running",),
    "-p": ("pending",),
    "-s": ("suspended",),
    "-d": ("done", "failed", "cancelled"),
}
_NONE = {"-r": "running", "-p": "pending", "-s": "suspended", "-d": "DONE/EXIT"}
"""What there is not one of, in LSF's words."""


def run(typed: Sequence[str], voice: Voice) -> int:
    """Exit code: 255 where there is no such job."""
    given = parse_arguments(BJOBS, typed)
    names = given.texts("names")
    form = None if given["-o"] is None else read_format(given.text("-o"))
    if given["-json"] and form is None:
        raise RequestError("bjobs -json needs fields; hint: add -o 'jobid stat'")
    jobs, missing = _wanted(given, names)
    if given["-json"] and form is not None:
        voice.say(_json(form, jobs, missing))
        return FAILED if missing else 0
    if jobs:
        voice.say("\n".join(_lines(given, form, jobs)))
    for word in missing:
        voice.tell(f"Job <{word}> is not found")
    if not jobs and not missing:
        voice.tell(_none(given))
    return FAILED if missing or not jobs else 0


def _wanted(given: Given, names: Sequence[str]) -> tuple[list[Job], list[str]]:
    """The jobs that were asked for, and the words that mean none."""
    user = given.text_if("-u") or (None if names else user_name())
    # A job that is named is listed even if it has ended.
    ended = bool(names or given["-a"] or given["-d"])
    listed = asked_scheduler(None, None).jobs(user=None if user == "all" else user, ended=ended)
    states = [state for option, some in _STATES.items() if given[option] for state in some]
    found = [job for job in listed if matches(job, given) and (not states or given["-a"] or job.state in states)]
    if not names:
        return found, [given.text("-J")] if given["-J"] and not found else []
    each = {word: named(found, word) for word in names}
    return [job for some in each.values() for job in some], [word for word, some in each.items() if not some]


def _none(given: Given) -> str:
    if given["-a"]:
        return "No job found"
    asked = [word for option, word in _NONE.items() if given[option]]
    return f"No {'/'.join(asked) or 'unfinished'} job found"


def _lines(given: Given, form: Format | None, jobs: Sequence[Job]) -> list[str]:
    heading = not given["-noheader"]
    if form is not None:
        return form.rows(jobs, heading=heading)
    if given["-l"]:
        return long_form(jobs)
    rows = [[name for name, _ in _COLUMNS]] if heading else []
    wide = bool(given["-w"])
    for job in jobs:
        rows += _rows(job, wide=wide)
    if wide:
        widths = [max([width, *(len(row[at]) for row in rows)]) for at, (_, width) in enumerate(_COLUMNS)]
    else:
        widths = [width for _, width in _COLUMNS]
    return [" ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _rows(job: Job, *, wide: bool) -> list[list[str]]:
    """The line of a job; where names are cut, further hosts stand below the first."""
    hosts = job_texts.hosts(job)
    first, *more = [hosts] if wide else hosts.split(":")
    cells = [
        job.job,
        job.user or job_texts.UNKNOWN,
        job_texts.STATES[job.state],
        job.queue or job_texts.UNKNOWN,
        job.from_host or job_texts.UNKNOWN,
        first,
        job_texts.name(job),
        job_texts.when(job.submitted_at_s),
    ]
    lines = [cells, *([""] * _HOSTS + [host] + [""] * (len(_COLUMNS) - _HOSTS - 1) for host in more)]
    told = [[shown(cell) for cell in line] for line in lines]
    if wide:
        return told
    return [[_cut(cell, *column) for cell, column in zip(line, _COLUMNS, strict=True)] for line in told]


def _cut(text: str, heading: str, width: int) -> str:
    if heading in _WHOLE or len(text) <= width:
        return text
    # Names differ at their ends: a copy's has its number there.
    return f"*{text[len(text) - width + 1 :]}" if heading == "JOB_NAME" else text[:width]


def _json(form: Format, jobs: Sequence[Job], missing: Sequence[str]) -> str:
    records = [*form.records(jobs), *({"JOBID": word, "ERROR": f"Job <{word}> is not found"} for word in missing)]
    return json.dumps({"COMMAND": "bjobs", "JOBS": len(records), "RECORDS": records}, indent=2)
