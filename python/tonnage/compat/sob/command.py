"""From sob's command line to a campaign, and from its records to sob's lines."""

from __future__ import annotations

import resource
from collections.abc import Iterator, Sequence

from tonnage.campaign.observer import Observer
from tonnage.compat.front_end import Given, Voice, parse_arguments
from tonnage.compat.measure import Finding, Ranks, conclude, measure, records_directory
from tonnage.compat.sob.options import SOB
from tonnage.errors import RequestError
from tonnage.records.line_types import TaskLine, TrialLine
from tonnage.records.lines import COLD_SHARE
from tonnage.units import format_size, parse_size

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
