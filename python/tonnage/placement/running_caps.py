"""Caps of arrays that run: they follow the load line, and rise when others have left. No daemon does that: the next
submission to the same server does, and a watch of the same user after each observation. The limit itself is the
scheduler's.
"""

from __future__ import annotations

import getpass
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from tonnage.cluster.scheduler import Job, Scheduler
from tonnage.errors import TonnageError
from tonnage.placement.capacity import capacity_beside, ledger_marks
from tonnage.placement.cluster_snapshot import REMEMBERED, ClusterSnapshot, placements_of, server_of, tasks_per_copy
from tonnage.placement.indices.reading import Reading
from tonnage.placement.kept_company import known_company
from tonnage.placement.plan import Plan
from tonnage.placement.server_load_lines import lines_of_servers
from tonnage.placement.site import Site
from tonnage.placement.submission_ledger import Entry, Ledger, LedgerError, Marks, capped
from tonnage.placement.task_caps import USUAL_TRANSFER, Demand, choose_cap, line_in_use
from tonnage.placement.where import Located

LOOKED_BACK_S = 14 * 86_400.0
"""Arrays older than this are ignored: nearly all have ended."""


def adapt_to_line(ledger: Ledger, scheduler: Scheduler, plan: Plan) -> tuple[str, ...]:
    """What was changed, a sentence each. Only arrays that the load line capped, of the same storage, access pattern
    and transfer size: the line of another size says nothing of them.

    A scheduler that does not answer now, or knows no caps, leaves them as they are: so does this.
    """
    line = plan.line
    if line is None:
        return ()
    same: Marks = {**ledger_marks(plan.line_servers, plan.located.target, plan.pattern), "by_line": True}
    every = ledger.since(time.time() - LOOKED_BACK_S, same)
    others = [
        entry
        for entry in every
        if entry.job is not None
        and entry.intent.get("line") not in (None, line)
        and entry.intent.get("transfer_size", USUAL_TRANSFER) == plan.transfer_size
    ]
    if not others:
        return ()
    with suppress(TonnageError):
        alive = [job for job in scheduler.jobs(user=getpass.getuser()) if job.state in ("pending", "running")]
        theirs = [entry for entry in others if any(_is(job, entry) for job in alive)]
        return tuple(filter(None, [_bring(ledger, scheduler, entry, line) for entry in theirs]))
    return ()


def _bring(ledger: Ledger, scheduler: Scheduler, entry: Entry, line: int) -> str | None:
    """Keeps the ratio of copies at once to the line, within the slots. Copies that the slots bound, and not the line,
    stay as many unless the new line carries fewer. None where they stay."""
    assert entry.job is not None
    before, old, room = _cap(entry), int(entry.intent["line"] or 0), entry.intent.get("room")
    cap = round(before * line / old)
    if room is not None:
        cap = min(before, int(line / tasks_per_copy(entry))) if before >= room else min(cap, room)
    cap = max(1, cap)
    if cap == before:
        with suppress(LedgerError):
            ledger.recap(entry.key, time.time(), cap, line)
        return None
    told = f"job {entry.job} ran {before} at once by a load line of {old}; the line is {line} now"
    try:
        scheduler.set_cap(entry.job, cap)
    except TonnageError as error:
        return f"{told}, and its limit could not be changed: {error}"
    with suppress(LedgerError):
        ledger.recap(entry.key, time.time(), cap, line)
    return f"{told}: {cap} at once from here on"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rise:
    """An array that gets a higher cap."""

    entry: Entry
    """As it was."""
    cap: int
    line: int
    why: str

    @property
    def after(self) -> Entry:
        """As it is then."""
        return self.entry._replace(intent=capped(self.entry.intent, self.cap, self.line))

    @property
    def sentence(self) -> str:
        """In one sentence."""
        before, old = _cap(self.entry), int(self.entry.intent["line"] or 0)
        if self.line > old and before >= int(old / tasks_per_copy(self.entry)):
            told = f"job {self.entry.job} ran {before} at once by a load line of {old}; the line is {self.line} now"
            return f"{told}: {self.cap} at once from here on"
        return f"job {self.entry.job} ran {self.entry.intent['cap']} at once beside others; now {self.why}"


class RunningCaps:
    """This user's arrays of some servers that a load line capped."""

    def __init__(
        self, site: Site, ledger: Ledger, scheduler: Scheduler, names: Iterable[str], readings: Mapping[str, Reading]
    ) -> None:
        """``readings``: the current indices of these servers; where these are stale, caps stay."""
        self._site, self._ledger, self._scheduler = site, ledger, scheduler
        self._names, self._readings = frozenset(names), readings

    def rise(self, *, jobs: Sequence[Job] | None = None) -> tuple[str, ...]:
        """Raises caps, the oldest array first, each counted before the next; returns a sentence for each.

        ``jobs``: a list that the caller has already; the scheduler is asked anew only where a cap would rise by that.
        Where it does not answer now, or the ledger does not, caps are left as they are.
        """
        with suppress(TonnageError):
            if not self._capped() or (jobs is not None and not self._rises(self._snapshot(jobs, time.time()))):
                return ()
            # Another process of this user would give the same tasks away a second time.
            with self._ledger.locked("caps of arrays", timeout_s=self._site.policy.scheduler_timeout / 1e9):
                return self._raise()
        return ()

    def _capped(self) -> list[Entry]:
        marks = Marks(by_line=True, scheduler=self._scheduler.name)
        every = self._ledger.since(time.time() - LOOKED_BACK_S, marks)
        return [entry for entry in every if entry.job is not None and self._names & {*_whose(entry)}]

    def _asked(self) -> ClusterSnapshot:
        at_s = time.time()
        return self._snapshot(self._scheduler.jobs(), at_s)

    def _snapshot(self, jobs: Sequence[Job], at_s: float) -> ClusterSnapshot:
        since_s = at_s - REMEMBERED * self._site.policy.decay / 1e9
        placements = placements_of(self._ledger, jobs, since_s=since_s)
        return ClusterSnapshot(
            now_s=time.time(),
            jobs=jobs,
            jobs_at_s=at_s,
            readings=self._readings,
            placements=placements,
            company=known_company(self._site),
        )

    def _rises(self, snapshot: ClusterSnapshot) -> list[_Rise]:
        found = []
        for entry in self._capped():
            rise = self._now(entry, snapshot)
            if rise is not None and rise.cap > _cap(entry):
                found.append(rise)
                snapshot = _with(snapshot, rise)
        return found

    def _now(self, entry: Entry, snapshot: ClusterSnapshot) -> _Rise | None:
        """What its cap would be now; None where nothing of it waits, its user changed its cap, or that is not known."""
        rows = [job for job in snapshot.jobs or () if isinstance(job, Job) and _is(job, entry)]
        if all(job.state != "pending" for job in rows) or any(job.cap not in (None, _cap(entry)) for job in rows):
            return None
        names = _whose(entry)
        servers = [server for server in map(self._site.named, names) if server is not None]
        located = Located(path="", mount=None, target=entry.intent["target"], servers=names, striped=len(names) > 1)
        size = entry.intent.get("transfer_size", USUAL_TRANSFER)
        lines = lines_of_servers(self._site, servers, located, size)
        policy = self._site.policy
        carried = capacity_beside(entry, servers, located, snapshot, lines, self._ledger, policy)
        if len(servers) < len(names) or carried is None or carried.silent:
            return None
        cap, why = choose_cap(
            _demand(entry).against(carried.plateau),
            carried,
            asked="auto",
            copies=sum(job.count for job in rows),
            slots=entry.intent.get("room"),
            cpu_bound_below=policy.cpu_bound_below,
        )
        return None if cap is None else _Rise(entry=entry, cap=cap, line=line_in_use(carried), why=why)

    def _raise(self) -> tuple[str, ...]:
        risen = [rise for rise in self._rises(self._asked()) if self._set(rise)]
        if not risen:
            return ()
        # Others may have been promised the same tasks since that list was made: then the newest gives them back.
        snapshot = self._asked()
        for place, rise in reversed([*enumerate(risen)]):
            most = self._now(rise.after, snapshot)
            if most is not None and most.cap < rise.cap:
                back = replace(rise, cap=max(most.cap, _cap(rise.entry)), why=most.why)
                if self._set(back):
                    risen[place] = back
                    snapshot = _with(snapshot, back)
        return tuple(rise.sentence for rise in risen if rise.cap > _cap(rise.entry))

    def _set(self, rise: _Rise) -> bool:
        entry = rise.entry
        assert entry.job is not None
        try:
            self._scheduler.set_cap(entry.job, rise.cap)
        except TonnageError:
            return False
        with suppress(LedgerError):
            self._ledger.recap(entry.key, time.time(), rise.cap, rise.line)
        return True


def _is(job: Job, entry: Entry) -> bool:
    """Numbers of two clusters may be the same, as may those of another user's jobs of long ago."""
    return job.is_of(str(entry.job), entry.key) and job.user == getpass.getuser()


def _whose(entry: Entry) -> tuple[str, ...]:
    """Whose line capped it; ledgers of before name the server alone."""
    return tuple(entry.intent.get("line_servers") or filter(None, [server_of(entry)]))


def _cap(entry: Entry) -> int:
    return int(entry.intent["cap"] or 0)


def _demand(entry: Entry) -> Demand:
    """What a copy asks, as far as the ledger keeps it; one that is no whole task was measured or told."""
    io_share, asked = float(entry.intent.get("io_share", 1.0)), tasks_per_copy(entry)
    return Demand(
        bytes=0,
        operations=0,
        io_share=io_share,
        bytes_per_s=entry.intent.get("bytes_per_s"),
        by_rate=asked if asked > io_share else 0.0,
        measured=bool(entry.intent.get("measured", asked != 1.0)),
        source="as submitted",
    )


def _with(snapshot: ClusterSnapshot, rise: _Rise) -> ClusterSnapshot:
    """As it is when the array has that cap."""
    placements = [rise.after if one.key == rise.entry.key else one for one in snapshot.placements]
    jobs = [replace(job, cap=rise.cap) if job.job == rise.entry.job and job.cap else job for job in snapshot.jobs or ()]
    return replace(snapshot, placements=placements, jobs=jobs)
