"""What the commands of placement and ``verify`` print with ``--json`` is what their schemas say, and no key more."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
from tonnage.records.load_line_files import KeptLine, keep_line
from waiting import wait_until

from .placement_user import PlacementUser

SITE = """
scheduler = "local"
[[server]]
name = "rcss1"
aliases = ["{host}"]
hosts = ["{host}"]
indices = "proc:"
line = {{ tasks = 6, plateau = "2GB/s" }}
[policy]
index_timeout = "20s"
"""


class User(PlacementUser):
    """Holds each answer against its schema."""

    def __call__(self, command: str, *words: str, codes: tuple[int, ...] = (0,)) -> dict[str, Any]:
        return self.checked(command, self.json(command, *words, codes=codes))


@pytest.fixture
def user(user: PlacementUser) -> User:
    user.site(SITE.format(host=os.uname().nodename))
    return User(user.shell)


def test_every_command_of_placement_keeps_to_its_schema(user: User) -> None:
    preview = user("submit", "--dry-run", "--copies", "3", "true")
    assert preview["command"] and preview["load_line_tasks"] == 6 and preview["decision"]["considered"]
    made = user("submit", "--key", "k1", "true")
    assert made["new"] is True and made["job"] == "1"
    again = user("submit", "--key", "k1", "true")
    assert again["new"] is False and "located" not in again
    wait_until(lambda: bool(user("jobs", "--done")["jobs"]), "the job's end")
    (job,) = user("jobs", "--done")["jobs"]
    assert (job["key"], job["server"]) == ("k1", "rcss1")
    assert user("queues")["queues"]
    running = user("submit", "sleep", "600")["job"]
    ended, unknown = user("cancel", running, "999", codes=(1,))["jobs"]
    assert (ended["cancelled"], ended["problem"]) == (True, None)
    assert not unknown["cancelled"] and unknown["problem"]
    (row,) = user("load")["servers"]
    assert row["source"] == "proc" and row["line"] == 6 and row["host"]["memory_free_bytes"]
    checked = user("doctor", codes=(0, 1))
    assert checked["files"] == [str(user.data / "tonnage.toml")]
    user.data.joinpath("tonnage.toml").write_text('scheduler = "local"\n[[server]]\nname = "a"\nhosts = ["b"]\n')
    assert user("doctor", codes=(1,))["complaints"]


def test_what_load_shows_as_promised_is_what_the_next_decision_takes_off_the_line(user: User) -> None:
    (before,) = user("load")["servers"]
    assert (before["promised"], before["left"] + before["others"]) == (0, 6)
    user("submit", "--copies", "4", "--cap", "2", "--io-share", "0.5", "sleep", "600")
    # By demand: two at once, each half a task; by count, those of them that run.
    wait_until(lambda: bool([job for job in user("jobs")["jobs"] if job["state"] == "running"]), "the first copy")
    (after,) = user("load")["servers"]
    assert (after["promised"], after["left"] + after["others"]) == (1, 5)
    assert after["head_room"] == 6 - after["running"]
    why = user("submit", "--dry-run", "--copies", "3", "true")["decision"]["why"]
    assert "other jobs may use 1 of it" in why[-1]


def test_where_keeps_to_its_schema_with_a_stated_a_measured_and_no_line(user: User, tmp_path: Path) -> None:
    stated = user("where")
    (server,) = stated["file_servers"]
    assert server["name"] == "rcss1" and server["load"]["source"] == "proc"
    assert stated["load_line"] == {"tasks": 6, "plateau": 2_000_000_000}
    kept = KeptLine(
        target=stated["target"],
        operation="read",
        access="sequential",
        transfer_size=1 << 20,
        tasks=8,
        low=7,
        high=9,
        plateau_bytes_per_s=10**9,
        single_bytes_per_s=10**8,
        measured_at_s=time.time(),
        host="n1",
        run="/runs/1",
    )
    lines = tmp_path / "lines"
    lines.mkdir()
    keep_line(lines, kept)
    site = user.data / "tonnage.toml"
    site.write_text(f'lines = "{lines}"\n' + site.read_text())
    assert user("where")["load_line"]["tasks"] == 8
    nobody = user("where", "/proc", codes=(0, 1))
    assert nobody["path"] == "/proc"


def test_verify_keeps_to_its_schema_of_a_sealed_and_of_an_altered_run(user: User) -> None:
    words = ("sim:", "--op", "write", "--budget", "30s", "--out", "RUN", "--no-keep", "--no-report", "--json")
    assert user.run("probe", *words).json["load_lines"]
    sealed = user("verify", "RUN")
    assert (sealed["seal"], sealed["contradictions"], sealed["torn"]) == ("sealed", [], []) and sealed["trials"] > 3
    with (user.data / "RUN" / "tasks.jsonl").open("a") as file:
        file.write("{}\n")
    altered = user("verify", "RUN", codes=(1,))
    assert altered["contradictions"] and altered["sha256"] == sealed["sha256"]
