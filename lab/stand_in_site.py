"""A site of one host for schedulers that cannot be installed here: commands that take jobs as theirs do, run them, and
print what theirs print. As a program it is the process that waits for a job."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from command_stand_ins import StandIns

_LSF = {
    "bsub": """
if words == ["-V"]:
    sys.exit(print("IBM Spectrum LSF 10.1.0.12", file=sys.stderr))
options, at = {}, 0
while words[at].startswith("-"):
    options[words[at]] = words[at + 1]
    at += 2
number = site.begin(" ".join(words[at:]), options["-o"], options["-Jd"].split("key=")[1])
print(f"Job <{number}> is submitted to default queue <normal>.")
""",
    "bjobs": """
rows = [
    {"JOBID": str(job["number"]), "USER": site.USER, "STAT": job["state"], "QUEUE": "normal", "EXEC_HOST": "here",
     "JOB_DESCRIPTION": f"tonnage key={job['key']}", "EXIT_CODE": str(job["code"] or "")}
    for job in site.jobs()
]
print(json.dumps({"COMMAND": "bjobs", "JOBS": len(rows), "RECORDS": rows}))
""",
    "bkill": "site.end(int(words[0]))",
    "bqueues": 'print("QUEUE_NAME PRIO STATUS MAX\\nnormal 30 Open:Active 8")',
    "bhosts": 'print("HOST_NAME STATUS JL/U MAX NJOBS\\nhere ok - 8 0")',
    "jsrun": 'os.execvp(words[words.index("-b") + 2], words[words.index("-b") + 2:])',
}
_FLUX = {
    "flux": """
about = words[1:]
if words[0] == "submit":
    at = words.index("--")
    options = dict(word.partition("=")[::2] for word in words[1:at])
    key = options["--job-name"].split(".tonnage-")[1]
    print(site.begin(shlex.join(words[at + 1:]), options["--output"], key))
elif words[0] == "jobs":
    states = {"RUN": ("RUN", None), "DONE": ("INACTIVE", "COMPLETED"), "EXIT": ("INACTIVE", "FAILED")}
    print(json.dumps({"jobs": [
        {"jobid": str(job["number"]), "name": f"x.tonnage-{job['key']}", "username": site.USER, "nodelist": "here",
         "state": states[job["state"]][0], "result": states[job["state"]][1], "returncode": job["code"]}
        for job in site.jobs()
    ]}))
elif words[0] == "queue":
    print("normal|True|True")
elif words[0] == "resource":
    print("free|8|here")
elif words[0] == "cancel":
    site.end(int(words[1]))
""",
}
_PBS = {
    "qsub": """
at = words.index("--")
options = dict(zip(words[:at:1], words[1:at:1]))
key = options["-v"].split("TONNAGE_KEY=")[1].split(",")[0]
print(str(site.begin(shlex.join(words[at + 1:]), options["-o"], key)) + ".here")
""",
    "qstat": """
if "-Q" in words:
    sys.exit(print(json.dumps({"Queue": {"normal": {"enabled": "True", "started": "True"}}})))
found = {
    f"{job['number']}.here": {
        "job_state": "R" if job["state"] == "RUN" else "F", "Job_Owner": f"{site.USER}@here", "queue": "normal",
        "exec_host": "here/0", "Variable_List": {"TONNAGE_KEY": job["key"]}, "Job_Name": "x",
        **({} if job["state"] == "RUN" else {"Exit_status": job["code"]}),
    }
    for job in site.jobs()
}
print(json.dumps({"Jobs": found}))
""",
    "qdel": 'site.end(int(words[0].partition(".")[0]))',
    "pbsnodes": 'print(json.dumps({"nodes": {"here": {"state": "free", "pcpus": 8}}}))',
}
SITES = {"lsf": _LSF, "flux": _FLUX, "pbs": _PBS}


class Site:
    """What the commands know, in files of a directory."""

    def __init__(self, directory: Path, user: str) -> None:
        self._directory = directory
        self.USER = user

    def begin(self, line: str, output: str, key: str) -> int:
        """Starts a job; its number."""
        number = 1 + len(list(self._directory.glob("*.json")))
        self.write({"number": number, "state": "RUN", "code": None, "key": key, "pid": None})
        argv = [sys.executable, __file__, str(self._directory), str(number), line, output]
        # Whoever submits reads what the command prints to its end: a job that held it would hold that up too.
        nothing = subprocess.DEVNULL
        subprocess.Popen(argv, start_new_session=True, stdin=nothing, stdout=nothing, stderr=nothing)
        return number

    def jobs(self) -> list[dict]:
        """All that there were."""
        return [json.loads(file.read_text()) for file in sorted(self._directory.glob("*.json"))]

    def end(self, number: int) -> None:
        """As a site does at first: with a signal that programs can answer."""
        job = next(job for job in self.jobs() if job["number"] == number)
        if job["state"] == "RUN" and job["pid"]:
            os.killpg(job["pid"], signal.SIGTERM)

    def write(self, job: dict) -> None:
        file = self._directory / f"{job['number']}.json"
        temporary = file.with_suffix(f".{os.getpid()}")
        temporary.write_text(json.dumps(job))
        temporary.replace(file)


def install(commands: StandIns, name: str, directory: Path, user: str) -> None:
    """Adds the commands of the scheduler of that name, whose jobs run on this host."""
    directory.mkdir()
    lab = str(Path(__file__).resolve().parent)
    start = (
        f"import shlex\nsys.path.insert(0, {lab!r})\nfrom pathlib import Path\n"
        f"from stand_in_site import Site\nsite = Site(Path({str(directory)!r}), {user!r})\n"
    )
    for command, behaviour in SITES[name].items():
        commands.add(command, start + behaviour)


def _wait(directory: str, number: str, line: str, output: str) -> None:
    site = Site(Path(directory), "")
    with Path(output).open("ab") as stream:
        program = subprocess.Popen(["/bin/sh", "-c", line], stdout=stream, stderr=stream, start_new_session=True)
    job = next(job for job in site.jobs() if job["number"] == int(number))
    site.write({**job, "pid": program.pid})
    code = program.wait()
    site.write({**job, "state": "EXIT" if code else "DONE", "code": 128 - code if code < 0 else code})


if __name__ == "__main__":
    _wait(*sys.argv[1:])
