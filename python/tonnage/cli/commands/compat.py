"""``tonnage compat install``, and the commands that take the words of other programs: what each does is in
``tonnage.compat``."""

from __future__ import annotations

import sys
from argparse import Namespace
from dataclasses import dataclass
from importlib import import_module

from tonnage.cli.command import Command
from tonnage.option import Option

COMMAND = Command(
    "compat",
    "put executables named after the originals into a directory",
    "Makes small executables in DIR, named after the programs whose command lines Tonnage takes. Each hands its "
    "arguments over as they were typed, so that old scripts run without a change. A file that this command did not "
    "make is never replaced.",
    (
        Option(("action",), "what to do", "ACTION", choices=("install",)),
        Option(("directory",), "where to put them; made if it is not there", "DIR", completes="directory"),
    ),
    (("tonnage compat install ~/bin", "from then on, scripts that call them run here"),),
)


def run(arguments: Namespace) -> int:
    """Exit code."""
    from tonnage.compat.install import how_to_use, install

    for file in install(arguments.directory):
        print(file)
    print(how_to_use(arguments.directory))
    return 0


@dataclass(frozen=True, slots=True)
class FrontEndCommand:
    """A command whose words ``module`` reads: its ``run(words, voice)`` gives the exit code."""

    COMMAND: Command
    module: str
    is_watched: bool = False
    """It measures, and is handed who tells of that on the way."""

    def run(self, arguments: Namespace) -> int:
        """Exit code."""
        from tonnage.compat.output import Voice

        module, voice = import_module(self.module), Voice(sys.stdout, sys.stderr)
        if self.is_watched:
            from tonnage.cli.live import observer

            watched: int = module.run(arguments.words, observer(), voice)
            return watched
        code: int = module.run(arguments.words, voice)
        return code


def _front_end(
    name: str,
    module: str,
    summary: str,
    description: str,
    examples: tuple[tuple[str, str], ...],
    is_watched: bool = False,
) -> FrontEndCommand:
    path = f"tonnage.compat.{module}"
    command = Command(name, summary, description, (), examples, verbatim=True, loads=(path,))
    return FrontEndCommand(command, path, is_watched)


IOR = _front_end(
    "ior",
    "ior.command",
    "IOR's command lines, measured here",
    "Takes the options, directives and scripts of IOR 4.1 and prints what it prints, on files of the names that IOR "
    "gives them. Tasks are threads of one process: -N or --tasks says how many. `tonnage explain ior` has the "
    "options; what the output does not say comes after it on stderr.",
    (
        ("tonnage ior -t 16m -b 1g -F -g -G 27 -k -e -o /scratch/me/FILE", "write, then read, a file of 1 GiB"),
        ("tonnage ior -N 16 -w -z -E -F -k -e -m -d 0.1 -i 10 -t 4k -b 16m -o FILE", "random writes, 16 tasks"),
    ),
)
MDTEST = _front_end(
    "mdtest",
    "mdtest.front",
    "mdtest's command lines, measured here",
    "Takes the options of mdtest 4.1 and prints its tables: rates of making, looking at, reading, renaming and "
    "removing files and directories, by tasks that --tasks starts in one process. `tonnage explain mdtest` has the "
    "options.",
    (("tonnage mdtest --tasks 4 -n 1000 -F -d /scratch/me", "1000 files of each of four tasks"),),
    is_watched=True,
)
SOB = _front_end(
    "sob",
    "sob.front",
    "sob's command lines, measured here",
    "Takes the options of sob, the tool of the knox-epouta experiment, and prints what it printed: files written and "
    "read one after the other by one task in the current directory, and random reads. `tonnage explain sob` has the "
    "options.",
    (("tonnage sob -rw -b 8m -s 10g", "write and read a file of 10 GiB in blocks of 8 MiB"),),
    is_watched=True,
)
SPECTRAL_WAIT = _front_end(
    "spectral_wait",
    "spectral_wait.front",
    "Spectral's wait, for scripts that call it",
    "Takes the place of spectral_wait.py at the end of a script: waits for the mover of PERSIST_DIR, or for what the "
    "lines of spectral.log in PFS_DIR announce, and prints the counts that Spectral prints until all files are moved. "
    "`tonnage explain spectral_wait` has more.",
    (("tonnage spectral_wait", "with PERSIST_DIR and PFS_DIR in the environment, after the application"),),
)
IOBSUB = _front_end(
    "iobsub",
    "iobsub.front",
    "iobsub's command lines: a job goes to the server that holds the working directory",
    "Takes the options of iobsub, the script of the experiment of that name, and prints what it printed. "
    "`tonnage explain iobsub` has the options.",
    (("tonnage iobsub -o out.dat go.sh", "as it was published"),),
)
LSLOAD = _front_end(
    "lsload",
    "lsload.front",
    "LSF's load table, of file servers",
    "Prints what `tonnage load` knows in the columns of `lsload -l`. `tonnage explain lsload` has the options.",
    (("tonnage lsload -l", "every index"),),
)
BJOBS = _front_end(
    "bjobs",
    "lsf.bjobs",
    "LSF's list of jobs, of any scheduler",
    "Prints what `tonnage jobs` knows in the columns of `bjobs`. `tonnage explain bjobs` has the options.",
    (("tonnage bjobs -w", "your jobs"),),
)
BKILL = _front_end(
    "bkill",
    "lsf.bkill",
    "LSF's end of jobs, of any scheduler",
    "Ends jobs that Tonnage submitted, as `tonnage cancel` does. `tonnage explain bkill` has the options.",
    (("tonnage bkill 3734", "with all its copies"),),
)
BQUEUES = _front_end(
    "bqueues",
    "lsf.bqueues",
    "LSF's list of queues, of any scheduler",
    "Prints what `tonnage queues` knows in the columns of `bqueues`. `tonnage explain bqueues` has the options.",
    (("tonnage bqueues", "all"),),
)
BHOSTS = _front_end(
    "bhosts",
    "lsf.bhosts",
    "LSF's list of batch hosts, of any scheduler",
    "Prints the scheduler's hosts in the columns of `bhosts`. `tonnage explain bhosts` has the options.",
    (("tonnage bhosts", "all"),),
)
FRONT_ENDS = {
    front.COMMAND.name: front
    for front in (IOR, MDTEST, SOB, SPECTRAL_WAIT, IOBSUB, LSLOAD, BJOBS, BKILL, BQUEUES, BHOSTS)
}
"""By their names."""
