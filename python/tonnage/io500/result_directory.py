"""The files of a result directory, in the shape that the benchmark gives them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from tonnage import __version__
from tonnage.analysis.io500 import PhaseFigure, Score, counted, missing_of, score_of
from tonnage.io500.config import Config, hash_text
from tonnage.io500.phase_commands import Step
from tonnage.records.own_files import truncate

VERSION = f"tonnage-{__version__}"
NO_SUBMISSION = "measured by Tonnage, not by the benchmark's own programs: this is no official submission to IO500"
RESULT, SUMMARY = "result.txt", "result_summary.txt"


def now() -> str:
    """As the benchmark writes a time."""
    return datetime.now().strftime("%Y-%m-%d %H:%M:%S")


def pair(key: str, value: str) -> str:
    """Formats a line of ``result.txt``."""
    return f"{key:<15} = {value}"


class ResultDirectory:
    """That of one repetition. A phase's lines are added when it has ended, so that a killed run leaves whole ones."""

    def __init__(self, path: Path, shown: str) -> None:
        """``shown``: the path as the configuration spells it."""
        self.path, self._shown = path, shown

    def begin(self, config: Config, tasks: int, mode: str, problems: Sequence[str]) -> list[str]:
        """Writes the head of both files, and the configuration; the lines of the summary."""
        (self.path / "config-orig.ini").write_text(config.original, encoding="utf-8")
        (self.path / "config.ini").write_text("\n".join(config.listed()) + "\n", encoding="utf-8")
        head = ["[run]", pair("procs", str(tasks)), pair("version", VERSION), pair("config-hash", f"{config.hash:X}")]
        head += [pair("result-dir", self._shown), pair("mode", mode), f"; {NO_SUBMISSION}", f"; START {now()}"]
        self._write(RESULT, [*head, *(f"; ERROR INVALID {problem}" for problem in problems), ""], "w")
        return self._summary([f"IO500 version {VERSION} ({mode})"], "w")

    def sizes(self) -> dict[str, int]:
        """Returns the bytes of both files, by name."""
        return {name: (self.path / name).stat().st_size for name in (RESULT, SUMMARY)}

    def cut_to(self, sizes: Mapping[str, int]) -> None:
        """Takes off what was added since: a phase that is measured again, or the score behind it. OSError for a
        link, RecordError for a file of two names: what they lead to may be somebody else's."""
        for name in sizes.keys() & {RESULT, SUMMARY}:
            # One that was removed has nothing behind that.
            with suppress(FileNotFoundError):
                if (self.path / name).stat().st_size > sizes[name]:
                    truncate(self.path / name, sizes[name])

    def phase(self, step: Step, figure: PhaseFigure, began: str, more: Sequence[str]) -> list[str]:
        """Adds a phase; the lines of the summary. ``more``: lines of ``result.txt`` before the score."""
        lines = ["", f"[{step.name}]", pair("t_start", began), *more]
        lines += [f"; ERROR INVALID {problem}" for problem in figure.problems]
        if step.program != "timestamp":
            lines.append(pair("score", f"{figure.value:f}"))
        self._write(RESULT, [*lines, pair("t_delta", f"{figure.seconds:.4f}"), pair("t_end", now())])
        return self._summary([summary_line(figure)])

    def conclude(self, figures: Sequence[PhaseFigure], mode: str, problems: Sequence[str]) -> list[str]:
        """Adds the score; the lines of the summary."""
        summary = self._score("SCORE", counted(figures), problems)
        if mode == "extended":
            summary += self._score("SCOREX", figures, problems)
        self._write(RESULT, [f"; END {now()}"])
        return self._summary(summary)

    def _score(self, name: str, figures: Sequence[PhaseFigure], problems: Sequence[str]) -> list[str]:
        label = f"[{name:<6}]"
        extended = [figure.name for figure in figures if figure.group and not figure.value]
        if missing := dict.fromkeys((*missing_of(figures), *extended)):
            why = f"none: not measured: {', '.join(missing)}"
            self._write(RESULT, ["", f"[{name}]", f"; ERROR INVALID {why}"])
            return [f"{label} {why} [INVALID]"]
        score, is_valid = score_of(figures), not problems and all(figure.is_valid for figure in figures)
        mark = "" if is_valid else " [INVALID]"
        lines = ["", f"[{name}]", pair("MD", f"{score.metadata:f}"), pair("BW", f"{score.bandwidth:f}")]
        lines += [pair("SCORE", f"{score.total:f}{mark}"), pair("hash", f"{score_hash(figures, score, is_valid):X}")]
        self._write(RESULT, lines)
        told = f"Bandwidth {score.bandwidth:f} GiB/s : IOPS {score.metadata:f} kiops : TOTAL {score.total:f}{mark}"
        return [f"{label} {told}"]

    def _summary(self, lines: list[str], mode: str = "a") -> list[str]:
        self._write(SUMMARY, lines, mode)
        return lines

    def _write(self, name: str, lines: Sequence[str], mode: str = "a") -> None:
        with (self.path / name).open(mode, encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)


def summary_line(figure: PhaseFigure) -> str:
    """Formats the line of a phase in ``result_summary.txt``."""
    label = "[RESULT]" if figure.group else "[      ]"
    mark = "" if figure.is_valid else " [INVALID]"
    return f"{label} {figure.name:>20} {figure.value:>15f} {figure.unit} : time {figure.seconds:.3f} seconds{mark}"


def score_hash(figures: Sequence[PhaseFigure], score: Score, is_valid: bool) -> int:
    """The 32 bits over version, figures and score that the benchmark prints beside them."""
    found = 0
    for key, value in _hashed(figures, score, is_valid):
        found ^= hash_text(value, hash_text(key))
    return found


def _hashed(figures: Sequence[PhaseFigure], score: Score, is_valid: bool) -> Iterator[tuple[str, str]]:
    yield "version", VERSION
    for figure in figures:
        if figure.group:
            yield figure.name, f"{figure.value:f}"
    yield "MD", f"{score.metadata:f}"
    yield "BW", f"{score.bandwidth:f}"
    yield "SCORE", f"{score.total:f}"
    if not is_valid:
        yield "valid", "NO"
