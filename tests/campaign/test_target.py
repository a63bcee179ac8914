"""What a target's text means."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tonnage.campaign.target import parse_target
from tonnage.errors import RequestError


def test_a_model_is_read_in_its_units() -> None:
    target = parse_target("sim:knee=8,plateau=2GB/s,noise=20%,stall=1s,direct=yes")
    assert target.model == {
        "knee": 8,
        "plateau_bytes_per_s": 2 * 10**9,
        "noise": 0.2,
        "stall_ns": 10**9,
        "direct": True,
    }
    assert target.spec("posix", "auto", None, 5) == {"kind": "sim", "seed": 5, **target.model}


def test_a_model_without_a_plateau_has_no_knee() -> None:
    assert parse_target("sim:knee=none").model == {"knee": None}


def test_a_path_is_made_absolute_and_keeps_its_colon() -> None:
    assert parse_target("a:b").path == Path.cwd() / "a:b"
    assert parse_target("/x").spec("posix", "yes", Path("/x/s"), 1) == {
        "kind": "posix",
        "directories": ["/x/s"],
        "direct": "yes",
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sim:kne=3", "did you mean 'knee'"),
        ("sim:knee", "has no value"),
        ("sim:knee=1,knee=2", "given twice"),
        ("sim:knee=0", "above 0"),
        ("sim:noise=nan", "not a number"),
        ("null:x", "takes nothing"),
        ("memory:4", "takes nothing"),
        ("sim:plateau=fast", "not a size"),
    ],
)
def test_a_wrong_target_says_what_to_do(text: str, said: str) -> None:
    with pytest.raises(RequestError, match=said) as caught:
        parse_target(text)
    assert "hint: " in str(caught.value)


@given(st.text(max_size=20), st.booleans())
def test_any_text_is_a_target_or_a_request_error(text: str, model: bool) -> None:
    try:
        parse_target(f"sim:{text}" if model else text)
    except RequestError as error:
        assert "hint: " in str(error)
