"""What a user asks of a submission: the options, from a command line or from Python, and the request made of them."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Literal

from tonnage.cluster.array_numbers import Numbers, count_of, parse_numbers, upto
from tonnage.cluster.job_terms import Dependency, Event, Mail, Terms
from tonnage.command_option import EMPTY
from tonnage.errors import RequestError
from tonnage.placement.task_caps import USUAL_TRANSFER
from tonnage.units import parse_count

_KEY = re.compile(r"[A-Za-z0-9._-]{1,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitRequest:
    """What a user asks for."""

    argv: tuple[str, ...]
    key: str
    path: str | None = None
    """Whose servers count; None: the working directory's."""
    name: str | None = None
    queue: str | None = None
    slots: int = 1
    numbers: Numbers = ()
    """Of its copies; none: it is no array."""
    cap: int | Literal["auto"] = "auto"
    output: str | None = None
    error: str | None = None
    directory: str | None = None
    """Where it runs; None: here."""
    hosts: tuple[str, ...] = ()
    """Where it is to run, whatever holds the data; best first."""
    prefer: bool = False
    """``hosts`` are a preference, not a requirement."""
    input: str | None = None
    terms: Terms = field(default_factory=Terms)
    pty: bool = False
    profile: Path | None = None
    transfer_size: int = USUAL_TRANSFER
    """Bytes of its operations: its load line is the nearest that is known."""
    io_share: float | None = None
    anywhere: bool = False
    served: bool = False
    """Only where a file server holds the data: a disk of this host, which the site file does not name, is none."""
    scheduler: str | None = None
    local_wait_ns: int | None = None
    site_file: Path | None = None

    @property
    def copies(self) -> int | None:
        """How many there are of it; None: it is no array."""
        return count_of(self.numbers) if self.numbers else None


def parse_cap(text: str) -> int | Literal["auto"]:
    """A number of copies, or ``auto``."""
    return "auto" if text == "auto" else parse_count(text)


def parse_copies(text: str) -> tuple[Numbers, int | None]:
    """The numbers of the copies, and how many of them run at once where ``%`` says so."""
    number, percent, at_once = text.partition("%")
    if not number.isalnum():
        return parse_numbers(text)
    # A mere number is how many.
    return upto(parse_count(number)), parse_count(at_once) if percent else None


def parse_key(text: str) -> str:
    """The name of a submission; RequestError where a scheduler could not keep it."""
    if not _KEY.fullmatch(text):
        raise RequestError(f"{text!r} cannot be a key; hint: up to 64 letters, digits, '.', '_' and '-'")
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitOptions:
    """The options of ``tonnage submit`` that are about the job, as they were read; None: not given."""

    queue: str | None = None
    output: str | None = None
    error: str | None = None
    tasks: int | None = None
    name: str | None = None
    input: str | None = None
    time_limit: int | None = None
    """Nanoseconds, as ``local_wait``."""
    account: str | None = None
    memory: int | None = None
    gpus: int | None = None
    dependency: Dependency | None = None
    mail: tuple[Event, ...] | None = None
    mail_to: str | None = None
    exclusive: bool = False
    scheduler_options: Sequence[tuple[str, ...]] | None = None
    copies: tuple[Numbers, int | None] | None = None
    cap: int | Literal["auto"] | None = None
    path: str | None = None
    profile: str | None = None
    transfer: int | None = None
    io_share: float | None = None
    anywhere: bool = False
    key: str | None = None
    scheduler: str | None = None
    local_wait: int | None = None
    site: str | None = None

    def request(self, program: Sequence[str]) -> SubmitRequest:
        """Makes the request for this program and its arguments; RequestError where they contradict each other."""
        self._refuse(program)
        numbers, at_once = self.copies or ((), None)
        return SubmitRequest(
            argv=tuple(program),
            # Drawn where the user gives none: it names the job in the scheduler and in the ledger.
            key=self.key or os.urandom(8).hex(),
            path=self.path,
            name=self.name,
            queue=self.queue,
            slots=self.tasks or 1,
            numbers=numbers,
            cap=at_once or self.cap or "auto",
            output=self.output,
            error=self.error,
            input=self.input,
            terms=self._terms(),
            profile=None if self.profile is None else Path(self.profile),
            transfer_size=self.transfer or USUAL_TRANSFER,
            io_share=self.io_share,
            anywhere=self.anywhere,
            scheduler=self.scheduler,
            local_wait_ns=self.local_wait,
            site_file=None if self.site is None else Path(self.site),
        )

    def _refuse(self, program: Sequence[str]) -> None:
        at_once = None if self.copies is None else self.copies[1]
        empty = next((one.name.replace("_", "-") for one in fields(self) if getattr(self, one.name) == ""), None)
        for wrong, told in (
            (
                not program or not program[0],
                "there is no command to submit; hint: give the program and its words",
            ),
            (
                any("\0" in word for word in program),
                "a word of the command holds a NUL; hint: no program can be given that",
            ),
            (self.path == "", "--path is empty; hint: leave it out for the working directory"),
            (empty is not None, f"--{empty}: {EMPTY}"),
            (self.time_limit == 0, "--time-limit=0 is no time; hint: leave it out, or write it like 2h"),
            (
                isinstance(self.cap, int) and self.copies is None,
                "--cap counts copies; hint: add --copies=8, or as many as there are",
            ),
            (
                self.profile is not None and self.io_share is not None,
                "--profile and --io-share say the same thing; hint: give one of them",
            ),
            (
                at_once is not None and self.cap is not None,
                "--cap and the % of --copies say the same thing; hint: give one of them",
            ),
            (
                self.mail_to is not None and self.mail is None,
                "--mail-to says to whom, and not when; hint: add --mail=end,fail",
            ),
            (self.transfer == 0, "--transfer=0 moves nothing; hint: write it like 1MiB"),
            (self.memory == 0, "--memory=0 is no memory; hint: write it like 4GiB"),
        ):
            if wrong:
                raise RequestError(told)

    def _terms(self) -> Terms:
        return Terms(
            time_limit_s=None if self.time_limit is None else -(-self.time_limit // 10**9),
            account=self.account,
            memory_bytes=self.memory,
            gpus=self.gpus,
            dependency=self.dependency,
            mail=None if self.mail is None else Mail(self.mail, self.mail_to),
            exclusive=self.exclusive,
            words=tuple(word for words in self.scheduler_options or () for word in words),
        )
