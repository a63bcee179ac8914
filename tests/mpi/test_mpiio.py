"""Files through MPI-IO under a real mpiexec: IOR's command line, campaigns, hints, and tasks that leave early."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import wait_until

from .ranks import LIMIT_S, MPIEXEC, Started, environment, lines, manifest, needs_mpi, oversubscribing, tonnage

pytestmark = [
    needs_mpi(),
    pytest.mark.skipif(shutil.which("mpicc") is None, reason="no compiler of an MPI is installed"),
]

ROMIO = {"OMPI_MCA_io": "romio321"}
"""Open MPI's other way to files; other MPIs do not know the variable."""


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the shim is kept: of this test alone."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def ior(cwd: Path, *words: str, ranks: int = 4, extra: dict[str, str] | None = None) -> tuple[int, str, str]:
    done = tonnage(ranks, "ior", "-a", "MPIIO", "-O", "tonnageOut=run", *words, cwd=cwd, extra=extra)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        *((words, {}) for words in ("", "-c", "-F -c", "-V", "-c -V -S", "-c -e -Y", "-z -p")),
        *((words, ROMIO) for words in ("-z", "-c -V -S", "-c -Y")),
    ],
)
def test_ior_writes_and_reads_back_what_it_wrote(
    tmp_path: Path, state: Path, words: str, extra: dict[str, str]
) -> None:
    given = ["-w", "-r", "-R", "-W", "-t", "4k", "-b", "16k", "-s", "3", *words.split()]
    code, out, err = ior(tmp_path, *given, extra=extra)
    assert code == 0, out + err
    rows = [line.split() for line in out.splitlines() if re.match(r"(write|read) +\d", line)]
    assert [row[0] for row in rows[:2]] == ["write", "read"]
    kind = "collective" if "-c" in words else "independent"
    assert re.search(rf"^type +: {kind}$", out, re.MULTILINE)
    assert not list(tmp_path.glob("testFile*"))
    kept = manifest(tmp_path / "run")
    assert kept["target"]["kind"] == "mpiio" and Path(kept["mpiio"]["compiler"]).is_absolute()
    for line in lines(tmp_path / "run"):
        assert line["status"] == "ok" and line["bytes"] == 4 * 3 * 16384
        pieces = 3 if "-S" in words else 1
        assert line["latency"]["count"] == line["operations"] == 4 * 3 * 4 // pieces
    shims = list((state / "tonnage" / "mpiio").iterdir())
    assert len(shims) == 1, "it is compiled once, and nothing else stays"


def test_other_tasks_read_what_was_written_together(tmp_path: Path) -> None:
    words = ("-c", "-t", "4k", "-b", "8k", "-s", "2", "-k", "-G", "7")
    assert ior(tmp_path, "-w", *words)[0] == 0
    code, out, err = ior(tmp_path, "-r", "-R", "-C", "-V", *words, "-O", "tonnageOut=second")
    assert code == 0, out + err
    assert (tmp_path / "testFile").stat().st_size == 4 * 2 * 8192


def test_a_part_of_the_processes_makes_collective_transfers(tmp_path: Path) -> None:
    code, out, err = ior(tmp_path, "-c", "-N", "2", "-t", "4k", "-b", "8k", "-w", "-r", "-R", ranks=3)
    assert code == 0, out + err
    assert {line["ensemble"]["processes"] for line in lines(tmp_path / "run")} == {2}


def test_a_limit_of_time_ends_collective_transfers_of_all_tasks(tmp_path: Path) -> None:
    """No task waits for one that has left: each makes its calls of nothing until all have."""
    code, out, err = ior(tmp_path, "-c", "-w", "-t", "4k", "-b", "1g", "-D", "1", ranks=3)
    assert code == 0, out + err
    (line,) = lines(tmp_path / "run")
    assert line["stop_reason"] == "time" and 0 < line["operations"] < 3 << 18


def test_an_interrupt_ends_collective_transfers(tmp_path: Path) -> None:
    words = ("ior", "-a", "MPIIO", "-c", "-w", "-t", "4k", "-b", "1g", "-O", "tonnageOut=run")
    with Started(3, *words, cwd=tmp_path) as started:
        started.await_ranks()
        # The file grows only while tasks transfer.
        wait_until(lambda: (tmp_path / "testFile").exists() and (tmp_path / "testFile").stat().st_size > 1 << 16)
        os.kill(started.ranks[0], signal.SIGINT)
        code, out, err = started.ended()
    assert code != 0, out + err
    assert manifest(tmp_path / "run")["state"] == "interrupted"
    assert not (tmp_path / "testFile").exists()


def test_hints_are_passed_and_those_in_effect_are_kept(tmp_path: Path) -> None:
    (tmp_path / "hints").write_text("# two\nIOR_HINT__MPI__cb_nodes=1\nIOR_HINT__MPI__no_such_hint = 5\n")
    extra = {"IOR_HINT__MPI__cb_nodes": "2", "IOR_HINT__MPI__cb_buffer_size": "65536"}
    code, out, err = ior(tmp_path, "-w", "-c", "-t", "4k", "-b", "8k", "-H", "-U", "hints", extra=extra)
    assert code == 0, out + err
    passed = out.partition("hints passed to MPI_File_open() {")[2].partition("}")[0]
    assert passed.split("\n\t")[1:] == ["cb_buffer_size = 65536", "cb_nodes = 1", "no_such_hint = 5\n"]
    assert "hints returned from opened file {" in out
    (line,) = lines(tmp_path / "run")
    assert line["setting"]["hints"] == ["cb_buffer_size=65536", "cb_nodes=1", "no_such_hint=5"]
    assert manifest(tmp_path / "run")["mpiio"].get("hints", {}) == line["hints"]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("cb_nodes=1", "hints:2: 'cb_nodes=1' is no hint of MPI; hint: write IOR_HINT__MPI__NAME=VALUE"),
        ("IOR_HINT__GPFS__x=1", "hints:2: 'IOR_HINT__GPFS__x=1' is no hint of MPI"),
        ("IOR_HINT__MPI__a=1\nIOR_HINT__MPI__a=2", "hints:3: a has a value already; hint: "),
    ],
)
def test_a_line_that_is_no_hint_is_told_by_its_number(tmp_path: Path, line: str, told: str) -> None:
    (tmp_path / "hints").write_text(f"# one\n{line}\n")
    code, _, err = ior(tmp_path, "-w", "-t", "4k", "-b", "8k", "-U", "hints", ranks=1)
    assert code == 2 and told in err and "Traceback" not in err
    assert not (tmp_path / "run").exists() and not (tmp_path / "testFile").exists()


def test_a_hint_of_the_environment_without_a_value_is_told(tmp_path: Path) -> None:
    extra = {"IOR_HINT__MPI__cb_nodes": ""}
    code, _, err = ior(tmp_path, "-w", "-t", "4k", "-b", "8k", ranks=1, extra=extra)
    assert code == 2 and "IOR_HINT__MPI__cb_nodes= in the environment is no hint of MPI; hint: " in err


ASKED = """
import sys
from tonnage.cli import main
code = main(sys.argv[1:])
import mpi4py
print(mpi4py.rc.thread_level)
sys.exit(code)
"""


def level_asked(cwd: Path, *words: str) -> str:
    command = [MPIEXEC or "mpiexec", *oversubscribing(), "-n", "2", sys.executable, "-c", ASKED, *words]
    done = subprocess.run(command, cwd=cwd, env=environment(), capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 0, done.stdout + done.stderr
    # Lines of two ranks may come as one.
    (level,) = set(re.findall(r"multiple|funneled", done.stdout))
    return str(level)


def test_calls_of_several_threads_are_asked_of_mpi_where_mpi_io_is_measured_and_nowhere_else(tmp_path: Path) -> None:
    sizes = ("-b", "64k", "-t", "64k")
    (tmp_path / "data").write_text("api = mpiio")
    assert level_asked(tmp_path, "ior", "-w", "-E", "-o", "data", *sizes) == "funneled", "a file of data is not read"
    assert level_asked(tmp_path, "ior", "-a", "MPIIO", *sizes) == "multiple"
    (tmp_path / "script").write_text("IOR START\napi=MPIIO\nblockSize=64k\ntransferSize=64k\nRUN\nIOR STOP\n")
    assert level_asked(tmp_path, "ior", "-f", "script") == "multiple"
    for api, level in (("posix", "funneled"), ("mpiio", "multiple")):
        text = f'target = "."\n[workload]\nstorage = "{api}"\ntasks = 2\nblock_size = "1MiB"\n[repeat]\ncount = 1\n'
        (tmp_path / f"{api}.toml").write_text(text)
        assert level_asked(tmp_path, "run", f"{api}.toml", "--out", f"run-{api}", "--no-report") == level


def test_threads_of_a_process_work_with_romio_beside_each_other(tmp_path: Path) -> None:
    words = ("-F", "-w", "-r", "-R", "-N", "8", "-i", "6", "-t", "4k", "-b", "16k", "-V")
    code, out, err = ior(tmp_path, *words, ranks=1, extra=ROMIO)
    assert code == 0, out + err


def test_collective_transfers_of_threads_are_refused_in_one_line(tmp_path: Path) -> None:
    code, _, err = ior(tmp_path, "-w", "-c", "-N", "3", "-t", "4k", "-b", "8k", ranks=1)
    assert code == 2 or "WARNING: -N 3" in err
    (tmp_path / "one.toml").write_text(
        'target = "."\n[workload]\nop = "write"\ntasks = 3\nstorage = "mpiio"\ncollective = true\nlayout = "shared"\n'
        'block_size = "64KiB"\ntransfer_size = "64KiB"\ndirect = "no"\n'
    )
    done = tonnage(1, "run", "one.toml", "--out", "threads", "--no-report", cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "need a process for each task" in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "threads").exists()


@pytest.mark.parametrize("words", ["-c -V -e", "-F -z -p"])
def test_without_a_compiler_python_serves_and_says_what_a_call_costs(tmp_path: Path, state: Path, words: str) -> None:
    given = ["-w", "-r", "-R", "-t", "4k", "-b", "8k", "-s", "2", *words.split()]
    code, out, err = ior(tmp_path, *given, ranks=2, extra={"TONNAGE_MPICC": "none"})
    assert code == 0, out + err
    assert re.search(r"goes through Python, which (adds about \d+ µs and )?lets one task", err)
    kept = manifest(tmp_path / "run")["mpiio"]
    assert (kept["compiler"], kept["shim"]) == (None, None)
    assert not (state / "tonnage" / "mpiio").exists()
    assert {line["status"] for line in lines(tmp_path / "run")} == {"ok"}


def test_a_compiler_of_nothing_is_named_in_one_line(tmp_path: Path) -> None:
    for named, told in (
        ("/no/such", "is no program"),
        (shutil.which("false") or "false", "failed with status 1"),
        (shutil.which("true") or "true", "ends as if it had compiled, and made nothing"),
    ):
        code, _, err = ior(tmp_path, "-w", "-t", "4k", "-b", "8k", ranks=1, extra={"TONNAGE_MPICC": named})
        assert code == 2 and told in err and "Traceback" not in err
        assert len([line for line in err.splitlines() if "hint:" in line]) == 1
        assert not (tmp_path / "run").exists() and not (tmp_path / "testFile").exists()


def test_a_shim_that_another_user_could_have_written_is_not_loaded(tmp_path: Path, state: Path) -> None:
    words = ("-w", "-t", "4k", "-b", "8k")
    assert ior(tmp_path, *words, ranks=1)[0] == 0
    (shim,) = (state / "tonnage" / "mpiio").iterdir()
    shim.chmod(0o777)
    code, _, err = ior(tmp_path, *words, "-O", "tonnageOut=second", ranks=1)
    assert code == 2 and "is not safe from other users" in err
    assert not (tmp_path / "second").exists()


@pytest.mark.parametrize(("words", "extra"), [("-u", {}), ("-u -N 1", ROMIO), ("-S", {})])
def test_mdtest_makes_reads_and_removes_files_by_mpi_io(tmp_path: Path, words: str, extra: dict[str, str]) -> None:
    given = ["-n", "20", "-F", "-w", "3901", "-e", "3901", "-C", "-T", "-E", "-r", "-y", "-d", "data", *words.split()]
    given += [] if "-S" in words else ["-X"]
    done = tonnage(2, "mdtest", "-a", "MPIIO", *given, cwd=tmp_path, extra={**extra, "TONNAGE_OUT": "run"})
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"File creation +\d", done.stdout) and re.search(r"File removal +\d", done.stdout)
    kept = manifest(tmp_path / "run")
    assert kept["target"]["kind"] == "mpiio" and kept["mpiio"]["shim"]
    phases = {line["phase"]: line for line in lines(tmp_path / "run")}
    assert all(line["status"] == "ok" for line in phases.values()), phases
    assert phases["read"]["bytes"] == phases["read"]["operations"] * 3901 > 0
    assert phases["create"]["bytes"] == phases["create"]["operations"] * 3901 > 0
    assert not [path for path in (tmp_path / "data").rglob("*") if path.is_file()]


def test_a_file_that_is_there_is_not_made_again_by_mpi_io_and_a_link_is_not_followed(tmp_path: Path) -> None:
    """Between two runs somebody puts a link in the place of a file."""
    given = ["mdtest", "-a", "MPIIO", "-n", "3", "-F", "-u", "-d", "data"]
    assert tonnage(1, *given, "-C", cwd=tmp_path).returncode == 0
    (tmp_path / "theirs").write_text("precious")
    (first,) = [path for path in (tmp_path / "data").rglob("*") if path.name.endswith(".0") and path.is_file()]
    first.unlink()
    first.symlink_to(tmp_path / "theirs")
    done = tonnage(1, *given, "-E", "-w", "8", "-e", "8", cwd=tmp_path)
    assert done.returncode == 1 and "too many levels of symbolic links" in (done.stdout + done.stderr).lower()
    assert (tmp_path / "theirs").read_text() == "precious"
