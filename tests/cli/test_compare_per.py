"""``tonnage compare --per``: rates for one disk, server or link, and units that are checked."""

from __future__ import annotations

from pathlib import Path

import pytest
from tonnage.cli import main

from .test_compare import PLAIN, WITHIN, compared, run_on

ONE = 'op = "write"\ntasks = 8\n'


def run_of(directory: Path, name: str, plateau: str, normalise: str = "") -> Path:
    table = f"[normalise]\n{normalise}\n" if normalise else ""
    return run_on(directory, name, plateau=plateau, noise="2%", workload=PLAIN + table, **{"": ONE})


def refused(capsys: pytest.CaptureFixture[str], *words: str | Path) -> str:
    capsys.readouterr()
    assert main([*map(str, words)]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    return err


def test_a_faster_system_may_be_slower_for_each_of_its_disks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = run_of(tmp_path, "old", "2GB/s", "disks = 60"), run_of(tmp_path, "new", "2.4GB/s", "disks = 84")
    assert [cell["verdict"] for cell in compared(capsys, old, new, *WITHIN)["cells"]] == ["faster"]
    for per in ("disk", "disks", "disk=60,84"):
        found = compared(capsys, old, new, *WITHIN, "--per", per)
        (cell,) = found["cells"]
        assert found["per"] == ["60 disks", "84 disks"] and cell["unit"] == "B/s per disk"
        assert cell["verdict"] == "slower" and cell["low"] <= (2.4 / 84) / (2 / 60) <= cell["high"]
        assert cell["base"] == pytest.approx(2e9 / 60, rel=0.05)
    assert main(["compare", str(old), str(new), "--per", "disk", "--out", str(tmp_path / "page.html")]) == 0
    said = capsys.readouterr().out
    assert "MB/s per disk" in said and "the base's by 60 disks, the other's by 84 disks" in said
    assert "84 disks" in (tmp_path / "page.html").read_text()


def test_rates_are_shares_of_links_of_unlike_speed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = run_of(tmp_path, "old", "100MB/s"), run_of(tmp_path, "new", "500MB/s")
    (cell,) = compared(capsys, old, new, *WITHIN, "--per", "link=1Gbit/s,10Gbit/s")["cells"]
    assert cell["unit"] == "of the link" and cell["verdict"] == "slower"
    assert cell["base"] == pytest.approx(0.8, rel=0.05) and cell["other"] == pytest.approx(0.4, rel=0.05)
    assert main(["compare", str(old), str(new), "--per", "link=1Gbit/s,10Gbit/s"]) == 0
    assert "% of the link" in capsys.readouterr().out


def test_unlike_things_and_missing_ones_are_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    disks, servers = run_of(tmp_path, "d", "2GB/s", "disks = 60"), run_of(tmp_path, "s", "2GB/s", "servers = 4")
    plain = run_of(tmp_path, "p", "2GB/s")
    told = refused(capsys, "compare", disks, servers, "--per", "disk")
    assert "has no disks: it says 4 servers, and these are unlike things; hint" in told
    assert "it says nothing of the kind; hint: give one to each run, like --per disk=60,84" in refused(
        capsys, "compare", disks, plain, "--per", "disk"
    )
    assert "has 1 for 2 runs; hint" in refused(capsys, "compare", disks, plain, "--per", "disk=60")
    assert "may be bits or bytes" in refused(capsys, "compare", disks, plain, "--per", "link=1G,10G")
    assert "how many of what; hint" in refused(capsys, "compare", disks, plain, "--per", "disk=60,none")
