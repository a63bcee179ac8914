"""``bjobs -o``: the columns that a script names."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tonnage.cluster.scheduler import Job
from tonnage.compat.lsf import job_texts
from tonnage.errors import RequestError
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
        told = [{field.heading: field.value(job) for field in self.fields} for job in jobs]
        return [{key: "" if text == job_texts.UNKNOWN else text for key, text in record.items()} for record in told]


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
