"""Carries out a history on real file systems, with real processes, and asks the judge at each kill and at the end."""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from pathlib import Path
from typing import Any

from stage_trees import STATE, Stage

from histories.file_systems import Ground, discard, hand_down_a_list
from histories.history_script import History, Step
from histories.judge import Judge, Wrong
from histories.mover_process import Ended, Hangs, Life
from histories.read_tree import clearing, set_aside_digests, unlisted
from histories.second_user import Actor
from histories.source_user import SourceUser

HANG_S = 1.5
"""Longer than a mover needs to its first call, on most machines: on others a history says less."""
LIVES = 4
"""In so many a mover that nothing stands in the way of is to be done."""


class Execution:
    """One history. ``counts`` takes what happened."""

    def __init__(self, history: History, grounds: dict[str, Ground], work: Path, counts: Counter[str]) -> None:
        self.history, self.counts = history, counts
        policy = history.policy
        self._from, self._to = grounds[f"from-{policy.source}"], grounds[f"to-{policy.to}"]
        self.stage = Stage(work, policy.options())
        self.stage.source, self.stage.to = self._from.path / "from", self._to.path / "to"
        self.stage.state = self.stage.source / STATE
        self.stage.source.mkdir()
        (self._to.below / "to").mkdir()
        if policy.listed and policy.to != "fuse":
            # It shows no lists, so that nobody can take one off.
            hand_down_a_list(self._to.below / "to")
        self.clears = policy.clear != "never"
        self.user = SourceUser(self.stage.source, self.clears)
        self.actor = Actor(self._to.below / "to")
        self.judge = Judge(policy, self.user.model, self.actor, self.stage, self._to)
        self.life: Life | None = None
        self._rules: dict[str, Any] = {}

    def run(self) -> list[Wrong]:
        """What was wrong, in the order in which it was found; empty for a history that the mover withstood."""
        try:
            for step in self.history.steps:
                self.counts["steps"] += 1
                self._step(step)
                if self.judge.wrongs:
                    return self.judge.wrongs
            self._conclude()
        except Hangs as error:
            self.judge.say("hangs", str(error))
        finally:
            self._clean()
        return self.judge.wrongs

    def _step(self, step: Step) -> None:
        mine = getattr(self, f"_do_{step.verb.replace('-', '_')}", None)
        if mine:
            mine(*step.words)
        elif step.verb.startswith("his-"):
            self._actor(step)
        elif self.user.do(step.verb, step.words):
            self.counts["calls"] += 1

    def _actor(self, step: Step) -> None:
        harmed = set(self.actor.harmed)
        with contextlib.suppress(OSError):
            getattr(self.actor, step.verb[4:])(*step.words)
            self.counts["foreign"] += 1
        for path in self.actor.harmed - harmed:
            self.user.reconcile()
            # What he took when the source no longer had it is his loss, and so is what may go in this very moment.
            self.user.model.cleared.pop(path, None)
            if self.life and self.clears:
                self.judge.excused.add(path)

    def _do_pause(self, ms: int) -> None:
        time.sleep(ms / 1000)

    def _do_mover(self) -> None:
        if not self.life:
            self.counts["lives"] += 1
            self.life = Life(self.stage, self._release)

    def _do_drain(self) -> None:
        """A life to its end, whatever it leaves undone."""
        self._do_mover()
        assert self.life
        life, self.life = self.life, None
        ended = life.drain()
        self.judge.reasons(ended)

    def _do_wait(self) -> None:
        """As a user waits: what it says is safe is so at once, and stays so whatever becomes of the mover."""
        if not self.life or self._rules:
            return
        self.life.freeze(False)
        status = self.life.wait()
        if status and not (status["queued"]["files"] or status["failed"]["files"] or status["failures"]):
            self.counts["waits"] += 1
            self.judge.waited()

    def _do_kill(self, moment: str, wait_ms: int) -> None:
        if not self.life:
            return
        self.life.kill(moment, wait_ms / 1000)
        self.life = None
        self.counts["kills"] += 1
        self.judge.clearing |= clearing(self.stage.source)
        self._nothing_lost()

    def _nothing_lost(self) -> None:
        self.user.reconcile()
        self.judge.nothing_lost(set_aside_digests(self.stage.source))

    def _do_crash(self) -> None:
        """SIGKILL of the application, with all that it has open."""
        self.counts["kills"] += self.user.kill()

    def _do_freeze(self, who: str, ms: int) -> None:
        if who == "mover" and self.life:
            self.life.freeze(True)
            time.sleep(ms / 1000)
            self.life.freeze(False)
        elif who == "application":
            self.user.application.freeze(True)
            time.sleep(ms / 1000)
            self.user.application.freeze(False)

    def _do_stop(self) -> None:
        """The mover stands still until ``cont``."""
        if self.life:
            self.life.freeze(True)

    def _do_cont(self) -> None:
        if self.life:
            self.life.freeze(False)

    def _do_rules(self, *words: str) -> None:
        """Faults of the destination from now on, such as ``write=EIO each=3``, ``flip``, ``hang=rename at=/one``."""
        rules: dict[str, Any] = {"name": "/to/"}
        for word in words:
            name, _, value = word.partition("=")
            if name in ("each", "short"):
                rules[name] = int(value)
            elif name in ("flip", "read_only"):
                rules[name] = True
            elif name == "at":
                rules["name"] = value
            elif name == "hang":
                rules["hang"] = [value]
            else:
                rules.setdefault("fail", {})[name] = value
        if not self._to.fuse:
            return
        self.counts["faults"] += bool(words)
        self.judge.flipped |= "flip" in rules
        self._rules = rules if words else {}
        self._to.obey(**self._rules)

    def _do_await_hang(self) -> None:
        """Until a call of the mover waits at the destination; not for ever, for it may make none."""
        until = time.monotonic() + HANG_S
        while self.life and self._to.fuse and "hang" in self._rules and time.monotonic() < until:
            if self._to.fuse.hangs():
                break
            time.sleep(0.002)

    def _release(self) -> None:
        """What waits at the destination waits no longer; what fails there goes on failing."""
        if "hang" in self._rules:
            self._heal()

    def _heal(self) -> None:
        """No faults any more."""
        self._rules = {}
        self._to.obey()

    def _do_remount(self, which: str) -> None:
        """Between two lives."""
        ground = self._from if which == "from" else self._to
        if not ground.keeps:
            return
        self._do_kill("any", 0)
        if ground is self._from:
            self.user.kill()
        self.counts["remounts"] += 1
        self._heal()
        ground.unmount()
        ground.mount()

    def _do_away(self) -> None:
        """A life while the destination is not mounted, though it was in an earlier one."""
        staged = self._to.below / "to" / STATE
        if not self._to.keeps or self._to.fuse or not (staged.is_dir() and any(staged.glob("manifest-*.jsonl"))):
            return
        self._do_kill("any", 0)
        self.counts["remounts"] += 1
        self._to.unmount()
        bare = self._to.path / "to"
        try:
            Life(self.stage, self._release).drain()
            found = [name for name in os.listdir(bare) if name != STATE] if bare.is_dir() else []
            if found:
                self.judge.say("bare", f"the destination was not mounted, and its bare mount point got {found}")
        finally:
            discard(bare)
            self._to.mount()

    def _do_spoil(self, what: str) -> None:
        """``journal``: it is damaged. ``parts``: bits of each temporary turn, as after a power cut. Between lives."""
        self._do_kill("any", 0)
        if what == "journal":
            self.counts["faults"] += 1
            self.judge.forgotten |= unlisted(self._to.below / "to", by_bytes=self.history.policy.proof != "none")
            for file in self.stage.state.glob("journal.sqlite*"):
                file.write_bytes(b"no journal" * 500)
        elif self.history.policy.proof != "none":
            for directory, _, names in os.walk(self._to.below / "to"):
                for name in names:
                    if name.startswith(".tonnage-") and name.endswith(".part"):
                        self._turn(Path(directory) / name)

    def _turn(self, file: Path) -> None:
        """A bit of each MiB of it. One that has its final name as well was synced before, and a power cut leaves it."""
        with contextlib.suppress(OSError), file.open("r+b") as stream:
            about = os.fstat(stream.fileno())
            if about.st_nlink > 1:
                return
            for offset in range(0, about.st_size, 1 << 20):
                byte = os.pread(stream.fileno(), 1, offset)
                os.pwrite(stream.fileno(), bytes([byte[0] ^ 4]), offset)
            self.counts["faults"] += 1

    def _conclude(self) -> None:
        """Everything is closed, every fault is over, and movers follow each other until one is done."""
        self._heal()
        self.user.application.freeze(False)
        self.user.kill()
        if self.life:
            self._do_drain()
        ended = Ended(1)
        for _ in range(LIVES):
            self.counts["lives"] += 1
            ended = Life(self.stage, self._release).drain()
            self.judge.reasons(ended)
            self.user.reconcile()
            if ended.code == 0 or self.judge.is_obstructed(ended):
                break
        self.judge.conclude(ended, set_aside_digests(self.stage.source))

    def _clean(self) -> None:
        if self.life:
            self.life.kill()
        self.user.application.freeze(False)
        self.user.kill()
        self._heal()
        discard(self._to.below / "to")
        discard(self.stage.source)
