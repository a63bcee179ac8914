"""What ``--help`` prints of a command, from its options."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable

from tonnage.command_line import Command

HELP = ("-h, --help", "show this text")
_COLUMN = 30
_WIDEST = 100


def width() -> int:
    """Characters of a line: those of the terminal, unless it is very wide."""
    return min(shutil.get_terminal_size((_WIDEST, 24)).columns, _WIDEST)


def help_text(command: Command) -> str:
    """Usage, what it does, what it takes, examples."""
    told = [(option, (option.here.heading, option.here.help_text)) for option in command.shown]
    groups = {
        "arguments": [entry for option, entry in told if option.positional],
        "actions": [(action.name, action.summary) for action in command.actions],
        "options": [*(entry for option, entry in told if not option.positional), HELP],
    }
    lines = [f"usage: {command.usage}", ""]
    for paragraph in command.paragraphs:
        lines += [textwrap.fill(paragraph, width()), ""]
    for name, group in groups.items():
        lines += [f"{name}:", *entries(group), ""] if group else []
    lines.append("examples:")
    for line, meaning in command.examples:
        lines += [f"  {line}", f"      {meaning}"]
    return "\n".join(lines)


def entries(told: Iterable[tuple[str, str]], column: int = _COLUMN) -> list[str]:
    """Lines of headings with what is said of each beside them, from this column on."""
    lines = []
    for heading, text in told:
        head, said = f"  {heading}", textwrap.wrap(text, max(width() - column, 20), break_on_hyphens=False) or [""]
        lines.append(f"{head:<{column}}{said.pop(0)}" if len(head) < column - 1 else head)
        lines += [" " * column + line for line in said]
    return lines
