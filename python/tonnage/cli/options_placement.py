"""The options of placement's commands."""

from __future__ import annotations

from typing import Any

from tonnage import plugins
from tonnage.cli.option import Command, Option, count, port, size, time

_MOST_HOSTS = 1 << 16
"""As many as the largest clusters have."""


def _cap(text: str) -> int | str:
    from tonnage.placement.submit_request import parse_cap

    return parse_cap(text)


def _key(text: str) -> str:
    from tonnage.placement.submit_request import parse_key

    return parse_key(text)


def _hosts(text: str) -> tuple[str, ...]:
    from tonnage.cluster.hostlist import how_many, unfold
    from tonnage.cluster.remote.connections import check
    from tonnage.errors import RequestError

    number = how_many(text)
    if number > _MOST_HOSTS:
        raise RequestError(f"{text!r} is {number} hosts, and {_MOST_HOSTS} can be asked; hint: name fewer")
    return tuple(dict.fromkeys(check(host) for host in unfold(text))) or (check(text),)


def _share(text: str) -> Any:
    from tonnage.units import parse_share

    return parse_share(text)


def _copies(text: str) -> Any:
    from tonnage.placement.submit_request import parse_copies

    return parse_copies(text)


def _dependency(text: str) -> Any:
    from tonnage.cluster.terms import parse_dependency

    return parse_dependency(text)


def _mail(text: str) -> Any:
    from tonnage.cluster.terms import parse_mail

    return parse_mail(text)


def _words(text: str) -> tuple[str, ...]:
    from tonnage.cluster.terms import split_words

    return split_words(text)


JSON = Option(("--json",), "print one JSON object on stdout and nothing else there", is_flag=True)
SITE = Option(
    ("--site",),
    "read this site file and no other",
    "FILE",
    "tonnage.toml above here, of the user, of the system",
    completes="file",
)
SCHEDULER = Option(
    ("--scheduler",),
    "which one",
    None,
    "the site file's",
    plugins.OWN[plugins.SCHEDULERS],
    plugins=plugins.SCHEDULERS,
)

WHERE = Command(
    "where",
    "say which servers hold a path, and which hosts are beside them",
    "Says on which mount PATH is, which servers hold it and how that is known, the scheduler's hosts beside them, "
    "their load now and their load line if one was measured. Asks the file system's own tools, each with a time "
    "limit: a mount that hangs does not hang this command.",
    (
        Option(("path",), "a file or directory; it need not exist yet", "PATH", ".", optional=True, completes="file"),
        SITE,
        JSON,
    ),
    (
        ("tonnage where", "of the working directory"),
        ("tonnage where --json /scratch/me/input.dat", "for a script"),
    ),
)

SUBMIT = Command(
    "submit",
    "run a job where its data lives, and no more at once than the storage carries",
    "Submits COMMAND through the site's scheduler, on the hosts beside the file server of the working directory. Its "
    "words reach the program exactly as typed: no shell reads them again. Options of tonnage come before COMMAND.",
    (
        Option(("-q", "--queue"), "queue or partition", "QUEUE", "the server's in the site file"),
        Option(("-I", "--interactive"), "wait for it, with this terminal's input, output and signals", is_flag=True),
        Option(("-K", "--wait"), "stay until it has ended, all copies, and exit with the worst status", is_flag=True),
        Option(("-o", "--output"), "file of its output; %J: job, %I: copy", "OUT", "the scheduler's", completes="file"),
        Option(("-e", "--error"), "file of its errors", "ERR", "with the output", completes="file"),
        Option(("-n", "--tasks"), "slots it takes", "TASKS", "1", parse=count),
        Option(("-J", "--name"), "name of the job", "NAME", "the program's"),
        Option(("--input",), "file of its standard input", "FILE", "nothing", completes="file"),
        Option(("--time-limit",), "the scheduler ends it after so long", "TIME", "the queue's", parse=time),
        Option(("--account",), "what it is charged to", "NAME", "the user's default"),
        Option(("--memory",), "it has so much on its host, and no more", "SIZE", "the queue's", parse=size),
        Option(("--gpus",), "it has so many on its host", "N", "none", parse=count),
        Option(
            ("--dependency",),
            "it begins after other jobs: afterok:JOB,afterany:JOB, with afternotok and after (it began) too; with ? "
            "in the place of the comma one is enough",
            "WHEN:JOB",
            parse=_dependency,
        ),
        Option(("--mail",), "the scheduler writes when it begins, ends or fails", "begin,end,fail", parse=_mail),
        Option(("--mail-to",), "to whom", "ADDRESS", "you"),
        Option(("--exclusive",), "no other job runs on its host meanwhile", is_flag=True),
        Option(
            ("--scheduler-options",),
            "options of the scheduler's own command (sbatch, bsub, qsub, flux submit), split as a shell does",
            "'--OPTION=VALUE...'",
            parse=_words,
            repeats=True,
        ),
        Option(
            ("--copies",),
            "run so many of it, or these; TONNAGE_COPY has its number",
            "N|1-4,7,10-20:2[%LIMIT]",
            parse=_copies,
        ),
        Option(("--cap",), "copies that run at once: a number, or the load line", "auto|N", "auto", parse=_cap),
        Option(("--path",), "go by the data of PATH", "PATH", "the working directory", completes="file"),
        Option(("--profile",), "run directory that measured the program, for what a copy asks of the line", "RUN"),
        Option(("--io-share",), "share of its time alone in which it waits for storage", "SHARE", "1", parse=_share),
        Option(
            ("--anywhere",),
            "go on where nobody knows the file server, or nothing beside it takes the job",
            is_flag=True,
        ),
        Option(
            ("--key",), "name of this submission: the same one is never submitted twice", "KEY", "drawn", parse=_key
        ),
        Option(("--dry-run",), "print the decision and the command; submit nothing", is_flag=True),
        SCHEDULER,
        Option(
            ("--local-wait",),
            "longest expected wait for a slot beside the data",
            "TIME",
            "the site file's, 60s",
            parse=time,
        ),
        SITE,
        JSON,
    ),
    (
        ("tonnage submit gzip -k big.dat", "at the file server of the working directory"),
        ("tonnage submit -I uname -n", "and wait for it"),
        ("tonnage submit --copies 50 --cap auto ./align.sh", "50 copies, as many at once as the storage carries"),
        ("tonnage submit --scheduler-options='--nice=5 --qos=low' ./align.sh", "with options of sbatch's own"),
        ("tonnage submit --dry-run -q short ./align.sh", "where it would go, and why"),
    ),
    program="COMMAND [WORD]...",
)

LOAD = Command(
    "load",
    "show how busy each file server is, and its head-room to the load line",
    "Shows each file server of the site file: CPU, block device operations, NFS calls, I/O pressure, jobs that run and "
    "wait beside it, how many more tasks it carries, what of its line is promised to jobs that were sent, what others "
    "use and what is left. Each index has its age; a stale one is marked.",
    (
        Option(("server",), "only this one", "SERVER", optional=True),
        Option(("--watch",), "go on, in place", is_flag=True),
        Option(("--every",), "how often to look, with --watch or --metrics", "TIME", "2s", parse=time),
        Option(
            ("--metrics",), "serve the figures to Prometheus on 127.0.0.1:PORT, 0 for any", "PORT", "off", parse=port
        ),
        SITE,
        JSON,
    ),
    (
        ("tonnage load", "once"),
        ("tonnage load --watch", "live, until Ctrl-C"),
        ("tonnage load --json rcss1", "one server, for a script"),
    ),
)

WATCH = Command(
    "watch",
    "note when a file server's load passes its load line, since when, and whose jobs are there",
    "Looks at each file server of the site file every so often, and prints a line when its load passes its load line, "
    "when it is back, and when that is not known: with the time, the load, the line, since when, and the users whose "
    "jobs are there as far as the scheduler tells. What it sees is kept; `tonnage history --servers` tells of it. "
    "docs/watch.md says exactly when an episode begins and ends.",
    (
        Option(("server",), "only this one", "SERVER", optional=True),
        Option(("--every",), "how often to look", "TIME", "30s", parse=time),
        Option(
            ("--metrics",), "serve the figures to Prometheus on 127.0.0.1:PORT, 0 for any", "PORT", "off", parse=port
        ),
        Option(("--once",), "look once, say of each server what is so, and keep nothing", is_flag=True),
        SITE,
        Option(("--json",), "print one JSON object a line for each event, and nothing else on stdout", is_flag=True),
    ),
    (
        ("tonnage watch", "all servers, until Ctrl-C"),
        ("tonnage watch --json --metrics 9402", "for a log, and for Prometheus"),
        ("tonnage watch --once rcss1", "is it above its line now, and since when"),
    ),
)

JOBS = Command(
    "jobs",
    "list jobs, and where they run",
    "Lists the jobs that wait or run, with the file server that Tonnage placed them by.",
    (
        Option(("-d", "--done"), "also those that ended lately", is_flag=True),
        Option(("-u", "--user"), "of this user, or all", "USER", "you"),
        SCHEDULER,
        SITE,
        JSON,
    ),
    (("tonnage jobs -d", "also what ended lately"),),
)

CANCEL = Command(
    "cancel",
    "cancel jobs of yours, waiting or running",
    "Ends jobs of yours with all their copies, or single copies (3734[5], 3734_5), in the scheduler that has them. A "
    "job that is not yours is refused, and one that Tonnage did not submit unless --any is given. The exit code is 1 "
    "where one of them was not cancelled.",
    (
        Option(("jobs",), "their numbers, as `tonnage jobs` lists them", "JOB", repeats=True),
        Option(("--any",), "also jobs of yours that Tonnage did not submit", is_flag=True),
        SCHEDULER,
        SITE,
        JSON,
    ),
    (("tonnage cancel 3734", "with all its copies"), ("tonnage cancel '3734[5]'", "one copy")),
)

QUEUES = Command(
    "queues",
    "list queues, their hosts and jobs",
    "Lists the queues or partitions of the scheduler: open or closed, hosts, slots, jobs that wait and run.",
    (
        SCHEDULER,
        SITE,
        JSON,
    ),
    (("tonnage queues", "of this site"),),
)

DOCTOR = Command(
    "doctor",
    "check the site file against the world, or hosts that are to measure together",
    "Reads tonnage.toml and asks the scheduler, the servers' indices and the mounts whether what it says is so. Each "
    "thing that is wrong is one line with what to do. With --hosts it goes to these hosts instead and tells what would "
    "spoil a measurement on them: links, clocks, versions, other load, and the target as each of them sees it "
    "(docs/doctor-hosts.md).",
    (
        SITE,
        Option(("--hosts",), "check these hosts: a,b,c or node[1-3]", "HOST[,HOST]", parse=_hosts),
        Option(("--within",), "hosts that are not there by then are left out", "TIME", "30s", parse=time),
        Option(("--via",), "how to get there", None, "ssh", ("ssh", "slurm", "mpi")),
        Option(
            ("--target",),
            "look at this directory on each of the hosts; a file of 64 KiB is made there for a moment",
            "DIR",
            completes="directory",
        ),
        JSON,
    ),
    (
        ("tonnage doctor", "the site file; exit 0 if all is well, 1 if not"),
        ("tonnage doctor --hosts node1,node2,node3 --target /scratch/me", "three hosts, before a campaign on them"),
    ),
)

IOBSUB = Command(
    "iobsub",
    "iobsub's command lines: a job goes to the server that holds the working directory",
    "Takes the options of iobsub, the script of the experiment of that name, and prints what it printed. "
    "docs/iobsub.md has the options.",
    (),
    (("tonnage iobsub -o out.dat go.sh", "as it was published"),),
    verbatim=True,
)

LSLOAD = Command(
    "lsload",
    "LSF's load table, of file servers",
    "Prints what `tonnage load` knows in the columns of `lsload -l`. docs/lsload.md has the options.",
    (),
    (("tonnage lsload -l", "every index"),),
    verbatim=True,
)

BJOBS = Command(
    "bjobs",
    "LSF's list of jobs, of any scheduler",
    "Prints what `tonnage jobs` knows in the columns of `bjobs`. docs/bjobs.md has the options.",
    (),
    (("tonnage bjobs -w", "your jobs"),),
    verbatim=True,
)

BKILL = Command(
    "bkill",
    "LSF's end of jobs, of any scheduler",
    "Ends jobs that Tonnage submitted, as `tonnage cancel` does. docs/bkill.md has the options.",
    (),
    (("tonnage bkill 3734", "with all its copies"),),
    verbatim=True,
)

BQUEUES = Command(
    "bqueues",
    "LSF's list of queues, of any scheduler",
    "Prints what `tonnage queues` knows in the columns of `bqueues`. docs/bqueues.md has the options.",
    (),
    (("tonnage bqueues", "all"),),
    verbatim=True,
)

BHOSTS = Command(
    "bhosts",
    "LSF's list of batch hosts, of any scheduler",
    "Prints the scheduler's hosts in the columns of `bhosts`. docs/bhosts.md has the options.",
    (),
    (("tonnage bhosts", "all"),),
    verbatim=True,
)

PLACING: tuple[Command, ...] = (SUBMIT, WHERE, LOAD, WATCH, JOBS, CANCEL, QUEUES, DOCTOR)
OLD_PLACING: tuple[Command, ...] = (IOBSUB, LSLOAD, BJOBS, BKILL, BQUEUES, BHOSTS)
"""Command lines of other programs."""
