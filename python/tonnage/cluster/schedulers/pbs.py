"""PBS Pro and OpenPBS, by their own commands.

PSI/J's executor for PBS quotes attributes inside quotes, so that a host or an array limit is refused, knows no time
limit, and leaves its script behind; ``qsub`` takes the program as a list of words.
"""

from __future__ import annotations

import os
import re
import shlex
import time
from collections.abc import Callable
from typing import Any, TypeVar

from tonnage.cluster.job_terms import (
    CommandSyntax,
    Dependency,
    Mail,
    Spelling,
    Terms,
    check_jobs,
    every,
    hours,
    in_units,
)
from tonnage.cluster.scheduler import (
    ClusterHost,
    Job,
    JobRequest,
    Queue,
    SchedulerError,
    State,
    SubmissionUnknown,
    Submitted,
)
from tonnage.cluster.schedulers.tool_output import Nonsense, Record, Refusals, document, run_in_foreground, with_key
from tonnage.errors import RequestError
from tonnage.machine.site_tools import ToolError, ToolOutput, ask

_T = TypeVar("_T")
_START = 'cd -- "$1" || exit; shift; exec "$@"'
_START_COPY = 'cd -- "$1" || exit; shift; TONNAGE_COPY="$PBS_ARRAY_INDEX" LSB_JOBINDEX="$PBS_ARRAY_INDEX" exec "$@"'
_REFUSALS = Refusals(r"^qsub: |^usage: qsub", no_queue="Unknown queue")
_USABLE = {"free", "job-busy", "job-exclusive", "busy", "resv-exclusive"}
_STATES: dict[str, State] = {
    **dict.fromkeys("MQTW", "pending"),
    **dict.fromkeys("HSU", "suspended"),
    **dict.fromkeys("BER", "running"),
    **dict.fromkeys(
        "FX", "done"
    ),  # or failed: of whatever ended PBS says this, and what it means is in its exit status
}
_KILLED = 256 + 9
"""Exit status of a job that PBS ended."""


class Pbs:
    """A site's PBS."""

    name = "pbs"

    def __init__(self, *, timeout_s: float) -> None:
        self._timeout_s = timeout_s

    def present(self) -> bool:
        import shutil

        # Other schedulers have a qsub of their own, but no pbsnodes that prints JSON.
        return shutil.which("qsub") is not None and shutil.which("pbsnodes") is not None

    def check(self, request: JobRequest, *, interactive: bool = False) -> None:
        if interactive and request.copies is not None:
            raise RequestError("copies cannot share a terminal; hint: leave one of the two out")
        self.command(request)

    def command(self, request: JobRequest) -> list[str]:
        about = [f"TONNAGE_KEY={request.key}", *([f"TONNAGE_SERVER={request.server}"] if request.server else [])]
        options = ["-N", _name(request.name), "-V", "-v", ",".join(about), *_size(request)]
        for licence, count in request.licences:
            options += ["-l", f"{licence}={count}"]
        if request.queue is not None:
            options += ["-q", request.queue]
        if request.copies is not None:
            options += ["-J", _array(request)]
        options += [*_files(request), *PBS.options(request.terms)]
        start = _START if request.copies is None else _START_COPY
        if request.input is not None:
            start = start.replace("shift;", f"shift; exec <{shlex.quote(_input(request))} || exit;", 1)
        return [
            "qsub",
            *options,
            "--",
            "/bin/sh",
            "-c",
            start,
            "tonnage",
            request.directory,
            *_launch(request),
            *request.program,
        ]

    def submit(self, request: JobRequest) -> Submitted:
        try:
            said = ask(self.command(request), timeout_s=self._timeout_s, environment=os.environ)
        except ToolError as error:
            raise _REFUSALS.scheduler_error(error) from None
        numbers = said.out.split()
        if not numbers:
            raise SubmissionUnknown("qsub printed no number of a job")
        return Submitted(numbers[-1], numbers[-1])

    def find(self, key: str) -> Submitted | None:
        job = with_key(self, key)
        return None if job is None else Submitted(job.job, job.job)

    def interactive(self, request: JobRequest) -> int:
        first, *rest = self.command(request)
        return run_in_foreground([first, "-I", *rest])

    def jobs(self, *, user: str | None = None, ended: bool = False) -> list[Job]:
        options = ["-f", "-t", "-F", "json", *(["-x"] if ended else [])]
        found = parse_jobs(self._ask("qstat", *options).out)
        return [job for job in found if user in (None, job.user)]

    def queues(self) -> list[Queue]:
        return parse_queues(self._ask("qstat", "-Q", "-f", "-F", "json").out)

    def hosts(self) -> list[ClusterHost]:
        return parse_hosts(self._ask("pbsnodes", "-a", "-F", "json").out)

    def cancel(self, job: str, copy: int | None = None) -> None:
        if copy is not None and "[]" not in job:
            raise RequestError(f"job {job} has no copies")
        self._ask("qdel", job if copy is None else job.replace("[]", f"[{copy}]"))

    def set_cap(self, job: str, cap: int) -> None:
        self._ask("qalter", f"-Wmax_run_subjobs={cap}", job)

    def _ask(self, *argv: str) -> ToolOutput:
        try:
            return ask(argv, timeout_s=self._timeout_s)
        except ToolError as error:
            raise SchedulerError(str(error)) from None


def parse_jobs(text: str) -> list[Job]:
    """What ``qstat -f -t -F json`` printed; SchedulerError where that is no list of jobs."""
    return _each(_of_record, text, "qstat", "Jobs")


def _of_record(number: str, record: Record) -> Job:
    variables = record.get("Variable_List")
    about = variables if isinstance(variables, dict) else {}
    copy = re.search(r"\[(\d+)\]", number)
    state, status = _STATES[record["job_state"]], _count(record.get("Exit_status"))
    if state == "done" and status:
        state = "cancelled" if status == _KILLED else "failed"
    return Job(
        job=re.sub(r"\[\d+\]", "[]", number),
        copy=int(copy[1]) if copy else None,
        name=str(record.get("Job_Name", "")),
        user=str(record.get("Job_Owner", "")).partition("@")[0],
        state=state,
        queue=str(record.get("queue", "")),
        from_host=str(about.get("PBS_O_HOST", "")),
        hosts=tuple(dict.fromkeys(re.findall(r"([^+/]+)/[^+]*", str(record.get("exec_host", ""))))),
        slots=_count(record.get("Resource_List", {}).get("ncpus")) or 1,
        key=about.get("TONNAGE_KEY"),
        server=about.get("TONNAGE_SERVER"),
        submitted_at_s=_when(record.get("qtime")),
        started_at_s=_when(record.get("stime")),
        # What changed last of a job that ended is that it ended.
        ended_at_s=_when(record.get("mtime")) if state in ("done", "failed", "cancelled") else None,
        exit_status=status,
        reason=str(record.get("comment", "")) if state in ("pending", "suspended") else "",
    )


def parse_queues(text: str) -> list[Queue]:
    """Parses the output of ``qstat -Q -f -F json``."""

    def made(name: str, record: Record) -> Queue:
        counts = dict(re.findall(r"(\w+):(\d+)", str(record.get("state_count", ""))))
        return Queue(
            name=name,
            open=record.get("enabled") == "True" and record.get("started") == "True",
            slots=_count(record.get("resources_available", {}).get("ncpus")),
            pending=int(counts.get("Queued", 0)) + int(counts.get("Held", 0)) + int(counts.get("Waiting", 0)),
            running=int(counts.get("Running", 0)) + int(counts.get("Begun", 0)),
        )

    return _each(made, text, "qstat", "Queue")


def parse_hosts(text: str) -> list[ClusterHost]:
    """Parses the output of ``pbsnodes -a -F json``."""

    def made(name: str, record: Record) -> ClusterHost:
        state = str(record.get("state", record.get("Error", "unknown")))
        up = set(state.split(",")) <= _USABLE
        slots = _count(record.get("resources_available", {}).get("ncpus")) or _count(record.get("pcpus")) or 0
        used = _count(record.get("resources_assigned", {}).get("ncpus")) or 0
        return ClusterHost(name=name, up=up, slots=slots, slots_used=used, reason="" if up else state.strip())

    return _each(made, text, "pbsnodes", "nodes")


def _each(made: Callable[[str, Record], _T], text: str, tool: str, under: str) -> list[_T]:
    """What ``made`` makes of each record of a table that ``tool`` printed."""
    try:
        return [made(name, record) for name, record in document(text, tool, "JSON object").get(under, {}).items()]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Nonsense(tool, f"table {under!r} of PBS's", text) from None


def _array(request: JobRequest) -> str:
    first, *more = request.numbers
    if more or first.count < 2:
        what = "several ranges" if more else "one job"
        raise RequestError(f"PBS has no array of {what}; hint: leave the array out, or give it one range")
    return f"{first}{f'%{request.cap}' if request.cap is not None else ''}"


def _size(request: JobRequest) -> list[str]:
    spread = request.spread
    options = []
    if spread is None:
        host = f":host={request.hosts[0]}" if request.hosts and not request.prefer else ""
        options += ["-l", f"select=1:ncpus={request.slots}{_of_chunk(request.terms)}{host}"]
        if request.terms.exclusive:
            options += ["-l", "place=excl"]
    else:
        each = f"ncpus={spread.per_node}:mpiprocs={spread.per_node}{_of_chunk(request.terms)}"
        # A chunk for each host, in this order, is the order of the processes too.
        chunks = [f"1:{each}:host={host}" for host in request.hosts] or [f"{spread.nodes}:{each}"]
        options += ["-l", f"select={'+'.join(chunks)}", "-l", f"place=scatter:{'excl' if spread.alone else 'free'}"]
    return options


def _of_chunk(terms: Terms) -> str:
    """What PBS counts with the CPUs of a host."""
    memory = "" if terms.memory_bytes is None else f":mem={in_units(terms.memory_bytes, 1 << 10)}kb"
    return memory + ("" if terms.gpus is None else f":ngpus={terms.gpus}")


def _dependency(after: Dependency) -> list[str]:
    check_jobs(after, r"[0-9]+(\[[0-9]*\])?(\.[A-Za-z0-9.-]+)?", "PBS")
    return ["-W", f"depend={','.join(every(after, 'PBS'))}"]


def _mail(mail: Mail) -> list[str]:
    letters = {"begin": "b", "end": "e", "fail": "a"}
    to = ["-M", mail.to] if mail.to is not None else []
    return ["-m", "".join(letters[event] for event in mail.events), *to]


PBS = Spelling(
    "PBS",
    {
        "time_limit_s": lambda limit_s: ["-l", f"walltime={hours(limit_s)}"],
        "account": lambda name: ["-A", name],
        # These three are with its hosts.
        "memory_bytes": lambda _: [],
        "gpus": lambda _: [],
        "exclusive": lambda _: [],
        "dependency": _dependency,
        "mail": _mail,
        "rerun": lambda _: ["-r", "y"],
        "begin_at_s": lambda moment_s: ["-a", time.strftime("%Y%m%d%H%M.%S", time.localtime(moment_s))],
        "words": list,
    },
    CommandSyntax(
        refused=("-J", "-I", "-v", "-V", "-N", "-z", "--version"),
        values="aAcCeJjklMmNoPpqRrSuvW",
    ),
)


def _input(request: JobRequest) -> str:
    file = request.input or ""
    if "%J" in file or "%I" in file:
        raise RequestError("PBS puts no numbers into the name of a job's input; hint: leave %J and %I out")
    return file


def _launch(request: JobRequest) -> list[str]:
    """The site's ``mpiexec`` knows the job's nodes; a single process is the job itself."""
    spread = request.spread
    return [] if spread is None or spread.processes == 1 else ["mpiexec", "-n", str(spread.processes)]


def _name(name: str) -> str:
    """PBS wants no blanks, and a letter first."""
    plain = re.sub(r"[^A-Za-z0-9._+-]", "_", name)[:200]
    return plain if re.match(r"[A-Za-z]", plain) else f"t{plain}"


def _files(request: JobRequest) -> list[str]:
    options = []
    for option, file in (("-o", request.output), ("-e", request.error)):
        if file is not None:
            if "%J" in file:
                raise RequestError("PBS cannot put a job's number into the name of a file; hint: leave %J out")
            options += [option, file.replace("%I", "^array_index^")]
    return options if request.error is not None else [*options, "-j", "oe"]


def _count(value: Any) -> int | None:
    return int(value) if re.fullmatch(r"-?\d{1,18}", str(value)) else None


def _when(text: Any) -> float | None:
    """``Tue Oct  4 21:23:33 2022``, by this host's clock."""
    try:
        return time.mktime(time.strptime(str(text), "%a %b %d %H:%M:%S %Y"))
    except (ValueError, OverflowError):
        return None
