"""The whole way through the command, on a small configuration."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tonnage.cli import main
from tonnage.errors import RecordError
from tonnage.io500 import benchmark
from tonnage.io500.benchmark_progress import FILE, Kept
from tonnage.io500.result_directory import ResultDirectory
from tonnage.records import Run

from .small_benchmark import FEW, SMALL, Io500

PHASES = [
    "ior-easy-write", "mdtest-easy-write", "timestamp", "ior-hard-write", "mdtest-hard-write", "find", "ior-easy-read",
    "mdtest-easy-stat", "ior-hard-read", "mdtest-hard-stat", "mdtest-easy-delete", "mdtest-hard-read",
    "mdtest-hard-delete", "ior-rnd4K-easy-read",
]  # fmt: skip


def summary(results: Path) -> dict[str, float]:
    text = (results / "result_summary.txt").read_text()
    return {name: float(value) for name, value in re.findall(r"^\[(?:RESULT| {6})\] +(\S+) +([0-9.]+)", text, re.M)}


KILLED = """
import os, sys
from tonnage.cli import main
from tonnage.io500.result_directory import ResultDirectory

add = ResultDirectory._summary

def killed(self, lines, mode="a"):
    here = any(sys.argv[2] in line for line in lines)
    if not here or sys.argv[1] == "behind":
        add(self, lines, mode)
    if here:
        os.kill(os.getpid(), 9)
    return lines

ResultDirectory._summary = killed
main(sys.argv[3:])
"""
"""The command, killed ``before`` or ``behind`` the first line of the summary with the second word."""


def test_all_phases_are_measured_and_scored_and_nothing_is_left(here: Path, io500: Io500) -> None:
    code, out, err = io500("small.ini", "--tasks", "2", "--timestamp", "then")
    assert code == 0, err
    results = here / "results" / "then"
    figures = summary(results)
    assert list(figures) == PHASES
    assert all(value > 0 for name, value in figures.items() if name != "timestamp"), figures
    assert not (here / "data").exists()
    assert out.splitlines()[0] == "IO500 version tonnage-0.1.0 (standard)"
    assert out.splitlines()[1 : len(PHASES) + 1] == (results / "result_summary.txt").read_text().splitlines()[1:-1]
    assert "no official submission" in out.splitlines()[-1]
    assert "stonewall-time is 1 s, and the rules say 300 s" in err
    result = (results / "result.txt").read_text()
    assert re.search(r"^SCORE +=\s[0-9.]+ \[INVALID\]$", result, re.M)
    assert re.search(r"\[find\]\n.*\nexe .*\nnproc +=\s2\nfound +=\s(\d+)\ntotal-files +=\s38[3-9]\n", result), result
    told = dict(re.findall(r"^(found|total-files) += (\d+)$", result, re.M))
    ranks = [list(map(int, row.split(", "))) for row in (results / "find.csv").read_text().splitlines()[2:]]
    assert [row[:3] for row in ranks] == [[0, 0, 0], [1, 0, 0]]
    assert [sum(row[at] for row in ranks) for at in (3, 4)] == [int(told["found"]), int(told["total-files"])]
    assert (results / "report.html").is_file()
    for name in PHASES:
        if name != "timestamp":
            assert Run.open(results / "tonnage" / name).trials(), name
            assert (results / f"{name}.txt").stat().st_size > 0
    assert "IOR" in (results / "ior-hard-read.txt").read_text()
    assert not list(results.glob("*.stonewall"))


def test_find_finds_what_find_finds(here: Path, io500: Io500) -> None:
    """``external-script`` is given the same words: GNU find agrees with our own search."""
    script = here / "script"
    script.write_text(
        '#!/bin/sh\nfound=$(find "$@" | wc -l)\nall=$(find "$1" ! -type d | wc -l)\necho "MATCHED $found/$all"\n'
    )
    script.chmod(0o700)
    # Long enough for every task to create all of its files: else the two benchmarks have not the same ones.
    whole = SMALL.replace("stonewall-time = 1", "stonewall-time = 20")
    (here / "own.ini").write_text(whole)
    (here / "other.ini").write_text(f"{whole}[find]\nexternal-script = {script}\n")
    told = []
    for name in ("own", "other"):
        code, out, _ = io500(f"{name}.ini", "--timestamp", name, "--json")
        score = json.loads(out)["score"]
        assert (code, score["low"], score["high"]) == (0, None, None), "one repetition has no interval"
        text = (here / "results" / name / "result.txt").read_text()
        told.append(re.findall(r"^(?:found|total-files) += (\d+)$", text, re.M))
    # Of the numbers below 150 those with "01" in them: 101, and those whose task is followed by one.
    assert told[0] == told[1]
    assert int(told[0][0]) > 0


def test_repetitions_give_the_score_an_interval(here: Path, io500: Io500) -> None:
    code, out, _ = io500("small.ini", "--repeat", "3", "--timestamp", "then", "--json")
    assert code == 0
    told: dict[str, Any] = json.loads(out)
    score = told["score"]
    assert len(score["values"]) == len(told["repetitions"]) == 3
    assert score["low"] <= score["median"] <= score["high"]
    assert score["low"] < score["high"]
    assert told["official"] is False
    assert told["valid"] is False
    for number in (1, 2, 3):
        assert len(summary(here / "results" / "then" / f"repetition-{number}")) == len(PHASES)
    assert not (here / "data").exists()


def test_a_phase_that_is_cut_is_measured_again_and_no_other(
    here: Path, io500: Io500, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    measure = benchmark.measure

    def cut(step: Any, *rest: Any) -> Any:
        asked.append(step.name)
        if step.name == "mdtest-hard-write" and asked.count(step.name) == 1:
            measured = measure(step, *rest)
            return type(measured)(measured.figure, measured.lines, is_interrupted=True)
        return measure(step, *rest)

    monkeypatch.setattr(benchmark, "measure", cut)
    code, out, err = io500("small.ini", "--timestamp", "then")
    assert code == 130
    assert "go on with `tonnage io500 --resume" in err
    assert "there is no score: phases that count are missing: mdtest-hard-write, find, " in out
    assert (here / "data" / "then" / "ior-easy" / "ior_file_easy.00000000").exists()
    code, _, err = io500("--resume", "results/then")
    assert code == 0, err
    assert asked == [*PHASES[:5], *PHASES[4:]]
    assert list(summary(here / "results" / "then")) == PHASES
    assert not (here / "data").exists()
    assert Kept.load(here / "results" / "then").is_complete
    assert io500("--resume", "results/then")[0] == 2


def test_results_never_replace_what_lies_in_their_directory(here: Path, io500: Io500) -> None:
    (here / "config.ini").write_text(f"{FEW}[global]\nresultdir = .\ntimestamp-resultdir = FALSE\ndatadir = ../d\n")
    before = (here / "config.ini").read_text()
    code, out, err = io500("config.ini")
    assert (code, out) == (2, "")
    assert "[global] resultdir = " in err and "config.ini lies in it already; hint: " in err
    assert (here / "config.ini").read_text() == before
    assert not (here.parent / "d").exists()


def test_more_searchers_than_tasks_are_refused_before_anything_is_made(here: Path, io500: Io500) -> None:
    (here / "many.ini").write_text(f"{SMALL}[find]\nnproc = 3\n")
    for more in (("--dry-run",), ()):
        code, out, err = io500("many.ini", *more)
        assert (code, out) == (
            2,
            "",
        ) and "[find] nproc = 3: there is one task; hint: start 3, or leave nproc out" in err
    assert not (here / "data").exists()
    assert io500("many.ini", "--tasks", "3", "--dry-run")[0] == 0


def test_collective_transfers_of_threads_are_refused_before_anything_is_made(here: Path, io500: Io500) -> None:
    (here / "coll.ini").write_text(f"{SMALL}[ior-hard]\nAPI = MPIIO\ncollective = TRUE\n")
    code, out, err = io500("coll.ini", "--tasks", "2", "--dry-run")
    assert (code, out) == (2, "") and err.count("\n") == 1
    assert "[ior-hard] API = MPIIO: " in err
    assert "collective transfers on a shared file need a process for each task; hint: " in err
    assert io500("coll.ini", "--dry-run")[0] == 0


@pytest.mark.parametrize("key", ["datadir", "resultdir"])
def test_a_directory_that_cannot_be_made_is_refused_by_a_dry_run(here: Path, io500: Io500, key: str) -> None:
    (here / "file").write_text("precious")
    for value, why in (("/dev/null/x", "is no"), ("file/x/y", "is no"), ("/proc/x", "you may"), ("/sys/x", "you may")):
        (here / "nowhere.ini").write_text(f"{SMALL}[global]\n{key} = {value}\n")
        code, out, err = io500("nowhere.ini", "--dry-run")
        assert (code, out) == (2, "") and f"[global] {key} = {value}: " in err and why in err and "; hint: " in err


def test_the_extended_phases_of_md_workbench_are_refused_by_name(here: Path, io500: Io500) -> None:
    code, out, err = io500("small.ini", "--mode", "extended")
    assert (code, out) == (2, "")
    assert "[mdworkbench] run = TRUE: the extended phases of md-workbench are not carried out here; hint: " in err
    assert not (here / "data").exists()


def test_a_dry_run_says_what_each_phase_does_and_makes_nothing(here: Path, io500: Io500) -> None:
    code, out, _ = io500("small.ini", "--timestamp", "then", "--tasks", "3", "--dry-run")
    assert code == 0
    assert [line.partition(": ")[0] for line in out.splitlines()] == [name for name in PHASES if name != "timestamp"]
    assert "ior-easy-write: ior " in out and " -N 3" in out.splitlines()[0]
    assert sorted(path.name for path in here.iterdir()) == ["few.ini", "small.ini"]


def test_a_result_that_was_changed_does_not_agree_with_its_hash(here: Path, io500: Io500) -> None:
    recorded = Path(__file__).parent / "recorded"
    configuration = str(recorded / "config.ini")
    assert io500("--verify", str(recorded), configuration) == (0, "the figures agree with the hash\n", "")
    text = (recorded / "result.txt").read_text()
    (here / "result.txt").write_text(text.replace("= 0.109153", "= 0.209153"))
    code, _, err = io500("--verify", "result.txt")
    assert code == 1 and "[SCORE] hash is 37DE7166, and of the figures " in err
    code, _, err = io500("small.ini", "--verify", str(recorded))
    assert code == 1 and "config-hash is A8990A94, and that of the configuration " in err
    (here / "result.txt").write_text(text.partition("[SCORE]")[0])
    code, _, err = io500("--verify", "result.txt")
    assert code == 2 and "has no score with a hash; hint: " in err


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("[global]\nresultdir = data\n", "datadir and resultdir lie in each other"),
        ("[ior-easy]\nblockSize = 3k\n", "[ior-easy] blockSize = 3k: it is no multiple of transferSize = 64k; hint: "),
        ("[ior-easy]\ntransferSize = 9\n", "[ior-easy] transferSize = 9: a transfer is a multiple of 8 bytes; hint: "),
        ("[ior-easy]\ntransferSize = much\n", "[ior-easy] transferSize = much: it is no size; hint: "),
        ("[ior-easy]\nblockSize = 0\n", "[ior-easy] blockSize = 0: a size is above 0; hint: "),
        ("[ior-easy]\nuniqueDir = 1\nfilePerProc = 0\n", "[ior-easy] filePerProc = FALSE: unique directories are for "),
        ("[ior-easy]\nverbosity = -1\n", "[ior-easy] verbosity = -1: it is not between 0 and 10; hint: "),
        ("[global]\napi = DFS\n", "[global] api = DFS: this build has no backend DFS; hint: "),
        ("[ior-hard-read]\nAPI = DFS\n", "[ior-hard-read] API = DFS: this build has no backend DFS; hint: "),
        ("[mdtest-easy]\nAPI = DFS\n", "[mdtest-easy] API = DFS: DFS is not in this build"),
        ("[mdtest-hard]\nAPI = POSIX --bogus\n", "[mdtest-hard] API = POSIX --bogus: "),
        ("[global]\ndatadir =\n", "[global] datadir = : it names no directory; hint: "),
        ("[global]\nresultdir =\n", "[global] resultdir = : it names no directory; hint: "),
        ("[global]\ndatadir = bad.ini/x\n", "bad.ini is no directory; hint: "),
        ("[global]\ndatadir = bad.ini\ntimestamp-datadir = 0\n", "[global] datadir = "),
        ("[global]\ndataPacketType = nothing\n", "[global] dataPacketType = nothing: it is no kind of data; hint: "),
        ("[global]\ndrop-caches-cmd = '\n", "[global] drop-caches-cmd = ': its quotes are not closed; hint: "),
        (
            "[global]\ndrop-caches = 1\ndrop-caches-cmd = /no/such\n",
            "[global] drop-caches-cmd = /no/such: there is no program '/no/such'; hint: ",
        ),
        ("[global]\nio-buffers-on-gpu = TRUE\n", "[global] io-buffers-on-gpu = TRUE: "),
        ("[debug]\nstonewall-time = 0\n", "[debug] stonewall-time = 0: it is not between 1 and 1000000; hint: "),
        ("[debug]\nstonewall-time = -3\n", "[debug] stonewall-time = -3: "),
        ("[ior-hard]\nsegmentCount = 0\n", "[ior-hard] segmentCount = 0: "),
        ("[mdtest-easy]\nn = 0\n", "[mdtest-easy] n = 0: "),
        ("[mdtest-hard]\nn = 0\n", "[mdtest-hard] n = 0: "),
        ("[mdtest-hard]\nfiles-per-dir = 0\n", "[mdtest-hard] files-per-dir = 0: "),
        ("[find]\nnproc = 0\n", "[find] nproc = 0: "),
        ("[find]\npfind-queue-length = -1\n", "[find] pfind-queue-length = -1: "),
        ("[find]\nexternal-script = nowhere\n", "[find] external-script = nowhere: it is no program; hint: "),
        ("[find]\nexternal-extra-args = '\n", "[find] external-extra-args = ': its quotes are not closed; hint: "),
    ],
)
def test_a_value_that_cannot_be_carried_out_is_one_line_before_anything_is_made(
    here: Path, io500: Io500, more: str, told: str
) -> None:
    (here / "bad.ini").write_text(SMALL + more)
    code, out, err = io500("bad.ini", "--timestamp", "then")
    assert (code, out) == (2, "")
    assert told in err
    assert len(err.splitlines()) == 1
    assert sorted(path.name for path in here.iterdir()) == ["bad.ini", "few.ini", "small.ini"]


def test_a_phase_that_fails_is_told_and_the_others_go_on(here: Path, io500: Io500) -> None:
    script = here / "script"
    script.write_text("#!/bin/sh\nexit 3\n")
    script.chmod(0o700)
    (here / "other.ini").write_text(f"{SMALL}[find]\nexternal-script = {script}\n")
    code, out, err = io500("other.ini", "--timestamp", "then")
    assert code == 1
    assert "not measured: find; hint:" in err
    results = here / "results" / "then"
    assert "there is no score: phases that count are missing: find\n" in out
    assert (results / "result_summary.txt").read_text().endswith("[SCORE ] none: not measured: find [INVALID]\n")
    assert (results / "result.txt").read_text().count("SCORE") == 1
    assert "Phases that count are missing: find." in (results / "report.html").read_text()
    figures = summary(results)
    assert figures["find"] == 0
    assert all(value > 0 for name, value in figures.items() if name not in ("find", "timestamp"))


def test_a_result_is_imported_as_ours_and_as_the_original_s(here: Path, io500: Io500) -> None:
    for day in ("01", "02"):
        assert io500("few.ini", "--timestamp", f"2026.01.{day}-00.00.00")[0] == 0
    results = sorted((here / "results").iterdir())
    assert main(["import", "io500", *map(str, results), "--out", "run", "--no-report"]) == 0
    lines = Run.open(here / "run").trials()
    assert len(lines) == 2 * 5
    assert {line["repetition"] for line in lines} == {0, 1}
    figures = summary(results[0])
    for line in lines[:5]:
        amount = line["bytes"] / 2**30 if line["bytes"] else line["operations"] / 1000
        value = figures[line["setting"]["workload"]]
        assert abs(amount / (line["elapsed_ns"] / 1e9) / value - 1) < 0.01, line


def test_the_command_lists_every_key(io500: Io500) -> None:
    code, out, _ = io500("--list")
    assert code == 0
    assert "[ior-rnd4K-easy-read]\nAPI = \nrun = TRUE" in out


def test_without_a_configuration_it_says_so(io500: Io500) -> None:
    assert io500()[0] == 2
    assert FILE == "tonnage-io500.json"


@pytest.mark.parametrize("moment", ["before", "behind"])
def test_a_kill_at_the_score_of_a_repetition_leaves_it_once(here: Path, io500: Io500, moment: str) -> None:
    words = [sys.executable, "-c", KILLED, moment, "[SCORE ]", "io500", "few.ini", "--timestamp", "then"]
    done = subprocess.run([*words, "--repeat", "2"], capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    io500("--resume", "results/then")
    for number in (1, 2):
        results = here / "results" / "then" / f"repetition-{number}"
        assert (results / "result.txt").read_text().count("\n[SCORE]\n") == 1
        assert (results / "result_summary.txt").read_text().count("[SCORE ]") == 1


@pytest.mark.parametrize("last", ["find", "[SCORE ]"])
def test_a_kill_behind_the_lines_of_a_phase_leaves_them_once(here: Path, io500: Io500, last: str) -> None:
    words = [sys.executable, "-c", KILLED, "behind", last, "io500", "small.ini", "--timestamp", "then"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    results = here / "results" / "then"
    assert last in (results / "result_summary.txt").read_text()
    code, _, err = io500("--resume", "results/then")
    assert code == 0, err
    sections = re.findall(r"^\[(\S+)\]$", (results / "result.txt").read_text(), re.MULTILINE)
    assert len(sections) == len(set(sections))
    assert (results / "result_summary.txt").read_text().count(f" {last} " if last == "find" else last) == 1
    assert io500("small.ini", "--verify", "results/then")[0] == 0


def test_only_what_the_benchmark_wrote_is_cut(tmp_path: Path) -> None:
    """A link leads to what somebody keeps, and a name that no result has is another file."""
    elsewhere, results = tmp_path / "notes", tmp_path / "results"
    results.mkdir()
    for path in (elsewhere, results / "result_summary.txt", results / "mine"):
        path.write_text("0123456789")
    (results / "result.txt").symlink_to(elsewhere)
    sizes = {"result_summary.txt": 4, "mine": 4, "../notes": 4}
    ResultDirectory(results, "results").cut_to(sizes)
    assert (results / "result_summary.txt").read_text() == "0123"
    with pytest.raises(OSError, match="symbolic links"):
        ResultDirectory(results, "results").cut_to({"result.txt": 4})
    (results / "result.txt").unlink()
    (results / "result.txt").hardlink_to(elsewhere)
    with pytest.raises(RecordError, match="2 names"):
        ResultDirectory(results, "results").cut_to({"result.txt": 4})
    assert elsewhere.read_text() == (results / "mine").read_text() == "0123456789"
    (results / "result.txt").unlink()
    ResultDirectory(results, "results").cut_to({"result.txt": 4})


def test_a_killed_command_leaves_what_a_resume_needs(here: Path) -> None:
    """Ctrl-C in the middle of a phase."""
    (here / "long.ini").write_text(
        SMALL.replace("stonewall-time = 1", "stonewall-time = 60").replace("n = 150", "n = 9999999")
    )
    command = [os.fspath(Path(__file__).parents[2] / "tonnage"), "io500", "long.ini", "--timestamp", "then"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as child:
        assert child.stdout is not None
        for line in child.stdout:
            if "ior-hard-write" in line:
                break
        tree = here / "data" / "then" / "mdtest-hard"
        while not any(name.startswith("f.") for _, _, names in os.walk(tree) for name in names):
            assert child.poll() is None
        child.send_signal(2)
        assert child.wait() == 130
    kept = Kept.load(here / "results" / "then")
    assert kept.begun == "mdtest-hard-write"
    assert [figure.name for figure in kept.done[0]] == PHASES[:4]


def test_one_api_for_all_phases_may_be_mpi_io(here: Path, io500: Io500) -> None:
    (here / "mpi.ini").write_text(f"{SMALL}[global]\napi = MPIIO\n")
    code, out, err = io500("mpi.ini", "--dry-run")
    assert code == 0, err
    assert all("-a MPIIO" in line for line in out.splitlines() if line.partition(": ")[2].startswith(("ior", "mdtest")))
