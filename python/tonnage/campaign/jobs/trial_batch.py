"""What one job measures, a stretch of the order of trials in one allocation, and the job that is asked for it."""

from __future__ import annotations

import fcntl
import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType

from tonnage.campaign.execute.command import missing_programs
from tonnage.campaign.kinds import Setting
from tonnage.campaign.model import Campaign
from tonnage.campaign.schedule import Allocation, Schedule, Trial
from tonnage.campaign.target import parse_target
from tonnage.cluster.job_terms import Terms
from tonnage.cluster.scheduler import ClusterHost, JobRequest, Queue, Scheduler, Spread
from tonnage.errors import RequestError
from tonnage.records.file_names import TRIALS
from tonnage.records.jobs_jsonl import append_job, job_lines, mend_jobs
from tonnage.records.line_types import Json, StopReason, TrialLine
from tonnage.toml_documents import near_match
from tonnage.units import plural, utc_text


def allocations_of(campaign: Campaign) -> list[Allocation]:
    """Every allocation of the campaign, in the order of the file: a batch names one by its number here."""
    return list(dict.fromkeys(Allocation.of(setting) for setting in campaign.settings()))


@dataclass(frozen=True, slots=True)
class Batch:
    """The share of a run that one of its jobs carries, as text ``job:allocation`` or ``job:allocation/block``."""

    job: int
    """Number of the job among those of the run, from 0."""
    allocation: int
    block: int | None
    """None: all that is left. A run in one allocation needs no second job, so that it is in the queue once."""

    def __str__(self) -> str:
        return f"{self.job}:{self.allocation}" + ("" if self.block is None else f"/{self.block}")

    @classmethod
    def parse(cls, text: str) -> Batch:
        """As ``str`` wrote it; RequestError where it is anything else."""
        match = re.fullmatch(r"(\d{1,9}):(\d{1,9})(?:/(\d{1,9}))?", text, re.ASCII)
        if match is None:
            raise RequestError(f"{text!r} is no part of a run; hint: only a submitted job is given one")
        job, allocation, block = match.groups()
        return cls(int(job), int(allocation), None if block is None else int(block))

    @classmethod
    def of(cls, job: int, trial: Trial | None, allocations: Sequence[Allocation]) -> Batch:
        """The stretch that begins with ``trial``; None: that of a search, which decides as it goes."""
        if trial is None or len(allocations) < 2:
            return cls(job, 0, None)
        return cls(job, allocations.index(Allocation.of(trial.setting)), trial.block)


def settings_of(batch: Batch, campaign: Campaign) -> tuple[Setting, ...]:
    """The settings that the batch's job may be asked for; none for a search, which decides as it goes."""
    if campaign.decides_as_it_goes:
        return ()
    allocations = allocations_of(campaign)
    return tuple(
        setting for setting in campaign.settings() if allocations.index(Allocation.of(setting)) == batch.allocation
    )


class BatchSchedule:
    """A schedule that ends where the next trial belongs to another job."""

    def __init__(self, schedule: Schedule, batch: Batch, allocations: Sequence[Allocation]) -> None:
        if batch.allocation >= len(allocations):
            raise RequestError(f"the run has no place {batch.allocation}; hint: only a submitted job is given a part")
        self._schedule = schedule
        self._batch = batch
        self._allocation = allocations[batch.allocation]
        self.is_more = False
        """Whether a trial is left for other jobs."""

    def next(self, lines: Sequence[TrialLine], spent_ns: int) -> Trial | None:
        """As the whole schedule's, while that is in this batch."""
        if self.is_more:
            return None
        trial = self._schedule.next(lines, spent_ns)
        if trial is not None and self._batch.block is not None and not self._holds(trial.setting, trial.block):
            self.is_more = True
            return None
        return trial

    def stopped(self, lines: Sequence[TrialLine], cut: StopReason) -> dict[int, StopReason]:
        """Returns the same as the whole schedule."""
        return self._schedule.stopped(lines, cut)

    def _holds(self, setting: Setting, block: int) -> bool:
        return block == self._batch.block and Allocation.of(setting) == self._allocation


DIRECTORY = "jobs"
"""In the run directory: what each job printed, and files for its launcher."""


def output_file(run: Path, number: int) -> Path:
    """Returns the path of the output of the job of that number."""
    return run / DIRECTORY / f"{number}.out"


def job_request(campaign: Campaign, run: Path, run_id: str, batch: Batch, directory: str) -> JobRequest:
    """``run``: the run directory, absolute. ``directory``: where the run was begun."""
    allocation = allocations_of(campaign)[batch.allocation]
    spread = spread_of(campaign, allocation)
    if allocation.hosts is not None and spread.processes > 1:
        spread = Spread(
            nodes=spread.nodes,
            per_node=spread.per_node,
            mpi=spread.mpi,
            order=str(run / DIRECTORY / f"{batch.job}.hosts"),
            alone=spread.alone,
        )
    limit_ns = campaign.job.time_limit_ns
    return JobRequest(
        argv=(sys.executable, "-m", "tonnage.cli", "run", "--resume", str(run), "--part", str(batch)),
        key=f"tonnage-{run_id}-{batch.job}",
        directory=directory,
        name=f"tonnage-{campaign.name}"[:64],
        queue=allocation.partition or campaign.job.partition,
        hosts=allocation.hosts or (),
        output=str(output_file(run, batch.job)),
        spread=spread,
        terms=Terms(time_limit_s=None if limit_ns is None else -(-limit_ns // 10**9), account=campaign.job.account),
    )


def write_order(request: JobRequest) -> None:
    """The host of each process, for a launcher that reads them from a file."""
    spread = request.spread
    if spread is not None and spread.order is not None:
        hosts = (host for host in request.hosts for _ in range(spread.per_node))
        Path(spread.order).write_text("".join(f"{host}\n" for host in hosts), encoding="utf-8")


def spread_of(campaign: Campaign, allocation: Allocation) -> Spread:
    """Returns the nodes and processes of a job in that allocation."""
    job = campaign.job
    nodes = len(allocation.hosts) if allocation.hosts is not None else job.nodes or 1
    here = [setting for setting in campaign.settings() if Allocation.of(setting) == allocation]
    per_node = job.processes_per_node or _per_node(here, nodes)
    if job.mpi == "none" and nodes * per_node > 1:
        raise RequestError(
            f"mpi none is one process, and {nodes} nodes are asked for; hint: leave mpi out, or ask for one node"
        )
    return Spread(nodes=nodes, per_node=per_node, mpi=None if job.mpi == "none" else job.mpi, alone=not job.shared)


def _per_node(settings: Sequence[Setting], nodes: int) -> int:
    """One where tasks are threads or programs: on one node, or where the file says how many a node has. Else each task
    has a process of its own, and there are enough for the most of them."""
    if nodes == 1:
        return 1
    alone = (setting.tasks for setting in settings if setting.needs_scratch and setting.tasks_per_node is None)
    most = max(alone, default=1)
    return -(-most // nodes)


def check_site(campaign: Campaign, scheduler: Scheduler) -> None:
    """RequestError where a partition or a host does not exist, or a job asks for more nodes than there are."""
    if any(workload.names_hosts_late for workload in campaign.workloads):
        raise RequestError(
            "workload.pairs: which hosts the scheduler gives is not known when pairs are made; hint: name them in hosts"
        )
    queues = {queue.name: queue for queue in scheduler.queues()}
    hosts = {host.name: host for host in scheduler.hosts()}
    for number, allocation in enumerate(allocations_of(campaign)):
        queue = _queue(allocation.partition or campaign.job.partition, queues, scheduler)
        _check_hosts(allocation, queue, hosts, scheduler)
        # What the scheduler has no way to say, it says now.
        scheduler.command(job_request(campaign, Path.cwd(), "check", Batch(0, number, None), str(Path.cwd())))
        spread = spread_of(campaign, allocation)
        nodes = spread.nodes
        _check_tasks(campaign, [one for one in campaign.settings() if Allocation.of(one) == allocation], spread)
        members = queue.hosts if queue is not None and queue.hosts else tuple(hosts)
        if members and nodes > len(members):
            where = f"the partition {queue.name}" if queue is not None and queue.hosts else scheduler.name
            raise RequestError(f"{nodes} nodes are asked for, and {where} has {len(members)}; hint: ask for fewer")


def _check_tasks(campaign: Campaign, settings: Sequence[Setting], spread: Spread) -> None:
    """Refuses, before the job waits for its turn, what it would refuse when it starts."""
    nodes, on = spread.nodes, plural(spread.nodes, "node")
    for setting in settings:
        each, tasks = setting.tasks_per_node, setting.tasks
        if campaign.search is not None:
            tasks = campaign.search.max_tasks
        if each is not None and tasks > each * nodes:
            raise RequestError(
                f"{tasks} tasks are more than {each} on each of {on} (tasks_per_node); "
                f"hint: ask for {-(-tasks // each)} nodes, or give more tasks to each"
            )
        # Tasks of one process are its threads; of several, each has one task.
        if each is None and setting.needs_scratch and 1 < spread.processes < tasks:
            raise RequestError(
                f"{tasks} tasks are more than the {spread.processes} processes of the job "
                f"({spread.per_node} on each of {on}); "
                f"hint: ask for {-(-tasks // spread.per_node)} nodes, or say --tasks-per-node"
            )


def check_programs(campaign: Campaign) -> None:
    """RequestError where a program is not there: the job inherits this PATH, and sees these files. What is in a
    directory that is not here the job alone knows."""
    target = parse_target(campaign.target)
    if target.scheme == "sim":
        return
    missing = missing_programs(campaign.settings(), target)
    if missing:
        rest = len(missing) < len(campaign.workloads)
        others = f", or measure the rest: {' '.join(f'--without {name}' for name in missing)}" if rest else ""
        raise RequestError(
            f"{next(iter(missing.values()))}; hint: put it in PATH, or give its path as the job's hosts have it{others}"
        )


def _queue(name: str | None, queues: dict[str, Queue], scheduler: Scheduler) -> Queue | None:
    if name is None:
        return next((queue for queue in queues.values() if queue.default), None)
    if name not in queues:
        hint = near_match(name, queues) or "`tonnage queues` lists them"
        raise RequestError(f"{scheduler.name} has no partition {name!r}; hint: {hint}")
    if not queues[name].open:
        raise RequestError(f"the partition {name} takes no jobs now; hint: choose another one, or ask the site")
    return queues[name]


def _check_hosts(
    allocation: Allocation, queue: Queue | None, hosts: dict[str, ClusterHost], scheduler: Scheduler
) -> None:
    for host in allocation.hosts or ():
        if host not in hosts:
            hint = near_match(host, hosts) or "`tonnage queues` lists them"
            raise RequestError(f"{scheduler.name} knows no host {host!r}; hint: {hint}")
        if queue is not None and queue.hosts and host not in queue.hosts:
            raise RequestError(
                f"{host} is not in the partition {queue.name}; hint: it has {', '.join(queue.hosts[:20])}"
            )


def describe_jobs(campaign: Campaign, scheduler: Scheduler) -> list[str]:
    """Returns the jobs as lines of text, for ``--dry-run``: one in each allocation, in each block."""
    allocations = allocations_of(campaign)
    lines = [
        f"jobs      of {scheduler.name}: "
        + ("one" if len(allocations) == 1 else f"{len(allocations)} in each block, in an order drawn for it")
    ]
    for allocation in allocations[:40]:
        spread = spread_of(campaign, allocation)
        queue = allocation.partition or campaign.job.partition or "the default partition"
        hosts = ", ".join(allocation.hosts) if allocation.hosts else plural(spread.nodes, "node")
        lines.append(
            f"          {queue}: {hosts}, {spread.per_node} process{'es' if spread.per_node != 1 else ''} each"
        )
    return lines if len(allocations) <= 40 else [*lines, f"          … and {len(allocations) - 40} more"]


LOCK = "jobs.lock"


@dataclass(frozen=True, slots=True)
class Entry:
    """A job that was wanted, as far as it came."""

    batch: Batch
    key: str
    """The submission's key, by which the scheduler finds the job."""
    partition: str | None
    hosts: tuple[str, ...]
    """Those asked for, in order; none: anywhere."""
    nodes: int
    job: str | None = None
    """Its number there; None: there was no receipt."""
    recorded_bytes: int = 0
    """Size of the trials' file when it was wanted: what its job must see, before it measures what is left."""
    ended: str | None = None
    """How it ended; None: it has not ended, as far as known."""

    def where(self) -> str:
        """For people: which of the run's jobs this is."""
        allocation = ", ".join(self.hosts) or plural(self.nodes, "node")
        return f"{self.partition}: {allocation}" if self.partition else allocation


def latest(run: Path) -> Entry | None:
    """Returns the job wanted last."""
    entry = None
    for line in job_lines(run):
        if line["event"] == "wanted":
            entry = Entry(
                Batch.parse(line["part"]),
                line["key"],
                line["partition"],
                tuple(line["hosts"]),
                line["nodes"],
                recorded_bytes=line["recorded_bytes"],
            )
        elif entry is not None and line["event"] == "submitted":
            entry = replace(entry, job=line["job"])
        elif entry is not None:
            entry = replace(entry, ended=str(line["state"]))
    return entry


class Ledger:
    """Held by one process at a time; RequestError where another one has it."""

    def __init__(self, run: Path) -> None:
        self._run = run
        self._lock = os.open(run / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._lock)
            raise RequestError(
                f"{run} is followed by another tonnage already; hint: wait for it, or stop that one first"
            ) from None
        except OSError:
            # A file system without locks; the scheduler's key still keeps a job from being there twice.
            pass
        mend_jobs(run)

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with suppress(OSError):
            os.close(self._lock)

    def latest(self) -> Entry | None:
        """Returns the job wanted last."""
        return latest(self._run)

    def want(self, batch: Batch, request: JobRequest) -> Entry:
        """Before the scheduler is asked."""
        spread = request.spread or Spread(nodes=1)
        recorded_bytes = (self._run / TRIALS).stat().st_size
        entry = Entry(batch, request.key, request.queue, request.hosts, spread.nodes, recorded_bytes=recorded_bytes)
        wanted = {key: getattr(entry, key) for key in ("key", "partition", "nodes", "recorded_bytes")}
        about = {"part": str(batch), "hosts": list(entry.hosts), "processes": spread.processes}
        self._append(batch.job, "wanted", {**wanted, **about})
        return entry

    def submitted(self, entry: Entry, job: str) -> Entry:
        """The scheduler has it, under this number."""
        self._append(entry.batch.job, "submitted", {"job": job})
        return replace(entry, job=job)

    def ended(self, entry: Entry, state: str, reason: str = "", hosts: tuple[str, ...] = ()) -> None:
        """It is over: ``state`` is the scheduler's word as ``Job.state`` has it, or ``refused``, or ``lost``."""
        self._append(entry.batch.job, "ended", {"state": state, "reason": reason, "hosts": list(hosts)})

    def _append(self, number: int, event: str, about: Json) -> None:
        append_job(self._run, {"number": number, "event": event, "time": utc_text(), **about})
