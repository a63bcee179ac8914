"""``tonnage import`` of files that were compressed, labelled, quoted, given under the wrong kind, or under none."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import pytest
from tonnage.cli import main
from tonnage.importers.file_kinds import kinds_of
from tonnage.importers.unwrap_text import unwrapped
from tonnage.records import Run

from .import_command import RECORDED, rates, take
from .test_import_kinds import WHOLE
from .test_import_texts import ROUNDED
from .test_import_texts import WHOLE as TEXTS

IOR = RECORDED / "ior/ext4-fpp-wr-3reps.txt"
EVERY = (*WHOLE, *TEXTS, *ROUNDED, *(("ior", f"ior/{path.name}") for path in sorted((RECORDED / "ior").glob("*.txt"))))


def same(run_of: Path, tmp_path: Path) -> None:
    assert rates(take("ior", tmp_path / "run", run_of), "write") == rates(take("ior", tmp_path / "plain", IOR), "write")


@pytest.mark.parametrize(("kind", "name"), EVERY)
def test_a_file_tells_its_kind(kind: str, name: str) -> None:
    assert kinds_of((RECORDED / name).read_bytes(), name) == (kind,)


def test_a_file_without_a_kind_is_imported_by_what_is_in_it(tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert main(["import", str(IOR), "--out", str(out), "--no-report"]) == 0
    assert '"kind": "ior"' in (out / "manifest.json").read_text()


def test_a_file_of_no_tool_is_told_and_nothing_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.txt"
    path.write_text("hello\n")
    assert main(["import", str(path), "--out", str(tmp_path / "run")]) == 2
    assert "give its KIND first" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_several_files_without_a_kind_are_told_to_name_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["import", str(IOR), str(IOR), "--out", str(tmp_path / "run")])
    assert ended.value.code == 2
    assert "is a file and no KIND; hint: of several files give it" in capsys.readouterr().err


def test_the_wrong_kind_is_told_with_the_right_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "fio", str(IOR), "--out", str(tmp_path / "run")]) == 2
    assert f"it looks like ior: `tonnage import ior {IOR}`" in capsys.readouterr().err


def test_a_compressed_file_is_read_and_kept_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "ior.out.gz"
    path.write_bytes(gzip.compress(IOR.read_bytes()))
    same(path, tmp_path)
    (kept,) = (tmp_path / "run/originals").iterdir()
    assert kept.read_bytes() == path.read_bytes()


def test_a_zip_of_one_file_is_read_and_of_two_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "ior.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("ior.out", IOR.read_bytes())
    same(path, tmp_path)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("b.out", IOR.read_bytes())
    assert main(["import", "ior", str(path), "--out", str(tmp_path / "two")]) == 2
    assert "the zip file has 2 files; hint: unpack it" in capsys.readouterr().err


def test_a_compressed_file_that_is_cut_off_or_too_large_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = gzip.compress(IOR.read_bytes())
    assert "damaged" in (unwrapped(whole[:-8] + bytes(8)).problem or "")
    monkeypatch.setattr("tonnage.importers.unwrap_text.MOST_BYTES", 1000)
    assert "more than" in (unwrapped(whole).problem or "")


def test_of_a_compressed_file_that_is_cut_off_whole_lines_are_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = gzip.compress(IOR.read_bytes())
    path = tmp_path / "cut.gz"
    path.write_bytes(whole[: len(whole) * 4 // 5])
    run = tmp_path / "run"
    assert main(["import", str(path), "--out", str(run), "--no-report"]) == 0
    assert Run.open(run).trials() and Run.open(run).manifest["state"] == "incomplete"
    assert f"note: {path}: the gzip file is cut off; what can be unpacked of it is kept\n" in capsys.readouterr().err
    # What is cut off before anything tells its kind is no unknown kind.
    path.write_bytes(whole[:20])
    assert main(["import", str(path), "--out", str(tmp_path / "none")]) == 2
    assert f"error: {path}: the gzip file is cut off; nothing of it can be unpacked\n" in capsys.readouterr().err


def test_what_powershell_wrote_is_read(tmp_path: Path) -> None:
    path = tmp_path / "ior.out"
    path.write_bytes(IOR.read_text().replace("\n", "\r\n").encode("utf-16"))
    same(path, tmp_path)


def test_labels_of_srun_are_taken_off(tmp_path: Path) -> None:
    path = tmp_path / "slurm-7.out"
    labelled = [f" 0: {line}" for line in IOR.read_text().splitlines()]
    labelled[20:20] = ["12: WARNING: task 12 warns"]
    path.write_text("\n".join(labelled) + "\n")
    same(path, tmp_path)


def test_outputs_of_several_tasks_are_not_read_as_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "slurm-7.out"
    path.write_text("".join(f"0: {line}\n1: {line}\n" for line in IOR.read_text().splitlines()))
    assert main(["import", "ior", str(path), "--out", str(tmp_path / "run")]) == 2
    assert "outputs of 2 tasks are mixed" in capsys.readouterr().err


def test_fences_and_tables_of_markdown_are_taken_off(tmp_path: Path) -> None:
    text = IOR.read_text()
    page = tmp_path / "page.md"
    page.write_text(f"# Monday\nwrite 12 34 of these were slow\n```text\n{text}```\nThat is all.\n")
    same(page, tmp_path)
    rows = text.splitlines()
    begin = next(number for number, line in enumerate(rows) if line.startswith("access    bw"))
    table = [
        f"| {' | '.join(line.split())} |" for line in rows[begin:] if line.startswith(("access ", "write ", "read "))
    ]
    table = [line for line in table if line.count("|") == 12]
    table.insert(1, "|" + "---|" * 11)
    other = tmp_path / "table.md"
    other.write_text("\n".join([*rows[:begin], *table, "Finished : today", ""]))
    assert rates(take("ior", tmp_path / "of-table", other), "write") == rates(
        take("ior", tmp_path / "of-text", IOR), "write"
    )


def test_a_nan_in_json_costs_its_trial_and_not_the_file(tmp_path: Path) -> None:
    text = (RECORDED / "ior/ext4-json.txt").read_text()
    whole = rates(take("ior", tmp_path / "whole", RECORDED / "ior/ext4-json.txt"), "write")
    first = text[text.index('"bwMiB":') + 8 :].split(",")[0]
    for number, word in enumerate(("NaN", "nan", "-inf")):
        path = tmp_path / f"{number}.json"
        path.write_text(text.replace(f'"bwMiB":{first}', f'"bwMiB": {word}', 1))
        run = take("ior", tmp_path / str(number), path)
        assert (
            len(run.trials())
            == len(take("ior", tmp_path / f"all{number}", RECORDED / "ior/ext4-json.txt").trials()) - 1
        )
        assert set(rates(run, "write")) < set(whole)


def test_a_nextflow_run_without_a_trace_is_told_how_to_have_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / ".nextflow.log"
    path.write_text("Nov-20 15:11:00.000 [main] DEBUG nextflow.cli.Launcher - $> nextflow run main.nf\n")
    assert main(["import", "nextflow", str(path), "--out", str(tmp_path / "run")]) == 2
    assert "-with-trace" in capsys.readouterr().err


def test_colours_are_taken_off(tmp_path: Path) -> None:
    path = tmp_path / "shown.txt"
    path.write_text(IOR.read_text().replace("write ", "\x1b[01;31m\x1b[Kwrite\x1b[m\x1b[K "))
    same(path, tmp_path)
