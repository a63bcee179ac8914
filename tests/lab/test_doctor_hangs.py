"""Hosts whose target hangs, as it does where a file server has died, are told of as that, and the command ends."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from faultfs import Mounted, mounted, needs_fuse
from tonnage.cluster.remote.client import RemoteHostGroup, here
from tonnage.placement.doctor.host_checks import examine
from tonnage.placement.doctor.host_facts import gather_host_facts


@pytest.fixture
def dead(tmp_path: Path) -> Iterator[Mounted]:
    """A mount whose server was stopped."""
    needs_fuse()
    with mounted(tmp_path) as mount:
        os.kill(mount.pid, signal.SIGSTOP)
        try:
            yield mount
        finally:
            os.kill(mount.pid, signal.SIGCONT)


def test_a_target_whose_server_does_not_answer_is_told_and_the_links_are_tried_all_the_same(dead: Mounted) -> None:
    began_s = time.monotonic()
    with RemoteHostGroup(["a", "b"], lambda _: here("", 1)) as host_group:
        party = gather_host_facts(host_group, host_group.hosts, str(dead.path))
    assert time.monotonic() - began_s < 30
    silent = [one for one in examine(party) if one.code == "target-silent"]
    assert [one.where for one in silent] == ["a, b"]
    assert silent[0].what == f"{dead.path} did not answer within 5 s" and silent[0].hint == "its mount may be dead"
    assert len(party.links) == 2 and not any(link.problem for link in party.links)
