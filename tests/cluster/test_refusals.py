"""A submission counts as refused only where the scheduler says so in its own words; all else is not known."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from command_stand_ins import StandIns
from tonnage.cluster.scheduler import JobRequest, Scheduler, SchedulerError, SubmissionUnknown
from tonnage.cluster.schedulers.flux import Flux
from tonnage.cluster.schedulers.lsf import Lsf
from tonnage.cluster.schedulers.pbs import Pbs
from tonnage.cluster.schedulers.slurm import Slurm
from tonnage.machine import site_tools as tool

_VERSION = "if words == ['-V']: sys.exit(print('IBM Spectrum LSF 10.1', file=sys.stderr))\n"
KINDS: dict[str, tuple[str, Callable[..., Scheduler]]] = {
    "slurm": ("sbatch", Slurm),
    "lsf": ("bsub", Lsf),
    "pbs": ("qsub", Pbs),
    "flux": ("flux", Flux),
}
UNCLEAR = {
    "it was killed": "import signal; os.kill(os.getpid(), signal.SIGKILL)",
    "a shell around it says that it was killed": "print('run: line 3: 7 Killed', file=sys.stderr); sys.exit(137)",
    "it failed without words": "sys.exit(1)",
    "its words are no refusal": "print('warning: a plug-in is old', file=sys.stderr); sys.exit(1)",
    "it prints without end": "sys.stdout.write('x' * (2 << 20))",
    "its words are of another program": "print('Segmentation fault (core dumped)', file=sys.stderr); sys.exit(1)",
}
LOST = [
    ("slurm", "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation"),
    ("slurm", "sbatch: error: Batch job submission failed: Zero Bytes were transmitted or received"),
    ("slurm", "sbatch: error: Batch job submission failed: Unexpected message received"),
    ("lsf", "Failed in sending/receiving a message: Connection reset by peer. Job not submitted."),
    ("lsf", "Communication time out. Job not submitted."),
    ("pbs", "qsub: Premature end of message"),
    ("pbs", "qsub: Connection timed out"),
    ("flux", "flux-submit: ERROR: [Errno 110] Connection timed out"),
    ("flux", "flux-submit: ERROR: [Errno 104] Connection reset by peer"),
]
CLEAR = [
    ("slurm", "sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified"),
    ("slurm", "sbatch: unrecognized option '--nicee'"),
    ("slurm", "sbatch: error: Unable to contact slurm controller (connect failure)"),
    ("lsf", "proj: No such project. Job not submitted."),
    ("lsf", "Cannot connect to LSF. Please wait ...: Connection refused. Job not submitted."),
    ("pbs", "qsub: Job violates queue and/or server resource limits"),
    ("pbs", "qsub: cannot connect to server pbs (errno=15010)"),
    ("flux", "flux-submit: ERROR: [Errno 22] Invalid argument"),
    ("flux", "flux submit: error: unrecognized arguments: --nope"),
]


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIns:
    monkeypatch.setattr(tool, "MOST_TEXT", 1 << 20)
    return StandIns(tmp_path, monkeypatch)


def ask(kind: str, behaviour: str, commands: StandIns, place: Path) -> SchedulerError:
    """What a submission raises where the tool does that."""
    name, made = KINDS[kind]
    commands.add(name, _VERSION + behaviour)
    with pytest.raises(SchedulerError) as error:
        made(timeout_s=20).submit(JobRequest(argv=("true",), key="k-1", directory=str(place)))
    return error.value


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", UNCLEAR)
def test_what_is_no_clear_refusal_leaves_it_open_whether_the_job_is_there(
    kind: str, how: str, commands: StandIns, tmp_path: Path
) -> None:
    assert isinstance(ask(kind, UNCLEAR[how], commands, tmp_path), SubmissionUnknown)


@pytest.mark.parametrize(("kind", "words"), LOST)
def test_an_answer_that_was_lost_is_no_refusal(kind: str, words: str, commands: StandIns, tmp_path: Path) -> None:
    error = ask(kind, f"print({words!r}, file=sys.stderr); sys.exit(1)", commands, tmp_path)
    assert isinstance(error, SubmissionUnknown) and words in str(error)


@pytest.mark.parametrize(("kind", "words"), CLEAR)
def test_a_refusal_in_the_schedulers_words_is_one(kind: str, words: str, commands: StandIns, tmp_path: Path) -> None:
    error = ask(kind, f"print({words!r}, file=sys.stderr); sys.exit(1)", commands, tmp_path)
    assert not isinstance(error, SubmissionUnknown) and words in str(error)


@pytest.mark.parametrize("kind", KINDS)
def test_a_refusal_by_a_tool_that_was_then_killed_is_none(kind: str, commands: StandIns, tmp_path: Path) -> None:
    words = next(words for of, words in CLEAR if of == kind)
    killed = "sys.stderr.flush(); import signal; os.kill(os.getpid(), signal.SIGKILL)"
    error = ask(kind, f"print({words!r}, file=sys.stderr); {killed}", commands, tmp_path)
    assert isinstance(error, SubmissionUnknown)


@pytest.mark.parametrize(
    ("kind", "receipt", "job"),
    [
        ("slurm", "Submitted batch job 12", "12"),
        ("lsf", "Job <12> is submitted to default queue <normal>.", "12"),
    ],
)
def test_a_receipt_counts_whatever_became_of_the_tool(
    kind: str, receipt: str, job: str, commands: StandIns, tmp_path: Path
) -> None:
    name, made = KINDS[kind]
    commands.add(name, f"{_VERSION}print({receipt!r}, flush=True); os.kill(os.getpid(), {int(signal.SIGKILL)})")
    found = made(timeout_s=20).submit(JobRequest(argv=("true",), key="k-1", directory=str(tmp_path)))
    assert (found.job, found.line) == (job, receipt)


@pytest.mark.parametrize("kind", KINDS)
def test_a_tool_that_cannot_be_run_has_submitted_nothing(
    kind: str, commands: StandIns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, made = KINDS[kind]
    commands.add(name, "")
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    with pytest.raises(SchedulerError) as error:
        made(timeout_s=20).submit(JobRequest(argv=("true",), key="k-1", directory=os.fspath(tmp_path)))
    assert not isinstance(error.value, SubmissionUnknown)
