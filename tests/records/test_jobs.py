"""A line of a job that was changed is found, whoever wrote the next one."""

from __future__ import annotations

import random
from pathlib import Path

from tonnage.records.jobs_jsonl import JOBS, altered_jobs, append_job, job_lines


def test_any_byte_of_any_line_that_changes_is_noticed(tmp_path: Path) -> None:
    for number in range(3):
        append_job(tmp_path, {"number": number, "event": "wanted", "hosts": ["a", "b"], "partition": None})
    data = (tmp_path / JOBS).read_bytes()
    assert list(altered_jobs(data)) == [] and [line["number"] for line in job_lines(tmp_path)] == [0, 1, 2]
    chance = random.Random(3)
    for at in range(len(data)):
        new = bytearray(data)
        new[at] ^= 1 << chance.randrange(8)
        found = list(altered_jobs(bytes(new)))
        # Without its newline the last line is one that is being written.
        assert found or at == len(data) - 1, f"byte {at}"


def test_lines_of_an_older_version_count_as_what_came_before(tmp_path: Path) -> None:
    (tmp_path / JOBS).write_bytes(b'{"number":0,"event":"wanted"}\n')
    append_job(tmp_path, {"number": 0, "event": "submitted"})
    data = (tmp_path / JOBS).read_bytes()
    assert list(altered_jobs(data)) == []
    assert list(altered_jobs(data.replace(b"wanted", b"wasted"))) == [2]
