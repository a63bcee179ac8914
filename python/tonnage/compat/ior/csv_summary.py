"""``summaryFormat=CSV``: a head and a line a row, nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from tonnage.compat.ior.number_format import MEBIBYTE
from tonnage.compat.ior.results import Row, TestResult

HEAD = "access,bw(MiB/s),IOPS,Latency,block(KiB),xfer(KiB),open(s),wr/rd(s),close(s),total(s),numTasks,iter"


class CsvPrinter:
    """Rows as they come; whatever else there is to say goes elsewhere."""

    live = False

    def __init__(self, out: TextIO, _command_line: Sequence[str]) -> None:
        self._out = out

    def begin(self, verbose: int) -> None:
        """Prints nothing."""

    def test(self, result: TestResult) -> None:
        """Prints nothing."""

    def table(self, _result: TestResult, _signature: int) -> None:
        """Prints a heading for each test, as IOR does."""
        self._say(HEAD)

    def row(self, result: TestResult, row: Row) -> None:
        """A phase was measured."""
        test = result.test
        numbers = (
            row.bandwidth / MEBIBYTE, row.iops, row.latency, test.block_size / 1024, test.transfer_size / 1024,
            row.open, row.transfer, row.close, row.total,
        )  # fmt: skip
        self._say(
            ",".join([row.access, *(f"{number:.4f}" for number in numbers), f"{test.num_tasks},{row.repetition}"])
        )

    def warning(self, text: str) -> None:
        """Prints nothing: a reader expects columns."""

    def remark(self, text: str) -> None:
        """Prints nothing."""

    def ended(self, result: TestResult) -> None:
        """Prints nothing."""

    def finish(self, results: Sequence[TestResult]) -> None:
        """Prints nothing."""

    def _say(self, line: str) -> None:
        self._out.write(f"{line}\n")
        self._out.flush()
