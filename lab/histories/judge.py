"""Checks the trees, the second user's files and the mover's statements against the model alone."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from stage_trees import Stage

from histories import read_tree
from histories.file_systems import Ground
from histories.history_script import Policy
from histories.mover_process import Ended
from histories.read_tree import Seen
from histories.second_user import Actor
from histories.source_model import DIRECTORY, FILE, LINK, STAGED, Node, Source, Version

KEPT = ".tonnage-kept-"
"""In the name of a file that the mover put back beside its name, which was taken."""
_TAKES = {"fuse": 0, "ext4": 3000, "btrfs": 12_000, "xfs": 65_536, "tmpfs": 65_536}
"""Bytes of attributes of one file that surely fit."""


@dataclass(frozen=True)
class Wrong:
    """One thing that must not be. ``kind`` is what a shorter history must show as well."""

    kind: str
    said: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.said}"


class Judge:
    """Of one history."""

    def __init__(self, policy: Policy, model: Source, actor: Actor, stage: Stage, ground: Ground) -> None:
        self._policy, self._model, self._actor, self._stage, self._ground = policy, model, actor, stage, ground
        self.clears = policy.clear != "never"
        self.wrongs: list[Wrong] = []
        self.excused: set[str] = set()
        """Paths whose copy the second user took while the mover may have been clearing the source."""
        self.flipped = False
        """Bits were stored the other way round."""
        self.forgotten: set[str] = set()
        """Names that nobody can know as the mover's: its journal was lost before its manifest had them."""
        self.clearing: set[str] = set()
        """Directories from which files were being cleared when the mover was killed. What the application does there
        within 20 ms of that cannot be told from what the mover did, and nothing can once the journal is lost too."""

    def say(self, kind: str, said: str) -> None:
        self.wrongs.append(Wrong(kind, said))

    def _destination(self) -> dict[str, Seen]:
        return read_tree.tree(self._ground.below / "to")

    def reasons(self, ended: Ended) -> None:
        """Whoever ends with another code says why."""
        notes, unproved = ended.status.get("notes", []), self.clears and self._policy.proof != "read-back"
        if ended.status and unproved and not any("read back" in note for note in notes):
            self.say("no note", f"sources are deleted whose copies are not read back, and it says only {notes}")
        if ended.code and not ended.reasons():
            self.say("no reason", f"exit {ended.code} and not a word: {ended.status}")

    def nothing_lost(self, aside: set[str]) -> None:
        """Asserts that nothing is lost, at any moment, whatever the mover reported."""
        source = read_tree.tree(self._stage.source)
        self._source_is_whole(source, quick=True)
        if self.clears:
            self._lost(source, self._destination(), aside)
        self._foreign(self._destination(), Ended(0))

    def conclude(self, ended: Ended, aside: set[str]) -> None:
        source, there = read_tree.tree(self._stage.source), self._destination()
        # What is worst comes first: a shorter history must show it as well.
        self._lost(source, there, aside)
        self._source_is_whole(source, quick=False)
        self._foreign(there, ended)
        if ended.code == 0:
            self._copied(source, there)
            self._unlisted(there)
        elif not self.is_obstructed(ended):
            kind = "stuck" if ended.status else "refused"
            self.say(kind, f"exit {ended.code} though nothing stands in the way: {ended.reasons()}")
        for part in self._stage.temporaries():
            self.say("temporary", f"{part!r} is left")
        if aside:
            self.say("aside", f"{len(aside)} files are left set aside")
        self._verified(there, ended)

    def waited(self) -> None:
        """Of a mover that works: its directories are as their sources, but for times, and what the owner may do."""
        there = self._destination()
        self._unlisted(there)
        for path, node in self._model.walk():
            mine = node.kind == DIRECTORY and self._policy.stages(path) and not self._is_his(path)
            if not mine or path in self.forgotten or path not in there:
                continue
            wanted, found = node.now(), there[path].version
            if (wanted.mode | 0o700, wanted.owner) != (found.mode | 0o700, found.owner):
                self.say("directory's mode", f"{path} is {found.mode:o} of {found.owner} once wait said safe: {wanted}")
            if self._fits(wanted) and not set(wanted.attributes) <= set(found.attributes):
                self.say("directory's attributes", f"{path} has {found.attributes} once wait said safe: {wanted}")

    def _unlisted(self, there: dict[str, Seen]) -> None:
        """No source has an access list, so no copy has."""
        for path in there.keys() & dict(self._model.walk()).keys():
            full = self._ground.below / "to" / path
            if self._is_his(path) or path in self.forgotten or full.is_symlink():
                continue
            lists = [name for name in os.listxattr(full) if name.startswith("system.posix_acl")]
            if lists:
                self.say("access", f"{path} at the destination has {lists}")

    # The source.

    def _source_is_whole(self, source: dict[str, Seen], quick: bool) -> None:
        """The mover changes nothing there, but takes files off where it was asked to."""
        for path, node in self._model.walk():
            found = source.get(path)
            if not found:
                if not (self.clears and node.kind == FILE):
                    self.say("source", f"{path} is no longer at the source")
            elif not quick or node.kind == FILE:
                times = not (node.kind == DIRECTORY and self.clears)
                for difference in differences(node.now(), found.version, times=times):
                    self.say("source", f"{path} at the source: {difference}")
        for path in source.keys() - dict(self._model.walk()).keys():
            # What was being cleared goes back where its copy is no longer there.
            if not (self.clears and (KEPT in path or path in self._model.cleared or path in self.excused)):
                self.say("source", f"{path} is at the source, and nobody has put it there")

    # Nothing is lost.

    def _may_be(self, path: str, node: Node) -> list[Version]:
        """Of a live name that the mover took off the source: any version since it was seen there."""
        return node.since(path)

    def _lost(self, source: dict[str, Seen], there: dict[str, Seen], aside: set[str]) -> None:
        kept = aside | {seen.digest for path, seen in source.items() if KEPT in path}
        wanted = [
            (path, [path, *node.former], self._may_be(path, node))
            for path, node in self._model.walk()
            if node.kind == FILE and path not in source
        ]
        live = dict(self._model.walk())
        wanted += [
            (path, [path, *node.former], versions)
            for path, (node, versions) in self._model.cleared.items()
            if path not in live and path not in source
        ]
        for path, places, versions in wanted:
            digests = {version.digest for version in versions}
            found = [there[place].digest for place in places if place in there]
            if digests & (kept | set(found)) or (found and self._may_be_flipped()):
                continue
            if self.excused.isdisjoint(places) and self._actor.harmed.isdisjoint(places):
                self.say("lost", f"the bytes of {path} are in neither tree; at the destination: {found or 'nothing'}")

    def _may_be_flipped(self) -> bool:
        """Only reading back finds it. Deleting implies that, unless the script says that less will do."""
        return self.flipped and self._policy.proof != "read-back"

    # Each name of the model is at the destination.
    def _copied(self, source: dict[str, Seen], there: dict[str, Seen]) -> None:
        live = {path: node for path, node in self._model.walk() if node.kind in STAGED and self._policy.stages(path)}
        for path, node in live.items():
            gone = node.kind == FILE and path not in source
            versions = self._may_be(path, node) if gone else [node.now()]
            places = [path, *(sorted(node.former) if gone else ())]
            self._is_copy(path, versions, [there[place] for place in places if place in there], gone)
        for path, (node, versions) in self._model.cleared.items():
            if path not in live and path not in source:
                places = [path, *node.former]
                self._is_copy(path, versions, [there[place] for place in places if place in there], True)
        if not self.clears and self._ground.kind != "fuse":
            self._links(live, there)

    def _is_copy(self, path: str, versions: list[Version], found: list[Seen], gone: bool) -> None:
        if gone and (path in self.excused or path in self._actor.harmed):
            return
        if not found:
            self.say("missing", f"{path} is not at the destination, exit 0")
            return
        fits = all(self._fits(version) for version in versions)
        if (
            not fits
            and gone
            and not any(version.attributes == seen.version.attributes for version in versions for seen in found)
        ):
            self.say("attributes", f"{path} left the source, and its attributes were not taken at the destination")
        his = path in self._actor.files or path in self._actor.directories or path in self.forgotten
        times = not (versions[0].kind == DIRECTORY and (self._actor_was_in(path) or path in self.clearing))
        best = min(
            (
                differences(version, seen.version, times=times and not his, attributes=fits and not his, about=not his)
                for version in versions
                for seen in found
            ),
            key=len,
        )
        if self._may_be_flipped():
            best = [said for said in best if not said.startswith("bytes")]
        for difference in best:
            kind = f"{versions[0].kind}'s {difference.split()[0]}"
            self.say(kind, f"{path} at the destination, exit 0: {difference}")

    def _actor_was_in(self, path: str) -> bool:
        """Any name that he made there, or took, has moved the directory's time."""
        return bool(self._actor.touched & {path})

    def _fits(self, version: Version) -> bool:
        sizes = [int(value.partition(":")[0]) + len(name) + 32 for name, value in version.attributes]
        return sum(sizes) <= _TAKES[self._ground.kind]

    def _links(self, live: dict[str, Node], there: dict[str, Seen]) -> None:
        """The names of one file are names of one file."""
        by_node: dict[int, list[str]] = {}
        for path, node in live.items():
            if node.kind == FILE and path in there and path not in {*self._actor.files, *self.forgotten}:
                by_node.setdefault(id(node), []).append(path)
        for paths in by_node.values():
            if len({there[path].ino for path in paths}) > 1:
                self.say("links", f"{paths} are one file at the source and several at the destination")
        inodes: dict[int, set[int]] = {}
        for path, node in live.items():
            if node.kind == FILE and path in there:
                inodes.setdefault(there[path].ino, set()).add(id(node))
        for ino, nodes in inodes.items():
            if len(nodes) > 1:
                paths = [path for path in live if path in there and there[path].ino == ino]
                self.say("links", f"{paths} are several files at the source and one at the destination")

    # The second user's files.

    def _may_replace(self, path: str, mtime_ns: int) -> bool:
        node = self._model.find(path)
        times = [version.times[1] for version in node.history] if node else []
        times += [version.times[1] for version in self._model.cleared.get(path, (None, []))[1]]
        if self._policy.overwrite == "always":
            return True
        return self._policy.overwrite == "older" and any(time > mtime_ns for time in times)

    def _foreign(self, there: dict[str, Seen], ended: Ended) -> None:
        for path, his in self._actor.files.items():
            found = there.get(path)
            has = (found.version.text or found.digest) if found else None
            if found and found.kind == his.kind and (his.kind == DIRECTORY or his.digest == has):
                continue
            if self._may_replace(path, his.mtime_ns) and his.kind != DIRECTORY:
                continue
            beside = [name for name, seen in there.items() if his.digest in (seen.digest, seen.version.text)]
            if his.kind != DIRECTORY and any(os.path.basename(name) in " ".join(ended.reasons()) for name in beside):
                continue
            where = f"; it is at {beside}, and nobody was told" if beside and his.digest else ""
            self.say("foreign", f"the second user's {his.kind} {path} is gone from the destination{where}")

    # What the mover said.

    def is_obstructed(self, ended: Ended) -> bool:
        """Whether something stands in the way that no mover may remove: a foreign name, or one of another kind."""
        if ended.code == 0:
            return False
        there, failures = self._destination(), ended.status.get("failures", [])
        if any(self._is_his(found["path"]) or found["path"] in self.forgotten for found in failures):
            return True
        if self._is_unknown() and any("another file has the name" in found["reason"] for found in failures):
            return True
        for path, node in self._model.walk():
            if not self._policy.stages(path) or node.kind not in STAGED:
                continue
            parts = path.split("/")
            for number in range(1, len(parts) + 1):
                at = "/".join(parts[:number])
                kind = node.kind if at == path else DIRECTORY
                if at in there and there[at].kind != kind:
                    return True
        return False

    def _is_unknown(self) -> bool:
        """Whether the mover may not know its own copies: where inodes are numbered anew it knows them by their bytes,
        and so not without a checksum, nor with other bytes."""
        return self._ground.kind == "fuse" and (self._policy.proof == "none" or self.flipped)

    def _verified(self, there: dict[str, Seen], ended: Ended) -> None:
        """``stage verify`` says 0 where it is right, and only there."""
        from tonnage import _native

        report: dict[str, Any] = _native.stage_verify(str(self._stage.to), 1, lambda *_: True)
        lists = ("missing", "kind_differs", "size_differs", "checksum_differs", "unreadable")
        said = {path.split(": ")[0] for key in lists for path in report[key]}
        for path in said:
            if not self.flipped and not self._is_his(path):
                self.say("verify", f"it calls {path} wrong, and nobody but the mover was there: {report}")
        if ended.code or self._policy.proof == "none":
            return
        for path, node in self._model.walk():
            if node.kind == FILE and self._policy.stages(path) and path in there:
                right = {version.digest for version in node.since(path)}
                if there[path].digest not in right and path not in said and path not in self.excused:
                    self.say("verify", f"it calls {path} right, whose bytes are not")

    def _is_his(self, path: str) -> bool:
        """Whether the second user was at the name, or above it."""
        his = set(self._actor.files) | self._actor.harmed | self._actor.directories
        parts = path.split("/")
        return any("/".join(parts[:number]) in his for number in range(1, len(parts) + 1))


def differences(
    wanted: Version, found: Version, *, times: bool, attributes: bool = True, about: bool = True
) -> list[str]:
    """In words; empty where ``found`` is ``wanted``."""
    if wanted.kind != found.kind:
        return [f"a {wanted.kind} became a {found.kind}"]
    said = []
    if (wanted.size, wanted.digest, wanted.text) != (found.size, found.digest, found.text):
        said.append(f"bytes differ ({wanted.size} became {found.size})")
    if about and wanted.mode != found.mode and wanted.kind != LINK:
        said.append(f"mode {wanted.mode:o} became {found.mode:o}")
    if about and wanted.owner != found.owner:
        said.append(f"owner {wanted.owner} became {found.owner}")
    if times and not wanted.times[0] <= found.times[0] <= wanted.times[1]:
        said.append(f"time {found.times[0]} is not within {wanted.times}")
    if attributes and wanted.attributes != found.attributes:
        said.append(f"attributes {wanted.attributes} became {found.attributes}")
    return said
