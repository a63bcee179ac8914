"""``tonnage doctor --hosts`` over ssh to hosts of which each has something else that would spoil a measurement."""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hosts import Daemon, Hosts, hosts
from impossible import skipped_where_impossible
from ssh_logins import logins
from tonnage.cli.commands.schema import answer_schema

pytestmark = pytest.mark.alone("rates of links")

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("well1", "well2", "slow", "readonly", "apart", "bare")
TARGET = "/run/site/data"
LINK_BYTES_PER_S, SLOW_BYTES_PER_S = 100_000_000, 5_000_000


@dataclass(frozen=True)
class Lab:
    """Hosts that reach each other by ssh and share a directory, some of them wrongly."""

    hosts: Hosts
    servers: dict[str, Daemon]
    environment: dict[str, str]

    def doctor(self, *names: str, target: str | None = TARGET, within: str = "30s") -> tuple[int, dict[str, Any]]:
        """Exit code and object of the command as a user of ``well1`` runs it."""
        words = ["--within", within, "--hosts", ",".join(names), *([] if target is None else ["--target", target])]
        said = self.run("--json", *words)
        found = json.loads(said.stdout)
        jsonschema.validate(found, answer_schema("doctor"))
        return said.returncode, found

    def run(self, *words: str) -> Any:
        argv = (sys.executable, "-m", "tonnage.cli", "doctor", *words)
        return self.hosts["well1"].run(*argv, environment=self.environment, check=False, timeout_s=120)


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tonnage-logins-")))
        with skipped_where_impossible():
            every = stack.enter_context(hosts(NAMES, link_bytes_per_s=LINK_BYTES_PER_S))
            programs, servers = stack.enter_context(logins(every, directory))
        (every.site / "data").mkdir()
        every.limit("slow", SLOW_BYTES_PER_S)
        every["readonly"].run("mount", "--bind", TARGET, TARGET)
        every["readonly"].run("mount", "-o", "remount,bind,ro", TARGET)
        every["apart"].run("mount", "-t", "tmpfs", "apart", TARGET)
        every["bare"].run("umount", "/run/site")
        path = f"{programs}{os.pathsep}{os.environ['PATH']}"
        yield Lab(every, servers, {"PATH": path, "PYTHONPATH": str(ROOT / "python")})


def codes(value: dict[str, Any]) -> dict[str, str | None]:
    """Those that are wrong, each with where."""
    return {one["code"]: one["where"] for one in value["complaints"] if one["wrong"]}


def left_behind(lab: Lab) -> list[str]:
    return [path.name for path in (lab.hosts.site / "data").iterdir() if path.name.startswith(".tonnage")]


def test_two_hosts_that_are_alike_have_nothing_wrong(lab: Lab) -> None:
    code, value = lab.doctor("well1", "well2")
    assert code == 0 and value["well"] and not codes(value)
    first, second = value["hosts"]
    assert (first["facts"]["hostname"], second["facts"]["hostname"]) == ("well1", "well2")
    assert first["storage"] == second["storage"] == 0 and first["path"]["writable"]
    # One kernel, one clock: what is off is the round trip's.
    assert all(abs(host["clock_ahead_ns"]) <= host["clock_uncertainty_ns"] + 10**6 for host in value["hosts"])
    assert {(link["sender"], link["receiver"]) for link in value["links"]} == {("well1", "well2"), ("well2", "well1")}
    assert all(0 < link["bytes_per_s"] < 1.5 * LINK_BYTES_PER_S for link in value["links"])
    assert left_behind(lab) == []


def test_each_host_has_its_own_trouble_and_no_other(lab: Lab) -> None:
    code, value = lab.doctor(*NAMES)
    found = codes(value)
    assert code == 1 and not value["well"]
    assert found["target-read-only"] == "readonly" and found["target-missing"] == "bare"
    told = {one["code"]: one["what"] for one in value["complaints"]}
    assert "Read-only file system" in told["target-read-only"]
    assert (
        "apart: tmpfs of apart" in told["other-storage"] and "well1, well2, slow, readonly: " in told["other-storage"]
    )
    assert "ro" in told["other-options"] and set(found) <= {
        "target-read-only", "target-missing", "other-storage", "other-options"
    }  # fmt: skip
    slow = {where for one in value["complaints"] if one["code"] == "slow-link" for where in one["where"].split(", ")}
    assert slow >= {"well2 → slow", "slow → readonly"}
    assert left_behind(lab) == []


def test_a_host_that_is_down_and_one_that_hangs_hold_up_no_other(lab: Lab) -> None:
    lab.servers["slow"].send(signal.SIGSTOP)
    lab.hosts["apart"].run("ip", "link", "set", "eth0", "down")
    began_s = time.monotonic()
    try:
        code, value = lab.doctor("well1", "slow", "well2", "apart", "nowhere", target=None, within="10s")
    finally:
        lab.servers["slow"].send(signal.SIGCONT)
        lab.hosts["apart"].run("ip", "link", "set", "eth0", "up")
    assert code == 1 and time.monotonic() - began_s < 60
    problems = {host["name"]: host["problem"] for host in value["hosts"] if host["problem"]}
    assert set(problems) == {"slow", "apart", "nowhere"}
    assert set(codes(value)) == {"unreachable"} and "nowhere" in problems["nowhere"]
    assert len(value["links"]) == 2 and not any(link["problem"] for link in value["links"])


def test_the_table_names_each_host_and_each_line_its_code(lab: Lab) -> None:
    said = lab.run("--hosts", "well1,bare", "--target", TARGET)
    lines = said.stdout.splitlines()
    assert said.returncode == 1 and not said.stderr
    assert lines[0].split()[:3] == ["HOST", "KERNEL", "PYTHON"] and lines[0].endswith("TO THE NEXT")
    assert lines[1].startswith("well1 ") and " tmpfs rw " in lines[1]
    assert lines[2].startswith("bare ") and " missing " in lines[2]
    assert any(line.startswith("target-missing: bare: /run/site/data cannot be used: No such") for line in lines)
    assert lines[-1] == "2 hosts: 1 thing wrong"


def test_one_host_by_two_names_is_told(lab: Lab) -> None:
    code, value = lab.doctor("well2", lab.hosts["well2"].address, target=None)
    assert code == 1 and set(codes(value)) == {"same-host"}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--hosts", "a;b"], "'a;b' is no host's name"),
        (["--hosts", ""], "--hosts: an empty value is no value"),
        (["--target", "/tmp"], "--target is for hosts; hint: name them with --hosts"),
        (["--via", "ssh"], "--via is for hosts"),
        (["--hosts", "a", "--site", "x.toml"], "--site and --hosts are two questions"),
    ],
)
def test_a_wrong_request_is_one_line_and_nobody_is_asked(lab: Lab, words: list[str], told: str) -> None:
    said = lab.run(*words)
    assert said.returncode == 2 and told in said.stderr and len(said.stderr.splitlines()) == 1
