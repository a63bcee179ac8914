"""What an index source started ends at its limit, with all that it started, also where whoever asked has ended."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest
from waiting import wait_until

LAUNCHER = Path(__file__).resolve().parents[3] / "tonnage"
SITE = 'scheduler = "local"\n[[server]]\nname = "s1"\nindices = "ssh:h1"\n'
# As ssh with a ProxyCommand: a child of its own, and deaf to a friendly signal.
HANGS = '#!/bin/sh\ntrap "" TERM HUP\n: >> {log}\necho x >> {log}\nsleep {mark} &\nwait\n'


def left(mark: str) -> int:
    """Processes of the host that hangs."""
    found = 0
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += file.read_bytes().split(b"\0")[:2] == [b"sleep", mark.encode()]
        except OSError:
            continue
    return found


@pytest.fixture
def hanging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    mark = f"6{os.getpid()}.{abs(hash(str(tmp_path))) % 100_000}"
    (tmp_path / "bin").mkdir()
    ssh = tmp_path / "bin" / "ssh"
    ssh.write_text(HANGS.format(mark=mark, log=tmp_path / "asked"))
    ssh.chmod(0o755)
    (tmp_path / "tonnage.toml").write_text(SITE)
    monkeypatch.setenv("PATH", f"{ssh.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return mark


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_the_ssh_of_a_host_that_hangs_ends_with_its_children(tmp_path: Path, hanging: str, number: int) -> None:
    with subprocess.Popen([LAUNCHER, "load", "--watch"], cwd=tmp_path, stdout=subprocess.DEVNULL) as process:
        wait_until(lambda: left(hanging) == 1)
        process.send_signal(number)
        process.wait(240)
    wait_until(lambda: left(hanging) == 0)


def test_a_host_that_hangs_is_asked_once_at_a_time(tmp_path: Path, hanging: str) -> None:
    with subprocess.Popen(
        [LAUNCHER, "load", "--watch", "--every", "0.1s"], cwd=tmp_path, stdout=subprocess.DEVNULL
    ) as process:
        asked, most = tmp_path / "asked", 0
        while not asked.exists() or len(asked.read_text().split()) < 3:
            most = max(most, left(hanging))
            assert process.poll() is None
        process.kill()
    assert most == 1
