"""What a plug-in's file system raises, or returns that is no answer, names the plug-in."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from types import ModuleType
from typing import Any

import pytest
from tonnage import plugins
from tonnage.errors import RequestError
from tonnage.filesystems import facts_of
from tonnage.filesystems.known_filesystems import module_of
from tonnage.machine.mounts import Mount

KIND = "fuse.thing"
MOUNT = Mount("/mnt", KIND, "far:/vol", "rw")


def planted(monkeypatch: pytest.MonkeyPatch, **functions: Any) -> Any:
    """The module of a plug-in with these functions, as everybody gets it."""
    module = ModuleType("my_thing")
    module.__dict__.update(functions)
    point = EntryPoint(KIND, "my_thing", plugins.FILESYSTEMS)
    monkeypatch.setattr(plugins, "_found", lambda group: {KIND: point} if group == plugins.FILESYSTEMS else {})
    monkeypatch.setattr(plugins, "load", lambda *_: module)
    return module_of(KIND)


def fails(*_: object) -> None:
    raise RuntimeError("no such luck")


@pytest.mark.parametrize("name", ["facts", "holders", "served_by", "stripe"])
@pytest.mark.parametrize("function", [fails, lambda *_: "host1", lambda *_: [1, 2]], ids=["raises", "text", "list"])
def test_each_function_is_held_to_its_promise(monkeypatch: pytest.MonkeyPatch, name: str, function: Any) -> None:
    module = planted(monkeypatch, **{name: function})
    with pytest.raises(RequestError, match=f"the plug-in {KIND} .* of the package my_thing failed"):
        getattr(module, name)("anything", "at all")


def test_facts_may_be_none_and_a_file_system_may_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    assert planted(monkeypatch, facts=lambda *_: None).facts("x") is None

    def hangs(*_: object) -> None:
        raise TimeoutError("too long")

    planted(monkeypatch, facts=hangs)
    told = facts_of("/", MOUNT)
    assert told is not None and told["unknown"]
    with pytest.raises(AttributeError):
        _ = planted(monkeypatch).stripe
