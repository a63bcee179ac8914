"""Words of LSF's commands that are not taken are refused by their names, and never read as letters of others."""

from __future__ import annotations

import io

import pytest
from tonnage.compat.front_end import Voice
from tonnage.compat.lsf import bhosts, bjobs, bkill, bqueues
from tonnage.errors import RequestError


@pytest.mark.parametrize(
    ("front", "word"),
    [
        *((bjobs, word) for word in ("-sum", "-psum", "-app", "-sla", "-pac", "-UF")),
        *((bkill, word) for word in ("-app", "-sla", "-stat")),
        (bqueues, "-alloc"),
        *((bhosts, word) for word in ("-aff", "-gpu", "-rc")),
    ],
)
def test_a_word_that_is_not_taken_is_named_and_nothing_is_asked(
    front: object, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked(*_: object) -> None:
        raise AssertionError("a scheduler was asked")

    monkeypatch.setattr(front, "asked_scheduler", asked)
    with pytest.raises(RequestError, match=f"does not take the option {word}"):
        front.run([word, "x"], Voice(io.StringIO(), io.StringIO()))  # type: ignore[attr-defined]
