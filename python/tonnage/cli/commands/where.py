"""``tonnage where``: which servers hold a path, and which hosts are beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tonnage.printable_text import one_line

if TYPE_CHECKING:
    from tonnage.placement.indices.reading import Reading
    from tonnage.placement.server_load_lines import KnownLine
    from tonnage.placement.site import Server
    from tonnage.placement.where import Located
from tonnage.cli.command import Arguments
from tonnage.cli.shared_options import JSON, SITE
from tonnage.command_line import Command
from tonnage.command_option import Option
from tonnage.errors import RequestError
from tonnage.units import parse_size

COMMAND = Command(
    "where",
    "say which servers hold a path, and which hosts are beside them",
    "Prints the mount of PATH, the servers that hold it and how that is known, the scheduler's hosts next to "
    "them, their current load, and their load line if one was measured. Asks the file system's own tools, "
    "each with a time limit: a mount that hangs does not hang this command.",
    (
        Option(("path",), "a file or directory; it need not exist yet", "PATH", ".", optional=True, completes="file"),
        Option(
            ("--transfer",),
            "bytes of one operation; the load line of the nearest transfer size is shown",
            "SIZE",
            "1MiB",
            parse=parse_size,
        ),
        SITE,
        JSON,
    ),
    (
        ("tonnage where", "of the working directory"),
        ("tonnage where --json /scratch/me/input.dat", "for a script"),
    ),
    loads=("tonnage.placement.path_report",),
)

_MOST_ROWS = 16
"""Of the servers of a large file system; ``--json`` has them all."""


def run(arguments: Arguments) -> int:
    """Exit code: 1 where nobody knows the servers."""
    from tonnage.placement.path_report import report_path

    if arguments.transfer == 0:
        raise RequestError("--transfer=0 moves nothing; hint: write it like 1MiB")
    found = report_path(arguments.path, arguments.site, arguments.transfer)
    if arguments.json:
        import json
        from dataclasses import asdict

        from tonnage.placement.answer_types import where_answer

        answer = where_answer(found.located, found.servers, found.readings, found.line)
        print(json.dumps(asdict(answer), indent=2, allow_nan=False))
    else:
        loads = {
            server.name: _load(found.readings.get(server.name), found.at_s, found.site.policy.index_age)
            for server in found.servers
        }
        print("\n".join(_lines(found.located, found.servers, loads, found.line, found.at_s)))
        for number, sentence in enumerate(found.company):
            print(_row("" if number else "company", sentence))
    if (error := found.unknown(arguments.path)) is not None:
        raise error
    return 0


def _lines(
    located: Located, servers: tuple[Server, ...], loads: dict[str, str], line: KnownLine | None, now_s: float
) -> list[str]:
    mount = located.mount
    lines = [_row("path", located.path)]
    if located.real_path != located.path:
        lines.append(_row("which is", located.real_path))
    if mount is not None:
        lines.append(_row("mount", f"{mount.mount_point}, {mount.file_system}, {mount.device}"))
        lines.append(_row("storage", located.target))
    lines += [_row("known by" if not number else "", sentence) for number, sentence in enumerate(located.how)]
    for server in servers[:_MOST_ROWS]:
        lines.append(_row("server", server.name + (" (this host)" if located.local else "")))
        lines.append(_row("beside it", ", ".join(server.hosts) or "no host that the site file names"))
        lines.append(_row("load", loads[server.name]))
    if len(servers) > _MOST_ROWS:
        lines.append(_row("", f"and {len(servers) - _MOST_ROWS} servers more; --json has them all"))
    if located.striped and len(servers) > 1:
        lines.append(_row("", "spread over them: they carry it together, and no job is bound to one"))
    if servers:
        from tonnage.placement.server_load_lines import describe

        lines.append(_row("load line", describe(line, now_s=now_s)))
    return lines


def _row(name: str, text: str) -> str:
    return f"{name:<10} {one_line(text)}"


def _load(reading: Reading | None, now_s: float, index_age_ns: int) -> str:
    """The indices that were read, with their age; a stale one is said to be so."""
    if reading is None:
        return "not known; hint: give the server indices in tonnage.toml"
    parts = []
    if reading.ut_permille is not None:
        parts.append(f"CPU {reading.ut_permille / 10:.0f} %")
    if reading.bio_per_s is not None:
        parts.append(f"{reading.bio_per_s:.0f} block operations/s")
    if reading.rpc_per_s is not None:
        parts.append(f"{reading.rpc_per_s:.0f} NFS calls/s")
    if reading.pressure_permille is not None:
        parts.append(f"I/O pressure {reading.pressure_permille / 10:.0f} %")
    stale = ", too old to count" if reading.age_s(now_s) * 1e9 > index_age_ns else ""
    load_text = f"{', '.join(parts)}, {reading.age_s(now_s):.0f} s ago{stale}" if parts else ""
    return "; ".join(part for part in (load_text, reading.problem) if part) or "nothing was read yet"
