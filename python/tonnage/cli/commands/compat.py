"""``tonnage compat install``, and the commands that take the words of other programs: what each does is in
``tonnage.compat``."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from importlib import import_module

from tonnage.cli.command import FRONT_ENDS, Arguments
from tonnage.command_line import Command, HelpAsked, help_text
from tonnage.command_option import Option

COMMAND = Command(
    "compat",
    "put executables named after the originals into a directory",
    "Makes small executables in DIR, named after the programs whose command lines Tonnage takes. Each passes "
    "its arguments on as they were typed, so that old scripts run without a change. A file that this command "
    "did not make is never replaced.",
    (
        Option(("action",), "what to do", "ACTION", choices=("install",)),
        Option(("directory",), "directory for them; created if it is missing", "DIR", completes="directory"),
    ),
    (("tonnage compat install ~/bin", "from then on, scripts that call them run here"),),
)


def run(arguments: Arguments) -> int:
    """Runs the command and returns its exit code."""
    from tonnage.compat.install import how_to_use, install

    for file in install(arguments.directory):
        print(file)
    print(how_to_use(arguments.directory))
    return 0


@dataclass(frozen=True, slots=True)
class FrontEndCommand:
    """A command whose words ``loads[0]`` reads: its ``run(words, voice)`` gives the exit code."""

    COMMAND: Command
    is_watched: bool
    """It measures, and is handed who tells of that on the way."""

    def run(self, arguments: Arguments) -> int:
        """Runs the command and returns its exit code."""
        from tonnage.compat.front_end import Voice

        run, voice = import_module(self.COMMAND.loads[0]).run, Voice(sys.stdout, sys.stderr)
        try:
            if self.is_watched:
                from tonnage.cli.run_progress import observer

                watched: int = run(arguments.words, observer(), voice)
                return watched
            code: int = run(arguments.words, voice)
        except HelpAsked as asked:
            voice.say(help_text(asked.command))
            return 0
        return code


_WATCHED = ("mdtest", "sob")


def front_end(name: str) -> FrontEndCommand:
    """The command of that name. No other one's options are imported."""
    path = f"tonnage.compat.{FRONT_ENDS[name]}"
    options = import_module(f"{path.rpartition('.')[0]}.options")
    return FrontEndCommand(replace(getattr(options, name.upper()), loads=(path,)), name in _WATCHED)
