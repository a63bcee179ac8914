"""iperf3's text for people, of one end and one way, as a trial of a ``network``.

``MBytes`` are 2^20 bytes, ``Mbits`` 10^6 bits, and both have three digits: its JSON says more, and has the options.
"""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

from tonnage.importers import iperf3, iperf3_run
from tonnage.importers.imported_phases import ImportedFile, Note, Unplaced, few
from tonnage.importers.rounded_numbers import GIB, KIB, MIB, Rounded, elapsed_ns, rounded
from tonnage.importers.trace import content
from tonnage.records.line_types import Json

_ROW = re.compile(
    r"\[ *(SUM|\d{1,9})\](\[[RT]X-[CS]\])? +([0-9.]+)-([0-9.]+) +sec +([0-9.]+) ([KMGT]?)Bytes"
    r" +([0-9.]+) ([KMGT]?)(bits|Bytes)/sec(.*)"
)
_PEERS = re.compile(r"\[ *\d+\] local (\S+) port (\d+) connected to (\S+) port (\d+)")
_BEGINS = re.compile(r"(Connecting to host |Accepted connection from )")
_UNITS = {"": 1, "K": KIB, "M": MIB, "G": GIB, "T": 2**40}
_THOUSANDS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
"""Of bits."""
_ESTIMATED = Note("bytes-estimated", "iperf3's text has three digits of its bytes; its JSON (--json) has all")


def read(data: bytes, _: str) -> ImportedFile:
    """Reads the tests of a text. Never raises: ``problems`` names the line of each part that it cannot read."""
    lines, torn = content(data)
    starts = [number for number, line in enumerate(lines) if _BEGINS.match(line)]
    if not starts:
        return ImportedFile(problems=("line 1: this is no text of iperf3: no test begins in it",))
    phases, problems, host = [], [], None
    for number, (begin, end) in enumerate(zip(starts, [*starts[1:], len(lines)], strict=True), 1):
        test = _as_json(lines[begin : end - 1 if torn and end == len(lines) else end])
        found = test if isinstance(test, str) else _phase(test)
        if isinstance(found, str):
            problems.append(f"line {begin + 1}: this test {found}; left out")
        else:
            host = host or found.network["flows"][0]["sender"] if found.network else host
            unplaced = Unplaced(f"test {number}", ("options",), "iperf3 states its options in JSON alone")
            phases.append(
                replace(found, line=begin + 1, stated_rate=None, notes=(*found.notes, _ESTIMATED), unplaced=unplaced)
            )
    return ImportedFile(phases=tuple(phases), problems=few(problems), tool="iperf3", host=host)


def _phase(said: Json) -> Any:
    try:
        report = iperf3.report_of(said)
    except iperf3.NoReport as error:
        return f"is not whole: {error}"
    return iperf3_run.phase_of(said, report)


def _as_json(lines: list[str]) -> Json | str:
    """The same as iperf3's JSON has it, with bytes as exact as they stand; or why not, a predicate."""
    if not lines:
        return "breaks off before its end"
    served = lines[0].startswith("Accepted")
    backward = any(line.startswith("Reverse mode") for line in lines)
    peers = [found for line in lines if (found := _PEERS.match(line))]
    rows = [found for line in lines if (found := _ROW.match(line))]
    if any(row[2] for row in rows):
        return "went both ways at once, whose text does not tell them apart over time; hint: iperf3 --json"
    streams = len({row[1] for row in rows} - {"SUM"})
    wanted = [row for row in rows if (row[1] == "SUM") == (streams > 1)]
    ends = {end: row for row in wanted for end in ("sender", "receiver") if row[10].rstrip().endswith(end)}
    measured = [row for row in wanted if row not in ends.values() and "(omitted)" not in row[10]]
    if not ends or not measured or not peers:
        return "breaks off before its end"
    # A server prints the line of its own end.
    sender = "sender" in ends if served and len(ends) == 1 else not backward
    # A client has its own line and that of the other end, and what arrived is the receiver's.
    if not {"sender" if sender else "receiver", *(() if served else ("receiver",))} <= ends.keys():
        return "breaks off before its end"
    intervals = [{"sum": {**_sum(row), "start": float(row[3]), "omitted": False, "sender": sender}} for row in measured]
    sums = {f"sum_{'sent' if end == 'sender' else 'received'}": _sum(row) for end, row in ends.items()}
    udp = any("Datagrams" in line for line in lines)
    start = {
        "version": "iperf ",
        "connected": [{"local_host": peers[0][1], "remote_host": peers[0][3]}],
        "test_start": {"num_streams": streams, "reverse": int(sender == served), "protocol": "UDP" if udp else "TCP"},
        **({"accepted_connection": {}} if served else {}),
    }
    return {"start": start, "intervals": intervals, "end": {"sum_sent": {}, **sums}}


def _sum(row: re.Match[str]) -> Json:
    """Bytes and seconds that agree with the rate beside them, where such are: all three are rounded."""
    begin, end = float(row[3]), float(row[4])
    zero = Rounded(0, 0, 1)
    moved = (rounded(row[5]) or zero).times(_UNITS[row[6]])
    seconds, rate = rounded(f"{end - begin:.2f}") or zero, rounded(row[7]) or zero
    rate = rate.times(_UNITS[row[8]] if row[9] == "Bytes" else Fraction(_THOUSANDS[row[8]], 8))
    least, most = max(moved.low, rate.low * seconds.low), min(moved.high, rate.high * seconds.high)
    count = round((least + most) / 2 if least <= most else moved.middle)
    retransmits = re.match(r" +(\d+) ", row[10])
    return {
        "bytes": count,
        "start": begin,
        "end": end,
        "seconds": (elapsed_ns(count, seconds, rate) or 0) / 1e9,
        **({"retransmits": int(retransmits[1])} if retransmits and "ms" not in row[10] else {}),
    }
