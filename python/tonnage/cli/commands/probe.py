"""``tonnage probe``: builds a campaign with a search, and carries it out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tonnage.cli.command import Arguments
from tonnage.cli.shared_options import DRY_RUN, JSON, NO_KEEP, NO_REPORT, OUT, SEED, VERBOSE
from tonnage.command_line import Command
from tonnage.command_option import Option
from tonnage.errors import RequestError
from tonnage.units import parse_count, parse_factor, parse_share, parse_size, parse_time

if TYPE_CHECKING:
    from tonnage.campaign.model import Campaign


def _operations(text: str) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    for part in found:
        if part not in ("write", "read"):
            raise RequestError(f"{part!r} is not an operation; hint: write --op write, --op read or --op write,read")
    return found


COMMAND = Command(
    "probe",
    "find the load line of a storage",
    "Measures how throughput grows with the number of tasks that write to, then read from, DIR, and finds the "
    "load line: the smallest number of tasks that already reaches 95 % of the plateau. Files are made only below a "
    "marked scratch directory in DIR, which is removed at the end, also after Ctrl-C.",
    (
        Option(
            ("target",),
            "directory on the storage; or null:, memory:, sim:knee=8,plateau=2GB/s,noise=20%",
            "DIR",
            completes="directory",
        ),
        Option(("--op",), "operations, in this order", "OP[,OP]", "write,read", parse=_operations),
        Option(("--transfer",), "bytes of one operation", "SIZE", "1MiB", parse=parse_size),
        Option(("--max-tasks",), "largest number of tasks tried", "N", "32", parse=parse_count),
        Option(("--budget",), "time for the whole search", "TIME", "60s", parse=parse_time),
        Option(
            ("--p99",),
            "also find the largest number of tasks whose p99 latency stays within TIME",
            "TIME",
            parse=parse_time,
        ),
        Option(("--p999",), "the same for p99.9; both may be given", "TIME", parse=parse_time),
        Option(
            ("--open-loop",),
            "with --p99 or --p999: find the largest offered rate instead, latency counted from the intended start",
        ),
        Option(
            ("--surface",),
            "find the load line of every transfer size from 4KiB to 16MiB instead of one; --budget is then 5m unless "
            "given",
        ),
        Option(
            ("--training",),
            "find the most accelerators that are fed instead: samples are read as MLPerf Storage has it for MODEL, and "
            "count as fed where they compute 90 % of the time (cosmoflow: 70 %); --budget is then 5m unless given",
            "MODEL",
        ),
        Option(
            ("--utilisation",), "with --training: the share of the time that counts as fed", "SHARE", parse=parse_share
        ),
        Option(
            ("--accelerators",), "with --training: largest number of accelerators tried", "N", "64", parse=parse_count
        ),
        Option(
            ("--checkpoint-every",),
            "with --training: write a checkpoint after every N steps, while all accelerators pause; its time is told "
            "and is not in the utilisation",
            "N",
            parse=parse_count,
        ),
        Option(
            ("--checkpoint-size",),
            "with --checkpoint-every: its bytes, or llama3-8b, llama3-70b, llama3-405b, llama3-1t; MODEL's own unless "
            "given; --scale multiplies it",
            "SIZE",
        ),
        Option(
            ("--kv-cache",),
            "find the most users of an inference server instead: turns of conversations read and write the key-value "
            "cache of MODEL, as MLPerf Storage has it, at times that are fixed beforehand; --budget is then 5m unless "
            "given",
            "MODEL",
        ),
        Option(
            ("--p95",),
            "with --kv-cache: of 100 turns, 95 end so long after their intended start at most; 200ms unless given",
            "TIME",
            parse=parse_time,
        ),
        Option(("--users",), "with --kv-cache: largest number of users tried", "N", "64", parse=parse_count),
        Option(
            ("--scale",),
            "with --training or --kv-cache: samples, or tokens, of so many times their size",
            "FACTOR",
            parse=parse_factor,
        ),
        SEED,
        Option(
            ("--direct",),
            "bypass the page cache (O_DIRECT): where the file system can, always, or never",
            None,
            "auto",
            ("auto", "yes", "no"),
        ),
        Option(
            ("--storage",),
            "interface that reads and writes the files",
            None,
            "posix",
            ("posix", "uring", "mmap", "mpiio"),
        ),
        Option(
            ("--access",),
            "order of the transfers of a task",
            None,
            "sequential",
            ("sequential", "strided", "random"),
        ),
        Option(
            ("--queue-depth",),
            "operations in flight in each task; above 1 needs --storage uring",
            "N",
            "1",
            parse=parse_count,
        ),
        Option(
            ("--space",),
            "largest total size of the files at any time, those of --beside included",
            "SIZE",
            "8GiB, at most a tenth of the free space",
            parse=parse_size,
        ),
        Option(
            ("--beside",),
            "find the load line while a workload of this name (metadata-storm, small-random-reads, checkpoint, drain, "
            "stream-read, stream-write) runs at a share of the rate that it reaches alone; 50% unless given",
            "WORKLOAD[@SHARE]",
            repeats=True,
        ),
        Option(("--verify",), "check every byte that is read"),
        DRY_RUN,
        OUT,
        JSON,
        VERBOSE,
        NO_REPORT,
        NO_KEEP,
    ),
    (
        ("tonnage probe /scratch/me", "find where the file system of /scratch/me levels off, in a minute"),
        (
            "tonnage probe --op read --transfer 4k --access random --budget 5m /scratch/me",
            "small random reads, with narrower intervals",
        ),
        (
            "tonnage probe --p99 20ms --json /scratch/me > probe.json",
            "also the largest load that keeps p99 within 20 ms, for a script",
        ),
        (
            "tonnage probe --beside metadata-storm@30% /scratch/me",
            "the load line while others make and remove files at 30 % of what the storage can do",
        ),
        ("tonnage probe --surface /scratch/me", "the load line at every transfer size, in 5 minutes"),
        ("tonnage probe --surface --dry-run /scratch/me", "how long that takes, and how much space"),
        (
            "tonnage probe --training unet3d-h100 /scratch/me",
            "how many GPUs of kind H100 are fed with 3D U-Net's samples",
        ),
        (
            "tonnage probe --kv-cache llama3.1-8b --p95 200ms /scratch/me",
            "how many users an inference server may have that spills its cache there",
        ),
        ("tonnage probe sim:knee=8,plateau=2GB/s,noise=20%", "the same on a model whose answer is known"),
    ),
    loads=(
        "tonnage.campaign.campaign_file",
        "tonnage.campaign.kinds.stream",
        "tonnage.campaign.run_lifecycle",
        "tonnage.cli.run_progress",
    ),
)


def campaign_of(arguments: Arguments) -> Campaign:
    """Makes the campaign of the typed options."""
    from tonnage.campaign.campaign_file import probe_campaign

    return probe_campaign(
        arguments.target,
        {
            "op": arguments.op,
            "budget_ns": arguments.budget,
            "max_tasks": arguments.max_tasks or (None if arguments.training or arguments.kv_cache else _processes()),
            "p99_ns": arguments.p99,
            "p999_ns": arguments.p999,
            "open_loop": arguments.open_loop or None,
            "surface": arguments.surface or None,
            "training": arguments.training,
            "utilisation": arguments.utilisation,
            "accelerators": arguments.accelerators,
            "kv_cache": arguments.kv_cache,
            "p95_ns": arguments.p95,
            "users": arguments.users,
            "scale": arguments.scale,
            "checkpoint_every": arguments.checkpoint_every,
            "checkpoint_size": arguments.checkpoint_size,
            "transfer_size": arguments.transfer,
            "direct": arguments.direct,
            "storage": arguments.storage,
            "access": arguments.access,
            "queue_depth": arguments.queue_depth,
            "verify": arguments.verify or None,
            "beside": _one_company(arguments.beside or ()),
            "space": arguments.space,
            "seed": arguments.seed,
        },
    )


def run(arguments: Arguments) -> int:
    """Runs the command and returns its exit code."""
    from tonnage.campaign.campaign_file import in_options
    from tonnage.campaign.run_lifecycle import run_campaign
    from tonnage.cli.run_progress import observer

    with in_options():
        campaign, words = campaign_of(arguments), arguments.command_line
        if arguments.dry_run:
            from tonnage.cli.dry_run import dry_run

            return dry_run(campaign, as_json=arguments.json)
        outcome = run_campaign(campaign, text=None, command_line=words, out=arguments.out, observer=observer())
    # The analysis is loaded when there is something to analyse.
    from tonnage.cli.runs import conclude

    return conclude(
        outcome,
        as_json=arguments.json,
        with_report=not arguments.no_report,
        keep_line=not arguments.no_keep,
        is_verbose=arguments.verbose,
    )


def _one_company(given: Sequence[str]) -> str | None:
    """What runs beside a probe; RequestError where several are asked for."""
    if len(given) > 1:
        raise RequestError(
            f"--beside: a probe has one company, and {len(given)} are given; hint: probe beside each, or see "
            "`tonnage company --help`"
        )
    return given[0] if given else None


def _processes() -> int | None:
    """Where an MPI launcher started several, no more tasks than those are looked at."""
    from tonnage.cluster.launcher_by_name import launcher

    count = launcher("auto").processes
    return count if count > 1 else None
