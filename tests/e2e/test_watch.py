"""``tonnage watch`` as a user types it: a server whose figures change, jobs, signals, kills, a second watch."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from exporter import Exporter, exporter, hangs, sends, tells
from waiting import wait_until

from .placement_user import PlacementUser
from .shell import LAUNCHER, Shell

SITE = """
scheduler = "{scheduler}"
[[server]]
name = "rcss1"
aliases = ["{host}"]
hosts = ["{host}"]
indices = "{address}"
line = {{ tasks = 1, plateau = "100MB/s" }}
[policy]
scheduler_timeout = "{timeout}"
"""
SCRAPE = """\
node_cpu_seconds_total{{cpu="0",mode="idle"}} {up}
node_cpu_seconds_total{{cpu="0",mode="user"}} 5
node_disk_reads_completed_total{{device="sda"}} {operations}
node_disk_writes_completed_total{{device="sda"}} 0
node_disk_read_bytes_total{{device="sda"}} {bytes}
node_disk_written_bytes_total{{device="sda"}} 0
node_pressure_io_waiting_seconds_total 0
node_time_seconds {now}
node_boot_time_seconds 1000
"""
BROKEN = b"HTTP/1.0 500 Internal Server Error\r\n\r\n"


class Figures:
    """What the server's devices move, as a test sets it."""

    def __init__(self) -> None:
        self.bytes_per_s = 0.0
        self.asked = 0
        self.fails: Callable[[Exporter, socket.socket], None] | None = None
        self._moved, self._at_s = 0.0, time.monotonic()
        self._lock = threading.Lock()

    def __call__(self, server: Exporter, client: socket.socket) -> None:
        self.asked += 1
        if self.fails is not None:
            self.fails(server, client)
        else:
            tells(self._scrape)(server, client)

    def _scrape(self) -> str:
        with self._lock:
            now_s = time.monotonic()
            self._moved += (now_s - self._at_s) * self.bytes_per_s
            self._at_s = now_s
            return SCRAPE.format(up=1000 + now_s, operations=self._moved / 1e6, bytes=self._moved, now=time.time())


class Watching:
    """A watch that runs, and the events that it printed."""

    def __init__(self, shell: Shell, *words: str) -> None:
        self.process = subprocess.Popen(
            [LAUNCHER, "watch", "--json", "--every", "200ms", *words],
            cwd=shell.data, env=shell.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.events: list[dict[str, Any]] = []
        self.said: list[str] = []
        self.looked_at = 0
        self._threads = [
            threading.Thread(target=self._read, daemon=True),
            threading.Thread(target=self._hear, daemon=True),
        ]
        for thread in self._threads:
            thread.start()
        wait_until(
            lambda: any("watching" in line for line in self.said) or self.process.poll() is not None, "its start"
        )

    def until(self, kind: str) -> dict[str, Any]:
        """The next event, which must be of this kind; on a busy machine a look may fail meanwhile, which is another."""
        while True:
            number, self.looked_at = self.looked_at, self.looked_at + 1
            wait_until(lambda at=number: len(self.events) > at, f"{kind} after {self.events}, {self.said}")  # type: ignore[misc]
            event = self.events[number]
            if event["event"] == kind:
                return event
            assert event["event"] in ("unknown", "known"), (event, self.said)

    def scraped(self) -> str:
        """What Prometheus reads."""
        address = next(line for line in self.said if "metrics on" in line).split()[-1]
        with urllib.request.urlopen(address, timeout=60) as answer:
            text: str = answer.read().decode()
            return text

    def end(self, number: int = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(timeout=60)
        for thread in self._threads:
            thread.join(timeout=60)
        return code

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as out:
            for line in out:
                self.events.append(json.loads(line))

    def _hear(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as err:
            self.said.extend(err)


class Site(PlacementUser):
    """A user at a site with one file server."""

    def __init__(self, shell: Shell, figures: Figures, address: str, stack: ExitStack) -> None:
        super().__init__(shell)
        self.figures, self.address, self._stack = figures, address, stack
        self.write()

    def write(self, scheduler: str = "local", timeout: str = "20s") -> None:
        self.site(SITE.format(host=os.uname().nodename, address=self.address, scheduler=scheduler, timeout=timeout))

    def watch(self, *words: str) -> Watching:
        found = Watching(self.shell, *words)
        self._stack.callback(found.end, signal.SIGKILL)
        return found


@pytest.fixture
def site(user: PlacementUser) -> Iterator[Site]:
    figures = Figures()
    with ExitStack() as stack:
        address = stack.enter_context(exporter(figures)).address
        yield Site(user.shell, figures, address, stack)


def test_it_tells_when_a_server_passes_its_line_by_its_figures_and_by_jobs_and_the_history_has_both(site: Site) -> None:
    watch = site.watch("--metrics", "0")
    site.figures.bytes_per_s = 3e8
    began = site.checked("watch", watch.until("began"))
    wait_until(lambda: 'tonnage_server_above_line{server="rcss1"} 1.0' in watch.scraped(), "the gauge")
    # With those of ``load``, of the same look.
    assert 'tonnage_server_load_line_tasks{server="rcss1"} 1.0' in watch.scraped()
    assert (began["others"], began["line"], began["jobs"], began["above"]) == (began["load"], 1, 0, True)
    assert began["load"] > 1 and began["since_s"] < began["at_s"]
    site.figures.bytes_per_s = 0
    ended = watch.until("ended")
    assert ended["since_s"] == began["since_s"] and ended["lasted_s"] > 0 and not ended["above"]
    made = site.run("submit", "--copies", "2", "--cap", "2", "--name", "al\x1b[31mign", "sleep", "600").out
    began = site.checked("watch", watch.until("began"))
    assert (began["others"], began["load"], began["jobs"], began["only_own"]) == (0, 2, 1, True)
    (user,) = began["users"]
    assert user["tasks"] == 2 and user["names"] == ["al\x1b[31mign"]
    text = site.run("watch", "--once").out
    assert " rcss1 above its line: load 2, line 1, since " in text and "\x1b" not in text and "2 tasks (al" in text
    (once,) = [json.loads(line) for line in site.run("watch", "--once", "--json").out.splitlines()]
    # Since when, it knows from the watch that runs.
    assert site.checked("watch", once)["since_s"] == pytest.approx(began["since_s"], abs=0.01)
    site.run("cancel", made.partition("<")[2].partition(">")[0])
    watch.until("ended")
    assert watch.end(signal.SIGTERM) == 0
    found = site.checked("servers", json.loads(site.run("history", "--servers", "--json").out))
    (server,) = found["servers"]
    assert [one["line"] for one in server["episodes"]] == [1, 1] and all(one["ended_s"] for one in server["episodes"])
    assert [one["user"] for one in server["users"]] == [user["user"]]
    assert 0 < server["sum"]["above_s"] < server["sum"]["known_s"] and server["stated"] == 1
    said = site.run("history", "--servers", "--since", "1h", "rcss1").out
    assert "above its line of 1 task for" in said and "2 episodes" in said
    assert not [line for line in said.splitlines() if len(line) > 80]


def test_a_server_that_fails_or_hangs_is_unknown_and_its_episode_goes_on(site: Site) -> None:
    site.figures.bytes_per_s = 3e8
    watch = site.watch()
    watch.until("began")
    site.figures.fails = sends(BROKEN)
    unknown = site.checked("watch", watch.until("unknown"))
    assert unknown["above"] is True and any("500" in why for why in unknown["missing"])
    site.figures.fails = None
    known = watch.until("known")
    assert known["above"] is True and known["since_s"] == unknown["since_s"]
    site.figures.fails = hangs
    assert any("did not answer" in why for why in watch.until("unknown")["missing"])
    assert watch.end(signal.SIGINT) == 0


def test_a_scheduler_that_hangs_is_told_within_its_limit_and_holds_up_no_signal(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("squeue", "sinfo", "scontrol"):
        (tools / name).write_text(f"#!/bin/sh\necho $$ >>{tools}/asked\nexec sleep 600\n")
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    site.write("slurm", timeout="1s")
    watch = site.watch()
    unknown = watch.until("unknown")
    assert unknown["jobs"] is None and any("jobs are not known" in why for why in unknown["missing"])
    assert watch.end(signal.SIGTERM) == 0
    site.write("slurm", timeout="600s")
    (tools / "asked").unlink()
    watch = site.watch()
    wait_until((tools / "asked").exists, "the question")
    began_s = time.monotonic()
    assert watch.end(signal.SIGTERM) == 0
    # The scheduler alone would have taken ten minutes.
    assert time.monotonic() - began_s < 300
    for pid in (tools / "asked").read_text().split():
        with suppress(ProcessLookupError):  # as a rule it has ended with the watch
            os.kill(int(pid), signal.SIGKILL)


def test_a_killed_watch_loses_no_episode_and_the_next_one_goes_on_with_it(site: Site, tmp_path: Path) -> None:
    site.figures.bytes_per_s = 3e8
    watch = site.watch()
    began = watch.until("began")
    assert watch.end(signal.SIGKILL) == -signal.SIGKILL
    kept = tmp_path / "XDG_STATE_HOME" / "tonnage" / "watch"
    with (kept / "spans.jsonl").open("a") as file:
        file.write('{"server":"rcss1","at_s":17955')  # as a kill within the write leaves it
    watch = site.watch()
    site.figures.bytes_per_s = 0
    ended = watch.until("ended")
    assert ended["since_s"] == pytest.approx(began["since_s"], abs=0.01)
    assert watch.end() == 0
    done = site.run("history", "--servers", "--json")
    (server,) = json.loads(done.out)["servers"]
    assert len(server["episodes"]) == 1 and server["episodes"][0]["ended_s"] == pytest.approx(
        ended["until_s"], abs=0.01
    )
    assert "1 line of the history cannot be read" in json.loads(done.out)["notes"][0]


def test_a_second_watch_of_the_same_server_is_refused_in_one_line(site: Site) -> None:
    watch = site.watch()
    said = site.run("watch", codes=(2,))
    assert said.out == "" and said.err.count("\n") == 1
    assert said.err.startswith(
        "tonnage: error: rcss1 is watched already, by another `tonnage watch` of this user; hint:"
    )
    site.run("watch", "--once")
    assert watch.end(signal.SIGKILL) == -signal.SIGKILL
    assert site.watch().end() == 0


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("watch", "nosuch"), "there is no file server 'nosuch'; hint: the site file has rcss1"),
        (("watch", "--every", "soon"), "is not a time"),
        (("watch", "--every", "1ms"), "--every 1ms is too often; hint: give at least 100ms"),
        (("watch", "--once", "--every", "1s"), "--once looks once; hint: leave --every and --metrics out"),
        (("watch", "--metrics", "99999"), "is not a port"),
        (("history", "--servers"), "no watch has kept anything yet; hint: `tonnage watch` does, while it runs"),
        (("history", "--servers", "--since", "tomorrow"), "'tomorrow' is no time; hint: write it like 2026-11-01"),
        (("history", "--servers", "--threshold", "2%"), "--threshold is for runs; hint: leave it out with --servers"),
        (("history", "--since", "7d", "x"), "--since and --site are for file servers; hint: add --servers"),
        (("history",), "tonnage history needs DIR; hint: write `tonnage history [OPTION]... DIR...`"),
    ],
)
def test_a_wrong_request_is_one_line_and_writes_nothing(
    site: Site, tmp_path: Path, words: tuple[str, ...], expected: str
) -> None:
    said = site.run(*words, codes=(2,))
    assert expected in said.err and said.err.count("\n") == 1 and said.out == ""
    kept = tmp_path / "XDG_STATE_HOME" / "tonnage" / "watch"
    assert not kept.exists() or not [*kept.iterdir()]


def test_without_a_line_it_is_said_once_with_what_to_do(site: Site) -> None:
    file = site.shell.data / "tonnage.toml"
    file.write_text("\n".join(line for line in file.read_text().splitlines() if not line.startswith("line")))
    watch = site.watch()
    site.checked("watch", watch.until("no-line"))
    asked = site.figures.asked
    wait_until(lambda: site.figures.asked > asked + 3, "more looks")
    assert watch.end() == 0 and [one["event"] for one in watch.events] == ["no-line"]
    said = site.run("watch", "--once", codes=(1,))
    assert "no load line is known, so nothing can be told of it; hint: measure it with `tonnage probe`" in said.out
