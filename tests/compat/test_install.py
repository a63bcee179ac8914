"""The originals' names hand over what was typed, and no file of the user's is touched."""

from __future__ import annotations

import errno
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tonnage.cli.command import all_commands
from tonnage.compat.install import MARKER, NAMES, how_to_use, install
from tonnage.errors import RequestError

ECHO = [sys.executable, "-I", "-c", "import json, sys; print(json.dumps(sys.argv[1:]))"]
"""A launcher that prints the words it was given."""


def test_every_name_stands_for_a_command_that_takes_its_words_untouched() -> None:
    verbatim = {command.name for command in all_commands() if command.verbatim}
    assert set(NAMES.values()) == verbatim


def test_arguments_arrive_as_they_were_typed(tmp_path: Path) -> None:
    place = tmp_path / "a b'c\n$(d)"
    words = ["-w", "", "a b", "it's", '"', "$HOME", "two\nlines", "*", "\\", "-b=8m"]
    for file in install(str(place), ECHO):
        said = subprocess.run([file, *words], capture_output=True, text=True, check=True).stdout
        assert json.loads(said) == [NAMES[file.name], *words]


def test_installing_again_replaces_our_own_and_leaves_nothing_else(tmp_path: Path) -> None:
    first = install(str(tmp_path), ["/old place/tonnage"])
    again = install(str(tmp_path), ECHO)
    assert first == again == sorted(tmp_path.iterdir(), key=again.index)
    for file in again:
        assert ECHO[0] in file.read_text() and MARKER in file.read_text().splitlines()[1]
        assert os.access(file, os.X_OK)


@pytest.mark.parametrize("kind", ["file", "link", "directory", "marker elsewhere"])
def test_a_name_that_is_taken_is_refused_before_anything_is_written(tmp_path: Path, kind: str) -> None:
    taken = tmp_path / list(NAMES)[-1]
    text = f"#!/bin/sh\n#\n{MARKER}\n" if kind == "marker elsewhere" else "the user's\n"
    if kind == "directory":
        taken.mkdir()
    elif kind == "link":
        (tmp_path / "elsewhere").write_text(f"#!/bin/sh\n{MARKER}\n")
        taken.symlink_to("elsewhere")
    else:
        taken.write_text(text)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(RequestError) as error:
        install(str(tmp_path), ECHO)
    assert str(error.value) == (
        f"{taken} is there and was not made by `tonnage compat install`, or was changed since; "
        "hint: move it away, or give another directory"
    )
    assert sorted(tmp_path.iterdir()) == before
    assert kind in ("directory", "link") or taken.read_text() == text


def test_a_script_of_an_older_version_is_replaced_where_it_is_what_that_wrote(tmp_path: Path) -> None:
    older = tmp_path / "sob"
    line = f'exec {shlex.join(ECHO)} sob "$@"\n'
    text = f"#!/bin/sh\n# Made by `tonnage compat install`; the next one replaces it.\n{line}"
    for edit in (text + "#\n", text.replace("exec ", "exec nice "), text.replace(" sob ", " sob -v ")):
        older.write_text(edit)
        with pytest.raises(RequestError, match="or was changed since"):
            install(str(tmp_path), ECHO)
        assert older.read_text() == edit
    older.write_text(text)
    install(str(tmp_path), ECHO)
    assert MARKER in older.read_text()


@pytest.mark.parametrize("at", ["start", "marker", "sum", "command", "end"])
def test_a_script_that_differs_in_one_byte_is_the_users(tmp_path: Path, at: str) -> None:
    script = next(iter(install(str(tmp_path), ECHO)))
    text = script.read_text()
    place = {"start": 2, "marker": text.index("Made"), "sum": text.index("below: ") + 7, "command": text.index("exec")}
    where = place.get(at, len(text) - 1)
    changed = f"{text[:where]}{'0' if text[where] != '0' else '1'}{text[where + 1 :]}"
    script.write_text(changed)
    with pytest.raises(RequestError, match="or was changed since"):
        install(str(tmp_path), ECHO)
    assert script.read_text() == changed


def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RequestError, match=r"cannot write into .*: Not a directory; hint: give a directory"):
        install(str(tmp_path / "file" / "bin"), ECHO)


def test_a_disk_that_fills_up_leaves_the_old_ones_and_nothing_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = {file.name: file.read_text() for file in install(str(tmp_path), ["/old place/tonnage"])}
    (tmp_path / "sob").unlink()
    full = iter([None, None, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))] * 2)

    def fsync(_: int) -> None:
        if error := next(full):
            raise error

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(RequestError, match=r"cannot write into .*: No space left on device; hint: give a directory"):
        install(str(tmp_path), ECHO)
    old.pop("sob")
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == old
    with pytest.raises(RequestError):
        install(str(tmp_path / "a" / "b"), ECHO)
    assert not (tmp_path / "a").exists(), "directories that were made for it go too"


def test_a_name_that_is_taken_at_the_last_moment_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fsync = os.fsync

    def late(descriptor: int) -> None:
        (tmp_path / "sob").write_text("the user's\n")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", late)
    with pytest.raises(RequestError, match="File exists"):
        install(str(tmp_path), ECHO)
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("sob", "the user's\n")]


def test_it_says_what_to_put_on_path_unless_it_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin")
    assert how_to_use(str(tmp_path)) == f'put it on PATH, before others: export PATH={tmp_path}:"$PATH"'
    monkeypatch.setenv("PATH", f"/usr/bin:{tmp_path}")
    assert how_to_use(str(tmp_path)) == f"{tmp_path} is on PATH"
