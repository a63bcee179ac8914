"""Accelerators on a real device of known speed: their utilisation is what its rate leaves of it, and so many are
fed as that rate has samples for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from impossible import skipped_where_impossible
from throttled import throttled

RATE = 52_000_000
SAMPLE = 503_808
"""500 kB, read in whole steps of 4 KiB."""
BATCH, COMPUTE_S = 4, 0.4
DEMAND = BATCH * SAMPLE / COMPUTE_S
"""Of each accelerator: 5.04 MB/s."""
CAMPAIGN = """
target = {target!r}
seed = 1
[workload]
kind = "training"
sample_size = 500000
batch = 4
compute = "400ms"
readers = 2
prefetch = 3
dataset = "60MB"
direct = "yes"
"""
SWEEP = 'accelerators = [5, 14]\ntime_limit = "40s"\nsteps = 200\n[repeat]\ncount = 1\n'
SEARCH = '[accelerators]\nutilisation = "90%"\nbudget = "4m"\nmost = 32\n'
TOLERANCE = 0.025
"""The throttle lets through a slice of 100 ms more than its share of a trial."""

pytestmark = [pytest.mark.alone("rates of devices"), pytest.mark.slow]


@pytest.fixture(scope="module")
def said(tonnage_of_module: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What the command said of a sweep and of a search, each on a device of its own at once."""
    tonnage, work = tonnage_of_module, tmp_path_factory.mktemp("campaigns")
    with ExitStack() as stack:
        running = {}
        for name, more in (("sweep", SWEEP), ("search", SEARCH)):
            with skipped_where_impossible():
                lab = stack.enter_context(throttled(bytes_per_s=RATE))
            file = work / f"{name}.toml"
            file.write_text(CAMPAIGN.format(target=str(lab.path)) + more)
            process, _ = running[name] = tonnage.start("run", file)
            stack.callback(process.wait)
            stack.callback(process.terminate)
            stack.callback(_is_empty, lab.path)
        yield {name: tonnage.end(*one) for name, one in running.items()}


def _is_empty(path: Path) -> None:
    assert not list(path.glob(".tonnage*"))


def test_utilisation_is_what_the_rate_of_the_device_leaves_of_it(said: dict[str, Any]) -> None:
    assert said["sweep"].code == 0, said["sweep"].err
    (trained,) = said["sweep"].summary["training"]
    few, many = trained["points"]
    assert few["utilisation"] == pytest.approx(1.0, abs=0.02)
    assert many["utilisation"] == pytest.approx(RATE / (14 * DEMAND), rel=TOLERANCE)
    assert many["device_share"] == pytest.approx(1.0, abs=0.01), "what is read past the cache comes from the device"


def test_so_many_are_fed_as_the_rate_has_samples_for(said: dict[str, Any]) -> None:
    assert said["search"].code == 0, said["search"].err
    (trained,) = said["search"].summary["training"]
    answer = trained["answer"]
    fed = int(RATE / (0.9 * DEMAND))
    assert answer["shown"] and answer["low"] <= fed <= answer["high"] <= answer["low"] + 2, answer
    assert answer["limit"] == "storage"
