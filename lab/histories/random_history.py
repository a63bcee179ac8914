"""Histories from seeds. The same seed draws the same script on any machine that has the same file systems."""

from __future__ import annotations

import random
from collections.abc import Callable

from histories.history_script import History, Policy, Step

MIB = 1 << 20
DIRECTORIES = ("d", "d/e", "g", "g/h")
FILES = tuple(f"{directory}{name}" for directory in ("", "d/", "d/e/", "g/") for name in ("one", "two", "three"))
ODD = ("skip.tmp", "d/skip.tmp", "d/COMPLETE", "g/COMPLETE", "d/sn\N{SNOWMAN}w")
SIZES = (0, 1, 4096, 5000, 70_000, 300_000)
LARGE = 9 * MIB
"""Goes in chunks."""
TIMES = (-(10**18), 0, 10**18, 17 * 10**17, 41 * 10**17)
"""From 1938 to 2099."""
MOMENTS = ("any", "any", "temporary", "aside", "placed")
FAULTS = (
    "write=EIO each=3", "write=ENOSPC each=2", "fsync=EIO each=2", "fsync=EIO", "create=EIO each=2", "link=EIO each=2",
    "rename=EIO each=2", "unlink=EIO each=2", "read=EIO each=2", "fsyncdir=EIO each=2", "mkdir=EIO each=2",
    "short=700", "flip", "flip", "read_only", "utimens=EIO each=2",
)  # fmt: skip


class Draw:
    """One history in the making."""

    def __init__(self, seed: int, kinds: list[str]) -> None:
        self._rng = random.Random(f"history {seed}")
        self._kinds = kinds
        self._steps: list[Step] = []
        self._few = self._rng.sample(FILES, self._rng.randint(2, 6))
        """Names that meet again are worth more than many."""

    def history(self) -> History:
        policy = self._policy()
        self._policy_is = policy
        for directory in DIRECTORIES[: self._rng.randint(1, 4)]:
            self._add("mkdir", directory)
        for _ in range(self._rng.randint(1, 3)):
            self._add("write", self._file(), self._size(), self._seed())
        for _ in range(self._rng.randint(2, 9)):
            self._rng.choice(self._parts())()
        if self._rng.random() < 0.8:
            # Nothing that comes after makes up for it.
            self._idiom()
        return History(policy, tuple(self._steps))

    def _policy(self) -> Policy:
        rng = self._rng
        sources = [kind for kind in self._kinds if kind != "fuse"]
        return Policy(
            source=rng.choice((*sources, sources[0])),
            to=rng.choice(self._kinds),
            clear=rng.choice(("never", "never", "done", "done", "high-water")),
            check=rng.choice(("none", "written", "", "read-back")),
            overwrite=rng.choice(("never", "never", "older", "always")),
            workers=rng.randint(1, 4),
            include=rng.choice(("", "", "", "", "d")),
            exclude=rng.choice(("", "", "*.tmp", "g")),
            markers=rng.choice(("", "", "COMPLETE")),
            order=rng.choice(("oldest", "newest", "smallest", "largest")),
            limit=rng.choice((0, 0, 0, 0, 30)),
            listed=rng.choice((0, 0, 1)),
        )

    def _parts(self) -> list[Callable[[], None]]:
        """Each as often as it is here."""
        single = [self._call] * 10 + [self._life] * 4 + [self._idiom] * 5 + [self._his] * 3 + [self._ground] * 2
        return single if self._policy_is.to != "fuse" else [*single, *[self._faults] * 3]

    def _add(self, verb: str, *words: str | int) -> None:
        self._steps.append(Step(verb, words))

    def _seed(self) -> int:
        return self._rng.randrange(10**6)

    def _file(self) -> str:
        return self._rng.choice((*self._few * 3, *ODD)) if self._rng.random() < 0.9 else self._rng.choice(FILES)

    def _any(self) -> str:
        return self._rng.choice((self._file(), self._file(), self._rng.choice(DIRECTORIES)))

    def _size(self) -> int:
        return LARGE if self._rng.random() < 0.03 else self._rng.choice(SIZES)

    def _range(self) -> tuple[int, int]:
        return self._rng.choice((0, 1, 4000, 70_000)), self._rng.choice((1, 100, 5000))

    # The application.

    def _call(self) -> None:
        rng = self._rng
        one, two, slot = self._file(), self._file(), rng.choice(("s", "t"))
        offset, size = self._range()
        choices: list[tuple[str, tuple[str | int, ...]]] = [
            ("write", (one, self._size(), self._seed())),
            ("write", (two, self._size(), self._seed())),
            ("append", (one, size, self._seed())),
            ("pwrite", (one, offset, size, self._seed())),
            ("rewrite", (one, self._seed())),
            ("truncate", (one, rng.choice((0, 100, 5000, 80_000)))),
            ("store", (one, offset, size, self._seed())),
            ("store", (two, 0, 1, self._seed())),
            ("map", (slot, one)),
            ("mstore", (slot, offset, size, self._seed())),
            ("open", (slot, one)),
            ("fwrite", (slot, offset, size, self._seed())),
            ("close", (slot,)),
            ("fallocate", (one, rng.choice(("prealloc", "punch", "zero")), offset, 10 * size)),
            ("clone", (one, two)),
            ("copyrange", (one, two)),
            ("tmpfile", (one, self._size(), self._seed())),
            ("rename", (one, two)),
            ("rename", (rng.choice(DIRECTORIES), rng.choice(DIRECTORIES))),
            ("rename", (self._any(), self._any())),
            ("exchange", (one, two)),
            ("exchange", (self._any(), self._any())),
            ("link", (one, two)),
            ("link", (two, one)),
            ("unlink", (one,)),
            ("mkdir", (rng.choice(DIRECTORIES),)),
            ("rmdir", (rng.choice(DIRECTORIES),)),
            ("symlink", (one, rng.choice(("one", "../nowhere", "/etc/passwd")))),
            ("fifo", (one,)),
            ("socket", (one,)),
            ("chmod", (self._any(), rng.choice((0o600, 0o644, 0o755, 0o700, 0o444)))),
            ("chown", (self._any(), rng.choice((0, 1000, 65534)))),
            ("utime", (self._any(), rng.choice(TIMES))),
            ("xattr", (self._any(), rng.choice(("a", "b")), rng.choice((0, 10, 2000, 20_000)), self._seed())),
            ("unxattr", (one, "a")),
            ("crash", ()),
            ("freeze", ("application", 5)),
        ]
        verb, words = rng.choice(choices)
        self._add(verb, *words)

    # The mover.

    def _life(self) -> None:
        rng = self._rng
        match rng.randrange(6):
            case 0 | 1:
                self._add("drain")
            case 2 | 3:
                self._add("mover")
                self._add("pause", rng.choice((0, 5, 40, 90)))
            case 4:
                self._add("mover")
                self._add("kill", rng.choice(MOMENTS), rng.choice((0, 20, 80, 150)))
            case _:
                self._add("freeze", "mover", rng.choice((1, 10)))

    # The second user, and the file systems.

    def _his(self) -> None:
        rng = self._rng
        one, two = self._file(), self._file()
        mtime_ns = rng.choice((0, 0, *TIMES))
        choices: list[tuple[str, tuple[str | int, ...]]] = [
            ("his-new", (one, rng.choice(SIZES[:4]), self._seed(), mtime_ns)),
            ("his-new", (one, 5000, self._seed(), mtime_ns)),
            ("his-over", (one, rng.choice(SIZES[:4]), self._seed(), mtime_ns)),
            ("his-take", (one,)),
            ("his-shift", (one, two)),
            ("his-directory", (one,)),
            ("his-symlink", (one, "/etc/hostname")),
        ]
        verb, words = rng.choice(choices)
        self._add(verb, *words)

    def _ground(self) -> None:
        match self._rng.randrange(8):
            case 0 | 1:
                self._add("remount", "to")
            case 2 | 3:
                self._add("remount", "from")
            case 4 | 5:
                self._add("away")
            case 6:
                self._add("spoil", "journal")
            case _:
                self._add("spoil", "parts")

    def _faults(self) -> None:
        self._add("rules", *self._rng.choice(FAULTS).split())
        if self._rng.random() < 0.5:
            self._add("drain")
            self._add("rules")

    # What people do, and what is worth being close together.

    def _idiom(self) -> None:
        rng = self._rng
        one, two, seed = self._file(), self._file(), self._seed()
        idioms = (
            [self._links] * 3
            + [self._late] * 3
            + [self._kill_while_clearing, self._kill_while_clearing, self._sparse, self._checkpoint, self._meets]
            + [self._narrowed] * 2
        )
        idioms += [self._removed, self._unmounted_destination]
        if self._policy_is.to == "fuse":
            idioms += [self._arrives] * 4 + [self._flipped] * 3
        idiom = rng.choice(idioms)
        idiom(one, two, seed)

    def _links(self, one: str, two: str, seed: int) -> None:
        """Two names, staged; changed through one of them without a trace in size and time; the other name goes."""
        self._add("write", one, 5000, seed)
        self._add("link", one, two)
        self._add("drain")
        change = ("rewrite", one, seed + 1)
        self._add(*self._rng.choice((change, change, ("xattr", one, "a", 10, seed), ("store", one, 0, 100, seed))))
        self._add(*self._rng.choice((("unlink", two), ("unlink", two), ("link", one, "three"))))
        self._add("drain")

    def _kill_while_clearing(self, one: str, two: str, seed: int) -> None:
        """A kill while files are cleared; what comes after finds a journal or none."""
        for number, name in enumerate((one, two, *self._few)):
            self._add("write", name, 5000, seed + number)
        self._add("mover")
        self._add("kill", "aside", 200)
        if self._rng.random() < 0.5:
            self._add("spoil", "journal")

    def _sparse(self, one: str, _two: str, seed: int) -> None:
        """A large file with holes, whose temporary is damaged when the mover is killed."""
        self._add("truncate", one, LARGE)
        self._add("write", one, 1000, seed)
        self._add("truncate", one, LARGE + 3 * MIB)
        self._add("pwrite", one, LARGE, 5000, seed)
        self._add("mover")
        self._add("kill", "temporary", 150)
        self._add("pause", self._rng.choice((0, 1)))
        self._add("spoil", "parts")
        self._add("drain")

    def _checkpoint(self, one: str, _two: str, seed: int) -> None:
        """Written beside, renamed into place, a few times, under a mover."""
        self._add("mover")
        for number in range(3):
            self._add("write", f"{one}.new", 70_000, seed + number)
            self._add("rename", f"{one}.new", one)
            self._add("pause", self._rng.choice((0, 3, 30)))

    def _narrowed(self, one: str, _two: str, seed: int) -> None:
        """A directory is staged, and changes itself; somebody waits, and the mover may be killed after that."""
        rng = self._rng
        directory = rng.choice(DIRECTORIES)
        self._add("mkdir", directory)
        self._add("write", f"{directory}/one", 5000, seed)
        self._add("mover")
        self._add("wait")
        for _ in range(rng.randint(1, 3)):
            changes: tuple[tuple[str | int, ...], ...] = (
                ("chmod", directory, rng.choice((0o700, 0o750, 0o755, 0o500))),
                ("chown", directory, rng.choice((0, 1000))),
                ("xattr", directory, rng.choice(("a", "b")), 10, seed),
            )
            self._add(*rng.choice(changes))  # type: ignore[arg-type]
        if rng.random() < 0.5:
            self._add("write", f"{directory}/two", 5000, seed + 1)
        self._add("wait")
        if rng.random() < 0.5:
            self._add("kill", "any", 0)
        self._add("write", one, 5000, seed + 2)

    def _late(self, one: str, _two: str, seed: int) -> None:
        """Staged, then changed through a mapping or a descriptor that was open before."""
        self._add("write", one, 5000, seed)
        slot, way = self._rng.choice((("s", "map"), ("s", "map"), ("t", "open")))
        early = self._rng.random() < 0.5
        if early:
            self._add(way, slot, one)
        self._add("drain")
        if not early:
            self._add(way, slot, one)
        self._add("mstore" if way == "map" else "fwrite", slot, 10, 100, seed + 1)
        if self._rng.random() < 0.3:
            self._add("mover")
            self._add("pause", 40)
        self._add(*self._rng.choice((("close", slot), ("crash",))))

    def _meets(self, one: str, _two: str, seed: int) -> None:
        """A foreign file arrives at a random moment of a life that is about to replace its own copy."""
        self._add("write", one, 5000, seed)
        self._add("drain")
        self._add("write", one, 70_000, seed + 1)
        self._add("mover")
        self._add("pause", self._rng.choice((10, 20, 30, 40, 50)))
        self._add("stop")
        self._add("his-over" if self._rng.random() < 0.7 else "his-new", one, 4096, seed + 2, 0)
        self._add("cont")

    def _removed(self, one: str, _two: str, seed: int) -> None:
        """A copy goes from the destination while its source is still there."""
        self._add("write", one, 5000, seed)
        self._add("drain")
        self._add(*self._rng.choice((("his-take", one), ("his-over", one, 5000, seed + 1, 0))))

    def _unmounted_destination(self, one: str, two: str, seed: int) -> None:
        """Staged, more is written, and then the destination is not mounted."""
        self._add("write", one, 5000, seed)
        self._add("drain")
        self._add("write", two, 5000, seed + 1)
        self._add("away")

    def _flipped(self, one: str, _two: str, seed: int) -> None:
        self._add("rules", "flip")
        self._add("write", one, 5000, seed)
        self._add("drain")
        self._add("rules")

    def _arrives(self, one: str, _two: str, seed: int) -> None:
        """The mover's call waits at the destination, and somebody else on another client takes the name."""
        call = self._rng.choice(("rename", "rename", "link", "unlink", "fsync"))
        self._add("write", one, 5000, seed)
        if self._rng.random() < 0.7:
            self._add("drain")
            self._add("write", one, 70_000, seed + 1)
        # Not the calls by which the mover finds out what the destination can do.
        self._add("rules", f"hang={call}", f"at=/{one}" if call in ("rename", "link") else "at=.part")
        self._add("mover")
        self._add("await-hang")
        self._add("his-over", one, 4096, seed + 2, 0)
        self._add("rules")
        self._add("drain")


def draw(seed: int, kinds: list[str]) -> History:
    return Draw(seed, kinds).history()
