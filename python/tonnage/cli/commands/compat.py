"""``tonnage compat install``: the originals' names, for scripts that call them."""

from __future__ import annotations

from argparse import Namespace

from tonnage.cli.command import Command
from tonnage.option import Option

COMMAND = Command(
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


def run(arguments: Namespace) -> int:
    """Exit code."""
    from tonnage.compat.install import how_to_use, install

    for file in install(arguments.directory):
        print(file)
    print(how_to_use(arguments.directory))
    return 0
