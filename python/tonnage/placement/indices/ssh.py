"""Indices of a server where nothing is installed, over ssh: its kernel's files, printed by one command."""

from __future__ import annotations

import re
import time

from tonnage.machine.tool import ToolError, ask
from tonnage.placement.indices import proc
from tonnage.placement.indices.counters import Counters
from tonnage.placement.indices.source import SourceError

_HOST = re.compile(r"(?:[\w.-]+@)?[\w.:\[\]%-]+", re.ASCII)
# Every login shell reads this alike. tail writes each file's name before it, and goes on past one that is not there.
_COMMAND = "; ".join(
    (
        f"tail -n +1 {' '.join(f'/proc/{name}' for name in proc.FILES)}",
        *(f"echo; echo '==> /proc/{name} <=='; {command}" for name, command in proc.ASKED.items()),
        "exit 0",
    )
)
_HEADING = re.compile(r"^==> /proc/(\S+) <==\n", re.MULTILINE)


def look(host: str, timeout_s: float) -> Counters:
    """Asks ``[USER@]HOST``, which must let this user in without a question; SourceError."""
    if not _HOST.fullmatch(host):
        raise SourceError(f"'ssh:{host}' names no host; hint: write ssh:HOST, and the rest in ~/.ssh/config")
    options = ["-T", "-x", "-a", "-oBatchMode=yes", f"-oConnectTimeout={max(1, round(timeout_s))}"]
    try:
        said = ask(["ssh", *options, "--", host, _COMMAND], timeout_s=timeout_s, outlived=True)
    except ToolError as error:
        raise SourceError(f"{host}: {error}") from None
    at_s = time.time()
    try:
        return parse(said.out, at_s)
    except (ValueError, KeyError, IndexError):
        raise SourceError(f"{host} does not print its /proc over ssh") from None


def parse(text: str, at_s: float) -> Counters:
    """What the command printed; errors as of ``proc.parse``."""
    pieces = _HEADING.split(text)
    return proc.parse(dict(zip(pieces[1::2], pieces[2::2], strict=True)), at_s)
