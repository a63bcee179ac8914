"""A state directory that is removed or replaced under its mover, or belongs to another user."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from waiting import wait_until

from .stage import Stage
from .test_stage_requests import listing

GONE = "is not the one that this mover locked: it was removed or replaced; hint: "


def removed(state: Path) -> None:
    subprocess.run(["rm", "-r", state], check=True)


def renamed(state: Path) -> None:
    state.rename(state.with_name("elsewhere"))


def made_anew(state: Path) -> None:
    subprocess.run(["rm", "-r", state], check=True)
    state.mkdir()
    (state / "lock").touch()


def unlocked(state: Path) -> None:
    (state / "lock").unlink()


@pytest.mark.parametrize("where", ["in the source", "elsewhere"])
@pytest.mark.parametrize("harm", [removed, renamed, made_anew, unlocked])
def test_a_mover_whose_state_directory_goes_ends_with_one_line_and_deletes_nothing_after_that(
    stage: Stage, harm: object, where: str
) -> None:
    assert callable(harm)
    state = stage.state if where == "in the source" else stage.shell.home / "state"
    (stage.local / "first").write_text("first")
    words = ("start", "--foreground", *stage.trees, "--state", str(state), "--delete", "done")
    process = stage.begin(*words)
    wait_until(lambda: not (stage.local / "first").exists(), "the first file is cleared")
    harm(state)
    (stage.local / "second").write_text("second")
    said = stage.said_by(process)
    assert said.code == 1 and GONE in said.err and said.err.count("error: ") == 1, said.err
    assert (stage.local / "second").read_text() == "second"
    assert (stage.remote / "first").read_text() == "first"


def test_a_second_mover_finds_the_first_ended_and_keeps_its_own_socket(stage: Stage) -> None:
    stage("start", *stage.trees, "--delete", "done")
    first = stage.status()["pid"]
    subprocess.run(["rm", "-r", stage.state], check=True)
    elsewhere = stage.shell.home / "elsewhere"
    stage("start", "--from", stage.local, "--to", elsewhere, "--delete", "done")
    wait_until(lambda: not Path(f"/proc/{first}").exists(), "the first mover has ended")
    (stage.local / "file").write_text("of the second")
    stage("wait", "--from", stage.local)
    assert (elsewhere / "file").read_text() == "of the second" and not (stage.remote / "file").exists()
    stage("stop", "--from", stage.local)


def test_a_run_whose_state_directory_goes_says_so_and_the_sources_stay(stage: Stage) -> None:
    program = "echo 1 > a; sleep 1; rm -rf .tonnage-stage; echo data > out; sleep 1"
    said = stage.run("--delete", "done", program=program, check=1)
    assert GONE in said.err, said.err
    assert (stage.local / "out").read_text() == "data\n"


def may_change_user() -> bool:
    return os.geteuid() == 0 and shutil.which("setpriv") is not None


@pytest.mark.skipif(not may_change_user(), reason="two users need root and setpriv")
def test_a_destination_with_another_user_s_manifests_is_refused_in_one_line(stage: Stage) -> None:
    from tonnage import _native

    stage.remote.mkdir()
    stage.remote.chmod(0o1777)
    (stage.local / "file").write_text("root's")
    stage("in", *stage.trees, "--state", stage.state)
    theirs = stage.shell.home / "theirs"
    theirs.mkdir()
    (theirs / "file2").write_text("theirs")
    for path in (theirs, theirs / "file2"):
        os.chown(path, 65534, 65534)
    for path in [stage.shell.home, *stage.shell.home.parents]:
        if not path.stat().st_mode & 0o001:
            path.chmod(path.stat().st_mode | 0o011)
    before = listing(stage.shell.home)
    # The module is loaded as root: the checkout need not be readable for everybody.
    code = f"""
import os
from pathlib import Path
from tonnage.errors import RequestError
from tonnage.staging.mover_host import Host
from tonnage.staging.mover_plan import StagePlan
os.environ["XDG_RUNTIME_DIR"] = {str(theirs)!r}
source, to = Path({str(theirs)!r}), Path({str(stage.remote)!r})
plan = StagePlan(source=source, to=to, state=source / ".tonnage-stage", name="theirs")
os.setgroups([]); os.setgid(65534); os.setuid(65534)
try:
    Host(plan)
except RequestError as error:
    print(error)
"""
    done = subprocess.run(
        [".venv/bin/python", "-c", code],
        cwd=Path(_native.__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "has manifests of another user's movers" in done.stdout and "; hint: name a directory" in done.stdout, done
    assert [path for path in listing(stage.shell.home) if "/tonnage" not in path] == before
