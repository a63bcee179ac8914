"""From sob's command line to a campaign, and from its records to sob's lines."""

from __future__ import annotations

import resource
from collections.abc import Iterator, Sequence

from tonnage.campaign.observer import Observer
from tonnage.command_option import Option
from tonnage.compat.front_end import FrontEnd, Given, Voice, number, parse_arguments, size
from tonnage.compat.measure import Finding, Ranks, conclude, measure, records_directory
from tonnage.errors import RequestError
from tonnage.records.line_types import TaskLine, TrialLine
from tonnage.records.lines import COLD_SHARE
from tonnage.units import format_size, parse_size

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


MIB = 1 << 20
_WORDS = {"write": "Wrote", "read": "Read", "random": "Random read"}
_DESCRIPTORS = 3
"""That each directory takes: of it, of where it is, and of the storage on it."""
_OTHER_DESCRIPTORS = 64
_DURABLE_DIFFERS = 0.05
"""Share by which the durable rate may differ from the printed one before it is reported."""


def run(words: Sequence[str], observer: Observer, voice: Voice) -> int:
    """Runs the command and returns its exit code."""
    asked = parse_arguments(SOB, words)
    outcome, lines, tasks = measure(
        "sob", campaign_of(asked, Ranks.here().default), words, observer, records_directory()
    )
    measured = [line for line in lines if line["purpose"] == "measure" and line["status"] == "ok"]
    for line in measured:
        for task in tasks:
            if task["record"] == line["record"]:
                voice.say(result_line(line, task))
    return conclude("sob", outcome, findings(measured, tasks), voice)


def campaign_of(asked: Given, tasks: int = 1) -> dict[str, object]:
    """The campaign that the options ask for, of each of so many tasks. RequestError where they cannot be met."""
    if not (asked["-w"] or asked["-r"] or asked["-R"]):
        raise RequestError("sob was not told what to do; hint: add -w, -r, -rw or -R N")
    if asked["-s"] is None:
        raise RequestError("sob was not told how large a file is; hint: add -s 1g")
    # The default stands as it is printed.
    block = parse_size(asked.text("-b")) if isinstance(asked["-b"], str) else asked.number("-b")
    size, count, at_random, per_directory = (
        asked.number("-s"), asked.number("-n"), asked.number_if("-R"), asked.number_if("-o")
    )  # fmt: skip
    if size % block:
        raise RequestError(
            f"sob -s {format_size(size)} is not a whole number of blocks of {format_size(block)}; "
            f"hint: use {format_size(max(size // block, 1) * block)}"
        )
    files = {
        "kind": "stream", "tasks": tasks, "transfer_size": block, "block_size": size, "segments": count,
        "layout": "file-per-segment", "direct": "no", "cache": "keep",
    }  # fmt: skip
    workloads: list[dict[str, object]] = []
    if asked["-w"]:
        workloads.append({"name": "write", "op": "write", "sync": "fsync", **files})
    if asked["-r"]:
        workloads.append({"name": "read", "op": "read", **files})
    if at_random:
        # More than there are blocks: every block once more, in another order.
        wrap = at_random > count * (size // block)
        random = {"access": "random", "operations": at_random, "wrap": wrap}
        workloads.append({"name": "random", "op": "read", **files, **random})
    place: dict[str, object] = {"target": "."}
    if per_directory:
        if tasks > 1:
            raise RequestError("sob -o places the files of one task, and MPI started several; hint: leave it out")
        directories = -(-count // per_directory)
        _check_open_files(directories, count)
        # In the order of their numbers, the first files go to the first directory.
        place["assign"] = [number // per_directory for number in range(count)]
        for workload in workloads:
            workload["devices"] = directories
    return {**place, "on_error": "stop", "workloads": workloads}


def _check_open_files(directories: int, files: int) -> None:
    """RequestError where so many directories cannot be held open."""
    most = max((resource.getrlimit(resource.RLIMIT_NOFILE)[0] - _OTHER_DESCRIPTORS) // _DESCRIPTORS, 1)
    if directories > most:
        raise RequestError(
            f"sob -o makes {directories} directories, and the limit of open files allows {most}; "
            f"hint: use -o {-(-files // most)} or more, or raise it (ulimit -n)"
        )


def result_line(line: TrialLine, task: TaskLine) -> str:
    """``Wrote 10240.000 MB in 527.045 s for 19.429 MB/s, 1 files``, of a task; its MB is MiB."""
    mib, seconds = task["bytes"] / MIB, (task["end_ns"] - task["start_ns"] - (task["sync_ns"] or 0)) / 1e9
    rate = mib / seconds if seconds else 0.0
    word = _WORDS[line["setting"]["workload"]]
    return f"{word} {mib:.3f} MB in {seconds:.3f} s for {rate:.3f} MB/s, {line['setting']['segments']} files"


def timed_ns(line: TrialLine, tasks: Sequence[TaskLine]) -> int:
    """What sob had in its clock: everything but the fsync, which it does not do."""
    return (line["elapsed_ns"] or 0) - max(task["sync_ns"] or 0 for task in tasks if task["record"] == line["record"])


def findings(lines: Sequence[TrialLine], tasks: Sequence[TaskLine]) -> Iterator[Finding]:
    """What sob's lines do not tell."""
    for line in lines:
        word, timed = _WORDS[line["setting"]["workload"]], timed_ns(line, tasks)
        durable_ns = line["elapsed_ns"] or 0
        if timed < (1 - _DURABLE_DIFFERS) * durable_ns:
            rate = line["bytes"] / MIB * 1e9 / durable_ns
            yield Finding(
                "not-durable",
                f"{word}: the data is on the device only after {durable_ns / 1e9:.3f} s, fsync included: "
                f"{rate:.3f} MiB/s; quote this one",
            )
        share = line["cache"].get("device_share") if line["cache"] else None
        if share is not None and share < COLD_SHARE:
            yield Finding(
                "cache-read",
                f"{word}: {share:.0%} of its bytes came from a device, the rest from the page cache; "
                "it is no speed of the storage: use files larger than the memory",
            )
    for line in lines[:1]:
        word, rate = _WORDS[line["setting"]["workload"]], line["bytes"] / timed_ns(line, tasks) * 1e3
        yield Finding(
            "mb-is-mib", f"an MB is 1048576 bytes here, as in sob; {word}: {rate:.3f} MB/s of 1000000 bytes each"
        )
