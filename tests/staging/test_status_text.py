"""A status in words: what a user must see is there, and nothing of what is not."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from tonnage.cli.stage import mover_view as view_module
from tonnage.cli.stage.mover_panel import draw
from tonnage.cli.stage.mover_view import PlainView, view
from tonnage.cli.stage.status_text import (
    print_details,
    progress_line,
    report,
    resume_hint,
    share_done,
    summary,
)
from tonnage.units import clock_text

from .mover_status import status

BUSY = {
    "queued": (20, 2_800_000_000), "copying": (2, 512), "done": (12, 1_200_000_000), "rate_bytes_per_s": 350_000_000,
    "rate_files_per_s": 3.5, "left_ns": 8_000_000_000, "limit_bytes_per_s": 400_000_000,
}  # fmt: skip
STUCK = {
    "failed": (1, 7), "failures": [{"path": "bad", "reason": "EIO at the destination"}], "notes": ["journal rebuilt"],
    "waiting": [{"path": "open.h5", "reason": "open for writing"}], "above_high_mark": True,
    "source_used_permille": 934, "gentle_bytes_per_s": 50_000_000, "will_not_fit": (3, 300),
}  # fmt: skip


def drawn(**more: object) -> str:
    console = Console(file=io.StringIO(), width=120)
    console.print(draw(status(**more)))
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_the_line_of_progress_counts_files_and_bytes_and_says_how_long() -> None:
    assert progress_line(status(**BUSY)) == (
        "watching: 12 of 32 files safe, 1.20 GB of 4.00 GB, 350 MB/s, 0:08 left, 2 workers, limit 400 MB/s"
    )
    assert progress_line(status()) == "watching: 0 of 0 files safe, 0 B of 0 B, 2 workers"
    assert progress_line(status(failed=(1, 2000))) == (
        "watching: 0 of 1 file safe, 0 B of 2.00 kB, 2 workers, 1 failed"
    )


@pytest.mark.parametrize("show", [lambda **more: progress_line(status(**more)), drawn])
def test_what_presses_it_is_told(show) -> None:
    said = show(**STUCK)
    for told in ("source 93 % full", "held to 50.0 MB/s", "3 files, 300 B will not make the deadline", "1 failed"):
        assert told in said, said
    assert "paused" in show(limit_bytes_per_s=0)


@pytest.mark.parametrize("show", [lambda **more: report(status(**more)), drawn])
def test_what_stands_still_and_what_failed_is_told_with_its_reason(show) -> None:
    said = show(**STUCK)
    for told in ("waits: open.h5: open for writing", "failed: bad: EIO at the destination", "journal rebuilt"):
        assert told in said, said


def test_the_panel_says_how_fast_in_bytes_and_in_files() -> None:
    assert "350 MB/s   3.50 files/s   2 in flight" in drawn(**BUSY) and "– files/s" in drawn()


def test_the_bar_is_full_only_when_everything_is_safe() -> None:
    assert share_done(status()) == 1.0
    assert share_done(status(queued=(1, 1), done=(999, 10**12))) < 1
    assert "░" in drawn(queued=(1, 1), done=(999, 10**12)) and " 99 %" in drawn(queued=(1, 1), done=(999, 10**12))
    assert share_done(status(queued=(3, 0), done=(1, 0))) == 0.25
    assert "100 %" in drawn(done=(1, 1))


def test_a_status_of_a_mover_that_does_not_run_does_not_pretend_to_move() -> None:
    said = report(status(running=False, pid=None, **BUSY))
    assert "run7 (does not run, and had not come to its end)" in said and "now" not in said


def test_a_name_with_a_line_break_is_on_one_line() -> None:
    odd = {"from": "/new\nline", "to": "/other\nline"}
    assert "from     /new\\nline\nto       /other\\nline\n" in report(status(**odd))
    assert summary(status(**odd), 10**9, 0) == "0 files, 0 B safe in /other\\nline; 0 B copied in 1.00 s"
    assert resume_hint("/a user's/state").startswith(
        "hint: `tonnage stage resume --wait --state '/a user'\"'\"'s/state'`"
    )


def test_the_summary_says_what_is_safe_and_what_this_process_copied() -> None:
    assert summary(status(done=(32, 4_290_000_000), copied_bytes=2_000_000_000), 60 * 10**9, 2 * 10**9) == (
        "32 files, 4.29 GB safe in /gpfs; 2.00 GB copied in 60.0 s, moving for 2.00 s (1.00 GB/s)"
    )
    said = summary(status(failed=(1, 7), queued=(2, 9)), 10**9, 0)
    assert said == "0 files, 0 B safe in /gpfs; 0 B copied in 1.00 s; 1 file, 7 B failed; 2 files, 9 B left"


def test_times_read_like_a_clock() -> None:
    assert [clock_text(s * 10**9) for s in (0, 8, 725, 11525)] == ["0:00", "0:08", "12:05", "3:12:05"]


def test_plain_lines_say_each_new_thing_once_and_are_silent_while_nothing_happens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream = io.StringIO()
    plain = PlainView(stream)
    plain.show(status(**BUSY))
    assert stream.getvalue() == ""  # a short drain needs no story
    plain.show(status(waiting=STUCK["waiting"]))
    assert stream.getvalue() == ""  # nor does what waits for a moment
    monkeypatch.setattr(view_module, "_EVERY_S", 0.0)
    monkeypatch.setattr(view_module, "_STUCK_S", 0.0)
    for _ in range(3):
        plain.show(status(**STUCK))
    assert stream.getvalue().count("waits: open.h5") == 1 and stream.getvalue().count("watching:") == 1
    assert len(stream.getvalue().splitlines()) == 4


def test_a_log_has_dates_and_a_pipe_has_none() -> None:
    for dated in (True, False):
        stream = io.StringIO()
        shown = view(stream, dated=dated)
        shown.show(status(notes=["journal rebuilt"]))
        shown.close()
        assert stream.getvalue().startswith("20") is dated and "journal rebuilt\n" in stream.getvalue()


def test_failures_that_are_not_named_are_counted_once_all_are_known(capsys) -> None:
    """A status names the first by their number: a file that fails late displaces one that was named."""
    first, late = ([{"path": name, "reason": "EIO"} for name in names] for names in ("bc", "ab"))
    stream = io.StringIO()
    plain = PlainView(stream)
    plain.show(status(failed=(4, 7), failures=first))
    assert stream.getvalue() == "failed: b: EIO\nfailed: c: EIO\n"
    print_details(status(failed=(5, 7), failures=late), plain.said)
    assert capsys.readouterr().err == "failed: a: EIO\nfailed: 2 more\n"
    print_details(status(failed=(3, 7), failures=late), plain.said)
    assert capsys.readouterr().err == "failed: a: EIO\n"
    assert report(status(failed=(5, 7), failures=late)).endswith("failed: b: EIO\nfailed: 3 more")
