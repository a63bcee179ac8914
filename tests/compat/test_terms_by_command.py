"""``submit`` and ``iobsub`` as typed, with stand-ins for the commands of LSF, PBS and Flux: what these are given."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from command_stand_ins import StandIns
from tonnage.cli.entry import run_command
from tonnage.compat.front_end import Voice
from tonnage.compat.iobsub.command import run
from tonnage.errors import RequestError

COMMANDS = {
    "lsf": {
        "bsub": """
if words == ["-V"]:
    sys.exit(print("LSF 10.1", file=sys.stderr))
print("Job <7> is submitted to queue <q>.")
""",
        "bjobs": 'print("No unfinished job found", file=sys.stderr); sys.exit(255)',
        "bhosts": 'print("HOST_NAME STATUS MAX NJOBS\\nhere ok 8 0")',
    },
    "pbs": {
        "qsub": 'print("7.here")',
        "qstat": "print(json.dumps({'Jobs': {}}))",
        "pbsnodes": "print(json.dumps({'nodes': {'here': {'state': 'free', 'pcpus': 8}}}))",
    },
    "flux": {
        "flux": """
if words[0] == "submit":
    print("7")
elif words[0] == "jobs":
    print(json.dumps({"jobs": []}))
elif words[0] == "resource":
    print("free|8|here")
"""
    },
}
TYPED = (
    *("--time-limit", "90m", "--account", "proj", "--gpus", "2", "--dependency", "afterok:1,afterany:2"),
    *("--exclusive", "--scheduler-options=--own 'a b'", "prog", "--memory", "x"),
)
WANTED = {
    "lsf": ["-W", "90", "-P", "proj", "-gpu", "num=2", "-w", "done(1) && ended(2)", "-x", "--own", "a b"],
    "pbs": ["-l", "walltime=1:30:00", "-A", "proj", "-W", "depend=afterok:1,afterany:2", "--own", "a b"],
    "flux": [
        "--time-limit=5400s", "--bank=proj", "--gpus-per-task=2", "--dependency=afterok:1", "--dependency=afterany:2",
        "--exclusive", "--own", "a b",
    ],
}  # fmt: skip


@pytest.fixture(params=list(COMMANDS))
def site(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, StandIns]:
    """The name of a site's scheduler, and what its commands were given."""
    name: str = request.param
    for place in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "TONNAGE_SYSTEM_CONFIG"):
        monkeypatch.setenv(place, str(tmp_path / place))
    monkeypatch.setenv("FLUX_URI", "local:///nowhere")
    commands = StandIns(tmp_path, monkeypatch)
    for command, behaviour in COMMANDS[name].items():
        commands.add(command, behaviour)
    data = tmp_path / "data"
    data.mkdir()
    server = f'[[server]]\nname = "here"\nholds = ["{data}"]\nhosts = ["here"]\n'
    (data / "tonnage.toml").write_text(f'scheduler = "{name}"\n{server}')
    monkeypatch.chdir(data)
    return name, commands


def submitted(commands: StandIns) -> list[str]:
    """The words of the one command that submits; none where nothing was submitted."""
    calls = commands.calls if commands.called else []
    found = [call for call in calls if call[0] in ("bsub", "qsub") or call[1:2] == ["submit"]]
    return next((call for call in found if call[1:] != ["-V"]), [])


def within(words: list[str], wanted: list[str]) -> bool:
    """Whether these stand there side by side."""
    return any(words[at : at + len(wanted)] == wanted for at in range(len(words)))


def test_submit_gives_each_scheduler_its_own_options(
    site: tuple[str, StandIns], capsys: pytest.CaptureFixture[str]
) -> None:
    name, commands = site
    assert run_command(["submit", *TYPED]) == 0
    assert "7" in capsys.readouterr().out
    words = submitted(commands)
    assert within(words, WANTED[name]), words
    assert words[-3:] == ["prog", "--memory", "x"]


def test_what_it_cannot_do_is_refused_before_its_command_is_run(
    site: tuple[str, StandIns], capsys: pytest.CaptureFixture[str]
) -> None:
    name, commands = site
    wrong = {"lsf": "--scheduler-options=-K", "pbs": "--copies=3,9", "flux": "--mail=end"}[name]
    assert run_command(["submit", wrong, "prog"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and "; hint: " in err
    assert submitted(commands) == []


def test_iobsub_gives_each_scheduler_what_bsubs_user_means(site: tuple[str, StandIns]) -> None:
    name, commands = site
    wanted = {
        "lsf": ["-w", "exit(3)", "-W", "1:30", "-P", "p", "-c", "5"],
        "pbs": ["-l", "walltime=1:30:00", "-A", "p", "-W", "depend=afternotok:3"],
        "flux": ["--time-limit=5400s", "--bank=p", "--dependency=afternotok:3"],
    }[name]
    words = ["-W", "1:30", "-P", "p", "-w", "exit(3)", "-J", "arr[2-9]", "--", "prog", "-W"]
    voice = Voice(io.StringIO(), io.StringIO())
    if name != "lsf":
        with pytest.raises(RequestError, match=f"LSF's own, and the scheduler here is {name}"):
            run(["-c", "5", *words], voice)
        assert submitted(commands) == []
    (Path.cwd() / "prog").write_text("#!/bin/sh\n")
    (Path.cwd() / "prog").chmod(0o755)
    assert run([*(["-c", "5"] if name == "lsf" else []), *words], voice) == 0
    found = submitted(commands)
    assert within(found, wanted), found
    assert any("2-9" in word for word in found) and found[-2:] == ["./prog", "-W"]
