"""The options of iobsub, the script of the experiment of that name."""

from __future__ import annotations

from tonnage.command_option import Option
from tonnage.compat.front_end import FrontEnd, number

_ROWS = (
    ("`-q`, `-q QUEUE`, `--queue`", "quiet; `--partition`", "quiet; `-q`", "quiet; the queue `local`"),
    ("`-I`", "`srun`", "`-I`", "with this terminal"),
    ("`-Ip`, `-Is`", "`srun --pty`", "`-Ip`", "as `-I`: the terminal is the program's own"),
    ("`-K`", "its jobs are asked for until all have ended", "the same", "the same"),
    ("`-i`, `-o`, `-e`", "`--input`, `--output`, `--error`", "the same options", "its files"),
    ("`-n 4`", "`--ntasks` on one node", "`-n 4 -R span[hosts=1]`", "four slots"),
    ("`-J NAME`", "`--job-name`", "`-J`", "its name"),
    (
        "`-J 'NAME[1-4,7]%2'`",
        "`--array=1-4,7%2`; without `%` the load line is the limit",
        "the same option and limit",
        "as many at once",
    ),
    (
        "`-cwd DIR`",
        "`--chdir`; DIR's file server counts, and `-i -o -e` are in DIR",
        "submitted from DIR",
        "it starts there",
    ),
    (
        "`-m 'a+2 b others'`",
        (
            "`--nodelist`, or all others excluded; with `others` a preference (`--prefer`); in the site file's queue "
            "of these hosts; `+N` is not passed on, and a note says so"
        ),
        "`-m`; `+N` with `others` alone, else a note",
        "this host; others are refused",
    ),
    ("`-W 1:30`", "`--time`; with a host behind it refused", "`-W`", "refused"),
    (
        "`-w 'done(1) && ended(2)'`",
        (
            "`--dependency=afterok:1,afterany:2`; `exit` is `afternotok`, `started` is `after`, `||` is `?`; "
            "names, brackets, both of `&&` and `||` are refused"
        ),
        "`-w`",
        "refused",
    ),
    ("`-b 20:00`", "`--begin`, the next such moment", "`-b`", "refused"),
    ("`-M 4GB`", "`--mem`, which it also has for itself; KB where no unit is written, and a note", "`-M`", "refused"),
    (
        "`-R 'rusage[mem=4GB]'`",
        "`--mem`; MB where no unit is written, and a note; of this and `-M` the larger",
        "`-R`",
        "refused",
    ),
    ("`-R 'rusage[ngpus_physical=2]'`", "`--gres=gpu:2`", "`-R`", "refused"),
    ("`-R 'span[hosts=1]'`", "so it is in any case", "`-R`", "so it is in any case"),
    ("other `-R` (`select`, `order`, `same`, …)", "refused", "`-R`", "refused"),
    ("`-P NAME`", "`--account`", "`-P`", "refused"),
    ("`-x`", "`--exclusive`", "`-x`", "all slots of this host"),
    ("`-r`", "`--requeue`; refused with `-I`", "`-r`", "refused: it runs nothing twice"),
    ("`-B`, `-N`, `-u ADDRESS`", "`--mail-type=BEGIN`, `END,FAIL`, `--mail-user`", "the same options", "refused"),
    ("`-c`, `-E`", "refused: Slurm has neither", "the same options", "refused"),
    ("script on standard input, `#BSUB`", "its interpreter with `-c`", "the same", "the same"),
    ("any other option of bsub", "refused", "refused", "refused"),
)
_TEXT = """
## What happens to each

[placement](placement.md#terms-of-a-job) shows the options of PBS and Flux.

{table}

`LSB_JOBINDEX` has the number of an array's copy, whatever the scheduler. What no option has can be given to
`tonnage submit --scheduler-options`.
"""


def counterparts() -> str:
    """Writes the table of counterparts as Markdown."""
    head = ["| option | with Slurm | with LSF | without a scheduler (`local`) |", "|---|---|---|---|"]
    rows = (" | ".join(cell.replace("|", r"\|") for cell in row) for row in _ROWS)
    return _TEXT.format(table="\n".join([*head, *(f"| {row} |" for row in rows)]))


_OF_BSUB = """
    -alloc_flags -app -ar -clusters -cn_cu -cn_mem -core_isolation -csm -data -datachk -datagrp -eo -Ep -eptl -env -ext
    -extsched -freq -gpu -hl -hostfile -IS -ISp -ISs -IX -is -Jd -jobaff -json -jsdl -jsdl_strict -jsm -Lp -ln_mem
    -ln_slots -mig -Ne -network -ni -nnodes -notify -oo -outdir -pack -ptl -rcacct -rn -rnc -sla -smt -sp -stage
    -step_cgroup -ti -tty -ul -wa -We -wt -XF -yaml -Zs
"""
"""Words of the option lists of LSF 7 to 10.1 and of Openlava: those of one letter are known by that."""

IOBSUB = FrontEnd(
    "iobsub",
    "iobsub's command lines: a job goes to the server that holds the working directory",
    """
iobsub looked up the file server of the working directory and gave the job to Openlava's `bsub`, for that host. Its
command lines run here as they were published, through `tonnage submit`: whichever scheduler the site has, with the
load line as the cap. It says `Submitting job to run on fileserver NAME` and prints the scheduler's own receipt, or
`Cannot find fileserver for current working directory.` with exit code 1.

`-q` is for quiet, as in the published session (`iobsub -q -I uname -a`): neither line is printed. Where the word after
it is a queue of the site, as in `iobsub -q short -I uname -a`, it is taken as the queue, as LSF's users mean it, and a
note says so; `-q --` ends the options before a program of that name. Without one, the queue is the one that the site
file has for the server. A disk of this host that `tonnage.toml` does not name is no file server: that is refused in the
published words, unless `--anywhere` is given.

Options end where the program begins; its arguments reach it as they were typed, whereas bsub gave them to a shell. A
program in the working directory needs no `./`, as it needed none there: `iobsub -o out.dat go.sh`.

Without a program, and with a standard input that is no terminal, the input is a script, as bsub takes one: its lines
of `#BSUB` hold options, which count where none were typed, and its first line names a shell or Python (else /bin/sh).
It is read completely, at most 100,000 bytes, and becomes an argument of the job's command line, which other users of
a host can see: do not put a password into it.

The options of LSF's bsub mean what they mean there. Where the scheduler is LSF they are passed on as they were typed;
for any other they are translated into its own options, and an option without a counterpart is refused in one line,
exit code 2, before anything is submitted. No option is silently ignored. A value may stand in the word of its option
(`-n4`), and flags may share one (`-qI`), but a word that is an option of bsub's is that option: `-oo FILE`, `-is
FILE` or `-rn`, which are not taken, are refused by their names.
""",
    (
        Option(("-q",), "quiet: print no messages and no receipt; before the name of a queue: that queue"),
        Option(
            ("-I",), "interactive: run it in this terminal, with its input, output and signals, and wait for the end"
        ),
        Option(("-Ip", "-Is"), "the same with a pseudo-terminal"),
        Option(("-K",), "wait for its end, and exit with its status"),
        Option(("-o",), "file of its output; %J: job, %I: copy", "OUT"),
        Option(("-e",), "file of its errors", "ERR"),
        Option(("-n",), "number of slots", "TASKS", 1, parse=number(1)),
        Option(("-J",), "name of the job; with [1-4,7,10-20:2]%3 behind it an array, three at once", "NAME"),
        Option(("-i",), "file of its input; %J: job, %I: copy", "IN"),
        Option(("-cwd",), "directory in which it runs, and whose file server is used", "DIR"),
        Option(
            ("-m",),
            "hosts instead of those next to the data; +N: preference, the highest first",
            "HOSTS",
        ),
        Option(("-W",), "it is ended after this time", "[HOUR:]MINUTE"),
        Option(("-w",), "condition on earlier jobs: done(1) && ended(2)", "CONDITION"),
        Option(("-b",), "earliest start time", "[[[YEAR:]MONTH:]DAY:]HOUR:MINUTE"),
        Option(("-M",), "memory limit; in KB if no unit is given", "SIZE"),
        Option(("-R",), "resources: rusage[mem=4GB], span[hosts=1]", "RESOURCES", repeats=True),
        Option(("-P",), "project or account that it is charged to", "NAME"),
        Option(("-x",), "no other job runs on its host at the same time"),
        Option(("-r",), "it is started again if its host fails"),
        Option(("-B",), "e-mail when it begins"),
        Option(("-N",), "e-mail when it has ended"),
        Option(("-u",), "address for e-mail; alone it implies -N", "ADDRESS"),
        Option(("-c",), "limit of CPU time: with LSF", "[HOUR:]MINUTE"),
        Option(("-E",), "command before the job: with LSF", "COMMAND"),
        Option(("--queue",), "queue or partition", "QUEUE"),
        Option(("--anywhere",), "submit also if the file server is unknown, or no host next to it takes the job"),
    ),
    (
        ("iobsub -q -I uname -a", "which host that is"),
        ("iobsub uname -a", "as a batch job"),
        ("iobsub -o out.dat go.sh", "with its output in a file"),
        ("iobsub -J 'align[1-50]%8' -W 2:00 -M 4GB ./align.sh", "50 copies, 8 at once, 2 hours and 4 GB each"),
        ("iobsub -w 'done(3734)' < collect.sh", "a script with lines of #BSUB, once that job has ended well"),
    ),
    program="PROGRAM [WORD]... | [OPTION]... < SCRIPT",
    tables=counterparts(),
    not_taken=frozenset(_OF_BSUB.split()),
)
