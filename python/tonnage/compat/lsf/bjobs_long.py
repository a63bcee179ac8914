"""``bjobs -l``: what is known of a job, in sentences."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Sequence

from tonnage.cluster.scheduler import Job
from tonnage.compat.lsf import job_texts
from tonnage.printable_text import shown

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
    told = [(job.submitted_at_s, f"Submitted{f' from host <{job.from_host}>' if job.from_host else ''}")]
    if job.started_at_s is not None:
        told.append((job.started_at_s, f"Started {slots}on <{job_texts.hosts(job)}>"))
    if job.state == "done":
        told.append((job.ended_at_s, "Done successfully"))
    elif job.state in ("failed", "cancelled"):
        status = "" if job.exit_status is None else f" with exit code {job.exit_status}"
        told.append((job.ended_at_s, f"Exited{status}{f' ({job.reason})' if job.reason else ''}"))
    return [f"{_moment(at_s)}: {text};" for at_s, text in told]


def _moment(at_s: float | None) -> str:
    # Asctime, in English everywhere: Sat Nov 21 20:26:00.
    return job_texts.UNKNOWN if at_s is None else time.asctime(time.localtime(at_s))[:-5]


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(shown(text), _WIDTH, subsequent_indent=_INDENT, break_on_hyphens=False)
