"""bsub's options and its script on standard input: what iobsub makes of them, by scheduler."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from command_stand_ins import StandIns
from tonnage.cluster.array_numbers import Range
from tonnage.cluster.job_terms import Dependency, Mail, Terms
from tonnage.cluster.scheduler import ClusterHost
from tonnage.cluster.schedulers.local import Local
from tonnage.compat.front_end import parse_arguments
from tonnage.compat.iobsub.options import IOBSUB
from tonnage.compat.iobsub.parse import MOST_BYTES, IobsubRequest, Script, read_arguments, with_script
from tonnage.compat.iobsub.translate import begin, hosts, name_of, translate
from tonnage.errors import RequestError
from tonnage.placement.plan import queue_of_hosts
from tonnage.placement.site import load_site

from .iobsub_calls import said

LIMIT_S = 60.0
NOW_S = time.mktime((2026, 11, 24, 12, 30, 0, 0, 0, -1))


def terms(*words: str, scheduler: str = "slurm") -> Terms:
    return translate(parse_arguments(IOBSUB, words), scheduler).terms


def at(*moment: int) -> int:
    return int(time.mktime((*moment, 0, 0, 0, -1)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("-W", "90"), Terms(time_limit_s=5400)),
        (("-W", "1:30"), Terms(time_limit_s=5400)),
        (("-P", "proj", "-x", "-r"), Terms(account="proj", exclusive=True, rerun=True)),
        (("-M", "4GB"), Terms(memory_bytes=4 << 30)),
        (("-M", "2048"), Terms(memory_bytes=2048 << 10)),
        (("-R", "rusage[mem=2048]"), Terms(memory_bytes=2048 << 20)),
        (("-R", "rusage[mem=2G] span[hosts=1]", "-M", "1g"), Terms(memory_bytes=2 << 30)),
        (("-R", "span[ptile=4]", "-n", "4", "-R", "rusage[ngpus_physical=2]"), Terms(gpus=2)),
        (("-w", "done(12)"), Terms(dependency=Dependency((("afterok", "12"),)))),
        (
            ("-w", "12 && exit(13) && ended( 14 )"),
            Terms(dependency=Dependency((("afterok", "12"), ("afternotok", "13"), ("afterany", "14")))),
        ),
        (
            ("-w", "started(1) || done(2[3])"),
            Terms(dependency=Dependency((("after", "1"), ("afterok", "2[3]")), any_of=True)),
        ),
        (("-B",), Terms(mail=Mail(("begin",)))),
        (("-N", "-B", "-u", "ann@site"), Terms(mail=Mail(("begin", "end", "fail"), "ann@site"))),
        (("-u", "ann@site"), Terms(mail=Mail(("end", "fail"), "ann@site"))),
    ],
)
def test_what_lsfs_user_means_reaches_another_scheduler(words: tuple[str, ...], wanted: Terms) -> None:
    assert terms(*words) == wanted


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("-W", "0"), "no run limit"),
        (("-W", "10/hosta"), "no run limit"),
        (("-M", "much"), "no size of memory"),
        (("-R", "select[type==any]"), r"select\[type==any\] cannot be told"),
        (("-R", "rusage[mem=1G:duration=3]"), r"rusage\[duration=3\] cannot be told"),
        (("-R", "span[hosts=-1]"), r"span\[hosts=-1\] cannot be told"),
        (("-R", "span[ptile=1]", "-n", "2"), "cannot be told"),
        (("-R", "4 * {mem}"), "cannot be told"),
        (("-w", 'done("name")'), "cannot be told to this scheduler; hint: done"),
        (("-w", "done(1) && (done(2) || done(3))"), "cannot be told"),
        (("-w", "done(1"), "cannot be told"),
        (("-c", "10"), "-c: a limit of CPU time is LSF's own, and the scheduler here is slurm"),
        (("-E", "prepare"), "-E: a command before the job is LSF's own"),
        (("-b", "25:00"), "no moment to come"),
    ],
)
def test_what_has_no_counterpart_is_one_line(words: tuple[str, ...], told: str) -> None:
    with pytest.raises(RequestError, match=told):
        terms(*words)


def test_a_unit_that_was_not_written_is_said() -> None:
    given = parse_arguments(IOBSUB, ("-M", "2048", "-R", "rusage[mem=2]"))
    assert [note.partition(";")[0] for note in translate(given, "slurm").notes] == [
        "-R mem 2 is read as 2 MB, which is LSF's default", "-M 2048 is read as 2048 KB, which is LSF's default",
    ]  # fmt: skip
    assert translate(parse_arguments(IOBSUB, ("-M", "2GB")), "slurm").notes == ()


def test_lsf_gets_its_own_options_as_they_were_typed() -> None:
    words = (
        *("-w", 'done("a") || numdone(3, *)', "-W", "1:30/hosta", "-R", "select[type==any]", "-R", "order[ut]"),
        *("-M", "5", "-P", "p", "-x", "-B", "-N", "-u", "a@b", "-r", "-b", "20:00", "-c", "10", "-E", "prep it"),
    )
    assert terms(*words, scheduler="lsf") == Terms(words=words)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("13:00", at(2026, 11, 24, 13, 0)),
        ("12:30", at(2026, 11, 25, 12, 30)),
        ("3:08:05", at(2026, 12, 3, 8, 5)),
        ("31:08:05", at(2026, 12, 31, 8, 5)),
        ("2:29:00:00", at(2028, 2, 29, 0, 0)),
        ("2027:1:1:00:00", at(2027, 1, 1, 0, 0)),
        ("2037:12:31:23:59", at(2037, 12, 31, 23, 59)),
    ],
)
def test_a_job_begins_at_the_next_such_moment(text: str, wanted: int) -> None:
    assert begin(text, NOW_S) == wanted


@pytest.mark.parametrize(
    "text", ["", "12", "24:00", "2:30:00:00", "2025:1:1:00:00", "2027:2:30:00:00", "1:2:3:4:5:6", "-1:00", "a:b"]
)
def test_a_moment_that_does_not_come_is_told(text: str) -> None:
    with pytest.raises(RequestError, match="no moment to come; hint: "):
        begin(text, NOW_S)


def test_hosts_are_read_with_their_order() -> None:
    assert hosts("a b.site") == (("a", "b.site"), False)
    assert hosts("a+1 b+3 c others") == (("b", "a", "c"), True)
    for wrong in ("", "a,b", "-x", "a!", "others"):
        with pytest.raises(RequestError, match="-m"):
            hosts(wrong)


def script_of(text: str, *words: str, queues: tuple[str, ...] = ("short", "long")) -> IobsubRequest:
    return with_script(read_arguments(words, lambda: queues), Script(text), lambda: queues)


def test_options_of_a_script_count_where_none_were_typed() -> None:
    text = "#!/bin/bash -e\n#BSUB -J 'a b' -W 10 # ten\n#BSUB -q short\n#BSUB\n#BSUBX -n 9\necho '#BSUB -n 9'\n"
    asked = script_of(text, "-W", "20")
    assert asked.options == ("-J", "a b", "-W", "10", "-W", "20")
    assert parse_arguments(IOBSUB, asked.options)["-W"] == "20"
    assert (asked.queue, asked.program) == ("short", ("/bin/bash", "-e", "-c", text, "iobsub"))
    assert script_of(text, "-q", "long").queue == "long"


@pytest.mark.parametrize(
    ("first", "argv"),
    [
        ("echo x", ("/bin/sh", "-c")),
        ("#!/usr/bin/env bash", ("/usr/bin/env", "bash", "-c")),
        ("#!/usr/bin/env -S zsh -f", None),
        ("#!/usr/bin/python3", ("/usr/bin/python3", "-c")),
        ("#!/usr/bin/perl", None),
        ("#!", None),
    ],
)
def test_a_script_is_run_by_the_interpreter_that_it_names(first: str, argv: tuple[str, ...] | None) -> None:
    text = f"{first}\ntrue\n"
    if argv is None:
        with pytest.raises(RequestError, match="cannot be given on standard input; hint: "):
            _ = Script(text).argv
    else:
        found = Script(text).argv
        assert found[: len(argv) + 1] == (*argv, text)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("#BSUB -n 2 prog", "#BSUB in line 2: 'prog' is no option"),
        ("#BSUB -q nope", "#BSUB in line 2: 'nope' is no option, and there is no queue 'nope'"),
        ("#BSUB -J 'a", "#BSUB in line 2: No closing quotation"),
        ("#BSUB -y", "has no option -y"),
    ],
)
def test_a_wrong_line_of_a_script_is_named(line: str, told: str) -> None:
    with pytest.raises(RequestError, match=told):
        script_of(f"#!/bin/sh\n{line}\n")


@contextmanager
def standard_input(file: Path) -> Iterator[None]:
    """This process's, from a file."""
    kept, given = os.dup(0), os.open(file, os.O_RDONLY)
    os.dup2(given, 0)
    os.close(given)
    try:
        yield
    finally:
        os.dup2(kept, 0)
        os.close(kept)


def test_a_script_on_standard_input_runs_with_its_own_options(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = here / "job.bsub"
    script.write_text('#!/bin/sh\n#BSUB -o out.dat\n#BSUB -K -J twice\n# a \'quote\necho "ran $TMP_X in $PWD" $#\n')
    monkeypatch.setenv("TMP_X", "with blanks  kept")
    with standard_input(script):
        code, lines, _ = said()
    assert code == 0 and lines[0].startswith("Submitting job to run on fileserver ")
    assert (here / "out.dat").read_text() == f"ran with blanks  kept in {here} 0\n"
    assert [job.name for job in Local(timeout_s=10).jobs(ended=True)] == ["twice"]
    with standard_input(script):
        assert said("-o", "other.dat", "true")[0] == 0, "a program was given: the input is not read"
    script.write_bytes(b"#" * (MOST_BYTES + 1))
    with standard_input(script), pytest.raises(RequestError, match="more than 100000 bytes; hint: "):
        said()


def test_a_job_runs_where_cwd_says_and_reads_its_input_there(here: Path) -> None:
    (here / "below").mkdir()
    (here / "below" / "in.txt").write_text("typed\n")
    program = here / "below" / "show.sh"
    program.write_text('#!/bin/sh\necho "$PWD"; cat\n')
    program.chmod(0o755)
    assert said("-cwd", "below", "-i", "in.txt", "-o", "out", "-K", "show.sh")[0] == 0
    assert (here / "below" / "out").read_text() == f"{here}/below\ntyped\n"
    with pytest.raises(RequestError, match="there is no directory 'nowhere'"):
        said("-cwd", "nowhere", "true")


@pytest.mark.usefixtures("here")
def test_what_the_local_scheduler_has_not_is_told_and_nothing_is_submitted() -> None:
    for words, told in (
        (("-W", "10"), "knows no time limits"),
        (("-w", "done(1)"), "knows no dependencies"),
        (("-P", "p"), "knows no accounts"),
        (("-M", "1G"), "knows no limits of memory"),
        (("-N",), "knows no e-mail"),
        (("-r",), "runs nothing twice"),
        (("-b", "23:59"), "knows no times to begin at"),
        (("-c", "1"), "LSF's own, and the scheduler here is local"),
    ):
        with pytest.raises(RequestError, match=told):
            said(*words, "true")
    assert Local(timeout_s=10).jobs(ended=True) == []
    assert said("-x", "-K", "true")[0] == 0
    assert said("-Ip", "sh", "-c", "exit 4")[0] == 4


def test_an_array_in_lsfs_syntax_runs_and_each_copy_knows_its_number(here: Path) -> None:
    show = 'echo "$LSB_JOBINDEX $TONNAGE_COPY"'
    assert said("-J", "arr[2-3,7,10-20:5]%2", "-o", "o.%I", "-K", "sh", "-c", show)[0] == 0
    found = {file.name: file.read_text() for file in here.glob("o.*")}
    assert found == {f"o.{number}": f"{number} {number}\n" for number in (2, 3, 7, 10, 15, 20)}
    jobs = Local(timeout_s=10).jobs(ended=True)
    assert {job.name for job in jobs} == {"arr"} and {job.copy for job in jobs} == {2, 3, 7, 10, 15, 20}


def test_the_name_of_an_array_is_read() -> None:
    assert name_of("align") == ("align", (), None)
    assert name_of("arr[1-4,9]%2") == ("arr", (Range(1, 4), Range(9, 9)), 2)
    assert name_of("[5]") == (None, (Range(5, 5),), None)
    for wrong in ("arr[1-4", "arr[x]", "arr[1-4]2", "arr[1-4]%0", "arr[4-1]", "arr[0-3]", "arr[]", "a[1]%1%1"):
        with pytest.raises(RequestError, match="; hint: "):
            name_of(wrong)


@pytest.mark.usefixtures("here")
def test_hosts_that_were_named_are_where_it_runs() -> None:
    code, lines, _ = said("-m", platform.node(), "-K", "true")
    assert (code, lines[0]) == (0, f"Submitting job to run on {platform.node()}, as asked")
    with pytest.raises(Exception, match=r"runs jobs on .* only, not on elsewhere"):
        said("-m", "elsewhere", "true")


SLURM = """\
[[server]]
name = "a"
hosts = ["a1", "a2"]
queue = "storage"
[[server]]
name = "b"
hosts = ["b1"]
queue = "storage"
[[server]]
name = "c"
hosts = ["c1"]
queue = "other"
[[server]]
name = "d"
hosts = ["d1"]
"""
HOSTS = (
    ClusterHost(name="n1", up=True, slots=4, queues=("compute",)),
    ClusterHost(name="n2", up=True, slots=4, queues=("compute", "storage")),
)


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        (("b1",), "storage"), (("a1", "b1"), "storage"), (("d1",), None), (("a1", "d1"), "storage"),
        (("a1", "n2"), "storage"), (("n1",), None), (("elsewhere",), None),
    ],
)  # fmt: skip
def test_the_queue_of_named_hosts_is_that_of_their_servers(
    tmp_path: Path, names: tuple[str, ...], wanted: str | None
) -> None:
    (tmp_path / "site.toml").write_text(SLURM)
    site = load_site(tmp_path, tmp_path / "site.toml")
    assert queue_of_hosts(names, site, (), HOSTS) == wanted


@pytest.mark.parametrize("names", [("a1", "c1"), ("a1", "n1")])
def test_hosts_of_several_queues_are_told(tmp_path: Path, names: tuple[str, ...]) -> None:
    (tmp_path / "site.toml").write_text(SLURM)
    site = load_site(tmp_path, tmp_path / "site.toml")
    with pytest.raises(RequestError, match=f"several queues: a1 in storage, {names[1]} in (other|compute); hint: "):
        queue_of_hosts(names, site, (), HOSTS)


def test_lsf_is_given_its_own_options(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = StandIns(here.parent, monkeypatch)
    commands.add(
        "bsub",
        'sys.exit(print("IBM Spectrum LSF 10.1", file=sys.stderr)) if words == ["-V"] else '
        'print("Job <7> is submitted to default queue <normal>.")',
    )
    for name, text in (("bjobs", "No unfinished job found"), ("bhosts", "HOST_NAME STATUS MAX NJOBS\nh ok 8 0")):
        commands.prints(name, text)
    site = here / "tonnage.toml"
    site.write_text(site.read_text().replace('"local"', '"lsf"'))
    code, lines, _ = said("-W", "1:30", "-R", "select[mem>9]", "-B", "-m", "h g", "-i", "in", "true")
    assert (code, lines[-1]) == (0, "Job <7> is submitted to default queue <normal>.")
    words = commands.calls[-1]
    wanted = ["-m", "h g", "-i", "in", "-W", "1:30", "-R", "select[mem>9]", "-B", "true"]
    assert words[0] == "bsub" and words[words.index("-m") :] == wanted
