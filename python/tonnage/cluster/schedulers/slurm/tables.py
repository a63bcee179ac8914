"""What ``squeue``, ``sacct`` and ``sinfo`` are asked to print, and how that is read.

A job's name may have any character, line ends included, and may be another user's. So fields end with an unpredictable
random word, not with a character.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from tonnage.cluster.scheduler import Job, State
from tonnage.cluster.schedulers.slurm.command import read_comment
from tonnage.cluster.schedulers.tool_output import Nonsense, hosts, moment

_T = TypeVar("_T")
JOBS = (
    "ArrayJobID",
    "ArrayTaskID",
    "Name",
    "UserName",
    "State",
    "Partition",
    "AllocNodes",
    "NodeList",
    "NumCPUs",
    "Comment",
    "SubmitTime",
    "StartTime",
    "EndTime",
    "exit_code",
    "Reason",
)
ENDED = (
    "JobID",
    "JobName",
    "User",
    "State",
    "Partition",
    "NodeList",
    "AllocCPUS",
    "Comment",
    "Submit",
    "Start",
    "End",
    "ExitCode",
    "Reason",
)
NODES = ("NodeList", "Partition", "Available", "StateLong", "CPUsState", "Features", "Reason")
NAMED = ("ArrayJobID", "Comment", "State", "Reason", "UserID")
NAMED_ENDED = ("JobID", "Comment", "UID")
ENVIRONMENT = {
    "SLURM_TIME_FORMAT": "%s",
    "SLURM_BITSTR_LEN": "0",  # all numbers of the copies that wait, not the first
}
_STATES: dict[str, State] = {
    "PENDING": "pending",
    "REQUEUED": "pending",
    "REQUEUE_FED": "pending",
    "REQUEUE_HOLD": "pending",
    "RESV_DEL_HOLD": "pending",
    "SPECIAL_EXIT": "pending",
    "RUNNING": "running",
    "CONFIGURING": "running",
    "COMPLETING": "running",
    "POWER_UP_NODE": "running",
    "RESIZING": "running",
    "SIGNALING": "running",
    "STAGE_OUT": "running",
    "SUSPENDED": "suspended",
    "STOPPED": "suspended",
    "COMPLETED": "done",
    "FAILED": "failed",
    "BOOT_FAIL": "failed",
    "DEADLINE": "failed",
    "LAUNCH_FAILED": "failed",
    "NODE_FAIL": "failed",
    "OUT_OF_MEMORY": "failed",
    "PREEMPTED": "failed",
    "RECONFIG_FAIL": "failed",
    "TIMEOUT": "failed",
    "CANCELLED": "cancelled",
    "REVOKED": "cancelled",
}
_OVER = ("done", "failed", "cancelled")
_CLUSTER = re.compile(r"\A(?:\s*^CLUSTER: .*$)?\n*", re.MULTILINE)
"""What stands between two rows: a line end, and the name of the cluster where several are asked."""
_NO_COPIES = ("N/A", "")
_NOWHERE = ("", "(null)", "None assigned")
_NUMBERS = re.compile(r"(\d+)(?:-(\d+)(?::(\d+))?)?")
_TAKES_JOBS = {"idle", "mixed", "allocated", "completing", "planned", "reserved"}
_RAW_SIGNAL = 0x7F


def separator() -> str:
    """A word that no name contains."""
    return f"|{os.urandom(8).hex()}|"


def wanted(fields: Sequence[str], between: str) -> str:
    """The format for ``squeue`` and ``sinfo``: 0 is the whole field, where the default cuts it at 20 characters."""
    return ",".join(f"{field}:0{between}" for field in fields)


def rows(text: str, fields: Sequence[str], between: str) -> Iterator[dict[str, str]]:
    """Reads what Slurm printed for ``wanted``: each field of each row ends with ``between``. ValueError otherwise."""
    words = text.split(between)
    if (len(words) - 1) % len(fields) or words[-1].strip():
        raise ValueError("not as many fields as asked for")
    for first in range(0, len(words) - 1, len(fields)):
        row = dict(zip(fields, words[first : first + len(fields)], strict=True))
        row[fields[0]] = _CLUSTER.sub("", row[fields[0]])
        yield row


def read(made: Callable[[dict[str, str]], _T], text: str, fields: Sequence[str], between: str, tool: str) -> list[_T]:
    """What ``made`` makes of each row that ``tool`` printed; Nonsense where that is no such list."""
    try:
        return [made(row) for row in rows(text, fields, between)]
    except ValueError:
        raise Nonsense(tool, "list of Slurm's", text) from None


def job_of(row: dict[str, str]) -> Job:
    """A job of ``squeue``. ValueError where it is none."""
    copy, count = _copies(row["ArrayTaskID"])
    found = _job(
        row,
        job=row["ArrayJobID"],
        copy=copy,
        count=count,
        name=row["Name"],
        user=row["UserName"],
        from_host=row["AllocNodes"],
        slots=row["NumCPUs"],
        times=(row["SubmitTime"], row["StartTime"], row["EndTime"]),
        exit_code=row["exit_code"],
    )
    return replace(found, cap=_limit(row["ArrayTaskID"])) if found.state == "pending" else found


def ended_of(row: dict[str, str]) -> Job:
    """A job of ``sacct``. ValueError where it is none."""
    number, _, index = row["JobID"].partition("_")
    copy, count = _copies(index.strip("[]"))
    return _job(
        row,
        job=number.partition("+")[0],
        copy=copy,
        count=count,
        name=row["JobName"],
        user=row["User"],
        from_host="",
        slots=row["AllocCPUS"],
        times=(row["Submit"], row["Start"], row["End"]),
        exit_code=row["ExitCode"],
    )


def _job(
    row: dict[str, str],
    *,
    job: str,
    copy: int | None,
    count: int,
    name: str,
    user: str,
    from_host: str,
    slots: str,
    times: tuple[str, str, str],
    exit_code: str,
) -> Job:
    if not job.isdecimal():
        raise ValueError("no number of a job")
    # Accounting says "CANCELLED by 1000".
    state = _STATES.get(row["State"].partition(" ")[0], "unknown")
    key, server = read_comment(row["Comment"])
    submitted, started, ended = map(moment, times)
    return Job(
        job=job,
        copy=copy,
        count=count,
        name=name,
        user=user,
        state=state,
        queue=row["Partition"],
        from_host="" if from_host == "(null)" else from_host,
        hosts=() if row["NodeList"] in _NOWHERE else hosts(row["NodeList"]),
        slots=int(slots) if slots.isdecimal() and int(slots) else 1,
        key=key,
        server=server,
        submitted_at_s=submitted,
        # Of a job that waits or runs, Slurm tells what it expects.
        started_at_s=None if state == "pending" else started,
        ended_at_s=ended if state in _OVER else None,
        exit_status=_exit_status(exit_code) if state in _OVER else None,
        reason=_reason(row["State"].partition(" ")[0], "" if row["Reason"] == "None" else row["Reason"]),
    )


def _reason(said: str, reason: str) -> str:
    """With the word for a failure that says more than that it was one: ``TIMEOUT``, ``NODE_FAIL``."""
    if _STATES.get(said) != "failed" or said == "FAILED":
        return reason
    return f"{said}: {reason}" if reason else said


def _copies(text: str) -> tuple[int | None, int]:
    """The number of one copy, or how many wait: ``7``, ``3-9,12%4``, ``1-9:2``; ``N/A`` or nothing is no array."""
    numbers = text.partition("%")[0]
    if numbers.isdecimal():
        return int(numbers), 1
    count = 0
    for first, last, step in () if numbers in _NO_COPIES else _NUMBERS.findall(numbers):
        count += (int(last or first) - int(first)) // int(step or 1) + 1
    return None, max(count, 1)


def _limit(text: str) -> int | None:
    """Of copies at once: 4 of ``3-9,12%4``, 0 of ``3-9``, which has none. Of one copy alone Slurm may not tell it."""
    numbers, _, limit = text.partition("%")
    if limit.isdecimal():
        return int(limit)
    return None if numbers in _NO_COPIES or numbers.isdecimal() else 0


def _exit_status(text: str) -> int | None:
    """``3:0`` (status and signal; since 23.02) or the raw 768 of ``wait``; 128 + n where signal n ended it."""
    status, colon, number = text.partition(":")
    if not status.isdecimal():
        return None
    ended_by = int(number) if number.isdecimal() else 0
    if not colon:
        status, ended_by = str(int(status) >> 8), int(status) & _RAW_SIGNAL
    return 128 + ended_by if ended_by else int(status)


@dataclass(frozen=True, slots=True)
class Node:
    """A host in one partition."""

    name: str
    queue: str
    queue_is_open: bool
    queue_is_default: bool
    up: bool
    slots: int
    slots_used: int
    features: frozenset[str]
    reason: str

    @property
    def slots_free(self) -> int:
        return self.slots - self.slots_used if self.up else 0


def node_of(row: dict[str, str]) -> Node:
    """A line of ``sinfo --Node``. ValueError where it is none."""
    state = row["StateLong"]
    # "-", "+": held for a job that waits, some slots in use; "~", "#", "%", "!": asleep, and woken for jobs.
    # "*": it does not answer; "$", "@", "^": kept for maintenance or a restart.
    takes_jobs = state.rstrip("+-~#%!") in _TAKES_JOBS
    used, _, _, total = (int(part) for part in row["CPUsState"].split("/"))
    reason = "" if row["Reason"] == "none" else row["Reason"]
    return Node(
        name=row["NodeList"],
        queue=row["Partition"].removesuffix("*"),
        queue_is_open=row["Available"] == "up",
        queue_is_default=row["Partition"].endswith("*"),
        up=takes_jobs,
        slots=total,
        slots_used=used,
        features=frozenset(row["Features"].split(",")),
        reason=reason if takes_jobs else f"{state}: {reason}" if reason else state,
    )
