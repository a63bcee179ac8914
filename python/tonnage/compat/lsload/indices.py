"""LSF's load indices of a server: their names, how they are shown, and which way is better."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tonnage.errors import RequestError
from tonnage.placement.indices.reading import Host, Reading
from tonnage.placement.server_load import LoadRow
from tonnage.placement.site import Server, Site

UNKNOWN = "-"
_MB = 1 << 20
"""LSF's."""
_MOST_M = 10_000
SHORT = ("r15s", "r1m", "r15m", "ut", "pg", "ls", "it", "tmp", "swp", "mem")
LONG = ("r15s", "r1m", "r15m", "ut", "pg", "io", "ls", "it", "tmp", "swp", "mem", "bio", "rpc")
ALIASES = {"swap": "swp", "idle": "it", "login": "ls", "cpu": "r1m"}


@dataclass(frozen=True, slots=True)
class Index:
    """One of them. Its value is in the units that requirements are written in: ``ut`` of one, sizes in MB."""

    value: Callable[[Reading], float | None]
    shown: Callable[[float], str]
    width: int = 5
    more_is_better: bool = False
    per_cpu: bool = False
    """A run queue, which ``-E`` and ``-N`` divide by the number of CPUs."""


def value(row: LoadRow, name: str, *, per_cpu: bool = False) -> float | None:
    """Of a server; None where it is not known. ``per_cpu``: run queues are those of one CPU."""
    reading, index = row.reading, INDICES[name]
    found = None if reading is None else index.value(reading)
    if found is None or reading is None or not (per_cpu and index.per_cpu):
        return found
    return found / reading.cpus if reading.cpus else None


def status(row: LoadRow) -> str:
    """Returns the status in LSF's words."""
    if row.age_s is None:
        return "unavail"
    if row.stale:
        return "-ok"
    return "busy" if row.carries is not None and row.carries <= 0 else "ok"


def _tenths(value: float) -> str:
    return f"{value:.1f}"


def _whole(value: float) -> str:
    return f"{value:.0f}"


def _size(megabytes: float) -> str:
    """``512M``, ``23.4G``, ``1.2T``."""
    if megabytes < _MOST_M:
        return f"{megabytes:.0f}M"
    gigabytes = megabytes / 1024
    return f"{gigabytes:.1f}G" if gigabytes < 1000 else f"{gigabytes / 1024:.1f}T"


def _of_host(value: Callable[[Host], float | None], divisor: float = 1) -> Callable[[Reading], float | None]:
    def found(reading: Reading) -> float | None:
        figure = value(reading.host)
        return None if figure is None else figure / divisor

    return found


INDICES: dict[str, Index] = {
    "r15s": Index(_of_host(lambda host: host.run_15s), _tenths, per_cpu=True),
    "r1m": Index(_of_host(lambda host: host.run_1m), _tenths, per_cpu=True),
    "r15m": Index(_of_host(lambda host: host.run_15m), _tenths, per_cpu=True),
    "ut": Index(
        lambda reading: None if reading.ut_permille is None else reading.ut_permille / 1000,
        lambda part: f"{100 * part:.0f}%",
    ),
    "pg": Index(lambda reading: reading.pages_per_s, _tenths),
    "io": Index(
        lambda reading: None if reading.bio_bytes_per_s is None else reading.bio_bytes_per_s / 1024, _whole, width=8
    ),
    "ls": Index(_of_host(lambda host: host.logins), _whole),
    "it": Index(_of_host(lambda host: host.idle_s, 60), lambda minutes: str(int(minutes)), more_is_better=True),
    "tmp": Index(_of_host(lambda host: host.tmp_free_bytes, _MB), _size, more_is_better=True),
    "swp": Index(_of_host(lambda host: host.swap_free_bytes, _MB), _size, more_is_better=True),
    "mem": Index(_of_host(lambda host: host.memory_free_bytes, _MB), _size, more_is_better=True),
    "bio": Index(lambda reading: reading.bio_per_s, _tenths, width=9),
    "rpc": Index(lambda reading: reading.rpc_per_s, _tenths, width=9),
}


TASKS = "tasks"
"""Of this name is what the load line of a server still carries."""
_HEADING = ("RESOURCE", "VALUE", "LOCATION")


def shared_table(site: Site, rows: Sequence[LoadRow], names: Sequence[str]) -> str:
    """Under LSF's headings: how much of each is left, and the hosts that share it; of these names, or of all.

    RequestError where there is none of a name.
    """
    found = [line for row in rows if (server := site.named(row.server)) for line in _of(server, row)]
    known = [TASKS, *dict.fromkeys(server.licence for server in site.server if server.licence)]
    for name in names:
        if name not in known:
            raise RequestError(f"lsload -s: there is no shared resource {name!r}; hint: they are {', '.join(known)}")
    lines = [_HEADING, *(line for line in found if not names or line[0] in names)]
    width = max(len(line[0]) for line in lines)
    return "\n".join(f"{name:<{width}}  {left:>9}  {where}" for name, left, where in lines)


def _of(server: Server, row: LoadRow) -> list[tuple[str, str, str]]:
    where = " ".join(server.hosts) or server.name
    found = [(TASKS, _text(row.carries), where)]
    if server.licence:
        total = server.slots or (server.line.tasks if server.line is not None else None)
        left = None if total is None or row.running is None else max(0, total - row.running)
        found.append((server.licence, _text(left), where))
    return found


def _text(left: int | None) -> str:
    return UNKNOWN if left is None else str(left)
