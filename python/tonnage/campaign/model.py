"""The campaign: what a file says, what ``probe`` builds, with every default filled in. The only place of defaults.

Fields hold integers (bytes, nanoseconds); files hold text with units. ``docs/campaign.md`` is the page for users.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import (
    AliasChoices,
    BeforeValidator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, SchemaValidator, core_schema

from tonnage.campaign.kinds import WORKLOADS, Setting, WorkloadSection
from tonnage.campaign.kinds.named_company import ALONE, CompanySection, check_possible
from tonnage.campaign.kinds.stream import Stream, check_searched, searched
from tonnage.campaign.named_scratch import NamedScratch
from tonnage.campaign.number_search_tables import AcceleratorSearch, UserSearch
from tonnage.errors import RequestError
from tonnage.field_types import Count, Device, Flag, Name, ScalarOrList, SchedulerName, Share, Size, Sweep, Tasks, Time
from tonnage.published import EXPERIMENTS
from tonnage.toml_documents import DocumentTable, near_or_all, refuse, refuse_zero, time_field, unit_field
from tonnage.units import format_size, format_time, plural


def _as_list(value: Any) -> Any:
    return value if isinstance(value, (list, tuple)) else (value,)


def _directories(value: Any) -> Any:
    if value == "round-robin":
        return value
    if not isinstance(value, (list, tuple)) or not value:
        what = f"{value!r} says" if value else "the list is empty and says"
        raise ValueError(f'{what} no directory; hint: write "round-robin", or numbers from 0 such as [0, 0, 1]')
    for number in value:
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < 2**31:
            raise ValueError(f"there is no directory {number!r}; hint: number those of the target from 0")
    return value


def _tables(kinds: Collection[str]) -> CoreSchema:
    """One of the tables of these kinds. A place in one has its kind before its key: ``("stream", "tasks")``."""
    for kind in kinds:
        WORKLOADS[kind].model_rebuild()
    return core_schema.tagged_union_schema(
        {kind: WORKLOADS[kind].__pydantic_core_schema__ for kind in kinds},
        lambda table: table.get("kind", "stream") if isinstance(table, dict) else table.kind,
    )


@cache
def _validator(kind: str) -> SchemaValidator:
    return SchemaValidator(_tables([kind]))


def _of_its_kind(table: Any, info: ValidationInfo) -> Any:
    if not isinstance(table, dict | WorkloadSection):
        raise ValueError(f"{table!r} is no table; hint: give it keys, such as tasks = [1, 2, 4]")
    kind = table.get("kind", "stream") if isinstance(table, dict) else getattr(table, "kind", None)
    if not isinstance(kind, str) or kind not in WORKLOADS:
        refuse("kind", f"there is no kind of workload {kind!r}", near_or_all(str(kind), WORKLOADS, "kinds"))
    return _validator(kind).validate_python(table, context=info.context)


class _OfItsKind:
    """The table of the kind that it names itself; those of other kinds are not built, which takes long."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_plain_validator_function(
            _of_its_kind, serialization=core_schema.simple_ser_schema("any")
        )

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return handler(_tables(WORKLOADS))


AnyWorkload = Annotated[WorkloadSection, _OfItsKind()]
"""A ``[workload]`` table of any kind."""


MOST_SETTINGS, MOST_TRIALS = 100_000, 1_000_000
"""Of a campaign: what its records, and everything that reads them, are made for."""

PoolName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]
PathText = Annotated[str, Field(min_length=1, max_length=4096)]


class Repeat(DocumentTable):
    """How often each setting is measured: ``count`` times, or until the interval is narrow."""

    count: Count | None = Field(None, description="repetitions of each setting")
    interval: Share | None = Field(
        None, description="repeat until the 95 % interval of the median is this share of it wide"
    )
    at_least: Count = Field(5, description="repetitions before the interval is looked at")
    at_most: Count = Field(30, description="repetitions after which a setting is given up as noisy")

    @model_validator(mode="after")
    def _one_rule(self) -> Repeat:
        if self.count is not None and self.interval is not None:
            refuse("interval", "count and interval are two rules for the same thing", "keep one of them")
        if self.at_least > self.at_most:
            refuse("at_least", f"at_least {self.at_least} is above at_most {self.at_most}", "make at_most larger")
        return self

    @property
    def fixed(self) -> int | None:
        """The number of repetitions where it is fixed (5 unless said), None where the interval decides."""
        return None if self.interval is not None else self.count or 5


class Budget(DocumentTable):
    """Bounds what a run may use. None: no bound."""

    time_ns: Time | None = time_field("time", None, "no trial starts later than this on the run's clock")
    space_bytes: Size | None = Field(
        None, validation_alias=AliasChoices("space", "space_bytes"), description="bytes of files at once"
    )


LEAST_SEARCH_NS = 1_500_000_000
"""Of an operation: three numbers of tasks, twice each, in the shortest trials, of 250 ms."""
LEAST_SURFACE_NS = 10_000_000_000
"""Of an operation: forty of the shortest trials."""
LEAST_TASKS = 3
"""Of a search: a plateau takes two points beyond the load line."""
LEAST_SURFACE_TASKS = 4
LARGEST_TRANSFER = 1 << 30
"""The most bytes that one call carries."""
MOST_OCTAVES = 16
"""Between the smallest and the largest transfer size of a surface."""


_COMPANY_NS, _SHORTEST_COMPANY_NS, _COMPANY_PARTS = 10**9, 250_000_000, 60
"""Of a trial of company alone: the longest, the shortest, and the part of a search's budget."""


class Search(DocumentTable):
    """An adaptive search for the load line instead of a fixed sweep over ``tasks``."""

    op: Sweep[Literal["write", "read"]] = Field(
        ("write", "read"), description="operations whose load line is looked for, in this order"
    )
    max_tasks: Tasks = Field(32, description="largest number of tasks tried")
    budget_ns: Time = time_field("budget", 60 * 10**9, "time for the whole search, shared by the operations")
    p99_ns: Time | None = time_field("p99", None, "objective: the p99 latency of an operation")
    p999_ns: Time | None = time_field("p999", None, "objective: the p99.9 latency of an operation")
    open_loop: Flag = Field(False, description="find the largest offered rate that meets the objective, not tasks")
    surface: tuple[Size, Size] | None = Field(
        None,
        description="smallest and largest transfer size: find the load line of every size between them, with no "
        "transfer_size in the workload",
    )
    shares: tuple[Size, ...] | None = Field(
        None,
        description="bytes of files at once on each file system of the target, in the order of its directories; a "
        "tenth of what is free on each, or what budget.space says of all",
    )

    @property
    def objectives(self) -> dict[str, int]:
        """Latency objectives: percentile → nanoseconds."""
        return {key: ns for key in ("p99_ns", "p999_ns") if (ns := getattr(self, key)) is not None}

    @field_validator("p99_ns", "p999_ns", mode="before")
    @classmethod
    def _can_be_met(cls, objective_ns: Any, info: ValidationInfo) -> Any:
        return refuse_zero(str(info.field_name).removesuffix("_ns"), objective_ns, "operation", "20ms")

    @field_validator("surface", mode="before")
    @classmethod
    def _has_two_ends(cls, surface: Any) -> Any:
        if surface is not None and not (isinstance(surface, list | tuple) and len(surface) == 2):
            number = len(surface) if isinstance(surface, list | tuple) else 1
            are = "is" if number == 1 else "are"
            refuse("surface", f"a surface is between two sizes, and here {are} {number}", 'write ["4KiB", "16MiB"]')
        return surface

    @model_validator(mode="after")
    def _can_claim_something(self) -> Search:
        if self.max_tasks < LEAST_TASKS:
            what = f"within max_tasks {self.max_tasks} no plateau can show: that takes three numbers of tasks"
            refuse("max_tasks", what, f"give at least {LEAST_TASKS}")
        if self.open_loop and not self.objectives:
            refuse("open_loop", "open_loop looks for the rate that meets a latency objective", "give p99 or p999")
        if self.surface is not None:
            self._check_surface(self.surface)
        least_ns = (LEAST_SEARCH_NS if self.surface is None else LEAST_SURFACE_NS) * len(self.op)
        if self.budget_ns < least_ns:
            refuse(
                "budget",
                f"a budget of {format_time(self.budget_ns)} is too short for any claim about {' and '.join(self.op)}",
                f"give at least {format_time(least_ns)}, or 60s for a load line with an interval",
            )
        return self

    def _check_surface(self, surface: tuple[int, int]) -> None:
        if self.objectives:
            refuse("surface", "a surface is of throughput, and p99 of latency", "ask for one of them")
        if self.max_tasks < LEAST_SURFACE_TASKS:
            refuse("max_tasks", f"a surface needs at least {LEAST_SURFACE_TASKS} tasks", "give more, such as 32")
        smallest, largest = surface
        if largest not in {smallest << octaves for octaves in range(2, MOST_OCTAVES + 1)} or largest > LARGEST_TRANSFER:
            refuse(
                "surface",
                f"a surface from {format_size(smallest)} to {format_size(largest)} cannot be measured",
                f"give a largest transfer size that is 4, 8, … or {1 << MOST_OCTAVES} times the smallest, and at most "
                f"{format_size(LARGEST_TRANSFER)}",
            )


class Stripe(DocumentTable):
    """Striping of the scratch directories, set by the file system's own user tool (Lustre, BeeGFS, MooseFS), and the
    devices that they are pinned to."""

    count: Annotated[int, Field(ge=-1, le=2000, strict=True)] | None = Field(
        None, description="devices (OSTs, storage targets) that a file is spread over; -1: all"
    )
    size: Size | None = Field(None, description="bytes on a device before the next one")
    osts: tuple[Device, ...] | None = Field(
        None,
        description="numbers of OSTs (Lustre) or bricks (GlusterFS); of several directories, k is pinned to the k-th",
    )
    start: Device | None = Field(None, description="Lustre: the OST on which each file begins")
    pool: PoolName | tuple[PoolName, ...] | None = Field(
        None,
        description="a pool of devices (MooseFS: a storage class); of several, directory k is in the k-th",
    )

    @model_validator(mode="after")
    def _says_something(self) -> Stripe:
        if self.osts is not None and self.pool is not None:
            refuse("osts", "osts and pool both choose devices", "keep one of them")
        if self.osts is not None and self.start is not None:
            refuse("start", "osts says where a file begins, and so does start", "keep one of them")
        if all(value is None for value in (self.count, self.size, self.osts, self.start, self.pool)):
            refuse("stripe", "[stripe] says nothing", "give count, size, osts, start or pool, or leave it out")
        return self


class Job(DocumentTable):
    """How a run is handed to a scheduler: what ``tonnage run --on`` asks for, job by job."""

    on: SchedulerName | None = Field(None, description="the scheduler that the run is submitted to; --on sets it")
    partition: Name | None = Field(None, description="of jobs whose workload names none")
    nodes: Count | None = Field(None, description="of each job whose workload names no hosts")
    processes_per_node: Count | None = Field(
        None, description="processes on each node; tasks beyond one a process are threads in them"
    )
    time_limit_ns: Time | None = time_field("time_limit", None, "the scheduler ends a job after so long")
    mpi: Literal["pmix", "pmi2", "none"] | None = Field(
        None, description="how the launcher lets processes find each other; none: a job is one process"
    )
    account: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$")] | None = Field(
        None, description="what jobs are charged to"
    )
    shared: Flag = Field(False, description="other jobs may run on the same nodes meanwhile")

    @model_validator(mode="after")
    def _one_process_without_mpi(self) -> Job:
        if self.mpi == "none" and (self.nodes or 1) * (self.processes_per_node or 1) > 1:
            refuse("mpi", "mpi none is one process, and more are asked for", "leave mpi out, or nodes")
        return self


def _link(value: Any) -> Any:
    from tonnage.analysis.compare.normalise import parse_link

    try:
        return int(parse_link(value).bytes_per_s or 0) if isinstance(value, str) else value
    except RequestError as error:
        raise ValueError(str(error)) from None


_LINK = {"anyOf": [{"type": "string", "examples": ["1Gbit/s"]}, {"type": "integer", "minimum": 1}]}
LinkRate = Annotated[int, BeforeValidator(_link), Field(ge=1, le=2**63 - 1, strict=True), WithJsonSchema(_LINK)]
"""Bytes per second, of a rate that says bits or bytes: ``"1Gbit/s"``."""


class Normalise(DocumentTable):
    """Names what the report also divides the run's best figures by."""

    disks: Count | None = Field(None, description="disks that held the data")
    servers: Count | None = Field(None, description="servers that served it")
    nodes: Count | None = Field(None, description="nodes that the tasks ran on")
    link_bytes_per_s: LinkRate | None = unit_field(
        "link", "bytes_per_s", None, "rate of the link in between, in bits or bytes: 1Gbit/s, 125MB/s"
    )

    @model_validator(mode="after")
    def _says_something(self) -> Normalise:
        if all(value is None for value in (self.disks, self.servers, self.nodes, self.link_bytes_per_s)):
            refuse("normalise", "[normalise] says nothing", "give disks, servers, nodes or link, or leave it out")
        return self


class Campaign(DocumentTable):
    """Everything a run needs to know before it starts."""

    name: Annotated[str, Field(min_length=1, max_length=64)] = Field(
        "campaign", description="part of the run directory's name"
    )
    target: PathText | Annotated[tuple[PathText, ...], Field(min_length=1, max_length=4096)] = Field(
        description="a directory, a list of directories (its devices), or null:, memory:, sim:…"
    )
    assign: Annotated[
        Literal["round-robin"] | Annotated[tuple[Device, ...], Field(min_length=1)], BeforeValidator(_directories)
    ] = Field(
        "round-robin", description="which directory each file goes to: in turn, or by these numbers, from 0, in turn"
    )
    stripe: Stripe | None = Field(None)
    file_names: tuple[PathText, ...] = Field(
        (), description="files of the user instead of scratch files: file i by name"
    )
    existing: Literal["refuse", "overwrite", "ours"] = Field(
        "refuse", description="what a write does where one of file_names is there already"
    )
    keep: Flag = Field(False, description="leave file_names at the end of the run")
    keep_damaged: Flag = Field(False, description="leave file_names where the last phase that read them found damage")
    seed: Annotated[int, Field(ge=0, le=2**63 - 1, strict=True)] | None = Field(
        None, description="of trial order and payloads; drawn and recorded if not given"
    )
    on_error: Literal["continue", "stop"] = Field("continue", description="what a failed trial does to the run")
    launcher: Literal["auto", "local", "mpi"] = Field(
        "auto", description="where tasks run: in this process, or in all that mpiexec or srun started"
    )
    order: Literal["random", "given"] = Field(
        "random", description="of trials: drawn from the seed in blocks, or that of the file again and again"
    )
    scale: Annotated[float, Field(gt=0, le=1e6)] = Field(
        1.0, description="multiplies the amount of work of every workload, never its tasks; --scale sets it"
    )
    keep_operations: Count | None = Field(
        None, description="keep so many operations of each task one by one, with their end and latency"
    )
    pause_ns: Time | None = time_field("pause", None, "wait before each trial, outside every clock")
    place: NamedScratch | None = Field(
        None, description="a scratch directory under a name, instead of one that ends with the run"
    )
    published: str | None = Field(None, description="published figures that the report shows beside these")
    workloads: Annotated[tuple[AnyWorkload, ...], BeforeValidator(_as_list), Field(min_length=1), ScalarOrList()] = (
        Field(
            (Stream(),),
            validation_alias=AliasChoices("workload", "workloads"),
            description="what a trial does: one [workload], or several [[workload]] with a name each",
        )
    )
    repeat: Repeat = Repeat()
    budget: Budget = Budget()
    search: Search | None = Field(None)
    accelerators: AcceleratorSearch | None = Field(None)
    users: UserSearch | None = Field(None)
    job: Job = Job()
    normalise: Normalise | None = Field(None)

    @field_validator("name")
    @classmethod
    def _printable_name(cls, name: str) -> str:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
            raise ValueError(
                f"name {name!r} becomes part of a directory's name; hint: use letters, digits, '.', '_' and '-'"
            )
        return name

    @field_validator("published")
    @classmethod
    def _published_is_known(cls, name: str | None) -> str | None:
        if name is not None and name not in EXPERIMENTS:
            raise ValueError(f"published {name!r} is not known; hint: use one of {', '.join(EXPERIMENTS)}")
        return name

    @property
    def companies(self) -> tuple[str, ...]:
        """What runs beside any of its workloads, each once."""
        with_company = (workload for workload in self.workloads if isinstance(workload, CompanySection))
        named = (text for workload in with_company for text in workload.beside or ())
        return tuple(text for text in dict.fromkeys(named) if text != ALONE)

    @property
    def company_length_ns(self) -> int:
        """How long a trial takes that tells what rate a company reaches alone."""
        if self.search is not None:
            return min(max(self.search.budget_ns // _COMPANY_PARTS, _SHORTEST_COMPANY_NS), _COMPANY_NS)
        limits: list[int] = [ns for one in self.workloads if (ns := getattr(one, "time_limit_ns", None)) is not None]
        return min(limits, default=_COMPANY_NS)

    @property
    def workload(self) -> Stream:
        """The stream that a search measures."""
        return searched(self.workloads)

    def on_hosts(self, there: Callable[[], Sequence[str]]) -> Campaign:
        """The same with what its workloads leave to the run's hosts; ``there`` is asked only if need be. RequestError
        where one cannot be on them."""
        return self.model_copy(update={"workloads": tuple(one.on_hosts(there) for one in self.workloads)})

    def settings(self) -> list[Setting]:
        """Returns every combination of the factors of every workload, in the order of the file."""
        found = (setting for workload in self.workloads for setting in workload.settings(self.scale))
        # Of a search for the most accelerators, or users, what it may come to.
        if (search := self.accelerators or self.users) is not None:
            from tonnage.campaign.kinds.number_searches import largest_settings

            return largest_settings(search, found)
        return list(dict.fromkeys(found))

    @property
    def decides_as_it_goes(self) -> bool:
        """Whether a search says which trial is next, until its time is over."""
        return self.search is not None or self.accelerators is not None or self.users is not None

    @model_validator(mode="after")
    def _names_or_directories(self) -> Campaign:
        if self.file_names and self.assign != "round-robin":
            refuse("assign", "assign places files in directories, and file_names places them", "keep one of them")
        if not self.file_names and (self.keep or self.keep_damaged or self.existing != "refuse"):
            key = "keep" if self.keep else "keep_damaged" if self.keep_damaged else "existing"
            refuse(key, f"{key} is about file_names, and there are none", f"leave {key} out, or give file_names")
        if not self.file_names and any(workload.needs_file_names for workload in self.workloads):
            refuse("workload.spread", "spread is about file_names, and there are none", "leave spread out")
        return self

    @model_validator(mode="after")
    def _trials_can_be_counted(self) -> Campaign:
        settings = sum(workload.combinations for workload in self.workloads)
        if settings > MOST_SETTINGS:
            refuse(
                "workload",
                f"the factors have {settings} combinations, and a campaign has at most {MOST_SETTINGS} settings",
                "give fewer values to the factors, or make several campaigns",
            )
        trials = settings * (self.repeat.fixed or self.repeat.at_most)
        # A budget of time ends the rest.
        bounded = self.decides_as_it_goes or (self.budget.time_ns is not None and self.repeat.fixed is None)
        if trials > MOST_TRIALS and not bounded:
            refuse(
                "repeat",
                f"{plural(settings, 'setting')} would make {trials} trials, and a campaign has at most {MOST_TRIALS}",
                "give a smaller count or at_most, or fewer settings",
            )
        return self

    @model_validator(mode="after")
    def _depth_needs_a_queue(self) -> Campaign:
        if isinstance(self.target, str) and self.target.startswith(("rados:", "nfs:", "s3:")):
            return self  # it has one of its own, whatever storage says
        if any(workload.needs_queue for workload in self.workloads):
            refuse(
                "workload.queue_depth",
                "storage posix and mmap do one operation at a time",
                'set storage = "uring" or queue_depth = 1',
            )
        return self

    @model_validator(mode="after")
    def _workloads_have_names(self) -> Campaign:
        names = [workload.name for workload in self.workloads]
        if len(names) > 1 and (len(set(names)) < len(names) or not all(names)):
            refuse("workload", "several [[workload]] tables need a name each, all different", 'add name = "…" to each')
        return self

    @model_validator(mode="after")
    def _numbers_are_of_one_setting(self, info: ValidationInfo) -> Campaign:
        if self.accelerators is not None or self.users is not None:
            from tonnage.campaign.kinds.number_searches import check_numbers

            check_numbers(self, written=bool((info.context or {}).get("written")))
        return self

    @model_validator(mode="after")
    def _company_is_possible(self) -> Campaign:
        if self.companies:
            check_possible(self.workloads, named_files=bool(self.file_names), placed=bool(self.place), job=self.job)
        return self

    @model_validator(mode="after")
    def _search_is_one_setting(self, info: ValidationInfo) -> Campaign:
        if self.search is not None:
            said = {"transfer_size": "search.surface"} if self.search.surface else {}
            if {*self.workload.op} != {*self.search.op}:
                said["op"] = "search.op"
            check_searched(self.workload, said if (info.context or {}).get("written") else {})
        return self
