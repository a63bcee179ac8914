"""Company: the workloads with names that may run beside a measured one, and the text that asks for one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple, Protocol

from pydantic import AfterValidator, Field, WithJsonSchema

from tonnage.campaign.kinds.kind import Factors, WorkloadSection
from tonnage.errors import RequestError
from tonnage.field_types import Sweep
from tonnage.records.line_types import Json
from tonnage.toml_documents import near_or_all, refuse
from tonnage.units import parse_share

ALONE = "alone"
"""Instead of a company: nothing runs beside."""
DEFAULT_SHARE = 0.5
_TASKS = 8
_OPERATIONS = 2**31 - 1
"""Of each task: its time ends it long before."""
_LARGE: Json = {"kind": "stream", "tasks": _TASKS, "wrap": True}

NAMED: dict[str, Json] = {
    "metadata-storm": {"kind": "files", "tasks": _TASKS, "phases": ["churn"], "operations": _OPERATIONS, "items": 1},
    "small-random-reads": {
        **_LARGE,
        "op": "read",
        "transfer_size": 4 << 10,
        "block_size": 8 << 20,
        "access": "random",
    },
    "checkpoint": {**_LARGE, "op": "write", "transfer_size": 16 << 20, "block_size": 16 << 20},
    "drain": {**_LARGE, "op": "read", "tasks": 2, "transfer_size": 8 << 20, "block_size": 32 << 20},
    "stream-read": {**_LARGE, "op": "read", "transfer_size": 1 << 20, "block_size": 16 << 20},
    "stream-write": {**_LARGE, "op": "write", "transfer_size": 1 << 20, "block_size": 16 << 20},
}
"""Name → the table of a campaign file, without its length."""
MEANING = {
    "metadata-storm": "8 tasks that make, stat and remove an empty file, again and again",
    "small-random-reads": "8 tasks that read 4 KiB at a time at random",
    "checkpoint": "8 tasks that write 16 MiB at a time, and sync",
    "drain": "2 tasks that read 8 MiB at a time from beginning to end, as a stager does",
    "stream-read": "8 tasks that read 1 MiB at a time from beginning to end",
    "stream-write": "8 tasks that write 1 MiB at a time, and sync",
}


class Company(NamedTuple):
    """A workload that runs beside another one."""

    name: str
    share: float
    """Of the rate that it reaches alone, which it is offered."""

    def __str__(self) -> str:
        return f"{self.name}@{self.share * 100:g}%"


def parse_company(text: str) -> Company:
    """``metadata-storm@50%``, or the name alone. RequestError where it is none."""
    name, at, share = text.strip().partition("@")
    check_name(name)
    try:
        found = parse_share(share) if at else DEFAULT_SHARE
    except RequestError:
        found = 0.0
    if not 0.01 <= found <= 1:
        raise RequestError(f"{text!r}: {share!r} is no share of a line; hint: give 1% to 100%, such as {name}@50%")
    return Company(name, round(found, 4))


def check_name(name: str) -> None:
    """RequestError where no workload has this name."""
    if name not in NAMED:
        raise RequestError(f"there is no workload {name!r}; hint: {near_or_all(name, NAMED, 'workloads')}")


def table_of(name: str, length_ns: int) -> Json:
    """Returns the table of a workload of that name whose trials take ``length_ns``."""
    return {**NAMED[name], "name": name, "time_limit_ns": length_ns}


def _text(value: str) -> str:
    if value == ALONE:
        return value
    try:
        return str(parse_company(value))
    except RequestError as error:
        raise ValueError(str(error)) from None


_SCHEMA = {
    "anyOf": [
        {"enum": [ALONE, *NAMED]},
        {"type": "string", "pattern": f"^({'|'.join(NAMED)})@[0-9.]+%?$", "examples": ["metadata-storm@50%"]},
    ]
}
CompanyText = Annotated[str, AfterValidator(_text), WithJsonSchema(_SCHEMA)]
"""``alone``, or a workload's name and the share of its rate that it is offered."""


class CompanySection(WorkloadSection):
    """A table of a kind whose phases may have company."""

    beside: Sweep[CompanyText] | None = Field(
        None,
        description="workloads that run beside this one, each at a share of the rate it reaches alone, such as "
        "metadata-storm@50%; alone: none does",
    )

    def knobs(self, factors: Factors, scale: float) -> Factors:
        found = super().knobs(factors, scale)
        return {**found, "beside": None if found["beside"] == ALONE else found["beside"]}


class _Nodes(Protocol):
    @property
    def nodes(self) -> int | None: ...


def check_possible(workloads: Sequence[WorkloadSection], *, named_files: bool, placed: bool, job: _Nodes) -> None:
    """Refuses company where it cannot run."""
    with_hosts = any(one.hosts for one in workloads if isinstance(one, CompanySection) and one.beside)
    for key, is_given, why in (
        ("file_names", named_files, "has files of its own, with other names"),
        ("place", placed, "leaves no files"),
        ("hosts", with_hosts, "is on one host"),
        ("job.nodes", (job.nodes or 1) > 1, "is on one host"),
    ):
        if is_given:
            refuse("workload.beside", f"company {why}", f"leave out beside, or {key}")
