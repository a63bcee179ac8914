"""The spooler killed at random moments: every copy runs exactly once, and its end is known."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from tonnage.cluster.schedulers.local import Local, door

from .local_spool import own_local, request, spool_of, until

SEEDS = range(50)
KILLS = 6
SCRIPT = 'echo "$1.$TONNAGE_COPY" >> "$2"; sleep "$3"; exit "$4"'


def submit_some(local: Local, chance: random.Random, directory: Path, batch: int) -> dict[str, int]:
    """What is expected of each copy: its line in the file, and its status."""
    expected: dict[str, int] = {}
    for index in range(2):
        name, status = f"{batch}-{index}", chance.choice((0, 0, 3))
        copies, cap = chance.choice((None, 3)), chance.choice((None, 1))
        words = (name, str(directory / "ran"), f"{chance.random() * 0.05:.3f}", str(status))
        local.submit(
            request("sh", "-c", SCRIPT, "sh", *words, key=name, directory=directory, name=name, copies=copies, cap=cap)
        )
        expected |= {f"{name}.{copy}": status for copy in ([""] if copies is None else range(1, copies + 1))}
    return expected


def kill_soon(local: Local, chance: random.Random) -> None:
    """At some moment from its start to its end."""
    time.sleep(chance.random() ** 2 * 0.15)
    pid = door.spooler(spool_of(local))
    if pid is not None:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_every_copy_runs_exactly_once_however_often_the_spooler_is_killed(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    chance = random.Random(seed)
    with own_local() as local:
        expected: dict[str, int] = {}
        for batch in range(KILLS):
            expected |= submit_some(local, chance, tmp_path, batch)
            kill_soon(local, chance)
            local.jobs()
        until(lambda: not local.jobs(), "the end of all jobs")
        lines = local.jobs(ended=True)
        log = spool_of(local).directory / "log"
        assert not log.exists() or "Traceback" not in log.read_text()
    ran = Counter((tmp_path / "ran").read_text().split())
    assert ran == Counter(dict.fromkeys(expected, 1))
    told = {f"{line.name}.{'' if line.copy is None else line.copy}": line.exit_status for line in lines}
    assert told == expected, "only the spooler was killed: those that wait for the programs know their ends"
