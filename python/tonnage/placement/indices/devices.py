"""Which block devices count, so that no operation counts twice."""

from __future__ import annotations

import re
from collections.abc import Iterable

_STACKED = re.compile(r"(?:dm-|md|loop|zd|drbd|bcache|ram|zram|fd|sr|nvme\d+c)\d")
"""What lies on other devices (mapper, RAID, loop, zvol, drbd, bcache, one path of a multipath NVMe), in memory, or
takes discs: an operation there is none of a device, or counts again on the device below."""
_PARTITION = re.compile(r"(?P<whole>.*?[^\d])(?P<number>\d+)")


def counted(names: Iterable[str]) -> frozenset[str]:
    """The whole devices among ``names`` (``sda``, ``nvme0n1``, ``vda``, ``nbd0``, ``rbd0``), without their partitions.

    Where only stacked devices are listed, they count: an exporter that was told to show one loop device means it.
    """
    listed = frozenset(names)
    whole = frozenset(name for name in listed if not _is_partition(name, listed))
    return frozenset(name for name in whole if not _STACKED.match(name)) or whole


def _is_partition(name: str, listed: frozenset[str]) -> bool:
    """``sda1`` beside ``sda``, ``nvme0n1p2`` beside ``nvme0n1``; ``xvda1`` alone is a device."""
    found = _PARTITION.fullmatch(name)
    if found is None:
        return False
    whole = found["whole"]
    # The kernel sets a p between where the device's own name ends in a digit.
    return whole in listed or (whole.endswith("p") and whole[-2:-1].isdigit() and whole[:-1] in listed)
