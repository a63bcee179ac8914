"""A long output: what is done for each trial does not touch the disk. Work is counted here, never timed."""

from __future__ import annotations

import os
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tonnage.cli import main
from tonnage.importers import imported_lines
from tonnage.importers.imported_lines import Placed
from tonnage.importers.rounded_numbers import elapsed_ns, rounded
from tonnage.importers.unwrap_text import unwrapped
from tonnage.records import Run

from .import_command import RECORDED, lines, take

TABLE = "ior/ext4-fpp-wr-3reps.txt"


def of_many(path: Path, outputs: int) -> Path:
    path.write_text("".join(lines(RECORDED / TABLE) * outputs))
    return path


def test_a_file_of_many_trials_is_synced_no_more_often_than_one_of_few(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = [0]
    fsync = os.fsync

    def counted(descriptor: Any) -> None:
        synced[0] += 1
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", counted)
    take("ior", tmp_path / "few", of_many(tmp_path / "few.txt", 1))
    few, synced[0] = synced[0], 0
    run = take("ior", tmp_path / "many", of_many(tmp_path / "many.txt", 40))
    assert len(run.trials()) == 240
    assert synced[0] == few


def test_trials_of_one_setting_are_told_apart_from_others_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []
    with_keys = imported_lines._with_keys

    def counted(found: Placed, keys: Any) -> Placed:
        compared.append(found)
        return with_keys(found, keys)

    monkeypatch.setattr(imported_lines, "_with_keys", counted)
    run = take("ior", tmp_path / "run", of_many(tmp_path / "many.txt", 40))
    assert len(run.trials()) == 240
    assert len(compared) == 2, "the writes, and the reads"


def test_a_text_that_nothing_is_wrapped_around_is_not_copied() -> None:
    data = (RECORDED / TABLE).read_bytes()
    assert unwrapped(data).data is data


def test_a_time_is_what_agrees_with_both_printed_figures_to_the_last_digit() -> None:
    draw = random.Random(1)
    for _ in range(2000):
        count, seconds = draw.randrange(1, 1 << 40), Fraction(draw.randrange(1, 10**6), 10 ** draw.randrange(7))
        rate = Fraction(count) / seconds * Fraction(draw.randrange(999, 1002), 1000)
        time, said = rounded(f"{float(seconds):.6f}"), rounded(f"{float(rate):.2f}")
        if time is None or said is None or not said.low:
            continue
        least, most = max(time.low, count / said.high), min(time.high, count / said.low)
        span = (least + most) / 2 if least <= most else time.middle
        assert elapsed_ns(count, time, said) == max(1, round(span * 10**9))


def test_what_is_written_together_is_chained_record_by_record(tmp_path: Path) -> None:
    run = take("ior", tmp_path / "run", of_many(tmp_path / "out.txt", 3))
    assert main(["verify", str(run.path)]) == 0
    chain = (run.path / "chain.jsonl").read_text().splitlines()
    assert len(chain) == len(run.trials()) == 18
    with (run.path / "tasks.jsonl").open("r+b") as file:
        file.seek(200)
        file.write(b"9")
    assert main(["verify", str(run.path)]) != 0


def test_a_disk_that_is_full_leaves_no_trial_without_its_tasks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tonnage.records.writer.MOST_GATHERED_BYTES", 40_000)
    from tonnage.records import writer

    append = writer.append_bytes
    appended: list[str] = []

    def filling(path: Path, data: bytes, size_bytes: int | None = None) -> None:
        if data:
            appended.append(path.name)
        if appended.count("trials.jsonl") == 3:
            raise OSError(28, "No space left on device", str(path))
        append(path, data, size_bytes)

    monkeypatch.setattr(writer, "append_bytes", filling)
    out = tmp_path / "run"
    assert main(["import", "ior", str(of_many(tmp_path / "out.txt", 40)), "--out", str(out)]) != 0
    kept = Run.open(out).trials()
    assert kept
    assert f"the {len(kept)} records so far are kept" in capsys.readouterr().err
    tasks = {task["record"] for task in Run.open(out).tasks()}
    assert {line["record"] for line in kept} <= tasks


def test_a_line_of_a_million_blanks_is_looked_at_once(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    text = (RECORDED / TABLE).read_text()
    path.write_text(text.replace("Results:", "a" + " " * 1_000_000 + "\nResults:"))
    assert len(take("ior", tmp_path / "run", path).trials()) == 6
