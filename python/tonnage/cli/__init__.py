"""The command line. ``main`` answers ``--version`` without importing anything that takes time; nor does ``agent``,
which no user types: it is what this package starts on other hosts."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from types import FrameType

from tonnage import __version__


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command. Exit codes: 0 done, 1 a measurement failed, 2 the request was wrong, 130 interrupted."""
    argv = list(sys.argv[1:] if arguments is None else arguments)
    if argv == ["--version"]:
        print(f"tonnage {__version__}")
        return 0
    if argv == ["agent"]:
        from tonnage.cluster.hands.agent import serve

        return serve()
    # Until the run loop takes signals over, a polite request to end unwinds like Ctrl-C does.
    signal.signal(signal.SIGTERM, _interrupt)
    from tonnage.cli.entry import run_command

    return run_command(argv)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
