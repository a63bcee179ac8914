"""One definition of every option: what help, pages, completions and the campaign say must agree."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from tonnage.campaign.model import Campaign
from tonnage.cli.command import all_commands, grouped, module_of, spelled_out
from tonnage.cli.commands.completions import SHELLS
from tonnage.cli.commands.probe import COMMAND as PROBE
from tonnage.cli.commands.probe import campaign_of
from tonnage.cli.entry import parse, run_command
from tonnage.cli.pages import pages

ROOT = Path(__file__).resolve().parents[2]


def probe_campaign(*arguments: str) -> Campaign:
    return campaign_of(parse(("probe", "null:", *arguments)))


def test_every_command_has_a_module_that_runs_it() -> None:
    for command in all_commands():
        assert callable(module_of(command.name).run)
        assert command.examples


def test_what_a_command_has_imported_before_it_runs_is_there() -> None:
    every = {name for command in spelled_out(all_commands()) for name in command.loads}
    assert every and all(import_module(name).__name__ == name for name in every)


def test_help_waits_for_no_large_package() -> None:
    code = "import sys; from tonnage.cli import main\ntry: main(sys.argv[1:])\nexcept SystemExit: print(*sys.modules)"
    for words in (["--help"], ["probe", "--help"], ["stage", "wait", "--help"]):
        ran = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
        large = {"numpy", "scipy", "pydantic", "rich", "jinja2", "tonnage._native"}
        assert not large & set(ran.stdout.splitlines()[-1].split())


def test_help_shows_each_command_once_by_task(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        parse(("--help",))
    said = capsys.readouterr().out
    shown = re.findall(r"^  ([a-z0-9_]+) {2,}\S", said, re.MULTILINE)
    assert sorted(shown) == sorted(command.name for command in all_commands())
    assert re.findall(r"^([a-z ]+):$", said, re.MULTILINE)[1:] == [task for task, _ in grouped()]
    assert "other" not in [task for task, _ in grouped()], "a command is of a task"
    assert shown[:5] == ["probe", "run", "report", "submit", "stage"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("submit", "--copies", "100000000000", "x"), "100000000000 is too large; hint: at most 2147483647"),
        (("submit", "--copies", "9" * 5000, "x"), "is too large; hint: at most 2147483647"),
        (("submit", "--copies", "0", "x"), "'0' is not a whole number above 0"),
        (("doctor", "--hosts", "node[1-9999999]"), "is 9999999 hosts, and 65536 can be asked; hint: name fewer"),
        (("doctor", "--hosts", "a[1-99999999],b[1-9999]c[1-9999]"), "is 199980000 hosts"),
    ],
)
def test_what_is_too_much_is_said_to_be_that(
    words: tuple[str, ...], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        parse(words)
    said = capsys.readouterr()
    assert said.out == "" and complaint in said.err and said.err.count("\n") == 1


def test_the_defaults_that_help_states_are_those_of_the_campaign() -> None:
    stated = {option.names[0]: option.default for option in PROBE.options if option.default}
    typed = [
        word
        for name in (
            "--op",
            "--transfer",
            "--max-tasks",
            "--budget",
            "--direct",
            "--storage",
            "--access",
            "--queue-depth",
        )
        for word in (name, str(stated[name]))
    ]
    assert probe_campaign(*typed) == probe_campaign().model_copy(
        # The block of a search is a placeholder: it follows the transfer.
        update={"workloads": probe_campaign(*typed).workloads}
    )
    plain, spelled = probe_campaign().workload, probe_campaign(*typed).workload
    assert plain.model_dump(exclude={"block_size"}) == spelled.model_dump(exclude={"block_size"})


def test_what_is_typed_reaches_the_campaign() -> None:
    campaign = probe_campaign(
        "--op",
        "read",
        "--transfer",
        "4k",
        "--max-tasks",
        "7",
        "--budget",
        "2m",
        "--p99",
        "20ms",
        "--seed",
        "5",
        "--space",
        "1GiB",
        "--storage",
        "uring",
        "--queue-depth",
        "8",
        "--access",
        "random",
        "--direct",
        "no",
        "--verify",
    )
    assert campaign.search is not None
    assert (campaign.search.op, campaign.search.max_tasks, campaign.search.budget_ns, campaign.search.p99_ns) == (
        ("read",),
        7,
        120 * 10**9,
        20 * 10**6,
    )
    work = campaign.workload
    assert (work.transfer_size, work.storage, work.queue_depth, work.access, work.direct, work.verify) == (
        (4096,),
        ("uring",),
        (8,),
        ("random",),
        ("no",),
        True,
    )
    assert (campaign.seed, campaign.budget.space_bytes) == (5, 1 << 30)


@pytest.mark.parametrize("name", sorted(pages()))
def test_the_pages_in_the_repository_are_those_made_from_the_options(name: str) -> None:
    assert (ROOT / name).read_text(encoding="utf-8") == pages()[name], "run `python -m tonnage.cli.pages`"


def test_help_shows_every_option_its_default_and_examples(capsys: pytest.CaptureFixture[str]) -> None:
    for command in spelled_out(all_commands()):
        try:
            code = run_command([*command.name.split(), "--help"])
        except SystemExit as ended:
            code = ended.code
        assert code == 0
        said = capsys.readouterr().out
        assert all(option.names[0] in said for option in command.shown if not option.positional)
        # IOR's own has no examples.
        assert command.name == "ior" or all(line in said for line, _ in command.examples)


@pytest.mark.parametrize("shell", sorted(SHELLS))
def test_the_completion_script_is_valid_and_knows_every_option(shell: str) -> None:
    script = SHELLS[shell]()
    for command in spelled_out(all_commands()):
        assert command.name.split()[-1] in script
        for option in command.shown:
            if not option.positional:
                assert option.names[-1].lstrip("-") in script
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here to check the syntax")
    subprocess.run([shell, "-n"], input=script, text=True, check=True)


def test_short_names_are_completed_and_on_the_pages_too() -> None:
    assert "-s o -l output" in SHELLS["fish"]()
    assert "'-o[file" in SHELLS["zsh"]()
    assert "`-o, --output OUT`" in pages()["docs/options.md"]


def test_bash_completes_commands_options_and_values() -> None:
    def complete(*words: str) -> set[str]:
        line = " ".join(f"'{word}'" for word in words)
        script = (
            f'{SHELLS["bash"]()}\nCOMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _tonnage; echo "${{COMPREPLY[@]}}"'
        )
        return set(subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout.split())

    assert complete("tonnage", "pr") == {"probe", "project"}
    assert complete("tonnage", "probe", "--max") == {"--max-tasks"}
    assert complete("tonnage", "probe", "--direct", "") == {"auto", "yes", "no"}
    assert complete("tonnage", "stage", "st") == {"start", "status", "stop"}
    assert complete("tonnage", "stage", "run", "--mark") == {"--marker"}
    assert complete("tonnage", "stage", "in", "--mark") == set()
    assert complete("tonnage", "stage", "run", "--order", "") == {"oldest", "newest", "smallest", "largest"}
    assert complete("tonnage", "compat", "") == {"install"}
    assert complete("tonnage", "submit", "--o") == {"--output"}
