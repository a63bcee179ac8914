"""bsub's options as terms of a job: for LSF itself as they were typed, for any other scheduler what they mean."""

from __future__ import annotations

import re
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from tonnage.cluster.array_numbers import Numbers, parse_numbers
from tonnage.cluster.job_terms import Dependency, Event, Mail, Terms, When
from tonnage.compat.front_end import Given
from tonnage.errors import RequestError

OF_LSF = ("-w", "-W", "-R", "-M", "-P", "-x", "-B", "-N", "-u", "-r", "-b", "-c", "-E")
"""Options that mean a term of the job."""
_ONLY_LSF = {"-c": "a limit of CPU time", "-E": "a command before the job"}
_MOST_DAYS = 9 * 366
"""Until the next 29th of February, at the latest."""
_UNITS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}
_WHENS: dict[str, When] = {"done": "afterok", "exit": "afternotok", "ended": "afterany", "started": "after"}
_CONDITION = re.compile(r"(?:(done|exit|ended|started)\s*\(\s*)?\"?(\d+(?:\[\d+\])?)\"?(?(1)\s*\))")


@dataclass(frozen=True, slots=True)
class Translated:
    """What was asked for, and how it was taken where that needs saying."""

    terms: Terms
    notes: tuple[str, ...] = ()


def translate(given: Given, scheduler: str) -> Translated:
    """``given``: the options' values by name. RequestError for what ``scheduler`` has no counterpart of."""
    if scheduler == "lsf":
        return Translated(Terms(words=tuple(_as_typed(given))))
    for option, what in _ONLY_LSF.items():
        if given[option] is not None:
            raise RequestError(f"iobsub {option}: {what} is LSF's own, and the scheduler here is {scheduler}")
    notes: list[str] = []
    memory, gpus = _resources(given.texts("-R"), given.number("-n"), notes)
    if given["-M"] is not None:
        memory = max(memory or 0, _memory(given.text("-M"), "k", "-M", notes))
    terms = Terms(
        time_limit_s=None if given["-W"] is None else _run_limit(given.text("-W")),
        account=given.text_if("-P"),
        memory_bytes=memory,
        gpus=gpus,
        dependency=None if given["-w"] is None else _dependency(given.text("-w")),
        mail=_mail(given),
        exclusive=bool(given["-x"]),
        rerun=bool(given["-r"]),
        begin_at_s=None if given["-b"] is None else begin(given.text("-b"), time.time()),
    )
    return Translated(terms, tuple(notes))


def _as_typed(given: Given) -> list[str]:
    words: list[str] = []
    for option in OF_LSF:
        value = given[option]
        if option == "-R":
            words += [word for text in given.texts(option) for word in (option, text)]
        elif isinstance(value, str):
            words += [option, value]
        elif value:
            words.append(option)
    return words


def _run_limit(text: str) -> int:
    """``[hour:]minute``, in seconds."""
    match = re.fullmatch(r"(?:(\d{1,6}):)?(\d{1,8})", text, re.ASCII)
    limit_s = (int(match[1] or 0) * 60 + int(match[2])) * 60 if match else 0
    if not limit_s:
        raise RequestError(f"iobsub -W: {text!r} is no run limit; hint: write [HOUR:]MINUTE, above 0, and no host")
    return limit_s


def _memory(text: str, unit: str, option: str, notes: list[str]) -> int:
    """Bytes. ``unit``: LSF's own where none is written, which a site may have changed."""
    match = re.fullmatch(r"(\d{1,12})\s*(?:([kmgt])b?)?", text, re.ASCII | re.IGNORECASE)
    if match is None or not int(match[1]):
        raise RequestError(f"iobsub {option}: {text!r} is no size of memory; hint: write it like 4GB")
    if match[2] is None:
        notes.append(f"{option} {text} is read as {text} {unit.upper()}B, which is LSF's default; hint: write the unit")
    return int(match[1]) << _UNITS[(match[2] or unit).lower()]


def _resources(texts: tuple[str, ...], slots: int, notes: list[str]) -> tuple[int | None, int | None]:
    """Memory in bytes and GPUs of ``-R``; RequestError for any part of it that has no other meaning elsewhere."""
    memory: int | None = None
    gpus: int | None = None
    for text in texts:
        sections = re.findall(r"(\w+)\[([^\]]*)\]", text)
        if not sections or re.sub(r"\w+\[[^\]]*\]", "", text).strip():
            raise RequestError(f"iobsub -R: {text!r} cannot be told to this scheduler; hint: write rusage[mem=SIZE]")
        for name, body in sections:
            for part in filter(None, re.split(r"[,:\s]+", body)):
                key, _, value = part.partition("=")
                if (name, key) == ("rusage", "mem"):
                    memory = max(memory or 0, _memory(value, "m", "-R mem", notes))
                elif name == "rusage" and key in ("ngpus_physical", "ngpus") and re.fullmatch("[1-9][0-9]{0,3}", value):
                    gpus = int(value)
                elif name != "span" or not _is_one_host(key, value, slots):
                    raise RequestError(
                        f"iobsub -R: {name}[{part}] cannot be told to this scheduler; hint: leave it out, "
                        "or see -m, --queue and `tonnage submit --scheduler-options`"
                    )
    return memory, gpus


def _is_one_host(key: str, value: str, slots: int) -> bool:
    """Whether a span asks for what every job of ours is: on one host."""
    return (key, value) == ("hosts", "1") or (key == "ptile" and value.isdecimal() and int(value) >= slots)


def _dependency(text: str) -> Dependency:
    any_of = "||" in text
    parts = [part.strip() for part in text.split("||" if any_of else "&&")]
    found = [_CONDITION.fullmatch(part) for part in parts]
    conditions = [(_WHENS[match[1] or "done"], match[2]) for match in found if match]
    if len(conditions) < len(parts):
        wrong = next(part for part, match in zip(parts, found, strict=True) if match is None)
        raise RequestError(
            f"iobsub -w: {wrong!r} cannot be told to this scheduler; hint: done, exit, ended and started of job "
            "numbers, with && or || between them"
        )
    return Dependency(tuple(conditions), any_of=any_of)


def _mail(given: Given) -> Mail | None:
    """LSF writes at the end where only an address is given, and of a failure as of any end."""
    events: list[Event] = ["begin"] if given["-B"] else []
    if given["-N"] or (given["-u"] is not None and not given["-B"]):
        events += ["end", "fail"]
    return Mail(tuple(events), given.text_if("-u")) if events else None


def begin(text: str, now_s: float) -> int:
    """Parses ``[[[year:]month:]day:]hour:minute`` by this host's clock; returns the next such moment in seconds since
    1970."""
    fields = [int(part) for part in text.split(":")] if re.fullmatch(r"\d{1,4}(:\d{1,2}){1,4}", text, re.ASCII) else []
    date = fields[:-2]
    with suppress(ValueError):
        first = datetime(date[0], date[1], date[2]) if len(date) == 3 else datetime.fromtimestamp(now_s)
        for day in (first + timedelta(days=later) for later in range(_MOST_DAYS if fields else 0)):
            if [day.year, day.month, day.day][3 - len(date) :] == date:
                moment_s = day.replace(hour=fields[-2], minute=fields[-1], second=0, microsecond=0).timestamp()
                if moment_s > now_s:
                    return int(moment_s)
    raise RequestError(f"iobsub -b: {text!r} is no moment to come; hint: write [[[YEAR:]MONTH:]DAY:]HOUR:MINUTE")


def name_of(text: str) -> tuple[str | None, Numbers, int | None]:
    """Of ``-J``: the name, an array's numbers, and how many of them run at once where ``%`` says so."""
    name, bracket, rest = text.partition("[")
    if not bracket:
        return text, (), None
    match = re.fullmatch(r"([^\]]*)\](%.*)?", rest)
    if match is None:
        raise RequestError(f"iobsub -J: {text[:60]!r} is no array; hint: write it like 'name[1-4,7]%2'")
    numbers, at_once = parse_numbers(match[1] + (match[2] or ""))
    return name or None, numbers, at_once


def hosts(text: str | None) -> tuple[tuple[str, ...], bool]:
    """Of ``-m``: names, best first, and whether they are only preferred."""
    if text is None:
        return (), False
    found: list[tuple[int, str]] = []
    names = text.split()
    for name in names:
        match = re.fullmatch(r"([A-Za-z0-9_][\w.-]*)(?:\+(\d{0,9}))?", name, re.ASCII)
        if match is None:
            raise RequestError(f"iobsub -m: {name!r} is no host's name; hint: write names with blanks between them")
        if name.partition("+")[0] != "others":
            found.append((int(match[2] or 1) if "+" in name else 0, match[1]))
    if not found:
        raise RequestError("iobsub -m names no host; hint: write names with blanks between them")
    order = sorted(found, key=lambda one: -one[0])
    return tuple(dict.fromkeys(name for _, name in order)), any(name.partition("+")[0] == "others" for name in names)
