"""``tonnage doctor`` against a real Slurm."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import slurm as lab
from impossible import skipped_where_impossible
from tonnage.cli import main
from tonnage.cluster.schedulers.slurm import Slurm

Doctor = Callable[[str], tuple[int, dict[str, Any]]]
RIGHT = """\
scheduler = "slurm"
[[server]]
name = "127.0.0.1"
hosts = ["fs1"]
queue = "storage"
slots = 2
licence = "wan"
indices = "proc:"
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[lab.Slurm]:
    hosts = (lab.Host(name="a1"), lab.Host(name="fs1", slots=2))
    with skipped_where_impossible():
        queues = {"all": ["a1", "fs1"], "storage": ["fs1"]}
        with lab.slurm(hosts, queues, licences={"wan": 2, "scratch_io": 8}) as found:
            yield found


@pytest.fixture
def doctor(
    cluster: lab.Slurm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Doctor:
    """Exit code and object of ``tonnage doctor --json`` with this site file."""
    monkeypatch.setenv("SLURM_CONF", str(cluster.conf))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    monkeypatch.chdir(tmp_path)

    def run(text: str) -> tuple[int, dict[str, Any]]:
        holds = f'indices = "proc:"\nholds = ["{tmp_path}"]'
        (tmp_path / "site.toml").write_text(text.replace('indices = "proc:"', holds), encoding="utf-8")
        code = main(["doctor", "--json", "--site", str(tmp_path / "site.toml")])
        return code, json.loads(capsys.readouterr().out)

    return run


def wrong(value: dict[str, Any]) -> dict[str, str]:
    return {
        complaint["code"]: complaint["where"].rpartition(":")[2]
        for complaint in value["complaints"]
        if complaint["wrong"] and complaint["code"] != "refused-here"
    }


def test_a_site_file_that_is_right_is_well(doctor: Doctor) -> None:
    code, value = doctor(RIGHT)
    assert (code, value["well"], wrong(value)) == (0, True, {})


def test_what_slurm_does_not_know_is_told_with_its_line(doctor: Doctor) -> None:
    text = RIGHT.replace('"fs1"', '"fs2"').replace('"storage"', '"stroage"').replace('"wan"', '"wane"')
    code, value = doctor(text)
    assert code == 1
    assert wrong(value) == {"unknown-host": "4", "unknown-queue": "5", "unknown-licence": "7"}
    hints = [complaint["hint"] for complaint in value["complaints"] if complaint["code"] in wrong(value)]
    assert hints == ["did you mean 'fs1'?", "did you mean 'storage'?", "did you mean 'wan'?"]


def test_a_host_that_was_drained_a_moment_ago_is_told_as_submit_will(
    doctor: Doctor, cluster: lab.Slurm, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = RIGHT + '[policy]\nlist_age = "10min"\n'
    doctor(text)
    submit = ["submit", "--dry-run", "--site", str(tmp_path / "site.toml"), "true"]
    assert main(submit) == 0, "the list of hosts is kept"
    capsys.readouterr()
    cluster.ask("scontrol", "update", "NodeName=fs1", "State=DRAIN", "Reason=disk")
    try:
        code, value = doctor(text)
    finally:
        cluster.ask("scontrol", "update", "NodeName=fs1", "State=RESUME")
    (here,) = (one for one in value["complaints"] if one["code"] == "refused-here")
    assert code == 1 and here["hint"].startswith("bring a host beside 127.0.0.1 back, or add one to its hosts")


def test_a_directory_of_no_server_is_told_as_submit_does(
    doctor: Doctor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path.parent / f"{tmp_path.name}-other"
    other.mkdir()
    monkeypatch.chdir(other)
    code, value = doctor(RIGHT)
    assert (code, value["well"]) == (1, False)
    (here,) = (one for one in value["complaints"] if one["code"] == "refused-here")
    assert here["wrong"] and here["hint"].startswith("cd to the data of 127.0.0.1, ")
    assert main(["submit", "--dry-run", "--site", str(tmp_path / "site.toml"), "true"]) == 1
    assert "no host beside" in capsys.readouterr().err


def test_slurm_tells_its_licences(cluster: lab.Slurm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_CONF", str(cluster.conf))
    assert Slurm(timeout_s=10.0).licences() == {"wan": 2, "scratch_io": 8}


def test_a_controller_that_cannot_be_reached_is_told_in_slurms_words(
    doctor: Doctor,
    cluster: lab.Slurm,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    conf = cluster.conf.read_text(encoding="utf-8")
    lines = ["SlurmctldPort=1" if line.startswith("SlurmctldPort") else line for line in conf.splitlines()]
    (tmp_path / "slurm.conf").write_text("\n".join([*lines, "MessageTimeout=1", ""]), encoding="utf-8")
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "slurm.conf"))
    code, value = doctor(RIGHT + '[policy]\nscheduler_timeout = "3s"\n')
    assert code == 1
    (complaint,) = (complaint for complaint in value["complaints"] if complaint["wrong"])
    assert complaint["code"] == "scheduler-silent"
    assert "sinfo" in complaint["what"] or "slurm" in complaint["what"]
