"""The options of sob."""

from __future__ import annotations

from tonnage.command_option import Option
from tonnage.compat.front_end import FrontEnd, number, size

SOB = FrontEnd(
    "sob",
    "sob's command lines, measured here",
    """
`tonnage sob` takes the command lines of sob, the tool with which the knox-epouta experiment measured NFS, and prints
its lines. One task works in the current directory: in a marked scratch directory there, which is removed at the end,
also after Ctrl-C. The run is kept as any other, below `./tonnage-runs` (or where the environment's `TONNAGE_OUT` says:
`DIR`, then `DIR-2` …); its path is printed on stderr.

Files are written one after the other, each opened, written in blocks and closed before the next one, then read in the
same order. What is printed is what sob timed: opening, writing or reading, closing. It does not include making the data
durable. The fsync of all files comes after that, and the rate that includes it is printed on stderr where it differs
by more than 5 %, as is the share of a read that came from a device, and what sob's MB is: 1,048,576 bytes. Files that
are only read are written first, outside the measured time.

sob's own page no longer exists; only the experiment's description is left. There, `-R N` reads random files among those
written, N times: here, N blocks at random places of all files, none twice until all were read, each file opened for its
block. The experiment never showed a line for that phase; here it has one, `Random read …`. `-o N` spreads them out in
directories, N in each (the experiment's 500 files with `-o 50` are "spread out in 10 directories"): here the first N
files are in the first marked directory, the next N in the second, and so on. The directories are made before the clock.
""",
    (
        Option(("-w",), "write the files"),
        Option(("-r",), "read the files, one after the other"),
        Option(("-R",), "read so many blocks at random places of all files", "N", parse=number(1)),
        Option(("-b",), "bytes of a block, of one write or read", "BLOCK", "64k", parse=size(1)),
        Option(("-s",), "bytes of a file; a whole number of blocks", "SIZE", parse=size(1)),
        Option(("-n",), "number of files", "FILES", 1, parse=number(1)),
        Option(("-o",), "files in a directory", "N", parse=number(1)),
    ),
    (
        ("tonnage sob -rw -b 8m -s 10g", "write a file of 10 GiB in blocks of 8 MiB, and read it"),
        ("tonnage sob -w -b 64k -s 1m -n 500 -o 50", "write 500 files of 1 MiB, in 10 directories"),
        ("tonnage sob -w -R 5000 -n 50 -s 128m -b 64k", "write 50 files, then read 5000 blocks anywhere in them"),
    ),
)
