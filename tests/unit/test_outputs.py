"""Files at places that a user names: what a killed writer left is put in order, what is somebody's own stays."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tonnage.errors import RequestError
from tonnage.outputs import Output, lines


def test_a_file_that_still_has_the_name_it_was_made_under_is_replaced(tmp_path: Path) -> None:
    output = Output(tmp_path / "told.txt", "--out", lines("a list of ours", "ours.*"))
    output.write("ours, first\n")
    made_under = tmp_path / ".tonnage-0123456789abcdef"
    os.link(output.path, made_under)
    output.write("ours, second\n")
    assert output.path.read_text() == "ours, second\n" and not made_under.exists()


@pytest.mark.parametrize("name", ["mine.txt", ".tonnage-mine", ".tonnage-0123456789ABCDEF"])
def test_a_file_with_a_second_name_of_somebody_stays(tmp_path: Path, name: str) -> None:
    output = Output(tmp_path / "told.txt", "--out", lines("a list of ours", "ours.*"))
    output.write("ours, first\n")
    os.link(output.path, tmp_path / name)
    with pytest.raises(RequestError, match="it has 2 names"):
        output.write("ours, second\n")
    assert output.path.read_text() == (tmp_path / name).read_text() == "ours, first\n"


def test_another_file_under_such_a_name_stays(tmp_path: Path) -> None:
    output = Output(tmp_path / "told.txt", "--out", lines("a list of ours", "ours.*"))
    output.write("ours, first\n")
    other = tmp_path / ".tonnage-0123456789abcdef"
    other.write_text("another\n")
    os.link(output.path, tmp_path / "second")
    with pytest.raises(RequestError, match="it has 2 names"):
        output.write("ours, second\n")
    assert other.read_text() == "another\n"
