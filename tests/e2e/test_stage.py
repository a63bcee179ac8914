"""``tonnage stage`` end to end: what arrives, what it says, what its exit code is, and what it leaves."""

from __future__ import annotations

import os
import re
import time
import urllib.request
from pathlib import Path

import pytest

from .stage import Stage


def fill(tree: Path, files: int = 8, size: int = 10_000) -> None:
    tree.mkdir(exist_ok=True)
    for number in range(files):
        (tree / f"file{number}").write_bytes(os.urandom(size))


def test_a_program_s_files_arrive_bit_by_bit_and_the_last_line_counts_them(stage: Stage) -> None:
    said = stage.run()
    stage.assert_equal()
    assert (stage.remote / "d20/file20").stat().st_size == 100_000
    assert re.search(r"42 files, 1.05 MB safe in .*remote; 1.0. MB copied in .* \(.*B/s\)\n$", said.err), said.err
    assert said.out == ""
    status = stage.status()
    assert (status["running"], status["progress"], status["done"]["files"]) == (False, "finished", 42)
    assert stage("list").out == "no movers\n" and not (stage.state / "control.sock").exists()


@pytest.mark.parametrize(("program", "code"), [("exit 7", 7), ("kill -USR1 $$", 138)])
def test_the_program_s_status_is_the_command_s_and_its_files_arrive_all_the_same(
    stage: Stage, program: str, code: int
) -> None:
    stage.run(program=f"echo data > file; {program}", check=code)
    stage.assert_equal()


def test_the_program_has_its_words_its_streams_and_both_trees_in_its_environment(stage: Stage) -> None:
    script = 'echo "$PERSIST_DIR|$PFS_DIR|$1|$2"; echo told >&2'
    said = stage("run", *stage.trees, "--", "sh", "-c", script, "sh", "a  b", "--json")
    assert said.out == f"{stage.local}|{stage.remote}|a  b|--json\n"
    assert said.err.startswith("told\n")


def test_the_program_has_the_user_s_environment_and_nothing_that_the_command_sets_for_itself(stage: Stage) -> None:
    said = stage("run", *stage.trees, "--", "env", "-0")
    names = {variable.partition("=")[0] for variable in said.out.split("\0") if variable}
    given = stage.shell.environment(**stage._runtime)
    assert names - set(given) == {"PERSIST_DIR", "PFS_DIR"}


def test_the_rate_is_of_the_time_in_which_files_moved_and_not_of_the_program_s(stage: Stage) -> None:
    said = stage.run(program="sleep 5; head -c 50000000 /dev/zero > file")
    found = re.search(r"5\d.\d MB copied in (\S+) (\S+), moving for (\S+) (\S+) \((\S+) (\S+)\)\n$", said.err)
    assert found, said.err
    scales = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9}
    in_all, moving, rate = (float(found[at]) * scales[found[at + 1]] for at in (1, 3, 5))
    assert in_all - moving > 2  # five seconds long nothing was there to move
    # A file that grew while it was read is read again: a little more than its size may move.
    assert 49e6 < rate * moving < 60e6


def test_a_program_that_is_not_there_is_refused_and_nothing_is_touched(stage: Stage) -> None:
    said = stage("run", *stage.trees, "--", "no-such-program", check=2)
    assert said.err.count("\n") == 1 and "cannot find the program 'no-such-program'; hint: " in said.err
    assert not stage.remote.exists() and not stage.state.exists()
    assert "hint: write it after --" in stage("run", *stage.trees, check=2).err


def test_in_steps_start_wait_limit_stop(stage: Stage) -> None:
    said = stage("start", *stage.trees, "--name", "run7")
    assert said.out == f"mover run7: from {stage.local} to {stage.remote}\n" and said.err == ""
    fill(stage.local)
    assert "8 files, 80.0 kB safe" in stage("wait").out
    stage.assert_equal()
    assert "run7" in stage("list").out
    assert stage("limit", "0", "--name", "run7").out == "mover run7: paused\n"
    (stage.local / "late").write_bytes(b"x" * 100)
    late = stage("wait", "--name", "run7", "--timeout", "0.5s", check=1)
    paused = f"it is paused: `tonnage stage limit none --state {stage.state}`"
    assert f"the time was over with 1 file, 100 B left; hint: {paused}" in late.err
    assert "limit 200 MB/s and 9 files/s" in stage("limit", "200MB/s,9files/s").out
    stage("wait", "--to", stage.remote)
    assert "no limit" in stage("limit", "none").out
    assert "9 files, 80.1 kB safe" in stage("stop").out
    stage.assert_equal()
    assert not stage.is_running() and stage("list").out == "no movers\n"
    assert (stage.state / "mover.log").read_text().count("Traceback") == 0


def test_several_movers_run_side_by_side_and_each_is_found_by_its_name_or_its_tree(stage: Stage) -> None:
    other = stage.shell.home / "other"
    fill(other, 3)
    stage("start", *stage.trees)
    stage("start", "--from", other, "--to", stage.shell.home / "elsewhere")
    try:
        said = stage("status", check=2)
        assert "several movers are known: local, other; hint: say which with --name" in said.err
        assert "3 files, 30.0 kB safe" in stage("wait", "--name", "other").out
        assert "0 files" in stage("wait", "--from", stage.local).out
        names = [line.split()[0] for line in stage("list").out.splitlines()]
        assert names == ["local", "other"]
        assert "a mover named local runs already" in stage(
            "start", "--name", "local", "--from", stage.shell.data, "--to", stage.remote, check=2
        ).err  # fmt: skip
    finally:
        stage("stop", "--name", "other")


def test_the_environment_names_the_trees_and_spectral_s_script_waits(stage: Stage) -> None:
    trees = {"PERSIST_DIR": str(stage.local), "PFS_DIR": str(stage.remote)}
    stage.remote.mkdir()
    stage("start", **trees)
    fill(stage.local, 32, 1000)
    stage.shell("compat", "install", stage.shell.home / "bin")
    said = stage.shell("spectral_wait", **trees, **stage._runtime)
    assert said.out.splitlines()[-2:] == ["Enqueued:32 Dequeued:32 Done:32", "All files moved"]
    log = (stage.remote / "spectral.log").read_text().splitlines()
    assert f"Spectral Work DONE File : {stage.remote}/file31" in log
    stage.assert_equal()
    assert (stage.shell.home / "bin" / "spectral_wait.py").exists()
    stage("stop", **trees)


def test_a_wait_returns_right_after_the_last_file(stage: Stage) -> None:
    log = stage.shell.home / "log"
    stage("start", *stage.trees, "--log", log, "--limit", "20files/s")
    fill(stage.local, 20)
    waiting = stage.begin("wait", *stage.trees)
    assert stage.said_by(waiting).code == 0
    late_s = time.time() - log.stat().st_mtime
    # 0.2 s on a quiet machine, with the interpreter's own end.
    assert late_s < 8, late_s


def test_inputs_go_in_once_and_the_second_time_nothing_is_copied(stage: Stage) -> None:
    inputs, local = stage.shell.home / "inputs", stage.shell.home / "node"
    fill(inputs, 5)
    trees = ("--from", inputs, "--to", local)
    assert "50.0 kB copied" in stage("in", *trees).err
    assert sorted(path.name for path in local.iterdir() if path.name != ".tonnage-stage") == [
        f"file{n}" for n in range(5)
    ]
    assert "5 files, 50.0 kB safe" in (again := stage("in", *trees).err) and "; 0 B copied" in again
    (inputs / "file3").write_bytes(b"changed")
    assert "; 7 B copied" in stage("in", *trees).err
    assert (local / "file3").read_bytes() == b"changed"


def test_a_tree_is_verified_and_each_fault_is_named(stage: Stage) -> None:
    stage.run()
    assert "0 wrong" in stage("verify", "--to", stage.remote).out
    damaged, missing = stage.remote / "d3/file3", stage.remote / "d4/file4"
    info, text = damaged.stat(), bytearray(damaged.read_bytes())
    text[777] ^= 1
    damaged.write_bytes(text)
    os.utime(damaged, ns=(info.st_atime_ns, info.st_mtime_ns))
    missing.unlink()
    (stage.remote / "foreign").write_text("somebody's")
    said = stage("verify", "--to", stage.remote, check=1)
    assert "d3/file3 has other bytes\n" in said.out and "d4/file4 is missing\n" in said.out and "2 wrong" in said.out
    report = stage("verify", "--to", stage.remote, "--json", check=1).json
    assert report["checksum_differs"] == ["d3/file3"] and report["unknown"] == ["foreign"]


def test_metrics_are_served_where_the_first_line_says(stage: Stage) -> None:
    said = stage("start", *stage.trees, "--metrics", "0")
    fill(stage.local, 4)
    stage("wait")
    url = re.search(r"http://127\.0\.0\.1:\d+/metrics", said.out)
    assert url, said.out
    with urllib.request.urlopen(url[0], timeout=10) as answer:
        assert 'tonnage_stage_files{mover="local",state="done"} 4.0' in answer.read().decode()


def test_a_foreign_file_stays_the_failed_one_is_named_and_goes_again_when_mended(stage: Stage) -> None:
    fill(stage.local, 3)
    stage.remote.mkdir()
    (stage.remote / "file1").write_text("somebody's")
    said = stage.run(program="true", check=1)
    assert "failed: file1: " in said.err and "1 file, 10.0 kB failed" in said.err
    assert (stage.remote / "file1").read_text() == "somebody's"
    assert "file1" in stage("status", "--from", stage.local, check=1).out
    (stage.remote / "file1").unlink()
    stage("resume", "--wait", "--from", stage.local)
    stage.assert_equal()


def test_what_failed_goes_again_with_each_start_and_a_stop_names_what_fails_still(stage: Stage) -> None:
    fill(stage.local, 3)
    stage.remote.mkdir()
    for name in ("file1", "file2"):
        (stage.remote / name).write_text("somebody's")
    stage.run(program="true", check=1)
    (stage.remote / "file1").unlink()
    stage("start", *stage.trees)
    said = stage("stop", "--from", stage.local, check=1)
    assert "failed: file2: " in said.err and "file1" not in said.err, said.err
    assert (stage.remote / "file1").read_bytes() == (stage.local / "file1").read_bytes()
    (stage.remote / "file2").unlink()
    stage.run(program="true")
    stage.assert_equal()


def test_every_action_has_a_help_of_its_own_and_a_wrong_one_a_hint(stage: Stage) -> None:
    assert "examples:" in stage("limit", "--help").out
    assert "hint: did you mean 'status'?" in stage("statsu", check=2).err
