"""Where functions begin and end, in Python (exactly) and in Rust (as far as braces tell)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

_RUST_OPAQUE = re.compile(
    r"""//[^\n]*                            # line comment
      | /\*.*?\*/                           # block comment (nested ones do not occur here)
      | b?r(?P<hashes>\#*)".*?"(?P=hashes)  # raw string
      | b?"(?:\\.|[^"\\])*"                 # string
      | b?'(?:\\(?:[^u]|u\{[^}]*\})|\\x[0-9a-fA-F]{2}|[^'\\\n])'  # character, which a lifetime is not
    """,
    re.VERBOSE | re.DOTALL,
)
_RUST_FUNCTION = re.compile(r"\bfn\s+(\w+)")


def python_functions(text: str) -> Iterator[tuple[str, int, int]]:
    """``(name, first line, lines)`` of each function; its docstring and decorators do not count."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if ast.get_docstring(node, clean=False) is not None:
                docstring = node.body[0]
                lines -= (docstring.end_lineno or docstring.lineno) - docstring.lineno + 1
            yield node.name, node.lineno, lines


def rust_without_words(text: str) -> str:
    """The same text with comments, strings and characters blanked, line by line where it was."""
    return _RUST_OPAQUE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def rust_functions(text: str) -> Iterator[tuple[str, int, int]]:
    """``(name, first line, lines)`` of each function with a body."""
    code = rust_without_words(text)
    for match in _RUST_FUNCTION.finditer(code):
        start = _body_start(code, match.end())
        if start is None:
            continue
        end = _closing_brace(code, start)
        first = code.count("\n", 0, match.start()) + 1
        yield match.group(1), first, code.count("\n", match.start(), end) + 1


def _body_start(code: str, position: int) -> int | None:
    """Index of the brace that opens a function's body; None for a declaration (``[u8; 4]`` is neither)."""
    depth = 0
    for index in range(position, len(code)):
        character = code[index]
        if character in "([":
            depth += 1
        elif character in ")]":
            depth -= 1
        elif depth == 0 and character in "{;":
            return index if character == "{" else None
    return None


def _closing_brace(code: str, start: int) -> int:
    depth = 0
    for index in range(start, len(code)):
        depth += {"{": 1, "}": -1}.get(code[index], 0)
        if depth == 0:
            return index
    return len(code)
