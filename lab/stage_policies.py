"""The policies of a mover whose every call is disturbed: options, what the destination lacks, and what was there."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from stage_trees import MIB
from stage_truth import EARLY_NS, NEW_NS

if TYPE_CHECKING:
    from stage_faults import Bench
    from tracer import Call

NO_FLAGS = {"renameat2": errno.EINVAL}
NO_LINKS = {**NO_FLAGS, "linkat": errno.EPERM}


def nothing(_: Bench) -> None:
    """The destination is empty."""


def never(_: Call) -> bool:
    return False


def before(path: str, *calls: str) -> Callable[[Call], bool]:
    """A call of these that gives or takes away the name ``path``."""
    return lambda call: call.name in calls and any(each.endswith(f"/to/{path}") for each in call.paths)


@dataclass(frozen=True)
class Policy:
    """One way to run."""

    name: str
    options: dict[str, Any] = field(default_factory=dict)
    prepare: Callable[[Bench], None] = nothing
    """Makes what is there before the run that is disturbed."""
    lacks: dict[str, int] = field(default_factory=dict)
    """Calls that the destination's file system answers with this error."""
    comes: Callable[[Call], bool] = never
    """Somebody else puts a file under the last name of the first such call, when it has not begun."""


def foreign_there(bench: Bench) -> None:
    """Others have three names: with other bytes of the same size, with the same bytes, and with older ones."""
    to, source, truth = bench.stage.to, bench.stage.source, bench.truth
    (to / "d").mkdir()
    truth.made_by_others.add(b"d")
    (to / "plain").write_bytes(b"x" * (source / "plain").stat().st_size)
    os.utime(to / "plain", ns=(NEW_NS, NEW_NS))
    (to / "d" / "file").write_bytes((source / "d" / "file").read_bytes())
    (to / "d" / "file").chmod(0o640)
    os.setxattr(to / "d" / "file", "user.note", b"kept")
    os.utime(to / "d" / "file", ns=((source / "d" / "file").stat().st_mtime_ns,) * 2)
    (to / "empty").write_bytes(b"older")
    os.utime(to / "empty", ns=(EARLY_NS, EARLY_NS))
    policy = bench.policy.options["overwrite"]
    if policy != "always":
        truth.stays(b"plain")
    if policy == "never":
        truth.stays(b"empty")
        truth.same.add(b"d/file")


def staged_before(bench: Bench) -> None:
    """All of it was staged, and some of it changed since."""
    code, status = bench.run(clear="never")
    assert code == 0, status
    source = bench.stage.source
    (source / "plain").write_bytes(b"a second version")
    with (source / "d" / "file").open("r+b") as out:
        out.write(b"in place")
    with (source / "large").open("r+b") as out:
        out.write(b"in place")
    (source / "sparse").chmod(0o600)
    os.link(source / "one", source / "three")
    (source / "link").unlink()
    (source / "link").symlink_to("large")
    (source / "new").write_bytes(b"new")
    bench.truth.observe()


def half_copied(bench: Bench) -> None:
    """A mover was killed when one chunk of each large file was in the journal."""

    def second_chunk(of: str) -> Callable[[Call], bool]:
        size = (bench.stage.source / of).stat().st_size

        def found(call: Call) -> bool:
            if call.name != "pwrite64" or not call.paths[0].endswith(".part") or call.arguments[3] < 4 * MIB:
                return False
            return os.stat(call.paths[0]).st_size == size

        return found

    bench.kill_at(second_chunk("large"), "before", order="smallest")
    bench.kill_at(second_chunk("hollow"), "before", order="largest")


def killed_at_rename(when: str) -> Callable[[Bench], None]:
    """A mover was killed at its first rename at the destination."""

    def prepare(bench: Bench) -> None:
        to = str(bench.stage.to)
        bench.kill_at(lambda call: call.name.startswith("renameat2") and call.paths[-1] == f"{to}/plain", when)

    return prepare


def killed_in_exchange(bench: Bench) -> None:
    """A mover was killed when the old copy had its temporary's name."""
    staged_before(bench)
    bench.kill_at(lambda call: call.name == "renameat2:2", "after")


def killed_while_clearing(bench: Bench) -> None:
    """A mover was killed when it had set a file aside."""
    bench.kill_at(lambda call: "/cleared/" in call.paths[-1] and call.name.startswith("renameat2"), "after")


def journal_lost(bench: Bench) -> None:
    """All was staged, and then the journal was damaged."""
    code, status = bench.run(clear="never")
    assert code == 0, status
    for left in bench.stage.state.glob("journal.sqlite-*"):
        left.unlink()
    (bench.stage.state / "journal.sqlite").write_bytes(b"not a journal any more" * 500)


def lost_while_clearing(bench: Bench) -> None:
    """A mover was killed when it had set a file aside, and then its journal was damaged."""
    killed_while_clearing(bench)
    for left in bench.stage.state.glob("journal.sqlite-*"):
        left.unlink()
    (bench.stage.state / "journal.sqlite").write_bytes(b"not a journal any more" * 500)


CLEAR = {"clear": "done"}
ANY = {"overwrite": "always"}
"""Without it no mover starts where a name is taken by neither a link nor a rename that replaces nothing."""
FULL = {"clear": "high-water", "marks": {"high_permille": 0, "low_permille": 0}}

POLICIES = {
    policy.name: policy
    for policy in [
        Policy("keep"),
        Policy("unchecked", {"check": "none"}),
        Policy("read back", {"check": "read-back"}),
        Policy("delete", CLEAR),
        Policy("delete read back", {**CLEAR, "check": "read-back"}),
        Policy("delete unchecked", {**CLEAR, "check": "none"}),
        Policy("high water", FULL),
        Policy("overwrite never", {"overwrite": "never"}, foreign_there),
        Policy("overwrite older", {"overwrite": "older"}, foreign_there),
        Policy("overwrite always", {"overwrite": "always"}, foreign_there),
        Policy("again", {}, staged_before),
        Policy("again delete", CLEAR, staged_before),
        Policy("half copied", {"check": "read-back"}, half_copied),
        Policy("placing", {}, killed_at_rename("before")),
        Policy("placed", CLEAR, killed_at_rename("after")),
        Policy("exchanged", {}, killed_in_exchange),
        Policy("set aside", CLEAR, killed_while_clearing),
        Policy("journal lost", CLEAR, journal_lost),
        Policy("set aside, journal lost", CLEAR, lost_while_clearing),
        Policy("no rename flags", CLEAR, lacks=NO_FLAGS),
        Policy("no rename flags, again", {}, staged_before, NO_FLAGS),
        Policy("no rename flags, overwrite older", {"overwrite": "older"}, foreign_there, NO_FLAGS),
        Policy("no links", {**CLEAR, **ANY}, lacks=NO_LINKS),
        Policy("no links, again", ANY, staged_before, NO_LINKS),
        Policy("foreign before the rename", comes=before("plain", "renameat2:1")),
        Policy("foreign before the exchange", {}, staged_before, comes=before("plain", "renameat2:2")),
        Policy(
            "foreign before the exchange, older",
            {"overwrite": "older"},
            foreign_there,
            comes=before("empty", "renameat2:2"),
        ),
        Policy("no rename flags, foreign before the link", CLEAR, lacks=NO_FLAGS, comes=before("plain", "linkat")),
        Policy(
            "no rename flags, foreign before the rename",
            {},
            staged_before,
            NO_FLAGS,
            before("plain", "renameat", "renameat2:2"),
        ),
        Policy("no links, foreign before the rename", ANY, lacks=NO_LINKS, comes=before("plain", "renameat")),
    ]
}
