"""Whether the values of a configuration can be carried out: each is reported by its section and key, before anything is
made."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from tonnage.compat.ior.parse import whole_number
from tonnage.errors import RequestError
from tonnage.io500.config import Config
from tonnage.io500.config_keys import SECTIONS

Complaint = tuple[str, str] | None
"""What is wrong, and what to do; None: nothing."""

_LARGEST = 10**12
"""Of a number of files, segments or seconds: more than any benchmark has."""
_WORD = 8
"""Bytes: the data of IOR is made of words."""
_MOST_TRANSFER = 1 << 30
_PACKETS = ("timestamp", "offset", "incompressible", "random")


def check_values(config: Config) -> None:
    """RequestError for the first value that is none: ``[section] key = value: what is wrong; hint: …``."""
    for section, keys in SECTIONS.items():
        for key in keys:
            value = config.text_if(section, key.name)
            rule = _RULES.get((section, key.name)) or _RULES.get(("", key.name))
            if rule is None or value is None:
                continue
            if complaint := rule(value):
                raise refusal(config, section, key.name, complaint)
    _check_sizes(config)
    if config.flag("global", "drop-caches"):
        program = shlex.split(config.text("global", "drop-caches-cmd"))[0]
        if shutil.which(program) is None:
            complaint = (f"there is no program {program!r}", "give its path, or drop-caches = FALSE")
            raise refusal(config, "global", "drop-caches-cmd", complaint)


def refusal(config: Config, section: str, key: str, complaint: tuple[str, str]) -> RequestError:
    """Returns the error of one value."""
    value = config.text_if(section, key)
    return RequestError(
        f"[{section}] {key} = {value or ''}: {complaint[0]}; hint: {complaint[1].removeprefix('hint: ')}"
    )


def refused_by(
    config: Config, sections: tuple[str, ...], error: RequestError, is_accepted: Callable[[Config], bool]
) -> RequestError:
    """The error of a phase's program, told by the key whose default the program would accept; as it is where there is
    no such key. ``sections``: those that the phase reads, its own first."""
    what, _, hint = _in_keys(str(error).removeprefix("mdtest -a: ")).partition("; hint: ")
    for section, key in _given(config, sections):
        default = next(one.default for one in SECTIONS[section] if one.name == key)
        values = {at: value for at, value in config.values.items() if at != (section, key)}
        values |= {} if default is None else {(section, key): default}
        if is_accepted(replace(config, values=values)):
            return refusal(config, section, key, (what, hint or "give another value"))
    return RequestError(f"[{sections[0]}]: {error}")


def _given(config: Config, sections: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """The keys whose values are not their defaults."""
    for section in sections:
        for key in SECTIONS.get(section, ()):
            if config.text_if(section, key.name) != key.default:
                yield section, key.name


_OPTIONS: Mapping[str, str] = {
    "-b": "blockSize", "-t": "transferSize", "-s": "segmentCount", "-D": "stonewall-time", "-W": "stonewall-time",
    "-n": "n", "-I": "files-per-dir", "-a": "API", "-d": "datadir", "-o": "datadir",
    "-O allocateBufferOnGPU": "io-buffers-on-gpu", "--allocateBufferOnGPU": "io-buffers-on-gpu",
    "allocateBufferOnGPU": "io-buffers-on-gpu", "--dataPacketType": "dataPacketType", "-u": "uniqueDir",
    "-F": "filePerProc", "-c": "collective", "-v": "verbosity",
}  # fmt: skip
"""Options of the programs → the keys that they come from."""


def _in_keys(text: str) -> str:
    """With the keys in the place of the programs' options."""
    return " ".join(
        _OPTIONS.get(word.rstrip(":,"), word.rstrip(":,")) + word[len(word.rstrip(":,")) :] for word in text.split(" ")
    )


def _between(least: int, most: int = _LARGEST) -> Callable[[str], Complaint]:
    def rule(value: str) -> Complaint:
        if least <= int(value) <= most:
            return None
        return f"it is not between {least} and {most}", f"write a whole number from {least} on"

    return rule


def _one_of(names: tuple[str, ...]) -> Callable[[str], Complaint]:
    def rule(value: str) -> Complaint:
        if value in names or value in [name[0] for name in names]:
            return None
        return "it is no kind of data", f"write {', '.join(names)}"

    return rule


def _directory(value: str) -> Complaint:
    return ("it names no directory", "give a path, or leave the line out") if not value else None


def _size(value: str) -> Complaint:
    try:
        size = whole_number(value, "")
    except RequestError:
        return "it is no size", "write it like 4096, 64k, 2m or 1g"
    return None if size > 0 else ("a size is above 0", "write it like 4096, 64k, 2m or 1g")


def _transfer(value: str) -> Complaint:
    if complaint := _size(value):
        return complaint
    size = whole_number(value, "")
    if size % _WORD:
        return f"a transfer is a multiple of {_WORD} bytes", f"write {max(size // _WORD, 1) * _WORD}"
    return None if size <= _MOST_TRANSFER else (f"a transfer has at most {_MOST_TRANSFER} bytes", "write 1g, or less")


def _command(value: str) -> Complaint:
    with suppress(ValueError):
        return None if shlex.split(value) else ("it names no program", "give a command, or leave the line out")
    return "its quotes are not closed", "close them, or name a script"


def _shell_words(value: str) -> Complaint:
    with suppress(ValueError):
        shlex.split(value)
        return None
    return "its quotes are not closed", "close them"


def _program(value: str) -> Complaint:
    if Path(value).is_file() and os.access(value, os.X_OK):
        return None
    return "it is no program", "give the path of an executable file"


_RULES: dict[tuple[str, str], Callable[[str], Complaint]] = {
    ("global", "datadir"): _directory,
    ("global", "resultdir"): _directory,
    ("global", "drop-caches-cmd"): _command,
    ("global", "dataPacketType"): _one_of(_PACKETS),
    ("debug", "stonewall-time"): _between(1, 10**6),
    ("ior-easy", "transferSize"): _transfer,
    ("ior-easy", "blockSize"): _size,
    ("", "verbosity"): _between(0, 10),
    ("", "n"): _between(1),
    ("", "files-per-dir"): _between(1),
    ("", "segmentCount"): _between(1),
    ("", "nproc"): _between(1),
    ("", "pfind-queue-length"): _between(1),
    ("", "external-script"): _program,
    ("", "external-mpi-args"): _shell_words,
    ("", "external-extra-args"): _shell_words,
}
"""By section and key; of a key that several sections have, by the key alone."""


def _check_sizes(config: Config) -> None:
    transfer, block = (config.text("ior-easy", key) for key in ("transferSize", "blockSize"))
    rest = whole_number(block, "") % (size := whole_number(transfer, ""))
    if rest or whole_number(block, "") < size:
        nearest = max(whole_number(block, "") // size, 1) * size
        raise refusal(
            config, "ior-easy", "blockSize", (f"it is no multiple of transferSize = {transfer}", f"write {nearest}")
        )
