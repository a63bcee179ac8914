"""Which load line holds: measured before stated, this storage before another, the nearest pattern, the newest."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tonnage.machine.user_state import user_state
from tonnage.placement import server_load_lines as lines
from tonnage.placement.server_load_lines import describe, line_of
from tonnage.placement.site import Line, Server, Site
from tonnage.placement.where import Located
from tonnage.records.load_line_files import KeptLine, keep_line

KEPT = KeptLine(
    target="nfs:rcss1:/export", operation="read", access="sequential", transfer_size=1 << 20, tasks=8, low=7, high=9,
    plateau_bytes_per_s=10**9, single_bytes_per_s=2 * 10**8, measured_at_s=1.75e9, host="n1", run="/runs/1",
    servers=("10.0.0.5",),
)  # fmt: skip
LOCATED = Located(path="/proj/x", real_path="/proj/x", mount=None, target="nfs:rcss1:/export")
SERVER = Server(name="rcss1", aliases=("10.0.0.5",), line=Line(tasks=5))


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def site(**changes: object) -> Site:
    return Site(server=(SERVER,)).model_copy(update=changes)


def keep(**changes: object) -> KeptLine:
    line = replace(KEPT, **changes)  # type: ignore[arg-type]
    keep_line(user_state("lines"), line)
    return line


def test_a_measured_line_comes_before_the_stated_one_and_that_before_none() -> None:
    assert line_of(site(), SERVER, LOCATED) == Line(tasks=5)
    assert line_of(site(), Server(name="other"), LOCATED) is None
    assert line_of(site(), None, LOCATED) is None
    line = keep()
    assert line_of(site(), SERVER, LOCATED) == line
    assert line_of(site(), None, LOCATED) == line


def test_of_the_lines_of_many_transfer_sizes_the_nearest_to_the_jobs_counts() -> None:
    """As a surface keeps them: all at once, with as many trials each as it needed."""
    sizes = [4096 << step for step in range(13)]
    for number, size in enumerate(sizes):
        keep(transfer_size=size, measured_ns=(13 - number) * 10**9, measured_at_s=1.75e9 + number)
    for asked, expected in ((4096, 4096), (100_000, 1 << 17), (1 << 30, 16 << 20)):
        line = line_of(site(), SERVER, LOCATED, transfer_size=asked)
        assert isinstance(line, KeptLine) and line.transfer_size == expected
    usual = line_of(site(), SERVER, LOCATED)
    assert isinstance(usual, KeptLine) and usual.transfer_size == 1 << 20, "of a job of which nothing is known"


def test_the_nearest_pattern_wins_and_among_equals_the_newest() -> None:
    write = keep(operation="write", measured_at_s=1.9e9)
    random = keep(access="random", transfer_size=4096)
    old, new = keep(), keep(measured_at_s=1.8e9)
    small = keep(transfer_size=8192)
    assert line_of(site(), SERVER, LOCATED) == new != old
    assert line_of(site(), SERVER, LOCATED, operation="write") == write
    assert line_of(site(), SERVER, LOCATED, access="random") == random
    assert line_of(site(), SERVER, LOCATED, transfer_size=4096) == small
    assert line_of(site(), SERVER, LOCATED, operation="write", access="random") == write, "the operation counts first"


def test_a_weaker_measurement_replaces_no_better_one_until_that_is_old() -> None:
    day = 86400.0
    better = keep(measured_ns=20 * 10**9)
    keep(transfer_size=1 << 16, measured_ns=8 * 10**9, measured_at_s=1.75e9 + day)
    assert line_of(site(), SERVER, LOCATED) == better
    small = line_of(site(), SERVER, LOCATED, transfer_size=1 << 16)
    assert isinstance(small, KeptLine) and small.transfer_size == 1 << 16, "who asks for a size gets that of the size"
    keep(low=1, high=32, measured_ns=20 * 10**9, measured_at_s=1.75e9 + 2 * day)
    assert line_of(site(), SERVER, LOCATED) == better, "an interval of everything says nothing"
    alike = keep(measured_ns=15 * 10**9, measured_at_s=1.75e9 + 3 * day)
    assert line_of(site(), SERVER, LOCATED) == alike
    late = keep(measured_ns=6 * 10**9, measured_at_s=1.75e9 + 40 * day)
    assert line_of(site(), SERVER, LOCATED) == late
    assert "1MiB a transfer, 6 s of trials)" in describe(late, now_s=1.76e9)


def test_another_storage_of_the_server_says_more_than_a_stated_line_but_less_than_this_one() -> None:
    other = keep(target="nfs:rcss1:/other", measured_at_s=1.9e9)
    assert line_of(site(), SERVER, LOCATED) == other
    assert line_of(site(), SERVER, None) == other
    here = keep(operation="write")
    assert line_of(site(), SERVER, LOCATED) == here


def test_what_several_servers_carry_together_says_nothing_of_one() -> None:
    keep(target="lustre:scratch", servers=("10.0.0.5", "10.0.0.6"))
    assert line_of(site(), SERVER, LOCATED) == Line(tasks=5)


def test_lines_that_all_users_share_count_too(tmp_path: Path) -> None:
    keep_line(tmp_path, replace(KEPT, measured_at_s=1.9e9))
    keep()
    found = line_of(site(lines=str(tmp_path)), SERVER, LOCATED)
    assert isinstance(found, KeptLine) and found.measured_at_s == 1.9e9
    assert line_of(site(lines=str(tmp_path / "none")), SERVER, LOCATED) == KEPT


def test_a_directory_that_does_not_answer_costs_the_lines_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    keep()

    def silent(*_: object, **__: object) -> None:
        raise TimeoutError

    monkeypatch.setattr(lines, "carefully", silent)
    assert line_of(site(), SERVER, LOCATED) == Line(tasks=5)


def test_a_line_is_one_sentence_with_its_age_or_its_source() -> None:
    assert describe(KEPT, now_s=1.75e9 + 12.5 * 86400) == (
        "8 tasks [7, 9] at 1 GB/s, measured 12 days ago from n1 (read, sequential, 1MiB a transfer)"
    )
    assert describe(Line(tasks=1), now_s=0) == "1 task, stated in the site file"
    assert describe(Line(tasks=4, plateau=2 * 10**9), now_s=0) == "4 tasks at 2 GB/s, stated in the site file"
    assert "hint: measure it" in describe(None, now_s=0)
