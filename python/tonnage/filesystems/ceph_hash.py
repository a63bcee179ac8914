"""From an object's name to its placement group, as every Ceph client computes it.

The hash is Robert Jenkins' ``lookup2`` (Dr Dobb's, September 1997; public domain), which Ceph calls rjenkins; the
group is its value folded so that a pool may grow (``ceph_stable_mod``).
"""

from __future__ import annotations

_MASK = 0xFFFFFFFF
_GOLDEN = 0x9E3779B9
_SHIFTS = ((13, -8, 13), (12, -16, 5), (3, -10, 15))
"""Of the three rounds of a mix: right, left (negative) and right again."""


def rjenkins(text: bytes) -> int:
    """Computes the 32 bits of the hash of a name."""
    a = b = _GOLDEN
    c = 0
    at = 0
    while len(text) - at >= 12:
        a, b, c = _mix(a + _word(text, at), b + _word(text, at + 4), c + _word(text, at + 8))
        at += 12
    rest = text[at:]
    # The lowest byte of the last word is the length's.
    last = rest[8:]
    c = c + len(text) + (int.from_bytes(last, "little") << 8)
    a, b = a + int.from_bytes(rest[:4], "little"), b + int.from_bytes(rest[4:8], "little")
    return _mix(a, b, c)[2]


def placement_group(name: str, groups: int, *, namespace: str = "") -> int:
    """The number of the group, of ``groups`` in its pool, that an object is in."""
    key = f"{namespace}\x1f{name}" if namespace else name
    return stable_mod(rjenkins(key.encode()), groups)


def stable_mod(value: int, groups: int) -> int:
    """``value`` modulo the power of two at or above ``groups``, or half of that where there is no such group."""
    mask = (1 << max(groups - 1, 0).bit_length()) - 1
    return value & mask if value & mask < groups else value & (mask >> 1)


def _word(text: bytes, at: int) -> int:
    return int.from_bytes(text[at : at + 4], "little")


def _mix(a: int, b: int, c: int) -> tuple[int, int, int]:
    a, b, c = a & _MASK, b & _MASK, c & _MASK
    for first, second, third in _SHIFTS:
        a = _stir(a - b - c, c, first)
        b = _stir(b - c - a, a, second)
        c = _stir(c - a - b, b, third)
    return a, b, c


def _stir(value: int, other: int, shift: int) -> int:
    return (value ^ (other >> shift if shift > 0 else other << -shift)) & _MASK
