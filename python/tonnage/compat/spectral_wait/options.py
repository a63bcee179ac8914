"""The command line of ``spectral_wait.py``: it has none, and takes its trees from the environment."""

from __future__ import annotations

from tonnage.compat.front_end import FrontEnd

SPECTRAL_WAIT = FrontEnd(
    "spectral_wait",
    "Spectral's wait at the end of a script",
    """
On Summit, Spectral copied what an application closed below `PERSIST_DIR` on a node's own storage to `PFS_DIR`, and a
script ended with `spectral_wait.py`. Here the mover is `tonnage stage start`, and `tonnage compat install DIR` makes
a `spectral_wait.py`. Scripts of that time run with one line more: `tonnage stage start` where they said
`module load spectral`, after the exports of `PERSIST_DIR` and `PFS_DIR`.

It prints, once a second, how many files `spectral.log` in `PFS_DIR` has announced, taken and finished
(`Enqueued:32 Dequeued:32 Done:31`), then `All files moved`. A file that was written again counts once. The movers of
several nodes may write one log.

What differs: the mover of this host is asked for a fresh scan first, so that a file it has not seen yet is waited for.
A file that failed and a mover that ended early are reported on stderr with exit code 1; Spectral waits for ever.
""",
    (),
    (("spectral_wait.py", "with PERSIST_DIR and PFS_DIR in the environment, after the application"),),
)
