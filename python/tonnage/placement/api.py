"""Placement from Python: ``tonnage.submit``, ``tonnage.where``, ``tonnage.load``. Nothing here prints.

Each returns what the command of that name prints with ``--json``, as typed objects (``tonnage.placement.answer_types``;
``dataclasses.asdict`` makes the same dictionary), and raises what it would end with: ``RequestError`` for a wrong
request, another ``TonnageError`` where something failed."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar, overload

from tonnage.cluster.job_terms import parse_dependency, parse_mail, split_arguments
from tonnage.cluster.scheduler import SchedulerError as SchedulerError
from tonnage.cluster.scheduler import SubmissionUnknown as SubmissionUnknown
from tonnage.errors import RequestError
from tonnage.option_names import in_keywords, reworded
from tonnage.placement.answer_types import LoadAnswer as Loads
from tonnage.placement.answer_types import Previewed, Repeated, Submission, WhereAnswer, previewed, submitted
from tonnage.placement.answer_types import load_answer as loads
from tonnage.placement.answer_types import where_answer as place
from tonnage.placement.path_report import report_path
from tonnage.placement.server_load import LoadReader, require_read, select_servers
from tonnage.placement.site import load_site, site_path
from tonnage.placement.submit import preview
from tonnage.placement.submit import submit as submit_request
from tonnage.placement.submit_request import SubmitOptions, parse_cap, parse_copies, parse_key
from tonnage.python_values import path_text, truth
from tonnage.units import number_text, parse_count, parse_share, parse_size, read_time

if TYPE_CHECKING:
    from typing_extensions import Unpack

_T = TypeVar("_T")
PathLike = str | os.PathLike[str]
Time = str | float | timedelta
"""``"2h"``, seconds, or a timedelta."""


class Options(TypedDict, total=False):
    """Keywords of :func:`submit`: the options of ``tonnage submit``, dashes as underscores."""

    queue: str | None
    """Queue or partition; by default the server's in the site file."""
    output: PathLike | None
    error: PathLike | None
    input: PathLike | None
    tasks: int | None
    """Slots that it takes, or each copy."""
    name: str | None
    time_limit: Time | None
    account: str | None
    memory: int | str | None
    """Bytes, or ``"4GiB"``."""
    gpus: int | None
    dependency: str | None
    """``"afterok:12,afterany:13"``."""
    mail: str | None
    """``"begin,end,fail"``."""
    mail_to: str | None
    exclusive: bool | None
    scheduler_options: str | Sequence[str] | None
    """Of the scheduler's own command: a text that is split as a shell does, or the words."""
    copies: int | str | None
    """How many, or their numbers, as ``"1-4,7%2"``."""
    cap: int | Literal["auto"] | None
    """Copies at once."""
    path: PathLike | None
    """Whose data counts; by default the working directory's."""
    transfer: int | str | None
    """Bytes of its operations: the load line of the nearest transfer size counts."""
    profile: PathLike | None
    """Run directory that measured the program."""
    io_share: float | str | None
    """0…1, or ``"30%"``."""
    anywhere: bool | None
    key: str | None
    """The same key is never submitted twice."""
    scheduler: str | None
    local_wait: Time | None
    site: PathLike | None


@overload
def submit(*program: PathLike, dry_run: Literal[True], **options: Unpack[Options]) -> Previewed: ...


@overload
def submit(
    *program: PathLike, dry_run: Literal[False] = False, **options: Unpack[Options]
) -> Submission | Repeated: ...


@overload
def submit(*program: PathLike, dry_run: bool, **options: Unpack[Options]) -> Previewed | Submission | Repeated: ...


def submit(*program: PathLike, dry_run: bool = False, **options: Any) -> Previewed | Submission | Repeated:
    """Runs ``program`` (its name, then its words, exactly as given) where its data lives, and no more at once than the
    storage carries.

    Keywords are the options of ``tonnage submit`` (:class:`Options`), but for ``interactive`` and ``wait``, which need
    a terminal.

    The receipt is a ``Submission``: ``job`` (its number, a text), ``line`` (the scheduler's own words), ``host`` (the
    first of ``decision.hosts``; None: the scheduler decides), ``cap`` (copies at once; None: no limit), ``why``
    (sentences; ``decision.cap_why`` is the one on the cap), ``notes`` (what was done without), ``demand`` (of a copy:
    bytes, ``tasks`` of the load line), ``request``. It is a ``Repeated`` where ``key`` was submitted before: ``new`` is
    False, ``job`` is that of then. With ``dry_run=True`` it is a ``Previewed``: the same decision and ``command``;
    nothing is submitted or written.

    RequestError: the request is wrong; nothing was submitted. NoFileServer, NothingNear: no place beside the data, and
    no ``anywhere=True``. SchedulerError: the scheduler's words. SubmissionUnknown: nobody knows whether it took the
    job; the same ``key`` again finds out.

    >>> receipt = tonnage.submit("./align.sh", "sample 1.fq", copies=50, profile="RUN")  # doctest: +SKIP
    >>> receipt.job, receipt.cap, receipt.host  # doctest: +SKIP
    ('3734', 8, 'rcss1')
    """
    if unknown := [name for name in options if name not in Options.__annotations__]:
        raise TypeError(f"submit() got an unexpected keyword argument {unknown[0]!r}")
    truth("dry_run", dry_run)
    asked = SubmitOptions(**{name: _value(name, value) for name, value in options.items() if value is not None})
    words = [_word(word) for word in program]
    with in_keywords(Options.__annotations__):
        request = asked.request(words)
        if dry_run:
            outcome = preview(request)
            assert outcome.plan is not None
            return previewed(outcome.plan, outcome.command)
        return submitted(request.key, submit_request(request, key_given=asked.key is not None, tell=lambda _plan: None))


def where(path: PathLike | None = None, *, site: PathLike | None = None) -> WhereAnswer:
    """Which servers hold ``path`` (None: the working directory), and which hosts are beside them.

    ``file_servers`` has of each its ``name``, ``hosts``, ``slots`` and ``load`` (rates a second, ``at_s`` in seconds
    since 1970); ``load_line`` the tasks that it carries and its plateau in bytes a second, None where none is known;
    ``devices`` every disk, OST or brick. ``site``: this site file and no other.

    RequestError: a path that leads nowhere, a site file that is wrong. NoFileServer: nobody knows who serves it.

    >>> [server.name for server in tonnage.where("/data/run1").file_servers]  # doctest: +SKIP
    ['rcss1']
    """
    text = None if path is None else path_text("path", path)
    found = report_path(text, None if site is None else path_text("site", site))
    if (error := found.unknown(text)) is not None:
        raise error
    return place(found.located, found.servers, found.readings, found.line)


def load(server: str | None = None, *, site: PathLike | None = None) -> Loads:
    """One look at every file server of the site file, or at ``server`` alone; takes up to some seconds.

    ``servers`` has a ``ServerLoad`` each: ``line``, ``promised``, ``others`` and ``left`` in tasks, ``ut_permille`` and
    ``pressure_permille`` in thousandths, ``bio_bytes_per_s``, ``age_s`` of the indices in seconds, ``stale``; None is
    unknown. ``at_s``: seconds since 1970. ``notes``: what could not be asked.

    RequestError: no such server, no site file, or one that says of no server where its indices are read.
    TonnageError: no index of any server could be read.

    >>> {one.server: one.left for one in tonnage.load().servers}  # doctest: +SKIP
    {'rcss1': 3, 'rcss2': 12}
    """
    known = load_site(Path(), site_path(None if site is None else path_text("site", site)))
    reader = LoadReader(known, select_servers(known, [] if server is None else [path_text("server", server)]))
    found = reader()
    require_read(found)
    return loads(found, reader.notes)


_PARSED: Mapping[str, Callable[[Any], Any]] = {
    "tasks": lambda given: parse_count(str(given)),
    "gpus": lambda given: parse_count(str(given)),
    "memory": lambda given: parse_size(str(given)),
    "time_limit": read_time,
    "local_wait": read_time,
    "dependency": lambda given: parse_dependency(path_text("dependency", given)),
    "mail": lambda given: parse_mail(path_text("mail", given)),
    "scheduler_options": lambda given: [_option_arguments(given)],
    "exclusive": lambda given: truth("exclusive", given),
    "anywhere": lambda given: truth("anywhere", given),
    "copies": lambda given: parse_copies(str(given)),
    "cap": lambda given: parse_cap(str(given)),
    "io_share": lambda given: parse_share(number_text(given)),
    "transfer": lambda given: parse_size(str(given)),
    "key": lambda given: parse_key(path_text("key", given)),
}
"""How a value is read; the others are texts and paths."""


def _value(name: str, given: Any) -> Any:
    parse = _PARSED.get(name)
    if parse is None:
        return path_text(name, given)
    with reworded(lambda text: f"{name}: {text.removeprefix(f'{name}: ')}"):
        return parse(given)


def _word(given: Any) -> str:
    """Returns a word of the program. RequestError for anything but a text: a list is a common slip."""
    if isinstance(given, list | tuple):
        raise RequestError(f"program: {given!r} is one list; hint: give its words one by one, as submit(*words)")
    return path_text("program", given)


def _option_arguments(given: Any) -> tuple[str, ...]:
    if isinstance(given, str):
        return tuple(split_arguments(given))
    if isinstance(given, Sequence) and not isinstance(given, bytes):
        return tuple(path_text("scheduler_options", word) for word in given)
    raise RequestError(f"scheduler_options: {given!r} is no text and no list of words; hint: give a str or a list")


def _spell_out() -> None:
    """``help(tonnage.submit)`` and completion name every keyword."""
    words = inspect.Parameter("program", inspect.Parameter.VAR_POSITIONAL)
    named = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind.__forward_arg__)
        for name, kind in Options.__annotations__.items()
    ]
    dry_run = inspect.Parameter("dry_run", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=bool)
    submit.__signature__ = inspect.Signature([words, dry_run, *named])  # type: ignore[attr-defined]


_spell_out()
