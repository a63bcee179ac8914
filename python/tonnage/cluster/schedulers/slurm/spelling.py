"""How Slurm spells a job's terms."""

from __future__ import annotations

import time
from collections.abc import Sequence

from tonnage.cluster.own_words import OwnWords
from tonnage.cluster.terms import Dependency, Mail, Spelling, check_jobs, in_units
from tonnage.errors import RequestError

_MAIL = {"begin": "BEGIN", "end": "END", "fail": "FAIL"}


def _dependency(after: Dependency) -> list[str]:
    check_jobs(after, r"[0-9]+(_[0-9]+|\[[0-9]+\])?", "Slurm")
    between = "?" if after.any_of else ","
    # Of an array's copy Slurm writes 12_3.
    each = (f"{when}:{job.replace('[', '_').rstrip(']')}" for when, job in after.conditions)
    return [f"--dependency={between.join(each)}"]


def _mail(mail: Mail) -> list[str]:
    to = [f"--mail-user={mail.to}"] if mail.to is not None else []
    return [f"--mail-type={','.join(_MAIL[event] for event in mail.events)}", *to]


def _begin(moment_s: int) -> list[str]:
    return [f"--begin={time.strftime('%Y-%m-%dT%H:%M:%S', time.localtime(moment_s))}"]


SLURM = Spelling(
    "Slurm",
    {
        "time_limit_s": lambda limit_s: [f"--time={limit_s // 60}:{limit_s % 60:02d}"],
        "account": lambda name: [f"--account={name}"],
        "memory_bytes": lambda size: [f"--mem={in_units(size, 1 << 10)}K"],
        # By --gpus a site without the consumable resources of that name would refuse them.
        "gpus": lambda count: [f"--gres=gpu:{count}"],
        "dependency": _dependency,
        "mail": _mail,
        "exclusive": lambda _: ["--exclusive"],
        "rerun": lambda _: ["--requeue"],
        "begin_at_s": _begin,
        "words": list,
    },
    OwnWords(
        refused=(
            *("--array", "-a", "--wrap", "--parsable", "--wait", "-W", "--test-only"),
            *("--help", "-h", "--usage", "-u", "--version", "-V"),
        ),
        flags=(
            *("--contiguous", "--exclusive", "--get-user-env", "--hold", "--ignore-pbs", "--immediate", "--nice"),
            *("--no-bell", "--no-kill", "--no-requeue", "--overcommit", "--oversubscribe", "--propagate", "--quiet"),
            *("--reboot", "--requeue", "--share", "--spread-job", "--stepmgr", "--use-min-nodes", "--verbose"),
        ),
        # Those of srun too.
        values="AaBbCcDdeFGiJLMmNnopqrSTtwx",
    ),
)
_COMMENT, _SHORTEST = "--comment", "--com"
"""A beginning that only this option has is this option."""


def without_comment(words: Sequence[str]) -> tuple[str | None, tuple[str, ...]]:
    """A user's own comment, which shares the field with ours, and the other words."""
    rest: list[str] = []
    found = None
    given = iter(words)
    for word in given:
        name, equals, text = word.partition("=")
        if not (name.startswith(_SHORTEST) and _COMMENT.startswith(name)):
            rest.append(word)
            continue
        found = text if equals else next(given, None)
        if found is None:
            raise RequestError("--comment has no text; hint: write --comment=TEXT")
    return found, tuple(rest)
