"""Whatever an application, a mover, file systems and a second user do, nothing is lost and nothing foreign harmed:
random histories against a model of the file system. ``TONNAGE_STAGE_HISTORIES`` says how many (where it does not, 20 of
20,000, each day others), ``TONNAGE_STAGE_HISTORY`` which one alone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from attack_share import count, seeds
from histories.history_script import History, Step, read
from histories.random_history import draw
from histories.shrink import shrink

pytest.importorskip("tonnage._native", reason="the engine is not built: run ./tonnage once")

LAB = Path(__file__).resolve().parents[2] / "lab"
HISTORIES = seeds("TONNAGE_STAGE_HISTORIES", 20, of=20_000)
ALONE = os.environ.get("TONNAGE_STAGE_HISTORY")
AT_ONCE = 2
SHRINK_S = 30
"""For the first history of each kind that fails."""
LOSSES = ("lost:", "missing:", "foreign:", "bare:", "file's bytes:")
"""Kinds of wrongs by which a file is lost or a foreign one harmed; what else is wrong loses nothing."""
KINDS = ["tmpfs", "ext4", "xfs", "btrfs", "fuse"]


FOUND = {
    "an attribute given to one of two names that are staged": (
        "policy; mkdir d; mkdir d/e; write three 5000 515501; link three d/e/two; drain; xattr three a 10 515501"
    ),
}
"""Histories that were lost once, one step between two semicolons."""


def run(*asked: str) -> list[dict[str, Any]]:
    """What a process said that ran these seeds, or this script, one object a line."""
    words = [sys.executable, "-m", "histories", *asked]
    environment = {**os.environ, "PYTHONPATH": str(LAB)}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def shares() -> list[str]:
    """Ranges of seeds, one for each process."""
    if ALONE:
        return [ALONE]
    each = -(-len(HISTORIES) // AT_ONCE)
    parts = [HISTORIES[at : at + each] for at in range(0, len(HISTORIES), each)]
    return [f"{part[0]}-{part[-1]}" for part in parts]


@pytest.mark.timeout(600 + 4 * len(HISTORIES))
def test_no_history_loses_a_file_or_harms_a_foreign_one(capsys: pytest.CaptureFixture[str]) -> None:
    if os.geteuid() or not shutil.which("unshare"):
        pytest.skip("histories mount their own file systems: root and unshare")
    with ThreadPoolExecutor(AT_ONCE) as pool:
        said = [
            line for lines in pool.map(lambda part: run(part, "--shrink", str(SHRINK_S)), shares()) for line in lines
        ]
    counts: Counter[str] = Counter()
    for line in said:
        counts.update(line.get("counts", {}))
    failed = [line for line in said if "failed" in line]
    kinds = next(line["kinds"] for line in said if "kinds" in line)
    lost = [line for line in failed if any(wrong.startswith(LOSSES) for wrong in line["wrongs"])]
    count("histories", counts["histories"])
    count("kills", counts["kills"])
    count("losses", len(lost))
    with capsys.disabled():
        print(f"\n{dict(counts)}, on {kinds}, wrong {len(failed)}, of these losses {len(lost)}")
    told = [f"{line['failed']}\n  " + "\n  ".join(line["wrongs"]) + f"\n{line['script']}" for line in failed]
    assert not failed, "PYTHONPATH=lab python -m histories --script FILE repeats each:\n" + "\n".join(told)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", FOUND)
def test_no_history_that_was_lost_once_is_lost_again(name: str, tmp_path: Path) -> None:
    if os.geteuid() or not shutil.which("unshare"):
        pytest.skip("histories mount their own file systems: root and unshare")
    script = tmp_path / "script"
    script.write_text(FOUND[name].replace("; ", "\n"))
    wrongs = [line["wrongs"] for line in run("--script", os.fspath(script), "--times", "3") if "failed" in line]
    assert not wrongs


def test_a_script_is_read_as_it_was_printed() -> None:
    for seed in range(50):
        history = draw(seed, KINDS)
        assert read(str(history)) == history


def test_the_same_seed_draws_the_same_history() -> None:
    assert [draw(seed, KINDS) for seed in range(20)] == [draw(seed, KINDS) for seed in range(20)]


def test_shrinking_leaves_only_what_the_failure_needs() -> None:
    needed = (Step("write", ("one", 1, 1)), Step("drain"))
    history = draw(5, KINDS)
    steps = [*history.steps[:3], needed[0], *history.steps[3:], needed[1]]
    short = shrink(history.keep(steps), lambda tried: all(step in tried.steps for step in needed), 10)
    assert short == History(steps=needed)
