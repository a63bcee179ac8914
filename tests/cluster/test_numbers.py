"""The numbers of an array's copies: read, checked, counted, and spelled for each scheduler."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_stand_ins import StandIns
from hypothesis import given
from hypothesis import strategies as some
from tonnage.cluster.array_numbers import Range, count_of, each, parse_numbers, spelled, upto
from tonnage.cluster.scheduler import JobRequest, Scheduler
from tonnage.cluster.schedulers.flux import Flux
from tonnage.cluster.schedulers.local import Local
from tonnage.cluster.schedulers.lsf import Lsf
from tonnage.cluster.schedulers.pbs import Pbs
from tonnage.cluster.schedulers.slurm import Slurm
from tonnage.errors import RequestError

SMALL = some.builds(
    lambda first, more, step: Range(first, first + more, step),
    some.integers(1, 40),
    some.integers(0, 40),
    some.integers(1, 9),
)


def test_ranges_are_read_and_counted() -> None:
    numbers, at_once = parse_numbers("1-4,7,10-20:2%3")
    assert (list(each(numbers)), at_once) == ([1, 2, 3, 4, 7, 10, 12, 14, 16, 18, 20], 3)
    assert count_of(numbers) == 11 and spelled(numbers) == "1-4,7,10-20:2"
    assert parse_numbers("2-9:4, 11") == ((Range(2, 9, 4), Range(11, 11)), None)


def test_a_range_of_any_size_takes_no_room() -> None:
    numbers, _ = parse_numbers("1-2147483647:2")
    assert count_of(numbers) == 2**30
    assert count_of(upto(2**31 - 1)) == 2**31 - 1


@given(some.lists(SMALL, min_size=1, max_size=4))
def test_a_number_that_is_there_twice_is_told_and_nothing_else_is(ranges: list[Range]) -> None:
    every = [number for one in ranges for number in range(one.first, one.last + 1, one.step)]
    text = ",".join(f"{one.first}-{one.last}:{one.step}" for one in ranges)
    if len(set(every)) < len(every):
        with pytest.raises(RequestError, match=r"^\d+ is in .* and in ") as told:
            parse_numbers(text)
        assert every.count(int(str(told.value).partition(" ")[0])) > 1
    else:
        numbers, _ = parse_numbers(text)
        assert list(each(numbers)) == every and count_of(numbers) == len(every)


@pytest.mark.parametrize(
    "text",
    [
        "", "x", "1-", "-3", "1-4:", "1-4:0", "0-3", "4-1", "1,,2", "1%", "1%0", "1%x", "1-4%2%2", "1.5", "٣",
        "1-2147483648", "99999999999", "1-9%9999999999", ",".join(map(str, range(1, 103))),
        "1-2147483647:2,2-2147483646:2,0", "9" * 5000,
    ],
)  # fmt: skip
def test_what_is_no_list_of_numbers_is_one_line(text: str) -> None:
    with pytest.raises(RequestError, match="; hint: ") as told:
        parse_numbers(text)
    assert len(str(told.value)) < 250 and "\n" not in str(told.value)


@given(some.text(max_size=30))
def test_no_text_is_a_traceback(text: str) -> None:
    try:
        numbers, _ = parse_numbers(text)
    except RequestError:
        return
    assert count_of(numbers) > 0


def array(text: str, **more: object) -> JobRequest:
    return JobRequest(argv=("x",), key="k", directory="/", name="arr", numbers=parse_numbers(text)[0], **more)  # type: ignore[arg-type]


def test_each_scheduler_is_told_in_its_own_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    StandIns(tmp_path, monkeypatch).add("bsub", "print('IBM Spectrum LSF 10.1', file=sys.stderr)")
    asked = array("1-4,7,10-20:5", cap=2)
    assert "--array=1-4,7,10-20:5%2" in Slurm(timeout_s=5).command(asked)
    assert "arr[1-4,7,10-20:5]%2" in Lsf(timeout_s=5).command(asked)
    assert "--cc=1-4,7,10,15,20" in Flux(timeout_s=5).command(array("1-4,7,10-20:5"))
    words = Pbs(timeout_s=5).command(array("2-20:3", cap=2))
    assert words[words.index("-J") + 1] == "2-20:3%2"


@pytest.mark.parametrize(
    ("scheduler", "text", "told"),
    [
        (Pbs(timeout_s=5), "1-4,7", "PBS has no array of several ranges"),
        (Pbs(timeout_s=5), "7", "PBS has no array of one job"),
        (Flux(timeout_s=5), "1-2147483647:2", "Flux takes at most 10000 numbers"),
        (Local(timeout_s=5), "1-100001", "the local scheduler takes at most 100000 copies"),
    ],
)
def test_an_array_that_a_scheduler_cannot_run_is_one_line(scheduler: Scheduler, text: str, told: str) -> None:
    with pytest.raises(RequestError, match=f"^{told}.*; hint: "):
        scheduler.check(array(text))
