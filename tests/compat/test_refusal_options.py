"""A test of a front end is a campaign that nobody wrote: what refuses it names the front end's options."""

from __future__ import annotations

from pathlib import Path

import pytest

from .ior_calls import Ior, refused
from .mdtest_calls import Mdtest


def test_refusals_name_the_options_of_the_front_end(
    ior: Ior, mdtest: Mdtest, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (data / "foreign").write_text("x")
    told = refused(ior, "-o", str(data / "foreign"))
    assert told.startswith(f"{data}/foreign exists and Tonnage did not make it; hint: remove it yourself, or ")
    assert "existing" not in told
    told = refused(ior, "-N", "100000000", "-o", str(data / "f"))
    assert told.startswith("-N: 100000000 is above ") and "; hint: give at most " in told
    monkeypatch.setattr("tonnage.campaign.free_space._free_on", lambda *_: 1 << 20)
    assert refused(ior, "-b", "1g", "-o", str(data / "f")).endswith("hint: use a smaller -b or -N, or another -o")
    said = mdtest("-n", "9", "-F", "-w", "1m", code=2)
    assert said.err.endswith("hint: use a smaller -n, -w or --tasks, or another -d\n")
