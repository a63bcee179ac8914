"""``tonnage where`` as a user types it."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tonnage.records.load_line_files import KeptLine, keep_line


class Where:
    """The command line, without this machine's own site files."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.environment = {
            **os.environ,
            "TONNAGE_SYSTEM_CONFIG": str(home / "etc"),
            "XDG_CONFIG_HOME": str(home / "config"),
            "XDG_STATE_HOME": str(home / "state"),
        }

    def __call__(self, *words: str, directory: Path | None = None) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-m", "tonnage.cli", "where", *words]
        at = directory or self.home
        return subprocess.run(
            argv, capture_output=True, text=True, check=False, timeout=120, env=self.environment, cwd=at
        )


@pytest.fixture
def where(tmp_path: Path) -> Where:
    return Where(tmp_path)


def test_the_working_directory_is_asked_where_no_path_is_given(where: Where, tmp_path: Path) -> None:
    said = where()
    assert (said.returncode, said.stderr) == (0, "")
    rows = dict(line.split(None, 1) for line in said.stdout.splitlines())
    assert rows["path"] == str(tmp_path)
    assert rows["server"] == f"{platform.node()} (this host)"


def test_a_server_of_the_site_file_is_called_by_its_name_with_the_hosts_beside_it(where: Where, tmp_path: Path) -> None:
    (tmp_path / "tonnage.toml").write_text(
        f'[[server]]\nname = "rcss1"\naliases = ["{platform.node()}"]\nhosts = ["n1", "n2"]\nqueue = "near"\n'
    )
    found = json.loads(where("--json", "new/file").stdout)
    assert found["path"] == f"{tmp_path}/new/file"
    assert found["local"] is True
    (server,) = found["file_servers"]
    assert (server["name"], server["hosts"], server["queue"]) == ("rcss1", ["n1", "n2"], "near")
    assert "beside it  n1, n2\n" in where().stdout


def test_the_servers_load_and_the_storages_load_line_are_told(where: Where, tmp_path: Path) -> None:
    (tmp_path / "tonnage.toml").write_text(
        f'[[server]]\nname = "rcss1"\naliases = ["{platform.node()}"]\nindices = "proc:"\nline = {{ tasks = 6 }}\n'
        '[policy]\nindex_timeout = "20s"\n'
    )
    rows = dict(line.split("  ", 1) for line in where().stdout.splitlines() if "  " in line)
    assert "6 tasks" in rows["load line"]
    assert " ago" in rows["load"]
    found = json.loads(where("--json").stdout)
    assert found["load_line"]["tasks"] == 6
    assert found["file_servers"][0]["load"]["source"] == "proc"
    line = KeptLine(
        target=found["target"],
        operation="read",
        access="sequential",
        transfer_size=1 << 20,
        tasks=8,
        low=7,
        high=9,
        plateau_bytes_per_s=10**9,
        single_bytes_per_s=2 * 10**8,
        measured_at_s=time.time(),
        host="node1",
        run="run-1",
        servers=("rcss1",),
    )
    keep_line(tmp_path / "state" / "tonnage" / "lines", line)
    assert json.loads(where("--json").stdout)["load_line"]["tasks"] == 8
    assert "load line  8 tasks [7, 9] at 1 GB/s, measured today from node1" in where().stdout


def test_where_nobody_knows_it_is_one_line_and_exit_code_1(where: Where) -> None:
    said = where("/proc/sys")
    assert said.returncode == 1
    assert said.stderr.startswith("tonnage: error: Cannot find fileserver for /proc/sys: proc at /proc does not say")
    assert said.stderr.count("\n") == 1
    said = where("--json", directory=Path("/proc"))
    assert "Cannot find fileserver for current working directory: " in said.stderr
    assert json.loads(said.stdout)["file_servers"] == []


def test_the_site_file_may_know_what_no_tool_does(where: Where, tmp_path: Path) -> None:
    site = tmp_path / "mine.toml"
    site.write_text('[[server]]\nname = "a"\nholds = ["/proc"]\n[[server]]\nname = "b"\nholds = ["/proc/sys"]\n')
    found = json.loads(where("--json", "--site", str(site), "/proc/sys/kernel").stdout)
    assert found["servers"] == ["b"]
    assert found["how"][-1] == "tonnage.toml: b holds it"
    assert found["problem"] is None


def test_a_name_of_any_bytes_is_one_line(where: Where, tmp_path: Path) -> None:
    name = os.fsdecode(b"a\xff\nb\x1b[31m")
    (tmp_path / name).mkdir()
    said = where(name)
    assert f"path       {tmp_path}/a\\udcff\\nb\\x1b[31m\n" in said.stdout
    assert json.loads(where("--json", name).stdout)["path"] == f"{tmp_path}/{name}"


def test_a_broken_link_is_the_users_mistake(where: Where, tmp_path: Path) -> None:
    (tmp_path / "lost").symlink_to("nowhere")
    said = where("lost")
    assert said.returncode == 2
    assert said.stderr == (
        "tonnage: error: lost is a broken symbolic link to nowhere; hint: mend it, or name what it should lead to\n"
    )
