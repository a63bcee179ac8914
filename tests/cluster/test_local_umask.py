"""A umask that closes files to their own user closes none of the scheduler's, and directories that it closed before are
told with what opens them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

# Root passes by all modes, unless it may not.
AS_A_USER = () if os.geteuid() else ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
pytestmark = pytest.mark.skipif(AS_A_USER != () and shutil.which("setpriv") is None, reason="setpriv is not installed")


def submit(base: Path, umask: int, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-B", "-m", "tonnage.cli", "submit", "--scheduler=local", "--anywhere", "-K", *words]
    argv = [*AS_A_USER, "sh", "-c", f'umask {umask:04o}; exec "$@"', "sh", *command]
    environment = {**os.environ, "XDG_STATE_HOME": str(base / "state")}
    return subprocess.run(
        argv,
        env=environment,
        cwd=base,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.parametrize("umask", [0o222, 0o477, 0o777])
def test_jobs_run_under_a_umask_that_closes_files_to_their_own_user(tmp_path: Path, umask: int) -> None:
    for key in ("a", "b"):
        done = submit(tmp_path, umask, f"--key={key}", "-o/dev/null", "--", "sh", "-c", f"umask >&2; mkdir {key}")
        assert (done.returncode, done.stderr.count("\n")) == (0, 1), done.stderr
    modes = {path: path.stat().st_mode & 0o777 for path in (tmp_path / "state").rglob("*")}
    assert all(mode & 0o600 == 0o600 and not mode & 0o077 for mode in modes.values()), modes
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o777 & ~umask, "the job has the umask of its submission"
    (tmp_path / "a").chmod(0o700), (tmp_path / "b").chmod(0o700)


@pytest.mark.parametrize("mode", [0o500, 0o300])
def test_a_directory_that_is_closed_to_its_user_is_told_with_what_opens_it(tmp_path: Path, mode: int) -> None:
    assert submit(tmp_path, 0o022, "-o/dev/null", "--", "true").returncode == 0
    closed = tmp_path / "state" / "tonnage" / "placement"
    closed.chmod(mode)
    done = submit(tmp_path, 0o022, "-o/dev/null", "--", "true")
    closed.chmod(0o700)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"tonnage: error: cannot use {closed}: Permission denied; hint: `chmod u+rwx {closed}`\n"
