"""``tonnage completions``: a script for the user's shell."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tonnage.cli.command import Arguments, all_commands, spelled_out
from tonnage.command_line import Command
from tonnage.command_option import Option

COMMAND = Command(
    "completions",
    "print completions for a shell",
    "Prints a script that makes a shell complete commands, options and values.",
    (Option(("shell",), "which shell", "SHELL", choices=("bash", "zsh", "fish")),),
    (('eval "$(tonnage completions bash)"', "in ~/.bashrc"),),
)


def run(arguments: Arguments) -> int:
    """Runs the command and returns its exit code."""
    print(SHELLS[arguments.shell](), end="")
    return 0


def bash() -> str:
    """Returns the script for ``eval "$(tonnage completions bash)"``."""
    cases = "\n".join(_bash_case(command) for command in spelled_out(all_commands()))
    names = " ".join(command.name for command in all_commands())
    actions = "\n".join(
        f"        {parent.name})\n"
        '            if [ "$COMP_CWORD" -eq 2 ]; then\n'
        f'                COMPREPLY=($(compgen -W "{_action_names(parent)} --help" -- "$current")); return\n'
        "            fi\n"
        '            command="$command ${COMP_WORDS[2]}" ;;'
        for parent in _parents()
    )
    return f"""_tonnage() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} words= command=${{COMP_WORDS[1]}}
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "{names} --help --version" -- "$current"))
        return
    fi
    case "$command" in
{actions}
    esac
    case "$command:$previous" in
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
    for option in command.shown:
        if option.choices:
            after = command.name.split()[-1] if option.positional else option.names[0]
            words = " ".join(option.choices)
            lines.append(
                f'        "{command.name}:{after}") COMPREPLY=($(compgen -W "{words}" -- "$current")); return ;;'
            )
    lines.append(f'        "{command.name}:"*) words="{" ".join(_flags(command))}" ;;')
    return "\n".join(lines)


def zsh() -> str:
    """Returns the script for ``eval "$(tonnage completions zsh)"``, after ``compinit``."""
    cases = "\n".join(_zsh_case(command) for command in spelled_out(all_commands()))
    actions = "\n".join(
        f"    if [[ $command == {parent.name} ]]; then\n"
        f"        local -a actions=(\n{_zsh_described(parent.actions)}\n        )\n"
        "        if (( CURRENT == 2 )); then\n"
        "            _describe action actions\n"
        "            return\n"
        "        fi\n"
        '        command="$command $words[2]"\n'
        "        shift words\n"
        "        (( CURRENT-- ))\n"
        "    fi"
        for parent in _parents()
    )
    return f"""#compdef tonnage
_tonnage() {{
    local -a commands=(
{_zsh_described(all_commands())}
    )
    if (( CURRENT == 2 )); then
        _describe command commands
        return
    fi
    local command=$words[2]
    shift words
    (( CURRENT-- ))
{actions}
    case $command in
{cases}
    esac
}}
# From a directory of fpath this is read at the first completion, and is to make it.
if [[ $funcstack[1] == _tonnage ]]; then
    _tonnage "$@"
else
    compdef _tonnage tonnage
fi
"""


def _zsh_described(commands: Iterable[Command]) -> str:
    return "\n".join(f"        {_zsh_quote(f'{command.name}:{command.summary}')}" for command in commands)


def _zsh_case(command: Command) -> str:
    specs = []
    for position, option in enumerate(option for option in command.shown if option.positional):
        specs.append(
            f"{position + 1}{':' if option.optional else ''}:{option.metavar or option.names[0]}:{_zsh_values(option)}"
        )
    for option in command.shown:
        if not option.positional:
            value = "" if option.is_flag else f":{option.metavar or 'value'}:{_zsh_values(option)}"
            again = "*" if option.repeats else ""
            help_text = option.help.replace("[", "(").replace("]", ")").replace(":", " ")
            specs += [f"{again}{name}[{help_text}]{value}" for name in option.names]
    return f"        {_zsh_quote(command.name)}) _arguments {' '.join(map(_zsh_quote, specs))} ;;"


def _zsh_values(option: Option) -> str:
    if option.choices:
        return f"({' '.join(option.choices)})"
    return {"directory": "_files -/", "file": "_files"}.get(option.completes or "", "")


def _zsh_quote(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def fish() -> str:
    """Returns the script for ``tonnage completions fish > ~/.config/fish/completions/tonnage.fish``."""
    lines = ["complete -c tonnage -n __fish_use_subcommand -l version -d 'print the version'"]
    for command in all_commands():
        lines.append(
            f"complete -c tonnage -f -n __fish_use_subcommand -a {command.name} -d {_fish_quote(command.summary)}"
        )
    for parent in _parents():
        none = f"__fish_seen_subcommand_from {parent.name}; and not __fish_seen_subcommand_from {_action_names(parent)}"
        for action in parent.actions:
            lines.append(f"complete -c tonnage -f -n '{none}' -a {action.name} -d {_fish_quote(action.summary)}")
    for command in spelled_out(all_commands()):
        lines += [_fish_option(command, option) for option in command.shown]
    return "\n".join(filter(None, lines)) + "\n"


def _fish_option(command: Command, option: Option) -> str:
    seen = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in command.name.split())
    start = f"complete -c tonnage -n '{seen}'"
    if option.positional:
        return f"{start} -f -a '{' '.join(option.choices)}'" if option.choices else ""
    values = f" -x -a '{' '.join(option.choices)}'" if option.choices else "" if option.is_flag else " -r"
    names = " ".join(map(_fish_name, option.names))
    return f"{start} {names} -d {_fish_quote(option.help)}{values}"


def _fish_name(name: str) -> str:
    return f"-l {name[2:]}" if name.startswith("--") else f"-{'s' if len(name) == 2 else 'o'} {name[1:]}"


def _fish_quote(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _action_names(command: Command) -> str:
    return " ".join(action.name for action in command.actions)


def _flags(command: Command) -> list[str]:
    return [name for option in command.shown if not option.positional for name in option.names]


def _parents() -> list[Command]:
    """Commands whose second word is an action."""
    return [command for command in all_commands() if command.actions]


SHELLS: dict[str, Callable[[], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
