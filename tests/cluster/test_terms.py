"""What a job asks beside its hosts, as each scheduler's command spells it, and what each cannot do."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from command_stand_ins import StandIns
from tonnage.cluster.array_numbers import Numbers, upto
from tonnage.cluster.job_terms import Dependency, Mail, Terms, parse_dependency, parse_mail, split_arguments
from tonnage.cluster.scheduler import JobRequest, Scheduler
from tonnage.cluster.schedulers.flux import Flux
from tonnage.cluster.schedulers.local import Local
from tonnage.cluster.schedulers.lsf import Lsf
from tonnage.cluster.schedulers.pbs import Pbs
from tonnage.cluster.schedulers.slurm import Slurm
from tonnage.errors import RequestError

ALL = Terms(
    time_limit_s=5430,
    account="proj",
    memory_bytes=3 << 30,
    gpus=2,
    dependency=Dependency((("afterok", "12"), ("afterany", "13"))),
    mail=Mail(("begin", "end", "fail"), "ann@site"),
    exclusive=True,
    rerun=True,
    begin_at_s=1_900_000_000,
    words=("--nice=5", "-C", "fast nodes"),
)
PLAIN = JobRequest(argv=("prog",), key="k-1", directory="/w")


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIns:
    monkeypatch.setenv("TZ", "UTC0")
    return StandIns(tmp_path, monkeypatch)


def added(scheduler: Scheduler, terms: Terms) -> list[str]:
    """The words that these terms add to the command, in its order."""
    without = scheduler.command(PLAIN)
    found = scheduler.command(replace(PLAIN, terms=terms))
    for word in without:
        if word in found:
            found.remove(word)
    return found


def lsf(commands: StandIns, version: str) -> Lsf:
    commands.add("bsub", f"print({version!r}, file=sys.stderr)")
    return Lsf(timeout_s=20)


@pytest.mark.usefixtures("commands")
def test_slurm_is_told_in_its_own_options() -> None:
    assert added(Slurm(timeout_s=5), ALL) == [
        "--time=90:30", "--account=proj", "--mem=3145728K", "--gres=gpu:2", "--dependency=afterok:12,afterany:13",
        "--mail-type=BEGIN,END,FAIL", "--mail-user=ann@site", "--exclusive", "--requeue",
        "--begin=2030-03-17T17:46:40", "--nice=5", "-C", "fast nodes",
    ]  # fmt: skip
    either = Terms(dependency=Dependency((("afternotok", "1"), ("after", "2[3]")), any_of=True))
    assert added(Slurm(timeout_s=5), either) == ["--dependency=afternotok:1?after:2_3"]


def test_a_comment_of_ones_own_stands_beside_ours() -> None:
    from tonnage.cluster.schedulers.slurm.command import read_comment

    asked = replace(PLAIN, server="rcss1", terms=Terms(words=("--nice=5", "--comment=mine: a | b")))
    words = Slurm(timeout_s=5).command(asked)
    (comment,) = [word.removeprefix("--comment=") for word in words if word.startswith("--comment")]
    assert comment == "tonnage:k-1:rcss1 | mine: a | b"
    assert read_comment(comment) == ("k-1", "rcss1")
    assert read_comment("tonnage:k-1 | mine") == ("k-1", None)


def test_lsf_and_openlava_are_told_in_bsubs_options(commands: StandIns) -> None:
    after = ["-w", "done(12) && ended(13)"]
    mail = ["-B", "-N", "-u", "ann@site", "-x", "-r"]
    own = ["--nice=5", "-C", "fast nodes"]
    assert added(lsf(commands, "IBM Spectrum LSF 10.1.0.12"), ALL) == [
        "-W", "91", "-P", "proj", "-M", "3072MB", "-R", "rusage[mem=3072MB]", "-gpu", "num=2", *after, *mail,
        "-b", "2030:03:17:17:47", *own,
    ]  # fmt: skip
    openlava = lsf(commands, "Openlava project 2.2, Jul 29 2013")
    assert added(openlava, replace(ALL, gpus=None)) == [
        "-W", "91", "-P", "proj", "-M", "3145728", "-R", "rusage[mem=3072]", *after, *mail, "-b", "03:17:17:47", *own,
    ]  # fmt: skip
    with pytest.raises(RequestError, match=r"^Openlava knows no GPUs; hint: leave that out$"):
        openlava.check(replace(PLAIN, terms=ALL))
    spread = replace(PLAIN, slots=4, terms=Terms(words=("-R", "span[ptile=2]")))
    assert openlava.command(spread)[3:-1] == ["-n", "4", "-R", "span[ptile=2]"]
    with pytest.raises(RequestError, match="-J of LSF is given by tonnage itself"):
        lsf(commands, "IBM Spectrum LSF 10.1").check(replace(PLAIN, terms=Terms(words=("-Jd", "x"))))
    either = Terms(dependency=Dependency((("afternotok", "1"), ("after", "2")), any_of=True))
    assert added(openlava, either) == ["-w", "exit(1) || started(2)"]


@pytest.mark.usefixtures("commands")
def test_pbs_counts_memory_and_gpus_with_a_hosts_cpus() -> None:
    assert added(Pbs(timeout_s=5), ALL) == [
        "select=1:ncpus=1:mem=3145728kb:ngpus=2", "-l", "place=excl",
        "-l", "walltime=1:30:30", "-A", "proj", "-W", "depend=afterok:12,afterany:13", "-m", "bea", "-M", "ann@site",
        "-r", "y", "-a", "203003171746.40", "--nice=5", "-C", "fast nodes",
    ]  # fmt: skip


@pytest.mark.usefixtures("commands")
def test_flux_is_told_what_it_knows() -> None:
    asked = replace(ALL, memory_bytes=None, mail=None, rerun=False)
    assert added(Flux(timeout_s=5), asked) == [
        "-N1", "--time-limit=5430s", "--bank=proj", "--gpus-per-task=2", "--dependency=afterok:12",
        "--dependency=afterany:13", "--exclusive", "--begin-time=2030-03-17 17:46:40", "--nice=5", "-C", "fast nodes",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("scheduler", "terms", "why"),
    [
        (Flux(timeout_s=5), Terms(memory_bytes=1), "Flux bounds no memory"),
        (Flux(timeout_s=5), Terms(mail=Mail(("end",))), "Flux sends no e-mail"),
        (Flux(timeout_s=5), Terms(rerun=True), "Flux runs no job again"),
        (Flux(timeout_s=5), Terms(dependency=Dependency((("after", "1"), ("after", "2")), any_of=True)), "all jobs"),
        (Pbs(timeout_s=5), Terms(dependency=Dependency((("after", "1"), ("after", "2")), any_of=True)), "all jobs"),
        (Local(timeout_s=5), Terms(time_limit_s=1, gpus=1), "knows no time limits; the local scheduler knows no GPUs"),
        (Local(timeout_s=5), Terms(dependency=Dependency((("after", "1"),))), "knows no dependencies"),
        (Local(timeout_s=5), Terms(words=("--nice=5",)), "knows no options of its own"),
        (Slurm(timeout_s=5), Terms(words=("x.sh",)), "have 'x.sh', which is none"),
        (Slurm(timeout_s=5), Terms(words=("--nice=5", "--", "x.sh")), "have '--', which is none"),
        (Slurm(timeout_s=5), Terms(words=("--array=1-3",)), "--array of Slurm is given by tonnage itself"),
        (Slurm(timeout_s=5), Terms(words=("-a1-3",)), "-a of Slurm is given by tonnage itself"),
        (Slurm(timeout_s=5), Terms(words=("--hold", "x.sh")), "have 'x.sh', which is none"),
        (Slurm(timeout_s=5), Terms(words=("-H", "x.sh")), "have 'x.sh', which is none"),
        (Slurm(timeout_s=5), Terms(words=("--nice", "5")), "have '5', which is none"),
        (Slurm(timeout_s=5), Terms(words=("-Cfast", "x.sh")), "have 'x.sh', which is none"),
        (Slurm(timeout_s=5), Terms(words=("--nice=5", "")), "have '', which is none"),
        *(
            (made(timeout_s=5), Terms(dependency=Dependency((("afterok", "x1"),))), "'x1' is no number of a job in")
            for made in (Slurm, Pbs)
        ),
        (Pbs(timeout_s=5), Terms(words=("-J", "1-3")), "-J of PBS is given by tonnage itself"),
        (Pbs(timeout_s=5), Terms(words=("-h", "x.sh")), "have 'x.sh', which is none"),
        (Flux(timeout_s=5), Terms(words=("--exclusive", "x.sh")), "have 'x.sh', which is none"),
    ],
)
def test_what_a_scheduler_cannot_do_is_one_line(scheduler: Scheduler, terms: Terms, why: str) -> None:
    with pytest.raises(RequestError, match=f"{why}.*; hint: ") as refused:
        scheduler.check(replace(PLAIN, terms=terms))
    assert refused.value.exit_code == 2 and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("scheduler", "word", "option"),
    [
        (Slurm, "--arr=1-3", "--array"), (Slurm, "--ar=1-3", "--array"), (Slurm, "--wai", "--wait"),
        (Slurm, "--test", "--test-only"), (Slurm, "--hel", "--help"), (Slurm, "--usage", "--usage"),
        (Slurm, "--vers", "--version"), (Slurm, "--pars", "--parsable"), (Slurm, "--wr=x", "--wrap"),
        (Slurm, "-Ha1-2", "-a"), (Slurm, "-HW", "-W"), (Slurm, "-QvHW", "-W"), (Slurm, "-vV", "-V"),
        (Slurm, "-Hu", "-u"), (Slurm, "-kh", "-h"),
        (Pbs, "-J1-3", "-J"), (Pbs, "-hJ1-3", "-J"), (Pbs, "-hz", "-z"), (Pbs, "-hIX", "-I"), (Pbs, "--vers", "--v"),
        (Flux, "--job=x", "--job-name"), (Flux, "--dry", "--dry-run"), (Flux, "--bc=1-3", "--bcc"), (Flux, "-vh", "-h"),
        (Flux, "--wat", "--watch"), (Flux, "--wait-e=start", "--wait-event"),
        (Lsf, "-Jname[1-3]", "-J"), (Lsf, "-Ip", "-I"), (Lsf, "-pack", "-pack"), (Lsf, "-hl", "-h"),
    ],
)  # fmt: skip
def test_a_refused_option_is_refused_however_it_is_abbreviated(
    commands: StandIns, scheduler: type[Slurm | Pbs | Flux | Lsf], word: str, option: str
) -> None:
    commands.add("bsub", "print('IBM Spectrum LSF 10.1', file=sys.stderr)")
    with pytest.raises(RequestError, match=f"^{option}.* is given by tonnage itself"):
        scheduler(timeout_s=20).check(replace(PLAIN, terms=Terms(words=(word,))))


@pytest.mark.parametrize(
    ("scheduler", "words"),
    [
        (Slurm, ("-Hpwide", "--hold", "-CaW", "-x", "host", "--exclusive", "--mem", "4G", "--hint=compute_bound")),
        (Slurm, ("--wait-all-nodes=1", "--account=a", "-Ja", "-vvv", "--nice=5")),
        (Pbs, ("-hlwalltime=1:00", "-W", "umask=022", "-l", "select=1")),
        (Flux, ("--exclusive", "-overbose=2", "--setattr=x=1", "--queue", "q")),
        (Lsf, ("-app", "fluent", "-n4", "-x", "-g", "/a")),
    ],
)
def test_words_in_which_a_refused_letter_is_a_value_pass(
    commands: StandIns, scheduler: type[Slurm | Pbs | Flux | Lsf], words: tuple[str, ...]
) -> None:
    commands.add("bsub", "print('IBM Spectrum LSF 10.1', file=sys.stderr)")
    scheduler(timeout_s=20).check(replace(PLAIN, terms=Terms(words=words)))


@pytest.mark.parametrize("words", [("--comm=mine",), ("--com", "mine"), ("--commen=theirs", "--comment=mine")])
def test_a_comment_stays_behind_ours_also_abbreviated(words: tuple[str, ...]) -> None:
    given = Slurm(timeout_s=5).command(replace(PLAIN, terms=Terms(words=words)))
    assert [word for word in given if word.startswith("--com")] == ["--comment=tonnage:k-1 | mine"]


def test_the_input_is_a_file_of_the_job(commands: StandIns) -> None:
    asked = replace(PLAIN, input="in %J")
    assert "--input=/w/in %A" in Slurm(timeout_s=5).command(asked)
    assert lsf(commands, "IBM Spectrum LSF 10.1.0.12").command(asked)[-3:-1] == ["-i", "in %J"]
    assert "--input=in {{id}}" in Flux(timeout_s=5).command(asked)
    start = Pbs(timeout_s=5).command(replace(PLAIN, input="in $x"))
    assert 'cd -- "$1" || exit; shift; exec <\'in $x\' || exit; exec "$@"' in start
    with pytest.raises(RequestError, match="no numbers"):
        Pbs(timeout_s=5).check(asked)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("12", Dependency((("afterok", "12"),))),
        ("afterok:1:2,afterany:3[]", Dependency((("afterok", "1"), ("afterok", "2"), ("afterany", "3[]")))),
        ("after:1?afternotok:2.pbs", Dependency((("after", "1"), ("afternotok", "2.pbs")), any_of=True)),
    ],
)
def test_dependencies_are_read(text: str, wanted: Dependency) -> None:
    assert parse_dependency(text) == wanted


@pytest.mark.parametrize("text", ["", "afterok:", "later:3", "1,", "1 && 2", "after:-x", "1?2,3"])
def test_what_is_no_dependency_is_told(text: str) -> None:
    with pytest.raises(RequestError, match="is no dependency; hint: "):
        parse_dependency(text)


def test_words_and_events_are_read() -> None:
    assert split_arguments("--nice=5 --comment='a b'  -C x") == ("--nice=5", "--comment=a b", "-C", "x")
    assert parse_mail("fail,Begin") == ("begin", "fail")
    for wrong, call in ((lambda: split_arguments("'"), "cannot be split"), (lambda: parse_mail("never"), "no events")):
        with pytest.raises(RequestError, match=call):
            wrong()


def test_terms_come_back_from_a_record_as_they_were() -> None:
    assert Terms.load(json.loads(json.dumps(asdict(ALL)))) == ALL
    assert Terms.load({}) == Terms() and Terms.load({"of_another_version": 1}) == Terms()


@pytest.mark.parametrize("copies", [(), upto(3)])
@pytest.mark.parametrize("kind", [Slurm, Lsf, Pbs, Flux, Local])
def test_a_program_that_reads_as_an_option_is_refused_by_each(
    kind: type[Slurm | Lsf | Pbs | Flux | Local], commands: StandIns, copies: Numbers
) -> None:
    lsf(commands, "LSF 10.1")
    found = kind(timeout_s=20)
    wanted = replace(PLAIN, argv=("--help", "x"), numbers=copies)
    for ask in (found.check, found.command):
        with pytest.raises(RequestError, match=r"'--help' is an option, not a program; hint: \./--help if it is one"):
            ask(wanted)
    if not copies:
        with pytest.raises(RequestError, match="'--help' is an option"):
            found.check(wanted, interactive=True)
