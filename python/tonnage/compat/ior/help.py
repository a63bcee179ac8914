"""``-h`` as IOR lays it out, and the table in ``docs/ior.md`` (``python -m tonnage.compat.ior.help``); both from
``options``."""

from __future__ import annotations

import textwrap
from pathlib import Path

from tonnage.compat.ior.options import DEFAULTS, Spelling, spellings

_COLUMN = 32
_WIDTH = 112
_MODULES = ("POSIX", "DUMMY", "MPIIO", "MMAP", "AIO")


def help_text() -> str:
    """What ``tonnage ior -h`` prints."""
    lines = ["Synopsis ior", *_sections("")]
    for module in _MODULES:
        lines += ["", "", f"Module {module}", *_sections(module)]
    return "\n".join(lines) + "\n"


def _sections(module: str) -> list[str]:
    entries = [(name, found) for name, found in spellings().items() if found.module == module]
    flags = [_entry(name, found) for name, found in entries if found.kind == "flag"]
    # IOR lists where a summary goes last, as we do.
    others = [_entry(name, found) for name, found in entries if found.kind != "flag"]
    lines = ["", "Flags", *flags] if flags else []
    return lines + (["", "Optional arguments", *others] if others else [])


def _entry(name: str, found: Spelling) -> str:
    head, meaning = f"  {heading(name, found)}", found.help_text
    if (found.short or found.long) and found.directive not in ("", found.long):
        meaning = f"{found.directive}: {meaning}"
    meaning_lines = textwrap.wrap(meaning, _WIDTH - _COLUMN, break_on_hyphens=False)
    beside = f"{head:<{_COLUMN}}{meaning_lines.pop(0)}" if len(head) < _COLUMN else head
    return "\n".join([beside, *(" " * _COLUMN + line for line in meaning_lines)])


def heading(name: str, found: Spelling) -> str:
    """Returns text such as ``-b=1048576``, ``-c, --collective``, ``-O summaryFile=FILE``."""
    spelled = ", ".join(filter(None, (found.short and f"-{found.short}", found.long and f"--{found.long}")))
    if found.kind == "flag":
        return spelled
    default = getattr(DEFAULTS, name)
    shown = f"{default:g}" if isinstance(default, float) else default
    if not spelled:
        return f"-O {found.directive}={found.metavar or shown}"
    return f"{spelled}={shown if shown != '' else 'STRING'}"


def table() -> str:
    """Writes options and directives as a table, for ``docs/ior.md``."""
    lines = ["| option | directive | default | what it does here | in a campaign |", "|---|---|---|---|---|"]
    for name, found in spellings().items():
        spelled = ", ".join(filter(None, (found.short and f"`-{found.short}`", found.long and f"`--{found.long}`")))
        default = getattr(DEFAULTS, name)
        shown = "" if found.kind == "flag" or default == "" else f"`{default}`"
        directive, campaign = (f"`{key}`" if key else "" for key in (found.directive, found.campaign))
        lines.append(f"| {spelled} | {directive} | {shown} | {found.help_text} | {campaign} |")
    return "\n".join(lines)


BEGIN, END = "<!-- options: made by python -m tonnage.compat.ior.help -->", "<!-- end of options -->"


def page(text: str) -> str:
    """Returns ``docs/ior.md`` with its table made anew."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


def main() -> None:
    """Writes the table into ``docs/ior.md`` of the checkout that this package is in."""
    path = Path(__file__).resolve().parents[4] / "docs" / "ior.md"
    path.write_text(page(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
