"""Every system call of the mover on its trees fails once, in every way it may, and the mover is killed before and after
each; nothing is lost and nothing of others is harmed at any of them.

``TONNAGE_STAGE_CALLS`` says how many: ``sample`` (each place in the mover's code that makes a call, once with a fault,
and once with a kill where it changes something), ``day`` (where nothing is said: a 21st of those places, each day
others, and after three weeks with another fault), ``each`` (each such place on each kind of file with each fault), or
``all`` (each call of each policy). ``TONNAGE_STAGE_CALL`` is one alone, as a failure names it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import pytest
import tracer
from attack_share import count, day
from stage_faults import POLICIES, Ended, Run, Trial, all_trials, attempts, each, runs, sample, without_ids

native = pytest.importorskip("tonnage._native", reason="the engine is not built: run ./tonnage once")

SHARE = os.environ.get("TONNAGE_STAGE_CALLS", "day")
ALONE = os.environ.get("TONNAGE_STAGE_CALL")
ONCE_WRONG = {
    "delete | statx from/.tonnage-stage/cleared/ID/plain 1 | EIO",
    "delete | fcntl:406 from/d/deep 1 | EINTR",
    "delete unchecked | renameat2:1 from/hollow from/.tonnage-stage/cleared/ID/hollow 1 | answer lost",
    "delete unchecked | unlinkat from/.tonnage-stage/cleared/ID/d/file 1 | kill after",
    "delete read back | utimensat from/d 1 | EIO",
    "set aside | getdents64 from/.tonnage-stage/cleared 2 | EIO",
    "set aside | fchown to/empty directory 1 | answer lost",
    "high water | utimensat from/d/deep 1 | kill before",
    "again | fchown to/d 1 | EIO",
    "foreign before the exchange | renameat2:2 to/.tonnage-ID-3.old to/plain 1 | answer lost",
    "foreign before the exchange | statx to/.tonnage-ID-3.old 4 | EIO",
    "no rename flags, foreign before the rename | unlinkat to/.tonnage-ID-6.part 1 | EIO",
    "no rename flags, foreign before the rename | linkat to/.tonnage-ID-9.part to/large 2 | answer lost",
    "delete | linkat to/one to/d/deep/.tonnage-ID-13.part 1 | EIO",
    "set aside, journal lost | unlinkat to/.tonnage-ID-9.part 1 | kill before",
    "set aside, journal lost | unlinkat to/.tonnage-ID-9.part 1 | EIO",
    "set aside, journal lost | statx to/d 1 | EIO",
    "set aside, journal lost | read to/.tonnage-stage/manifest-ID.jsonl 1 | EIO",
    "no links, foreign before the rename | unlinkat to/.tonnage-ID.probed 1 | EIO",
    "again | statx from/three 2 | late",
    "again delete | pread64 from/.tonnage-stage/journal.sqlite 4 | EIO",
    "placed | pread64 from/.tonnage-stage/journal.sqlite-wal 30 | EIO",
}
"""Where a file was once lost, left behind or set aside, a link broken, or a time wrong, untold. A sample has these
calls while they are made."""
DAYS = 21
"""In which every place is tried once."""
pytestmark = pytest.mark.skipif(not tracer.HERE, reason="registers are known on x86-64 only")


@dataclass(frozen=True)
class Campaign:
    """All that is to be tried, and what was wrong before anything was."""

    runs: dict[str, Run]
    trials: dict[str, list[Trial]]
    attempt: Callable[[list[Trial]], list[Ended]]


def of_the_day(everything: Iterable[tuple[Trial, tuple[int, ...]]]) -> list[Trial]:
    """Those of the places whose day it is."""
    rounds, number = divmod(day(), DAYS)
    return sample(everything, rounds)[number::DAYS]


@pytest.fixture(scope="module")
def campaign() -> Iterator[Campaign]:
    found = runs(POLICIES)
    everything = all_trials(found)
    choose = {"sample": sample, "day": of_the_day, "each": each, "all": lambda trials: [trial for trial, _ in trials]}
    chosen = choose[SHARE](everything)
    chosen += [trial for trial, _ in everything if str(trial) in ONCE_WRONG and trial not in chosen]
    if ALONE:
        chosen = [trial for trial, _ in everything if str(trial) == ALONE]
        assert chosen, f"no such call: {ALONE}"
    count("call sites", len({(trial.site.name, stack) for trial, stack in everything}))
    by_policy: dict[str, list[Trial]] = {name: [] for name in POLICIES}
    for trial in chosen:
        by_policy[trial.policy].append(trial)
    with attempts() as attempt:
        yield Campaign({run.policy: run for run in found}, by_policy, attempt)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("policy", POLICIES)
def test_without_a_fault_everything_is_safe_and_nothing_of_others_is_harmed(campaign: Campaign, policy: str) -> None:
    assert campaign.runs[policy].wrong == []


@pytest.mark.timeout(0)
@pytest.mark.parametrize("policy", POLICIES)
def test_no_call_that_fails_and_no_kill_at_one_loses_or_harms_a_file(campaign: Campaign, policy: str) -> None:
    trials = campaign.trials[policy]
    ended = campaign.attempt(trials)
    known = set(map(without_ids, campaign.runs[policy].wrong))
    failed = [one for one in ended if {without_ids(text.removesuffix(" (exit 0)")) for text in one.wrong} - known]
    count("call sites × faults", len(ended))
    count("kills", sum(one.trial.fault.startswith("kill") for one in ended))
    count("losses", sum(is_loss(one) for one in failed))
    missed = [str(one.trial) for one in ended if not one.hit]
    count("not made again", len(missed))
    assert not failed, "\n".join(f"TONNAGE_STAGE_CALL='{one.trial}': {'; '.join(one.wrong)}" for one in failed)
    # Threads meet in another order now and then, and what goes by the clock looks more or less often on a busy machine:
    # then a call has another number. Where most are not made again, the calls are not told apart any more.
    assert len(missed) <= 2 + len(trials) // 4, f"calls that were not made again: {missed}"


def is_loss(ended: Ended) -> bool:
    """Whether bytes are gone, of the source or of others, or are called done and are not."""
    return any(text.startswith(("LOST", "FOREIGN", "LIE")) for text in ended.wrong)
