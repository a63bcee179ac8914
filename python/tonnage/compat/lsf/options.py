"""The options of ``bjobs``, ``bkill``, ``bqueues`` and ``bhosts``."""

from __future__ import annotations

from tonnage.command_option import Option
from tonnage.compat.front_end import FrontEnd

_CHOICE = (
    Option(("-J",), "jobs of this name; * matches any text, align[3] is a copy", "NAME"),
    Option(("-q",), "jobs of this queue", "QUEUE"),
    Option(("-m",), "jobs that run on this host", "HOST"),
)
_WIDE = Option(("-w",), "names are not truncated")

_OF_BJOBS = (
    "-aff -aps -app -cname -csm -data -env -fwd -gpu -hms -hostfile -Jd -Lp -pac -pe "
    "-pei -pi -plan -prio -psum -rusage -script -sla -sms -ss -sum -unfinished -UF -WF -WL -WP"
)
"""What LSF's takes besides, of more than one letter: never read as letters."""


def _named(help: str, metavar: str) -> Option:
    # An empty name is one of nothing, and told of as that.
    return Option(("names",), help, metavar, parse=str, optional=True, repeats=True)


BJOBS = FrontEnd(
    "bjobs",
    "LSF's list of jobs, for any scheduler",
    """
Prints what `tonnage jobs` knows under the headings of LSF's `bjobs`, whichever scheduler the site has, for scripts that
read those: Slurm, LSF, PBS, Flux, or the local one. Without words it lists your jobs that wait or run. A job that is
named, also as `3734[5]`, is listed for as long as the scheduler remembers it.

A job that is not there is `Job <N> is not found` on stderr, none at all `No unfinished job found`; the exit code is
then 255, as LSF's is. An option that is not understood is exit code 2, a scheduler that does not answer 1.

`-` stands for what is not known. Copies that wait are one line, `49*align`. `STAT` is PEND, RUN, SUSP (which does not
tell who suspended it), DONE, EXIT or UNKWN.

`-o` takes `jobid jobindex stat user queue job_name from_host exec_host nexec_host slots exit_code submit_time
start_time finish_time run_time pend_reason exit_reason`, and `server`, the file server by which Tonnage placed the job.
`NAME:WIDTH` cuts a value to that width, `NAME:-WIDTH` puts it to the right, `delimiter=','` takes the place of columns.
""",
    (
        _named("these jobs alone, like 3734, or 3734[5] for a copy", "JOB"),
        Option(("-u",), "jobs of this user, or all", "USER"),
        _WIDE,
        Option(("-a",), "also jobs that ended recently"),
        Option(("-r",), "running jobs"),
        Option(("-p",), "waiting jobs"),
        Option(("-s",), "suspended jobs"),
        Option(("-d",), "jobs that ended recently"),
        *_CHOICE,
        Option(("-l",), "the long format: everything that is known"),
        Option(("-o",), "these fields", "FIELDS"),
        Option(("-noheader",), "without the header line"),
        Option(("-json",), "as JSON, with -o"),
        Option(("-X",), "no effect: hosts are always shown by their full names"),
    ),
    (
        ("bjobs -u all -w", "jobs of all users"),
        ("bjobs -noheader -o stat 3734", "the state of one"),
        ("bjobs -o \"jobid stat exit_code delimiter=','\" -a", "for a script"),
    ),
    not_taken=frozenset(_OF_BJOBS.split()),
)
BKILL = FrontEnd(
    "bkill",
    "LSF's command to end jobs, for any scheduler",
    """
Ends jobs of yours that Tonnage submitted, as `tonnage cancel` does, whichever scheduler the site has: `bkill 3734`,
`bkill '3734[5]'` or `3734_5` for one copy, `bkill '3734[1-4,9]'` for some, `bkill 0` for all. `-J`, `-q` and `-m`
choose among them; without 0 they mean the job that was submitted last of those.

It says `Job <3734> is being terminated`; of one that has ended or is not there it says so on stderr, and the exit code
is 255. Jobs that Tonnage did not submit are left alone: `tonnage cancel --any` ends them. The scheduler chooses the
signals: other ones cannot be sent.
""",
    (
        _named("these jobs, like 3734, or 3734[1-4,9] for copies; 0: all", "JOB"),
        *_CHOICE,
        Option(("-u",), "only your own name is taken", "USER"),
        Option(("-s",), "signal", "SIGNAL", refused="the scheduler ends a job with signals of its own"),
    ),
    (
        ("bkill 3734", "with all its copies"),
        ("bkill '3734[5]'", "one copy"),
        ("bkill -q short 0", "all of one queue"),
    ),
    not_taken=frozenset(["-app", "-sla", "-stat"]),
)
BQUEUES = FrontEnd(
    "bqueues",
    "LSF's list of queues, for any scheduler",
    """
Prints what `tonnage queues` knows under the headings of LSF's `bqueues`, whichever scheduler the site has. `-` stands
for what is not known: PRIO, the limits JL/U, JL/P and JL/H, and SUSP. `MAX` counts slots. `STATUS` is Open:Active, or
Closed:Inact where a queue takes or starts no jobs. A queue that is not there is `NAME: No such queue` and exit code
255.
""",
    (_named("these queues alone", "QUEUE"), _WIDE),
    (("bqueues", "all"), ("bqueues short", "one")),
    not_taken=frozenset(["-alloc", "-noheader"]),
)
BHOSTS = FrontEnd(
    "bhosts",
    "LSF's list of batch hosts, for any scheduler",
    """
Prints the hosts that the scheduler has under the headings of LSF's `bhosts`. `MAX` is slots, `NJOBS` and `RUN` are
those in use; `-` stands for unknown values: JL/U, SSUSP, USUSP and RSV. `STATUS` is ok, closed where all slots are
in use (closed_Full with `-w`), or unavail where it takes no jobs. An unknown host gives `NAME: Bad host name` and
exit code 255.
""",
    (_named("these hosts alone", "HOST"), _WIDE),
    (("bhosts", "all"), ("bhosts -w rcss1", "one")),
    not_taken=frozenset(["-aff", "-alloc", "-cname", "-cu", "-gpu", "-loc", "-noheader", "-rc", "-rconly"]),
)
