"""``tonnage doctor`` on a whole site: well as it was built; each thing that is then broken is told, and no other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from impossible import skipped_where_impossible
from small_site import HEAD, Plan, Site, site


@pytest.fixture(scope="module")
def lab() -> Iterator[Site]:
    with ExitStack() as stack:
        with skipped_where_impossible():
            whole = stack.enter_context(site(Plan(nodes=1, policy='scheduler_timeout = "3s"')))
        yield whole


def doctor(lab: Site, code: int) -> list[dict[str, Any]]:
    """What it complains of on the head, wrong or only worth a note."""
    said = lab.tonnage("doctor", "--json", check=False)
    assert said.returncode == code, said.stdout + said.stderr
    value = json.loads(said.stdout)
    assert value["files"] == ["/etc/tonnage/tonnage.toml"]
    complaints: list[dict[str, Any]] = value["complaints"]
    assert value["well"] is (code == 0) is not any(complaint["wrong"] for complaint in complaints)
    return complaints


def test_a_site_that_was_built_as_its_file_says_is_well(lab: Site) -> None:
    assert doctor(lab, 0) == []


def test_a_host_beside_the_data_that_is_down_is_told_with_slurms_reason(lab: Site) -> None:
    lab.down("rcss2")
    try:
        (complaint,) = doctor(lab, 1)
        assert complaint["code"] == "host-down"
        assert "rcss2, beside rcss2, takes no jobs" in complaint["what"] and "power" in complaint["what"]
    finally:
        lab.up("rcss2")


def test_an_index_source_and_a_scheduler_that_do_not_answer_are_told_together(lab: Site) -> None:
    with lab.suspended("exporter rcss1"), lab.suspended("slurmctld"):
        told = {complaint["code"]: complaint["what"] for complaint in doctor(lab, 1)}
    assert set(told) == {"scheduler-silent", "indices-silent"}
    assert "sinfo" in told["scheduler-silent"]
    assert told["indices-silent"].startswith("the indices of rcss1 cannot be read: ")
    assert doctor(lab, 0) == []


def test_a_mounted_server_that_the_file_leaves_out_is_noted(lab: Site) -> None:
    file = lab.hosts[HEAD].path("/etc/tonnage/tonnage.toml")
    text = file.read_text(encoding="utf-8")
    head, _, rest = text.partition('[[server]]\nname = "rcss2"')
    file.write_text(head + "[[access]]" + rest.partition("[[access]]")[2], encoding="utf-8")
    try:
        found = {complaint["code"]: complaint for complaint in doctor(lab, 1)}
    finally:
        file.write_text(text, encoding="utf-8")
    assert set(found) == {"unknown-server", "idle-pattern"}
    assert not found["unknown-server"]["wrong"]
    assert found["unknown-server"]["what"] == (
        "/run/projects (fuse.glusterfs) is served by rcss2, of which the site file says nothing"
    )
    assert "'rcss2' among the servers of [[access]] matches none" in found["idle-pattern"]["what"]
