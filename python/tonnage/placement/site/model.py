"""The schema of ``tonnage.toml``. Every default of placement is here and nowhere else.

The file holds data only. What of it may reach a tool's command line is checked here, so that no value can pass for an
option: a project's file may be another user's.
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from tonnage.fields import Count, Delay, Length, Part, Rate, SchedulerName, Time
from tonnage.section import Section

_NAME = re.compile(r"[A-Za-z0-9_\[][A-Za-z0-9_.:@/%\[\]-]{0,254}")
_INDICES = re.compile(
    r"proc:|ssh:(?:[A-Za-z0-9_][A-Za-z0-9_.-]*@)?[A-Za-z0-9_][A-Za-z0-9_.-]*"
    r"|https?://(?:[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?:/[!-~]*)?"
)


def _name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise ValueError(
            f"{text!r} is no name; hint: use letters, digits and '_', '.', '-', ':', '@', '/', '%', '[', ']'"
        )
    return text


def _indices(text: str) -> str:
    if not _INDICES.fullmatch(text):
        raise ValueError(f"{text!r} is no source of indices; hint: write http://HOST:9100/metrics, ssh:HOST or proc:")
    return text


def _absolute(text: str) -> str:
    if not text.startswith("/"):
        raise ValueError(f"{text!r} depends on where somebody is; hint: begin it with /")
    return text


Name = Annotated[str, AfterValidator(_name)]
"""What a tool is given as a word of its own: it cannot begin with a dash, nor hold a blank or a comma."""
Text = Annotated[str, Field(min_length=1, max_length=4096, pattern=r"^[^\x00-\x1f\x7f]+$")]
"""What only messages show: without line ends and other control characters."""
Absolute = Annotated[Text, AfterValidator(_absolute)]
"""A path from the root."""


class Line(Section):
    """A load line stated by hand, for a server that nobody probed."""

    tasks: Count = Field(description="tasks beyond which more only wait")
    plateau: Rate | None = Field(None, description="bytes per second there")


class Server(Section):
    """A file server, or a set of them that one name stands for."""

    name: Text = Field(description="what users and messages call it")
    aliases: tuple[Text, ...] = Field((), description="other names and addresses of it, as mounts and tools print them")
    holds: tuple[Text, ...] = Field(
        (),
        description="what it serves, where no tool says so: a mount source, a path, or FSNAME-OST0003; `*` matches; "
        "where several servers hold the same, any of them will do",
    )
    hosts: tuple[Name, ...] = Field((), description="hosts beside it, as the scheduler calls them, nearest first")
    queue: Name | None = Field(None, description="queue or partition of those hosts")
    slots: Count | None = Field(None, description="jobs that may run beside it at once")
    licence: Name | None = Field(None, description="the scheduler's licence or resource of which each job holds one")
    indices: Annotated[str, AfterValidator(_indices)] | None = Field(
        None, description="where its load is read: `http://HOST:9100/metrics`, `ssh:HOST`, or `proc:` for this host"
    )
    line: Line | None = Field(None, description="its load line, where none was measured")


class Access(Section):
    """How fast a host reaches a server; the first entry that matches both counts."""

    hosts: tuple[Text, ...] = Field(("*",), description="hosts, `*` matches")
    servers: tuple[Text, ...] = Field(("*",), description="servers, `*` matches")
    bandwidth: Rate = Field(description="bytes per second of one host")
    latency: Delay = Field(0, description="of one operation")


class Policy(Section):
    """How jobs are placed."""

    local_wait: Delay = Field(60 * 10**9, description="longest expected wait for a slot beside the data")
    index_age: Delay = Field(30 * 10**9, description="age beyond which an index is stale, and said so")
    index_refresh: Delay = Field(10 * 10**9, description="age beyond which an index is read again")
    index_timeout: Delay = Field(30 * 10**6, description="how long a decision waits for indices")
    decay: Time = Field(60 * 10**9, description="time in which the weight of a placed job falls to 1/e")
    list_age: Delay = Field(
        3 * 10**9,
        description="how old the scheduler's lists may be in a decision: in a burst they are asked for so often",
    )
    scheduler_timeout: Time = Field(10 * 10**9, description="how long one of the scheduler's tools may take")
    file_timeout: Time = Field(2 * 10**9, description="how long a path, or a tool of its file system, may take")
    reference_bytes: Length = Field(10**9, description="bytes that a job is taken to read where nothing is known of it")
    reference_operations: int = Field(1000, ge=0, description="operations that it is taken to do")
    near_bandwidth: Rate = Field(10**9, description="bytes per second beside the data, where nothing else is known")
    near_latency: Delay = Field(0, description="of one operation there")
    far_bandwidth: Rate = Field(10**8, description="bytes per second from any other host")
    far_latency: Delay = Field(10**6, description="of one operation from there")
    cpu_bound_below: Part = Field(0.1, description="a job that waits for storage less than this is not capped")


class Site(Section):
    """The whole file; several files (system, user, project) make one, the nearest first."""

    scheduler: SchedulerName = Field("auto", description="who runs jobs")
    lines: Annotated[Text, AfterValidator(_absolute)] | None = Field(
        None, description="directory of load lines that all users share"
    )
    server: tuple[Server, ...] = Field((), description="file servers, a table `[[server]]` each")
    access: tuple[Access, ...] = Field((), description="links that are not alike, a table `[[access]]` each")
    policy: Policy = Field(Policy(), description="how jobs are placed: `[policy]`")

    def named(self, name: str) -> Server | None:
        """The server that has this name, alias or address: the whole name, or its first part before a dot."""
        for spelled in (name, name.partition(".")[0]):
            for server in self.server:
                if spelled in (server.name, *server.aliases):
                    return server
        return None
