"""Judgements on the devices that held the files."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from tonnage.analysis.balance import UNEVEN, largest
from tonnage.analysis.devices import devices_of
from tonnage.analysis.findings.registry import Evidence, finding, subject
from tonnage.analysis.results import DevicePart, Devices, Finding
from tonnage.analysis.text import count
from tonnage.units import rate_text, share

SLOW = 0.75
"""Share of the other devices' median rate below which a device is slow."""
_LEAST = 3
"""Devices of which one can be told from the others, and repetitions after which it is no accident."""


@finding("straggler-device")
def straggler_device(evidence: Evidence) -> Iterator[Finding]:
    """A device that was slower than the others in every repetition. Of each curve the point with most tasks."""
    found = devices_of(evidence.points, evidence.trials, evidence.tasks, evidence.run.devices())
    largest = {(one.op, one.group): one for one in sorted(found, key=lambda one: one.tasks)}
    for one in largest.values():
        slow = [(part, ratio) for part in one.parts if (ratio := _ratio(one, part)) is not None and ratio < SLOW]
        if slow and len(slow) <= len(one.parts) // 2:
            yield _told(one, slow)


def _ratio(found: Devices, part: DevicePart) -> float | None:
    """Its best repetition against the other devices' medians: only what is always slow is called so."""
    others = [other.median_bytes_per_s for other in found.parts if other is not part and other.median_bytes_per_s]
    if len(others) < _LEAST - 1 or len(part.rates) < _LEAST:
        return None
    return max(part.rates) / statistics.median(others)


def _told(found: Devices, slow: Sequence[tuple[DevicePart, float]]) -> Finding:
    worst, _ = min(slow, key=lambda pair: pair[1])
    middle = statistics.median(
        part.median_bytes_per_s for part in found.parts if part is not worst and part.median_bytes_per_s
    )
    rate = worst.median_bytes_per_s or 0.0
    more = f", and {count(len(slow) - 1, 'other')} as well" if len(slow) > 1 else ""
    return Finding(
        "straggler-device",
        subject(found.op, found.group, found.tasks),
        f"tasks on {worst.device} moved {rate_text(rate)}, {share(rate / middle)} of the other devices' median, "
        f"in each of {count(len(worst.rates), 'repetition')}{more}",
        "That device or its server is slower: compare it by itself (`device`), and look at what else uses it.",
    )


@finding("uneven-osds")
def uneven_osds(evidence: Evidence) -> Iterator[Finding]:
    """Of each operation the point with the most objects: the others have a part of the same."""
    for found in largest(evidence.balances):
        if found.verdict != UNEVEN:
            continue
        busiest = max((part for part in found.parts if part.fair_share), key=lambda part: part.share / part.fair_share)
        yield Finding(
            "uneven-osds",
            subject(found.op, found.group, found.tasks),
            f"osd.{busiest.osd} took {share(busiest.share)} of the bytes of {count(found.objects, 'object')}, "
            f"{found.busiest:.3g} times its fair share; random draws stay below {found.most:.3g} times in 95 of 100",
            "Look at the weights of the OSDs, at the number of placement groups and at the balancer; few objects on "
            "few groups stay uneven whatever is done.",
        )
