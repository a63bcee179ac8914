"""Connects a command with the other processes of its launcher, and ends them with it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tonnage.cluster.mpi.launch_environment import Started
from tonnage.cluster.mpi.time_limits import silent_s
from tonnage.errors import TonnageError

if TYPE_CHECKING:
    from tonnage.cluster.mpi.coordinator import Coordinator
    from tonnage.cluster.mpi.ranks import Ranks

_here: Coordinator | None = None


def coordinator() -> Coordinator | None:
    """The ``Coordinator`` that this process is; None where it is alone."""
    return _here


def run_together(
    started: Started, words: Sequence[str], command: Callable[[], int], complain: Callable[[str, int], int]
) -> int:
    """Runs ``command`` in the first process, with the others as its workers; returns the exit code of all of them.
    ``words``: its command line.

    ``complain`` prints an error; where the processes cannot find each other the first one does so, for all.
    """
    from tonnage.cluster.mpi.ranks import join

    try:
        patience_s = silent_s()
        ranks = join(started, words)
    except TonnageError as error:
        return _complain_once(started, error, complain)
    if ranks.rank:
        from tonnage.cluster.mpi.worker import run_worker

        code = run_worker(ranks, patience_s)
        ranks.leave()
        return code
    return _lead(ranks, command)


def _lead(ranks: Ranks, command: Callable[[], int]) -> int:
    global _here
    from tonnage.cluster.mpi.coordinator import Coordinator

    _here = first = Coordinator(ranks)
    code = 1
    try:
        code = command()
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        first.close(code)
        _here = None
    return code


def _complain_once(started: Started, error: TonnageError, complain: Callable[[str, int], int]) -> int:
    if started.rank == 0:
        return complain(str(error), error.exit_code)
    import time

    # A launcher ends all processes when the first of them fails: that must not be before the reason was said.
    time.sleep(2.0)
    return error.exit_code
