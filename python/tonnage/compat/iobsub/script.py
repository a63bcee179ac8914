"""A job's script on standard input, with bsub's options in lines of ``#BSUB``."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass

from tonnage.errors import RequestError

MOST_BYTES = 100_000
"""It travels as one word of a command line, of which the kernel takes 128 KiB."""
_SHELLS = re.compile(r"(sh|bash|dash|ksh|mksh|zsh|python[0-9.]*)$")


@dataclass(frozen=True, slots=True)
class Script:
    """What somebody gave on standard input."""

    text: str

    @property
    def options(self) -> list[tuple[int, list[str]]]:
        """Of each line of ``#BSUB``: its number and its words. RequestError where a quotation does not end."""
        found = []
        for number, line in enumerate(self.text.splitlines(), 1):
            if match := re.match(r"#\s?BSUB(?=\s|$)(.*)", line):
                try:
                    words = shlex.split(match[1], comments=True)
                except ValueError as error:
                    raise RequestError(f"iobsub: #BSUB in line {number}: {error}; hint: close the quotation") from None
                found.append((number, words))
        return found

    @property
    def argv(self) -> tuple[str, ...]:
        """The interpreter that its first line names, /bin/sh where it names none, and the script as one word."""
        first = self.text.partition("\n")[0]
        words = first[2:].strip().split(None, 1) if first.startswith("#!") else ["/bin/sh"]
        program = (words or [""])[-1].split()[-1:] if len(words) > 1 and words[0].endswith("/env") else words[:1]
        if not program or not _SHELLS.search(program[0]):
            raise RequestError(
                f"iobsub: a script of {first[:60]!r} cannot be given on standard input; hint: write it into a file, "
                "and give that"
            )
        is_shell = not program[0].rpartition("/")[2].startswith("python")
        return (*words, "-c", self.text, *(["iobsub"] if is_shell else []))


def read_script() -> Script | None:
    """Standard input, to its end; None where it is a terminal, or holds nothing. RequestError where it is too long."""
    try:
        if os.isatty(0):
            return None
        found = b""
        while len(found) <= MOST_BYTES and (part := os.read(0, 1 << 16)):
            found += part
    except OSError:
        return None  # closed
    if len(found) > MOST_BYTES or b"\0" in found:
        what = f"more than {MOST_BYTES} bytes" if len(found) > MOST_BYTES else "a NUL"
        raise RequestError(
            f"iobsub: the script on standard input has {what}; hint: write it into a file, and give that"
        )
    return Script(os.fsdecode(found)) if found.strip() else None
