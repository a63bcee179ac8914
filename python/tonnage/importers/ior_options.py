"""What IOR was asked for, from its command line: whatever a file states as an option is part of its trials' setting.

Names are those of IOR's directives (``-O checkWrite=1``, ``-W``), whatever the case and the version.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from tonnage.importers.rounded_numbers import letters

_FLAGS = {
    "B": "useO_DIRECT", "c": "collective", "C": "reorderTasksConstant", "e": "fsync", "E": "useExistingTestFile",
    "F": "filePerProc", "g": "intraTestBarriers", "h": "showHelp", "H": "showHints", "I": "individualDataSets",
    "k": "keepFile", "K": "keepFileWithError", "m": "multiFile", "n": "noFill", "p": "preallocate",
    "P": "useSharedFilePointer", "q": "quitOnError", "r": "readFile", "R": "checkRead", "S": "useStridedDatatype",
    "u": "uniqueDir", "v": "verbose", "V": "useFileView", "w": "writeFile", "W": "checkWrite",
    "x": "singleXferAttempt", "y": "dualMount", "Y": "fsyncPerWrite", "z": "randomOffset", "Z": "reorderTasksRandom",
}  # fmt: skip
_VALUES = {
    "a": "api", "A": "refNum", "b": "blockSize", "d": "interTestDelay", "D": "deadlineForStonewalling",
    "f": "scriptFile", "G": "setTimeStampSignature", "i": "repetitions", "j": "outlierThreshold", "J": "setAlignment",
    "l": "dataPacketType", "M": "memoryPerNode", "N": "numTasks", "o": "testFile", "O": "", "Q": "taskPerNodeOffset",
    "s": "segmentCount", "t": "transferSize", "T": "maxTimeDuration", "U": "hintsFileName",
    "X": "reorderTasksRandomSeed",
}  # fmt: skip
"""By letter, those with a word of their own; ``-O`` has directives."""
_OTHER_NAMES = {
    "posix.odirect": "useO_DIRECT", "tasks": "numTasks", "random-offset-seed": "randomOffsetSeed",
    "fsyncperwrite": "fsyncPerWrite", "reordertasks": "reorderTasksConstant",
    "deadlineforstonewall": "deadlineForStonewalling", "stonewallingtime": "deadlineForStonewalling",
    "task offset": "taskPerNodeOffset", "mpiio.preallocate": "preallocate", "mpiio.usefileview": "useFileView",
    "mpiio.usestrideddatatype": "useStridedDatatype", "mpiio.hintsfilename": "hintsFileName",
    "mpiio.showhints": "showHints",
}  # fmt: skip
_CANONICAL = {name.lower(): name for name in (*_FLAGS.values(), *_VALUES.values()) if name} | _OTHER_NAMES
_LONG_VALUES = frozenset({"randomprefill", "datapackettype", "random-offset-seed", "tasks", "mpiio.hintsfilename"})
PLACED = frozenset(
    {
        *("api", "blockSize", "filePerProc", "numTasks", "testFile", "transferSize", "segmentCount", "randomOffset"),
        *("reorderTasksConstant", "reorderTasksRandom", "fsync", "fsyncPerWrite", "useO_DIRECT", "readFile"),
        *("writeFile", "tasksPerNode", "nodes"),
    }
)
"""Options that a setting has under the names of a ``stream``."""
_NO_MATTER = frozenset(
    {
        *("refNum", "verbose", "repetitions", "summaryFile", "summaryFormat", "saveRankPerformanceDetailsCSV"),
        *("savePerOpDataCSV", "outlierThreshold", "maxTimeDuration", "setTimeStampSignature", "randomOffsetSeed"),
        *("reorderTasksRandomSeed", "keepFile", "keepFileWithError", "warningAsErrors", "stoneWallingStatusFile"),
        *("showHints", "showHelp", "quitOnError", "scriptFile", "testID", "platform", "dryRun"),
    }
)
"""What is printed or kept, how often, and what random numbers begin with: no trial differs by it."""
_OF_READS = frozenset({"checkRead", "taskPerNodeOffset"})
_OF_WRITES = frozenset({"useExistingTestFile"})
_NOT_OF = {"write": PLACED | _NO_MATTER | _OF_READS, "read": PLACED | _NO_MATTER | _OF_WRITES}
_SIZE = re.compile(r"[0-9]+[kmgt]i?b?\Z", re.IGNORECASE | re.ASCII)


class Options(dict[str, str]):
    """Directive → value as it was given; a flag's is how often it was. Empty where nothing is known."""

    def on(self, name: str) -> bool:
        return self.get(name, "0") not in ("0", "")

    @property
    def scripted(self) -> bool:
        """The tests' options stand in a file of which IOR prints only a part."""
        return "scriptFile" in self

    @property
    def ops(self) -> tuple[str, ...]:
        """Which of write and read each test does; both where none is asked for."""
        asked = [op for op, names in _ASKED.items() if any(map(self.on, names))]
        if any(map(self.on, ("writeFile", "readFile", "checkRead", "checkWrite"))):
            return tuple(asked)
        return tuple(_ASKED)

    def factors(self, op: str) -> dict[str, object]:
        """What of them is no other part of a setting, and can matter to ``op``."""
        left_out = _NOT_OF[op]
        kept = {name: _value(value) for name, value in self.items() if name not in left_out}
        if self.get("randomOffset", "0") not in ("0", "1"):
            kept["randomOffset"] = _value(self["randomOffset"])
        return {name: value for name, value in kept.items() if value not in (0, "")}


_ASKED = {"write": ("writeFile",), "read": ("readFile", "checkRead")}


def options_of(words: Sequence[str]) -> Options:
    """Of a command line, which begins with the program."""
    found = Options()
    rest = list(words[1:])
    while rest:
        word = rest.pop(0)
        if word.startswith("--"):
            name, equal, value = word[2:].partition("=")
            if not equal and name.lower() in _LONG_VALUES and rest:
                value = rest.pop(0)
            found[canonical(name)] = value if equal or value else "1"
        elif word.startswith("-") and len(word) > 1:
            _letters(found, word[1:], rest)
        else:
            # Nothing of IOR's: it was typed for a reason, and keeps trials apart.
            found["words"] = f"{found['words']} {word}" if "words" in found else word
    return found


def _letters(found: Options, word: str, rest: list[str]) -> None:
    """``-wrF``, ``-t 1m``, ``-t1m`` and ``-t=1m``."""
    while word:
        letter, word = word[0], word[1:]
        if letter not in _VALUES:
            name = _FLAGS.get(letter, f"-{letter}")
            found[name] = str(int(found.get(name, "0")) + 1)
            continue
        # A letter of 2.10 had no word of its own.
        alone = letter == "l" and not word and (not rest or rest[0].startswith("-"))
        value = word.removeprefix("=") or ("" if alone or not rest else rest.pop(0))
        if letter == "O":
            found.update(_directives(value))
        else:
            found[_VALUES[letter]] = value or "1"
        return


def _directives(text: str) -> dict[str, str]:
    pairs = [part.partition("=") for part in text.split(",") if part.strip()]
    return {canonical(name.strip()): value.strip() if equal else "1" for name, equal, value in pairs}


def directive(name: str) -> str | None:
    """Returns the name of a directive, whatever the case and the version; None where this is none."""
    return _CANONICAL.get(name.lower())


def canonical(name: str) -> str:
    """Returns the same, or the name itself."""
    return directive(name) or name


def of_parameters(table: Mapping[str, object]) -> Options:
    """Of the JSON's ``Parameters``, which has every directive of each test with a number."""
    pairs = {canonical(str(name)): str(value) for name, value in table.items()}
    left_out = ("options", "data packet type", "setTimeStampSignature/incompressibleSeed", "dataPacketType", "testID")
    known = {name: value for name, value in pairs.items() if name not in left_out}
    return Options({name: value for name, value in known.items() if value not in ("0", "", "(null)", "-1")})


@lru_cache(maxsize=1024)
def _value(text: str) -> object:
    """A number, a size in bytes, or the text itself."""
    if _SIZE.match(text):
        return letters(text) or text
    return int(text) if re.fullmatch(r"[0-9]{1,18}", text, re.ASCII) else text
