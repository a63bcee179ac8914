"""Whether this host belongs to a Slurm."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_stand_ins import StandIns
from tonnage.cluster.scheduler import SchedulerError
from tonnage.cluster.schedulers.slurm import scheduler
from tonnage.cluster.schedulers.slurm.scheduler import is_configured


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIns:
    """Commands of a package without a configuration: sinfo fails, as the real one does."""
    monkeypatch.delenv("SLURM_CONF", raising=False)
    monkeypatch.setattr(scheduler, "_USUAL", ())
    found = StandIns(tmp_path, monkeypatch)
    found.prints("sbatch", "")
    found.add("sinfo", "sys.exit('sinfo: fatal: Could not establish a configuration source')")
    return found


@pytest.mark.usefixtures("commands")
def test_commands_without_a_configuration_are_no_slurm() -> None:
    assert not is_configured(timeout_s=20)


def test_a_controller_known_to_the_name_service_is_one(commands: StandIns) -> None:
    commands.prints("sinfo", "debug up 1 idle n1\n")
    assert is_configured(timeout_s=20)


def test_a_file_is_believed_without_asking(commands: StandIns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "slurm.conf").touch()
    assert is_configured(timeout_s=20)
    (tmp_path / "etc" / "slurm.conf").unlink()
    monkeypatch.setenv("SLURM_CONF", "anywhere")
    assert is_configured(timeout_s=20)
    assert not commands.called


def test_a_controller_that_cannot_be_reached_is_one(commands: StandIns) -> None:
    commands.add("sinfo", "sys.exit('slurm_load_partitions: Unable to contact slurm controller (connect failure)')")
    assert is_configured(timeout_s=20)


def test_one_that_is_silent_leaves_it_open(commands: StandIns) -> None:
    commands.add("sinfo", "import time; time.sleep(60)")
    with pytest.raises(SchedulerError, match=r"not known: sinfo did not answer within 0\.5 s"):
        is_configured(timeout_s=0.5)
