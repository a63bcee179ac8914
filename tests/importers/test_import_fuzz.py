"""Whatever a file holds, each importer reads it or tells of it by its line: no traceback, and no wrong unit."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tonnage.cli import main
from tonnage.importers.file_kinds import KINDS, reader
from tonnage.importers.imported_phases import ImportedFile
from tonnage.importers.rounded_numbers import LARGEST

from .import_command import RECORDED
from .test_import_kinds import WHOLE
from .test_import_texts import ROUNDED
from .test_import_texts import WHOLE as TEXTS

FILES = (
    *WHOLE,
    *TEXTS,
    *ROUNDED,
    ("ior", "ior/ext4-fpp-wr-3reps.txt"),
    ("ior", "ior/ext4-json.txt"),
    ("ior", "ior/ext4-csv.txt"),
    ("ior", "ior/3.0.1.txt"),
    ("ior", "ior/3.2.1-json.txt"),
)
PIECES = st.one_of(
    st.binary(max_size=20),
    st.sampled_from(
        [b"\n", b"0", b"-1", b"9" * 30, b"1e99", b"nan", b"null", b"[]", b"{}", b'"', b",", b"}", b"  ", b"-"]
    ),
)
COMMON = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])


def holds(found: ImportedFile, data: bytes, kind: str) -> None:
    """Figures fit the records, and each problem's line is one of the file, where it has lines."""
    has_lines = kind != "darshan" and not data.startswith((b"PK\x03\x04", b"\x1f\x8b"))
    count = len(data.decode("utf-8", "replace").replace("\r\n", "\n").split("\n"))
    for problem in found.problems:
        line = re.match(r"line (\d+): ", problem)
        assert not has_lines or problem.startswith("and ") or (line and 1 <= int(line[1]) <= count), problem
    for phase in found.phases:
        assert 0 < phase.elapsed_ns < LARGEST
        for value in (phase.bytes, phase.operations, *(phase.latency or {}).values()):
            assert value is None or (isinstance(value, int) and 0 <= value < LARGEST)
        assert phase.setting["tasks"] >= 1
        assert 1 <= phase.line <= count
        assert found.tool
        for start, end, moved in phase.series:
            assert 0 <= start < end < LARGEST and 0 <= moved < LARGEST


@pytest.mark.parametrize(("kind", "name"), FILES)
def test_a_file_with_any_holes_is_read_or_told(kind: str, name: str) -> None:
    whole = (RECORDED / name).read_bytes()

    @COMMON
    @given(st.lists(st.tuples(st.integers(0, len(whole)), PIECES, st.integers(0, 60)), min_size=1, max_size=4))
    def damage(cuts: list[tuple[int, bytes, int]]) -> None:
        data = whole
        for begin, put, length in cuts:
            data = data[:begin] + put + data[begin + length :]
        holds(reader(kind)(data, name), data, kind)

    damage()


@pytest.mark.parametrize("kind", KINDS)
def test_any_bytes_are_read_or_told(kind: str) -> None:
    @COMMON
    @given(st.binary(max_size=400))
    def anything(data: bytes) -> None:
        found = reader(kind)(data, "a_bw.1.log")
        holds(found, data, kind)
        assert found.phases or found.problems or not data.strip()

    anything()


@pytest.mark.parametrize(("kind", "name"), FILES)
def test_a_file_cut_anywhere_says_no_other_rate_than_the_whole_one(kind: str, name: str) -> None:
    """A number that lost its last digits would be one in another unit."""
    whole = (RECORDED / name).read_bytes()
    known: dict[tuple[str, int], list[float]] = {}
    for phase in reader(kind)(whole, name).phases:
        known.setdefault((phase.phase, phase.line), []).append(phase.operations / phase.elapsed_ns)
    step = max(1, len(whole) // 150)
    for end in range(0, len(whole), step):
        found = reader(kind)(whole[:end], name)
        holds(found, whole[:end], kind)
        for phase in found.phases:
            rates = known.get((phase.phase, phase.line), [])
            own = phase.operations / phase.elapsed_ns
            # A log, a trace and a run that has not come to its totals are as long as what is left of them, and fio's
            # lines do not say how many jobs of a name there were.
            growing = kind in ("fio-log", "fio-terse", "ior-operations", "nextflow") or any(
                note.code == "cut-short" for note in phase.notes
            )
            assert growing or not rates or any(own == pytest.approx(rate, rel=0.01) for rate in rates), end


@pytest.mark.parametrize(("kind", "name"), FILES)
def test_half_a_file_becomes_a_run_or_is_refused_in_one_line(
    kind: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / Path(name).name
    data = (RECORDED / name).read_bytes()
    path.write_bytes(data[: len(data) * 2 // 3])
    code = main(["import", kind, str(path), "--out", str(tmp_path / "run"), "--no-report"])
    told = capsys.readouterr().err.splitlines()
    if code == 0:
        assert main(["verify", str(tmp_path / "run")]) == 0
    else:
        assert code == 2
        assert len(told) == 1
        assert told[0].startswith(f"tonnage: error: nothing to import: {path}, line ")
