"""Snakemake's log of a run, with what it keeps beside it: metadata of each output, and the benchmark files it names.

The log says which job began and ended when, to the second. ``.snakemake/metadata`` has instants of each output file to
the microsecond: when the job was handed over, and when the file was last written. A rule's ``benchmark`` file has the
job's own time, memory and device bytes. Dependencies follow from the inputs and outputs that the log names.
"""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from tonnage.importers.trace import LARGEST, MOST_BYTES, Trace, TracedTask, Unreadable, content, number, whole
from tonnage.records.line_types import Json

_STAMP = re.compile(r"\[(\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4})\]\s*$", re.ASCII)
_RULE = re.compile(r"(?:local)?(?:rule|checkpoint) (\S+):\s*$")
_FINISHED = re.compile(r"Finished (?:jobid: |job )(\d{1,9})\b")
_ERROR = re.compile(r"Error in (?:rule|group) (\S+?)[,:]")
_KEY = re.compile(r" {4}([a-z_-]+): (.*)$")
_DIRECTORY = re.compile(r" {2}Working directory: (.+)$")
_MOST_SMALL_BYTES = 1 << 20
_SECOND_NS = 10**9
_MIB = 1 << 20
_SAMPLED = ("cpu_ns", "max_resident_bytes")


@dataclass(slots=True)
class _Job:
    """One block of the log: a job that began."""

    rule: str
    line: int
    submit_ns: int | None
    keys: dict[str, str] = field(default_factory=dict)
    complete_ns: int | None = None
    status: str = "unfinished"

    def files(self, key: str) -> list[str]:
        return [name.strip() for name in self.keys.get(key, "").split(", ") if name.strip()]


def read(path: Path) -> Trace:
    """The tasks of a log ``.snakemake/log/*.snakemake.log``. OSError where it cannot be read."""
    with path.open("rb") as file:
        jobs, home, problems = _jobs(file.read(MOST_BYTES))
    # The log lies in .snakemake/log of the directory in which the workflow ran, which may have moved since.
    state = path.absolute().parent.parent
    directory = state.parent if state.name == ".snakemake" or home is None else Path(home)
    makers = {name: position for position, job in enumerate(jobs) for name in job.files("output")}
    attempts: dict[str, int] = {}
    tasks = []
    for job in jobs:
        number_ = job.keys.get("jobid", "")
        attempts[number_] = attempts.get(number_, 0) + 1
        try:
            tasks.append(_task(job, attempts[number_], makers, state / "metadata", directory, problems))
        except Unreadable as error:
            problems.append(f"line {job.line}: a time of this job {error}; left out")
            tasks.append(TracedTask(name=job.rule, process=job.rule, status=job.status))
    return Trace(tuple(tasks), tuple(problems))


def _jobs(data: bytes) -> tuple[list[_Job], str | None, list[str]]:
    """What the lines of a log say. Jobs that make nothing (``all``) only name what others made: they are no tasks."""
    lines, torn = content(data)
    jobs: list[_Job] = []
    begun: dict[str, _Job] = {}
    home, now_ns, job, failing = None, None, None, False
    problems = []
    for count, line in enumerate(lines, 1):
        if stamp := _STAMP.match(line):
            now_ns, job, failing = _instant(stamp[1]), None, False
            if now_ns is None:
                problems.append(f"line {count}: {stamp[1]!r} is not a date and time")
        elif rule := _RULE.match(line):
            job = _Job(rule[1], count, now_ns)
            jobs.append(job)
        elif finished := _FINISHED.match(line):
            if ended := begun.get(finished[1]):
                ended.complete_ns, ended.status = now_ns, "ok"
            else:
                problems.append(f"line {count}: job {finished[1]} ended and never began")
        elif _ERROR.match(line):
            failing, job = True, None
        elif key := _KEY.match(line):
            if failing and key[1] == "jobid" and (ended := begun.get(key[2].strip())):
                ended.complete_ns, ended.status = now_ns, "failed"
            elif job is not None:
                job.keys.setdefault(key[1], key[2])
                if key[1] == "jobid":
                    begun[key[2].strip()] = job
        elif directory := _DIRECTORY.match(line):
            home = directory[1]
    if torn:
        problems.append(f"line {len(lines)}: it was cut off; what it holds is kept")
    if not jobs:
        problems.append("line 1: no job begins in this log: it is none of Snakemake's, or nothing had to be done")
    return [job for job in jobs if job.keys.keys() & {"output", "log", "benchmark"}], home, problems


def _instant(text: str) -> int | None:
    """What ``time.asctime`` wrote, whatever the language of the machine; None where it is no time."""
    try:
        return int(datetime.strptime(text, "%a %b %d %H:%M:%S %Y").timestamp()) * _SECOND_NS
    except (ValueError, OverflowError, OSError):
        return None


def _task(
    job: _Job, attempt: int, makers: Mapping[str, int], metadata: Path, directory: Path, problems: list[str]
) -> TracedTask:
    kept = [found for name in job.files("output") if (found := _metadata(metadata, name))] if job.status == "ok" else []
    submit_ns, end_ns = job.submit_ns, job.complete_ns
    handed = [start for found in kept if (start := _seconds(found.get("starttime"))) is not None]
    written = [end for found in kept if (end := _seconds(found.get("endtime"))) is not None]
    # The log's second is rounded down; metadata of an earlier run would be of another second.
    if handed and submit_ns is not None and submit_ns <= min(handed) < submit_ns + 2 * _SECOND_NS:
        submit_ns = min(handed)
    times_from = "engine"
    if written and submit_ns is not None and end_ns is not None and submit_ns <= max(written) < end_ns + _SECOND_NS:
        end_ns, times_from = max(written), "task"
    figures = _benchmark(directory, job, problems)
    run_ns = figures.get("run_ns")
    start_ns = submit_ns
    if run_ns is not None and end_ns is not None and submit_ns is not None:
        start_ns = max(submit_ns, end_ns - run_ns)
    wildcards = job.keys.get("wildcards")
    sources = {makers[name] for name in job.files("input") if name in makers}
    return TracedTask(
        name=f"{job.rule} ({wildcards})" if wildcards else job.rule,
        process=job.rule,
        status=job.status,
        attempt=attempt,
        exit_code=0 if job.status == "ok" else None,
        submit_ns=submit_ns,
        start_ns=start_ns,
        end_ns=end_ns,
        complete_ns=None if job.complete_ns is None else max(job.complete_ns, end_ns or 0),
        times_from=times_from,
        run_ns=run_ns,
        cpu_ns=figures.get("cpu_ns"),
        max_resident_bytes=figures.get("max_resident_bytes"),
        device_read_bytes=figures.get("device_read_bytes"),
        device_write_bytes=figures.get("device_write_bytes"),
        after=tuple(sorted(sources)),
    )


def _metadata(directory: Path, output: str) -> Json:
    """What Snakemake keeps of one output file; empty where it keeps nothing that could be read."""
    name = urlsafe_b64encode(output.encode("utf-8", "replace")).decode()
    # Longer names it keeps in pieces; only times are lost with them.
    if len(name) > 255:
        return {}
    try:
        with (directory / name).open("rb") as file:
            found = json.loads(file.read(_MOST_SMALL_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _seconds(value: Any) -> int | None:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < LARGEST // _SECOND_NS:
        return None
    return whole(Fraction(value) * _SECOND_NS)


def _benchmark(directory: Path, job: _Job, problems: list[str]) -> dict[str, int | None]:
    """The last line of the job's benchmark file: the repetition that left the output."""
    name = job.keys.get("benchmark", "").strip()
    if not name or job.status != "ok":
        return {}
    try:
        with (directory / name).open("rb") as file:
            lines, _ = content(file.read(_MOST_SMALL_BYTES))
    except (OSError, ValueError):
        problems.append(f"line {job.line}: its benchmark file {name!r} cannot be read")
        return {}
    if len(lines) < 2:
        return {}
    row = dict(zip(lines[0].split("\t"), lines[-1].split("\t"), strict=False))
    found: dict[str, int | None] = {}
    for column, key, factor in (
        ("s", "run_ns", _SECOND_NS),
        ("cpu_time", "cpu_ns", _SECOND_NS),
        ("max_rss", "max_resident_bytes", _MIB),
        ("io_in", "device_read_bytes", _MIB),
        ("io_out", "device_write_bytes", _MIB),
    ):
        text = row.get(column, "-")
        if text in ("-", "NA", ""):
            continue
        try:
            # Memory and processor time are sampled: 0 of a short job means no sample.
            found[key] = whole(number(text) * factor) or (None if key in _SAMPLED else 0)
        except Unreadable as error:
            problems.append(f"line {job.line}: {column} {text[:40]!r} of {name!r} {error}")
    return found
