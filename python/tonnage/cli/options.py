"""Every command and option, once: parsers, help, man pages, completions and ``docs/options.md`` come from here."""

from __future__ import annotations

from tonnage import plugins
from tonnage.cli.option import Command, Option, count, factor, share, size, time
from tonnage.cli.options_placement import OLD_PLACING, PLACING, SUBMIT
from tonnage.cli.options_project import PROJECTING
from tonnage.cli.options_serve import SERVE
from tonnage.cli.options_stage import STAGE
from tonnage.importers.registry import KINDS


def _seed(text: str) -> int:
    from tonnage.errors import RequestError

    if not (text.isascii() and text.isdigit() and int(text) < 2**63):
        raise RequestError(f"{text!r} is not a whole number from 0 to 2^63 - 1; hint: write it like 42")
    return int(text)


def _operations(text: str) -> tuple[str, ...]:
    from tonnage.errors import RequestError

    found = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    for part in found:
        if part not in ("write", "read"):
            raise RequestError(f"{part!r} is not an operation; hint: write --op write, --op read or --op write,read")
    return found


OUT = Option(("--out",), "run directory to make", "DIR", "./tonnage-runs/<time>-<name>-<id>", completes="directory")
JSON = Option(("--json",), "print one JSON object on stdout and nothing else there", is_flag=True)
NO_REPORT = Option(("--no-report",), "do not write report.html", is_flag=True)
NO_KEEP = Option(("--no-keep",), "do not keep the load line that a search finds for placement", is_flag=True)
RUN = Option(("run_directory",), "a run directory", "RUN", completes="directory")

PROBE = Command(
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
        Option(("--transfer",), "bytes of one operation", "SIZE", "1MiB", parse=size),
        Option(("--max-tasks",), "largest number of tasks tried", "N", "32", parse=count),
        Option(("--budget",), "time for the whole search", "TIME", "60s", parse=time),
        Option(
            ("--p99",), "also find the largest number of tasks whose p99 latency stays within TIME", "TIME", parse=time
        ),
        Option(("--p999",), "the same for p99.9; both may be given", "TIME", parse=time),
        Option(
            ("--open-loop",),
            "with --p99 or --p999: find the largest offered rate instead, latency counted from the intended start",
            is_flag=True,
        ),
        Option(("--seed",), "seed of payloads and orders", "N", "drawn, and recorded", parse=_seed),
        Option(
            ("--direct",),
            "past the page cache, through it, or past it where the file system can",
            None,
            "auto",
            ("auto", "yes", "no"),
        ),
        Option(("--storage",), "how bytes are touched", None, "posix", ("posix", "uring", "mmap")),
        Option(
            ("--access",),
            "order in which a task visits its transfers",
            None,
            "sequential",
            ("sequential", "strided", "random"),
        ),
        Option(
            ("--queue-depth",),
            "operations in flight in each task; above 1 needs --storage uring",
            "N",
            "1",
            parse=count,
        ),
        Option(("--space",), "bytes of files at once", "SIZE", "8GiB, at most a tenth of the free space", parse=size),
        Option(("--verify",), "check every byte that is read", is_flag=True),
        OUT,
        JSON,
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
        ("tonnage probe sim:knee=8,plateau=2GB/s,noise=20%", "the same on a model whose answer is known"),
    ),
)

RUN_COMMAND = Command(
    "run",
    "carry out a campaign file, or resume a run",
    "Measures every combination of the factors in FILE (docs/campaign.md), repeated in randomised blocks "
    "from a recorded seed.",
    (
        Option(("file",), "campaign file (TOML)", "FILE", optional=True, completes="file"),
        Option(("--resume",), "go on with a run that was interrupted, probes included", "RUN", completes="directory"),
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
            parse=factor,
        ),
        Option(
            ("--on",),
            "submit it to this scheduler, in jobs, and stay until it is done; local: this host, in the background",
            None,
            "the file's, or here and now",
            plugins.OWN[plugins.SCHEDULERS],
            plugins=plugins.SCHEDULERS,
        ),
        Option(("--partition",), "partition or queue of workloads that name none", "NAME", "the scheduler's"),
        Option(("--nodes",), "nodes of each job whose workload names no hosts", "N", "1", parse=count),
        Option(
            ("--tasks-per-node",),
            "tasks on each node before the next one takes any, threads of one process",
            "K",
            "the file's",
            parse=count,
        ),
        Option(("--time-limit",), "the scheduler ends a job after so long", "TIME", "the partition's", parse=time),
        Option(
            ("--mpi",),
            "how processes of a job find each other; none: one process",
            None,
            "as the site has set it",
            ("pmix", "pmi2", "none"),
        ),
        Option(("--account",), "what jobs are charged to", "NAME", "the user's default"),
        Option(("--detach",), "submit, and do not stay; --resume takes the run up", is_flag=True),
        Option(("--part",), "what a submitted job measures", "PART", is_hidden=True),
        Option(("--dry-run",), "print the plan and the time and space it takes; write nothing", is_flag=True),
        OUT,
        JSON,
        NO_REPORT,
        NO_KEEP,
    ),
    (
        ("tonnage run --dry-run examples/first-light.toml", "what would be done, and what it takes"),
        ("tonnage run examples/first-light.toml", "do it"),
        ("tonnage run --scale 0.01 --target /scratch/me examples/first-light.toml", "elsewhere, a hundredth of it"),
        ("tonnage run --resume tonnage-runs/20261121T101500Z-first-light-1f2e3d4c", "go on after Ctrl-C"),
        ("tonnage run --on slurm --partition mm --nodes 3 FILE", "on three nodes of a partition, by jobs of Slurm"),
    ),
)

REPORT = Command(
    "report",
    "write the report of a run",
    "Analyses the records of RUN again and writes one self-contained HTML file that opens without a network.",
    (RUN, JSON),
    (("tonnage report tonnage-runs/20261121T101500Z-probe-1f2e3d4c", "writes report.html into the run directory"),),
)

IMPORT = Command(
    "import",
    "take over what another tool measured",
    "Reads files that another tool wrote, and makes one run directory of them: trials with intervals, findings, the "
    "report. Repetitions in a file, and equal trials of several files, become repetitions; a summary never becomes a "
    "trial. The files are kept in the run. What they do not say is unknown in it; what is damaged is told with its "
    "line. docs/import.md says what each kind reads, and what its figures mean.",
    (
        Option(("kind",), "whose files they are", "KIND", choices=tuple(KINDS), plugins=plugins.IMPORTERS),
        Option(("files",), "what the tool printed or wrote, the oldest first", "FILE", repeats=True, completes="file"),
        OUT,
        JSON,
        NO_REPORT,
    ),
    (
        ("tonnage import ior ior.out --out run-ior", "IOR's text, JSON or CSV"),
        ("tonnage import ior monday.out tuesday.out --out run-ior", "equal trials of both become repetitions"),
        ("tonnage import fio randread.json --out run-fio", "what fio --output-format=json wrote"),
        ("tonnage import fio-log randread_bw.1.log --out run-log", "and its log, with throughput over time"),
    ),
)

COMPARE = Command(
    "compare",
    "tell whether a system is faster or slower than another, by their runs",
    "Sets each RUN against the first, the base: equal settings are paired, and each gets the ratio of its throughputs "
    "with an interval and one of three verdicts: faster, slower, no change shown. A RUN that is a directory of runs is "
    "one side with all of them. A verdict about a system takes three runs a side, for days differ by more than the "
    "repetitions of a run show; all verdicts on a side hold together at 95 %. What else differs between the sides "
    "(factors, kernel, mount options, versions) is listed.",
    (
        Option(
            ("runs",),
            "run directories, or directories of the runs of one side; the base first",
            "RUN",
            repeats=True,
            completes="directory",
        ),
        Option(
            ("--of",),
            "what verdicts are of: of the system, or of these two runs alone, which says nothing of another day",
            default="system",
            choices=("system", "runs"),
        ),
        Option(("--threshold",), "least change of a throughput that is called one", "SHARE", "2%", parse=share),
        Option(
            ("--per",),
            "divide rates by disks, servers, nodes or links: as [normalise] of the runs' campaigns says (disk), or one "
            "for each side (disk=60,84; link=1Gbit/s,10Gbit/s)",
            "THING",
        ),
        Option(
            ("--fail-if",),
            "exit with 1 where a setting has this verdict, with 2 where none can have any",
            choices=("slower", "faster", "changed"),
        ),
        Option(("--out",), "also write a page with a forest plot", "FILE", completes="file"),
        JSON,
    ),
    (
        (
            "tonnage compare before after --out compared.html",
            "did the upgrade help? Each a directory of three runs or more",
        ),
        ("tonnage compare --per disk=60,84 old new", "is a disk of the new system worth as much as one of the old?"),
        ("tonnage compare --fail-if slower --threshold 5% base new", "for a pipeline: exit code 1 where it got slower"),
        ("tonnage compare --of runs --fail-if slower base/1 new/1", "the same of two runs, whatever their days add"),
    ),
)

VERIFY = Command(
    "verify",
    "recompute every figure of a run from its raw records",
    "Recomputes the figures of every record from the per-task lines, series and histograms, and says "
    "which do not agree.",
    (RUN, JSON),
    (("tonnage verify tonnage-runs/20261121T101500Z-probe-1f2e3d4c", "exit 0 if all agree, 1 if not"),),
)

EXPLAIN = Command(
    "explain",
    "print what a finding means",
    "Prints the page of each finding CODE: what it means, its threshold, an example, what to do, and where it is "
    "calibrated. Without a CODE it lists them all. The pages come with the package and need no network.",
    (
        Option(
            ("codes",),
            "codes of findings, as a report prints them",
            "CODE",
            optional=True,
            repeats=True,
        ),
    ),
    (
        ("tonnage explain stall", "what a stall is, and where to look"),
        ("tonnage explain", "every finding, one a line"),
    ),
)

ANSWERS = ("submit", "where", "load", "watch", "servers", "jobs", "cancel", "queues", "doctor")
"""Commands of placement whose answer has a schema (``tonnage.placement.answers``)."""

SCHEMA = Command(
    "schema",
    "print the JSON schema of an output or a file",
    "Prints the JSON schema (draft 2020-12) of what --json prints of a run (json), of what it prints of an answer "
    "(compare, history, crossover, project, submit, where, load, watch, jobs, cancel, queues, doctor; servers: of "
    "history --servers), "
    "of a campaign file, or of tonnage.toml (site).",
    (
        Option(
            ("what",),
            "which schema",
            "WHAT",
            choices=("json", "compare", "history", "crossover", "project", *ANSWERS, "campaign", "site"),
        ),
    ),
    (
        ("tonnage schema json > tonnage.schema.json", "for a script that checks what it reads of a run"),
        ("tonnage schema compare > compare.schema.json", "and of a comparison"),
    ),
)

COMPLETIONS = Command(
    "completions",
    "print completions for a shell",
    "Prints a script that makes a shell complete commands, options and values.",
    (Option(("shell",), "which shell: bash, zsh or fish", "SHELL", choices=("bash", "zsh", "fish")),),
    (('eval "$(tonnage completions bash)"', "in ~/.bashrc"),),
)

CLEAN = Command(
    "clean",
    "remove what killed runs left behind: scratch directories, or objects and snapshots of a pool",
    "Lists the marked scratch directories in DIR, and the marked files that runs were told to make there, and removes, "
    "after a question, those directories whose runs are shown to be over. Removes only data files that Tonnage made; a "
    "directory with anything else in it stays. Where nobody can know whether a run is over, or what a file holds by "
    "now, it is listed with the reason and stays, unless --force is given. Of a Ceph pool (rados://POOL, as it was "
    "measured) the same is done to the namespaces of runs, with their snapshots. docs/campaign.md tells who owns "
    "scratch.",
    (
        Option(("directory",), "directory, or pool, that was measured", "DIR", completes="directory"),
        Option(("--yes",), "do not ask", is_flag=True),
        Option(
            ("--force",),
            "also remove what is of a run that cannot be proved to have ended: you have seen that it is over",
            is_flag=True,
        ),
    ),
    (
        ("tonnage clean /scratch/me", "after a run was killed with SIGKILL, or its node died"),
        ("tonnage clean 'rados://bench?conf=/etc/ceph/ceph.conf'", "the same on a Ceph pool"),
    ),
)

SOB = Command(
    "sob",
    "sob's command lines, measured here",
    "Takes the options of sob, the tool of the knox-epouta experiment, and prints what it printed: files written and "
    "read one after the other by one task in the current directory, and random reads. docs/sob.md has the options.",
    (),
    (("tonnage sob -rw -b 8m -s 10g", "write and read a file of 10 GiB in blocks of 8 MiB"),),
    verbatim=True,
)

MDTEST = Command(
    "mdtest",
    "mdtest's command lines, measured here",
    "Takes the options of mdtest 4.1 and prints its tables: rates of making, looking at, reading, renaming and "
    "removing files and directories, by tasks that --tasks starts in one process. docs/mdtest.md has the options.",
    (),
    (("tonnage mdtest --tasks 4 -n 1000 -F -d /scratch/me", "1000 files of each of four tasks"),),
    verbatim=True,
)

COMPAT = Command(
    "compat",
    "put executables named after the originals into a directory",
    "Makes small executables in DIR, named after the programs whose command lines Tonnage takes. Each hands its "
    "arguments over as they were typed, so that old scripts run without a change. A file that this command did not "
    "make is never replaced.",
    (
        Option(("action",), "what to do: install", "ACTION", choices=("install",)),
        Option(("directory",), "where to put them; made if it is not there", "DIR", completes="directory"),
    ),
    (("tonnage compat install ~/bin", "from then on, scripts that call them run here"),),
)

IOR = Command(
    "ior",
    "IOR's command lines, measured here",
    "Takes the options, directives and scripts of IOR 4.1 and prints what it prints, on files of the names that IOR "
    "gives them. Tasks are threads of one process: -N or --tasks says how many. docs/ior.md has the options; what "
    "the output does not say comes after it on stderr.",
    (),
    (
        ("tonnage ior -t 16m -b 1g -F -g -G 27 -k -e -o /scratch/me/FILE", "write, then read, a file of 1 GiB"),
        ("tonnage ior -N 16 -w -z -E -F -k -e -m -d 0.1 -i 10 -t 4k -b 16m -o FILE", "random writes, 16 tasks"),
    ),
    verbatim=True,
)

SPECTRAL_WAIT = Command(
    "spectral_wait",
    "Spectral's wait, for scripts that call it",
    "Takes the place of spectral_wait.py at the end of a script: waits for the mover of PERSIST_DIR, or for what the "
    "lines of spectral.log in PFS_DIR announce, and prints the counts that Spectral prints until all files are moved. "
    "docs/spectral_wait.md has more.",
    (),
    (("tonnage spectral_wait", "with PERSIST_DIR and PFS_DIR in the environment, after the application"),),
    verbatim=True,
)

_FIRST_DAY = (PROBE, RUN_COMMAND, REPORT, SUBMIT, STAGE)
"""One of each task: the commands of a first day."""
_TASKS = (
    ("measure", (PROBE, RUN_COMMAND, IMPORT, CLEAN)),
    ("understand", (REPORT, COMPARE, *PROJECTING, EXPLAIN, VERIFY, SERVE)),
    ("place jobs", PLACING),
    ("stage files", (STAGE,)),
    ("other", (SCHEMA, COMPLETIONS)),
    ("old command lines", (IOR, MDTEST, SOB, SPECTRAL_WAIT, *OLD_PLACING, COMPAT)),
)
COMMANDS = tuple(command for _, commands in _TASKS for command in commands)


def grouped() -> list[tuple[str, tuple[Command, ...]]]:
    """All commands as ``tonnage --help`` shows them: those of a first day, then the others by task."""
    others = ((task, tuple(one for one in commands if one not in _FIRST_DAY)) for task, commands in _TASKS)
    return [("on a first day", _FIRST_DAY), *((task, commands) for task, commands in others if commands)]


TAGLINE = "Tells how much I/O a storage system can carry."
EXIT_CODES = (
    (0, "done"),
    (1, "a measurement or a submission failed, a file is not safe at its destination, or what was checked is not well"),
    (2, "the request was wrong; nothing was written"),
    (130, "interrupted"),
)
