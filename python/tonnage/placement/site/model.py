"""The schema of ``tonnage.toml``. Every default of placement is here and nowhere else."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from tonnage.units import parse_rate, parse_share, parse_size, parse_time


def _read_as(parse: Any) -> BeforeValidator:
    return BeforeValidator(lambda value: parse(value) if isinstance(value, str) else value)


Size = Annotated[int, _read_as(parse_size), Field(ge=0)]
Time = Annotated[int, _read_as(parse_time), Field(ge=0)]
Rate = Annotated[int, _read_as(parse_rate), Field(gt=0)]
Share = Annotated[float, _read_as(parse_share), Field(ge=0, le=1)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Line(_Section):
    """A load line stated by hand, for a server that nobody probed."""

    tasks: int = Field(ge=1, description="tasks beyond which more only wait")
    plateau: Rate | None = Field(None, description="bytes per second there")


class Server(_Section):
    """A file server, or a set of them that one name stands for."""

    name: str = Field(min_length=1, description="what users and messages call it")
    aliases: tuple[str, ...] = Field((), description="other names and addresses of it, as mounts and tools print them")
    holds: tuple[str, ...] = Field(
        (), description="what it serves, where no tool says so: a mount source, a path, or FSNAME-OST0003; '*' matches"
    )
    hosts: tuple[str, ...] = Field((), description="hosts beside it, as the scheduler calls them, nearest first")
    queue: str | None = Field(None, description="queue or partition of those hosts")
    slots: int | None = Field(None, ge=1, description="jobs that may run beside it at once")
    licence: str | None = Field(None, description="the scheduler's licence or resource of which each job holds one")
    indices: str | None = Field(
        None, description="where its load is read: http://HOST:9100/metrics, ssh:HOST, or proc: for this host"
    )
    line: Line | None = Field(None, description="its load line, where none was measured")


class Access(_Section):
    """How fast a host reaches a server; the first entry that matches both counts."""

    hosts: tuple[str, ...] = Field(("*",), description="hosts, '*' matches")
    servers: tuple[str, ...] = Field(("*",), description="servers, '*' matches")
    bandwidth: Rate = Field(description="bytes per second of one host")
    latency: Time = Field(0, description="of one operation")


class Policy(_Section):
    """How jobs are placed."""

    local_wait: Time = Field(60 * 10**9, description="longest expected wait for a slot beside the data")
    index_age: Time = Field(30 * 10**9, description="age beyond which an index is stale, and said so")
    index_refresh: Time = Field(10 * 10**9, description="age beyond which an index is read again")
    index_timeout: Time = Field(30 * 10**6, description="how long a decision waits for indices")
    decay: Time = Field(60 * 10**9, description="time in which the weight of a placed job falls to 1/e")
    scheduler_timeout: Time = Field(10 * 10**9, description="how long one of the scheduler's tools may take")
    file_timeout: Time = Field(2 * 10**9, description="how long a path, or a tool of its file system, may take")
    reference_bytes: Size = Field(10**9, description="bytes that a job is taken to read where nothing is known of it")
    reference_operations: int = Field(1000, ge=0, description="operations that it is taken to do")
    cpu_bound_below: Share = Field(0.1, description="a job that waits for storage less than this is not capped")


class Site(_Section):
    """The whole file; several files (system, user, project) make one, the nearest first."""

    scheduler: Literal["auto", "slurm", "lsf", "pbs", "flux", "local"] = Field("auto", description="who runs jobs")
    lines: str | None = Field(None, description="directory of load lines that all users share")
    server: tuple[Server, ...] = Field((), description="[[server]]: file servers")
    access: tuple[Access, ...] = Field((), description="[[access]]: links that are not alike")
    policy: Policy = Field(Policy(), description="[policy]")

    def named(self, name: str) -> Server | None:
        """The server that has this name, alias or address: the whole name, or its first part before a dot."""
        for spelled in (name, name.partition(".")[0]):
            for server in self.server:
                if spelled in (server.name, *server.aliases):
                    return server
        return None
