"""Flux, by its own commands.

PSI/J's executor for Flux passes on neither hosts nor queue, name, directory or environment, so it cannot place a job;
``flux submit`` takes a list of words and all of these. Flux runs the copies of a bulk submission without a limit: a cap
is refused.
"""

from __future__ import annotations

import os
import time

from tonnage.cluster.array_numbers import Numbers, each
from tonnage.cluster.job_terms import CommandSyntax, Spelling, every
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
from tonnage.cluster.schedulers.tool_output import (
    Nonsense,
    Record,
    Refusals,
    document,
    moment,
    run_in_foreground,
    with_key,
)
from tonnage.cluster.schedulers.tool_output import hosts as named
from tonnage.errors import RequestError
from tonnage.machine.site_tools import ToolError, ToolOutput, ask

_IN_NAME = ".tonnage-"
"""Before the key, in the job's name, and before the server after it."""
_STATES: dict[str, State] = {
    "DEPEND": "pending",
    "PRIORITY": "pending",
    "SCHED": "pending",
    "RUN": "running",
    "CLEANUP": "running",
}
_REFUSALS = Refusals(r"^flux[- ]submit: |^usage: flux|^flux: ")
_MOST_NAMED = 10_000
_RESULTS: dict[str, State] = {"COMPLETED": "done", "FAILED": "failed", "CANCELED": "cancelled", "TIMEOUT": "failed"}
_NO_CAP = "Flux has no limit for the copies of a job; hint: give --cap the number of copies, and bound them by a queue"


class Flux:
    """The Flux instance that this process is in, or the system's."""

    name = "flux"

    def __init__(self, *, timeout_s: float) -> None:
        self._timeout_s = timeout_s

    def present(self) -> bool:
        import shutil

        # The command alone may be on a host that runs no Flux.
        return shutil.which("flux") is not None and "FLUX_URI" in os.environ

    def check(self, request: JobRequest, *, interactive: bool = False) -> None:
        if interactive and request.copies is not None:
            raise RequestError("copies cannot share a terminal; hint: leave one of the two out")
        self.command(request)

    def command(self, request: JobRequest) -> list[str]:
        return ["flux", "submit", *self._options(request), "--", *request.program]

    def submit(self, request: JobRequest) -> Submitted:
        try:
            said = ask(self.command(request), timeout_s=self._timeout_s, environment=os.environ)
        except ToolError as error:
            raise _REFUSALS.scheduler_error(error) from None
        numbers = said.out.split()
        if not numbers:
            raise SubmissionUnknown("flux submit printed no number of a job")
        return Submitted(numbers[0], numbers[0])

    def find(self, key: str) -> Submitted | None:
        job = with_key(self, key)
        return None if job is None else Submitted(job.job, job.job)

    def interactive(self, request: JobRequest) -> int:
        pty = ["-opty.interactive"] if request.pty else []
        return run_in_foreground(["flux", "run", *self._options(request), *pty, "--", *request.program])

    def jobs(self, *, user: str | None = None, ended: bool = False) -> list[Job]:
        whose = ["-u", user] if user is not None else ["-A"]
        return parse_jobs(self._ask("flux", "jobs", "--json", *whose, *(["-a"] if ended else [])).out)

    def queues(self) -> list[Queue]:
        form = "{queue}|{submission.enabled}|{scheduling.enabled}"
        return parse_queues(self._ask("flux", "queue", "list", "-n", "-o", form).out)

    def hosts(self) -> list[ClusterHost]:
        said = self._ask("flux", "resource", "list", "-n", "-s", "free,allocated,down", "-o", _RESOURCES)
        return parse_hosts(said.out)

    def cancel(self, job: str, copy: int | None = None) -> None:
        if copy is not None:
            raise RequestError("in Flux each copy is a job; hint: `tonnage jobs` lists their numbers")
        self._ask("flux", "cancel", job)

    def set_cap(self, job: str, cap: int) -> None:  # noqa: ARG002
        raise RequestError(_NO_CAP)

    def _options(self, request: JobRequest) -> list[str]:
        if request.cap is not None and request.cap < (request.copies or 1):
            raise RequestError(_NO_CAP)
        name = f"{request.name}{_IN_NAME}{request.key}" + (f"@{request.server}" if request.server else "")
        options = [f"--job-name={name}", f"--cwd={request.directory}", *_size(request)]
        if request.queue is not None:
            options.append(f"--queue={request.queue}")
        if request.hosts and not request.prefer:
            options.append("--requires=" + " or ".join(f"host:{host}" for host in request.hosts))
        if request.copies is not None:
            if any("{cc}" in word for word in request.argv):
                raise RequestError("Flux replaces {cc} in the words of copies; hint: leave {cc} out, or --copies")
            options += [f"--cc={_set(request.numbers)}", "--env=TONNAGE_COPY={cc}", "--env=LSB_JOBINDEX={cc}"]
        for option, file in (("--input", request.input), ("--output", request.output), ("--error", request.error)):
            if file is not None:
                options.append(f"{option}={file.replace('%J', '{{id}}').replace('%I', '{cc}')}")
        return [*options, *FLUX.options(request.terms)]

    def _ask(self, *argv: str) -> ToolOutput:
        try:
            return ask(argv, timeout_s=self._timeout_s)
        except ToolError as error:
            raise SchedulerError(str(error)) from None


def _set(numbers: Numbers) -> str:
    """Flux knows ranges and no steps."""
    if any(one.step > 1 and one.count > _MOST_NAMED for one in numbers):
        raise RequestError(f"Flux takes at most {_MOST_NAMED} numbers of a range with steps; hint: give fewer")
    return ",".join(str(one) if one.step == 1 else ",".join(map(str, each([one]))) for one in numbers)


def _size(request: JobRequest) -> list[str]:
    spread = request.spread
    # Flux starts the processes itself: it needs no launcher in front of the program.
    size = ["-n1", f"-c{request.slots}"] if spread is None else [f"-N{spread.nodes}", f"-n{spread.processes}"]
    if spread is not None and spread.alone:
        size.append("--exclusive")
    if spread is not None and spread.mpi is not None:
        size.append(f"--setopt=pmi={spread.mpi}")
    if spread is None and request.terms.exclusive:
        size.append("-N1")
    return size


FLUX = Spelling(
    "Flux",
    {
        "time_limit_s": lambda limit_s: [f"--time-limit={limit_s}s"],
        "account": lambda name: [f"--bank={name}"],
        "memory_bytes": "Flux bounds no memory",
        "gpus": lambda count: [f"--gpus-per-task={count}"],
        "dependency": lambda after: [f"--dependency={one}" for one in every(after, "Flux")],
        "mail": "Flux sends no e-mail",
        "exclusive": lambda _: ["--exclusive"],
        "rerun": "Flux runs no job again",
        "begin_at_s": lambda moment_s: [f"--begin-time={time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(moment_s))}"],
        "words": list,
    },
    CommandSyntax(
        refused=(
            *("--job-name", "--cc", "--bcc", "--dry-run", "--wait", "--wait-event", "--watch", "--quiet"),
            *("--help", "-h"),
        ),
        flags=("--exclusive", "--label-io", "--log-stderr", "--progress", "--unbuffered", "--verbose"),
        values="BCcgNnoqSTt",
    ),
)


_RESOURCES = "{state}|{ncores}|{nodelist}"


def parse_jobs(text: str) -> list[Job]:
    """Parses what ``flux jobs --json`` printed: a list, or one job."""
    try:
        listed = document(text or '{"jobs": []}', "flux jobs", "list of jobs")
        return [_of_record(record) for record in listed.get("jobs", [listed])]
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
        raise Nonsense("flux jobs", "list of jobs", text) from None


def _of_record(record: Record) -> Job:
    name, _, rest = str(record.get("name", "")).partition(_IN_NAME)
    key, _, server = rest.partition("@")
    state = _RESULTS.get(str(record.get("result")), _STATES.get(str(record["state"]), "unknown"))
    return Job(
        job=str(record["jobid"]),
        name=name,
        user=str(record.get("username", "")),
        state=state,
        queue=str(record.get("queue", "")),
        hosts=named(str(record.get("nodelist", ""))),
        slots=int(record.get("ncores") or record.get("ntasks") or 1),
        key=key or None,
        server=server or None,
        submitted_at_s=moment(record.get("t_submit")),
        started_at_s=moment(record.get("t_run")),
        ended_at_s=moment(record.get("t_cleanup")) if state in ("done", "failed", "cancelled") else None,
        exit_status=record.get("returncode"),
        reason=str(record.get("exception", {}).get("note", "") or ""),
    )


def parse_queues(text: str) -> list[Queue]:
    """``name|enabled|started`` a line; without queues the one line has no name."""
    found = []
    for line in filter(str.strip, text.splitlines()):
        name, *rest = line.strip().split("|")
        if len(rest) != 2:
            raise Nonsense("flux queue list", "list of queues", text)
        found.append(Queue(name=name, open=all(word.lower() in ("true", "✔", "yes", "on") for word in rest)))
    return found


def parse_hosts(text: str) -> list[ClusterHost]:
    """``state|cores|hosts`` a line; a line has the sum of its hosts' cores, which are taken to be alike."""
    slots: dict[str, list[int]] = {}
    down: set[str] = set()
    for line in filter(str.strip, text.splitlines()):
        state, *rest = line.strip().split("|")
        try:
            cores, names = int(rest[0]), named(rest[1])
        except (IndexError, ValueError):
            raise Nonsense("flux resource list", "list of hosts", text) from None
        for name in names:
            free_and_used = slots.setdefault(name, [0, 0])
            free_and_used[state == "allocated"] += cores // len(names)
            down |= {name} if state == "down" else set()
    return [
        ClusterHost(name=name, up=name not in down, slots=sum(both), slots_used=both[1], reason="down" * (name in down))
        for name, both in slots.items()
    ]
