"""A signal while the command's modules are imported ends it in one line, not in an error of the import."""

from __future__ import annotations

import os
import signal
from types import ModuleType

import pytest
from tonnage.cli import entry


def test_an_interrupt_waits_until_the_modules_are_there(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = []

    def interrupted(name: str) -> ModuleType:
        os.kill(os.getpid(), signal.SIGINT)
        ran.append(name)
        return ModuleType(name)

    monkeypatch.setattr(entry, "import_module", interrupted)
    assert entry.run_command(["doctor"]) == 130
    assert ran == ["tonnage.cli.commands.doctor"]
    assert capsys.readouterr().err == "tonnage: error: interrupted\n"
