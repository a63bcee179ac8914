"""``-h`` in the shape of IOR's, and ``docs/ior.md``; both from ``options``. ``python -m tonnage.compat.ior.help``."""

from __future__ import annotations

from pathlib import Path

from tonnage.compat.ior.options import DEFAULTS, Spelling, spellings

_COLUMN = 30
_MODULES = ("POSIX", "DUMMY", "MPIIO", "MMAP", "AIO")


def help_text() -> str:
    """What ``tonnage ior -h`` prints."""
    lines = ["Synopsis ior", *_sections("")]
    for module in _MODULES:
        lines += ["", "", f"Module {module}", *_sections(module)]
    return "\n".join(lines) + "\n"


def _sections(module: str) -> list[str]:
    entries = [(name, found) for name, found in spellings().items() if found.module == module and found.help]
    flags = [_entry(name, found) for name, found in entries if found.kind == "flag"]
    # IOR lists where a summary goes last, as we do.
    others = [_entry(name, found) for name, found in entries if found.kind != "flag"]
    lines = ["", "Flags", *flags] if flags else []
    return lines + (["", "Optional arguments", *others] if others else [])


def _entry(name: str, found: Spelling) -> str:
    if not (found.short or found.long):
        return f"  -O {found.directive}={found.help}"
    return f"  {heading(name, found):<{_COLUMN}}{found.help}"


def heading(name: str, found: Spelling) -> str:
    """``-b=1048576``, ``-c, --collective``."""
    spelled = ", ".join(filter(None, (found.short and f"-{found.short}", found.long and f"--{found.long}")))
    if found.kind == "flag":
        return spelled
    default = getattr(DEFAULTS, name)
    shown = f"{default:g}" if isinstance(default, float) else default
    return f"{spelled}={shown if shown != '' else 'STRING'} "


def table() -> str:
    """Options and directives as a table, for ``docs/ior.md``."""
    lines = ["| option | directive | default | what it does here |", "|---|---|---|---|"]
    for name, found in spellings().items():
        spelled = ", ".join(filter(None, (found.short and f"`-{found.short}`", found.long and f"`--{found.long}`")))
        default = getattr(DEFAULTS, name)
        shown = "" if found.kind == "flag" or default in ("", -1) else f"`{default}`"
        directive = f"`{found.directive}`" if found.directive else ""
        why = f": {found.refused}" if found.refused and found.here == "refused" else ""
        lines.append(f"| {spelled} | {directive} | {shown} | {found.here}{why} |")
    return "\n".join(lines)


BEGIN, END = "<!-- options: made by python -m tonnage.compat.ior.help -->", "<!-- end of options -->"


def page(text: str) -> str:
    """``docs/ior.md`` with its table made anew."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


def main() -> None:
    """Writes the table into ``docs/ior.md`` of the checkout that this package is in."""
    path = Path(__file__).resolve().parents[4] / "docs" / "ior.md"
    path.write_text(page(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
