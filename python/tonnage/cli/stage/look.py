"""``tonnage stage status`` and ``tonnage stage list``."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

from tonnage.cli.entry import complain
from tonnage.cli.stage.view import view
from tonnage.cli.stage.where import find
from tonnage.cli.stage.words import report, totals_text
from tonnage.errors import TonnageError
from tonnage.staging.control import Client, ControlError, NoMover
from tonnage.staging.host import is_safe, status_of
from tonnage.staging.registry import registered
from tonnage.staging.status import Status
from tonnage.staging.waiting import watch


def run(arguments: Namespace) -> int:
    """Exit code: 1 where a file failed, or a mover that does not run left files."""
    if arguments.action == "list":
        return list_movers(as_json=arguments.json)
    status = _status(find(arguments), watching=arguments.watch)
    print(json.dumps(status, ensure_ascii=False) if arguments.json else report(status))
    left = not status["running"] and not is_safe(status)
    return 1 if left or status["failed"]["files"] else 0


def _status(state: Path, *, watching: bool) -> Status:
    try:
        with Client(state) as client:
            if not watching:
                return client.status()
            shown = view()
            try:
                return watch(client, shown.show)
            finally:
                shown.close()
    except NoMover:
        return status_of(state)


def statuses(tell: Callable[[str], None] = lambda _: None) -> list[Status]:
    """Of all movers of this user on this host, those that do not run any more included. One that runs and cannot be
    asked is handed to ``tell``."""
    found = []
    for entry in registered():
        try:
            found.append(_status(entry.state, watching=False))
        except ControlError as error:
            tell(f"{entry.name}: {error}")
        except (TonnageError, OSError):
            # Its trees went with a job's storage: there is nothing to resume.
            continue
    return found


def list_movers(*, as_json: bool) -> int:
    """Exit code."""
    silent: list[str] = []
    found = statuses(silent.append)
    for one in silent:
        complain(one, 1)
    code = 1 if silent else 0
    if as_json:
        print(json.dumps(found, ensure_ascii=False))
        return code
    for status in found:
        life = status["progress"] if status["running"] else "does not run"
        told = f"{totals_text(status['done'])} safe, {totals_text(status['queued'])} left"
        print(f"{status['name']:<16} {life:<13} {status['from']} → {status['to']}  {told}")
    if not found and not silent:
        print("no movers")
    return code
