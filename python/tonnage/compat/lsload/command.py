"""``lsload``, from ``tonnage.placement``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tonnage.compat.front_end import Given, Voice, parse_arguments
from tonnage.compat.lsload.indices import INDICES, LONG, SHORT, UNKNOWN, shared_table, status, value
from tonnage.compat.lsload.options import LSLOAD
from tonnage.compat.lsload.resource_requirement import index_name, parse
from tonnage.errors import RequestError
from tonnage.placement.server_load import LoadReader, LoadRow, select_servers
from tonnage.placement.site import load_site

_NAME = 20
"""Characters of a name, unless ``-w`` or ``-l``."""


def run(words: Sequence[str], voice: Voice) -> int:
    """Exit code: 1 where no index of any server could be read, or no server satisfies what was required."""
    given = parse_arguments(LSLOAD, words)
    names = given.texts("names")
    if given["-N"] and given["-E"]:
        raise RequestError("lsload: -N and -E say how run queues are shown; hint: give one of them")
    requirement = parse(given.text_if("-R") or "")
    indices = _indices(given)
    site = load_site(Path())
    shared = bool(given["-s"])
    look = LoadReader(
        site, select_servers(site, () if shared else names), refresh_ns=site.policy.index_refresh, count_jobs=shared
    )
    found = look()
    per_cpu = bool(given["-N"] or given["-E"])
    chosen = requirement.apply(found, per_cpu=per_cpu)[: given.number_if("-n")]
    if shared:
        voice.say(shared_table(site, chosen, names))
    elif chosen:
        voice.say(table(chosen, indices, wide=bool(given["-w"] or given["-l"]), per_cpu=per_cpu))
    else:
        voice.tell("lsload: no server satisfies the resource requirement")
    for row in chosen:
        if row.problem:
            voice.tell(f"lsload: {row.server}: {row.problem}")
    for note in look.notes:
        voice.tell(f"lsload: {note}")
    return int(all(row.age_s is None for row in chosen))


def _indices(given: Given) -> tuple[str, ...]:
    """Those of ``-I``, unless ``-l`` asks for all."""
    if given["-l"]:
        return LONG
    return SHORT if given["-I"] is None else tuple(index_name(word) for word in given.text("-I").split(":"))


def table(rows: Sequence[LoadRow], indices: Sequence[str], *, wide: bool, per_cpu: bool = False) -> str:
    """Returns the rows under LSF's headings."""
    width = max([_NAME, *(len(row.server) for row in rows)]) if wide else _NAME
    lines = [f"{'HOST_NAME':<{width}} {'status':>9}" + "".join(f" {name:>{INDICES[name].width}}" for name in indices)]
    for row in rows:
        cells = (f" {_cell(row, name, per_cpu=per_cpu):>{INDICES[name].width}}" for name in indices)
        lines.append(f"{row.server[:width]:<{width}} {status(row):>9}{''.join(cells)}")
    return "\n".join(lines)


def _cell(row: LoadRow, name: str, *, per_cpu: bool) -> str:
    found = value(row, name, per_cpu=per_cpu)
    return UNKNOWN if found is None else INDICES[name].shown(found)
