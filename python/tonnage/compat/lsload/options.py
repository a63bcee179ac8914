"""The options of ``lsload``."""

from __future__ import annotations

from tonnage.command_option import Option
from tonnage.compat.front_end import FrontEnd, number

LSLOAD = FrontEnd(
    "lsload",
    "LSF's load table, of file servers",
    """
iobsub's site watched its file servers with Openlava's `lsload -l`, to whose indices it had added `bio` (block device
operations a second) and `rpc` (NFS calls a second). This prints the same columns from what `tonnage load` knows: the
servers are those of `tonnage.toml`, and no scheduler of that kind is needed. Figures younger than `index_refresh` of
that file are printed as they are kept; others are asked for.

`status` is `ok`, `busy` where jobs and what others use by the indices reach the server's load line, `unavail` where its
indices could not be read, and `-ok` where they are stale. `-` stands for an unknown value. Problems are reported on
stderr. The exit code is 1 if no server answered, or none satisfies `-R`.

`r1m` and `r15m` are the kernel's load averages, which on Linux also count tasks that wait for a disk. `r15s` counts
tasks that run or wait for a CPU, averaged over the readings of the server. `ut`, `pg` (pages moved from and to swap
space a second), `io` (KiB/s of its block devices), `bio` and `rpc` are those of the time between the last two
readings. `ls` counts logins; `it` is minutes since one of them typed, or since the last one left. `tmp`, `swp` and
`mem` are what is free, in MB of 2^20 bytes. node_exporter reports `ls` only with its collector logind, and never `it`.

`-R` takes `select[...]` and `order[...]` as LSF writes them, or a selection alone: the indices, `ncpus`, `status` and
`hname`, with `|| && == != < <= > >= + - * / !` and `defined(NAME)`. `ut` is between 0 and 1. A server of which a
compared value is not known is not selected. The order is `r15s:pg` unless `order` says another; best first, `-INDEX`
for worst first. Sections that choose no host (`rusage`, `span`), unknown names and everything else that is not
understood are refused.
""",
    (
        Option(("-l",), "every index: also io, bio and rpc; names are not truncated"),
        Option(("-w",), "names are not truncated"),
        Option(("-N",), "run queues are divided by the number of CPUs; no CPU factors are known, so as -E"),
        Option(("-E",), "run queues are divided by the number of CPUs"),
        Option(("-I",), "these indices alone, like r1m:ut:bio", "INDEX[:INDEX]..."),
        Option(("-n",), "at most this many servers, the best first", "NUMBER", None, parse=number(1)),
        Option(("-R",), "servers that satisfy this resource requirement, in its order", "REQUIREMENT"),
        Option(("names",), "only these; with -s: shares of these names", "SERVER", optional=True, repeats=True),
        Option(
            ("-s",), "show shared resources instead: tasks that load lines still carry, and licences; names may follow"
        ),
    ),
    (
        ("lsload -l", "every index of every server"),
        ("lsload -l rcss1", "of one"),
        ("lsload -R 'select[ut < 0.5 && mem > 4000] order[bio]' -n 1", "the one with the least disk operations"),
        ("lsload -s", "free tasks of load lines, and free licences"),
    ),
)
