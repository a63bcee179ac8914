"""A receipt that was lost is looked up by its key: among this user's jobs, as others can choose the same key."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from command_stand_ins import StandIns
from tonnage.cluster.scheduler import Scheduler
from tonnage.cluster.schedulers import scheduler
from tonnage.machine.user_state import user_name

# As Slurm prints rows: with the columns, and the word between them, that it was asked for.
SLURM = """
between = next(word.partition("=")[2] for word in words if word.startswith("--delimiter=")) if {sacct} else None
form = next(word for word in words if word.lower().startswith("--format=")).partition("=")[2]
if between is None:
    between = "|" + form.partition(":0|")[2].partition("|")[0] + "|"
    names = [part.partition(":")[0] for part in form.split(between) if part.strip(",")]
else:
    names = form.split(",")
row = dict(JobID="777", ArrayJobID="777", Comment="tonnage:zip-1:vm", State="RUNNING", **{whose!r})
sys.stdout.write("".join(row.get(name.strip(","), "") + between for name in names))
"""


def slurm(commands: StandIns, name: str, number: int) -> None:
    commands.prints("squeue", "")
    whose = {"User": name, "UserName": name, "UID": str(number), "UserID": str(number)}
    commands.add("sacct", SLURM.format(sacct=True, whose=whose))


def slurm_queue(commands: StandIns, name: str, number: int) -> None:
    commands.prints("sacct", "")
    whose = {"User": name, "UserName": name, "UID": str(number), "UserID": str(number)}
    commands.add("squeue", SLURM.format(sacct=False, whose=whose))


def lsf(commands: StandIns, name: str, _: int) -> None:
    commands.add("bsub", "print('IBM Spectrum LSF 10.1')")
    record = {"JOBID": "777", "USER": name, "STAT": "RUN", "QUEUE": "q", "JOB_DESCRIPTION": "tonnage key=zip-1"}
    commands.prints("bjobs", json.dumps({"COMMAND": "bjobs", "JOBS": 1, "RECORDS": [record]}))


def openlava(commands: StandIns, name: str, _: int) -> None:
    commands.add("bsub", "print('Openlava project 4.0')")
    head = "JOBID   USER    STAT  QUEUE      FROM_HOST   EXEC_HOST   JOB_NAME   SUBMIT_TIME"
    commands.prints("bjobs", f"{head}\n777 {name} RUN normal login n1 zip.tonnage-zip-1 Nov 21 10:12\n")


def pbs(commands: StandIns, name: str, _: int) -> None:
    record = {
        "Job_Name": "zip",
        "Job_Owner": f"{name}@login",
        "job_state": "R",
        "queue": "q",
        "Variable_List": {"TONNAGE_KEY": "zip-1"},
    }
    commands.prints("qstat", json.dumps({"Jobs": {"777.pbs": record}}))


def flux(commands: StandIns, name: str, number: int) -> None:
    record = {"jobid": "777", "name": "zip.tonnage-zip-1", "state": "RUN", "username": name, "userid": number}
    commands.prints("flux", json.dumps({"jobs": [record]}))


SITES = {
    "slurm's accounting": slurm,
    "slurm's controller": slurm_queue,
    "lsf": lsf,
    "openlava": openlava,
    "pbs": pbs,
    "flux": flux,
}


@pytest.mark.parametrize("site", SITES)
def test_another_users_job_with_the_key_is_no_receipt(
    site: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = StandIns(tmp_path, monkeypatch)
    name = {"openlava": "lsf"}.get(site, site.partition("'")[0])

    def found() -> Scheduler:
        return scheduler(name, timeout_s=20)

    SITES[site](commands, "mallory", 65534)
    assert found().find("zip-1") is None
    SITES[site](commands, user_name(), os.geteuid())
    receipt = found().find("zip-1")
    assert receipt is not None and receipt.job.startswith("777")
    asked = [call for call in commands.calls if call[0] in ("squeue", "sacct", "bjobs", "flux")]
    own = (f"--user={os.geteuid()}", user_name())
    assert all(any(word in own for word in call) for call in asked), "only this user's are asked for"
