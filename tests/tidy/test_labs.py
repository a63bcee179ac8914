"""Which laboratories come after all others: files of tests/lab and tests/mpi with ``pytest.mark.alone``.

All others run beside each other and beside all other tests (``BESIDE`` in the Makefile), so what they find must not
depend on what else runs.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

from .tree import ROOT

MEASURES = re.compile(r"assert .*(BYTES_PER_S|TOLERANCE)|sched_setaffinity|/proc/sys/|drop_caches")
"""What compares a rate with the one that was set, or changes what the whole machine has."""
FIXED_PORT = re.compile(r"""127\.0\.0\.1(:|["'], )\d{4}""")
MARK = "mark.alone("


def laboratories() -> list[Path]:
    return [file for folder in ("lab", "mpi") for file in sorted((ROOT / "tests" / folder).glob("test_*.py"))]


def is_alone(text: str) -> bool:
    """Whether all tests of the file are: a mark of its module."""
    marks = [node for node in ast.parse(text).body if isinstance(node, ast.Assign)]
    return any(ast.unparse(node.targets[0]) == "pytestmark" and MARK in ast.unparse(node.value) for node in marks)


def complaints(name: str, text: str) -> list[str]:
    """What is wrong with a laboratory."""
    found, alone = [], is_alone(text)
    if text.count(MARK) != alone:
        found.append(f"{name}: alone is a mark of whole files, which share their fixtures: once, in pytestmark")
    if not alone and (measures := MEASURES.search(text)):
        found.append(f"{name}: {measures[0]!r} measures this machine: pytestmark = pytest.mark.alone(WHAT)")
    if port := FIXED_PORT.search(text):
        found.append(f"{name}: {port[0]!r} may be somebody else's: take a port with load_index_sources.free_port()")
    return found


def test_what_measures_this_machine_has_it_for_itself_and_the_others_have_their_own_ports() -> None:
    found = [each for file in laboratories() for each in complaints(file.name, file.read_text(encoding="utf-8"))]
    assert not found, "\n".join(found)


def test_each_kind_of_complaint_comes() -> None:
    alone = 'pytestmark = pytest.mark.alone("rates")\n'
    rate, port, one = "assert rate < LINK_BYTES_PER_S\n", 'bind(("127.0.0.1", 5201))\n', '@pytest.mark.alone("rates")\n'
    assert complaints("a", alone + rate) == complaints("a", "assert found\n") == []
    assert [len(complaints("a", text)) for text in (rate, port, f"{one}def test(): ...\n")] == [1, 1, 1]
