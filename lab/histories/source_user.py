"""The application's operations: its process performs each, and where that succeeded the model follows."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from histories.application import PREALLOCATE, PUNCH, ZERO, Application, body
from histories.read_tree import attribute
from histories.source_model import (
    DIRECTORY,
    FIFO,
    FILE,
    LINK,
    SOCKET,
    TICK_NS,
    Node,
    Source,
    Times,
    altered,
    widened,
)

_MODES = {"prealloc": PREALLOCATE, "punch": PUNCH, "zero": ZERO}


class SourceUser:
    """Keeps the model in step with what the application did. ``clears``: the mover may take a file off the source."""

    def __init__(self, root: Path, clears: bool) -> None:
        self._root, self._clears = root, clears
        self.model = Source()
        self.application = Application(root)
        self._slots: dict[str, tuple[Node, str]] = {}

    def _there(self, path: str) -> bool:
        return os.path.lexists(f"{self._root}/{path}")

    def reconcile(self) -> None:
        """Which files the mover has taken off, or put back, until now."""
        if not self._clears:
            return
        for path in [path for path in self.model.cleared if self._there(path)]:
            self.model.come_back(path)
        for path, node in [found for found in self.model.walk() if found[1].kind == FILE]:
            if self._there(path):
                node.seen[path] = len(node.history) - 1
            else:
                self.model.take_off(path)

    def do(self, verb: str, words: tuple[Any, ...]) -> bool:
        """Does the step; returns whether it succeeded."""
        self.reconcile()
        done = getattr(self, f"_{verb}")(*words)
        return bool(done)

    def _call(self, verb: str, *words: Any) -> tuple[bool, Any, Times]:
        before_ns = time.time_ns() - TICK_NS
        done, answer = self.application.do(verb, *words)
        return done, answer, (before_ns, time.time_ns() + 1)

    def _names(self, path: str) -> list[str]:
        node = self.model.find(path)
        return sorted({path, *(self.model.names(node) if node else ())})

    def _node(self, path: str) -> Node:
        """Of what a call has just found there."""
        if not self.model.find(path):
            self.model.come_back(path)
        node = self.model.find(path)
        assert node, f"{path} is at the source, and nothing has put it there"
        return node

    def _filled(self, verb: str, path: str, data: bytes, *words: Any) -> bool:
        """Of calls that make a file, or empty it, and write all of it."""
        done, answer, times = self._call(verb, *words, self._names(path))
        if done:
            made, held = answer
            if made and self.model.find(path):
                self.model.take_off(path)
            elif not made:
                self._node(path)
            self.model.stored(path, data, times, held)
        return done

    def _write(self, path: str, size: int, seed: int) -> bool:
        return self._filled("write", path, body(size, seed), path, size, seed)

    def _of_another(self, verb: str, path: str, other: str) -> bool:
        node = self.model.find(path)
        return bool(node and node.kind == FILE and self._filled(verb, other, node.data, path, other))

    def _clone(self, path: str, other: str) -> bool:
        return self._of_another("clone", path, other)

    def _copyrange(self, path: str, other: str) -> bool:
        return self._of_another("copyrange", path, other)

    def _file(self, path: str) -> Node | None:
        node = self.model.find(path)
        return node if node and node.kind == FILE else None

    def _changed(self, verb: str, path: str, *words: Any) -> tuple[Node, Times, list[str]] | None:
        done, held, times = self._call(verb, path, *words, self._names(path))
        return (self._node(path), times, held) if done else None

    def _append(self, path: str, size: int, seed: int) -> bool:
        if self._file(path) and (found := self._changed("append", path, size, seed)):
            node, times, held = found
            self.model.stored_in(node, node.data + body(size, seed), times, held)
            return True
        return False

    def _pwrite(self, path: str, offset: int, size: int, seed: int) -> bool:
        if size and self._file(path) and (found := self._changed("pwrite", path, offset, size, seed)):
            node, times, held = found
            self.model.stored_in(node, altered(node.data, offset, body(size, seed)), times, held)
            return True
        return False

    def _rewrite(self, path: str, seed: int) -> bool:
        if self._file(path) and (found := self._changed("rewrite", path, seed)):
            node, _, held = found
            self.model.stored_in(node, body(len(node.data), seed), node.times, held)
            return True
        return False

    def _truncate(self, path: str, size: int) -> bool:
        if self._file(path) and (found := self._changed("truncate", path, size)):
            node, times, held = found
            self.model.stored_in(node, node.data[:size].ljust(size, b"\0"), widened(node.times, times), held)
            return True
        return False

    def _store(self, path: str, offset: int, size: int, seed: int) -> bool:
        """Through a mapping; within the file, which it does not lengthen."""
        node = self._file(path)
        if not node or offset + size > len(node.data) or not size:
            return False
        if found := self._changed("store", path, offset, size, seed):
            node, times, held = found
            data = altered(node.data, offset, body(size, seed))
            self.model.stored_in(node, data, widened(node.times, times), held)
        return bool(found)

    def _open(self, slot: str, path: str) -> bool:
        return self._hold("open", slot, path)

    def _map(self, slot: str, path: str) -> bool:
        return self._hold("map", slot, path)

    def _hold(self, verb: str, slot: str, path: str) -> bool:
        self._slots.pop(slot, None)
        if not self._file(path):
            self.application.do("close", slot)
            return False
        done, held, _ = self._call(verb, slot, path, self._names(path))
        if done:
            node = self._node(path)
            for name in held:
                node.seen[name] = len(node.history) - 1
            self._slots[slot] = node, verb
        return done

    def _put(self, verb: str, slot: str, offset: int, size: int, seed: int) -> bool:
        held = self._slots.get(slot)
        if not held or held[1] != {"fwrite": "open", "mstore": "map"}[verb] or not size:
            return False
        node = held[0]
        if verb == "mstore" and offset + size > len(node.data):
            return False
        done, _, times = self._call(verb, slot, offset, size, seed)
        if done:
            data = altered(node.data, offset, body(size, seed))
            self.model.stored_in(node, data, widened(node.times, times) if verb == "mstore" else times, [])
        return done

    def _fwrite(self, slot: str, offset: int, size: int, seed: int) -> bool:
        return self._put("fwrite", slot, offset, size, seed)

    def _mstore(self, slot: str, offset: int, size: int, seed: int) -> bool:
        return self._put("mstore", slot, offset, size, seed)

    def _close(self, slot: str) -> bool:
        return self._slots.pop(slot, None) is not None and self._call("close", slot)[0]

    def _fallocate(self, path: str, how: str, offset: int, size: int) -> bool:
        node = self._file(path)
        if node and (found := self._changed("fallocate", path, _MODES[how], offset, size)):
            node, times, held = found
            ends = min(len(node.data), offset + size)
            data = node.data if how == "prealloc" else altered(node.data, offset, bytes(ends - offset))
            self.model.stored_in(node, data, widened(node.times, times), held)
            return True
        return False

    def _tmpfile(self, path: str, size: int, seed: int) -> bool:
        done, _, times = self._call("tmpfile", path, size, seed)
        if done:
            self.model.made(path, Node(FILE, times, 0o640, data=body(size, seed)), times)
        return done

    def _rename(self, path: str, other: str) -> bool:
        done, _, times = self._call("rename", path, other)
        if done:
            self._node(path)
            self.model.renamed(path, other, times)
        return done

    def _exchange(self, path: str, other: str) -> bool:
        done, _, times = self._call("exchange", path, other)
        if done:
            self._node(path), self._node(other)
            self.model.exchanged(path, other, times)
        return done

    def _link(self, path: str, other: str) -> bool:
        done, _, times = self._call("link", path, other)
        if done:
            self._node(path)
            self.model.linked(path, other, times)
        return done

    def _unlink(self, path: str) -> bool:
        done, _, times = self._call("unlink", path)
        if done:
            self._node(path)
            self.model.removed(path, times)
        return done

    def _rmdir(self, path: str) -> bool:
        done, _, times = self._call("rmdir", path)
        if done:
            self.model.removed(path, times)
        return done

    def _made(self, verb: str, path: str, node: Node, *words: Any) -> bool:
        done, _, times = self._call(verb, path, *words)
        if done:
            node.times = times
            if self.model.find(path):
                self.model.take_off(path)
            self.model.made(path, node, times)
        return done

    def _symlink(self, path: str, text: str) -> bool:
        return self._made("symlink", path, Node(LINK, (0, 0), text=text), text)

    def _fifo(self, path: str) -> bool:
        return self._made("fifo", path, Node(FIFO, (0, 0), 0o640))

    def _socket(self, path: str) -> bool:
        return self._made("socket", path, Node(SOCKET, (0, 0), 0o755))

    def _mkdir(self, path: str) -> bool:
        return self._made("mkdir", path, Node(DIRECTORY, (0, 0), 0o750))

    def _about(self, verb: str, path: str, *words: Any) -> Node | None:
        done, _, _ = self._call(verb, path, *words)
        return self._node(path) if done else None

    def _chmod(self, path: str, mode: int) -> bool:
        if (there := self.model.find(path)) and there.kind == LINK:
            return False
        if node := self._about("chmod", path, mode):
            node.mode = mode
            node.changed()
        return bool(node)

    def _chown(self, path: str, owner: int) -> bool:
        if node := self._about("chown", path, owner):
            node.owner = owner
            node.changed()
        return bool(node)

    def _utime(self, path: str, ns: int) -> bool:
        if node := self._about("utime", path, ns):
            self.model.touched(node, (ns, ns))
        return bool(node)

    def _xattr(self, path: str, name: str, size: int, seed: int) -> bool:
        if (there := self.model.find(path)) and there.kind not in (FILE, DIRECTORY):
            return False
        if node := self._about("xattr", path, name, size, seed):
            node.attributes[name] = attribute(body(size, seed))
            node.changed()
        return bool(node)

    def _unxattr(self, path: str, name: str) -> bool:
        if node := self._about("unxattr", path, name):
            node.attributes.pop(name, None)
            node.changed()
        return bool(node)

    def kill(self) -> bool:
        self._slots.clear()
        return self.application.kill()
