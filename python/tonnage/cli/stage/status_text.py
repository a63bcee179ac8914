"""Bounds as people write them, and a mover's status in words."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tonnage import units
from tonnage.errors import RequestError
from tonnage.printable_text import one_line, typed
from tonnage.staging.mover_status import is_paused
from tonnage.units import parse_rate

if TYPE_CHECKING:
    from tonnage.staging.mover_status import Status, Totals

_FILES = re.compile(r"([0-9]{1,12})\s*files?(?:/s)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds a second. None: no bound, 0: paused."""

    bytes_per_s: int | None
    files_per_s: int | None


def parse_limit(text: str) -> Limits:
    """Parses ``200MB/s``, ``100files/s``, ``200MB/s,100files/s``, ``0`` or ``none``; RequestError for anything else."""
    if text.strip() == "none":
        return Limits(None, None)
    found: dict[str, int] = {}
    for part in text.split(","):
        files = _FILES.fullmatch(part.strip())
        key, value = ("files_per_s", int(files[1])) if files else ("bytes_per_s", _rate(text, part))
        if key in found:
            raise RequestError(f"{text!r} bounds the same twice; hint: write it like 200MB/s,100files/s")
        found[key] = value
    return Limits(found.get("bytes_per_s"), found.get("files_per_s"))


def _rate(text: str, part: str) -> int:
    try:
        return parse_rate(part)
    except RequestError:
        raise RequestError(
            f"{text!r} is not a bound; hint: write it like 200MB/s, 100files/s, 200MB/s,100files/s, 0 or none"
        ) from None


def limits_text(status: Status) -> str:
    """Returns text such as ``limit 200 MB/s and 100 files/s``, ``paused``; empty without a bound."""
    size, files = status["limit_bytes_per_s"], status["limit_files_per_s"]
    if is_paused(status):
        return "paused"
    found = [units.rate(size)] * (size is not None) + [f"{files} files/s"] * (files is not None)
    return f"limit {' and '.join(found)}" if found else ""


def files_text(count: int) -> str:
    """Returns text such as ``1 file``, ``12,345 files``."""
    return f"{count:,} file{'s' if count != 1 else ''}"


def volume(size_bytes: int) -> str:
    """``4.29 GB``; bytes below a thousand as they are."""
    return units.volume(size_bytes) if size_bytes >= 1000 else f"{size_bytes} B"


def totals_text(totals: Totals) -> str:
    """Returns text such as ``32 files, 4.29 GB``."""
    return f"{files_text(totals['files'])}, {volume(totals['bytes'])}"


def share_done(status: Status) -> float:
    """Returns the share of all data found that is safe: by bytes, or by files where there are no bytes."""
    keys: tuple[Literal["bytes", "files"], ...] = ("bytes", "files")
    for key in keys:
        done, left = status["done"][key], status["queued"][key] + status["failed"][key]
        if done + left:
            return float(done / (done + left))
    return 1.0


def progress_line(status: Status) -> str:
    """Returns text such as ``copying: 12 of 32 files safe, 1.2 GB of 4.29 GB, 350 MB/s, 0:08 left, 4 workers``."""
    done, queued, failed = status["done"], status["queued"], status["failed"]
    files, size_bytes = (done[key] + queued[key] + failed[key] for key in ("files", "bytes"))
    parts = [f"{done['files']:,} of {files_text(files)} safe", f"{volume(done['bytes'])} of {volume(size_bytes)}"]
    if status["rate_bytes_per_s"]:
        parts.append(units.rate(status["rate_bytes_per_s"]))
    if status["left_ns"] is not None and queued["files"]:
        parts.append(f"{units.clock_text(status['left_ns'])} left")
    parts.append(f"{status['workers']} worker{'s' if status['workers'] != 1 else ''}")
    parts += pressures(status)
    if failed["files"]:
        parts.append(f"{failed['files']:,} failed")
    return f"{status['progress']}: {', '.join(parts)}"


def pressures(status: Status) -> list[str]:
    """What slows it, or what it has to hurry for."""
    found = [limits_text(status)] if limits_text(status) else []
    if status["gentle_bytes_per_s"] is not None:
        found.append(f"held to {units.rate(status['gentle_bytes_per_s'])} for the application")
    if status["above_high_mark"]:
        found.append(f"source {status['source_used_permille'] / 10:.0f} % full")
    if status["will_not_fit"]["files"]:
        found.append(f"{totals_text(status['will_not_fit'])} will not make the deadline")
    return found


def details(status: Status) -> list[str]:
    """Notes, what stands still and why, what failed and why: one line each."""
    found = list(status["notes"])
    found += [f"waits: {one['path']}: {one['reason']}" for one in status["waiting"]]
    return found + failures(status)


def failures(status: Status) -> list[str]:
    """Returns the first of what failed, with why: one line each."""
    return [f"failed: {one['path']}: {one['reason']}" for one in status["failures"]]


def more_failures(status: Status, said: Collection[str] = ()) -> list[str]:
    """A line that counts those neither among ``failures`` nor ``said``; a file that fails late may displace one that
    was among the first."""
    named = {*failures(status), *(line for line in said if line.startswith("failed: "))}
    more = status["failed"]["files"] - len(named)
    return [f"failed: {more:,} more"] if more > 0 else []


def resume_hint(state: object) -> str:
    """How the mover of the state directory ``state`` goes on."""
    return f"hint: `tonnage stage resume --wait --state {typed(state)}` scans the source and goes on"


def print_details(status: Status, said: Collection[str]) -> None:
    """On stderr, but for the lines that were ``said``."""
    for line in [*details(status), *more_failures(status, said)]:
        if line not in said:
            print(line, file=sys.stderr)


def report(status: Status) -> str:
    """Formats the whole status for a person."""
    rows = [
        ("mover", f"{status['name']} ({_life(status)})"),
        ("from", status["from"]),
        ("to", status["to"]),
        ("safe", totals_text(status["done"])),
        ("left", totals_text(status["queued"])),
    ]
    more = (
        ("copying", status["copying"], "in flight"),
        ("failed", status["failed"], "failed"),
        ("cleared", status["cleared"], "cleared from the source"),
        ("gone", status["gone"], "gone before they were safe"),
        ("skipped", status["skipped"], "never staged (sockets, devices)"),
    )
    rows += [(name, f"{totals_text(totals)} {told}") for name, totals, told in more if totals["files"]]
    if replaced := status["replaced_after_clearing"]:
        rows.append(("replaced", f"{files_text(replaced)} whose earlier contents had been cleared from the source"))
    if status["running"]:
        rows.append(("now", progress_line(status)))
        rows.append(("watch", f"{status['watch']}, {status['scans']} scans"))
    return "\n".join(
        [*(f"{name:<8} {one_line(text)}" for name, text in rows), *details(status), *more_failures(status)]
    )


def _life(status: Status) -> str:
    if status["running"]:
        return f"process {status['pid']}, {status['progress']}"
    return "does not run" if status["progress"] == "finished" else "does not run, and had not come to its end"


def summary(status: Status, elapsed_ns: int, moving_ns: int) -> str:
    """The last line: what is safe, what this process copied, in which time, and how fast while it moved: most of its
    life it may have waited for the application."""
    copied = status["copied_bytes"]
    text = f"{totals_text(status['done'])} safe in {one_line(status['to'])}; {volume(copied)} copied"
    text += f" in {units.duration(elapsed_ns)}"
    if copied and moving_ns:
        text += f", moving for {units.duration(moving_ns)} ({units.rate(copied * 1e9 / moving_ns)})"
    for totals, told in ((status["failed"], "failed"), (status["queued"], "left")):
        if totals["files"]:
            text += f"; {totals_text(totals)} {told}"
    return text
