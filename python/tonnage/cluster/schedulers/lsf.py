"""LSF and Openlava: ``bsub``, ``bjobs``, ``bqueues``, ``bhosts``, ``bkill``, ``bmod``, as they print.

LSF keeps a job's description (``-Jd``) and prints JSON; Openlava has neither: there the key is the end of the job's
name, and the columns of ``bjobs -w`` are read. Which of the two it is, ``bsub -V`` says without asking a server.
"""

from __future__ import annotations

import os
import re
import shlex
import time

from tonnage.cluster.array_numbers import spelled
from tonnage.cluster.job_terms import CommandSyntax, Dependency, Mail, Spelling, check_jobs, in_units
from tonnage.cluster.scheduler import (
    ClusterHost,
    Job,
    JobRequest,
    Queue,
    SchedulerError,
    Spread,
    State,
    SubmissionUnknown,
    Submitted,
)
from tonnage.cluster.schedulers.tool_output import Nonsense, Record, Refusals, document, run_in_foreground, with_key
from tonnage.machine.site_tools import ToolError, ToolMissing, ToolOutput, ToolSilent, ask, site_tool

_RECEIPT = re.compile(r"^Job <(\d+)> is submitted to .*$", re.MULTILINE)
_REFUSALS = Refusals(
    r"Job not submitted|^bsub: |^Usage: bsub|^(?:Illegal|Bad|Invalid|Unknown|Ambiguous) .*(?:option|argument)",
    no_queue="No such queue",
)
_STATES: dict[str, State] = {
    "PEND": "pending",
    "WAIT": "pending",
    "PSUSP": "suspended",
    "USUSP": "suspended",
    "SSUSP": "suspended",
    "RUN": "running",
    "DONE": "done",
    "EXIT": "failed",
}
_FIELDS = (
    "jobid jobindex user stat queue from_host exec_host job_name job_description slots exit_code "
    "submit_time start_time finish_time pend_reason"
)
_COPY = 'TONNAGE_COPY="$LSB_JOBINDEX" exec "$@"'
_IN_NAME = ".tonnage-"
"""Before the key, in the name of an Openlava job."""


class Lsf:
    """A site's LSF, or its Openlava."""

    name = "lsf"

    def __init__(self, *, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._is_openlava: bool | None = None

    def present(self) -> bool:
        import shutil

        return shutil.which("bsub") is not None

    def check(self, request: JobRequest, *, interactive: bool = False) -> None:  # noqa: ARG002
        self.command(request)

    def command(self, request: JobRequest) -> list[str]:
        options = ["-J", self._name_of(request)]
        if not self._openlava():
            options += ["-Jd", f"tonnage key={request.key}" + (f" server={request.server}" if request.server else "")]
        if request.queue is not None:
            options += ["-q", request.queue]
        if request.hosts:
            # Weights keep the order; "others" makes it a preference.
            weighted = [f"{host}+{len(request.hosts) - at}" for at, host in enumerate(request.hosts)]
            options += ["-m", " ".join([*weighted, "others"] if request.prefer else request.hosts)]
        if request.spread is not None:
            options += _spread(request.spread)
        elif request.slots > 1:
            options += ["-n", str(request.slots)]
            # LSF takes one span, and the user's own counts.
            if not any("span[" in word for word in request.terms.words):
                options += ["-R", "span[hosts=1]"]
        if request.licences:
            options += ["-R", f"rusage[{','.join(f'{name}={count}' for name, count in request.licences)}]"]
        if request.input is not None:
            options += ["-i", request.input]
        if request.output is not None:
            options += ["-o", request.output]
        if request.error is not None:
            options += ["-e", request.error]
        options += (OPENLAVA if self._openlava() else LSF).options(request.terms)
        return ["bsub", *options, *self._quoted_arguments(request)]

    def submit(self, request: JobRequest) -> Submitted:
        try:
            # The job gets this environment.
            said = ask(
                self.command(request),
                timeout_s=self._timeout_s,
                directory=request.directory,
                environment=os.environ,
            )
        except ToolError as error:
            if (receipt := _RECEIPT.search(error.output)) is not None:
                return Submitted(receipt[1], receipt[0])
            raise _REFUSALS.scheduler_error(error) from None
        receipt = _RECEIPT.search(said.out) or _RECEIPT.search(said.err)
        if receipt is None:
            raise SubmissionUnknown(f"bsub printed no receipt: {(said.out or said.err).strip()[:100]!a}")
        return Submitted(receipt[1], receipt[0])

    def find(self, key: str) -> Submitted | None:
        job = with_key(self, key)
        if job is None:
            return None
        return Submitted(job.job, f"Job <{job.job}> is submitted to queue <{job.queue}>.")

    def interactive(self, request: JobRequest) -> int:
        first, *rest = self.command(request)
        return run_in_foreground([first, "-Ip" if request.pty else "-I", *rest], directory=request.directory)

    def jobs(self, *, user: str | None = None, ended: bool = False) -> list[Job]:
        options = ["-u", user or "all", *(["-a"] if ended else [])]
        if self._openlava():
            return parse_columns(self._ask("bjobs", "-w", *options).out)
        return parse_json(self._ask("bjobs", *options, "-o", _FIELDS, "-json").out)

    def queues(self) -> list[Queue]:
        return parse_queues(self._ask("bqueues").out)

    def hosts(self) -> list[ClusterHost]:
        return parse_hosts(self._ask("bhosts", "-w").out)

    def cancel(self, job: str, copy: int | None = None) -> None:
        self._ask("bkill", job if copy is None else f"{job}[{copy}]")

    def set_cap(self, job: str, cap: int) -> None:
        self._ask("bmod", "-J", f"%{cap}", job)

    def _openlava(self) -> bool:
        if self._is_openlava is None:
            try:
                said = ask(["bsub", "-V"], timeout_s=self._timeout_s)
                self._is_openlava = "openlava" in (said.out + said.err).lower()
            except ToolError as error:
                self._is_openlava = "openlava" in str(error).lower()
        return self._is_openlava

    def _name_of(self, request: JobRequest) -> str:
        # Brackets, commas and % would make an array of it.
        plain = re.sub(r"[^A-Za-z0-9._+@=-]", "_", request.name) or "tonnage"
        name = f"{plain}{_IN_NAME}{request.key}" if self._openlava() else plain
        if request.copies is None:
            return name
        limit = f"%{request.cap}" if request.cap is not None else ""
        return f"{name}[{spelled(request.numbers)}]{limit}"

    @staticmethod
    def _quoted_arguments(request: JobRequest) -> list[str]:
        """bsub joins its words with blanks and gives the line to a shell: each is quoted, so that it stays one word."""
        argv = (*_launch(request.spread), *request.program)
        if request.copies is not None:
            argv = ("/bin/sh", "-c", _COPY, "tonnage", *argv)
        return [shlex.quote(word) for word in argv]

    def _ask(self, *argv: str) -> ToolOutput:
        try:
            return ask([site_tool(argv[0]), *argv[1:]], timeout_s=self._timeout_s)
        except (ToolSilent, ToolMissing) as error:
            raise SchedulerError(f"{error}; hint: is LSF's environment set up here?") from None
        except ToolError as error:
            # No jobs is a failure to bjobs, with a sentence that says so.
            if argv[0] == "bjobs" and re.search(r"no (unfinished )?job", str(error), re.IGNORECASE):
                return ToolOutput("", "")
            raise SchedulerError(f"the scheduler refused: {error}") from None


_MEANING = {"afterok": "done", "afternotok": "exit", "afterany": "ended", "after": "started"}


def _dependency(after: Dependency) -> list[str]:
    check_jobs(after, r"[0-9]+(\[[0-9]+\])?", "LSF")
    between = " || " if after.any_of else " && "
    return ["-w", between.join(f"{_MEANING[when]}({job})" for when, job in after.conditions)]


def _mail(mail: Mail) -> list[str]:
    """Of an end LSF tells whatever it was."""
    to = ["-u", mail.to] if mail.to is not None else []
    return [*(["-B"] if "begin" in mail.events else []), *(["-N"] if set(mail.events) - {"begin"} else []), *to]


def _memory(size: int) -> list[str]:
    megabytes = in_units(size, 1 << 20)
    return ["-M", f"{megabytes}MB", "-R", f"rusage[mem={megabytes}MB]"]


LSF = Spelling(
    "LSF",
    {
        "time_limit_s": lambda limit_s: ["-W", str(in_units(limit_s, 60))],
        "account": lambda name: ["-P", name],
        # With its unit: a plain number means what the site has set.
        "memory_bytes": _memory,
        "gpus": lambda count: ["-gpu", f"num={count}"],
        "dependency": _dependency,
        "mail": _mail,
        "exclusive": lambda _: ["-x"],
        "rerun": lambda _: ["-r"],
        "begin_at_s": lambda moment_s: ["-b", time.strftime("%Y:%m:%d:%H:%M", time.localtime(moment_s + 59))],
        "words": list,
    },
    CommandSyntax(
        # These letters begin no other word that could be given.
        refused=("-J", "-K", "-I", "-V", "-h", "-pack", "-json", "-yaml", "-jsdl", "-jsdl_strict"),
        flags=("-ar", "-B", "-H", "-N", "-Ne", "-r", "-rn", "-ul", "-x", "-XF", "-Zs"),
    ),
)
OPENLAVA = Spelling(
    "Openlava",
    {
        **LSF.table,
        # It reads no units: kilobytes in a limit, megabytes in a requirement.
        "memory_bytes": lambda size: [
            "-M", str(in_units(size, 1 << 10)), "-R", f"rusage[mem={in_units(size, 1 << 20)}]"
        ],
        "gpus": "Openlava knows no GPUs",
        "begin_at_s": lambda moment_s: ["-b", time.strftime("%m:%d:%H:%M", time.localtime(moment_s + 59))],
    },
    LSF.own,
)  # fmt: skip


def _has_jsrun() -> bool:
    """Whether jobs get whole nodes, and ``jsrun`` starts processes on them: the job's own script runs elsewhere."""
    import shutil

    return shutil.which("jsrun") is not None


def _spread(spread: Spread) -> list[str]:
    if _has_jsrun():
        return ["-nnodes", str(spread.nodes)]
    size = ["-n", str(spread.processes), "-R", f"span[ptile={spread.per_node}]"]
    return [*size, "-x"] if spread.alone else size


def _launch(spread: Spread | None) -> list[str]:
    if spread is None:
        return []
    if _has_jsrun():
        # A resource set is a node with all its CPUs.
        sets = ["-n", str(spread.nodes), "-r", "1", "-a", str(spread.per_node), "-c", "ALL_CPUS", "-b", "none"]
        return ["jsrun", *sets]
    return [] if spread.processes == 1 else ["mpiexec", "-n", str(spread.processes)]


def parse_json(text: str) -> list[Job]:
    """What ``bjobs -o … -json`` printed; SchedulerError where it is cut short."""
    if _is_none(text):
        return []
    try:
        records = document(text, "bjobs", "list of jobs")["RECORDS"]
        return [_of_record(record) for record in records if not record.get("ERROR")]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Nonsense("bjobs", "list of jobs", text) from None


def _is_none(text: str) -> bool:
    """Whether it says that there is no job, in words or by saying nothing."""
    return not text.strip() or re.match(r"no (\w+ )?job", text.strip(), re.IGNORECASE) is not None


def _of_record(record: Record) -> Job:
    get = {key: str(value) for key, value in record.items()}.get
    state = _STATES.get(get("STAT", "") or "", "unknown")
    about = dict(re.findall(r"\b(key|server)=(\S+)", get("JOB_DESCRIPTION", "") or ""))
    return Job(
        job=get("JOBID", ""),
        copy=_count(get("JOBINDEX")) or None,
        name=re.sub(r"\[.*\]$", "", get("JOB_NAME", "") or ""),
        user=get("USER", "") or "",
        state=state,
        queue=get("QUEUE", "") or "",
        from_host=get("FROM_HOST", "") or "",
        hosts=_hosts(get("EXEC_HOST", "") or ""),
        slots=_count(get("SLOTS")) or 1,
        key=about.get("key"),
        server=about.get("server"),
        submitted_at_s=_when(get("SUBMIT_TIME")),
        started_at_s=_when(get("START_TIME")),
        # Until then it is the time that is expected.
        ended_at_s=_when(get("FINISH_TIME")) if state in ("done", "failed") else None,
        exit_status=_count(get("EXIT_CODE")),
        reason=get("PEND_REASON", "") or "",
    )


def parse_columns(text: str) -> list[Job]:
    """What ``bjobs -w`` printed: a job that waits has no EXEC_HOST, which some versions leave blank."""
    if _is_none(text):
        return []
    lines = text.splitlines()
    if not lines[0].startswith("JOBID"):
        raise Nonsense("bjobs", "list of jobs", text)
    jobs = []
    for line in lines[1:]:
        words = line.split()
        if len(words) < 9:
            continue
        number, user, state, queue, from_host = words[:5]
        # From the right: month, day and time; what is left is the host, if there is one, and the name.
        middle, when = words[5:-3], " ".join(words[-3:])
        if not middle or not re.match(r"\d+$|\d+\[", number):
            continue
        running = len(middle) > 1
        name, _, key = " ".join(middle[1:] if running else middle).partition(_IN_NAME)
        key, _, index = key.partition("[") if key else ("", "", name.partition("[")[2])
        jobs.append(
            Job(
                job=number,
                copy=_count(index.rstrip("]")),
                name=name.partition("[")[0],
                user=user,
                state=_STATES.get(state, "unknown"),
                queue=queue,
                from_host=from_host,
                hosts=_hosts(middle[0]) if running else (),
                key=key or None,
                submitted_at_s=_when(when),
            )
        )
    if not jobs and any(line.strip() for line in lines[1:]):
        raise Nonsense("bjobs", "list of jobs", text)
    return jobs


def parse_queues(text: str) -> list[Queue]:
    """Parses the output of ``bqueues``."""
    return [
        Queue(
            name=row["QUEUE_NAME"],
            open=row["STATUS"] == "Open:Active",
            slots=_count(row.get("MAX")),
            pending=_count(row.get("PEND")) or 0,
            running=_count(row.get("RUN")) or 0,
        )
        for row in _table(text, "bqueues", "QUEUE_NAME", "STATUS")
    ]


def parse_hosts(text: str) -> list[ClusterHost]:
    """What ``bhosts`` printed; a host with every slot in use is ``closed`` and yet up."""
    found = []
    for row in _table(text, "bhosts", "HOST_NAME", "STATUS"):
        slots, used, state = _count(row.get("MAX")) or 0, _count(row.get("NJOBS")) or 0, row["STATUS"]
        full = state in ("closed", "closed_Full") and slots > 0 and used >= slots
        up = state == "ok" or full
        found.append(
            ClusterHost(name=row["HOST_NAME"], up=up, slots=slots, slots_used=used, reason="" if up else state)
        )
    return found


def _table(text: str, tool: str, *needed: str) -> list[dict[str, str]]:
    """Rows by the header's names; lines of another width are no rows. Nonsense where there is no header, or no row."""
    lines = [line.split() for line in text.splitlines() if line.strip()]
    if not lines:
        return []
    found = [dict(zip(lines[0], line, strict=True)) for line in lines[1:] if len(line) == len(lines[0])]
    if not set(needed) <= set(lines[0]) or (lines[1:] and not found):
        raise Nonsense(tool, "table of LSF's", text)
    return found


def _hosts(text: str) -> tuple[str, ...]:
    """``4*hosta:hostb``, or ``hosta:hosta:hostb``, each host once."""
    return tuple(dict.fromkeys(part.rpartition("*")[2] for part in text.split(":") if part and part != "-"))


def _count(text: str | None) -> int | None:
    return int(text) if text and re.fullmatch(r"\d{1,18}", text) else None


def _when(text: str | None) -> float | None:
    """``Nov 21 10:12``, with or without seconds and year, by this host's clock; a letter may follow, which says
    how sure LSF is of a time to come."""
    match = re.match(
        r"([A-Z][a-z]{2}) +(\d{1,2}) +(\d{1,2}:\d{2})(?::\d{2})?(?: +(\d{4}))?(?: *[A-Z])?\s*$", text or ""
    )
    if match is None:
        return None
    month, day, clock, year = match.groups()
    now = time.localtime()

    def in_year(wanted: int | str) -> float:
        return time.mktime(time.strptime(f"{wanted} {month} {day} {clock}", "%Y %b %d %H:%M"))

    try:
        found = in_year(year or now.tm_year)
        return in_year(now.tm_year - 1) if year is None and found > time.time() + 86_400 else found
    except (ValueError, OverflowError):
        return None  # no such day
