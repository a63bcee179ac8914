"""``tonnage run``: a campaign file, or the rest of a run; here, or by a scheduler's jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tonnage import plugins
from tonnage.cli.command import Arguments
from tonnage.cli.shared_options import DRY_RUN, JSON, NO_KEEP, NO_REPORT, OUT, VERBOSE
from tonnage.command_line import Command
from tonnage.command_option import Option
from tonnage.errors import RequestError
from tonnage.units import parse_count, parse_factor, parse_time

if TYPE_CHECKING:
    from tonnage.campaign.model import Campaign
    from tonnage.campaign.run_lifecycle import Outcome


COMMAND = Command(
    "run",
    "carry out a campaign file, or resume a run",
    "Measures every combination of the factors in FILE (`tonnage explain campaign`), repeated in randomised blocks "
    "from a recorded seed.",
    (
        Option(("file",), "campaign file (TOML)", "FILE", optional=True, completes="file"),
        Option(("--resume",), "continue an interrupted run or probe", "RUN", completes="directory"),
        Option(
            ("--target",),
            "measure this directory (or null:, memory:, sim:…) instead of the file's",
            "DIR",
            "the file's",
            completes="directory",
        ),
        Option(
            ("--scale",),
            "multiply the work of every workload (block sizes, files, copies), never its tasks",
            "FACTOR",
            "the file's",
            parse=parse_factor,
        ),
        Option(("--only",), "run only this [[workload]] table; may be repeated", "WORKLOAD", repeats=True),
        Option(("--without",), "leave out this [[workload]] table; may be repeated", "WORKLOAD", repeats=True),
        Option(
            ("--on",),
            "submit the run to this scheduler as jobs and wait for its end; local: this host, in the background",
            None,
            "the file's, or here and now",
            plugins.OWN[plugins.SCHEDULERS],
            plugins=plugins.SCHEDULERS,
        ),
        Option(("--partition",), "partition or queue of workloads that name none", "NAME", "the scheduler's"),
        Option(("--nodes",), "nodes of each job whose workload names no hosts", "N", "1", parse=parse_count),
        Option(
            ("--tasks-per-node",),
            "tasks on each node, as threads of one process; a node is filled before the next one is used",
            "K",
            "the file's",
            parse=parse_count,
        ),
        Option(
            ("--time-limit",), "the scheduler ends a job after this time", "TIME", "the partition's", parse=parse_time
        ),
        Option(
            ("--mpi",),
            "interface by which the processes of a job find each other; none: one process",
            None,
            "as the site has set it",
            ("pmix", "pmi2", "none"),
        ),
        Option(("--account",), "what jobs are charged to", "NAME", "the user's default"),
        Option(("--detach",), "submit and return at once; --resume continues the run"),
        Option(("--part",), "what a submitted job measures", "PART", is_hidden=True),
        DRY_RUN,
        OUT,
        JSON,
        VERBOSE,
        NO_REPORT,
        NO_KEEP,
    ),
    (
        ("tonnage example first-light --out first-light.toml", "a file to begin with"),
        ("tonnage run --dry-run first-light.toml", "what would be done, and what it takes"),
        ("tonnage run first-light.toml", "do it"),
        (
            "tonnage run --scale 0.01 --target /scratch/me first-light.toml",
            "a hundredth of the work, in another directory",
        ),
        (
            "tonnage run --without cancer-analysis --without wgs-structvar-manta knox-epouta.toml",
            "all workloads of a file but two whose programs are not installed",
        ),
        ("tonnage run --resume tonnage-runs/20261121T101500Z-first-light-1f2e3d4c", "continue after Ctrl-C"),
        ("tonnage run --on slurm --partition mm --nodes 3 FILE", "on three nodes of a partition, as Slurm jobs"),
    ),
    loads=("tonnage.campaign.run_lifecycle", "tonnage.cli.run_progress"),
)

_OF_JOBS = ("partition", "nodes", "tasks_per_node", "time_limit", "mpi", "account")
"""Options that say how jobs are submitted."""


def run(arguments: Arguments) -> int:
    """Runs the command and returns its exit code."""
    if (arguments.file is None) == (arguments.resume is None):
        raise RequestError("give either a campaign file or --resume RUN; hint: see `tonnage run --help`")
    if arguments.part is not None:
        from tonnage.campaign.jobs.job_program import carry_out

        return carry_out(arguments.resume or "", arguments.part)
    if arguments.resume is not None:
        outcome = _resume(arguments)
    else:
        from tonnage.campaign.campaign_file import load_campaign, of_workloads

        campaign, text = load_campaign(arguments.file, scale=arguments.scale, target=arguments.target)
        campaign = of_workloads(campaign, only=arguments.only or (), without=arguments.without or ())
        campaign = _with_job(campaign, arguments)
        if arguments.dry_run:
            from tonnage.cli.dry_run import dry_run

            return dry_run(campaign, as_json=arguments.json)
        outcome = _start(campaign, text, arguments)
    if arguments.detach:
        return 0
    # The analysis is loaded when there is something to analyse.
    from tonnage.cli.runs import conclude

    return conclude(
        outcome,
        as_json=arguments.json,
        with_report=not arguments.no_report,
        keep_line=not arguments.no_keep,
        is_verbose=arguments.verbose,
    )


def _start(campaign: Campaign, text: str, arguments: Arguments) -> Outcome:
    from tonnage.cli.run_progress import observer

    watcher = observer()
    if campaign.job.on is None:
        from tonnage.campaign.jobs.run_by_jobs import refuse_here
        from tonnage.campaign.run_lifecycle import run_campaign

        refuse_here(campaign)
        if arguments.detach:
            raise RequestError("--detach leaves a submitted run, and this one is not; hint: add --on")
        return run_campaign(
            campaign, text=text, command_line=arguments.command_line, out=arguments.out, observer=watcher
        )
    from tonnage.campaign.jobs.run_by_jobs import submit_run

    return submit_run(
        campaign,
        text=text,
        command_line=arguments.command_line,
        out=arguments.out,
        observer=watcher,
        detach=arguments.detach,
    )


def _resume(arguments: Arguments) -> Outcome:
    from tonnage.campaign.jobs.run_by_jobs import resume_jobs, was_submitted
    from tonnage.campaign.run_lifecycle import resume_run
    from tonnage.cli.run_progress import observer

    given = ("dry_run", "out", "scale", "target", "only", "without", *_OF_JOBS)
    for name in given:
        if getattr(arguments, name):
            raise RequestError(f"{_option(name)} does not go with --resume; hint: leave it out")
    if arguments.on is None and not was_submitted(arguments.resume):
        if arguments.detach:
            raise RequestError("--detach leaves a submitted run, and this one is not; hint: leave it out")
        return resume_run(arguments.resume, observer=observer())
    return resume_jobs(arguments.resume, on=arguments.on, observer=observer(), detach=arguments.detach)


def _with_job(campaign: Campaign, arguments: Arguments) -> Campaign:
    """The campaign with what the command line says of its jobs."""
    from pydantic import ValidationError

    from tonnage.campaign.model import Job

    given = {
        "on": arguments.on,
        "partition": arguments.partition,
        "nodes": arguments.nodes,
        "time_limit_ns": arguments.time_limit,
        "mpi": arguments.mpi,
        "account": arguments.account,
    }
    changes = {key: value for key, value in given.items() if value is not None}
    try:
        job = Job.model_validate({**campaign.job.model_dump(), **changes})
    except ValidationError as error:
        first_error = error.errors()[0]
        key = str(first_error.get("ctx", {}).get("key") or first_error["loc"][0])
        raise RequestError(f"{_option(key)}: {first_error['msg']}") from None
    workloads = campaign.workloads
    if arguments.tasks_per_node is not None:
        each = (arguments.tasks_per_node,)
        workloads = tuple(workload.model_copy(update={"tasks_per_node": each}) for workload in workloads)
    if job.on is None and changes:
        raise RequestError(f"{_option(next(iter(changes)))} is about jobs of a scheduler; hint: add --on with its name")
    return campaign.model_copy(update={"job": job, "workloads": workloads})


def _option(key: str) -> str:
    return f"--{key.removesuffix('_ns').replace('_', '-')}"
