"""``tonnage probe``: from a directory, or a model, to a load line."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time

import jsonschema
import pytest
from waiting import wait_until

from .shell import DEADLINE_S, LAUNCHER, Shell

QUICK = ("--budget", "4s", "--max-tasks", "4")


def test_a_model_with_a_knee_gets_its_load_line(shell: Shell) -> None:
    found = shell("probe", "sim:knee=8,plateau=2GB/s", "--seed", "1", "--json").json
    for line in found["load_lines"]:
        assert line["reached"]
        assert line["tasks_low"] <= 8 <= line["tasks_high"]
        assert abs(line["plateau_bytes_per_s"] / 2e9 - 1) < 0.02
    assert [line["op"] for line in found["load_lines"]] == ["write", "read"]


def test_a_model_without_a_plateau_is_not_reached(shell: Shell) -> None:
    said = shell("probe", "sim:knee=none", "--op", "write", "--seed", "1")
    assert "not reached within 32 tasks" in said.out


def test_a_surface_whose_trials_fail_says_so_and_that_it_was_looked_for(shell: Shell) -> None:
    words = ("--surface", "--budget", "25s", "--op", "write", "--seed", "1", "--no-keep")
    said = shell("probe", *words, "sim:fault-every=400", check=1)
    assert "write: no load line is shown: too few transfer sizes and numbers of tasks were measured" in said.out
    assert "but trial-failed: " in said.out and "No load line was looked for" not in said.out
    (run,) = shell.runs
    assert "No load line was looked for" not in (run / "report.html").read_text(encoding="utf-8")


def test_the_same_seed_measures_the_same_trials(shell: Shell) -> None:
    first, second = (shell("probe", "sim:noise=10%", "--seed", "5", "--json", "--no-report").json for _ in range(2))
    assert first["points"] == second["points"]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ((), "load line of write, read within 32 tasks, transfers of 1MiB"),
        (("--surface",), "load line of write, read within 32 tasks, transfers of 4KiB to 16MiB"),
        (("--p99", "20ms"), "most tasks within 20ms at p99"),
        (("--p999", "20ms", "--open-loop"), "largest offered rate within 20ms at p999"),
        (("--training", "unet3d-h100"), "accelerators that compute 90% of the time, up to 64: unet3d-h100"),
        (("--kv-cache", "tiny-1b"), "users served within 200ms at p95, up to 64: tiny-1b"),
        (("--beside", "drain@30%"), "company   at most 64 MiB more"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, tuple) else "",
)
def test_a_dry_run_tells_what_is_looked_for_with_time_and_space_and_writes_nothing(
    shell: Shell, asked: tuple[str, ...], found: str
) -> None:
    said = shell("probe", *asked, "--budget", "200s", "--dry-run", shell.data)
    assert found in said.out and "free\n" in said.out and "at most 200 s of measuring" in said.out
    assert not list(shell.data.iterdir()) and not shell.runs


def test_json_is_one_object_that_its_schema_allows(shell: Shell) -> None:
    said = shell("probe", shell.data, *QUICK, "--json")
    schema = shell("schema", "json").json
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(said.json, schema)
    assert {"run", "report", "load_lines", "points", "ceilings", "findings", "cost"} <= said.json.keys()
    assert {ceiling["name"] for ceiling in said.json["ceilings"]} == {"memory-copy", "null-storage"}
    assert said.json["cost"]["ns_per_operation"] > 0


def test_a_directory_is_measured_and_left_as_it_was(shell: Shell) -> None:
    (shell.data / "mine").write_text("precious")
    said = shell("probe", shell.data, *QUICK)
    assert [path.name for path in shell.left_behind] == ["mine"]
    assert (shell.data / "mine").read_text() == "precious"
    (run,) = shell.runs
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["state"] == "complete"
    asked = {"op": ["write", "read"], "max_tasks": 4, "budget_ns": 4 * 10**9}
    assert manifest["search"] == {**asked, "p99_ns": None, "p999_ns": None, "open_loop": False, "surface": None}
    assert f"{run.relative_to(shell.home)}/report.html" in said.out
    lines = [json.loads(line) for line in (run / "trials.jsonl").read_text().splitlines()]
    assert {line["phase"] for line in lines if line["purpose"] == "measure"} == {"write", "read"}
    assert all(line["status"] == "ok" for line in lines)
    assert all(line["cache"]["state"] in ("cold", "warm", "unknown") for line in lines if line["phase"] == "read")


def test_figures_and_sentences_follow_from_the_records_until_one_is_changed(shell: Shell) -> None:
    shell("probe", shell.data, *QUICK, "--no-report")
    (run,) = shell.runs
    shell("verify", run)
    trials = run / "trials.jsonl"
    text = trials.read_text()
    first = json.loads(text.splitlines()[0])
    trials.write_text(text.replace(f'"bytes":{first["bytes"]}', f'"bytes":{first["bytes"] + 1}', 1))
    said = shell("verify", run, check=1)
    assert "bytes" in said.out


def test_small_random_verified_reads_on_io_uring(shell: Shell) -> None:
    said = shell(
        "probe",
        shell.data,
        *QUICK,
        "--op",
        "read",
        "--transfer",
        "4k",
        "--access",
        "random",
        "--storage",
        "uring",
        "--queue-depth",
        "8",
        "--verify",
        "--json",
        "--no-report",
    )
    assert said.json["report"] is None
    assert all(point["op"] == "read" and point["transfer_size"] == 4096 for point in said.json["points"])


@pytest.mark.skipif(shutil.which("strace") is None, reason="a kernel that refuses one call takes strace")
@pytest.mark.parametrize("error", ["EAGAIN", "EBUSY"])
def test_a_ring_that_the_kernel_has_no_room_for_now_is_asked_again(shell: Shell, error: str) -> None:
    workload = 'op = "write"\nstorage = "uring"\nqueue_depth = 8\ntransfer_size = "4k"\nblock_size = "256k"\n'
    shell.write("c.toml", f'target = "{shell.data}"\n[workload]\ntasks = 1\n{workload}[repeat]\ncount = 1\n')
    call = "io_uring_enter"
    words = ["strace", "-f", "-qq", "-o", "trace", "-e", f"trace={call}", "-e", f"inject={call}:error={error}:when=4+3"]
    words += [str(LAUNCHER), "run", "--no-report", "--out", "run", "c.toml"]
    done = subprocess.run(words, cwd=shell.home, capture_output=True, text=True, check=False, timeout=DEADLINE_S)
    assert done.returncode == 0, done.stderr
    assert "INJECTED" in (shell.home / "trace").read_text() or "io_uring cannot be used here" in done.stdout
    (line,) = (json.loads(line) for line in (shell.home / "run/trials.jsonl").read_text().splitlines())
    assert (line["operations"], line["bytes"]) == (64, 256 << 10)


def test_mapped_files_and_the_page_cache_are_measured_too(shell: Shell) -> None:
    for option in (("--storage", "mmap"), ("--direct", "no")):
        assert shell("probe", shell.data, "--budget", "3s", "--max-tasks", "3", *option, "--json", "--no-report").json[
            "points"
        ]
        assert shell.left_behind == []


def test_on_a_pipe_there_are_a_few_plain_lines_and_not_one_a_trial(shell: Shell) -> None:
    began_s = time.monotonic()
    said = shell("probe", "sim:knee=2", "--op", "write", "--max-tasks", "4", "--seed", "1", NO_COLOR="")
    elapsed_s = time.monotonic() - began_s
    lines = [line for line in said.err.splitlines() if "-write" in line]
    assert 2 <= len(lines) <= 3 + elapsed_s / 5 and lines[-1].endswith(" before it)")
    assert "\x1b" not in said.err + said.out


def test_a_finished_probe_prints_one_screen_and_all_of_it_where_that_is_asked(shell: Shell) -> None:
    model = ("sim:knee=8,plateau=2GB/s,noise=20%", "--seed", "1", "--out", "run")
    said = shell("probe", *model)
    lines = said.out.splitlines()
    below = [line for line in said.err.splitlines() if line.startswith("tonnage: ")]
    assert below[-1].startswith("tonnage: sealed: ")
    assert sum(max(1, -(-len(line) // 80)) for line in (*lines, *below)) <= 24, said.out + said.err
    for op in ("write", "read"):
        assert any(line.startswith(f"{op}: ") for line in lines), said.out
    whole = shell("report", "-v", "run").out
    assert "\n  → " in whole and "write, 1 MiB transfers" in whole and len(whole.splitlines()) > len(lines)
    rows = [line for line in whole.splitlines() if re.match(r" *(tasks|[0-9]+)  ", line)]
    assert max(map(len, rows)) <= 80 and {"CPU/GiB", "stopped", "p99"} <= set(" ".join(rows).split())


def test_reads_of_the_page_cache_are_no_answer_and_the_headline_says_so(shell: Shell) -> None:
    (shell.home / "cached.toml").write_text(
        'target = "sim:knee=2,cache=1TiB"\nseed = 1\n[repeat]\ncount = 5\n[workload]\nop = "read"\n'
        'tasks = [1, 2, 4, 8]\nblock_size = "64MiB"\ncache = "keep"\n'
    )
    said = shell("run", "cached.toml", "--out", "run")
    answer = said.out[said.out.rindex("\nread: ") :]
    assert re.search(r"\n  but cache-read: .* of the bytes came from a device", answer), answer
    found = shell("report", "run", "--json").json
    jsonschema.validate(found, shell("schema", "json").json)
    (line,) = found["load_lines"]
    assert "cache-read" in line["undone_by"]
    assert {one["code"] for one in found["findings"] if one.get("undoes_answer")} >= {"cache-read"}
    page = (shell.home / "run/report.html").read_text(encoding="utf-8")
    assert re.search(r'<div class="answer open">(?:(?!</div>).)*class="doubt">cache-read: [0-9]', page, re.DOTALL)


def test_a_run_whose_process_was_killed_ended_without_a_summary(shell: Shell) -> None:
    words = [LAUNCHER, "probe", shell.data, "--budget", "120s", "--space", "64MiB", "--max-tasks", "3", "--out", "run"]
    process = subprocess.Popen(
        words, cwd=shell.home, env=shell.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    wait_until(lambda: len(trials(shell)) > 2, "trials")
    assert shell("report", "run", "--json").json["state"] == "running"
    process.kill()
    process.wait()
    said = shell("report", "run")
    assert "This run ended without a summary: its process is gone." in said.out
    assert "This run ended without a summary" in (shell.home / "run/report.html").read_text(encoding="utf-8")
    found = shell("report", "run", "--json").json
    assert found["state"] == "ended-without-summary"
    jsonschema.validate(found, shell("schema", "json").json)
    shell("clean", "--yes", shell.data)


def trials(shell: Shell) -> list[str]:
    file = shell.home / "run/trials.jsonl"
    return file.read_text().splitlines() if file.exists() else []


def test_an_objective_gives_a_second_line(shell: Shell) -> None:
    model = ("sim:knee=8,plateau=2GB/s,noise=2%,jitter=10%", "--op", "write", "--seed", "1")
    said = shell("probe", *model, "--p99", "15ms", "--p999", "15ms", "--json")
    jsonschema.validate(said.json, shell("schema", "json").json)
    (line,) = said.json["load_lines"]
    p99, p999 = line["latency_lines"]
    # 1 MiB at 2 GB/s is 0.524 ms; 99 operations of 100 take 1.256 times the mean, 999 of 1,000 1.355 times.
    for found, most in ((p99, 22), (p999, 21)):
        assert found["shown"] and found["low"] <= most <= found["high"], found["why"]
    text = shell("probe", *model, "--p99", "15ms", "--p999", "15ms", "--no-report").out
    assert f"\n  {p99['why']}\n" in text and f"\n  {p999['why']}\n" in text


def test_an_offered_rate_is_looked_for_on_the_plateau(shell: Shell) -> None:
    model = ("sim:knee=8,plateau=2GB/s,noise=1%", "--op", "write", "--seed", "4")
    (line,) = shell("probe", *model, "--p99", "8ms", "--open-loop", "--json", "--no-report").json["load_lines"]
    (found,) = line["latency_lines"]
    assert found["load"] == "bandwidth_bytes_per_s"
    assert found["shown"] and 1.5e9 < found["low"] <= found["high"] < 2.2e9, found["why"]
    assert found["plateau_share"] == found["largest"] / line["plateau_bytes_per_s"]
    assert found["tasks"] >= 8


@pytest.mark.parametrize(
    ("objective", "said"),
    [("1ms", "not even 1 task keeps p99 within 1 ms: 5."), ("1s", "at least 32 tasks, the largest measured, keep")],
)
def test_an_objective_that_none_or_all_meet_is_answered_with_that(shell: Shell, objective: str, said: str) -> None:
    text = shell("probe", "sim:knee=8,plateau=2GB/s", "--op", "write", "--seed", "1", "--p99", objective).out
    assert said in text


def test_a_load_line_is_kept_for_placement_and_told_in_one_line(shell: Shell) -> None:
    state = shell.home / "state"
    said = shell("probe", shell.data, "--json", *QUICK, "--op", "read", XDG_STATE_HOME=str(state))
    reached = [line for line in said.json["load_lines"] if line["reached"]]
    kept = sorted((state / "tonnage" / "lines").glob("*.json"))
    assert len(kept) == len(reached)
    told = [line for line in said.err.splitlines() if "kept the load line" in line]
    assert len(told) == bool(reached)
    for path, line in zip(kept, reached, strict=True):
        value = json.loads(path.read_text(encoding="utf-8"))
        assert (value["tasks"], value["low"], value["high"]) == (line["tasks"], line["tasks_low"], line["tasks_high"])
        assert value["run"] == str((shell.home / said.json["run"]).resolve())


def test_nothing_is_kept_of_a_model_or_where_nobody_wants_it(shell: Shell) -> None:
    state = shell.home / "state"
    shell("probe", "sim:knee=2", "--seed", "1", "--no-report", XDG_STATE_HOME=str(state))
    shell("probe", shell.data, "--no-keep", "--no-report", *QUICK, XDG_STATE_HOME=str(state))
    assert not state.exists()
