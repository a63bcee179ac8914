"""Reads an IO500 configuration as the benchmark reads it: values by section and key, and the hash over them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tonnage.command_option import nearest
from tonnage.errors import RequestError
from tonnage.io500.config_keys import SECTIONS, Key
from tonnage.toml_documents import read_text

_SECTION = re.compile(r"\s*\[\s*([0-9A-Za-z_-]+)\s*\]\s*(?:\s[#;].*)?")
_PAIR = re.compile(r"\s*([0-9A-Za-z_.-]+)\s*=\s*([^#;]*)(?:[#;].*)?")
_EMPTY = re.compile(r"\s*(?:[#;].*)?")
_FORMS = {
    "int": (re.compile(r"-?[0-9]{1,18}"), "a whole number"),
    "uint": (re.compile(r"[0-9]{1,18}"), "a whole number from 0 on"),
    "float": (re.compile(r"[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?"), "a number from 0 on"),
}
_FLAGS = {"true": "TRUE", "1": "TRUE", "false": "FALSE", "0": "FALSE"}
_WORD = 0xFFFFFFFF
_NEVER_EMPTY = ("datadir", "resultdir")
"""Any other key without a value keeps its default, as the benchmark has it; of these it is another place than meant."""


@dataclass(frozen=True, slots=True)
class Config:
    """A configuration with every default filled in."""

    values: Mapping[tuple[str, str], str]
    """(section, key) → the value as text; a key that has none is not there."""
    original: str
    """The file's text."""

    def text_if(self, section: str, key: str) -> str | None:
        """None where the key has no value."""
        return self.values.get((section, key))

    def text(self, section: str, key: str) -> str:
        """Returns the value of a key with a default."""
        return self.values[section, key]

    def flag(self, section: str, key: str) -> bool:
        """Of a key that is TRUE or FALSE; one without a value is false."""
        return self.values.get((section, key)) == "TRUE"

    def number_if(self, section: str, key: str) -> int | None:
        """None where the key has no value."""
        found = self.values.get((section, key))
        return None if found is None else int(found)

    def number(self, section: str, key: str) -> int:
        """Returns the number of a key with a default."""
        return int(self.values[section, key])

    @property
    def stonewall_s(self) -> int:
        """Seconds after which a write phase stops."""
        return self.number("debug", "stonewall-time")

    @property
    def least_s(self) -> int:
        """Seconds that each write phase lasts at least, by the rules."""
        return 30 if self.flag("global", "scc") else 300

    @property
    def hash(self) -> int:
        """The 32 bits that IO500 prints as config-hash."""
        value = 0
        for (_, key), text in self.values.items():
            value ^= hash_text(text, hash_text(key))
        return value

    def listed(self) -> Iterator[str]:
        """Yields the lines of ``config.ini`` in a result directory: every key with its value."""
        for section, keys in SECTIONS.items():
            yield f"[{section}]"
            for key in keys:
                yield f"{key.name} = {self.values.get((section, key.name), '')}"
            yield ""


def hash_text(text: str, value: int = 0) -> int:
    """Computes IO500's hash of a text, on top of ``value``: 32 bits, of which two rotate for each byte."""
    for byte in text.encode():
        value = ((value << 2 | value >> 30) + (byte - 256 if byte > 127 else byte)) & _WORD
    return value


def listed_keys() -> str:
    """Yields every section and key with its default, as a configuration."""
    values = {(section, key.name): key.default for section, keys in SECTIONS.items() for key in keys if key.default}
    return "\n".join(Config(values, "").listed())


def read_config(path: str) -> Config:
    """RequestError, with the line, for what the benchmark does not read."""
    try:
        text = read_text(Path(path))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise RequestError(f"cannot read {path}: {reason}; hint: give an IO500 configuration") from None
    return parse_config(text, path)


def parse_config(text: str, name: str) -> Config:
    """The same of a text; ``name`` is for messages."""
    values = {
        (section, key.name): key.default
        for section, keys in SECTIONS.items()
        for key in keys
        if key.default is not None
    }
    section: str | None = None
    for number, line in enumerate(text.splitlines(), 1):
        where = f"{name}:{number}"
        if found := _SECTION.fullmatch(line):
            section = _section(found[1], where)
        elif found := _PAIR.fullmatch(line):
            if section is None:
                raise RequestError(f"{where}: {found[1]} stands before any section; hint: put [global] above it")
            key = _key(section, found[1], where)
            if (value := found[2].strip()) or key.name in _NEVER_EMPTY:
                values[section, key.name] = _value(section, key, value, where)
        elif not _EMPTY.fullmatch(line):
            raise RequestError(
                f"{where}: {line.strip()!r} is no section and no key; hint: write [SECTION] or KEY = VALUE"
            )
    return Config(values, text)


def _section(name: str, where: str) -> str:
    known = {section.lower(): section for section in SECTIONS}
    if name.lower() not in known:
        hint = nearest(name, SECTIONS, "`tonnage io500 --list` prints all")
        raise RequestError(f"{where}: IO500 has no section [{name}]; hint: {hint}")
    return known[name.lower()]


def _key(section: str, name: str, where: str) -> Key:
    known = {key.name.lower(): key for key in SECTIONS[section]}
    if name.lower() not in known:
        hint = nearest(name, (key.name for key in SECTIONS[section]), "`tonnage io500 --list` prints all")
        raise RequestError(f"{where}: [{section}] has no key {name!r}; hint: {hint}")
    return known[name.lower()]


def _value(section: str, key: Key, value: str, where: str) -> str:
    what = f"{where}: [{section}] {key.name}"
    if key.kind == "bool":
        if (found := _FLAGS.get(value.lower())) is None:
            raise RequestError(f"{what} is TRUE or FALSE, not {value!r}; hint: write {key.name} = TRUE")
        return found
    if key.kind != "text":
        form, told = _FORMS[key.kind]
        if not form.fullmatch(value):
            raise RequestError(f"{what} is {told}, not {value!r}; hint: write {key.name} = {key.default or 100}")
    return value
