"""A user's own words for a scheduler's command, read as that command reads them, so that none undoes a submission."""

from __future__ import annotations

from dataclasses import dataclass

from tonnage.errors import RequestError


@dataclass(frozen=True, slots=True)
class OwnWords:
    """How one scheduler's command reads its options, and which of them are not the user's."""

    refused: tuple[str, ...]
    """Tonnage gives them itself, or they would undo the submission."""
    flags: tuple[str, ...] = ()
    """Options whose value, if they have one, stands in the same word: a word behind them is a program."""
    values: str | None = None
    """Letters of short options that take a value, where several may share a word (getopt); None: a word of one dash
    is one option, which may have its value behind it."""

    def check(self, words: tuple[str, ...], scheduler: str) -> None:
        """RequestError for what is refused, however it is abbreviated, and for a word that is no option."""
        awaited = False
        for word in words:
            if word in ("-", "--") or not (awaited or word.startswith("-")):
                raise RequestError(
                    f"the scheduler's options have {word!r}, which is none; hint: write --option=value in one word"
                )
            # A value that looks like a refused option is refused as well: which it is, only the command knows.
            if word.startswith("-") and (name := self._refused(word)) is not None:
                told = "" if word.startswith(name) else f" (in {word!r})"
                raise RequestError(f"{name} of {scheduler} is given by tonnage itself{told}; hint: leave it out")
            awaited = word.startswith("-") and self._awaits_value(word)

    def _refused(self, word: str) -> str | None:
        """The refused option that a word is, or could be."""
        if word.startswith("--"):
            # Of a long option any beginning that no other has will do.
            name = word.partition("=")[0]
            return next((one for one in self.refused if one.startswith("--") and one.startswith(name)), None)
        if self.values is None:
            return next((one for one in self.refused if one in (word, word[:2])), None)
        given = (f"-{letter}" for letter in self._cluster(word, self.values))
        return next((one for one in given if one in self.refused), None)

    @staticmethod
    def _cluster(word: str, values: str) -> str:
        """The letters of a word that are options: the first that takes a value is the last."""
        found = ""
        for letter in word[1:]:
            found += letter
            if letter in values:
                break
        return found

    def _awaits_value(self, word: str) -> bool:
        if word.startswith("--"):
            return "=" not in word and not any(flag.startswith(word) for flag in self.flags)
        if self.values is None:
            return word not in self.flags
        letters = self._cluster(word, self.values)
        return letters[-1:] in [*self.values] and len(letters) == len(word) - 1
