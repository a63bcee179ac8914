"""The options of ``lsload``."""

from __future__ import annotations

from tonnage.compat.front import FrontEnd, Option

LSLOAD = FrontEnd(
    "lsload",
    "LSF's load table, of file servers",
    """
iobsub's site watched its file servers with Openlava's `lsload -l`, to whose indices it had added `bio` (block device
operations a second) and `rpc` (NFS calls a second). This prints the same columns from what `tonnage load` knows: the
servers are those of `tonnage.toml`, and no scheduler of that kind is needed.

`status` is `ok`, `busy` where as many tasks as its load line carries use the server, `unavail` where its indices could
not be read, and `-ok` where they are stale. `io` is KiB/s of its block devices, as in LSF. `-` stands for indices that
file servers are not asked for. What is wrong is said on stderr. The exit code is 1 where no server answered.
""",
    (
        Option(("-l",), "every index: also io, bio and rpc"),
        Option(("-w",), "names are never cut short"),
    ),
    (
        ("lsload -l", "every index of every server"),
        ("lsload -l rcss1", "of one"),
    ),
    usage="[OPTION]... [SERVER]...",
)
