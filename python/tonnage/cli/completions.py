"""Completions for bash, zsh and fish, made from ``options``."""

from __future__ import annotations

from collections.abc import Callable

from tonnage.cli.options import COMMANDS, Command, Option


def bash() -> str:
    """For ``eval "$(tonnage completions bash)"``."""
    cases = "\n".join(_bash_case(command) for command in COMMANDS)
    names = " ".join(command.name for command in COMMANDS)
    return f"""_tonnage() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} words=
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "{names} --help --version" -- "$current"))
        return
    fi
    case "${{COMP_WORDS[1]}}:$previous" in
{cases}
    esac
    case "$current" in
        -*) COMPREPLY=($(compgen -W "$words --help" -- "$current")) ;;
    esac
}}
complete -o default -F _tonnage tonnage ./tonnage
"""


def _bash_case(command: Command) -> str:
    lines = []
    for option in command.options:
        if option.choices:
            after = command.name if option.positional else option.names[0]
            words = " ".join(option.choices)
            lines.append(
                f'        {command.name}:{after}) COMPREPLY=($(compgen -W "{words}" -- "$current")); return ;;'
            )
    lines.append(f'        {command.name}:*) words="{" ".join(_flags(command))}" ;;')
    return "\n".join(lines)


def zsh() -> str:
    """For ``eval "$(tonnage completions zsh)"``, after ``compinit``."""
    names = "\n".join(f"        {_zsh_quote(f'{command.name}:{command.summary}')}" for command in COMMANDS)
    cases = "\n".join(_zsh_case(command) for command in COMMANDS)
    return f"""#compdef tonnage
_tonnage() {{
    local -a commands=(
{names}
    )
    if (( CURRENT == 2 )); then
        _describe command commands
        return
    fi
    local command=$words[2]
    shift words
    (( CURRENT-- ))
    case $command in
{cases}
    esac
}}
compdef _tonnage tonnage
"""


def _zsh_case(command: Command) -> str:
    specs = []
    for position, option in enumerate(option for option in command.options if option.positional):
        specs.append(
            f"{position + 1}{':' if option.optional else ''}:{option.metavar or option.names[0]}:{_zsh_values(option)}"
        )
    for option in command.options:
        if not option.positional:
            value = "" if option.is_flag else f":{option.metavar or 'value'}:{_zsh_values(option)}"
            specs.append(
                f"{option.names[0]}[{option.help.replace('[', '(').replace(']', ')').replace(':', ' ')}]{value}"
            )
    return f"        {command.name}) _arguments {' '.join(map(_zsh_quote, specs))} ;;"


def _zsh_values(option: Option) -> str:
    if option.choices:
        return f"({' '.join(option.choices)})"
    return {"directory": "_files -/", "file": "_files"}.get(option.completes or "", "")


def _zsh_quote(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def fish() -> str:
    """For ``tonnage completions fish > ~/.config/fish/completions/tonnage.fish``."""
    lines = ["complete -c tonnage -n __fish_use_subcommand -l version -d 'print the version'"]
    for command in COMMANDS:
        lines.append(
            f"complete -c tonnage -f -n __fish_use_subcommand -a {command.name} -d {_fish_quote(command.summary)}"
        )
        for option in command.options:
            lines.append(_fish_option(command, option))
    return "\n".join(filter(None, lines)) + "\n"


def _fish_option(command: Command, option: Option) -> str:
    start = f"complete -c tonnage -n '__fish_seen_subcommand_from {command.name}'"
    if option.positional:
        return f"{start} -f -a '{' '.join(option.choices)}'" if option.choices else ""
    values = f" -x -a '{' '.join(option.choices)}'" if option.choices else "" if option.is_flag else " -r"
    return f"{start} -l {option.names[0][2:]} -d {_fish_quote(option.help)}{values}"


def _fish_quote(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _flags(command: Command) -> list[str]:
    return [name for option in command.options if not option.positional for name in option.names]


SHELLS: dict[str, Callable[[], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
