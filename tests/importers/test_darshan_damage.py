"""Logs of which bytes are changed: they are refused or told of, and never pass for another job or one without I/O."""

from __future__ import annotations

import bz2
import struct
import zlib
from dataclasses import replace
from pathlib import Path

import pytest
from tonnage.cli import main
from tonnage.importers.darshan_log import UnreadableLog, read_log
from tonnage.importers.darshan_regions import BadHeader, regions_of
from tonnage.importers.darshan_use import use_of

from .darshan_logs import LOGS, log, needs_darshan, use

COMPRESSION, FIRST_PLACE, HEAD = 16, 32, 1328
WHOLE = sorted(path.stem for path in LOGS.glob("*.darshan") if path.stem != "own-dxt-damaged")


def place_of(data: bytes, number: int) -> tuple[int, int]:
    """Start and length; 0 is that of the names, and those of modules follow."""
    start, length = struct.unpack_from("<QQ", data, FIRST_PLACE + 16 * number)
    return start, length


def used_places(data: bytes) -> list[int]:
    return [number for number in range(65) if place_of(data, number)[1]]


def changed(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :]


@pytest.mark.parametrize("name", WHOLE)
def test_a_whole_log_is_whole(name: str) -> None:
    found = regions_of(log(name).read_bytes())
    parts = [part for part in (found.job, found.names, *found.modules) if part is not None]
    assert not found.gaps and not any(part.cut or part.wrong for part in parts)


def test_each_changed_byte_of_what_is_compressed_is_seen() -> None:
    whole = log("shared").read_bytes()
    for at in range(HEAD, len(whole)):
        found = regions_of(changed(whole, at))
        parts = [part for part in (found.job, found.names, *found.modules) if part is not None]
        assert [part.start <= at < part.end for part in parts] == [part.wrong for part in parts], at


def test_each_changed_place_is_seen() -> None:
    whole = log("shared").read_bytes()
    for number in used_places(whole):
        for at in range(FIRST_PLACE + 16 * number, FIRST_PLACE + 16 * number + 16):
            found = regions_of(changed(whole, at))
            parts = [part for part in (found.job, found.names, *found.modules) if part is not None]
            assert found.gaps or any(part.cut or part.wrong for part in parts), at


def test_parts_of_several_streams_and_those_of_bzip2_are_examined() -> None:
    """Each rank of a program writes a stream of its own."""

    def made(compression: int, names: bytes, job: bytes) -> bytes:
        head = struct.pack("<8sqB7xQ", b"3.41", 6567223, compression, 0)
        places = struct.pack("<QQ", HEAD + len(job), len(names)) + bytes(16 * 64 + 4 * 64)
        return head + places + job + names

    job = bytes(2000)
    for compression, pack in ((0, zlib.compress), (1, bz2.compress), (2, bytes)):
        names = pack(b"one" * 999) + pack(b"two")
        found = regions_of(made(compression, names, pack(job)))
        assert found.names is not None and not found.gaps
        assert not (found.job.wrong or found.names.wrong), compression
        broken = regions_of(made(compression, names[:-1], pack(job)))
        assert broken.names is not None and broken.names.wrong == (compression != 2)
    assert regions_of(made(2, b"names", zlib.compress(job))).job.wrong, (
        "it is too short to be one that is not compressed"
    )
    assert regions_of(made(7, b"names", job)).job.wrong


def test_a_log_that_ends_within_its_header_has_no_places() -> None:
    with pytest.raises(BadHeader, match="within its header"):
        regions_of(log("shared").read_bytes()[: HEAD - 1])


@needs_darshan
@pytest.mark.parametrize("number", [-1, 0])
def test_a_log_whose_job_or_names_are_damaged_is_refused(number: int) -> None:
    whole = log("shared").read_bytes()
    start = HEAD if number < 0 else place_of(whole, number)[0]
    with pytest.raises(UnreadableLog, match=r"not agree with the check sum"):
        read_log(changed(whole, start + 20))
    with pytest.raises(UnreadableLog, match="cut off within"):
        read_log(whole[: start + 20])


@needs_darshan
def test_a_module_that_is_damaged_is_left_out_and_the_others_are_as_they_were() -> None:
    whole = log("bursts").read_bytes()
    _, posix, stdio, _ = used_places(whole)
    left = use_of(read_log(changed(whole, place_of(whole, stdio)[0] + 30)))
    assert left.problems == ("module STDIO does not agree with its check sum; it is left out",)
    assert left.file_systems[0].files == use("bursts").file_systems[0].files - 1
    left = use_of(read_log(changed(whole, place_of(whole, posix)[0] + 30)))
    assert left.problems == ("module POSIX does not agree with its check sum; it is left out",)
    assert left.file_systems[0].files == 1


@needs_darshan
@pytest.mark.parametrize("damage", ["bytes", "place", "length", "names", "compression"])
def test_a_damaged_log_is_never_called_a_job_that_opened_no_file(
    damage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = log("shared").read_bytes()
    _, posix, _ = used_places(whole)
    at = FIRST_PLACE + 16 * posix
    data = {
        "bytes": changed(whole, place_of(whole, posix)[0] + 9),
        "place": whole[:at] + bytes(16) + whole[at + 16 :],
        "length": whole[: at + 8] + bytes(8) + whole[at + 16 :],
        "names": whole[: FIRST_PLACE + 8] + bytes(8) + whole[FIRST_PLACE + 16 :],
        "compression": whole[:COMPRESSION] + b"\x02" + whole[COMPRESSION + 1 :],
    }[damage]
    (tmp_path / "x.darshan").write_bytes(data)
    assert main(["demand", str(tmp_path / "x.darshan"), "--path", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "no file was opened" not in said and "it is damaged" in said and said.count("\n") == 1, said


@needs_darshan
def test_a_log_of_which_the_last_byte_is_missing_is_told_to_be_cut_off() -> None:
    assert "it is cut off: its last bytes are missing" in use_of(read_log(log("shared").read_bytes()[:-1])).problems


@needs_darshan
def test_a_module_that_has_no_place_any_more_is_told_of() -> None:
    whole = log("bursts").read_bytes()
    at = FIRST_PLACE + 16 * used_places(whole)[2]
    left = use_of(read_log(whole[:at] + bytes(16) + whole[at + 16 :]))
    assert left.lacking == ("a part that has no place",)
    assert left.problems == ("its header is damaged: parts of it are not where they belong, and one may be missing",)


@needs_darshan
def test_a_log_cut_off_before_records_of_calls_lacks_them() -> None:
    whole = log("bursts").read_bytes()
    _, posix, stdio, heat = used_places(whole)
    with pytest.raises(UnreadableLog, match="cut off"):
        read_log(whole[: place_of(whole, posix)[0] + 5])
    for part, lacking in ((stdio, ("STDIO",)), (heat, ())):
        start = place_of(whole, part)[0]
        for kept in (start, start + 5):
            left = use_of(read_log(whole[:kept]))
            assert left.lacking == lacking and "it is cut off: its last bytes are missing" in left.problems


@needs_darshan
def test_bytes_behind_a_whole_log_change_nothing_but_are_told_of() -> None:
    left = use_of(read_log(log("bursts").read_bytes() + b"\n"))
    assert left.problems == ("behind its end 1 byte, no part of it: not read",)
    assert not left.lacking and left.file_systems == use("bursts").file_systems


@needs_darshan
def test_records_of_mpi_io_are_not_missed_where_those_of_posix_are_whole() -> None:
    whole = read_log(log("bursts").read_bytes())
    assert use_of(replace(whole, damaged=("MPI-IO",))).lacking == ()
    without = {name: found for name, found in whole.modules.items() if name != "POSIX"}
    assert use_of(replace(whole, damaged=("MPI-IO",), modules=without)).lacking == ("MPI-IO",)
