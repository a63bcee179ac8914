"""IOR's options as IOR reads them; what cannot be done is refused in one line, before anything is touched."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tonnage.campaign.kinds.stream import Stream
from tonnage.compat.ior.campaign_of_test import campaign_of, seed_of
from tonnage.compat.ior.help import help_text, page
from tonnage.compat.ior.options import DEFAULTS, DIRECTIVES, Parameters, spellings
from tonnage.compat.ior.parse import parse
from tonnage.compat.ior.validate import validate
from tonnage.compat.measure import Ranks
from tonnage.errors import RequestError

from .peer_facts import Fact, facts

ROOT = Path(__file__).resolve().parents[2]


def one(*words: str) -> Parameters:
    (test,) = parse(words)
    return test


def refusal(*words: str) -> str:
    with pytest.raises(RequestError) as caught:
        for test in parse(words):
            validate(test)
    assert "\n" not in str(caught.value) and "; hint: " in str(caught.value)
    return str(caught.value)


def ours() -> list[Fact]:
    """The options and directives there are, but for Tonnage's own: ``--tasks`` and ``tonnageOut``."""
    found = []
    for name, spelled in spellings().items():
        default = getattr(DEFAULTS, name)
        directives = tuple(sorted(directive for directive, field in DIRECTIVES.items() if field == name))
        found.append(
            Fact(
                spelled.module,
                spelled.short,
                spelled.long.replace("tasks", ""),
                directives,
                # A pause may be a fraction of a second here.
                spelled.kind.replace("seconds", "number"),
                f"{default:g}" if isinstance(default, float) else str(default),
            )
        )
    return sorted(fact for fact in found if fact.directives != ("tonnageout",))


def theirs() -> list[Fact]:
    """IOR's. The name of the machine, which it puts in place of one of its defaults, is empty here."""
    return sorted(replace(fact, default="") if fact.directives == ("platform",) else fact for fact in facts("ior"))


def test_the_options_and_directives_are_those_of_ior_with_their_types_and_defaults() -> None:
    assert len(theirs()) > 85
    assert ours() == theirs()


def shown_in_help() -> Iterator[tuple[str, str, str, str]]:
    """Of each line of ``-h`` that begins with an option: module, section, spelling, words."""
    module = section = ""
    for line in help_text().splitlines():
        if line.startswith("Module "):
            module = line.removeprefix("Module ")
        elif line in ("Flags", "Optional arguments"):
            section = line
        elif found := re.match(r"  (-O \S+|-\w, --\S+|--?\S+)(?: +(.*))?\Z", line):
            yield module, section, found[1], found[2] or ""


def expected_in_help(fact: Fact) -> tuple[str, str, str]:
    spelled = ", ".join(filter(None, (fact.short and f"-{fact.short}", fact.long and f"--{fact.long}")))
    if fact.type == "flag":
        return fact.module, "Flags", spelled
    return fact.module, "Optional arguments", f"{spelled}={fact.default or 'STRING'}" if spelled else fact.directives[0]


def test_help_has_the_sections_of_ior_and_in_each_the_options_spelled_as_ior_spells_them() -> None:
    shown = []
    for module, section, spelled, _ in shown_in_help():
        directive = re.match(r"-O (\w+)=\S+\Z", spelled)
        shown.append((module, section, directive[1].lower() if directive else spelled.replace("-N, --tasks", "-N")))
    expected = [expected_in_help(fact) for fact in theirs()]
    assert sorted(shown) == sorted([*expected, ("", "Optional arguments", "tonnageout")])


def test_help_names_the_directive_of_each_short_option_before_it_says_what_the_option_does() -> None:
    words = {spelled.partition("=")[0].partition(",")[0]: words for _, _, spelled, words in shown_in_help()}
    unnamed = [fact.short for fact in theirs() if fact.short and fact.directives and not fact.long
               and words[f"-{fact.short}"].partition(": ")[0].lower() not in fact.directives]  # fmt: skip
    assert len(words) > 85 and not unnamed


def test_the_page_holds_the_table_that_is_made_from_the_options() -> None:
    text = (ROOT / "docs" / "ior.md").read_text()
    assert page(text) == text, "run python -m tonnage.compat.ior.help"


@pytest.mark.parametrize("words", [["-b", "16m"], ["-b=16m"], ["-b16m"], ["-wb", "16m"], ["-O", "blockSize=16m"]])
def test_a_value_may_stand_in_every_place_in_which_ior_takes_it(words: list[str]) -> None:
    test = one(*words)
    assert (test.block_size, test.multi_file) == (16 << 20, 0)


@pytest.mark.parametrize(
    ("text", "value"), [("8", 8), ("4k", 4096), ("2M", 2 << 20), ("1g", 1 << 30), ("1t", 1 << 40), ("3MiB", 3 << 20)]
)
def test_sizes_are_powers_of_two(text: str, value: int) -> None:
    assert one("-t", text).transfer_size == value


def test_flags_in_one_word_count_and_take_numbers() -> None:
    test = one("-wrFvvv", "-k=0", "-e=1")
    assert (test.write_file, test.read_file, test.file_per_proc, test.verbose) == (1, 1, 1, 3)
    assert (test.keep_file, test.fsync) == (0, 1)


def test_directives_are_read_without_regard_to_case_several_at_once_and_up_to_a_comment() -> None:
    test = one("-O", "CHECKREAD=1,keepfile = 1 , useO_DIRECT=1 # and more")
    assert (test.check_read, test.keep_file, test.odirect) == (1, 1, 1)


@pytest.mark.parametrize("directive", sorted(DIRECTIVES))
def test_every_directive_sets_its_parameter(directive: str) -> None:
    name = DIRECTIVES[directive]
    value = {"text": "7", "seconds": "7"}.get(spellings()[name].kind, "7")
    found: Any = getattr(one("-O", f"{directive}={value}"), name)
    assert str(found).removesuffix(".0") == "7"


def test_without_an_operation_a_test_writes_and_reads() -> None:
    test = one()
    validate(test)
    assert (test.write_file, test.read_file, test.num_tasks) == (1, 1, 1)


def test_a_script_gives_each_run_what_stood_before_it(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(
        "not yet\nIOR START\n  api=POSIX # a comment\n  # another\n\n  transferSize=1m,blockSize=8m\nRUN\n"
        "  transferSize=256k\nRUN\nRUN\n  --posix.odirect=1\nIOR STOP\n  transferSize=1\n"
    )
    tests = parse(["-k", "-f", str(script)])
    assert [test.transfer_size >> 10 for test in tests] == [1024, 256, 256, 256]
    assert [test.odirect for test in tests] == [0, 0, 0, 1]
    assert all(test.keep_file and test.block_size == 8 << 20 for test in tests)


def test_a_mistake_in_a_script_is_named_by_its_line(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("IOR START\n  transfersise=1m\nIOR STOP\n")
    expected = f"{script}:2: there is no directive 'transfersise'; hint: did you mean transferSize?"
    assert refusal("-f", str(script)) == expected


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("-t 3m -b 16m", "-b 16 MiB is not a multiple of -t 3 MiB; hint: use -b 15728640 or -b 18874368"),
        ("-t 2m -b 1m", "-b 1 MiB is less than -t 2 MiB; hint: use -b 2097152 or a smaller -t"),
        ("-t 0", "-t 0: a transfer has at least 8 bytes; hint: give -t a size such as 256k"),
        ("-t 12 -b 12", "-t 12 is not a multiple of 8 bytes; hint: use -t 8"),
        ("-b -8", "-b -8 is below 0; hint: give -b a size such as 1m"),
        ("-s 0", "-s 0: a file has at least one segment; hint: use -s 1"),
        ("-N 0", "-N 0: a test has at least one task; hint: give -N 1 or more"),
        ("-i 0", "-i 0: a test runs at least once; hint: give -i 1 or more"),
        ("-r -R", "-R without -w checks an earlier write, and needs its seed; hint: give the -G of that write"),
        ("-C -Z", "-C and -Z each say which task reads what; hint: leave out -C or -Z"),
        ("-z -C -t 4k", "-z with -C needs a file for each task; hint: add -F, or leave out -z or -C"),
        ("-z -t 1m", "-z has no order to draw: each block, -b 1 MiB, is a single transfer; hint: use a larger -b"),
        ("-F -u -o a@b", "-u makes the directories of one name, and -o has several; hint: leave out -u"),
        ("-D 1 -O stoneWallingStatusFile=x", "stoneWallingStatusFile is for a later read, and without -k no file"),
        ("-k -w -D 1 -O stoneWallingStatusFile=x", "stoneWallingStatusFile holds one number for all tasks"),
        ("-O stoneWallingWearOut=1", "stoneWallingWearOut begins when the time of -D is up, and -D is not given"),
        ("-a HDF5", "this build has no backend HDF5; hint: use -a with one of POSIX, MMAP, MPIIO, AIO, URING, DUMMY"),
        ("-a MPIIO -c -z -t 4k", "-c: collective transfers are in order, not at the random offsets of -z; hint: leave"),
        ("-a MPIIO -V -z -t 4k", "--mpiio.useFileView is for transfers in order, not for -z; hint: leave out -V or -z"),
        ("-a MPIIO -S", "--mpiio.useStridedDatatype has no effect without a file view; hint: add --mpiio.useFileView"),
        ("-a MPIIO -V -S -x", "--mpiio.useStridedDatatype moves a transfer of every segment in one call; hint: leave"),
        ("-a MPIIO --posix.odirect", "--posix.odirect: MPI-IO opens its files through the page cache; hint: use -a"),
        ("-a MPIIO -U nowhere", "cannot read the hints nowhere: No such file or directory; hint: give the path"),
        ("-P", "ior has no option -P (in '-P'); hint: IOR 3's -P has no other effect in IOR than to end it"),
        ("-a DUMMY -w -R", "DUMMY stores nothing that a read could check; hint: leave out -R and -W"),
        ("-y", "-y: this build binds no task to a socket: name both mounts with -F -o A@B; hint: leave -y out"),
        ("--randomPrefill=1m", "--randomPrefill prepares files for -z, which is not given; hint: add -z"),
        ("-z -t 4k --randomPrefill=3k", "-b 1048576 is not a multiple of --randomPrefill=3072; hint: use"),
        ("--posix.lustre.pool=fast", "--posix.lustre.pool needs stripecount and stripesize; hint: give all three"),
        ("--posix.beegfs.ChunkSize=100k", "--posix.beegfs.ChunkSize=102400 is not a power of two from 64k on; hint"),
        ("--posix.lustre.ignorelocks", "--posix.lustre.ignorelocks: this build does not switch Lustre's locks off"),
        ("--posix.gpfs.hintaccess", "--posix.gpfs.hintaccess: this build gives GPFS no hints"),
        ("--dummy.delay-xfer=-1", "dummy.delay-xfer=-1 is below 0; hint: give 0 or more"),
        ("-B", "ior has no option -B (in '-B'); hint: IOR 3's -B is --posix.odirect since 4.0"),
        ("-q", "ior has no option -q (in '-q'); hint: IOR 3's -q is not needed: a failed operation ends the test"),
        ("-O summaryFormat=XML", "summaryFormat=XML is not known; hint: use default, JSON or CSV"),
        ("-l zebra", "-l 'zebra' is no kind of data; hint: use offset"),
        ("-M 120%", "-M 120%: a share is from 1% to 95%; hint: use 75%"),
        ("-M much", "-M 'much' is not a size or a share"),
        ("file", "ior takes no word 'file'; hint: see `tonnage ior -h`"),
        ("--posix.odirekt", "ior has no option '--posix.odirekt'; hint: did you mean --posix.odirect?"),
        ("-t", "ior -t needs a value; hint: see `tonnage ior -h`"),
        ("-t much", "-t: 'much' is not a whole number; hint: write it like 8, 4k, 2m or 1g"),
        ("-d soon", "-d: 'soon' is not a time in seconds"),
        ("-b 99999999p", "-b: '99999999p' is above 2^63"),
        ("-O keepFile", "'keepFile' is not a directive with its value; hint: write name=value"),
        ("-O keepFiles=1", "there is no directive 'keepFiles'; hint: did you mean keepFile?"),
        ("-f /nowhere/script", "cannot read the script /nowhere/script: No such file or directory"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_one_line_with_the_option_and_what_to_do(line: str, said: str) -> None:
    assert refusal(*line.split()).startswith(said)


def test_what_a_test_asks_for_becomes_a_campaign_with_the_same_words() -> None:
    line = "-a DUMMY -N 4 -T 2 -d 0.5 -D 3 -i 2 -G 27 -M 10% -Z -F -O stoneWallingWearOut=1,interIODelay=5"
    test = one(*line.split())
    validate(test)
    campaign = campaign_of(test, seed_of(test))
    write, read = (workload for workload in campaign.workloads if isinstance(workload, Stream))
    assert (campaign.seed, campaign.pause_ns, campaign.budget.time_ns) == (27, 500_000_000, 120 * 10**9)
    assert (campaign.order, campaign.repeat.fixed, campaign.on_error) == ("given", 2, "stop")
    assert (write.tasks, write.time_limit_ns, write.wear_out, write.think_ns) == ((4,), 3 * 10**9, True, 5000)
    assert (write.source, read.source, read.cache, read.direct) == (("own",), ("random",), ("keep",), ("no",))


def test_ranks_of_an_mpi_launcher_are_the_tasks_unless_fewer_are_asked_for() -> None:
    ranks = Ranks(("a", "a", "b", "b"))
    (test,) = parse(["-o", "f"])
    validate(test, ranks)
    assert (test.num_tasks, test.num_nodes, test.tasks_on_node_0) == (4, 2, 2)
    (test,) = parse(["-N", "2", "-o", "f"])
    validate(test, ranks)
    assert (test.num_tasks, test.num_nodes, test.tasks_on_node_0) == (2, 1, 2)
