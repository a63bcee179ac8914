"""What ``tonnage watch`` prints: a line, or a JSON object, for each event."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import datetime

from tonnage.analysis.figure_texts import some
from tonnage.placement.answer_types import WatchAnswer, WatchEvent
from tonnage.placement.watch.episodes import Event
from tonnage.placement.watch.observation import RunningJobs, UserJobs
from tonnage.placement.watch.watch import State
from tonnage.printable_text import one_line
from tonnage.units import plural

_USERS, _NAMES = 3, 3
"""That are named; the rest is counted."""
_WORDS = {
    "began": "above its line",
    "ended": "no longer above its line",
    "unknown": "not known",
    "known": "known again",
    "above": "above its line",
    "below": "not above its line",
}
_NO_LINE = "no load line is known, so nothing can be told of it"
_HINT = "hint: measure it with `tonnage probe`, or state it in tonnage.toml"


def of_event(event: Event) -> WatchAnswer:
    """Makes the answer of a change between two observations."""
    seen = event.seen
    return WatchAnswer(
        at_s=round(event.at_s, 3),
        time=iso(event.at_s),
        server=seen.server,
        event=event.kind,
        above=event.above,
        load=None if seen.load is None else round(seen.load, 3),
        others=_rounded(seen.others),
        line=seen.line,
        since_s=_rounded(event.since_s),
        until_s=_rounded(event.until_s),
        lasted_s=_rounded(event.lasted_s),
        jobs=None if seen.there is None else seen.there.jobs,
        users=() if seen.there is None else seen.there.users,
        only_own=None if seen.there is None else seen.there.only_own,
        missing=seen.missing,
    )


def of_state(state: State, at_s: float) -> WatchAnswer:
    """Makes the answer of one observation."""
    seen = state.seen
    no_line = seen.line is None and not seen.missing
    kind: WatchEvent = "no-line" if no_line else "unknown" if seen.above is None else "above" if seen.above else "below"
    event = Event(at_s=at_s, kind="known", seen=seen, since_s=state.since_s, above=state.above or bool(seen.above))
    return replace(of_event(event), event=kind)


def as_json(answer: WatchAnswer) -> str:
    """Formats one object on one line."""
    return json.dumps(asdict(answer), ensure_ascii=False, allow_nan=False)


def as_text(answer: WatchAnswer) -> str:
    """Returns text such as ``TIME rcss1 above its line: load 9, line 8, since TIME; 3 jobs: ann 6 tasks (align), bob 3
    tasks (bwa)``."""
    head = f"{answer.time} {answer.server}"
    if answer.event == "no-line":
        return one_line(f"{head}: {_NO_LINE}; {_HINT}")
    parts = [
        f"load {_load(answer)}",
        f"line {'unknown' if answer.line is None else answer.line}",
        *_times(answer),
    ]
    jobs = _jobs(answer)
    why = [*answer.missing] if answer.event == "unknown" else []
    if answer.event == "unknown" and answer.line is None and not why:
        why = ["its load line is known no more"]
    held = " (still above its line, as far as is known)" if answer.event == "unknown" and answer.above else ""
    return one_line(f"{head} {_WORDS[answer.event]}{held}: {', '.join(parts)}; {'; '.join([*why, jobs])}")


def users_text(there: RunningJobs) -> str:
    """Returns text such as ``3 jobs: ann 6 tasks (align, sort), bob 3 tasks (bwa); only yours are known``."""
    jobs_text = plural(there.jobs, "job") if there.users else "no job"
    named = some([_user(user) for user in there.users], _USERS)
    own = "; the scheduler tells of yours alone" if there.only_own else ""
    return f"{jobs_text}{': ' if named else ''}{named}{own}"


def span_text(seconds: float) -> str:
    """Returns text such as ``45 s``, ``12 min``, ``3 h 05 min``, ``2 d 4 h``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes = whole // 60
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours < 48 else f"{hours // 24} d {hours % 24} h"


def iso(at_s: float) -> str:
    """Formats an instant by ISO 8601, in this host's zone."""
    return datetime.fromtimestamp(at_s).astimezone().isoformat(timespec="seconds")


def state_lines(answers: Sequence[WatchAnswer], *, json_wanted: bool) -> list[str]:
    """Returns one line for each answer."""
    return [as_json(answer) if json_wanted else as_text(answer) for answer in answers]


def _load(answer: WatchAnswer) -> str:
    if answer.load is None:
        return "unknown"
    least = "at least " if answer.missing else ""
    others = f" (others {_tasks(answer.others)})" if answer.others else ""
    return least + _tasks(answer.load) + others


def _tasks(number: float) -> str:
    return f"{number:,.1f}".removesuffix(".0")


def _times(answer: WatchAnswer) -> list[str]:
    found = [] if answer.since_s is None else [f"since {iso(answer.since_s)}"]
    if answer.event == "known":
        found = [] if answer.since_s is None else [f"unknown since {iso(answer.since_s)}"]
        found += ["above its line"] if answer.above else []
    if answer.until_s is not None:
        found.append(f"until {iso(answer.until_s)}")
    if answer.lasted_s is not None:
        found.append(f"{span_text(answer.lasted_s)} of it known")
    return found


def _jobs(answer: WatchAnswer) -> str:
    if answer.jobs is None:
        return "its jobs are not known"
    return users_text(RunningJobs(users=answer.users, only_own=answer.only_own))


def _user(user: UserJobs) -> str:
    names = some([*user.names], _NAMES)
    return f"{user.user} {plural(user.tasks, 'task')}{f' ({names})' if names else ''}"


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
