"""The campaign kind ``command``: what it takes, what it refuses, and its hooks."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from tonnage.campaign.campaign_file import build_campaign, parse_campaign
from tonnage.campaign.execute.hooks import Hook
from tonnage.campaign.kinds import setting_of
from tonnage.campaign.model import Campaign
from tonnage.campaign.observer import Observer
from tonnage.campaign.plan import check, make_plan
from tonnage.campaign.run_lifecycle import run_campaign
from tonnage.campaign.stop_signals import Interrupts
from tonnage.errors import RequestError
from tonnage.records import Run


def command(text: str, target: str = "null:") -> Campaign:
    return parse_campaign(f'target = {json.dumps(target)}\n[workload]\nkind = "command"\n{text}', "c.toml")


def refusal(text: str) -> str:
    with pytest.raises(RequestError) as caught:
        command(text)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("gzip -c file", '["gzip", "-c", "file"]'),
        ("cat 'a b' c", '["cat", "a b", "c"]'),
        ("sort < in | uniq", '["sh", "-c", "sort < in | uniq"]'),
        ("echo 'open", '["program", "argument", …]'),
    ],
)
def test_a_command_as_one_string_is_refused_with_the_list_it_may_mean(line: str, hint: str) -> None:
    assert refusal(f"argv = {json.dumps(line)}\ncopies = 1\n") == (
        f"c.toml:4: workload.argv: a command is a list of arguments, no shell sees it; hint: write {hint}"
    )


def test_what_is_missing_or_empty_is_named() -> None:
    assert refusal("copies = 3\n").startswith("c.toml:2: workload.argv is missing; hint: add argv = …")
    assert "copies is missing; hint: add copies = …" in refusal('argv = ["true"]\n')
    assert "it names no program" in refusal("argv = []\ncopies = 1\n")
    assert "it names no program" in refusal('argv = [""]\ncopies = 1\n')
    assert "null character" in refusal('argv = ["echo", "\\u0000"]\ncopies = 1\n')
    assert "is no name of a variable" in refusal('argv = ["true"]\ncopies = 1\nenvironment = { "A=B" = "x" }\n')


def test_tasks_are_the_factor_and_scale_shrinks_the_copies() -> None:
    campaign = command('argv = ["true"]\ncopies = 50\ntasks = [1, 8]\n').model_copy(update={"scale": 0.1})
    specs = [setting.as_dict() for setting in campaign.settings()]
    assert [(setting["tasks"], setting["copies"], setting["kind"]) for setting in specs] == [
        (1, 5, "command"),
        (8, 5, "command"),
    ]


def test_a_setting_and_a_campaign_read_back_equal() -> None:
    campaign = command('argv = ["a b", "$c"]\ncopies = 2\nprepare = ["true"]\nenvironment = { B = "2", A = "1=1" }\n')
    assert build_campaign(json.loads(campaign.model_dump_json()), stored=True) == campaign
    for setting in campaign.settings():
        again = setting_of(json.loads(json.dumps(setting.as_dict())))
        assert again == setting and hash(again) == hash(setting)


def test_a_program_that_is_not_there_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    def checked(text: str) -> str | None:
        campaign = command(text, str(tmp_path))
        try:
            check(campaign, make_plan(campaign))
        except RequestError as error:
            return str(error)
        return None

    (tmp_path / "tool").write_text("#!/bin/sh\n")
    assert checked('argv = ["sh"]\ncopies = 1\n') is None
    assert checked('argv = ["no-such-tool"]\ncopies = 1\n') == (
        "workload.argv: there is no program 'no-such-tool'; hint: give its path, or put it in PATH"
    )
    assert "'./tool'" in (checked('argv = ["./tool"]\ncopies = 1\n') or ""), "it cannot be executed yet"
    (tmp_path / "tool").chmod(0o755)
    assert checked('argv = ["./tool"]\ncopies = 1\n') is None, "a path is relative to the directory it runs in"
    assert checked(f'argv = ["tool"]\ncopies = 1\nenvironment = {{ PATH = "{tmp_path}" }}\n') is None
    assert "workload.cleanup" in (checked('argv = ["sh"]\ncopies = 1\ncleanup = ["no-such-tool"]\n') or "")
    assert "is not a directory" in (checked('argv = ["sh"]\ncopies = 1\ndirectory = "missing"\n') or "")


def hook(directory: Path, interrupts: Interrupts | None = None) -> Hook:
    return Hook(directory, ("GIVEN=one two",), Interrupts() if interrupts is None else interrupts)


def test_a_hook_runs_where_it_should_with_what_it_was_given(tmp_path: Path) -> None:
    program = [
        sys.executable,
        "-c",
        "import os, sys; open('said', 'w').write(os.environ['GIVEN'] + os.environ['MORE'])",
    ]
    assert hook(tmp_path).run("prepare", program, {"MORE": "3"}) is None
    assert (tmp_path / "said").read_text() == "one two3"
    assert hook(tmp_path).run("prepare", None, {}) is None


def test_a_hook_that_fails_says_why_in_its_own_words(tmp_path: Path) -> None:
    runs = hook(tmp_path)
    assert runs.run("prepare", ["sh", "-c", "echo first >&2; echo no room >&2; exit 7"], {}) == (
        "prepare ended with exit code 7: no room"
    )
    assert runs.run("cleanup", ["sh", "-c", "kill -9 $$"], {}) == "cleanup was ended by signal 9"
    assert runs.run("setup", ["./none"], {}) == "setup did not run: No such file or directory"


def test_an_interrupt_ends_what_prepares_and_not_what_clears_up(tmp_path: Path) -> None:
    interrupts = Interrupts()
    with interrupts:
        os.kill(os.getpid(), 15)
        assert interrupts
        assert hook(tmp_path, interrupts).run("prepare", ["touch", "prepared"], {}) is None
        assert hook(tmp_path, interrupts).run("cleanup", ["touch", "cleared"], {}) is None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cleared"]


def test_an_interrupt_ends_a_hook_that_runs(tmp_path: Path) -> None:
    interrupts = Interrupts()
    with interrupts:
        line = f"sleep 0.2; kill -TERM {os.getpid()}; echo up > up; sleep 600"
        assert hook(tmp_path, interrupts).run("prepare", ["sh", "-c", line], {}) is None
    assert (tmp_path / "up").exists()


def test_on_a_model_nothing_is_run_not_even_a_hook(tmp_path: Path) -> None:
    hook = f'prepare = ["touch", "{tmp_path}/touched"]\n'
    text = f'argv = ["no-such-tool"]\ncopies = 4\ntasks = 2\n{hook}[repeat]\ncount = 1\n'
    campaign = command(text, "sim:knee=2,plateau=1GB/s")
    out = tmp_path / "run"
    outcome = run_campaign(campaign, text=None, command_line=[], out=str(out), observer=Observer())
    assert outcome.exit_code == 0
    assert len(Run.open(out).copies()) == 4
    assert not (tmp_path / "touched").exists()
