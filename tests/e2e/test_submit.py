"""``tonnage submit`` on a machine without a scheduler, as its user sees it."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from .placement_user import PlacementUser
from .shell import LAUNCHER, Said

SHOW = "import json, os, sys; print(json.dumps([sys.argv[1:], os.getcwd(), os.environ.get('TONNAGE_COPY')]))"


class Submitter(PlacementUser):
    """Submits jobs to the local scheduler."""

    def __call__(self, *words: str, check: int = 0, text: str = "", at: Path | None = None) -> Said:
        return self.run("submit", *words, codes=(check,), text=text, at=at)

    def site(self, text: str) -> None:
        super().site('scheduler = "local"\n' + text)


@pytest.fixture
def submit(user: PlacementUser) -> Submitter:
    made = Submitter(user.shell)
    made.site("")
    return made


def test_a_job_runs_here_beside_its_data_and_its_words_arrive_as_typed(submit: Submitter) -> None:
    words = ["a b", "two\nlines", "", "$HOME", "*", "'\"\\", "--json", "-I", "%J"]
    said = submit("-o", "out.%J", sys.executable, "-c", SHOW, *words)
    host = os.uname().nodename
    assert said.out == f"Submitting job to run on fileserver {host}\nJob <1> is submitted to queue <local>.\n"
    assert json.loads(submit.text_of("out.1")) == [words, str(submit.data), None]


def test_copies_run_no_more_at_once_than_the_stated_line(submit: Submitter) -> None:
    submit.site(f'[[server]]\nname = "{os.uname().nodename}"\nline = {{ tasks = 1 }}\n')
    work = "import time; a = time.time(); time.sleep(0.3); print(a, time.time())"
    said = submit("--dry-run", "--copies", "4", sys.executable, "-c", work)
    assert "4 copies, 1 at once" in said.out and "stated in the site file" in said.out
    submit("--copies", "4", "-o", "copy.%I", sys.executable, "-c", work)
    spans = sorted(tuple(map(float, submit.text_of(f"copy.{number}").split())) for number in range(1, 5))
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans)), spans


def test_an_interactive_job_has_input_output_and_status(submit: Submitter) -> None:
    said = submit("-I", "sh", "-c", "cat; exit 7", text="typed\n", check=7)
    assert said.out.splitlines()[1:] == ["typed"]


def test_a_signal_reaches_an_interactive_job(
    submit: Submitter, interrupt: Callable[[subprocess.Popen[str], signal.Signals], Said]
) -> None:
    work = (
        "import signal, sys, time; signal.signal(15, lambda *_: sys.exit(3)); print('up', flush=True); time.sleep(60)"
    )
    process = subprocess.Popen(
        [LAUNCHER, "submit", "-I", sys.executable, "-c", work],
        cwd=submit.data,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        env=submit.shell.environment(),
        start_new_session=True,
    )
    assert process.stdout is not None
    assert [process.stdout.readline(), process.stdout.readline()][1] == "up\n"
    assert interrupt(process, signal.SIGTERM).code == 3


def test_one_key_is_one_job(submit: Submitter) -> None:
    first = submit("--json", "--key", "k1", "true").json
    again = submit("--json", "--key", "k1", "true").json
    assert (again["job"], again["new"]) == (first["job"], False)
    assert "belongs to another job" in submit("--key", "k1", "false", check=2).err


def test_json_explains_the_decision(submit: Submitter) -> None:
    said = submit("--json", "true").json
    assert said["line"] == "Job <1> is submitted to queue <local>."
    assert said["decision"]["considered"][0]["host"] == os.uname().nodename
    assert said["decision"]["why"] and said["located"]["path"] == str(submit.data)
    (ledger,) = (submit.shell.home / "XDG_STATE_HOME").glob("tonnage/placement/submissions.jsonl")
    intent = json.loads(ledger.read_text().splitlines()[0])
    assert intent["decision"]["considered"] == said["decision"]["considered"]


def test_a_path_whose_server_nobody_knows_is_the_line_of_iobsub(submit: Submitter) -> None:
    said = submit("--path", "/proc", "true", check=1)
    assert said.out == ""
    assert said.err.splitlines()[0] == "Cannot find fileserver for /proc."
    assert "--anywhere" in said.err.splitlines()[1]
    assert submit("--path", "/proc", "--anywhere", "true").out.startswith("Submitting job to run on any host\n")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "there is no command to submit"),
        (["--path", "dangling", "true"], "broken symbolic link"),
        (["-q", "", "true"], "-q/--queue: an empty value is no value; hint: "),
        (["-J", "", "true"], "-J/--name: an empty value is no value; hint: "),
        (["-o", "", "true"], "-o/--output: an empty value is no value; hint: "),
        (["--input=", "true"], "--input: an empty value is no value; hint: "),
        (["--site", "", "true"], "--site: an empty value is no value; hint: "),
        (["--time-limit", "0", "true"], "--time-limit=0 is no time; hint: "),
        (["--scheduler", "lsf", "true"], "lsf is not set up"),
        (["--site", "missing.toml", "true"], "missing.toml"),
        (["--profile", "nowhere", "true"], "nowhere"),
    ],
)
def test_a_wrong_request_is_one_line_and_nothing_is_submitted(submit: Submitter, words: list[str], told: str) -> None:
    (submit.data / "dangling").symlink_to("nowhere-at-all")
    said = submit(*words, check=2)
    assert said.out == "" and len(said.err.splitlines()) == 1 and told in said.err


def test_a_queue_that_does_not_exist_and_slots_that_nobody_has_are_refused(submit: Submitter) -> None:
    assert "there is no queue nope" in submit("-q", "nope", "true", check=2).err
    assert "slots" in submit("-n", "4096", "true", check=1).err


def test_a_directory_that_was_removed_is_a_wrong_request(submit: Submitter) -> None:
    gone = submit.data / "gone"
    gone.mkdir()
    script = 'cd "$1" && rmdir "$1" && exec "$2" submit --scheduler local true'
    # A python3 that is a shell script may refuse such a directory before the launcher runs.
    path = f"{Path(sys.executable).resolve().parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    done = subprocess.run(
        ["sh", "-c", script, "sh", gone, LAUNCHER],
        capture_output=True, text=True, timeout=120, check=False, env={**os.environ, "PATH": path},
    )  # fmt: skip
    assert done.returncode == 2 and "the working directory was removed" in done.stderr


def test_names_of_any_bytes_are_shown_on_one_line(submit: Submitter) -> None:
    odd = submit.data / os.fsdecode(b"odd\xff\nname")
    odd.mkdir()
    said = submit("--dry-run", "echo", os.fsdecode(b"\xfe"), at=odd)
    assert said.out.splitlines()[0].startswith(f"data       {submit.data}/odd\\udcff\\nname, ")


def waiting(submit: Submitter) -> list[dict[str, object]]:
    done = subprocess.run(
        [LAUNCHER, "jobs", "--json"], cwd=submit.data, env=submit.shell.environment(), capture_output=True, check=True
    )
    jobs: list[dict[str, object]] = json.loads(done.stdout)["jobs"]
    return jobs


@pytest.mark.parametrize("option", ["-o", "-e", "--input"])
def test_a_directory_in_the_place_of_a_file_is_refused_before_anything_is_said(submit: Submitter, option: str) -> None:
    (submit.data / "place").mkdir()
    said = submit(option, "place", "true", check=2)
    assert (said.out, said.err) == (
        "",
        f"tonnage: error: the job would not run: {submit.data}/place is a directory; hint: name a file in it\n",
    )
    assert waiting(submit) == []


def test_a_spooler_that_cannot_start_leaves_no_job(submit: Submitter, tmp_path: Path) -> None:
    assert waiting(submit) == []
    spool = tmp_path / "XDG_STATE_HOME" / "tonnage" / "local" / os.uname().nodename
    (spool / "spooler").symlink_to(tmp_path / "elsewhere")
    said = submit("--key", "k1", "-o", "out", "sh", "-c", "echo ran", check=1)
    assert said.err.count("\n") == 1 and "Job <" not in said.out
    assert said.err.startswith("tonnage: error: the local scheduler does not start: Too many levels of symbolic links")
    assert f"; nothing was submitted; hint: see {spool}/log" in said.err
    (spool / "spooler").unlink()
    assert waiting(submit) == [] and not (submit.data / "out").exists()
    submit("--key", "k1", "-o", "out", "-K", "sh", "-c", "echo ran")
    assert submit.text_of("out") == "ran\n"


def test_an_answer_that_cannot_be_written_names_the_job(submit: Submitter) -> None:
    for words, told in (
        (["--json"], "job 1 is submitted; hint: "),
        ([], "nothing was submitted; hint: make room where it goes"),
    ):
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(
                [LAUNCHER, "submit", *words, "true"], cwd=submit.data, env=submit.shell.environment(), stdout=full,
                stderr=subprocess.PIPE, text=True, timeout=120, check=False,
            )  # fmt: skip
        assert done.returncode == 1 and done.stderr.count("\n") == 1
        assert done.stderr.startswith(
            f"tonnage: error: standard output cannot be written: No space left on device; {told}"
        )


@pytest.mark.parametrize(
    ("option", "name", "note", "why"),
    [
        ("-o", "nodir/x", "the directory of --output, {}/nodir, is", "its output {}/nodir/x cannot be opened"),
        ("-e", "nodir/x", "the directory of --error, {}/nodir, is", "its error output {}/nodir/x cannot be opened"),
        ("--input", "nofile", "the file of --input, {}/nofile, is", "its input {}/nofile cannot be opened"),
    ],
)
def test_a_file_that_is_not_there_is_told_before_and_after(
    submit: Submitter, option: str, name: str, note: str, why: str
) -> None:
    said = submit("-K", option, name, "echo", "hi", check=126).err.splitlines()
    at = submit.data
    assert f"tonnage: note: {note.format(at)} not there on this host; the job needs it when it begins" in said
    why = f"echo cannot be run: {why.format(at)}: No such file or directory"
    assert said[-1] == f"tonnage: job 1 ended with 126: {why}"
    assert why in submit.shell("jobs", "-d").out


def test_a_file_that_is_there_when_the_job_begins_needs_no_note(submit: Submitter) -> None:
    (submit.data / "dir").mkdir()
    for output in ("dir/x", "x", "%J/x"):
        assert "needs it when" not in submit("-o", output, "true").err


def test_a_directory_and_a_plain_file_are_no_programs(submit: Submitter) -> None:
    assert f"{submit.data} is a directory, not a program; it is submitted" in submit(str(submit.data)).err
    (submit.data / "plain").write_text("x")
    assert "./plain is not executable; it is submitted" in submit("./plain").err


def test_a_job_that_is_waited_for_is_named(submit: Submitter) -> None:
    one = submit("-K", "sh", "-c", "exit 3", check=3)
    assert one.err.splitlines() == [
        "tonnage: waiting until job 1 has ended; Ctrl-C ends the waiting only",
        "tonnage: job 1 ended with 3: `tonnage jobs -d` lists it",
    ]
    several = submit("-K", "--json", "--copies", "2", "--cap", "2", "true")
    assert "tonnage: waiting until all 2 copies of job 2 have ended; Ctrl-C ends" in several.err and several.json


def test_damaged_state_is_told_once_with_what_to_do(submit: Submitter, tmp_path: Path) -> None:
    submit("-K", "true")
    file = tmp_path / "XDG_STATE_HOME" / "tonnage" / "local" / os.uname().nodename / "jobs.sqlite"
    file.write_text("no database\n" * 1000)
    said = submit("true", check=2)
    damaged = f"tonnage: error: {file} is damaged: file is not a database; hint: move it away"
    assert said.err.startswith(damaged) and said.err.count("\n") == 1
    file.unlink()
    file.mkdir()
    said = submit("true", check=2)
    told = f"tonnage: error: {file} is no regular file; hint: move it away, and it is made anew\n"
    assert said.err == told
    file.rmdir()
