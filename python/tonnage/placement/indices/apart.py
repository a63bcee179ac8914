"""Asks slow servers in a process of its own, which outlives the command that started it by some seconds at most."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Sequence

from tonnage.placement.indices.asking import Asked


def ask_apart(servers: Sequence[Asked]) -> None:
    """Starts it, and does not wait: the answers are in the cache when they have come."""
    isolated = ["-I"] if sys.flags.isolated else []
    try:
        process = subprocess.Popen(
            [sys.executable, *isolated, "-m", "tonnage.placement.indices"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        assert process.stdin
        with process.stdin:
            process.stdin.write(json.dumps({server.name: server.address for server in servers}).encode())
    except OSError:
        # No process to be had: the old figures stay what they are, and so does their age.
        return
    threading.Thread(target=process.wait, name="indices-apart", daemon=True).start()
