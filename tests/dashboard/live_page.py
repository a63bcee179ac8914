"""The command line in processes of its own, and a viewer that speaks the server's protocol by itself."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

COMMAND = [sys.executable, "-m", "tonnage.cli"]
LIMIT_S = 90.0
"""For what takes a second on an idle machine."""

# At a rate: as fast as it goes, a campaign leaves a small machine no processor for the server and its viewers.
CAMPAIGN = """\
name = "live"
target = "{target}"
seed = 9
[workload]
tasks = [1, 2]
op = ["write"]
block_size = "16MiB"
time_limit = "{limit}"
operations_rate = 1000
wrap = true
[repeat]
count = {count}
"""


def environment() -> dict[str, str]:
    """This package for the children too, wherever pytest found it."""
    import tonnage

    found = str(Path(tonnage.__file__).resolve().parents[1])
    return {**os.environ, "PYTHONPATH": found, "NO_COLOR": "1"}


def probe(out: Path, target: str) -> None:
    """A search that has ended."""
    words = ["probe", target, "--op", "write", "--seed", "5", "--no-report", "--no-keep", "--out", str(out)]
    subprocess.run([*COMMAND, *words], env=environment(), check=True, capture_output=True, timeout=LIMIT_S)


def campaign(place: Path, *, target: str = "null:", limit: str = "1s", count: int = 60) -> subprocess.Popen[bytes]:
    """A campaign that goes on for a while, in ``place/live``; the caller ends it."""
    file = place / "live.toml"
    file.write_text(CAMPAIGN.format(target=target, limit=limit, count=count))
    words = ["run", str(file), "--no-report", "--out", str(place / "live")]
    return subprocess.Popen(
        [*COMMAND, *words], env=environment(), cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def end(process: subprocess.Popen[Any]) -> int:
    """As Ctrl-C does it; its exit code."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    try:
        return process.wait(LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise


class Served:
    """``tonnage serve`` in a process."""

    def __init__(self, *words: str | Path, cwd: Path | None = None) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, "serve", *map(str, words)],
            env=environment(),
            cwd=cwd,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()
        if not self.address:
            _, said = self.process.communicate(timeout=LIMIT_S)
            raise AssertionError(f"it did not start: {said}")
        parts = urlsplit(self.address)
        self.host, self.port, self.query = str(parts.hostname), int(parts.port or 0), parts.query

    def get(self, path: str, method: str = "GET", **headers: str) -> Answer:
        """One request, its path word for word as given."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT_S)
        try:
            connection.putrequest(method, path, skip_host="Host" in headers)
            for name, value in headers.items():
                connection.putheader(name.replace("_", "-"), value)
            connection.endheaders()
            answer = connection.getresponse()
            return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read().decode())
        finally:
            connection.close()

    def rows(self) -> list[dict[str, Any]]:
        """All runs that the list shows."""
        with Viewer(self.port) as viewer:
            found = {name: data for _, name, data in viewer.until(lambda seen: {"underway", "ended"} <= seen.keys())}
        return [*found["underway"], *found["ended"]["runs"]]

    def identifier(self, name: str) -> str:
        """Of the run in a directory of that name."""
        return next(row["id"] for row in self.rows() if row["name"] == name)

    def end(self, number: signal.Signals = signal.SIGINT) -> tuple[int, str]:
        """Its exit code, and what it said on stderr after its address."""
        self.process.send_signal(number)
        _, said = self.process.communicate(timeout=LIMIT_S)
        return self.process.returncode, said

    def close(self) -> None:
        """Ends it if it still runs."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


@dataclass(frozen=True)
class Answer:
    """To one request."""

    status: int
    headers: dict[str, str]
    text: str


class Viewer:
    """A connection that listens to events."""

    def __init__(self, port: int, run: str | None = None, last: str | None = None) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S)
        query = f"?run={run}" if run else ""
        more = f"Last-Event-ID: {last}\r\n" if last else ""
        self._socket.sendall(f"GET /events{query} HTTP/1.1\r\nHost: localhost:{port}\r\n{more}\r\n".encode())
        self._lines = self._socket.makefile("rb")
        self.status = int(self._lines.readline().split()[1])

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._lines.close()
        self._socket.close()

    def events(self) -> Iterator[tuple[str, str, Any]]:
        """(identifier, topic, value) of each, as they come."""
        identifier = topic = ""
        for line in self._lines:
            name, _, value = line.decode().rstrip("\r\n").partition(": ")
            if name == "id":
                identifier = value
            elif name == "event":
                topic = value
            elif name == "data":
                yield identifier, topic, json.loads(value)

    def until(self, enough: Callable[[dict[str, Any]], bool]) -> list[tuple[str, str, Any]]:
        """Events until ``enough`` of the latest of each topic."""
        found: list[tuple[str, str, Any]] = []
        latest: dict[str, Any] = {}
        for identifier, topic, value in self.events():
            found.append((identifier, topic, value))
            latest[topic] = value
            if enough(latest):
                return found
        raise AssertionError(f"the server ended the stream; it had told {sorted(latest)}")
