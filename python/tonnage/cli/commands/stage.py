"""``tonnage stage``: one module of ``tonnage.cli.stage`` an action."""

from __future__ import annotations

from argparse import Namespace
from importlib import import_module

_MODULES = {
    "run": "run",
    "start": "start",
    "status": "look",
    "list": "look",
    "wait": "wait",
    "stop": "change",
    "limit": "change",
    "verify": "verify",
    "resume": "resume",
    "in": "inward",
}
"""Action → the module that carries it out."""


def run(arguments: Namespace) -> int:
    """Exit code."""
    module = import_module(f"tonnage.cli.stage.{_MODULES[arguments.action]}")
    code: int = module.run(arguments)
    return code
