"""``bjobs``."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tonnage.cluster.scheduler import Job, State
from tonnage.compat.front_end import Given, parse_arguments
from tonnage.compat.lsf import job_texts
from tonnage.compat.lsf.bjobs_columns import Format, read_format
from tonnage.compat.lsf.bjobs_long import long_form
from tonnage.compat.lsf.options import BJOBS
from tonnage.compat.lsf.select_jobs import FAILED, matches, named
from tonnage.compat.output import Voice
from tonnage.errors import RequestError
from tonnage.machine.user_state import user_name
from tonnage.placement.jobs import asked_scheduler
from tonnage.printable_text import shown

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
