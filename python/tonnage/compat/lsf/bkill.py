"""``bkill``."""

from __future__ import annotations

from collections.abc import Sequence

from tonnage.cluster.scheduler import Job, Scheduler
from tonnage.compat.front_end import Given, Voice, parse_arguments
from tonnage.compat.lsf.options import BKILL
from tonnage.compat.lsf.select_jobs import FAILED, matches, named
from tonnage.errors import RequestError
from tonnage.machine.user_state import user_name
from tonnage.placement.jobs import asked_scheduler, cancel_jobs

EVERY = "0"
"""Instead of a job's number: all of them."""


def run(typed: Sequence[str], voice: Voice) -> int:
    """Exit code: 255 where one of the jobs was not ended; the others are all the same."""
    given = parse_arguments(BKILL, typed)
    names = given.texts("names")
    if given["-u"] not in (None, user_name()):
        raise RequestError("bkill ends jobs of yours alone; hint: leave -u out")
    chosen = any(given[option] is not None for option in ("-J", "-q", "-m"))
    if not names and not chosen:
        raise RequestError("bkill: no job is named; hint: give its number, 0 for all of yours, or -J NAME")
    found = asked_scheduler(None, None)
    known = found.jobs(user=user_name())
    if EVERY in names or not names:
        words = _chosen(found, known, given, every=EVERY in names)
        if not words:
            voice.tell(f"Job <{given['-J']}> is not found" if given["-J"] else "No unfinished job found")
            return FAILED
    else:
        words = [word for word in dict.fromkeys(names) if named(known, word)]
    failed = _tell_missing(found, [word for word in names if word not in words and word != EVERY], voice)
    for one in cancel_jobs(found, words, known):
        if one.problem is None:
            voice.say(f"Job <{one.job}> is being terminated")
        else:
            voice.tell(f"Job <{one.job}>: {one.problem}")
            failed = True
    return FAILED if failed else 0


def _chosen(found: Scheduler, known: Sequence[Job], given: Given, *, every: bool) -> list[str]:
    """The numbers of those that Tonnage submitted and that match; the one submitted last unless ``every``."""
    ours = [job for job in known if (job.key is not None or found.name == "local") and matches(job, given)]
    if not every:
        ours = sorted(ours, key=lambda job: job.submitted_at_s or 0.0)[-1:]
    return list(dict.fromkeys(job.job for job in ours))


def _tell_missing(found: Scheduler, words: Sequence[str], voice: Voice) -> bool:
    """Says of each why there is nothing to end; whether there was one."""
    ended = found.jobs(user=user_name(), ended=True) if words else []
    for word in dict.fromkeys(words):
        over = bool(named(ended, word))
        voice.tell(f"Job <{word}>: {'Job has already finished' if over else 'No matching job found'}")
    return bool(words)
