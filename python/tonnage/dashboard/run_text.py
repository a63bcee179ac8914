"""Texts of the page about a run, from files of any content: malformed values are left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tonnage import units
from tonnage.records.lines import COUNTED
from tonnage.report import phrases

_LONGEST = 300
"""The number of characters that a list shows of a text."""
_MOST = 50
"""Items of a list."""

Keys = Mapping[str, object]
"""An object of a file that may hold anything."""


def table(keys: Keys, name: str) -> Keys:
    """An object among the keys; empty where it is none."""
    found = keys.get(name)
    return found if isinstance(found, dict) else {}


def text(value: object) -> str:
    """A text, cut where it is very long; empty where it is none."""
    if not isinstance(value, str):
        return ""
    return value if len(value) <= _LONGEST else f"{value[:_LONGEST]}…"


def count(keys: Keys, name: str) -> int:
    """A whole number from 0; 0 where it is none."""
    found = keys.get(name)
    return found if type(found) is int and 0 <= found < 1 << 63 else 0


def count_or_none(keys: Keys, name: str) -> int | None:
    """The same; None where it is none."""
    return count(keys, name) if type(keys.get(name)) is int else None


def target(manifest: Keys) -> str:
    """Returns the name of the target."""
    found = table(manifest, "target")
    return text(found.get("name")) or text(found.get("uri"))


def codes(manifest: Keys) -> list[str] | None:
    """Of the findings that the end of the run kept; None where there is no such end."""
    kept = table(manifest, "summary").get("findings")
    if not isinstance(kept, list):
        return None
    return [text(one.get("code")) for one in kept[:_MOST] if isinstance(one, dict)]


def load_lines(manifest: Keys) -> list[str]:
    """Returns text such as ``write: 8 tasks, 1.92 GB/s``, for each load line that the end of the run kept, and its
    latency lines."""
    kept = table(manifest, "summary").get("load_lines")
    found = []
    for line in kept[:_MOST] if isinstance(kept, list) else ():
        if not isinstance(line, dict):
            continue
        name = phrases.subject(text(line.get("op")), text(line.get("group")))
        if line.get("reached") is not True:
            why = "not shown, for a trial failed" if line.get("stopped") == "failed" else "not reached"
            found += [f"{name}: {why}", *_latency_lines(name, line)]
            continue
        plateau = count_or_none(line, "plateau_bytes_per_s")
        speed = f", {units.rate(plateau)}" if plateau is not None else ""
        undone = line.get("undone_by")
        by = [text(code) for code in undone[:_MOST]] if isinstance(undone, list) else []
        but = f", undone by {' and '.join(by)}" if by else ""
        found += [f"{name}: {phrases.tasks(count(line, 'tasks'))}{speed}{but}", *_latency_lines(name, line)]
    return found


def _latency_lines(name: str, line: Keys) -> list[str]:
    kept = line.get("latency_lines")
    answers = [text(one.get("why")) for one in kept[:_MOST] if isinstance(one, dict)] if isinstance(kept, list) else []
    return [f"{name}: {answer}" for answer in answers if answer]


def phase(step: Keys, latest: Sequence[Keys]) -> str:
    """``read, 8 tasks, repetition 2``: what runs now, or what ended last."""
    if not step:
        return f"after {latest[-1]['record']}" if latest else "preparing"
    setting = table(step, "setting")
    what = "laying out files" if step.get("purpose") == "fill" else text(step.get("phase"))
    workload = text(setting.get("workload"))
    more = {
        "measure": f", repetition {count(step, 'repetition') + 1}",
        "sustain": ", sustained",
        "offered": ", offered rate",
    }
    head = f"{workload}: {what}" if workload else what
    return f"{head}, {phrases.tasks(count(setting, 'tasks'))}{more.get(str(step.get('purpose')), '')}"


def share_done(step: Keys, progress: Keys) -> float | None:
    """Of the whole run, by trials or by time, whichever says more: a trial may take all of it, and a bound of time
    need not be used up. None where neither is known."""
    shares = []
    if of := count(step, "trials"):
        shares.append(min(1.0, count(step, "trial") / of))
    left = count_or_none(step, "left_ns")
    if left is not None and (whole := count(step, "elapsed_ns") + left):
        shares.append(min(1.0, (count(step, "elapsed_ns") + count(table(progress, "live"), "elapsed_ns")) / whole))
    return max(shares, default=None)


def trials(step: Keys, recorded: int, failed: int) -> str:
    """Returns text such as ``trial 7 of 40, 1 failed``; people count from 1."""
    of = f" of {count(step, 'trials'):,}" if count(step, "trials") else ""
    found = f"trial {count(step, 'trial') + 1:,}{of}" if step else f"{recorded:,} recorded"
    return found + (f", {failed:,} failed" if failed else "")


def times(step: Keys, progress: Keys) -> str:
    """Returns text such as ``elapsed 0:12, left at most 0:48``."""
    if not step:
        return ""
    into = count(table(progress, "live"), "elapsed_ns")
    left = count_or_none(step, "left_ns")
    found = f"elapsed {units.clock_text(count(step, 'elapsed_ns') + into)}"
    return f"{found}, left at most {units.clock_text(left - into)}" if left is not None else found


def is_counted(step: Keys) -> bool:
    """Whether its operations are what it is about, not its bytes."""
    return table(step, "setting").get("kind") in COUNTED


def speed(step: Keys, progress: Keys) -> str:
    """What the storage does now, in the unit of the workload."""
    live = table(progress, "live")
    if not step or not live:
        return ""
    if not is_counted(step):
        return units.rate(count(live, "bandwidth_bytes_per_s"))
    elapsed = count(live, "elapsed_ns")
    return units.operations(count(live, "operations") * 1e9 / elapsed) if elapsed else ""
