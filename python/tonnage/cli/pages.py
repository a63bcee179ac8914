"""Man pages, completions and ``docs/options.md``, made from the commands' options. ``python -m tonnage.cli.pages``
writes them; the wheel puts those of ``INSTALLED`` below its prefix's ``share``."""

from __future__ import annotations

from pathlib import Path

from tonnage import __version__
from tonnage.cli.command import EXIT_CODES, TAGLINE, all_commands, grouped, spelled_out
from tonnage.cli.commands.completions import SHELLS
from tonnage.command_line import Command
from tonnage.compat.front_end import FrontEnd, page

_COMPLETIONS = {
    "bash": "bash-completion/completions/tonnage",
    "zsh": "zsh/site-functions/_tonnage",
    "fish": "fish/vendor_completions.d/tonnage.fish",
}
"""Where each shell looks, below ``share``."""
_PREFACE = (
    "Made from `python/tonnage/cli/commands/` by `python -m tonnage.cli.pages`. `tonnage COMMAND --help` says the same."
)


INSTALLED = "packaging/installed/data/share"
"""In the checkout; ``pyproject.toml`` names the directory above ``data`` to the build."""


def pages() -> dict[str, str]:
    """Returns the text of each page by its path in the checkout."""
    fronts = [command for command in all_commands() if isinstance(command, FrontEnd) and command.name != "ior"]
    found = {"docs/options.md": markdown()} | {f"docs/{front.name}.md": page(front) for front in fronts}
    manual = f"{INSTALLED}/man/man1"
    found |= {f"{manual}/{_page_name(command)}.1": man(command) for command in spelled_out(all_commands())}
    found[f"{manual}/tonnage.1"] = man_overview()
    return found | {f"{INSTALLED}/{_COMPLETIONS[shell]}": script() for shell, script in SHELLS.items()}


def markdown() -> str:
    """Writes all commands and options on one page."""
    lines = [
        "# Commands and options",
        "",
        _PREFACE,
        "",
    ]
    for command in spelled_out(all_commands()):
        lines += [
            f"## tonnage {command.name}",
            "",
            f"`{command.usage}`",
            "",
            f"{command.summary}: see [{command.name}.md]({command.name}.md)."
            if command.verbatim
            else command.description,
            "",
            *(["| option | meaning | default |", "|---|---|---|"] if command.shown else []),
        ]
        for option in command.shown:
            meaning = option.described.replace("|", "&#124;")
            lines.append(f"| `{option.heading}` | {meaning} | {option.default or ''} |")
        lines += ["", "```sh"] if command.shown else ["```sh"]
        for line, meaning in command.examples:
            lines += [f"# {meaning}", line]
        lines += ["```", ""]
    lines += [
        "## Exit codes",
        "",
        "| code | meaning |",
        "|---|---|",
        *(f"| {code} | {meaning} |" for code, meaning in EXIT_CODES),
    ]
    return "\n".join(lines) + "\n"


def man_overview() -> str:
    """Writes ``tonnage(1)``."""
    lines = [
        *_man_header("tonnage", TAGLINE.rstrip(".").lower()),
        ".SH SYNOPSIS",
        ".B tonnage",
        r"\fICOMMAND\fR [\fIOPTION\fR]...",
        ".SH COMMANDS",
    ]
    for task, commands in grouped():
        lines += [f".SS {_roff(task)}"]
        for command in spelled_out(commands):
            lines += [".TP", rf"\fB{_roff(_page_name(command))}\fR(1)", _roff(command.summary)]
    return "\n".join([*lines, *_man_exit_codes()]) + "\n"


def man(command: Command) -> str:
    """Writes ``tonnage-COMMAND(1)``."""
    lines = [
        *_man_header(_page_name(command), command.summary),
        ".SH SYNOPSIS",
        _roff(command.usage),
        ".SH DESCRIPTION",
        "\n.PP\n".join(map(_roff, command.paragraphs)),
        *([".SH OPTIONS"] if command.shown else []),
    ]
    for option in command.shown:
        lines += [".TP", rf"\fB{_roff(option.heading)}\fR", _roff(option.help_text)]
    lines.append(".SH EXAMPLES")
    for line, meaning in command.examples:
        lines += [".TP", rf"\fB{_roff(line)}\fR", _roff(meaning)]
    return "\n".join([*lines, *_man_exit_codes()]) + "\n"


def _page_name(command: Command) -> str:
    """``tonnage-probe``, ``tonnage-stage-run``."""
    return f"tonnage-{command.name}".replace(" ", "-")


def _man_header(name: str, summary: str) -> list[str]:
    return [
        f'.TH "{name.upper()}" "1" "" "Tonnage {__version__}" "User commands"',
        ".SH NAME",
        _roff(f"{name} - {summary}"),
    ]


def _man_exit_codes() -> list[str]:
    lines = [".SH EXIT STATUS"]
    for code, meaning in EXIT_CODES:
        lines += [".TP", rf"\fB{code}\fR", _roff(meaning)]
    return lines


def _roff(text: str) -> str:
    escaped = text.replace("\\", r"\e").replace("-", r"\-")
    # A line that begins with a dot or a quote would be a request.
    return rf"\&{escaped}" if escaped[:1] in (".", "'") else escaped


def main() -> None:
    """Writes the pages into the checkout that this package is in."""
    root = Path(__file__).resolve().parents[3]
    for name, text in pages().items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
