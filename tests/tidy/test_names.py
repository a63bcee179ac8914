"""Names that say nothing to a stranger: each was one here, and has given way to the technical term."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator

import pytest

from .tree import ROOT, name, python_files, read

RIDDLES = {
    "told": "the answer, the sentence, the error that it is",
    "as_told": "state",
    "has_said": "has_printed",
    "read_told": "read_progress_file",
    "look_path": "path_facts",
    "surroundings": "host_state",
    "outside": "run_outside_engine",
    "follow_line": "adapt_to_line",
    "resting": "poll_pause",
    "Rest": "PollPause",
    "Surroundings": "HostState",
    "PathLook": "PathFacts",
    "Meanwhile": "HostCounters",
    "Asked": "EndRequest, or what is asked for",
    "look": "read_counters, observe, try_receive, check: what it does",
    "glance": "observe_only",
    "said": "a noun for what it returns",
    "Said": "StatedRate",
    "Headed": "HeaderObserver",
    "Gathered": "WriteBuffer",
    "Topics": "TopicStore",
    "having": "where_set",
    "lacking": "where_unset",
    "giving": "where_positive",
    "told_apart": "with_distinct_settings",
    "hands": "remote hosts, services",
    "crew": "host_group",
    "duty": "service",
    "keeper": "supervisor",
    "Keeper": "DaemonSupervisor",
    "ways": "paths, counts: what they are",
    "words": "arguments, command_line, or the text that they are",
    "letter": "message",
    "bell": "wakeup",
    "door": "listener, interface",
    "doors": "printable_streams",
    "head": "header, headline",
    "Follower": "JobReader",
    "patience": "timeout",
    "Part": "OperationResult: what it is a part of",
    "away": "the place",
    "elsewhere": "the other value",
    "held": "locked, suspended, registered",
    "Held": "FileLayout",
    "room": "workspace, free space",
    "meanwhile": "host_counters",
    "careful": "guarded",
    "bounded": "within_limit",
    "spot": "position",
    "place": "position, directory, target",
    "Place": "RepetitionPaths, FileSystemProfile: what is there",
    "course": "timeline",
    "gate": "access rules",
    "aside": "in_daemon_thread",
    "pace": "rate_limits",
    "Pace": "RateLimits",
    "known": "is_exact, common_keys: in what sense",
    "uses": "imports, needs_scratch",
    "keeping": "kept_lines",
    "follow": "read, adapt_to",
    "Follow": "TailFigures",
    "Told": "what it is",
    "wish": "request",
    "Wish": "RunRequest",
    "World": "SiteModel",
    "Measured": "MeasuredRun, RunTimes: what was measured",
    "measured": "valid_trials, measure_…: what it does",
    "coins": "fair_binomial_cdf",
    "worth_a_look": "notable_points",
}
"""Of functions and classes, with what stands in their place."""
MODULES = {
    *("session", "shapes", "loadline", "follow", "space", "load_lines"),
    *("plain", "section", "option", "promises", "topics", "gathered", "parsed", "stated", "wrapped"),
    *("fio_share", "needs", "look", "desk", "attacked", "indexed", "staged"),
    *("per", "change", "times", "sides", "assign", "member", "movement"),
    *("registry", "ceilings", "front", "words", "shared", "long", "of_run", "kept", "steps", "keys", "chain", "seal"),
    *(
        "objects",
        "specs",
        "interrupts",
        "on_demand",
        "live",
        "omission",
        "trust",
        "noise",
        "blocks",
        "places",
        "keywords",
    ),
    *("late_signals", "csvform", "jsonform", "recognise", "guarded_look"),
    *("file_layout", "status_words", "cluster_keeper", "job_follower", "job_uses", "gate", "told"),
    *("front_words", "test_front", "test_told", "test_words", "test_gate", "ior_front", "mdtest_front", "patient"),
    *("hands", "crew", "duty", "keeper", "ways", "letter", "bell", "door", "head", "patience", "away", "elsewhere"),
    *("held", "room", "meanwhile", "surroundings", "careful", "bounded", "spot", "aside", "pace", "having", "lacking"),
}
"""Of files and folders."""
RUST_FILES = {
    *(
        "hog",
        "line",
        "wall",
        "port",
        "taker",
        "account",
        "finished",
        "refused",
        "mix",
        "owed",
        "doubt",
        "look",
        "ended",
    ),
    *("place", "stores", "promise", "watched", "pieces", "cut", "held", "named", "aside", "here", "spelled", "staged"),
    *("troubles", "wire", "chance", "cells", "tagged"),
}
"""Of files of a crate's sources."""
SEVERAL = {
    *("__init__", "command", "options", "io500", "links", "verify", "tail", "stage", "snapshots", "scheduler"),
    *("results", "history", "files", "crossover", "checkpoint", "training", "kv_cache"),
}
"""Names that three files of the package or more may have, for all of them are about the same thing: a command and its
section, answer, importer or kind of workload. ``test_a_name_of_many_files_is_a_word_of_the_project`` asks for a line
here before a third file is called as two others are."""
PLACES = (ROOT / "python" / "tonnage", ROOT / "lab", ROOT / "bench", ROOT / "docs", ROOT / "tests")
"""Whose files, and, the tests apart, whose functions and classes are held to it."""


def riddles_in(file: str, text: str) -> list[str]:
    """Functions and classes of a file that are called so."""
    return [
        f"{file}:{line}: {found}: call it {RIDDLES.get(found.strip('_'), 'by what it holds, such as …Answer')}"
        for line, found in _definitions(ast.parse(text))
        if found.strip("_") in RIDDLES or found.endswith("Told")
    ]


def _definitions(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Of modules and classes; a function in a function is a local name."""
    bodies: list[ast.Module | ast.ClassDef] = [tree]
    while bodies:
        for node in bodies.pop().body:
            if isinstance(node, ast.ClassDef):
                bodies.append(node)
            if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                yield node.lineno, node.name


def test_no_function_or_class_is_a_riddle() -> None:
    complaints = [
        line
        for path in python_files()
        if any(map(path.is_relative_to, PLACES[:-1]))
        for line in riddles_in(name(path), read(path))
    ]
    assert not complaints, "\n".join(complaints)


def test_no_module_has_a_name_that_says_nothing() -> None:
    files = [path.relative_to(ROOT) for path in python_files() if any(map(path.is_relative_to, PLACES))]
    assert files
    complaints = [str(path) for path in files if MODULES & {*path.parent.parts, path.stem}]
    assert not complaints, "\n".join(complaints)


def test_no_rust_file_has_a_name_that_says_nothing() -> None:
    files = list((ROOT / "crates").glob("*/src/**/*.rs"))
    assert files
    complaints = [name(path) for path in files if path.stem in RUST_FILES]
    assert not complaints, "\n".join(complaints)


def test_no_rust_type_is_a_riddle() -> None:
    files = list((ROOT / "crates").glob("**/*.rs"))
    assert files
    complaints = [
        f"{name(path)}: {found}: call it {RIDDLES[found]}"
        for path in files
        for found in re.findall(r"\b(?:struct|enum|trait|type) (\w+)", read(path))
        if found in RIDDLES and found[0].isupper()
    ]
    assert not complaints, "\n".join(complaints)


def test_a_name_of_many_files_is_a_word_of_the_project() -> None:
    count = Counter(path.stem for path in python_files("python/tonnage/"))
    complaints = [
        f"{stem}.py ×{times}: say of what" for stem, times in count.items() if times > 2 and stem not in SEVERAL
    ]
    assert not complaints, "\n".join(complaints)


@pytest.mark.parametrize(
    "text",
    [
        "def told(): ...",
        "def _told(): ...",
        "class A:\n    def told(self): ...",
        "class PlanTold: ...",
        "class _Rest: ...",
    ],
)
def test_the_check_sees_a_riddle_wherever_it_is_defined(text: str) -> None:
    assert len(riddles_in("f.py", text)) == 1


def test_the_check_lets_local_names_and_longer_ones_pass() -> None:
    assert not riddles_in("f.py", "def answer():\n    told = 1\n    def outside(): ...\nclass Restart: ...\n")
