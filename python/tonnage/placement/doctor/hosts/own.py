"""What is wrong with a host by itself."""

from __future__ import annotations

from collections.abc import Iterator

from tonnage.placement.doctor.complaint import Complaint, own_hint
from tonnage.placement.doctor.hosts.look import Host, Party
from tonnage.units import size_text

CLOCK_S, CLOCK_NOTE_S = 2.0, 0.1
"""Beyond the first, ages of files and instants of records mean nothing across hosts; NTP leaves less than the other."""
BUSY = 0.25
"""Load per CPU."""
PRESSURE_PERCENT = {"cpu": 10.0, "io": 10.0, "memory": 1.0}
"""Of the last 10 s in which somebody waited for it."""
FREE_SHARE = 0.1
"""Of memory; with less the page cache is not what it is else."""
SWAP_SHARE = 0.01
"""Of memory, that is in swap."""
FEW_FILES = 4096


def there(party: Party) -> Iterator[Complaint]:
    """It answers."""
    for host in party.hosts:
        if host.problem is not None:
            what, hint = own_hint(host.problem, "see that this user gets there without a question, or leave it out")
            yield Complaint(code="unreachable", where=host.name, what=what, hint=hint)


def clock(party: Party) -> Iterator[Complaint]:
    """Its clock is right, as far as a round trip can tell."""
    for host in party.there:
        ahead_ns, uncertain_ns = host.clock_ahead_ns or 0, host.clock_uncertainty_ns or 0
        off_s = max(0, abs(ahead_ns) - uncertain_ns) / 1e9
        if off_s > CLOCK_NOTE_S:
            way = "ahead of" if ahead_ns > 0 else "behind"
            what = (
                f"its clock is {abs(ahead_ns) / 1e9:.3f} s (give or take {uncertain_ns / 1e9:.3f} s) {way} this host's"
            )
            hint = "let both keep time by NTP"
            yield Complaint(code="clock-off", where=host.name, what=what, hint=hint, wrong=off_s > CLOCK_S)


def load(party: Party) -> Iterator[Complaint]:
    """Nobody else uses it."""
    for host in party.there:
        cpus, one = host.facts["cpus_allowed"], host.facts["load_1min"]
        if one > BUSY * cpus:
            what = f"{one:.1f} processes ran or waited in the last minute, on {cpus} CPUs"
            hint = "wait until it is idle, or have it alone (--exclusive)"
            yield Complaint(code="other-load", where=host.name, what=what, hint=hint, wrong=False)
        for resource, most in PRESSURE_PERCENT.items():
            some = ((host.facts["pressure"] or {}).get(resource) or {}).get("some_avg10", 0.0)
            if some > most:
                what = f"processes waited for {resource} in {some:.0f} % of the last 10 s"
                hint = "see what runs there, or have it alone"
                yield Complaint(code=f"{resource}-pressure", where=host.name, what=what, hint=hint, wrong=False)


def memory(party: Party) -> Iterator[Complaint]:
    """Its memory is free for the page cache, and nothing of it is on a disk."""
    for host in party.there:
        total, free, swapped = (host.facts[key] for key in ("memory_bytes", "available_bytes", "swap_used_bytes"))
        if total and free is not None and free < FREE_SHARE * total:
            what = f"only {size_text(free)} of {size_text(total)} of memory is free"
            hint = "end what holds it: the page cache is smaller than it looks, and reads come from elsewhere"
            yield Complaint(code="memory-short", where=host.name, what=what, hint=hint, wrong=False)
        if total and swapped and swapped > SWAP_SHARE * total:
            what = f"{size_text(swapped)} are in swap"
            hint = "end what needs them: swapping takes its share of a device"
            yield Complaint(code="swap-in-use", where=host.name, what=what, hint=hint, wrong=False)


def clock_rate(party: Party) -> Iterator[Complaint]:
    """Its CPUs are always as fast."""
    for host in party.there:
        slow = [name for name in host.facts["governors"] if name != "performance"]
        if slow:
            what = f"its CPUs are clocked by the governor {', '.join(slow)}: short operations find them slow"
            hint = "set the governor performance (cpupower frequency-set), or ask who may"
            yield Complaint(code="governor", where=host.name, what=what, hint=hint, wrong=False)


def files(party: Party) -> Iterator[Complaint]:
    """A process may have as many files open as tasks need."""
    for host in party.there:
        if 0 <= host.facts["open_files"] < FEW_FILES:
            what = f"a process may have {host.facts['open_files']} files open"
            hint = f"ulimit -n {FEW_FILES}, for tasks with a file each and devices with a queue each"
            yield Complaint(code="few-files", where=host.name, what=what, hint=hint, wrong=False)


def uring(party: Party) -> Iterator[Complaint]:
    """The storage uring can be used."""
    for host in party.there:
        if not host.facts["io_uring"]:
            yield Complaint(
                code="no-io-uring",
                where=host.name,
                what=f"io_uring is not allowed: {_why_no_uring(host)}",
                hint="leave storage = uring out, on all hosts alike",
                wrong=False,
            )


def _why_no_uring(host: Host) -> str:
    disabled = host.facts["io_uring_disabled"]
    return f"kernel.io_uring_disabled = {disabled}" if disabled else str(host.facts["not_io_uring"])
