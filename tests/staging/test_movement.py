"""The time in which a mover moved."""

from __future__ import annotations

from typing import Any

from tonnage.staging.mover_status import Movement

from .mover_status import status

S = 10**9


def moved_ns(*looks: dict[str, Any]) -> int:
    """Of a mover that is looked at once a second."""
    movement = Movement(0)
    for number, seen in enumerate(looks, 1):
        movement.update(status(**seen), number * S)  # type: ignore[arg-type]
    return movement.moving_ns


def test_time_in_which_there_was_nothing_to_move_does_not_count() -> None:
    idle = {"copied_bytes": 5}
    assert moved_ns({}, {}, {"copied_bytes": 5}, idle, idle, {"copied_bytes": 9}) == 2 * S
    assert moved_ns({}, {}) == 0


def test_a_server_that_keeps_a_file_waiting_is_slow() -> None:
    waits = {"copied_bytes": 5, "copying": (1, 10)}
    assert moved_ns(waits, waits, waits, {"copied_bytes": 10}) == 4 * S


def test_a_pause_that_a_user_asked_for_is_not_slow() -> None:
    waits = {"copied_bytes": 5, "copying": (1, 10)}
    for bound in ("limit_bytes_per_s", "limit_files_per_s"):
        paused = {**waits, bound: 0}
        assert moved_ns(waits, paused, paused, {"copied_bytes": 10}) == 2 * S
