"""``tonnage import`` of what versions printed that are no longer the newest: recorded from IOR 2.10.3, 3.0.1, 3.2.1 and
3.3.0, fio 2.1.10, 2.15 and 2.99, and from ``rados bench`` of Ceph 16.2 in each of its forms."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tonnage.cli import main

from .import_command import RECORDED, codes, lines, rates, summary, take

IOR, FIO, RADOS = RECORDED / "ior", RECORDED / "fio", RECORDED / "rados"
MIB = 2**20


def refused(kind: str, path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """What is said of a file that is not imported."""
    assert main(["import", kind, str(path), "--out", str(path.parent / "none")]) == 2
    return capsys.readouterr().err


def test_ior_3_says_its_segments_on_the_command_line_alone(tmp_path: Path) -> None:
    run = take("ior", tmp_path / "run", IOR / "3.0.1-fpp.txt")
    assert rates(run, "write") == pytest.approx([rate * MIB for rate in (34.05, 68.11, 30.84)], rel=1e-3)
    assert rates(run, "read") == pytest.approx([rate * MIB for rate in (364.78, 591.55, 541.28)], rel=1e-4)
    assert {line["bytes"] for line in run.trials()} == {6 * MIB}
    setting = run.trials()[0]["setting"]
    assert (setting["segments"], setting["layout"], setting["transfer_size"]) == (3, "file-per-task", 65536)
    assert run.trials()[0]["durability"] == "fsync"
    (stopped,) = take("ior", tmp_path / "stopped", IOR / "3.0.1-stonewall.txt").trials()
    assert stopped["bytes"] == 613416960
    assert stopped["bandwidth_bytes_per_s"] == pytest.approx(435.16 * MIB, rel=1e-4)


def test_an_aggregate_that_was_rounded_is_not_what_was_moved(tmp_path: Path) -> None:
    """16 tasks of 200 MiB are 3.125 GiB, which 3.0.1 prints as 3.12 GiB; of 385 MiB in four tasks, 1.50 GiB."""
    text = (IOR / "3.0.1.txt").read_text().replace("-s 2", "").replace("64 GiB", "1.50 GiB").replace("32 (16", "4 (4")
    text = text.replace("1 GiB", "385 MiB").replace("1048576    1024", "394240     1024")
    rows = [row for row in text.splitlines(keepends=True) if not row.startswith(("read", "remove"))]
    took = 4 * 385 / 2184.53, 4 * 385 / 2048
    changed = "".join(rows).replace("30.00  ", f"{took[0]:.6f}").replace("32.00  ", f"{took[1]:.6f}")
    path = tmp_path / "ior.txt"
    path.write_text(changed)
    run = take("ior", tmp_path / "run", path)
    assert {line["bytes"] for line in run.trials()} == {4 * 385 * MIB}
    assert "unit-mismatch" not in codes(run)


def test_a_summary_of_one_output_is_no_trial_because_the_next_has_other_operations(tmp_path: Path) -> None:
    path = tmp_path / "both.txt"
    path.write_text((IOR / "3.0.1-fpp.txt").read_text() + (IOR / "3.0.1-stonewall.txt").read_text())
    run = take("ior", tmp_path / "run", path)
    assert [line["phase"] for line in run.trials()] == ["write", "read"] * 3 + ["write"]
    assert "from-summary" not in codes(run)


def test_ior_2_has_a_summary_alone_and_its_three_iterations_follow(tmp_path: Path) -> None:
    run = take("ior", tmp_path / "run", IOR / "2.10.3-fpp.txt")
    assert sorted(rates(run, "write")) == pytest.approx([176.77 * MIB, 187.28 * MIB, 294.42 * MIB], rel=1e-4)
    assert max(rates(run, "read")) == pytest.approx(726.05 * MIB, rel=1e-4)
    assert {line["bytes"] for line in run.trials()} == {6 * MIB}
    assert "from-summary" in codes(run)
    (stopped,) = take("ior", tmp_path / "stopped", IOR / "2.10.3-stonewall.txt").trials()
    assert stopped["bytes"] == 544210944
    assert stopped["bandwidth_bytes_per_s"] == pytest.approx(378.45 * MIB, rel=1e-4)


@pytest.mark.parametrize(
    ("name", "written", "read"),
    [
        ("3.2.1-json.txt", (2284.1402, 1790.7625), (295.1770, 216.0292)),
        ("3.3.0-json.txt", (706.6841, 1209.4058), (299.0509, 723.0998)),
    ],
)
def test_json_with_a_list_for_each_repetition_and_another_ranks_brackets_in_it(
    name: str, written: tuple[float, ...], read: tuple[float, ...], tmp_path: Path
) -> None:
    run = take("ior", tmp_path / "run", IOR / name)
    assert rates(run, "write") == pytest.approx([rate * MIB for rate in written], rel=1e-6)
    assert rates(run, "read") == pytest.approx([rate * MIB for rate in read], rel=1e-6)
    assert run.manifest["imported"]["tools"][0]["version"] == name.partition("-")[0]
    for line in run.trials():
        assert line["origin"]["said"]["text"].split()[0] in lines(IOR / name)[line["origin"]["line"] - 1]


def test_what_ior_said_of_its_end_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "ior.txt"
    for said, why in (
        ("IOR-3.2.1: MPI Coordinated Test\nior ERROR: N:1 requires xfer-size\n", "line 2: IOR ended before its first"),
        ("3.3.0Sun Nov 22ior -O summaryFormat=CSV -o fLinux\n", "this version of IOR printed no results as CSV"),
    ):
        path.write_text(said)
        assert why in refused("ior", path, capsys)


@pytest.mark.parametrize(
    ("name", "moved", "operations", "rate"),
    [("2.1.10-write.json", 4 * MIB, 64, 17655), ("2.99-write.json", 4 * MIB, 64, 12487)],
)
def test_fio_counts_kib_until_2_20_and_bytes_from_2_21_on(
    name: str, moved: int, operations: int, rate: int, tmp_path: Path
) -> None:
    (line,) = take("fio", tmp_path / "run", FIO / name).trials()
    assert (line["bytes"], line["operations"]) == (moved, operations)
    assert line["bandwidth_bytes_per_s"] == pytest.approx(rate * 1024, rel=1e-3)
    assert line["latency"]["count"] == operations


def test_fio_2_1_says_rates_alone_and_how_many_operations_there_were_follows(tmp_path: Path) -> None:
    run = take("fio", tmp_path / "run", FIO / "2.1.10-mix.json")
    assert [(line["phase"], line["bytes"], line["operations"]) for line in run.trials()] == [
        ("read", 542 * 4096, 542),
        ("write", 482 * 4096, 482),
    ]
    # No options are kept, and a job that did both at once is a mix all the same.
    assert "side-by-side" in codes(run)


def test_what_fio_counted_as_one_is_neither(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "fio", str(FIO / "2.99-uni.json"), "--out", str(tmp_path / "run")]) == 2
    assert "unified_rw_reporting" in capsys.readouterr().err


def test_every_form_of_rados_bench_says_what_it_states(tmp_path: Path) -> None:
    text = take("rados", tmp_path / "text", RADOS / "16.2.txt")
    assert rates(text, "write") == pytest.approx([107.813 * MIB], rel=1e-4)
    assert rates(text, "read") == pytest.approx([196.372 * MIB, 322.36 * MIB], rel=1e-4)
    assert [line["setting"]["queue_depth"] for line in text.trials()] == [16, 16, 4]
    said = take("rados", tmp_path / "json", RADOS / "16.2-json.txt")
    assert rates(said, "write") == pytest.approx([150.385378 * MIB, 211.712810 * MIB], rel=1e-6)
    assert rates(said, "read") == pytest.approx([498.565313 * MIB], rel=1e-6)
    write = said.trials()[1]
    assert (write["bytes"], write["operations"], write["setting"]["queue_depth"]) == (10175 * 65536, 10175, 16)
    assert (write["latency"]["min_ns"], write["latency"]["max_ns"]) == (475_000, 22_066_000)
    series = said.series(write["record"])
    assert series is not None and sum(series["bytes"]) == 10164 * 65536
    pretty = take("rados", tmp_path / "pretty", RADOS / "16.2-pretty.txt")
    assert rates(pretty, "write") == pytest.approx([304.156687 * MIB], rel=1e-6)
    # Operations of 64 KiB in objects of 256.
    assert pretty.trials()[0]["setting"]["transfer_size"] == 65536


def test_times_of_rados_bench_are_when_it_began_and_no_part_of_a_figure(tmp_path: Path) -> None:
    write, read = take("rados", tmp_path / "run", RADOS / "16.2-time.txt").trials()
    assert (write["started"], read["started"]) == (
        "2026-11-22T14:33:34.124294+00:00",
        "2026-11-22T14:33:37.267886+00:00",
    )
    assert (write["bytes"], write["setting"]["queue_depth"]) == (10344 * 65536, 16)
    assert read["bandwidth_bytes_per_s"] == pytest.approx(229.464 * MIB, rel=1e-4)


def test_an_interrupted_bench_is_kept_as_text_and_leaves_nothing_as_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = take("rados", tmp_path / "run", RADOS / "16.2-cut.txt")
    (line,) = run.trials()
    assert (line["bytes"], line["elapsed_ns"], line["origin"]["line"]) == (3001 * 65536, 3 * 10**9, 8)
    assert "cut-short" in codes(run)
    path = tmp_path / "cut.json"
    for said, why in (
        ("hints = 1\n", "line 1: it ends before its first result; as JSON nothing is printed before the end"),
        ("hints = 1\nerror during benchmark: (2) No such file\n", "line 2: rados bench ended with an error"),
    ):
        path.write_text(said)
        assert why in refused("rados", path, capsys)
    # A JSON that was cut by whoever kept it has the seconds until then.
    whole = (RADOS / "16.2-pretty.txt").read_text()
    path.write_text(whole[: whole.index("Cleaning up")])
    (line,) = take("rados", tmp_path / "part", path).trials()
    assert (line["bytes"], line["elapsed_ns"]) == (14597 * 65536, 3 * 10**9)


def test_writes_with_an_fsync_are_other_trials_than_those_without(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = tmp_path / "plain.txt"
    plain.write_text((IOR / "3.0.1-fpp.txt").read_text().replace(" -e ", " "))
    both = take("ior", tmp_path / "both", IOR / "3.0.1-fpp.txt", plain)
    writes = [point for point in summary(both)["points"] if point["op"] == "write"]
    assert {(point["repetitions"], point["group"]) for point in writes} == {(3, "sync fsync"), (3, "sync none")}
    reads = [point for point in summary(both)["points"] if point["op"] == "read"]
    assert [point["repetitions"] for point in reads] == [6]
    runs = [take("ior", tmp_path / name, file).path for name, file in (("a", IOR / "3.0.1-fpp.txt"), ("b", plain))]
    capsys.readouterr()
    assert main(["compare", *map(str, runs), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["comparisons"]
    told = {one["key"]: (one["base"], one["other"]) for one in found["differences"]}
    assert told["workload.sync"] == ("fsync", "none")
    assert "imported.tool" not in told and "-F -e" in told["imported.command"][0]


def test_a_history_of_imports_has_the_times_that_their_files_say(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = (("ior", IOR / "3.0.1-fpp.txt"), ("fio", FIO / "2.15-mix.json"), ("mdtest", RECORDED / "mdtest/2rank.txt"))
    runs = [take(kind, tmp_path / kind, file).path for kind, file in files]
    capsys.readouterr()
    assert main(["history", *map(str, runs), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["history"]["runs"]
    assert [run["time"] for run in found] == [
        "2026-11-20T15:09:49+00:00",
        "2026-11-22T14:29:51+00:00",
        "2026-11-22T14:36:31+00:00",
    ]


def test_reads_of_other_tasks_blocks_are_other_trials_than_those_of_their_own(tmp_path: Path) -> None:
    text = (IOR / "3.0.1-fpp.txt").read_text()
    path = tmp_path / "reordered.txt"
    path.write_text(text.replace("file= no tasks offsets", "file= constant task offsets = 1"))
    run = take("ior", tmp_path / "run", IOR / "3.0.1-fpp.txt", path)
    points = [(point["op"], point["repetitions"], point["group"]) for point in summary(run)["points"]]
    assert sorted(points) == [("read", 3, "reorder constant"), ("read", 3, "reorder none"), ("write", 6, "")]


def test_mdtest_3_says_each_iteration_with_v_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recorded = RECORDED / "mdtest/3.3.0-verbose.txt"
    run = take("mdtest", tmp_path / "run", recorded)
    made = [line["operations"] * 1e9 / line["elapsed_ns"] for line in run.trials() if line["phase"] == "create"]
    assert made == pytest.approx([1393.394, 1395.278], rel=1e-6)
    assert {line["operations"] for line in run.trials()} == {100}
    assert not codes(run) & {"unit-mismatch", "damaged-file", "from-summary"}
    # Its summary is over the ranks too, so that nothing follows from it; and without barriers a line is of one rank.
    brief = "".join(line for line in lines(recorded) if not line.startswith("V-1"))
    alone = recorded.read_text().replace("'-v'", "'-v' '-B'")
    for text, why in ((brief, "with -v a line of each"), (alone, "with -v and without -B a line of each")):
        path = tmp_path / "other.txt"
        path.write_text(text)
        assert main(["import", "mdtest", str(path), "--out", str(tmp_path / "none")]) == 2
        assert why in capsys.readouterr().err


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("ior", ("ior/3.3.0-json.txt", "ior/3.2.1-json.txt", "ior/ext4-json.txt")),
        ("fio", ("fio/2.15-mix.json", "fio/plus.json")),
        ("iperf3", ("iperf3/send.client.json", "iperf3/both.server.json")),
    ],
)
def test_of_several_json_outputs_in_a_file_none_is_lost(kind: str, names: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "all"
    path.write_text("".join((RECORDED / name).read_text() for name in names))
    together = take(kind, tmp_path / "together", path).trials()
    apart, before = [], 0
    for name in names:
        of_one = take(kind, tmp_path / Path(name).name, RECORDED / name).trials()
        apart += [
            (line["phase"], line["bytes"], line["elapsed_ns"], line["origin"]["line"] + before) for line in of_one
        ]
        before += (RECORDED / name).read_text().count("\n")
    assert [(line["phase"], line["bytes"], line["elapsed_ns"], line["origin"]["line"]) for line in together] == apart
