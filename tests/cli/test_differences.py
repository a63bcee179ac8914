"""What ``tonnage compare`` and ``history`` call different: what somebody set, not what a search chose itself."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tonnage.cli import main
from tonnage.records import Run
from tonnage.report.answers.compare import value_text

from tests.records.manifests import rewritten

from .json_output import answered


def probed(directory: Path, name: str, plateau: int, *words: str) -> Path:
    target = f"sim:knee=4,plateau={plateau}GB/s,noise=3%"
    more = ("--budget", "10s", "--max-tasks", "8", "--seed", "1", "--no-report", "--no-keep", *words)
    assert main(["probe", target, "--out", str(directory / name), *more]) == 0
    return directory / name


def swept(directory: Path, name: str, keys: str) -> Path:
    file = directory / f"{name}.toml"
    workload = f'op = "write"\ntasks = [1, 2]\ntransfer_size = "1MiB"\n{keys}\n'
    file.write_text(f'target = "sim:knee=4,plateau=2GB/s"\nseed = 1\n[repeat]\ncount = 2\n[[workload]]\n{workload}')
    assert main(["run", str(file), "--out", str(directory / name), "--no-report"]) == 0
    return directory / name


@pytest.fixture(scope="module")
def probes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    directory = tmp_path_factory.mktemp("probes")
    return {
        "base": probed(directory, "base", 1),
        "again": probed(directory, "again", 1),
        "faster": probed(directory, "faster", 2),
        "far": probed(directory, "far", 8),
        "roomy": probed(directory, "roomy", 1, "--space", "1GiB"),
        "short": probed(directory, "short", 1, "--budget", "6s"),
    }


def printed_differences(capsys: pytest.CaptureFixture[str], *runs: Path) -> dict[str, tuple[Any, Any]]:
    (found,) = answered(capsys, "compare", *runs)["comparisons"]
    return {one["key"]: (one["base"], one["other"]) for one in found["differences"]}


def blocks(run: Path) -> set[int]:
    return {line["setting"]["block_size"] for line in Run.open(run).trials() if line["phase"] == "read"}


def test_a_block_that_both_searches_chose_is_no_difference(
    probes: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert blocks(probes["base"]) != blocks(probes["faster"])
    assert list(printed_differences(capsys, probes["base"], probes["faster"])) == ["target.name"]
    runs = answered(capsys, "history", probes["base"], probes["faster"])["history"]["runs"]
    assert [one["key"] for one in runs[1]["differences"]] == ["target.name"]
    capsys.readouterr()
    assert main(["compare", str(probes["base"]), str(probes["again"])]) == 0
    assert "Nothing else is different but what differs between any two runs." in capsys.readouterr().out


def test_blocks_far_apart_and_the_room_and_time_that_somebody_set_are_told(
    probes: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    base, far = printed_differences(capsys, probes["base"], probes["far"])["workload.block_size"]
    assert {base} == blocks(probes["base"]) and far > 4 * base
    found = printed_differences(capsys, probes["base"], probes["roomy"])
    assert found == {"campaign.budget.space_bytes": (None, 1 << 30)}
    found = printed_differences(capsys, probes["base"], probes["short"])
    assert found == {"campaign.search.budget_ns": (10 * 10**9, 6 * 10**9)}


def test_a_block_or_a_time_that_either_campaign_set_is_told(
    probes: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = swept(tmp_path, "base", 'block_size = "32MiB"')
    assert printed_differences(capsys, base, swept(tmp_path, "other", 'block_size = "33MiB"')) == {
        "workload.block_size": (32 << 20, 33 << 20)
    }
    limited = [
        swept(tmp_path, f"for-{limit}", f'block_size = "32MiB"\ntime_limit = "{limit}"') for limit in ("1s", "9s")
    ]
    assert printed_differences(capsys, *limited) == {"workload.time_limit_ns": (10**9, 9 * 10**9)}
    assert "workload.block_size" in printed_differences(capsys, probes["base"], base)


def test_values_are_told_in_their_units() -> None:
    assert value_text([64 << 20, 3 << 20], "workload.block_size") == "64 MiB, 3 MiB"
    assert value_text(1_000_001, "workload.transfer_size") == "1,000,001 B"
    assert value_text(9 * 10**9, "workload.time_limit_ns") == "9.00 s"
    assert value_text(True, "workload.wrap") == "yes" and value_text(None) == "–"


def test_headlines_have_the_names_and_units_of_a_campaign(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    block = 'block_size = "16MiB"\n'
    slow = swept(tmp_path, "slow", f'{block}rate = "300MB/s"')
    quick = swept(tmp_path, "quick", f'{block}rate = "600MB/s"')
    plain, pauses = swept(tmp_path, "plain", block), swept(tmp_path, "pauses", f'{block}think = "1ms"')
    capsys.readouterr()
    assert main(["compare", str(slow), str(quick)]) == 0
    assert "equal but for rate (300 MB/s against 600 MB/s):" in capsys.readouterr().out
    assert main(["compare", str(plain), str(pauses)]) == 0
    assert "equal but for think (– against 1.00 ms):" in capsys.readouterr().out
    assert main(["history", *map(str, (slow, quick, plain, pauses))]) == 0
    said = capsys.readouterr().out
    assert "kept apart by rate and think:" in said and "write, rate 300MB/s, think –, 1 task" in said
    assert "write, rate –, think 1ms, 2 tasks" in said
    assert "bytes_per_s" not in said and "_ns" not in said and "300000000" not in said


def test_a_summary_of_an_older_version_is_verified_whatever_it_called_a_factor(
    tmp_path: Path,
) -> None:
    run = swept(tmp_path, "rates", 'block_size = "16MiB"\nrate = ["300MB/s", "600MB/s"]')

    def aged(value: object) -> object:
        if isinstance(value, dict):
            return {key: aged(one) for key, one in value.items()}
        if isinstance(value, list):
            return [aged(one) for one in value]
        return (
            re.sub(r"rate ([36])00MB/s", r"rate_bytes_per_s \g<1>00000000", value) if isinstance(value, str) else value
        )

    def age(manifest: dict[str, Any]) -> None:
        manifest["summary"] = aged(manifest["summary"])

    rewritten(run, age)
    assert "rate_bytes_per_s 300000000" in (run / "manifest.json").read_text()
    assert main(["verify", str(run)]) == 0
    rewritten(run, lambda manifest: manifest["summary"]["points"][0].update(group="rate_bytes_per_s 300000001"))
    assert main(["verify", str(run)]) == 1


def test_what_an_imported_side_does_not_say_is_counted_and_the_rest_stands_side_by_side(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = Path(__file__).parents[1] / "importers" / "recorded" / "ior" / "3.0.1.txt"
    theirs = tmp_path / "theirs"
    assert main(["import", "ior", str(file), "--out", str(theirs), "--no-report"]) == 0
    tasks = {line["setting"]["tasks"] for line in Run.open(theirs).trials()}
    ours = swept(tmp_path, "ours", 'block_size = "4MiB"')
    text = (tmp_path / "ours.toml").read_text().replace("[1, 2]", str(sorted(tasks)))
    (tmp_path / "like.toml").write_text(text)
    assert main(["run", str(tmp_path / "like.toml"), "--out", str(tmp_path / "like"), "--no-report"]) == 0
    ours = tmp_path / "like"
    capsys.readouterr()
    assert main(["compare", str(ours), str(theirs), "--of", "runs"]) == 0
    said = capsys.readouterr().out
    (unknown,) = re.findall(rf"([0-9]+) things are not known of {re.escape(str(theirs))}", said)
    (found,) = answered(capsys, "compare", ours, theirs, "--of", "runs")["comparisons"]
    assert found["imported"] == ["other"]
    assert int(unknown) == sum(one["other"] is None for one in found["differences"]) > 10
    table = said.partition("What else is different\n")[2].partition("\n\n")[0].splitlines()
    assert table[0].split() == ["what", "in", "the", "base", "in", "the", "other"] and table[1].startswith("storage ")
    assert len(table) < len(found["differences"]) and len({row.split()[0] for row in table}) == len(table)
    headline = said.splitlines()[-1]
    assert "factors not known of an imported side" in said and headline.count("against –") == 0
