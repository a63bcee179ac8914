"""What was recorded cannot be altered unseen: any byte, any value, any file of a run."""

from __future__ import annotations

import itertools
import json
import os
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import warm_start
from tonnage.cli.entry import run_command
from tonnage.errors import RecordError
from tonnage.records.hash_chain import sealed_manifest
from tonnage.records.writer import RunWriter

pytest.importorskip("tonnage._native", reason="the engine is not built: run make build")

SIMULATED = """\
target = "sim:knee=2,noise=0.05"
seed = 9
keep_operations = 5
[workload]
tasks = [1, 2]
block_size = "4MiB"
time_limit = "150ms"
[repeat]
count = 1
"""
REAL = """\
target = "data"
seed = 9
keep_operations = 5
[[workload]]
name = "stream"
tasks = 2
block_size = "256KiB"
transfer_size = "64KiB"
[[workload]]
name = "command"
kind = "command"
argv = ["sh", "-c", "echo said"]
copies = 2
tasks = 1
keep_output = true
[[workload]]
name = "names"
kind = "files"
tasks = 1
phases = ["create", "stat", "remove"]
[repeat]
count = 1
"""
RANDOM = random.Random(20)
"""Which bytes are tried; the seed is fixed, so that a failure comes again."""
NO_DATA = {"report.html", "progress.json", "jobs.lock"}
Verify = Callable[[Path], tuple[int, str]]


def tonnage(cwd: Path, *words: str) -> str:
    done = warm_start.finished(*words, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module", params=["simulated", "real", "imported"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp(request.param)
    (home / "data").mkdir()
    if request.param == "imported":
        recorded = Path(__file__).parents[1] / "importers/recorded/nextflow-raw.txt"
        tonnage(home, "import", "nextflow", str(recorded), "--out", "run", "--no-report")
    else:
        (home / "c.toml").write_text(SIMULATED if request.param == "simulated" else REAL)
        tonnage(home, "run", "c.toml", "--out", "run", "--no-report")
    return home / "run"


@pytest.fixture
def verify(capsys: pytest.CaptureFixture[str]) -> Verify:
    def act(path: Path) -> tuple[int, str]:
        code = run_command(["verify", str(path)])
        said = capsys.readouterr()
        return code, said.out + said.err

    return act


def files(run: Path) -> list[Path]:
    return sorted(path for path in run.rglob("*") if path.is_file() and path.name not in NO_DATA)


def altered(path: Path, data: bytes, verify: Verify, run: Path) -> str | None:
    """What is wrong with what verify says of these bytes in the file's place; None if it notices."""
    before = path.read_bytes()
    path.write_bytes(data)
    try:
        code, said = verify(run)
    finally:
        path.write_bytes(before)
    if code == 1 and path.name in said:
        return None
    return f"{path.relative_to(run)}: exit {code}: {said}"


def test_a_run_as_it_was_written_is_sealed_and_sha256sum_agrees(run: Path, verify: Verify) -> None:
    code, said = verify(run)
    assert code == 0 and "sealed: the SHA-256 of manifest.json is" in said
    subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS", "files.sha256"], cwd=run, check=True)
    (digest,) = (word for word in said.split() if len(word) == 64)
    told = subprocess.run(["sha256sum", "manifest.json"], cwd=run, capture_output=True, text=True, check=True).stdout
    assert told.split()[0] == digest
    lines = (run / "manifest.json").read_text().splitlines(keepends=True)
    rest = "".join(line for line in lines if not line.startswith('  "seal": '))
    seal = json.loads((run / "manifest.json").read_text())["seal"]
    done = subprocess.run(["sha256sum"], input=rest, capture_output=True, text=True, check=True)
    assert done.stdout.split()[0] == seal["manifest_sha256"]


def test_every_file_of_a_run_is_noticed_when_any_byte_of_it_changes(run: Path, verify: Verify) -> None:
    unseen = []
    for path in files(run):
        before = path.read_bytes()
        for at in RANDOM.sample(range(len(before)), min(len(before), 4)):
            data = bytearray(before)
            data[at] ^= 1 << RANDOM.randrange(8)
            unseen.append(altered(path, bytes(data), verify, run))
        unseen.append(altered(path, before + RANDOM.choice((b"x", b"\n", b" ")), verify, run))
        if before:
            unseen.append(altered(path, before[:-1], verify, run))
            unseen.append(altered(path, b"", verify, run))
    assert not list(filter(None, unseen))


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield (*path, key)
        yield from leaves(inner, (*path, key))


def changed(text: str, path: tuple[Any, ...], value: Any) -> str:
    whole = json.loads(text)
    inner = whole
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value if inner[path[-1]] != value else 12345
    return json.dumps(whole, separators=(",", ":"), ensure_ascii=False)


ODD = (None, 7, -1, 10**400, 1e300, "x", [], {}, True, "2020-01-01T00:00:00Z", "\x1b[2J")


def test_every_value_of_a_line_and_of_the_manifest_is_noticed_when_it_changes(run: Path, verify: Verify) -> None:
    unseen = []
    for path in sorted(run.glob("*.jsonl")):
        lines = path.read_text().splitlines()
        for at in {0, len(lines) - 1} if lines else ():
            for leaf in leaves(json.loads(lines[at])):
                new = [*lines[:at], changed(lines[at], leaf, RANDOM.choice(ODD)), *lines[at + 1 :]]
                unseen.append(altered(path, "".join(f"{line}\n" for line in new).encode(), verify, run))
    manifest = run / "manifest.json"
    every = list(leaves(json.loads(manifest.read_text())))
    for leaf in RANDOM.sample(every, min(len(every), 60)):
        text = json.dumps(json.loads(changed(manifest.read_text(), leaf, RANDOM.choice(ODD))), indent=2) + "\n"
        unseen.append(altered(manifest, text.encode(), verify, run))
    assert not list(filter(None, unseen))


def test_what_lies_in_a_files_place_is_told_in_one_line_whatever_it_is(run: Path, verify: Verify) -> None:
    unseen = []
    kept = run.parent / "kept"
    for path in files(run):
        for what in ("missing", "directory", "fifo", "link", "unreadable"):
            path.rename(kept)
            if what == "directory":
                path.mkdir()
            elif what == "fifo":
                os.mkfifo(path)
            elif what == "link":
                path.symlink_to(kept)
            elif what == "unreadable":
                path.symlink_to(path)
            code, said = verify(run)
            if code != 1 or path.name not in said:
                unseen.append(f"{path.relative_to(run)} {what}: exit {code}: {said}")
            if what == "directory":
                path.rmdir()
            else:
                path.unlink(missing_ok=True)
            kept.rename(path)
    assert not unseen


def test_a_record_that_is_taken_out_or_added_or_moved_is_noticed(run: Path, verify: Verify) -> None:
    unseen = []
    for path in sorted(run.glob("*.jsonl")):
        lines = path.read_bytes().splitlines(keepends=True)
        if len(lines) < 2:
            continue
        for new in (lines[1:], lines[:-1], [*lines, lines[-1]], lines[::-1]):
            unseen.append(altered(path, b"".join(new), verify, run))
    for room in ("series", "heat", "latency", "operations"):
        for path in sorted((run / room).iterdir()):
            copy = path.with_name(path.name.replace(path.name.partition(".")[0], "0999-write"))
            shutil.copy(path, copy)
            assert verify(run)[0] == 1, "what was added among the records is told"
            copy.unlink()
    assert not list(filter(None, unseen))
    absent = next((room for room in ("operations", "heat") if not list((run / room).iterdir())), None)
    if absent is not None and (records := sorted((run / "series").iterdir())):
        extra = run / absent / f"{records[0].name.partition('.')[0]}.parquet"
        shutil.copy(records[0], extra)
        code, said = verify(run)
        extra.unlink()
        assert code == 1 and "was added" in said


def test_a_seal_that_is_taken_away_is_missed(run: Path, verify: Verify) -> None:
    manifest = run / "manifest.json"
    plain = json.loads(manifest.read_text())
    del plain["seal"]
    assert altered(manifest, json.dumps(plain).encode(), verify, run) is None


def as_by_an_older_version(run: Path) -> None:
    for name in ("chain.jsonl", "files.sha256", "SHA256SUMS"):
        (run / name).unlink()
    manifest = json.loads((run / "manifest.json").read_text())
    del manifest["seal"]
    (run / "manifest.json").write_text(json.dumps(manifest, indent=2))


def resealed(run: Path, sums: str | None, **changes: Any) -> bytes:
    """The manifest's bytes with another hash of ``SHA256SUMS``, and its own made anew where values change too."""
    manifest = json.loads((run / "manifest.json").read_text())
    if changes:
        return sealed_manifest({**manifest, **changes}, sums)
    text = (run / "manifest.json").read_text()
    return text.replace(f'"{manifest["seal"]["sums_sha256"]}"', json.dumps(sums)).encode()


@pytest.mark.parametrize("cut", [False, True], ids=["whole", "lines-taken-off"])
@pytest.mark.parametrize("without", [False, True], ids=["SHA256SUMS", "no-SHA256SUMS"])
@pytest.mark.parametrize("state", [None, "complete", "failed", "interrupted", "", "other", 7])
def test_a_run_that_ended_without_the_hash_of_its_sums_is_altered_and_is_not_resumed(
    run: Path, verify: Verify, tmp_path: Path, state: Any, without: bool, cut: bool
) -> None:
    other = tmp_path / "other"
    shutil.copytree(run, other)
    (other / "manifest.json").write_bytes(resealed(run, None, **({} if state is None else {"state": state})))
    if without:
        (other / "SHA256SUMS").unlink()
    if cut:
        for name in ("trials.jsonl", "chain.jsonl"):
            lines = (other / name).read_bytes().splitlines(keepends=True)
            (other / name).write_bytes(b"".join(lines[:-1]))
    code, said = verify(other)
    assert code == 1 and "manifest.json" in said and "not sealed yet" not in said, said
    with pytest.raises(RecordError, match=r"manifest\.json"):
        RunWriter.reopen(other)


def test_a_sealed_run_without_one_of_its_seals_parts_is_altered(run: Path, verify: Verify, tmp_path: Path) -> None:
    parts = ("seal", "SHA256SUMS", "chain.jsonl", "files.sha256")
    for taken in (set(some) for count in (1, 2, 3) for some in itertools.combinations(parts, count)):
        other = tmp_path / "-".join(sorted(taken))
        shutil.copytree(run, other)
        for name in taken - {"seal"}:
            (other / name).unlink()
        if "seal" in taken:
            manifest = json.loads((other / "manifest.json").read_text())
            del manifest["seal"]
            (other / "manifest.json").write_text(json.dumps(manifest, indent=2))
        code, said = verify(other)
        assert code == 1, f"{taken}: {said}"


def test_a_run_without_its_seal_is_not_resumed_where_the_rest_of_it_is_there(run: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(run, other)
    manifest = json.loads((other / "manifest.json").read_text())
    del manifest["seal"]
    (other / "manifest.json").write_text(json.dumps(manifest, indent=2))
    with pytest.raises(RecordError, match="seal"):
        RunWriter.reopen(other)


@pytest.mark.parametrize("sealed", [True, False], ids=["sealed", "older"])
def test_a_file_of_a_run_that_was_made_huge_is_told_of_without_being_read(
    run: Path, verify: Verify, tmp_path: Path, capsys: pytest.CaptureFixture[str], sealed: bool
) -> None:
    other = tmp_path / "other"
    shutil.copytree(run, other)
    if not sealed:
        as_by_an_older_version(other)
    unseen = []
    for path in files(other):
        before = path.stat().st_size
        os.truncate(path, 1 << 40)
        code, said = verify(other)
        # What an older version did not hash, and no figure follows from, is not read.
        noticed = code == 1 and path.name in said if sealed else code in (0, 1)
        if not noticed or "Traceback" in said:
            unseen.append(f"{path.relative_to(other)}: exit {code}: {said}")
        if path.name in ("manifest.json", "trials.jsonl", "tasks.jsonl"):
            assert run_command(["report", str(other)]) != 0
            assert path.name in capsys.readouterr().err
        os.truncate(path, before)
    assert not unseen


def test_a_run_of_an_older_version_is_said_to_be_unsealed_and_altered_values_never_end_in_a_traceback(
    run: Path, verify: Verify, tmp_path: Path
) -> None:
    older = tmp_path / "older"
    shutil.copytree(run, older)
    as_by_an_older_version(older)
    code, said = verify(older)
    assert code == 0 and "no seal: made by an older version, or the seal was removed" in said
    for path in files(older):
        before = path.read_bytes()
        for _ in range(3):
            data = bytearray(before)
            if path.suffix == ".jsonl" and before:
                lines = before.decode().splitlines()
                at = RANDOM.randrange(len(lines))
                every = list(leaves(json.loads(lines[at])))
                lines[at] = changed(lines[at], RANDOM.choice(every), RANDOM.choice(ODD))
                data = bytearray("".join(f"{line}\n" for line in lines).encode())
            elif before:
                for _ in range(3):
                    data[RANDOM.randrange(len(data))] = RANDOM.randrange(256)
            path.write_bytes(bytes(data))
            code, said = verify(older)
            assert code in (0, 1), said
            assert "Traceback" not in said and "panicked" not in said
        path.write_bytes(before)
