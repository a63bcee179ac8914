"""Keeps the topics up to date while there are viewers, and does nothing otherwise."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial

from tonnage.dashboard.background_thread import WorkRate, in_daemon_thread
from tonnage.dashboard.live_analysis import judge, load_analysis
from tonnage.dashboard.pages import Board
from tonnage.dashboard.run_entry import Watched
from tonnage.dashboard.run_list import Runs
from tonnage.dashboard.topic_store import TopicStore, encode
from tonnage.errors import TonnageError

EVERY_S, _RARELY_S = 1.0, 5.0
"""Seconds between two reads of the running runs: as often as these write their progress; with many runs, less often."""
_SHARE = 200
"""… so that looking and telling take no more than one in so many of a processor's time."""
_JUDGE_S = 2.0
_KEPT = 50
"""Judgements that are remembered."""
_OF_RUN = ("run", "course", "heat", "judged")
_OF_ALL = ("underway", "ended")

Key = tuple[int, str]
"""Of a judgement: how many records it knew, and the state of the run."""


class UpdateLoop:
    """For one event loop."""

    def __init__(self, runs: Runs, boards: Sequence[Board], topics: TopicStore) -> None:
        self.runs, self.boards, self.topics = runs, boards, topics
        self._viewers: Counter[str] = Counter()
        """The number of viewers of each run; those of the list under the empty name."""
        self._came = asyncio.Event()
        self._judged: OrderedDict[str, tuple[Key, str]] = OrderedDict()

    async def work(self) -> None:
        """Until it is cancelled."""
        await asyncio.gather(self._keep_runs(), self._keep_judgements(), *(self._keep(board) for board in self.boards))

    @contextmanager
    def viewer(self, run: str | None) -> Iterator[list[str]]:
        """Registers a viewer, with its topics, while the context lasts."""
        name = run or ""
        self._viewers[name] += 1
        self._came.set()
        try:
            yield [f"{topic}:{run}" for topic in _OF_RUN] if run else [*_OF_ALL, *(one.name for one in self.boards)]
        finally:
            self._viewers[name] -= 1
            if not self._viewers[name]:
                del self._viewers[name]
                if run:
                    self.topics.drop([f"{topic}:{run}" for topic in _OF_RUN])

    async def _keep_runs(self) -> None:
        told_s = time.thread_time()
        while True:
            await self._somebody()
            self._came.clear()
            looked_at = [name for name in self._viewers if name]
            news, cost_s = await in_daemon_thread(partial(_timed, partial(self.runs.refresh, looked_at)))
            for topic, data in news.items():
                _, _, run = topic.partition(":")
                if not run or run in self._viewers:
                    self.topics.put(topic, data)
            # This thread's time since the last turn went into telling.
            cost_s, told_s = cost_s + time.thread_time() - told_s, time.thread_time()
            # A viewer that connects now does not wait for the next turn.
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._came.wait(), min(_RARELY_S, max(EVERY_S, _SHARE * cost_s)))

    async def _keep_judgements(self) -> None:
        pace = WorkRate(_JUDGE_S)
        await self._somebody()
        # Once, and no part of the price of a judgement.
        await in_daemon_thread(load_analysis)
        while True:
            await self._somebody()
            for run in self._looked_at():
                if run.identifier in self._judged:
                    self.topics.put(f"judged:{run.identifier}", self._judged[run.identifier][1])
            due = self._due(only_new=not pace.is_due())
            if due is not None:
                key = (due.recorded, due.state)
                found = await in_daemon_thread(partial(pace.during, partial(judge, due.path)))
                if found["problem"] is None:
                    due.findings = [one["code"] for one in found["findings"]]
                self._judged[due.identifier] = (key, encode(found))
                while len(self._judged) > _KEPT:
                    self._judged.popitem(last=False)
            await asyncio.sleep(EVERY_S / 2)

    def _due(self, *, only_new: bool) -> Watched | None:
        """The next run whose analysis is out of date, viewed runs first; ``only_new``: the next one without an
        analysis."""
        for run in [*self._looked_at(), *self.runs.under_way()[:_KEPT]]:
            key, _ = self._judged.get(run.identifier, (None, ""))
            if key == (run.recorded, run.state) or (only_new and key is not None) or not run.recorded:
                continue
            return run
        return None

    def _looked_at(self) -> list[Watched]:
        return [run for name in list(self._viewers) if name and (run := self.runs.get(name))]

    async def _keep(self, board: Board) -> None:
        while True:
            await self._somebody(of_list=True)
            try:
                table = await in_daemon_thread(board.ask)
                rows = [
                    {"cells": row.cells, "share": row.share, "kind": row.kind, "details": row.details}
                    for row in table.rows
                ]
                self.topics.put(board.name, encode({"rows": rows, "notes": table.notes}))
            except (TonnageError, OSError) as error:
                self.topics.put(board.name, encode({"rows": [], "notes": [str(error)]}))
            await asyncio.sleep(board.every_s)

    async def _somebody(self, *, of_list: bool = False) -> None:
        while not (self._viewers[""] if of_list else self._viewers):
            self._came.clear()
            await self._came.wait()


def _timed(refresh: Callable[[], dict[str, str]]) -> tuple[dict[str, str], float]:
    """And the processor time that it took, in this thread."""
    began_s = time.thread_time()
    return refresh(), time.thread_time() - began_s
