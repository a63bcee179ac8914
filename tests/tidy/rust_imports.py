"""Which files of a crate name which others: by ``use``, and by paths in their code. Tests do not count.

What a file exports again (``pub use``) is followed to where it stands, and does not make its own file depend on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

Key = tuple[str, ...]
"""A module by its path in the crate; the root is empty."""

_COMMENT = re.compile(r"//[^\n]*")
_TESTS = re.compile(r"^#\[cfg\(test\)\]\n(?:#\[[^\n]*\n)*mod \w+ \{.*", re.MULTILINE | re.DOTALL)
_EXPORT = re.compile(r"\bpub(?:\([^)]*\))?\s+use\s+([^;]+);")
_USE = re.compile(r"\buse\s+([^;]+);")
_PATH = re.compile(r"(?<![:\w])(\w+(?:::\w+)+)")


def key_of(file: str) -> Key:
    """Of a path below ``src``."""
    parts = file.removesuffix(".rs").split("/")
    return () if parts == ["lib"] else tuple(parts[:-1] if parts[-1] == "mod" else parts)


def paths_of(tree: str) -> list[Key]:
    """``a::{b, c::{d, e}}`` as one path each."""
    head, brace, body = tree.partition("{")
    if not brace:
        return [tuple(part.strip() for part in tree.partition(" as ")[0].split("::"))]
    found: list[Key] = []
    depth, current = 0, ""
    for sign in body.rstrip()[:-1] + ",":
        depth += (sign == "{") - (sign == "}")
        if sign == "," and not depth:
            found += [(*_head(head), *rest) for rest in paths_of(current.strip()) if current.strip()]
            current = ""
        else:
            current += sign
    return found


def _head(text: str) -> Key:
    return tuple(part for part in text.strip().split("::") if part)


class Crate:
    """The files of a crate below ``src``, by their names there, and what they hold."""

    def __init__(self, files: Mapping[str, str]) -> None:
        is_test = re.compile(r"(?:^|/)(?:tests(?:/|\.rs$)|\w+_tests\.rs$)")
        kept = {key_of(file): (file, text) for file, text in files.items() if not is_test.search(file)}
        self.names = {key: file for key, (file, _) in kept.items()}
        self._texts = {key: _TESTS.sub("", _COMMENT.sub("", text)) for key, (_, text) in kept.items()}
        self._exports = {key: _exports(text) for key, text in self._texts.items()}

    def uses(self, key: Key) -> set[Key]:
        """The modules that this one names."""
        text = _EXPORT.sub("", self._texts[key])
        paths = [path for tree in _USE.findall(text) for path in paths_of(" ".join(tree.split()))]
        paths += [_head(path) for path in _PATH.findall(_USE.sub("", text))]
        found = {self._where(key, path, 0) for path in paths if self._is_ours(key, path[0])}
        return {where for where in found if where is not None} - {key}

    def _is_ours(self, key: Key, first: str) -> bool:
        return first in ("crate", "super", "self") or (*key, first) in self.names

    def _where(self, base: Key, path: Key, steps: int) -> Key | None:
        """The module in which what the path leads to stands."""
        if not path or steps > 20:
            return base
        first, rest = path[0], path[1:]
        match first:
            case "crate":
                return self._where((), rest, steps + 1)
            case "super":
                return self._where(base[:-1], rest, steps + 1)
            case "self":
                return self._where(base, rest, steps + 1)
        if (*base, first) in self.names:
            return self._where((*base, first), rest, steps + 1)
        exported = self._exports.get(base, {}).get(first)
        if exported is None:
            return base if base in self.names else None
        return self._where(base, exported, steps + 1) if self._is_ours(base, exported[0]) else None

    def circles(self) -> list[list[str]]:
        """Files that need each other, the largest circle first."""
        edges = {key: self.uses(key) for key in self.names}
        found = [[self.names[key] for key in circle] for circle in circles(edges) if len(circle) > 1]
        return sorted((sorted(circle) for circle in found), key=len, reverse=True)


def _exports(text: str) -> dict[str, Key]:
    return {path[-1]: path for tree in _EXPORT.findall(text) for path in paths_of(" ".join(tree.split()))}


def circles(edges: Mapping[Key, Iterable[Key]]) -> Iterator[set[Key]]:
    """Sets of modules each of which leads to all others of its set."""
    reach: dict[Key, set[Key]] = {}
    for start in edges:
        seen: set[Key] = set()
        ahead = list(edges[start])
        while ahead:
            here = ahead.pop()
            if here not in seen:
                seen.add(here)
                ahead += edges.get(here, ())
        reach[start] = seen
    left = set(edges)
    while left:
        start = min(left)
        circle = {start} | {other for other in reach[start] if start in reach.get(other, ())}
        yield circle
        left -= circle
