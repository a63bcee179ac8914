"""The command line. ``main`` answers ``--version`` without importing anything that takes time; nor does ``agent``,
which no user types: it is what this package starts on other hosts."""

from __future__ import annotations

import os
import sys

from tonnage import __version__

TYPE_CHECKING = False  # not the one of typing, as in tonnage/__init__.py
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType
    from typing import NoReturn

_OF_LAUNCHERS = ("_RANK", "_PROCID")
"""How the variables end in which launchers number their processes."""
_CALCULATING = ("probe", "company", "report", "compare", "history", "crossover", "project")
"""Commands that calculate with small matrices, and start no program of the user's."""
_TOGETHER = ("run", "probe", "ior", "mdtest", "io500", "sob", "doctor")
"""Commands that several processes carry out together."""


def start() -> NoReturn:
    """The whole process: what the launcher of a checkout and ``python -m tonnage.cli`` are."""
    import _signal as signal  # type: ignore[import-not-found]  # the part in C, without enumerations

    try:
        code = main()
        # What was asked for is done, and said: a signal while Python takes itself down changes nothing of that.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command. Exit codes: 0 done, 1 a measurement failed, 2 the request was wrong, 130 interrupted."""
    _open_streams()
    argv = list(sys.argv[1:] if arguments is None else arguments)
    if argv[:1] == ["--version"]:
        return _print_version()
    if argv[:1] and argv[0] in _CALCULATING:
        # Threads for small matrices wait for each other most of the time where other processes compute, and the last
        # digit of a sum depends on their number.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    import signal

    if argv == ["agent"]:
        _let_signals_through()
        from tonnage.cluster.remote.agent import serve

        return serve()
    # Until the run loop takes signals over, a polite request to end unwinds like Ctrl-C does.
    signal.signal(signal.SIGTERM, _interrupt)
    # nohup and batch systems ignore this one on purpose.
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, _interrupt)
    try:
        _let_signals_through()
        return _among_others(argv) if any(name.endswith(_OF_LAUNCHERS) for name in os.environ) else _run(argv)
    except KeyboardInterrupt:
        # While something was loaded: from then on the command itself says so.
        print("tonnage: error: interrupted", file=sys.stderr)
        return 130


def _print_version() -> int:
    try:
        print(f"tonnage {__version__}", flush=True)
    except OSError as error:
        from tonnage.cli.output_stream import STDOUT_HINT, StdoutError, abandon

        abandon(sys.stdout)
        message = f"{StdoutError(error.errno, error.strerror)}; hint: {STDOUT_HINT}"
        return 1 if isinstance(error, BrokenPipeError) else _complain(message, 1)
    return 0


def _let_signals_through() -> None:
    """The launcher of a checkout holds them back while Python loads."""
    import signal

    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})


def _open_streams() -> None:
    """Of standard streams that were closed (``>&-``): the next file that is opened would get their number, and what is
    printed."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # it takes the lowest number that is free
    nowhere = [name for name in ("stdout", "stderr") if getattr(sys, name) is None]
    for name in nowhere:
        setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115, PTH123


def _among_others(argv: list[str]) -> int:
    """The same, in a process that an MPI launcher may have started among others."""
    from tonnage.cluster.mpi.launch_environment import started

    here = started()
    if here is not None and here.size > 1 and argv and argv[0] in _TOGETHER:
        from tonnage.cluster.mpi.run_together import run_together

        try:
            return run_together(here, argv, lambda: _run(argv), _complain)
        except KeyboardInterrupt:
            # The launcher ends the processes that are left when one of them could not begin.
            return 130
    # What is not measured needs one process: the first.
    return _run(argv) if here is None or here.rank == 0 else 0


def _run(argv: list[str]) -> int:
    from tonnage.delayed_signals import uncollected

    with uncollected():
        from tonnage.cli.entry import run_command
    return run_command(argv)


def _complain(text: str, code: int) -> int:
    from tonnage.cli.entry import complain

    return complain(text, code)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
