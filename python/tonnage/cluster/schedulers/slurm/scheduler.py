"""What placement asks of Slurm, each by one of its commands."""

from __future__ import annotations

import os
import re
import shutil
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from tonnage.cluster.hostlist import fold
from tonnage.cluster.scheduler import (
    ClusterHost,
    Job,
    JobRequest,
    NoSuchQueue,
    Queue,
    SchedulerError,
    SubmissionUnknown,
    Submitted,
)
from tonnage.cluster.schedulers import tool_output
from tonnage.cluster.schedulers.slurm import command, tables
from tonnage.cluster.schedulers.slurm.tables import Node
from tonnage.cluster.schedulers.tool_output import Nonsense, Refusals, run_in_foreground
from tonnage.errors import RequestError
from tonnage.machine.site_tools import ToolError, ToolMissing, ToolOutput, ToolSilent, ask
from tonnage.machine.user_state import user_name

_T = TypeVar("_T")
_LICENCE = re.compile(r"^LicenseName=(\S+)\s.*?\bTotal=(\d+)", re.MULTILINE)
_SETTING = re.compile(r"^(\w+) *= (\S+)", re.MULTILINE)
_RECEIPT = re.compile(r"^Submitted batch job (?P<job>[0-9]+).*$", re.MULTILINE)
_REFUSALS = Refusals(
    r"^sbatch: (?:error|fatal|unrecognized|invalid|option|ambiguous)\b", no_queue="Invalid partition name"
)
_HINTS = {
    "Requested node configuration is not available": "`tonnage queues` tells which hosts a queue has",
    "Invalid job array specification": "the site's MaxArraySize is the most copies of one job",
    "Invalid node name": "`tonnage doctor` compares the site file's hosts with Slurm's",
    "connect failure": "is slurmctld up? `scontrol ping` tells",
}
_NEXT = ("None", "Resources", "Priority")
"""Reasons of jobs that only wait for hosts; others wait for something else first."""
_LATELY = "now-2days"

_USUAL = ("/etc/slurm/slurm.conf", "/etc/slurm-llnl/slurm.conf", "/run/slurm/conf/slurm.conf")
"""Of packages, and where slurmd keeps the one that it was sent."""
_BESIDE = ("etc/slurm.conf", "etc/slurm/slurm.conf")
"""Of what was built for a prefix of its own, below it."""
_UNREACHED = ("contact slurm controller", "Socket timed out")
"""Slurm's messages for a configured controller that does not answer."""


class Slurm:
    """A site's Slurm."""

    name = "slurm"

    def __init__(self, *, timeout_s: float) -> None:
        self._timeout_s = timeout_s

    def present(self) -> bool:
        return is_configured(timeout_s=self._timeout_s)

    def check(self, request: JobRequest, *, interactive: bool = False) -> None:
        (command.srun if interactive else command.sbatch)(request, [])

    def command(self, request: JobRequest) -> list[str]:
        return command.sbatch(request, self._where(request))

    def submit(self, request: JobRequest) -> Submitted:
        try:
            # The job gets this environment, so it is given as it is, whatever a tool's own would be.
            said = ask(self.command(request), timeout_s=self._timeout_s, environment=command.clean(os.environ))
        except ToolError as error:
            if (receipt := _RECEIPT.search(error.output)) is not None:
                return Submitted(receipt["job"], receipt[0])
            raise _REFUSALS.of(error, _message_of(error)) from None
        receipt = _RECEIPT.search(said.out)
        if receipt is None:
            raise SubmissionUnknown(f"sbatch printed no receipt: {(said.out or said.err).strip()[:100]!a}")
        return Submitted(receipt["job"], receipt[0])

    def find(self, key: str) -> Submitted | None:
        found = self._with_key(key, "all")
        if found is None:
            me = str(os.geteuid())
            # Whom the option lets through is looked at as well: others can choose the same key.
            records = self._ended(dict, me, fields=tables.NAMED_ENDED)
            own = (row for row in records if row["UID"] == me and command.read_comment(row["Comment"])[0] == key)
            found = next((row["JobID"].partition("_")[0] for row in own), None)
        return None if found is None else Submitted(found, f"Submitted batch job {found}")

    def interactive(self, request: JobRequest) -> int:
        # srun's own refusal goes to the user's terminal, and its exit status could be the program's.
        if request.queue is not None and request.queue not in {node.queue for node in self._nodes("--all")}:
            raise NoSuchQueue(f"Slurm has no partition {request.queue!r}; hint: see `tonnage queues`")
        argv = command.srun(request, self._where(request))

        def deliver(number: int) -> bool:
            # To srun itself these two mean SIGKILL for the program.
            if number not in (signal.SIGTERM, signal.SIGHUP):
                return False
            try:
                job = self._with_key(request.key, "RUNNING")
                if job is not None:
                    self._ask("scancel", f"--signal={signal.Signals(number).name.removeprefix('SIG')}", job)
            except SchedulerError:
                return False
            return job is not None

        try:
            return run_in_foreground(argv, environment=command.clean(os.environ), deliver=deliver)
        except ToolError as error:
            raise SchedulerError(str(error)) from None

    def jobs(self, *, user: str | None = None, ended: bool = False) -> list[Job]:
        states = ["--states=all"] if ended else []
        found = self._squeue(tables.job_of, tables.JOBS, user, states)
        if ended:
            known = {(job.job, job.copy) for job in found}
            # Where the accounting does not answer, what the controller still knows is used.
            try:
                records = self._ended(tables.ended_of, user, fields=tables.ENDED)
                found += [job for job in records if job.ended_at_s and (job.job, job.copy) not in known]
            except Nonsense:
                raise
            except SchedulerError:
                pass
        return found

    def queues(self) -> list[Queue]:
        members: dict[str, list[Node]] = {}
        for node in self._nodes():
            members.setdefault(node.queue, []).append(node)
        waiting, running = dict.fromkeys(members, 0), dict.fromkeys(members, 0)
        for job in self.jobs():
            # A job that waits may name several.
            for queue in job.queue.split(","):
                if queue in members and job.state in ("pending", "running"):
                    (waiting if job.state == "pending" else running)[queue] += job.count
        return [
            Queue(
                name=name,
                open=nodes[0].queue_is_open,
                default=nodes[0].queue_is_default,
                hosts=tuple(node.name for node in nodes),
                slots=sum(node.slots for node in nodes),
                pending=waiting[name],
                running=running[name],
            )
            for name, nodes in members.items()
        ]

    def hosts(self) -> list[ClusterHost]:
        nodes: dict[str, Node] = {}
        queues: dict[str, tuple[str, ...]] = {}
        for node in self._nodes():
            nodes[node.name] = node
            queues[node.name] = (*queues.get(node.name, ()), node.queue)
        return [
            ClusterHost(
                name=node.name,
                up=node.up,
                slots=node.slots,
                slots_used=node.slots_used,
                reason=node.reason,
                queues=queues[node.name],
            )
            for node in nodes.values()
        ]

    def licences(self) -> dict[str, int]:
        said = self._ask("scontrol", "--oneliner", "show", "licenses")
        found = {name: int(total) for name, total in _LICENCE.findall(said.out)}
        if not found and said.out.strip() and not said.out.startswith("No licenses"):
            raise Nonsense("scontrol", "list of licences", said.out)
        return found

    def hides_others(self) -> bool:
        if os.geteuid() == 0:
            return False
        said = dict(_SETTING.findall(self._ask("scontrol", "show", "config").out))
        hidden = "jobs" in said.get("PrivateData", "").split(",")
        return hidden and said.get("SlurmUser", "").partition("(")[0] != user_name()

    def cancel(self, job: str, copy: int | None = None) -> None:
        # It fails for no job that it knows or knew, and only when verbose it says so.
        said = self._ask("scancel", "--verbose", _number(job if copy is None else f"{job}_{copy}")).err
        if "Invalid job id" in said:
            raise SchedulerError(said.strip().splitlines()[-1])

    def set_cap(self, job: str, cap: int) -> None:
        argv = ("scontrol", "update", f"JobId={_number(job)}", f"ArrayTaskThrottle={cap}")
        try:
            ask(argv, timeout_s=self._timeout_s, environment=_plain(os.environ))
        except ToolError as error:
            # It fails for the copies that ended, in words, and tells the others with these.
            if ": No error" not in error.output:
                raise SchedulerError(_message_of(error)) from None

    def _where(self, request: JobRequest) -> list[str]:
        """The options for its hosts.

        ``--nodelist`` with several would take all of them, and one only is wanted: then all others are excluded, and
        Slurm takes of the rest the one that it fills first. It has no preference for hosts, but one for features: sites
        that give each host its name as one have it. Elsewhere a preference counts where it costs no waiting.
        """
        hosts = request.hosts
        if not hosts:
            return []
        if request.spread is not None:
            return [f"--nodelist={','.join(hosts)}"]
        if len(hosts) == 1 and not request.prefer:
            return [f"--nodelist={hosts[0]}"]
        nodes = self._nodes("--all")
        by_name = {node.name: node for node in nodes}
        for host in hosts:
            if host not in by_name:
                raise SchedulerError(f"Slurm knows no host {host!r}; hint: {_HINTS['Invalid node name']}")
        if not request.prefer:
            others = fold(by_name.keys() - set(hosts))
            return [f"--exclude={others}"] if others else []
        if all(host in by_name[host].features for host in hosts):
            return [f"--prefer={'|'.join(hosts)}"]
        free = self._free(request, nodes)
        return [f"--nodelist={free}"] if free else []

    def _free(self, request: JobRequest, nodes: Sequence[Node]) -> str | None:
        """The first of its hosts that can take all of it now, and for which nothing waits."""
        at_once = min(request.copies or 1, request.cap or request.copies or 1)
        queue = request.queue or next((node.queue for node in nodes if node.queue_is_default), None)
        slots = {node.name: node.slots_free for node in nodes if node.queue == queue and node.queue_is_open}
        free = [host for host in request.hosts if slots.get(host, 0) >= at_once * request.slots]
        if not free:
            return None
        return next((host for host in free if not self._awaited(host)), None)

    def _awaited(self, host: str) -> bool:
        """Whether a job waits that could start there before a new one does."""
        fields, between = ("%n", "%x", "%r"), tables.separator()
        form = "".join(f"{field}{between}" for field in fields)
        said = self._ask("squeue", "--noheader", "--states=PENDING", f"--format={form}")

        def could_start(row: dict[str, str]) -> bool:
            hosts = tool_output.hosts(row["%n"] or row["%x"])
            return row["%r"] in _NEXT and (host in hosts) == bool(row["%n"])

        return any(tables.read(could_start, said.out, fields, between, "squeue"))

    def _with_key(self, key: str, states: str) -> str | None:
        """The number of this user's job of that key."""
        me = str(os.geteuid())
        for row in self._squeue(dict, tables.NAMED, me, [f"--states={states}"]):
            # One that no host can run is refused, and yet kept for a while as one that failed.
            refused = row["State"] == "FAILED" and row["Reason"] == "BadConstraints"
            if row["UserID"] == me and command.read_comment(row["Comment"])[0] == key and not refused:
                return row["ArrayJobID"]
        return None

    def _squeue(
        self, made: Callable[[dict[str, str]], _T], fields: Sequence[str], user: str | None, options: Sequence[str]
    ) -> list[_T]:
        between = tables.separator()
        whose = [] if user is None else [f"--user={user}"]
        said = self._ask("squeue", "--noheader", *options, *whose, f"--Format={tables.wanted(fields, between)}")
        return tables.read(made, said.out, fields, between, "squeue")

    def _ended(self, made: Callable[[dict[str, str]], _T], user: str | None, *, fields: Sequence[str]) -> list[_T]:
        """Of the accounting, where the site has one: the controller itself forgets within minutes."""
        between = tables.separator()
        whose = "--allusers" if user is None else f"--user={user}"
        options = [whose, "--allocations", "--noheader", f"--starttime={_LATELY}", "--parsable"]
        try:
            said = self._ask("sacct", *options, f"--delimiter={between}", f"--format={','.join(fields)}")
        except SchedulerError as error:
            if "accounting storage is disabled" not in str(error):
                raise
            return []
        return tables.read(made, said.out, fields, between, "sacct")

    def _nodes(self, *options: str) -> list[Node]:
        """With ``--all`` also those of hidden queues, which take jobs as well."""
        between = tables.separator()
        said = self._ask("sinfo", "--Node", "--noheader", *options, f"--Format={tables.wanted(tables.NODES, between)}")
        return tables.read(tables.node_of, said.out, tables.NODES, between, "sinfo")

    def _ask(self, *argv: str) -> ToolOutput:
        try:
            return ask(argv, timeout_s=self._timeout_s, environment=_plain(os.environ))
        except ToolError as error:
            raise SchedulerError(_message_of(error)) from None


def _plain(environment: Mapping[str, str]) -> dict[str, str]:
    """Without a user's own choice of columns, order and states."""
    own = ("SQUEUE_", "SINFO_", "SACCT_", "SCANCEL_", "SCONTROL_")
    return {name: value for name, value in environment.items() if not name.startswith(own)} | tables.ENVIRONMENT


def _message_of(error: ToolError) -> str:
    """All that Slurm said, on one line: its first line often is the reason, and its last the verdict."""
    if isinstance(error, (ToolSilent, ToolMissing)) or not error.output.strip():
        return str(error)
    said = "; ".join(line.strip() for line in error.output.splitlines() if line.strip())
    hint = next((hint for words, hint in _HINTS.items() if words in said), None)
    return said[:1000] + (f"; hint: {hint}" if hint else "")


def _number(job: str) -> str:
    if not re.fullmatch(r"[0-9]+(_[0-9]+)?", job, re.ASCII):
        raise RequestError(f"{job!r} is no number of a job in Slurm")
    return job


def is_configured(*, timeout_s: float) -> bool:
    """Whether ``sbatch`` is installed and finds a configuration. SchedulerError where that cannot be told.

    Only where no file is in the usual places is ``sinfo`` asked: a host may be told of its controller by the name
    service alone.
    """
    program = shutil.which("sbatch")
    if program is None:
        return False
    if "SLURM_CONF" in os.environ:
        return True
    prefix = Path(program).resolve().parent.parent
    if any(file.exists() for file in (*map(Path, _USUAL), *(prefix / file for file in _BESIDE))):
        return True
    try:
        ask(["sinfo", "--noheader"], timeout_s=timeout_s)
    except ToolSilent as error:
        # A site whose Slurm hangs is no site without one: its jobs do not run here instead.
        raise SchedulerError(
            f"whether this host belongs to a Slurm is not known: {error}; hint: name another with --scheduler"
        ) from None
    except ToolError as error:
        return any(words in error.output for words in _UNREACHED)
    return True
