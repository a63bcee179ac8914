"""What is typed reaches the plan, and the plan reaches the mover and the journal's directory."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from tonnage.cli.entry import parse
from tonnage.cli.stage.copy_in import COMMAND as IN
from tonnage.cli.stage.find_mover import plan_of
from tonnage.cli.stage.run import COMMAND as RUN
from tonnage.cli.stage.start import COMMAND as START
from tonnage.cli.stage.status_text import Limits, parse_limit
from tonnage.errors import RequestError
from tonnage.staging.mover_plan import StagePlan, make_plan

OPTIONS = Path(__file__).resolve().parents[2] / "crates" / "mover" / "src" / "options.rs"


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("PERSIST_DIR", "PFS_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))


def planned(*words: str) -> StagePlan:
    return plan_of(parse(["stage", "run", "--from", "/local", "--to", "/gpfs", *words, "--", "app"]))


def test_the_mover_is_told_every_key_that_it_asks_for_and_no_other() -> None:
    text = OPTIONS.read_text()
    struct = text[text.index("pub struct Options") : text.index("\n}\n", text.index("pub struct Options"))]
    assert set(re.findall(r"pub (\w+):", struct)) == set(json.loads(planned().options()))


def test_the_defaults_that_help_states_are_those_of_the_plan() -> None:
    for command in (RUN, START):
        stated = {option.names[0]: option.default for option in command.options}
        words = [word for name in ("--order", "--check", "--overwrite", "--delete", "--high", "--low", "--workers")
                 for word in (name, str(stated[name]))]  # fmt: skip
        assert planned(*words) == planned()
        assert planned("--gentle", "auto", "--limit", "none") == planned()


def test_what_is_typed_reaches_the_plan() -> None:
    plan = planned(
        "--include", "*.h5", "--include", "*.chk", "--exclude", "tmp/**", "--first", "*.chk", "--order", "newest",
        "--marker", "COMPLETE", "--check", "read-back", "--overwrite", "older", "--delete", "high-water", "--high",
        "80%", "--low", "0.5", "--deadline", "10m", "--limit", "200MB/s,100files/s", "--workers", "4", "--gentle",
        "off", "--log", "/tmp/s.log", "--metrics", "0", "--state", "/state", "--name", "run7",
    )  # fmt: skip
    assert json.loads(plan.options()) == {
        "from": "/local", "to": "/gpfs", "state": "/state", "name": "run7", "include": ["*.h5", "*.chk"],
        "exclude": ["tmp/**"], "first": ["*.chk"], "markers": ["COMPLETE"], "order": "newest", "check": "read-back",
        "overwrite": "older", "clear": "high-water", "marks": {"high_permille": 800, "low_permille": 500}, "workers": 4,
        "limit_bytes_per_s": 200_000_000, "limit_files_per_s": 100, "gentle": "off",
        "settle_ns": 100_000_000, "rescan_ns": 60_000_000_000, "open_grace_ns": 30_000_000_000, "attempts": 8,
        "log": "/tmp/s.log", "drop_attributes": False, "trees_changed": False,
    }  # fmt: skip
    assert (plan.deadline_ns, plan.grace_ns, plan.metrics_port) == (600 * 10**9, 600 * 10**9, 0)


def test_the_program_keeps_its_words_whatever_they_are() -> None:
    words = ["app", "--from", "x", "--", "-n", "--help"]
    assert parse(["stage", "run", "--from", "/local", "--", *words]).program == words


def test_a_program_without_the_dashes_before_it_is_told_where_it_goes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(["stage", "run", "--from", "/local", "./app", "--fast"])
    said = capsys.readouterr().err
    assert ended.value.code == 2 and said.count("\n") == 1
    assert "tonnage stage run takes no word './app'; hint: write the program and its words after --" in said


def test_the_trees_come_from_the_environment_and_then_the_log_is_where_spectral_has_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PERSIST_DIR", "/local")
    monkeypatch.setenv("PFS_DIR", "/gpfs")
    out = plan_of(parse(["stage", "start"]))
    assert (out.source, out.to, out.log) == (Path("/local"), Path("/gpfs"), Path("/gpfs/spectral.log"))
    assert out.state == Path("/local/.tonnage-stage")
    inward = plan_of(parse(["stage", "in"]), direction="in")
    assert (inward.source, inward.to, inward.log) == (Path("/gpfs"), Path("/local"), None)
    assert inward.state == Path("/local/.tonnage-stage") and inward.gentle == "off"
    assert "auto, for `stage in` off" in {option.default for option in IN.options}
    assert plan_of(parse(["stage", "start", "--to", "/other"])).log is None


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--high", "70%"), "--low 75% is not below --high 70%; hint: "),
        (("--high", "50%", "--low", "50%"), "--low 50% is not below --high 50%; hint: "),
        (("--name", "a/b"), "cannot be a mover's name; hint: "),
        (("--to", os.fsdecode(b"/gpfs/\xff")), "is not UTF-8; hint: "),
        (("--log", os.fsdecode(b"\xff")), "is not UTF-8; hint: "),
        (("--first", "a", "--first", os.fsdecode(b"\xff")), "is not UTF-8; hint: "),
    ],
)
def test_what_contradicts_itself_is_one_line(words: tuple[str, ...], complaint: str) -> None:
    with pytest.raises(RequestError, match=complaint):
        planned(*words)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--limit", "fast"), "'fast' is not a bound; hint: "),
        (("--limit", "1MB/s,2MB/s"), "bounds the same twice; hint: "),
        (("--workers", "0"), "'0' is not a whole number above 0; hint: "),
        (("--metrics", "65536"), "'65536' is not a port; hint: "),
        (("--high", "120%"), "above 100 %; hint: "),
        (("--deadline", "soon"), "'soon' is not a time; hint: "),
        (("--order", "random"), "hint: "),
    ],
)
def test_a_value_that_is_none_is_one_line_and_exit_code_2(
    words: tuple[str, ...], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        planned(*words)
    said = capsys.readouterr().err
    assert ended.value.code == 2 and complaint in said and said.count("\n") == 1


def test_a_missing_tree_names_the_option_and_the_variable() -> None:
    with pytest.raises(RequestError, match="--to is missing and PFS_DIR is not set; hint: add --to DIR"):
        plan_of(parse(["stage", "start", "--from", "/local"]))


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("200MB/s", Limits(200_000_000, None)),
        ("1MiB", Limits(1 << 20, None)),
        ("100files/s", Limits(None, 100)),
        ("100 files, 2GB/s", Limits(2 * 10**9, 100)),
        ("0", Limits(0, None)),
        ("none", Limits(None, None)),
    ],
)
def test_a_bound_is_exactly_what_is_written(text: str, limits: Limits) -> None:
    assert parse_limit(text) == limits


def test_a_plan_comes_back_from_its_file(tmp_path: Path) -> None:
    plan = planned("--first", "*.chk", "--marker", "DONE", "--high", "80%").model_copy(update={"state": tmp_path})
    plan.save()
    assert StagePlan.load(tmp_path) == plan
    assert [path.name for path in tmp_path.iterdir()] == ["plan.json"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"from": 1}', "\udcff"])
def test_a_damaged_plan_is_no_plan(tmp_path: Path, text: str) -> None:
    (tmp_path / "plan.json").write_text(text, errors="surrogateescape")
    assert StagePlan.load(tmp_path) is None


def test_a_policy_that_is_not_given_is_the_default() -> None:
    assert make_plan(Path("/a"), Path("/b"), state=None, name="x", order=None, workers=None).order == "oldest"
