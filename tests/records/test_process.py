"""Whether the process that measured a run is gone: shown, never guessed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tonnage.records import Run
from tonnage.records.file_names import FORMAT, FORMAT_VERSION
from tonnage.records.measuring_process import is_gone, this_process


def of_another() -> tuple[subprocess.Popen[str], dict[str, Any]]:
    """A process that lives until its input ends, as it names itself."""
    words = (
        "import json, sys; from tonnage.records.measuring_process import this_process as t; "
        "print(json.dumps(t()), flush=True)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", f"{words}; sys.stdin.read()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    return process, json.loads(process.stdout.readline())


def run_of(path: Path, process: object, **manifest: object) -> Run:
    """A run that says that it goes on."""
    path.mkdir()
    told = {"format": FORMAT, "format_version": FORMAT_VERSION, "state": "running", **manifest}
    (path / "manifest.json").write_text(json.dumps(told))
    (path / "progress.json").write_text(json.dumps({"pid": 1, "process": process}))
    return Run.open(path)


def test_a_process_is_gone_once_it_has_ended_also_where_nobody_has_waited_for_it() -> None:
    process, named = of_another()
    assert not is_gone(named) and not is_gone(this_process())
    process.kill()
    # Its remains stay until they are asked for: that is after the next lines.
    while not is_gone(named):
        assert process.returncode is None
    process.wait()
    process.communicate()
    assert is_gone(named)


@pytest.mark.parametrize(
    "change", [{"boot": "another"}, {"namespace": "4:1"}, {"pid": "7"}, {"pid": 0}, {"start_ticks": None}]
)
def test_of_another_host_another_start_or_another_make_nothing_is_known(change: dict[str, Any]) -> None:
    process, named = of_another()
    process.kill()
    process.communicate()
    assert is_gone(named) and not is_gone({**named, **change})
    assert not is_gone(None) and not is_gone([named])


def test_a_number_that_the_kernel_gave_to_another_process_is_not_that_process() -> None:
    named = this_process()
    assert named and is_gone({**named, "start_ticks": named["start_ticks"] - 1})


HIDDEN = """
import json, os, sys
from tonnage.records.measuring_process import is_gone, this_process
read, write = os.pipe()
is_gone(this_process())  # imports what other users may not be able to read
if not (other := os.fork()):
    os.setgroups([]), os.setresgid(65533, 65533, 65533), os.setresuid(65533, 65533, 65533)
    os.write(write, json.dumps(this_process()).encode())
    sys.stdin.read()
    os._exit(0)
os.close(write)
named = json.loads(os.read(read, 4096))
if not (me := os.fork()):
    os.setgroups([]), os.setresgid(65534, 65534, 65534), os.setresuid(65534, 65534, 65534)
    print(os.path.exists(f"/proc/{other}"), is_gone(named), flush=True)
    os._exit(0)
os.waitpid(me, 0)
os.kill(other, 9)
os.waitpid(other, 0)
print(is_gone(named))
"""


def test_another_users_process_that_proc_hides_is_not_gone() -> None:
    # Processes of its own: an old kernel hides those of all mounts of a name space.
    own = ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--mount-proc"]
    mount = 'mount -t proc -o hidepid=2 proc /proc && exec "$@"'
    argv = [*own, "sh", "-c", mount, "sh", sys.executable]
    if os.geteuid() or shutil.which("unshare") is None or subprocess.run([*argv, "-c", ""], check=False).returncode:
        pytest.skip("a /proc that hides processes cannot be mounted")
    with subprocess.Popen([*argv, "-c", HIDDEN], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline() == "False False\n", "it runs, and cannot be seen"
        assert process.stdout.readline() == "True\n"
        process.stdin.close()
        assert process.wait() == 0


def test_only_a_run_that_says_it_goes_on_can_have_ended_without_a_summary(tmp_path: Path) -> None:
    process, named = of_another()
    assert run_of(tmp_path / "alive", named).state == "running"
    process.kill()
    process.communicate()
    assert run_of(tmp_path / "killed", named).state == "ended-without-summary"
    assert run_of(tmp_path / "older", None).state == "running"
    assert run_of(tmp_path / "whole", named, state="complete").state == "complete"
    on = {"scheduler": "local", "host": "here"}
    assert run_of(tmp_path / "jobs", named, on=on).state == "running"  # the next job may come
