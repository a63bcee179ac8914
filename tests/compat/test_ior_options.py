"""IOR's options as IOR reads them; what cannot be done is refused in one line, before anything is touched."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tonnage.campaign.kinds.stream import Stream
from tonnage.compat.ior.build import campaign_of, seed_of
from tonnage.compat.ior.help import help_text, page
from tonnage.compat.ior.options import DIRECTIVES, LONG, SHORT, Parameters, spellings
from tonnage.compat.ior.parse import parse
from tonnage.compat.ior.validate import validate
from tonnage.compat.shared import Ranks
from tonnage.errors import RequestError

ROOT = Path(__file__).resolve().parents[2]
PEER = Path(__file__).parent / "peer"
HELP = (PEER / "ior-help.txt").read_text()


def one(*words: str) -> Parameters:
    (test,) = parse(words)
    return test


def refusal(*words: str) -> str:
    with pytest.raises(RequestError) as caught:
        for test in parse(words):
            validate(test)
    assert "\n" not in str(caught.value) and "; hint: " in str(caught.value)
    return str(caught.value)


def test_every_option_of_the_help_of_ior_is_known() -> None:
    shorts = set(re.findall(r"^  -([A-Za-z])\b", HELP, re.MULTILINE))
    longs = set(re.findall(r"--([A-Za-z][\w.-]*)", HELP))
    directives = set(re.findall(r"^  -O (\w+)=", HELP, re.MULTILINE))
    assert len(shorts) > 35 and len(longs) > 15 and len(directives) > 7
    assert shorts <= set(SHORT)
    assert longs <= set(LONG)
    assert {name.lower() for name in directives} <= set(DIRECTIVES)


def test_the_help_has_every_line_of_the_help_of_ior_but_the_list_of_backends_and_the_second_name_of_tasks() -> None:
    ours = help_text().splitlines()
    missing = [line for line in HELP.splitlines() if line not in ours]
    assert [line.split()[0] for line in missing] == ["-a=POSIX", "-N=-1"]


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
    expected = f'{script}:2: Unrecognized parameter "transfersise"; hint: did you mean transferSize?'
    assert refusal("-f", str(script)) == expected


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("-t 3m -b 16m", "block size (16 MiB) must be a multiple of transfer size (3 MiB); hint: use -b"),
        ("-t 2m -b 1m", "block size must not be smaller than transfer size"),
        ("-t 0", "test will not complete with zero transfer size"),
        ("-t 12 -b 12", "block size must be a multiple of access size"),
        ("-b -8", "block size must be non-negative integer"),
        ("-s 0", "segment count must be positive value"),
        ("-N 0", "too few tasks for testing"),
        ("-i 0", "too few test repetitions"),
        ("-r -R", "using readCheck only requires to write a timeStampSignature -- use -G"),
        ("-C -Z", "Both Constant and Random task re-ordering specified. Choose one and resubmit"),
        ("-z -C -t 4k", "random offset and constant reorder tasks specified with single-shared-file. Choose one"),
        ("-z -t 1m", "IOR will randomize access within a block and repeats the same pattern for all segments"),
        ("-F -u -o a@b", "cannot use multiple file names with unique directories"),
        ("-D 1 -O stoneWallingStatusFile=x", "a StoneWallingStatusFile is only sensible when splitting write/read"),
        ("-O stoneWallingWearOut=1", "the stoneWallingWearOut is only sensible when setting a stonewall"),
        ("-a MPIIO", "this build has no backend MPIIO; hint: use -a with one of POSIX, MMAP, AIO, URING, DUMMY"),
        ("-a DUMMY -w -R", "DUMMY stores nothing that a read could check; hint: leave out -R and -W"),
        ("-y -F", "-y: this build binds no task to a socket: name both mounts with -o A@B"),
        ("-y", "Dual Mount can only be used with File Per Process"),
        ("--randomPrefill=1m", "Setting the randomPrefill option without using random is not useful"),
        ("-z -t 4k --randomPrefill=3k", "The randomPrefill option must divide the blockSize"),
        ("--posix.lustre.pool=fast", "Lustre pool specified but no stripe count or stripe size specified"),
        ("--posix.beegfs.ChunkSize=100k", "beegfsChunkSize must be a power of two and >64k"),
        ("--posix.lustre.ignorelocks", "--posix.lustre.ignorelocks: this build does not switch Lustre's locks off"),
        ("--posix.gpfs.hintaccess", "--posix.gpfs.hintaccess: this build gives GPFS no hints"),
        ("--dummy.delay-xfer=-1", "dummy.delay-xfer must be nonnegative value"),
        ("-B", "Error invalid argument: -B in -B; hint: IOR 3's -B is --posix.odirect since 4.0"),
        ("-q", "Error invalid argument: -q in -q; hint: IOR 3's -q is not needed: a failed operation ends the test"),
        ("-H", "Error invalid argument: -H in -H; hint: IOR 3's -H is MPIIO's, which this build lacks"),
        ("-O summaryFormat=XML", "Unknown summaryFormat 'XML'"),
        ("-l zebra", 'Unknown packet type "zebra"'),
        ("-M 120%", "percentage must be between 0 and 100"),
        ("-M much", "-M 'much' is not a size or a share"),
        ("file", "Error invalid argument: file"),
        ("--posix.odirekt", "Error invalid argument: --posix.odirekt; hint: did you mean --posix.odirect?"),
        ("-t", "argument missing for option -t"),
        ("-t much", "-t: 'much' is not a whole number; hint: write it like 8, 4k, 2m or 1g"),
        ("-d soon", "-d: 'soon' is not a time in seconds"),
        ("-b 99999999p", "-b: '99999999p' is above 2^63"),
        ("-O keepFile", "Syntax error in configuration options: 'keepFile'"),
        ("-O keepFiles=1", 'Unrecognized parameter "keepFiles"; hint: did you mean keepFile?'),
        ("-f /nowhere/script", "cannot read the script /nowhere/script: No such file or directory"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_refused_in_the_words_of_ior_where_it_has_some(line: str, said: str) -> None:
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
