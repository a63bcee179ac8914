"""Removes what surrounds a stored tool output: compression, another encoding, colours, labels of ``srun -l``, Markdown.
It does so only where the result is certain, and every line keeps its number."""

from __future__ import annotations

import gzip
import io
import re
import zipfile
import zlib
from collections import Counter
from dataclasses import dataclass, replace

from tonnage.importers.trace import MOST_BYTES

_COLOUR = re.compile(rb"\x1b\[[0-9;]*[mK]")
"""As ``grep --color=always`` and terminals put it before and behind words."""
_LABEL = re.compile(r" *([0-9]{1,7}):(?: (.*))?")
_LEAST_LABELLED = 3
"""Lines, fewer of which may begin with a number and a colon by chance."""
_QUOTED = re.compile(r"> ?")
_FENCE = re.compile(r" {0,3}(?:```|~~~)")
_RULE = re.compile(r"\s*\|(?:\s*:?-+:?\s*\|)+\s*\Z")
_CELLS = re.compile(r"\s*\|.*\|\s*\Z")


@dataclass(frozen=True, slots=True)
class Text:
    """``data`` without its wrapping; ``problem``: why it is not whole, or cannot be unwrapped, a sentence with its
    line."""

    data: bytes
    problem: str | None = None


def unwrapped(data: bytes) -> Text:
    """Never raises, whatever the bytes are."""
    if data.startswith(b"\x1f\x8b"):
        found = _gunzipped(data)
    elif data.startswith(b"PK\x03\x04"):
        found = _unzipped(data)
    else:
        found = Text(data)
    if not found.data:
        return found
    plain = _plain(_COLOUR.sub(b"", _utf8(found.data)))
    return replace(plain, problem=plain.problem or found.problem)


def _gunzipped(data: bytes) -> Text:
    unpacked = bytearray()
    try:
        with gzip.open(io.BytesIO(data)) as file:
            while len(unpacked) <= MOST_BYTES and (part := file.read1()):
                unpacked += part
        return _text_within_limit(bytes(unpacked))
    except EOFError:
        kept = "what can be unpacked of it is kept" if unpacked else "nothing of it can be unpacked"
        return Text(bytes(unpacked), f"the gzip file is cut off; {kept}")
    except (OSError, zlib.error):
        return Text(b"", "the gzip file is damaged; hint: import the file that it was made of")


def _unzipped(data: bytes) -> Text:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = [entry.filename for entry in archive.infolist() if not entry.is_dir()]
            if len(names) != 1:
                return Text(b"", f"the zip file has {len(names)} files; hint: unpack it and import one")
            with archive.open(names[0]) as file:
                return _text_within_limit(file.read(MOST_BYTES + 1))
    except (OSError, EOFError, ValueError, RuntimeError, NotImplementedError, zlib.error, zipfile.BadZipFile):
        return Text(b"", "the zip file is cut off, damaged or encrypted; hint: unpack it first")


def _text_within_limit(data: bytes) -> Text:
    if len(data) <= MOST_BYTES:
        return Text(data)
    return Text(b"", f"unpacked it has more than {MOST_BYTES >> 20} MiB; hint: import parts of it")


def _utf8(data: bytes) -> bytes:
    """As PowerShell's ``>`` writes UTF-16, and editors a mark before UTF-8."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace").encode()
    return data.removeprefix(b"\xef\xbb\xbf")


def _plain(data: bytes) -> Text:
    as_they_are = lines = data.decode("utf-8", "surrogateescape").split("\n")
    if (labelled := _labelled(lines)) is not None:
        if isinstance(labelled, str):
            return Text(b"", labelled)
        lines = labelled
    lines = _without_markdown(lines)
    if lines is as_they_are:
        return Text(data)
    return Text("\n".join(lines).encode("utf-8", "surrogateescape"))


def _labelled(lines: list[str]) -> list[str] | str | None:
    """The lines of the one task that printed the output, those of the others empty; a sentence where several did.

    None: the lines have no labels."""
    if any(line.strip() and not _LABEL.fullmatch(line.rstrip("\r")) for line in lines):
        return None
    found = [_LABEL.fullmatch(line.rstrip("\r")) for line in lines]
    labels = Counter(match[1] for match in found if match)
    if sum(labels.values()) < _LEAST_LABELLED:
        return None
    (label, most), *others = labels.most_common()
    if others and 2 * others[0][1] > most:
        return (
            f"line 1: outputs of {len(labels)} tasks are mixed, as srun -l labels them; "
            f"hint: import one task's lines, as those of grep '^ *{label}: '"
        )
    return [match[2] or "" if match and match[1] == label else "" for match in found]


def _without_markdown(lines: list[str]) -> list[str]:
    """Of a page with fences what is inside them, without marks of quotation; cells of tables apart by spaces."""
    if all(_QUOTED.match(line) for line in lines if line.strip()):
        lines = [_QUOTED.sub("", line, count=1) for line in lines]
    fences = [number for number, line in enumerate(lines) if _FENCE.match(line)]
    if fences and len(fences) % 2 == 0:
        inside = [False] * len(lines)
        for begin, end in zip(fences[::2], fences[1::2], strict=True):
            inside[begin + 1 : end] = [True] * (end - begin - 1)
        lines = [line if kept else "" for line, kept in zip(lines, inside, strict=True)]
    if any(_RULE.match(line) for line in lines):
        lines = [_cells(line) if _CELLS.match(line) else line for line in lines]
    return lines


def _cells(row: str) -> str:
    if _RULE.match(row):
        return ""
    return "  ".join(cell.strip() for cell in row.strip().strip("|").split("|"))
