"""Submits a job exactly once: writes the intent, submits, keeps the receipt. A retry with the same key finds the first
job."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from tonnage.cluster.scheduler import (
    ChecksReceipts,
    JobRequest,
    Scheduler,
    SchedulerError,
    SubmissionUnknown,
    Submitted,
)
from tonnage.cluster.schedulers import scheduler_here
from tonnage.cluster.wait_for_job import wait_for
from tonnage.delayed_signals import uncollected
from tonnage.errors import RequestError, TonnageError
from tonnage.placement.plan import Plan, make_plan, scheduler_of
from tonnage.placement.running_caps import RunningCaps, adapt_to_line
from tonnage.placement.scheduler_lists import Lists
from tonnage.placement.site import Site, load_site
from tonnage.placement.submission_ledger import Entry, Ledger, LedgerError
from tonnage.placement.submit_request import SubmitRequest
from tonnage.printable_text import one_line
from tonnage.program_places import working_directory

_SETTLE_S = 2.0
"""A scheduler that recovers from a hang first handles the requests it received meanwhile; only then its list is
complete."""
_AGAIN_S = 0.25
Tell = Callable[[Plan], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of a submission."""

    plan: Plan | None
    """None where an earlier submission of this key was found."""
    receipt: Submitted | None
    """None for an interactive job, and in a dry run."""
    status: int | None = None
    """An interactive job's exit status."""
    command: tuple[str, ...] = ()
    """In a dry run: what would be run."""
    followed: tuple[str, ...] = ()
    """Caps of other arrays that rose as others left, or were brought to the load line in use, a sentence each."""


def preview(request: SubmitRequest) -> Outcome:
    """The decision and the command; nothing is submitted or written."""
    directory, site, found = _begin(request)
    plan = make_plan(request, directory, site, Ledger(), found)
    plan = replace(plan, notes=(*plan.notes, *_unlisted(request.queue, found, site)))
    return Outcome(plan=plan, receipt=None, command=tuple(found.command(plan.request)))


def _unlisted(queue: str | None, found: Scheduler, site: Site) -> tuple[str, ...]:
    """A queue that the scheduler does not list, which may be hidden, or a slip: the scheduler itself would say."""
    if queue is None:
        return ()
    with suppress(SchedulerError):
        hosts = Lists(found, site.policy.list_age).hosts().rows
        listed = {name for host in hosts for name in host.queues or ()}
        if listed and queue not in listed:
            return (f"{found.name} lists no queue {queue!r}",)
    return ()


def site_scheduler() -> Scheduler:
    """The one that a submission from here goes to."""
    return _site_scheduler()[1]


def _site_scheduler() -> tuple[Site, Scheduler]:
    site = load_site(Path(working_directory()), None)
    return site, scheduler_here(site.scheduler, timeout_s=site.policy.scheduler_timeout / 1e9)


def queue_names() -> frozenset[str]:
    """Those that the site's scheduler lists, and those of the site file, which may be hidden. SchedulerError."""
    site, found = _site_scheduler()
    return frozenset({queue.name for queue in found.queues()} | {one.queue for one in site.server if one.queue})


def submit(request: SubmitRequest, *, key_given: bool, tell: Tell) -> Outcome:
    """Submits it unless its key was submitted already. ``tell`` is called with the plan of a job that was taken.

    SchedulerError in the scheduler's words where it refused; SubmissionUnknown where it is unknown whether it took the
    job: a retry with the same key finds out.
    """
    directory, site, found = _begin(request)
    timeout_s = site.policy.scheduler_timeout / 1e9
    ledger = Ledger()
    with ledger.locked(request.key, timeout_s=4 * timeout_s), uncollected():
        if key_given and (receipt := _earlier(request, directory, ledger, found)) is not None:
            return Outcome(plan=None, receipt=receipt)
        plan = make_plan(request, directory, site, ledger, found)
        found.check(plan.request)
        # Earlier arrays come first: the new one gets what they leave.
        risen = RunningCaps(site, ledger, found, plan.line_servers, plan.readings).rise()
        if risen:
            plan = make_plan(request, directory, site, ledger, found)
            found.check(plan.request)
        ledger.intend(request.key, time.time(), plan.intent(found.name))
        receipt = _ask(found, plan.request, ledger, timeout_s)
        tell(plan)
        # The job is there: what is not written now is asked of the scheduler by a retry.
        with suppress(LedgerError):
            ledger.receive(request.key, time.time(), receipt.job, receipt.line)
        followed = (*risen, *adapt_to_line(ledger, found, plan))
    return Outcome(plan=plan, receipt=receipt, followed=followed)


def wait_until_ended(request: SubmitRequest, job: str) -> tuple[int, str]:
    """Waits until the job, all its copies, has ended; its worst exit status, and what the scheduler says of why."""
    _, _, found = _begin(request)
    return wait_for(found, job, key=request.key, copies=request.copies)


def failed_text(job: str, status: int, why: str) -> str:
    """What to tell of a job that ended with a status other than 0; ``why``: as :func:`wait_until_ended` has it."""
    told = one_line(why) if why and why != f"exited with {status}" else "`tonnage jobs -d` lists it"
    return f"job {job} ended with {status}: {told}"


def run_interactive(request: SubmitRequest, *, tell: Tell) -> Outcome:
    """Runs it with this terminal and returns its exit status."""
    directory, site, found = _begin(request)
    ledger = Ledger()
    plan = make_plan(request, directory, site, ledger, found)
    found.check(plan.request, interactive=True)
    tell(plan)
    ledger.intend(request.key, time.time(), plan.intent(found.name))
    try:
        status = found.interactive(plan.request)
    except TonnageError as error:
        with suppress(LedgerError):
            ledger.refuse(request.key, time.time(), str(error))
        raise
    with suppress(LedgerError):
        ledger.receive(request.key, time.time(), "interactive", f"exit status {status}")
    return Outcome(plan=plan, receipt=None, status=status)


def _begin(request: SubmitRequest) -> tuple[str, Site, Scheduler]:
    directory = working_directory()
    site = load_site(Path(directory), request.site_file)
    return request.directory or directory, site, scheduler_of(request, site)


class Interrupted(SubmissionUnknown):
    """Ctrl-C while the scheduler was asked."""

    exit_code = 130


def _ask(found: Scheduler, request: JobRequest, ledger: Ledger, timeout_s: float) -> Submitted:
    again = (
        f"the job may be there; hint: give the same command again with --key={request.key}, which is never submitted "
        "twice"
    )
    try:
        try:
            return found.submit(request)
        except SubmissionUnknown as error:
            receipt = _find_within(found, request.key, timeout_s)
            if receipt is None:
                raise SubmissionUnknown(f"{error}; {again}") from None
            return receipt
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted while {found.name} was asked; {again}") from None
    except SubmissionUnknown:
        raise
    except TonnageError as error:
        with suppress(LedgerError):
            ledger.refuse(request.key, time.time(), str(error))
        raise


def _find_within(found: Scheduler, key: str, limit_s: float) -> Submitted | None:
    """Asks until the job is there or the time is over; a scheduler that does not answer is asked again."""
    end = time.monotonic() + limit_s
    while True:
        with suppress(SchedulerError):
            if (receipt := found.find(key)) is not None:
                return receipt
        if time.monotonic() + _AGAIN_S > end:
            return None
        time.sleep(_AGAIN_S)


def _earlier(request: SubmitRequest, directory: str, ledger: Ledger, found: Scheduler) -> Submitted | None:
    """What an earlier submission with this key left; None: there was none, or it was refused."""
    entry = ledger.entry(request.key)
    if entry is not None:
        _refuse_another_job(entry, request, directory)
        if entry.job is not None:
            if isinstance(found, ChecksReceipts) and entry.intent.get("scheduler") == found.name:
                found.check_receipt(request.key, entry.job)
            return Submitted(entry.job, entry.line or "")
        if entry.refused is not None:
            return None
    try:
        receipt = found.find(request.key)
    except SchedulerError as error:
        raise SchedulerError(
            f"{error}; so nothing was submitted now; hint: give the same command again with --key={request.key}"
        ) from None
    if receipt is None and entry is not None:
        # Its request may still be on its way into a scheduler that hung.
        receipt = _find_within(found, request.key, _SETTLE_S)
    if receipt is not None and entry is not None:
        with suppress(LedgerError):
            ledger.receive(request.key, time.time(), receipt.job, receipt.line)
    return receipt


def _refuse_another_job(entry: Entry, request: SubmitRequest, directory: str) -> None:
    asked = entry.intent.get("request") or {}
    same = (asked.get("argv"), asked.get("directory"), asked.get("numbers", []))
    if same != (list(request.argv), directory, [asdict(one) for one in request.numbers]):
        raise RequestError(
            f"the key {request.key} belongs to another job, {' '.join(asked.get('argv') or ())[:80]!r} in "
            f"{asked.get('directory')}; hint: give another --key"
        )
