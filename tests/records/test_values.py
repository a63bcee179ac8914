"""Values that no record has, in a run that was sealed anew: the reader refuses them in one line, whoever reads."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tonnage.errors import RecordError
from tonnage.records import Run, RunWriter

Append = Callable[..., dict[str, Any]]


@pytest.mark.parametrize(
    ("key", "text", "said"),
    [
        ("elapsed_ns", "0", "elapsed_ns is 0, and a rate is told"),
        ("bytes", "1" + "0" * 4000, "bytes is larger than 9223372036854775807"),
        ("bytes", "9223372036854775808", "bytes is larger than"),
        ("setting", '{"tasks":2,"transfer_size":99999999999999999999}', "transfer_size is larger than"),
        ("setting", '{"tasks":2,"op":"\\ud800"}', "op has half of a character in it"),
        ("latency", '{"p50_ns":1e400}', "p50_ns is larger than"),
    ],
)
@pytest.mark.parametrize("read", [Run.trials, Run.each_trial])
def test_a_value_that_nothing_can_be_reckoned_with_is_refused(
    tmp_path: Path, append: Append, read: Callable[[Run], Any], key: str, text: str, said: str
) -> None:
    line = append(RunWriter.create(tmp_path, {}), 0)
    file = tmp_path / "trials.jsonl"
    old = json.dumps(line[key], separators=(",", ":"), ensure_ascii=False)
    changed = file.read_text().replace(f'"{key}":{old}', f'"{key}":{text}')
    assert changed != file.read_text()
    file.write_text(changed)
    with pytest.raises(RecordError, match=said):
        read(Run.open(tmp_path))


def test_a_name_that_is_no_utf8_and_the_largest_number_are_read(tmp_path: Path, append: Append) -> None:
    append(RunWriter.create(tmp_path, {}), 0)
    file = tmp_path / "trials.jsonl"
    odd = '"setting":{"op":"\\udcff","largest":9223372036854775807,'
    file.write_text(file.read_text().replace('"setting":{"op":"write",', odd))
    (line,) = Run.open(tmp_path).trials()
    assert line["setting"]["op"] == "\udcff" and next(iter(Run.open(tmp_path).each_trial()))["trial"] == 0
