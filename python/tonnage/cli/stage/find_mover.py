"""Which trees, and which mover: from the options, the environment, and what runs on this host."""

from __future__ import annotations

import os
from pathlib import Path

from tonnage.cli.command import Arguments
from tonnage.errors import RequestError
from tonnage.staging.mover_plan import STATE_DIRECTORY, Marks, StagePlan, make_plan
from tonnage.staging.registered_movers import Registered, check_name, name_of, registered, same_tree

LOCAL, REMOTE = "PERSIST_DIR", "PFS_DIR"
"""Spectral's variables: the node-local tree, and the one on the parallel file system."""

LOG = "spectral.log"
"""Spectral writes it into PFS_DIR."""


def plan_of(arguments: Arguments, *, direction: str = "out") -> StagePlan:
    """Makes the plan of the typed options; others have the plan's defaults. RequestError where a tree is missing."""
    given = vars(arguments)
    variables = (LOCAL, REMOTE) if direction == "out" else (REMOTE, LOCAL)
    source, to = (
        _tree(given[name], f"--{name}", variable) for name, variable in zip(("from", "to"), variables, strict=True)
    )
    state = _absolute(given["state"]) if given["state"] else (source if direction == "out" else to) / STATE_DIRECTORY
    name = check_name(given["name"]) if given["name"] else name_of(source if direction == "out" else to)
    limit = given["limit"]
    return make_plan(
        source,
        to,
        state=state,
        name=name,
        numbered=not given["name"],
        direction=direction,
        **{key: given[key] for key in ("order", "check", "overwrite")},
        **{key: tuple(given[key] or ()) for key in ("include", "exclude", "first")},
        markers=tuple(given.get("marker") or ()),
        clear=given.get("delete"),
        marks=_marks(given.get("high"), given.get("low")),
        workers=given["workers"] or None,
        limit_bytes_per_s=limit.bytes_per_s if limit else None,
        limit_files_per_s=limit.files_per_s if limit else None,
        gentle=given["gentle"] or (None if direction == "out" else "off"),
        deadline_ns=given.get("deadline"),
        metrics_port=given.get("metrics"),
        drop_attributes=given.get("drop_attributes"),
        trees_changed=given["trees_changed"],
        log=_log(given.get("log"), by_default=direction == "out" and not given["to"]),
    )


def find(arguments: Arguments) -> Path:
    """The state directory of the mover that is meant. RequestError where that is not clear."""
    given = vars(arguments)
    source = given["from"] or (None if given["name"] or given["to"] or given["state"] else os.environ.get(LOCAL))
    if given["state"]:
        return _absolute(given["state"])
    known = registered()
    if given["name"]:
        check_name(given["name"])
        known = [entry for entry in known if entry.name == given["name"]]
    if source:
        known = [entry for entry in known if same_tree(entry.source, _absolute(source))]
    if given["to"]:
        known = [entry for entry in known if same_tree(entry.to, _absolute(given["to"]))]
    states = {entry.state for entry in known}
    # A journal that nobody registered, of another node or a reboot ago.
    for tree in (source, given["to"]):
        if tree and not states and not given["name"] and (_absolute(tree) / STATE_DIRECTORY).is_dir():
            states.add(_absolute(tree) / STATE_DIRECTORY)
    return _only(states, known, arguments, source)


def _only(states: set[Path], known: list[Registered], arguments: Arguments, source: str | None) -> Path:
    if len(states) > 1:
        alive = {entry.state for entry in known if entry.alive}
        states = alive or states
    if len(states) == 1:
        return states.pop()
    if states:
        names = ", ".join(entry.name for entry in known)
        raise RequestError(f"several movers are known: {names}; hint: say which with --name")
    if arguments.name:
        raise RequestError(f"no mover is called {arguments.name!r}; hint: see `tonnage stage list`, or give --from")
    if source or arguments.to:
        raise RequestError(
            f"no mover is known for {source or arguments.to}; hint: see `tonnage stage list`, or give --state"
        )
    raise RequestError("no mover is known on this host; hint: start one, or give --from, --name or --state")


def _tree(text: str | None, option: str, variable: str) -> Path:
    found = text or os.environ.get(variable)
    if not found:
        raise RequestError(f"{option} is missing and {variable} is not set; hint: add {option} DIR")
    return _absolute(found)


def _absolute(text: str) -> Path:
    """Without following links: the mover looks at what stands there itself."""
    # normpath would make `link/..` another directory; abspath of `a/.` may lose the dot.
    return Path.cwd() / text


def _marks(high: int | None, low: int | None) -> Marks | None:
    if high is None and low is None:
        return None
    usual = Marks()
    return Marks.model_construct(
        high_permille=usual.high_permille if high is None else high,
        low_permille=usual.low_permille if low is None else low,
    )


def _log(named: str | None, *, by_default: bool) -> Path | None:
    if named:
        return _absolute(named)
    if by_default:
        return _absolute(os.environ[REMOTE]) / LOG
    return None
