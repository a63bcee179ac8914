"""Requests to ``tonnage stage`` that cannot work: one line, exit code 2, and nothing is touched."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from .stage import Stage


def listing(home: Path) -> list[str]:
    return sorted(str(path) for path in home.rglob("*"))


def refused(
    stage: Stage, *words: str | Path, with_word: str, actions: tuple[str, ...] = ("run", "start", "in")
) -> None:
    """Each way of starting a mover says the same, and leaves everything as it was."""
    before = listing(stage.shell.home)
    for action in actions:
        program = ["--", "touch", stage.shell.home / "began"] if action == "run" else []
        said = stage(action, *words, *program, check=2)
        assert said.err.startswith("tonnage: error: ") and said.err.count("\n") == 1, said.err
        assert with_word in said.err and "; hint: " in said.err, said.err
        assert said.out == ""
    assert listing(stage.shell.home) == before


def test_the_same_directory_also_by_another_name(stage: Stage) -> None:
    (stage.shell.home / "link").symlink_to("local")
    refused(stage, "--from", stage.local, "--to", stage.local, with_word="same")
    refused(stage, "--from", stage.local, "--to", stage.shell.home / "link", with_word="same")


def test_one_tree_in_the_other(stage: Stage) -> None:
    (stage.local / "inner").mkdir()
    refused(stage, "--from", stage.local, "--to", stage.local / "inner", with_word="inside")
    refused(stage, "--from", stage.local / "inner", "--to", stage.local, with_word="inside")


def test_a_source_that_is_missing_or_a_file(stage: Stage) -> None:
    refused(stage, "--from", stage.shell.home / "nothing", "--to", stage.remote, with_word="nothing")
    (stage.shell.home / "file").write_text("")
    refused(stage, "--from", stage.shell.home / "file", "--to", stage.remote, with_word="directory")
    refused(stage, "--from", stage.local, "--to", stage.shell.home / "file", with_word="directory")


def test_a_destination_whose_parent_is_missing(stage: Stage) -> None:
    refused(stage, "--from", stage.local, "--to", stage.shell.home / "a" / "b", with_word="a")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may do everything")
def test_no_permission(stage: Stage) -> None:
    stage.remote.mkdir(mode=0o500)
    refused(stage, *stage.trees, with_word="remote")


def test_a_glob_that_is_none(stage: Stage) -> None:
    refused(stage, *stage.trees, "--include", "[", with_word="[")


def test_a_log_that_is_a_file_of_the_user_s_or_a_link(stage: Stage) -> None:
    notes, link = stage.shell.home / "notes", stage.shell.home / "link"
    notes.write_text("years of work")
    link.symlink_to(notes)
    for log, word in ((notes, "holds no lines of Spectral's"), (link, "is a link")):
        refused(stage, *stage.trees, "--log", log, with_word=word, actions=("run", "start"))
    assert notes.read_text() == "years of work"


def test_a_log_that_cannot_be_made(stage: Stage) -> None:
    nowhere, in_a_file = stage.shell.home / "nowhere/log", stage.shell.home / "file/log"
    (stage.shell.home / "file").write_text("")
    for log, word in ((nowhere, "No such file or directory"), (in_a_file, "Not a directory")):
        refused(stage, *stage.trees, "--log", log, with_word=word, actions=("run", "start"))


@pytest.mark.parametrize("where", ["remote", "local/.tonnage-stage"])
def test_a_log_in_a_directory_that_the_mover_makes_is_written(stage: Stage, where: str) -> None:
    (stage.local / "file").write_text("ours")
    log = stage.shell.home / where / "spectral.log"
    stage.run("--log", str(log), program="true")
    assert "Spectral Work DONE File" in log.read_text()


def test_two_movers_on_one_source(stage: Stage) -> None:
    stage("start", *stage.trees)
    said = stage("start", "--from", stage.local, "--to", stage.shell.home / "elsewhere", "--name", "second", check=2)
    assert said.err.count("\n") == 1 and str(stage.status()["pid"]) in said.err, said.err
    elsewhere = ("--state", stage.shell.home / "state", "--name", "third")
    assert "works on" in stage("start", *stage.trees, *elsewhere, check=2).err
    assert not (stage.shell.home / "elsewhere").exists() and not (stage.shell.home / "state").exists()
    assert "runs; hint: `tonnage stage wait`" in stage("resume", "--from", stage.local, check=2).err


@pytest.mark.parametrize("action", ["status", "wait", "stop", "resume"])
def test_a_mover_that_nobody_knows(stage: Stage, action: str) -> None:
    before = listing(stage.shell.home)
    for words, hint in (
        ((), "no mover is known on this host"),
        (("--name", "nobody"), "no mover is called 'nobody'"),
        (("--from", str(stage.local)), "no mover is known for"),
        (("--state", str(stage.local)), "nothing was begun in" if action == "resume" else "there is no journal in"),
    ):
        said = stage(action, *words, check=2)
        assert hint in said.err and "; hint: " in said.err and said.err.count("\n") == 1, said.err
    assert listing(stage.shell.home) == before


def test_a_tree_without_a_manifest_is_not_verified(stage: Stage) -> None:
    assert "has no manifest; hint: " in stage("verify", "--to", stage.local, check=2).err
    assert "is not a directory; hint: " in stage("verify", "--to", stage.remote, check=2).err


def test_a_control_socket_that_cannot_be_made_ends_it_at_once_and_the_name_s_holder_stays(stage: Stage) -> None:
    stage.state.mkdir()
    (stage.state / "control.sock").write_text("somebody's")
    said = stage("start", *stage.trees, check=1)
    assert "cannot make the control socket in " in said.err and said.err.count("\n") == 1
    assert (stage.state / "control.sock").read_text() == "somebody's"
    (stage.state / "control.sock").unlink()


def test_a_limit_for_nobody(stage: Stage) -> None:
    assert "no mover runs with the state" in stage("limit", "0", "--state", stage.local, check=2).err


def test_the_status_names_each_file_that_failed_and_why(stage: Stage) -> None:
    (stage.local / "taken").write_text("ours")
    (stage.local / "free").write_text("ours")
    stage.remote.mkdir()
    (stage.remote / "taken").write_text("somebody else's")
    stage("in", *stage.trees, "--state", stage.state, check=1)
    said = stage("status", "--state", stage.state, "--json", check=None)
    assert said.code == 1 and said.json["failed"]["files"] == 1
    [failure] = said.json["failures"]
    assert failure["path"] == "taken"
    assert "has the name" in failure["reason"] and "; hint: " in failure["reason"], failure
    assert (stage.remote / "taken").read_text() == "somebody else's" and (stage.remote / "free").read_text() == "ours"


def test_a_directory_in_the_place_of_a_kept_file_is_told_on_one_line_with_a_hint(stage: Stage) -> None:
    (stage.state / "trees.json").mkdir(parents=True)
    said = stage("run", *stage.trees, "--", "true", check=2)
    assert said.err.count("trees.json") == 1 and "is a directory; hint: remove it" in said.err, said.err
