"""A ``network`` campaign on the loopback, with the real iperf3: what a user types, what is kept, and how it fails."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tonnage.records import Run, verify_files
from waiting import wait_until

from .shell import Said, Shell, group_members

pytestmark = pytest.mark.skipif(shutil.which("iperf3") is None, reason="iperf3 is not installed")

SHORT = 'streams = 2\ndirection = "both"\nduration = "1s"\nomit = "0s"\nlimit = "20MB/s"\n'
LONG = 'streams = 1\ndirection = "send"\nduration = "60s"\nlimit = "1MB/s"\n'


def campaign(shell: Shell, text: str) -> Path:
    return shell.write("net.toml", f'target = "null:"\n[repeat]\ncount = 1\n[workload]\nkind = "network"\n{text}')


@pytest.fixture
def taken() -> Iterator[int]:
    """A port at which somebody listens."""
    with socket.create_server(("", 0)) as server:
        yield server.getsockname()[1]


def servers(group: int) -> list[int]:
    """The iperf3 servers below a process, however they were started."""
    every = subprocess.run(["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True).stdout
    lines = {int(pid): (int(parent), words) for pid, parent, words in (x.split(None, 2) for x in every.splitlines())}

    def below(pid: int) -> bool:
        return pid == group or (pid in lines and below(lines[pid][0]))

    return [pid for pid, (_, words) in lines.items() if words.startswith("iperf3 --server") and below(pid)]


def test_a_run_on_the_loopback_keeps_what_both_ends_say(shell: Shell) -> None:
    done = shell("run", campaign(shell, SHORT), "--json", "--no-report")
    (line,) = (run := Run.open(shell.runs[0])).trials()
    assert verify_files(run) == []
    there, back = line["network"]["flows"]
    assert (there["sender"], there["receiver"]) == (back["receiver"], back["sender"])
    for flow in (there, back):
        assert flow["sent_bytes"] == pytest.approx(20e6, rel=0.2)
        assert flow["received_bytes"] == pytest.approx(flow["sent_bytes"], rel=0.2)
        assert flow["rtt_mean_ns"] and flow["sender_version"] == flow["receiver_version"]
    assert line["bandwidth_bytes_per_s"] == pytest.approx(40e6, rel=0.2)
    assert done.json["points"][0]["kind"] == "network"


def test_a_port_that_is_taken_is_passed_over_and_a_range_of_none_is_told(shell: Shell, taken: int) -> None:
    done = shell("run", campaign(shell, SHORT + f"ports = [{taken}, {taken}]\n"), "--no-report", check=1)
    assert f"TCP ports {taken} to {taken} are taken; hint: give others with ports" in done.err
    shell("run", campaign(shell, SHORT + f"ports = [{taken}, {min(taken + 20, 65535)}]\n"), "--no-report")


def test_a_host_without_iperf3_is_named(shell: Shell, tmp_path: Path) -> None:
    kept = [folder for folder in os.environ["PATH"].split(":") if not (Path(folder) / "iperf3").exists()]
    (tools := tmp_path / "tools").mkdir()
    for tool in ("sh", "env", "dirname", "readlink", "uname", "cargo"):
        if found := shutil.which(tool):
            (tools / tool).symlink_to(found)
    # Not the one that is found: that may be a script of a shell that is not among them.
    (tools / "python3").symlink_to(Path(sys.executable).resolve())
    done = shell("run", campaign(shell, SHORT), "--no-report", check=1, PATH=":".join([str(tools), *kept]))
    assert f"{os.uname().nodename}: iperf3 is not installed here" in done.err


def test_a_server_that_is_killed_fails_the_trial_soon_and_by_name(shell: Shell) -> None:
    process = shell.start("run", campaign(shell, LONG), "--no-report")
    try:
        wait_until(lambda: bool(servers(process.pid)), "a server runs")
        wait_until(lambda: _clients_send(process.pid), "a client is connected to it")
        os.kill(servers(process.pid)[0], signal.SIGKILL)
        _, err = process.communicate(timeout=20)
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
    assert process.returncode == 1, err
    here = os.uname().nodename
    assert f"{here} to {here}: control socket has closed unexpectedly" in err
    assert f"the server on {here}: signal 9 ended it" in err


def _clients_send(group: int) -> bool:
    """Whether a server's process has connections beside the socket it listens at."""
    for server in servers(group):
        descriptors = Path(f"/proc/{server}/fd").iterdir()
        if sum(str(entry.readlink()).startswith("socket:") for entry in descriptors) >= 3:
            return True
    return False


def test_an_interrupt_ends_both_ends_and_the_run_can_be_resumed(
    shell: Shell, interrupt: Callable[[subprocess.Popen[str], signal.Signals], Said]
) -> None:
    process = shell.start("run", campaign(shell, LONG), "--no-report")
    wait_until(lambda: bool(servers(process.pid)), "a server runs")
    server = servers(process.pid)[0]
    done = interrupt(process, signal.SIGINT)
    assert done.code == 130
    wait_until(lambda: not Path(f"/proc/{server}").exists(), "the server is gone", 10)
    assert group_members(process.pid) == []
    statuses = [line["status"] for line in Run.open(shell.runs[0]).trials()]
    assert statuses == ["interrupted"]
