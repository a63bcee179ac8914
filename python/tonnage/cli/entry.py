"""From arguments to an exit code: one command, and one line for whatever goes wrong."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from io import TextIOWrapper
from typing import Any

from tonnage.cli.command import Arguments, module_of
from tonnage.cli.output_stream import STDOUT_HINT, StdoutError, abandon, printable_streams
from tonnage.cli.parser import help_of, parse_arguments
from tonnage.command_line import HelpAsked
from tonnage.delayed_signals import late_signals, loading
from tonnage.errors import RequestError, TonnageError
from tonnage.plugins import PlugInWarning
from tonnage.printable_text import one_line
from tonnage.program_places import working_directory


def run_command(argv: Sequence[str]) -> int:
    """Parses, runs the command and turns errors into one line on stderr."""
    # Looking for plug-ins that we do not have takes pydantic a fifth of the whole start.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    # A parent that ignores it would make the ends of copies and hooks unknowable.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if isinstance(sys.stdout, TextIOWrapper):
        # A name that is no UTF-8 can be told all the same; in JSON its escapes mean what they say.
        sys.stdout.reconfigure(errors="backslashreplace")
    with printable_streams(), warnings.catch_warnings():
        warnings.showwarning = _show_warning(warnings.showwarning)
        return _command(argv)


def _show_warning(otherwise: Callable[..., None]) -> Callable[..., None]:
    """Of an installed plug-in: a note of one line; any other as ever."""

    def show(message: Warning | str, category: type[Warning], *more: Any, **named: Any) -> None:
        if issubclass(category, PlugInWarning):
            print(f"tonnage: note: {one_line(str(message))}", file=sys.stderr)
        else:
            otherwise(message, category, *more, **named)

    return show


def _command(argv: Sequence[str]) -> int:
    try:
        with loading():
            arguments = parse(argv)
            arguments.command_line = ["tonnage", *argv]
            with late_signals():
                for name in arguments.loads:
                    import_module(name)
        code = module_of(arguments.command).run(arguments)
        sys.stdout.flush()
        return code
    except TonnageError as error:
        return complain(str(error), error.exit_code)
    except KeyboardInterrupt:
        return complain("interrupted", 130)
    except BrokenPipeError:
        # The reader of our output left (`| head`). Python would complain once more when it flushes at exit.
        abandon(sys.stdout)
        return 1
    except StdoutError as error:
        return complain(f"{error}; hint: {STDOUT_HINT}", 1)
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        if not where and (gone := _lost_directory()):
            return complain(gone, 2)
        return complain(f"{error.strerror or error}{where}", 1)
    finally:
        try:
            sys.stdout.flush()
        except OSError:
            abandon(sys.stdout)


def _lost_directory() -> str | None:
    """Why this process's own directory cannot be named; None where it can. An error of that names no file."""
    try:
        working_directory()
    except RequestError as error:
        return str(error)
    return None


def parse(argv: Sequence[str]) -> Arguments:
    """The command and its options. Where help is asked for, or something is wrong, that is printed, and SystemExit has
    the exit code."""
    try:
        return parse_arguments(argv)
    except HelpAsked as asked:
        print(help_of(asked.command), flush=True)
        raise SystemExit(0) from None
    except RequestError as error:
        raise SystemExit(complain(str(error), error.exit_code)) from None


def complain(text: str, code: int) -> int:
    """Prints ``text`` as the one line an error gets."""
    print(f"tonnage: error: {one_line(' '.join(text.split()))}", file=sys.stderr)
    return code
