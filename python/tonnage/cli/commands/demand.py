"""``tonnage demand``: what a job asks of a storage, from its Darshan logs; and a campaign that asks the same."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from tonnage.cli.command import Arguments
from tonnage.cli.shared_options import JSON, PAGE, SITE
from tonnage.command_line import Command
from tonnage.command_option import Option
from tonnage.errors import RequestError
from tonnage.printable_text import typed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tonnage.demand.deviation import Deviation
    from tonnage.demand.job_use import JobUse
    from tonnage.demand.profile import Profile
    from tonnage.placement.line_shares import LineShare
    from tonnage.report.answer import Statement

COMMAND = Command(
    "demand",
    "tell what a job asks of a storage, from its Darshan log",
    "Prints for each file system how many calls were in progress at once, their size, rate and duration, and "
    "which share of the load line measured for --path that is. Several logs of one program give intervals. "
    "Values that the counters do not determine are given as bounds. --campaign writes a campaign that makes "
    "the same demand without the job.",
    (
        Option(
            ("logs",),
            "Darshan logs of one program, a run that imported some, or a run of its command",
            "LOG|RUN",
            repeats=True,
            completes="file",
        ),
        Option(("--path",), "compare with the load line of PATH", "PATH", "the working directory", completes="file"),
        Option(("--file-system",), "use the job's calls on this mount point", "MOUNT", "the one with most bytes"),
        Option(("--campaign",), "write a campaign that makes the same demand", "FILE", completes="file"),
        Option(("--target",), "the directory that the campaign measures", "DIR", "--path", completes="directory"),
        Option(("--sweep",), "the campaign also has 1, 2, 4 ... up to twice the job's tasks, to find its load line"),
        Option(
            ("--replayed",),
            "compare the job with a run of that campaign, or a log of it, counter by counter",
            "RUN|LOG",
            completes="file",
        ),
        SITE,
        PAGE,
        JSON,
    ),
    (
        ("tonnage demand job.darshan", "the demand of the job, and its share of the load line here"),
        ("tonnage demand monday.darshan tuesday.darshan --path /scratch/me", "two runs, against the line of /scratch"),
        (
            "tonnage demand job.darshan --campaign job.toml --target /new/me --sweep",
            "find the load line for this demand on another storage",
        ),
        ("tonnage demand job.darshan --replayed tonnage-runs/replay", "how close the campaign came"),
    ),
    loads=("tonnage.cli.runs", "tonnage.placement.job_logs", "tonnage.placement.line_shares"),
)


def run(arguments: Arguments) -> int:
    """Runs the command and returns its exit code."""
    from tonnage.demand.profile import main_file_system, profile_of
    from tonnage.placement.job_logs import each_once, uses_in
    from tonnage.placement.line_shares import shares_of

    if arguments.campaign is None and (arguments.target is not None or arguments.sweep):
        raise RequestError("--target and --sweep are of a campaign; hint: give --campaign FILE, too")
    uses, notes = each_once(arguments.logs)
    for note in notes:
        print(f"tonnage: note: {note}", file=sys.stderr)
    profile = profile_of(uses)
    place = main_file_system(uses[0], arguments.file_system or profile.places[0].mount)
    path = arguments.path or "."
    shares = shares_of(uses, profile, place.mount, path, arguments.site)
    deviations: list[Deviation] = []
    if arguments.replayed is not None:
        from tonnage.demand.deviation import deviations as found

        (replay, *more) = uses_in(arguments.replayed)
        if more:
            raise RequestError(f"{arguments.replayed} tells of several runs; hint: give one of them")
        if "tonnage" not in replay.command:
            print(
                f"tonnage: note: {arguments.replayed} is of {replay.program or 'an unnamed program'}, and no replay by "
                "Tonnage: these are deviations between two programs",
                file=sys.stderr,
            )
        for problem in replay.problems:
            print(f"tonnage: note: of the replay: {problem}", file=sys.stderr)
        deviations = found(place, replay)
    if arguments.campaign is not None:
        _write_campaign(arguments, uses[0], place.mount, path)
    _show(arguments, uses, profile, place.mount, shares, deviations)
    return 0


def _write_campaign(arguments: Arguments, use: JobUse, mount: str, path: str) -> None:
    from tonnage.demand.profile import main_file_system
    from tonnage.demand.replay import replay_of
    from tonnage.outputs import Form, Output

    made = replay_of(use, main_file_system(use, mount), target=arguments.target or path, sweep=arguments.sweep)
    # Somebody may have changed what was written here before.
    same = Form("the campaign that this would write", lambda file: file.read() == made.text.encode())
    out = Output(Path(arguments.campaign), "--campaign", same)
    out.write(made.text)
    for left in made.left_out:
        print(f"tonnage: note: {left}", file=sys.stderr)
    told = f"`tonnage run {typed(arguments.campaign)}` measures it"
    print(f"tonnage: campaign: {arguments.campaign}; {told}", file=sys.stderr)


def _show(
    arguments: Arguments,
    uses: Sequence[JobUse],
    profile: Profile,
    mount: str,
    shares: Sequence[LineShare],
    deviations: Sequence[Deviation],
) -> None:
    from dataclasses import replace

    from tonnage.cli.runs import show_answer
    from tonnage.demand.profile import main_file_system
    from tonnage.placement.demand_answer import demand_answer
    from tonnage.report.answers.demand import answer, replayed

    told = [_statement(one) for one in shares]
    shown = answer(arguments.logs, profile, told, uses)
    if deviations:
        table = replayed(main_file_system(uses[0], mount), deviations)
        shown = replace(shown, tables=(*shown.tables, table))
    show_answer(shown, lambda: asdict(demand_answer(profile, shares, deviations)), arguments)


def _statement(one: LineShare) -> Statement:
    """``write: it asks 0.52 tasks of 8, 6.5 % of the load line …``."""
    from tonnage import units
    from tonnage.placement.server_load_lines import describe
    from tonnage.report.answer import Statement
    from tonnage.report.answers.demand import bounds, over

    line = describe(one.line, now_s=time.time())
    asked = over(one.asked, lambda value: units.significant(value, 2))
    most = bounds(one.at_once, units.count)
    calls = f"In its fullest moment {most} of its calls {'is' if most == '1' else 'are'} in progress."
    if one.line is None or one.share is None:
        return Statement(one.operation, f"It asks {asked} tasks on average; {line}.", (calls,), False)
    why = [f"The load line is {line}.", calls]
    if one.is_by_rate:
        why.append("Its rate is more of the line than the calls that are in progress on average, and is what counts.")
    if one.order == "not known":
        why.append("In which order its calls go is not known, and a line may be another for another order.")
    if one.is_least:
        why.append(
            "Records of calls are missing: nothing says how much more it asks, or how many such jobs the line carries."
        )
    if one.packed is not None:
        least = "at least " if one.asked.bounded else ""
        jobs = f"the line carries {least}{one.packed} such job{'s' if one.packed > 1 else ''} at once"
        tasks = f"{'at most ' if one.asked.bounded else ''}{units.significant(one.in_all, 2)} tasks"
        alone = "more than the line: one at a time" if one.in_all > one.line.tasks else jobs
        why.append(f"In all its calls a job asks {tasks} on average, and {alone}; jobs whose bursts meet ask more.")
    share = over(one.share, units.share)
    return Statement(one.operation, f"It asks {asked} tasks on average, {share} of the load line.", tuple(why), True)
