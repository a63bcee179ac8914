"""The options of iobsub, the script of the experiment of that name."""

from __future__ import annotations

from tonnage.command_option import Option
from tonnage.compat.front_end import FrontEnd, number
from tonnage.compat.iobsub.counterparts import counterparts

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
