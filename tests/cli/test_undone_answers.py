"""An answer of several runs knows what undoes the answer of each: of caches, of memory, of runs that did not end."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tonnage.cli import main
from tonnage.records import Run, measuring_process
from tonnage.records.file_names import MANIFEST

from tests.records.manifests import rewritten

from .json_output import answered

SWEEP = 'op = ["write", "read"]\ntasks = [1, 2, 4, 8]\nblock_size = "64MiB"\n'


def run_on(directory: Path, name: str, model: str = "knee=2", keys: str = SWEEP) -> Path:
    file = directory / f"{name}.toml"
    file.write_text(f'target = "sim:{model}"\nseed = 1\n[repeat]\ncount = 3\n[workload]\n{keys}')
    assert main(["run", str(file), "--out", str(directory / name), "--no-report"]) == 0
    return directory / name


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    directory = tmp_path_factory.mktemp("runs")
    found = {
        "sound": run_on(directory, "sound"),
        "cached": run_on(directory, "cached", "knee=2,cache=1TiB", f'{SWEEP}cache = "keep"\n'),
        "memory": run_on(directory, "memory"),
        "cut": run_on(directory, "cut"),
        "writes": run_on(directory, "writes", keys=SWEEP.replace(', "read"', "")),
    }
    rewritten(found["memory"], lambda manifest: manifest["target"].update(memory_backed=True, file_system="tmpfs"))
    rewritten(found["cut"], lambda manifest: manifest.update(state="interrupted"))
    return found


WORDS = {
    "compare": ["compare", "sound", "RUN", "--of", "runs"],
    "history": ["history", "sound", "RUN"],
    "crossover": ["crossover", "sound", "RUN", "--op", "read", "--shared", "RUN"],
    "project": ["project", "RUN", "--op", "read", "--tasks", "16"],
}


def asked(runs: dict[str, Path], command: str, name: str) -> list[str]:
    return [str(runs.get(name if word == "RUN" else word, word)) for word in WORDS[command]]


def undone(answer: dict[str, Any]) -> list[tuple[str, str]]:
    (told,) = answer.values()
    parts = [told] if isinstance(told, dict) else told
    return [(one["code"], Path(one["run"]).name) for part in parts for one in part["undone_by"]]


def undone_of(capsys: pytest.CaptureFixture[str], words: list[str]) -> list[tuple[str, str]]:
    found = answered(capsys, *words)
    return undone({key: value for key, value in found.items() if key != "refused"})


@pytest.mark.parametrize("command", WORDS)
@pytest.mark.parametrize(
    ("name", "code", "why"),
    [
        ("cached", "cache-read", "of the bytes came from a device"),
        ("memory", "memory-backed", "the file system is tmpfs that lives in memory"),
        ("cut", "interrupted", "it was interrupted: later trials are missing"),
    ],
)
def test_a_run_whose_answer_is_undone_is_named_beside_the_answer_of_several(
    runs: dict[str, Path],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    command: str,
    name: str,
    code: str,
    why: str,
) -> None:
    words = asked(runs, command, name)
    assert set(undone_of(capsys, words)) == {(code, name)}
    page = tmp_path / "page.html"
    assert main([*words, "--out", str(page)]) == 0
    said = capsys.readouterr().out
    assert re.search(rf"\n  but {code} in {re.escape(str(runs[name]))} \(.*{why}", said), said
    html = page.read_text(encoding="utf-8").replace("\u00a0", " ")
    assert re.search(rf'<div class="answer open">(?:(?!</div>).)*class="doubt">{code} in [^<]*</p>', html, re.DOTALL)
    assert 'class="answer reached"' not in html


@pytest.mark.parametrize("command", WORDS)
def test_runs_of_which_nothing_is_undone_are_not_in_doubt(
    runs: dict[str, Path], capsys: pytest.CaptureFixture[str], command: str
) -> None:
    words = asked(runs, command, "sound" if command == "project" else "writes")
    if command == "crossover":
        words = [word.replace("read", "write") if word == "read" else word for word in words]
    assert undone_of(capsys, words) == []
    main(words)
    assert "\n  but " not in capsys.readouterr().out


def test_what_undoes_a_curve_that_the_answer_does_not_rest_on_undoes_nothing(
    runs: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert undone_of(capsys, ["compare", str(runs["writes"]), str(runs["cached"])]) == []
    assert undone_of(capsys, ["project", str(runs["cached"]), "--op", "write", "--tasks", "16"]) == []


def test_a_run_whose_process_was_killed_is_no_complete_measurement(
    runs: dict[str, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed = run_on(tmp_path, "killed")
    manifest = {key: value for key, value in Run.open(killed).manifest.items() if key != "seal"}
    manifest["state"] = "running"
    (killed / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    words = ["compare", str(runs["sound"]), str(killed)]
    assert undone_of(capsys, words) == [("running", "killed")]
    monkeypatch.setattr(measuring_process, "is_gone", lambda _named: True)
    (killed / "progress.json").write_text("{}", encoding="utf-8")
    assert undone_of(capsys, words) == [("ended-without-summary", "killed")]


def test_repetitions_are_counted_by_the_answer_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keys = 'op = "write"\ntasks = 2\nblock_size = "8MiB"\n'
    found = []
    for side in ("old", "new"):
        (tmp_path / side).mkdir()
        for number in range(3):
            file = tmp_path / f"{side}{number}.toml"
            file.write_text(
                f'target = "sim:knee=2,noise=2%"\nseed = {number + 9}\n[repeat]\ncount = 1\n[workload]\n{keys}'
            )
            assert main(["run", str(file), "--out", str(tmp_path / side / str(number)), "--no-report"]) == 0
        found.append(str(tmp_path / side))
    assert undone_of(capsys, ["compare", *found]) == []


@pytest.mark.parametrize("command", ["compare", "history"])
def test_a_check_that_judges_a_run_in_doubt_says_so_on_stderr(
    runs: dict[str, Path], capsys: pytest.CaptureFixture[str], command: str
) -> None:
    for name, many in (("cut", 1), ("sound" if command == "history" else "writes", 0)):
        words = asked(runs, command, name) if name != "sound" else ["history", str(runs["sound"]), str(runs["writes"])]
        capsys.readouterr()
        # Two runs are too few for a verdict over time.
        assert main([*words, "--fail-if", "slower", "--json"]) == (2 if command == "history" else 0)
        error = capsys.readouterr().err
        assert error.count("tonnage: in doubt: ") == many and ("interrupted in " in error) == bool(many)
