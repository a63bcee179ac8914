"""What Python is told of a wrong call: in its own words, as a RequestError."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import tonnage


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: tonnage.probe("sim:", budget=0), "budget: 0 is no time; hint: write it like 500ms or 60s"),
        (
            lambda: tonnage.probe("sim:", op="foo"),
            "op: input should be 'write' or 'read'; hint: see help(tonnage.probe)",
        ),
        (
            lambda: tonnage.probe("sim:", kv_cache="llama3.1-8b", scale=float("nan")),
            "scale: nan is no number; hint: give at most 1000000.0",
        ),
        (lambda: tonnage.submit(), "there is no command to submit; hint: give the program and its words"),
        (lambda: tonnage.run({}), 'target is missing; hint: add "target": …'),
        (
            lambda: tonnage.submit("true", queue="normal", scheduler="local"),
            "there is no queue normal; hint: the local scheduler has one, local",
        ),
    ],
)
def test_a_wrong_call_is_a_request_error_in_the_words_of_python(
    call: Callable[[], object], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with pytest.raises(tonnage.RequestError) as refused:
        call()
    assert str(refused.value) == told
    assert not list(tmp_path.rglob("tonnage-runs"))
