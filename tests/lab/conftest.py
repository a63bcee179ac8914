"""Devices of known speed and a real Slurm for the tests of this directory; each sets up and tears down its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import attack_share
import load_index_sources
import nfs as lab_nfs
import pytest
import s3_service as lab_s3
import slurm as lab_slurm
import warm_start
from hosts import Hosts, hosts
from impossible import skipped_where_impossible
from throttled import Throttled, throttled


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker of pytest-xdist hands its figures to whoever prints them."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["attacked"] = attack_share.counts()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """A worker has ended."""
    attack_share.add(getattr(node, "workeroutput", {}).get("attacked", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What the tests of the stager tried, in figures."""
    if table := attack_share.table():
        terminalreporter.write_line(f"attack on the stager: {table}")


@dataclass(frozen=True)
class Said:
    """What a command left: its exit code, the lines of its trials, and what it printed."""

    code: int
    trials: list[dict[str, Any]]
    out: str
    err: str

    @property
    def summary(self) -> dict[str, Any]:
        """The object that ``--json`` prints."""
        found: dict[str, Any] = json.loads(self.out)
        return found

    def measured(self, phase: str) -> list[dict[str, Any]]:
        return [line for line in self.trials if line["phase"] == phase and line["purpose"] == "measure"]


class Command:
    """The command line as a user types it, with run directories below ``work``."""

    def __init__(self, work: Path) -> None:
        self.work = work
        self.count = 0

    def _words(self, words: tuple[str | Path, ...]) -> tuple[list[str], Path]:
        self.count += 1
        out = self.work / f"run-{self.count}"
        return [*map(str, words), "--json", "--no-report", "--out", str(out)], out

    def start(self, *words: str | Path) -> tuple[subprocess.Popen[str], Path]:
        argv, out = self._words(words)
        command = [sys.executable, "-m", "tonnage.cli", *argv]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True), out

    def __call__(self, *words: str | Path) -> Said:
        argv, out = self._words(words)
        done = warm_start.finished(*argv)
        return self._said(done.returncode, out, done.stdout, done.stderr)

    def end(self, process: subprocess.Popen[str], run: Path) -> Said:
        out, err = process.communicate()
        return self._said(process.returncode, run, out, err)

    def _said(self, code: int, run: Path, out: str, err: str) -> Said:
        lines = (run / "trials.jsonl").read_text().splitlines() if run.exists() else []
        return Said(code, [json.loads(line) for line in lines], out, err)

    def campaign(self, target: Path, **workload: object) -> Path:
        """A campaign file with one repetition of each setting."""
        file = self.work / f"campaign-{self.count}.toml"
        lines = [f"target = {json.dumps(str(target))}", "[repeat]", "count = 1", "[workload]"]
        file.write_text(
            "\n".join([*lines, *(f"{key} = {json.dumps(value)}" for key, value in workload.items())]) + "\n"
        )
        return file


@pytest.fixture
def tonnage(tmp_path: Path) -> Command:
    pytest.importorskip("tonnage._native", reason="the engine is not built: run ./tonnage once")
    return Command(tmp_path)


@pytest.fixture(scope="module")
def tonnage_of_module(tmp_path_factory: pytest.TempPathFactory) -> Command:
    pytest.importorskip("tonnage._native", reason="the engine is not built: run ./tonnage once")
    return Command(tmp_path_factory.mktemp("runs"))


@pytest.fixture
def device() -> Iterator[Callable[..., Throttled]]:
    """Makes devices; skips the test with the reason where none can be made."""
    with ExitStack() as stack:

        def make(**options: Any) -> Throttled:
            with skipped_where_impossible():
                return stack.enter_context(throttled(**options))

        yield make


@pytest.fixture
def slurm(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., lab_slurm.Slurm]]:
    """Starts a cluster that Slurm's commands, and Tonnage, speak to during this test; skips it where none can run."""
    with ExitStack() as stack:

        def make(hosts: Sequence[lab_slurm.Host], *rest: Any, **options: Any) -> lab_slurm.Slurm:
            with skipped_where_impossible():
                cluster = stack.enter_context(lab_slurm.slurm(hosts, *rest, **options))
            monkeypatch.setenv("SLURM_CONF", str(cluster.conf))
            return cluster

        yield make


@pytest.fixture
def ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A server that answers as ``fileserver``; its directory of keys."""
    directory = tmp_path / "ssh"
    directory.mkdir()
    with ExitStack() as stack:
        with skipped_where_impossible():
            found = stack.enter_context(load_index_sources.sshd(directory))
        monkeypatch.setenv("PATH", f"{found}{os.pathsep}{os.environ['PATH']}")
        yield directory


@pytest.fixture(scope="module")
def site() -> Iterator[Hosts]:
    """A server and a client; modules with other hosts have a fixture of this name of their own."""
    with skipped_where_impossible(), hosts(["server", "client"]) as found:
        yield found


@pytest.fixture(scope="module")
def server(site: Hosts) -> Iterator[lab_nfs.Server]:
    """Of NFS, on the server."""
    with skipped_where_impossible(), lab_nfs.server(site["server"]) as found:
        yield found


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[lab_s3.S3]:
    """Of S3, without a bucket."""
    with skipped_where_impossible(), lab_s3.s3(tmp_path_factory.mktemp("s3")) as found:
        yield found


@pytest.fixture
def let_in(service: lab_s3.S3, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the service's keys, and nothing else that this user's environment says of S3."""
    for name in ("PROFILE", "SHARED_CREDENTIALS_FILE", "ENDPOINT_URL", "ENDPOINT_URL_S3", "CA_BUNDLE"):
        monkeypatch.delenv(f"AWS_{name}", raising=False)
    for name, value in service.environment.items():
        monkeypatch.setenv(name, value)
