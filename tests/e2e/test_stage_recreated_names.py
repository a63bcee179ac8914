"""A name that was cleared and is made anew: the application that reopens a log for append finds none."""

from __future__ import annotations

import os

import pytest

from .stage import Stage

NOTE = "names that were cleared at the source got other contents there"


def replaced(stage: Stage) -> int:
    return int(stage.status()["replaced_after_clearing"])


def notes(stage: Stage) -> list[str]:
    return [note for note in stage.status()["notes"] if NOTE in note]


@pytest.mark.parametrize("becomes", ["file", "link", "fifo"])
def test_what_takes_the_name_of_a_cleared_file_replaces_its_copy_and_is_counted(stage: Stage, becomes: str) -> None:
    log = stage.local / "log"
    (stage.local / "other").write_text("cleared for good")
    stage("start", *stage.trees, "--delete", "done")
    log.write_text("one\n")
    stage("wait")
    stage("wait")
    assert not log.exists() and replaced(stage) == 0 and notes(stage) == []
    if becomes == "file":
        with log.open("a") as stream:
            stream.write("two\n")
    elif becomes == "link":
        log.symlink_to("elsewhere")
    else:
        os.mkfifo(log)
    stage("wait")
    assert replaced(stage) == 1
    [note] = notes(stage)
    assert "such as log; hint: --exclude" in note
    assert NOTE in stage("stop").err
    # Known also without the mover.
    assert "replaced 1 file whose earlier contents had been cleared" in stage("status", "--from", stage.local).out
    assert replaced(stage) == 1


def test_the_same_bytes_again_replace_nothing(stage: Stage) -> None:
    log = stage.local / "log"
    stage("start", *stage.trees, "--delete", "done")
    for _ in range(3):
        log.write_text("one\n")
        stage("wait")
        stage("wait")
        assert not log.exists()
    assert replaced(stage) == 0 and notes(stage) == []
    for text in ("two\n", "three\n"):
        log.write_text(text)
        stage("wait")
        stage("wait")
        assert not log.exists() and replaced(stage) == 1
    stage("stop")
    assert (stage.remote / "log").read_text() == "three\n"
