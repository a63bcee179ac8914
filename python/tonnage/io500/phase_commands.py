"""The phases of IO500 in its order, and the command line of IOR, mdtest or find that each of them is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tonnage.io500.config import Config, hash_text

Group = Literal["MD", "BW"]
Program = Literal["ior", "mdtest", "find", "timestamp"]


@dataclass(frozen=True, slots=True)
class RepetitionPaths:
    """Where a repetition works. Paths are as the configuration spells them."""

    data: str
    results: str
    timestamp: str

    def seed(self, of: str) -> int:
        """Returns the signature of the data of a pair of phases, from its name and the time stamp: 32 bits with a
        sign."""
        found = hash_text(self.timestamp, hash_text(of))
        found = 4711 if found in (0, 0xFFFFFFFF) else found
        return found - (1 << 32) if found >> 31 else found


@dataclass(frozen=True, slots=True)
class Step:
    """One phase."""

    name: str
    program: Program
    section: str
    """The section that it shares with others, ``ior-easy``; its own is of its name."""
    group: Group | None = None
    """Which of the two means its figure is part of; None: neither."""
    is_write: bool = False
    """Whether the rules set the least time that it takes."""
    is_removal: bool = False
    is_extended: bool = False
    """Whether it is part of the extended mode only."""
    words: Callable[[Config, RepetitionPaths], list[str]] = lambda *_: []
    """The command line of its program, as IO500 makes it."""

    @property
    def unit(self) -> str:
        """Of its figure, as the summary prints it."""
        return "GiB/s" if self.name.startswith("i") else "kIOPS"

    def is_on(self, config: Config) -> bool:
        """Whether the configuration lets it run."""
        if self.program == "timestamp":
            return True
        return config.flag(self.name, "run") and (self.section == self.name or config.flag(self.section, "run"))


def _api(config: Config, step: str, section: str) -> list[str]:
    """``-a`` with the options of the API that follow it: of the phase, of its pair, or of all."""
    named = config.text_if(step, "API") or config.text_if(section, "API") or config.text("global", "api")
    return ["-a", *named.split()]


def _verbose(config: Config, section: str) -> list[str]:
    return ["-v"] * (config.number_if(section, "verbosity") or 0)


def _memory(config: Config, words: list[str]) -> list[str]:
    return words if config.flag("global", "io-buffers-on-gpu") else []


def _packet(config: Config) -> str:
    return f"--dataPacketType={config.text('global', 'dataPacketType')}"


def _ior_easy(config: Config, place: RepetitionPaths, step: str, more: list[str], *, whole: bool = True) -> list[str]:
    one_each = config.flag("ior-easy", "filePerProc")
    words = [_packet(config), *_verbose(config, "ior-easy"), *_memory(config, ["-O", "allocateBufferOnGPU=1"])]
    words += ["-g", "-G", str(place.seed("ior-easy")), "-k", "-e", "-o", f"{place.data}/ior-easy/ior_file_easy"]
    if whole:
        words += ["-C", "-Q", "1", "-O", f"stoneWallingStatusFile={place.results}/ior-easy.stonewall"]
        words += ["-t", config.text("ior-easy", "transferSize"), "-b", config.text("ior-easy", "blockSize")]
    words += ["-u"] * config.flag("ior-easy", "uniqueDir") + ["-F"] * one_each
    csv = ["-O", f"saveRankPerformanceDetailsCSV={place.results}/{step}.csv"]
    return [*words, *more, *_api(config, step, "ior-easy"), *csv]


def _ior_easy_write(config: Config, place: RepetitionPaths) -> list[str]:
    limit = ["-w", "-D", str(config.stonewall_s), "-O", "stoneWallingWearOut=1"]
    return _ior_easy(config, place, "ior-easy-write", limit)


def _ior_easy_read(config: Config, place: RepetitionPaths) -> list[str]:
    return _ior_easy(config, place, "ior-easy-read", ["-r", "-R"])


def _random_read(config: Config, place: RepetitionPaths) -> list[str]:
    limit = ["-r", "-D", str(config.stonewall_s), "-z", "-z"]
    words = _ior_easy(config, place, "ior-rnd4K-easy-read", limit, whole=False)
    words += ["-t=4096", "-b=4096", "-s=10000000", "-O", "stoneWallingWearOut=1"]
    return words + ["-C", "-Q", "2"] * config.flag("ior-easy", "filePerProc")


def _ior_hard(config: Config, place: RepetitionPaths, step: str, more: list[str]) -> list[str]:
    words = [_packet(config), *_verbose(config, "ior-hard"), *_memory(config, ["-O", "allocateBufferOnGPU=1"])]
    words += ["-C", "-Q", "1", "-g", f"-G={place.seed('ior-hard')}", "-k", "-e", "-o", f"{place.data}/ior-hard/file"]
    words += ["-O", f"stoneWallingStatusFile={place.results}/ior-hard.stonewall", "-t", "47008", "-b", "47008"]
    words += ["-s", config.text("ior-hard", "segmentCount"), *more]
    collective = config.text_if(step, "collective") or config.text_if("ior-hard", "collective")
    words += ["-c"] * (collective == "TRUE") + _api(config, step, "ior-hard")
    return [*words, "-O", f"saveRankPerformanceDetailsCSV={place.results}/{step}.csv"]


def _ior_hard_write(config: Config, place: RepetitionPaths) -> list[str]:
    limit = ["-w", "-D", str(config.stonewall_s), "-O", "stoneWallingWearOut=1"]
    return _ior_hard(config, place, "ior-hard-write", limit)


def _ior_hard_read(config: Config, place: RepetitionPaths) -> list[str]:
    return _ior_hard(config, place, "ior-hard-read", ["-r", "-R"])


def _mdtest(section: str, verb: str, *more: str) -> Callable[[Config, RepetitionPaths], list[str]]:
    def words(config: Config, place: RepetitionPaths) -> list[str]:
        step, seed = f"{section}-{verb}", place.seed(section)
        found = [_packet(config), *_memory(config, ["--allocateBufferOnGPU"]), "-n", config.text(section, "n")]
        if section == "mdtest-easy":
            found += ["-u", "-L", "-F", "-P", "-G", str(seed), "-N", "1"]
        else:
            found += [f"-I={each}"] if (each := config.number_if(section, "files-per-dir")) else []
            found += ["-t", "-w", "3901", "-e", "3901", "-P", f"-G={seed}", "-N", "1", "-F"]
        found += ["-d", f"{place.data}/{section}", "-x", f"{place.results}/{section}.stonewall", *more]
        if verb == "write" and not (section == "mdtest-hard" and config.number_if(section, "files-per-dir")):
            found += ["-W", str(config.stonewall_s)]
        return [*found, f"--saveRankPerformanceDetails={place.results}/{step}.csv", *_api(config, step, section)]

    return words


def _find(below: str, *criteria: str) -> Callable[[Config, RepetitionPaths], list[str]]:
    def words(_: Config, place: RepetitionPaths) -> list[str]:
        return [f"{place.data}{below}", *(one.replace("RESULTS", place.results) for one in criteria)]

    return words


def _of_mdtest(name: str, *options: str, is_write: bool = False, is_removal: bool = False) -> Step:
    section, _, verb = name.rpartition("-")
    words = _mdtest(section, verb, *options)
    return Step(name, "mdtest", section, "MD", is_write=is_write, is_removal=is_removal, words=words)


_NEW = ("-newer", "RESULTS/timestampfile", "-size", "3901c")
_NAME = ("-name", "*01*")

STEPS = (
    Step("ior-easy-write", "ior", "ior-easy", "BW", is_write=True, words=_ior_easy_write),
    _of_mdtest("mdtest-easy-write", "-C", "-Y", is_write=True),
    Step("timestamp", "timestamp", "timestamp"),
    Step("find-easy", "find", "find-easy", "MD", is_extended=True, words=_find("/mdtest-easy/", *_NAME)),
    Step("ior-hard-write", "ior", "ior-hard", "BW", is_write=True, words=_ior_hard_write),
    _of_mdtest("mdtest-hard-write", "-C", "-Y", is_write=True),
    Step("find", "find", "find", "MD", words=_find("", *_NEW, *_NAME)),
    Step("find-hard", "find", "find-hard", "MD", is_extended=True, words=_find("/mdtest-hard/", *_NEW, *_NAME)),
    Step("ior-easy-read", "ior", "ior-easy", "BW", words=_ior_easy_read),
    _of_mdtest("mdtest-easy-stat", "-T"),
    Step("ior-hard-read", "ior", "ior-hard", "BW", words=_ior_hard_read),
    _of_mdtest("mdtest-hard-stat", "-T"),
    _of_mdtest("mdtest-easy-delete", "-r", is_removal=True),
    _of_mdtest("mdtest-hard-read", "-E", "-X"),
    _of_mdtest("mdtest-hard-delete", "-r", is_removal=True),
    Step("ior-rnd4K-easy-read", "ior", "ior-easy", words=_random_read),
)  # fmt: skip
"""In the order in which they are run."""


def steps_of(mode: str) -> Iterator[Step]:
    """Those of ``standard`` or ``extended`` mode; without the phases of md-workbench, which this build lacks."""
    return (step for step in STEPS if mode == "extended" or not step.is_extended)


def directories(data: Path) -> tuple[Path, ...]:
    """Those below the data directory that are made before the first phase."""
    return tuple(data / name for name in ("ior-easy", "ior-hard", "mdtest-easy", "mdtest-hard"))
