"""A campaign file: its defaults, and one line for every mistake that says where and what to do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tonnage.campaign.campaign_file import build_campaign, of_workloads, parse_campaign
from tonnage.errors import RequestError

HEAD = 'target = "null:"\n'


def message(text: str) -> str:
    with pytest.raises(RequestError) as caught:
        parse_campaign(text, "c.toml")
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_sizes_and_times_become_integers() -> None:
    campaign = parse_campaign(
        HEAD + '[workload]\ntransfer_size = "1MiB"\nblock_size = ["4MiB", "8MiB"]\ntime_limit = "2m"\n', "c.toml"
    )
    assert campaign.workload.transfer_size == (1 << 20,)
    assert campaign.workload.block_size == (4 << 20, 8 << 20)
    assert campaign.workload.time_limit_ns == 120 * 10**9


def test_a_stored_campaign_reads_back_equal() -> None:
    campaign = parse_campaign(
        HEAD + '[workload]\ntime_limit = "10s"\n[search]\nbudget = "30s"\np99 = "20ms"\n[budget]\nspace = "1GiB"\n',
        "c.toml",
    )
    assert build_campaign(campaign.model_dump(mode="json"), stored=True) == campaign


def test_an_unknown_key_names_its_line_and_the_nearest_valid_key() -> None:
    assert message(HEAD + "\n[workload]\ntasks = 4\ntransfer_sise = 4\n") == (
        "c.toml:5: unknown key 'transfer_sise' in [workload]; hint: did you mean 'transfer_size'?"
    )
    assert message('taget = "null:"\n').startswith("c.toml")


def test_an_unknown_table_names_its_line() -> None:
    assert message(HEAD + "[worklod]\n") == "c.toml:2: unknown key 'worklod'; hint: did you mean 'workload'?"


def test_a_time_key_is_suggested_as_it_is_written_in_files() -> None:
    assert "did you mean 'time_limit'" in message(HEAD + '[workload]\ntime_limi = "1s"\n')


def test_a_block_that_is_not_whole_transfers_says_which_would_be() -> None:
    assert message(HEAD + '[workload]\ntransfer_size = "3MiB"\nblock_size = "10MiB"\n') == (
        "c.toml:4: block_size 10MiB is not a multiple of transfer_size 3MiB; hint: use 9MiB"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            '[workload]\naccess = "rnd"\n',
            "c.toml:3: workload.access: input should be 'sequential', 'strided', 'random' or 'random-blocks'",
        ),
        ("[workload]\ntasks = 0\n", "c.toml:3: workload.tasks: "),
        ('[workload]\ntasks = "4"\n', "c.toml:3: workload.tasks: "),
        ('[workload]\nblock_size = "1MX"\n', "c.toml:3: workload.block_size: '1MX' is not a size; hint: "),
        ("[workload]\ntime_limit = 10\n", 'c.toml:3: workload.time_limit: 10 has no unit; hint: write it like "10s"'),
        ("[workload]\nwrap = true\n", "c.toml:3: wrap needs time_limit"),
        ("[workload]\nqueue_depth = 8\n", "c.toml:3: storage posix and mmap do one operation at a time"),
        ('[repeat]\ncount = 3\ninterval = "5%"\n', "c.toml:4: count and interval are two rules"),
        ("[search]\n[workload]\naccess = ['random', 'strided']\n", "c.toml:4: a search looks at one access at a time"),
        ('name = "a/b"\n', "c.toml:2: name: name 'a/b' becomes part of a directory's name"),
        ("[workload\n", "c.toml: "),
    ],
)
def test_a_mistake_is_one_line_with_its_place(text: str, expected: str) -> None:
    assert message(HEAD + text).startswith(expected)


def test_an_unknown_key_of_a_table_that_is_seldom_there_is_told_like_any_other() -> None:
    assert (
        message(HEAD + "[stripe]\ncoumt = 2\n")
        == "c.toml:3: unknown key 'coumt' in [stripe]; hint: did you mean 'count'?"
    )


def test_of_several_tables_the_line_is_that_of_the_wrong_one() -> None:
    two = '[[workload]]\nname = "a"\ntasks = 1\n[[workload]]\nname = "b"\ntasks = 0\n'
    assert message(HEAD + two).startswith("c.toml:7: workload.tasks: ")
    missing = '[[workload]]\nname = "a"\nkind = "command"\nargv = ["true"]\n[[workload]]\nname = "b"\n'
    assert message(HEAD + missing).startswith("c.toml:2: ")


def test_a_missing_target_says_what_to_add() -> None:
    assert message("seed = 1\n") == "c.toml: target is missing; hint: add target = …"


@given(st.text(max_size=60))
def test_any_text_is_a_campaign_or_a_request_error(text: str) -> None:
    try:
        parse_campaign(text, "c.toml")
    except RequestError as error:
        assert str(error).startswith("c.toml")


@given(
    st.dictionaries(
        st.sampled_from(["op", "tasks", "transfer_size", "block_size", "time_limit", "verify", "wrap"]),
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.text(max_size=5)
        | st.lists(st.integers(), max_size=3),
    )
)
def test_any_workload_is_a_campaign_or_a_request_error(workload: dict[str, object]) -> None:
    try:
        campaign = build_campaign({"target": "null:", "workload": workload})
    except RequestError:
        return
    assert all(
        block % transfer == 0 for block in campaign.workload.block_size for transfer in campaign.workload.transfer_size
    )


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ('think = "1ms"\noperations_rate = 5', "think is for tasks that wait"),
        ('rate = "1MB/s"\noperations_rate = 5', "two rates for the same operations"),
        ('min_time = "2s"\ntime_limit = "1s"', "min_time is longer than time_limit"),
        ("wear_out = true", "wear_out needs time_limit"),
        ("read_percent = 70", "read_percent is for op mixed"),
        ('prefill = "1MiB"', "prefill is for writes at random offsets"),
        ('op = "write"\naccess = "random"\nprefill = "3MiB"', "block_size 64MiB is not a multiple of prefill 3MiB"),
        ('advice = ["random"]', "advice is for mapped files"),
        ('range_locks = true\nstorage = ["posix", "uring"]', "range_locks needs storage posix"),
    ],
)
def test_keys_that_contradict_each_other_are_refused(keys: str, said: str) -> None:
    assert said in message(HEAD + f"[workload]\n{keys}\n")


SEVERAL = "".join(f'[[workload]]\nname = "{name}"\ntasks = 1\nblock_size = "1MiB"\n' for name in ("a", "b", "last"))


@pytest.mark.parametrize(
    ("only", "without", "left"),
    [((), (), "a b last"), (("last", "a"), (), "a last"), ((), ("b",), "a last"), (("a", "b"), ("b",), "a")],
)
def test_some_of_the_workloads_can_be_carried_out(only: tuple[str, ...], without: tuple[str, ...], left: str) -> None:
    found = of_workloads(parse_campaign(f'target = "null:"\n{SEVERAL}', "c.toml"), only=only, without=without)
    assert " ".join(one.name for one in found.workloads) == left


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"only": ["lst"]}, "--only: the campaign has no workload 'lst'; hint: did you mean 'last'?"),
        ({"without": ["xyz"]}, "--without: the campaign has no workload 'xyz'; hint: it has a, b, last"),
        ({"without": ["a", "b", "last"]}, "--without leaves no workload; hint: leave out fewer"),
        ({"only": ["a"], "without": ["a"]}, "--without leaves no workload; hint: leave out fewer"),
    ],
)
def test_a_workload_that_is_not_there_is_refused(given: dict[str, list[str]], told: str) -> None:
    with pytest.raises(RequestError) as refused:
        of_workloads(parse_campaign(f'target = "null:"\n{SEVERAL}', "c.toml"), **given)
    assert str(refused.value) == told
