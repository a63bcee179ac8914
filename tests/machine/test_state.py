"""This user's own directory, where something else has its name."""

from __future__ import annotations

from pathlib import Path

import pytest
from tonnage.errors import RequestError
from tonnage.machine.user_state import STATE_HINT, user_state


@pytest.mark.parametrize("name", ["tonnage", "tonnage/local"])
def test_a_file_that_is_in_the_way_is_named(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("x")
    with pytest.raises(RequestError) as refused:
        user_state("local", "host")
    place = tmp_path / "tonnage" / "local" / "host"
    mend = f"move it away, or {STATE_HINT.removeprefix('hint: ')}"
    assert str(refused.value) == f"cannot make {place}: {file} is no directory; hint: {mend}"
    assert file.read_text() == "x"
