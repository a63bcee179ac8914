"""The ``s3`` storage on a real S3: the suite of all storages, campaigns, bad moments, and what a user may get wrong."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import rust_suites
import s3_service as lab
from impossible import skipped_where_impossible
from s3_faults import Faults
from tonnage.records import Run

LIMIT_S = 120.0

pytestmark = pytest.mark.usefixtures("let_in")


@pytest.fixture(scope="module", autouse=True)
def buckets(service: lab.S3) -> None:
    service.bucket("test")
    # The suite leaves what it wrote.
    service.bucket("suite")


def tonnage(*words: str | Path, expect: int = 0) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "tonnage.cli", *map(str, words)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == expect, (done.returncode, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr and lab.SECRET not in done.stdout + done.stderr
    return done


def campaign(directory: Path, target: str, workload: str = 'op = "write"\nblock_size = "1MiB"\n') -> Path:
    file = directory / "campaign.toml"
    file.write_text(f'target = "{target}"\n[repeat]\ncount = 1\n[workload]\n{workload}')
    return file


def measured_lines(run: Path) -> list[dict[str, Any]]:
    return [line for line in Run.open(run).trials() if line["purpose"] == "measure"]


def troubles(line: dict[str, Any]) -> str:
    """What a phase says of the service's bad moments; empty where it met none."""
    return next((note["message"] for note in line["notes"] if note["code"] == "s3-troubles"), "")


@pytest.mark.timeout(600)
def test_it_passes_the_suite_of_all_storages(service: lab.S3) -> None:
    given = {**os.environ, "TONNAGE_TEST_S3": service.endpoint}
    with skipped_where_impossible():
        rust_suites.passes("storage", "conformance::s3::", 10, given)


@pytest.mark.parametrize(
    ("transfer", "block"),
    [("64KiB", "1MiB"), ("1MiB", "20MiB"), ("6MiB", "18MiB"), ("1MiB", "1MiB")],
    ids=["gathered into one", "gathered into parts", "parts", "whole objects"],
)
def test_a_campaign_writes_reads_back_what_it_wrote_and_leaves_nothing(
    service: lab.S3, tmp_path: Path, transfer: str, block: str
) -> None:
    before = service.keys("test")
    work = (
        'op = ["write", "read"]\ntasks = [1, 3]\nqueue_depth = [1, 4]\nverify = true\n'
        f'transfer_size = "{transfer}"\nblock_size = "{block}"\n'
    )
    file = campaign(tmp_path, f"s3://test/some/where?endpoint={service.endpoint}", work)
    tonnage("run", file, "--out", tmp_path / "run", "--no-report")
    lines = measured_lines(tmp_path / "run")
    assert len(lines) == 8 and all(line["status"] == "ok" for line in lines)
    assert all(line["verify"]["checked_bytes"] == line["bytes"] for line in lines if line["phase"] == "read")
    target = Run.open(tmp_path / "run").manifest["target"]
    assert target["kind"] == "s3" and target["bucket"]["endpoint"] == service.endpoint
    assert {line["cache"]["state"] for line in lines if line["phase"] == "read"} == {"unknown"}
    assert service.keys("test") == before
    for path in (tmp_path / "run").rglob("*"):
        assert path.is_dir() or lab.SECRET.encode() not in path.read_bytes(), path


def test_random_reads_and_passes_without_end_stay_whole(service: lab.S3, tmp_path: Path) -> None:
    uri = f"s3://test?endpoint={service.endpoint}"
    work = (
        'op = "read"\naccess = "random"\nqueue_depth = [1, 8]\nverify = true\n'
        'transfer_size = "64KiB"\nblock_size = "6MiB"\n'
    )
    tonnage("run", campaign(tmp_path, uri, work), "--out", tmp_path / "reads")
    assert all(line["status"] == "ok" and line["bytes"] for line in measured_lines(tmp_path / "reads"))
    work = (
        'op = "write"\ntasks = 2\nqueue_depth = [1, 4]\nwrap = true\ntime_limit = "300ms"\n'
        'transfer_size = "1MiB"\nblock_size = "6MiB"\n'
    )
    tonnage("run", campaign(tmp_path, f"{uri}&part=5MiB", work), "--out", tmp_path / "writes")
    assert all(line["status"] == "ok" and line["bytes"] for line in measured_lines(tmp_path / "writes"))
    assert service.keys("test") == []


def test_trees_of_small_objects_are_made_looked_at_and_removed(service: lab.S3, tmp_path: Path) -> None:
    work = (
        'kind = "files"\nphases = ["create", "stat", "read", "read-directory", "remove"]\n'
        'tasks = [1, 3]\ndepth = 1\nbranch = 2\nitems_per_directory = 20\nfile_size = "3KiB"\nverify = true\n'
    )
    tonnage("run", campaign(tmp_path, f"s3://test/p?endpoint={service.endpoint}", work), "--out", tmp_path / "run")
    lines = measured_lines(tmp_path / "run")
    assert {line["status"] for line in lines} == {"ok"}
    found = {(line["phase"], line["setting"]["tasks"]): line["operations"] for line in lines}
    assert found["create", 3] == found["stat", 3] == found["read", 3] == found["remove", 3] == 180
    assert found["read-directory", 3] == 9
    assert service.keys("test") == []


@pytest.mark.parametrize("transfer", ["1MiB", "6MiB"], ids=["gathered", "parts"])
@pytest.mark.parametrize("depth", [1, 4])
def test_bad_moments_are_counted_and_what_was_written_is_whole(
    service: lab.S3, tmp_path: Path, depth: int, transfer: str
) -> None:
    work = (
        f'op = ["write", "read"]\ntasks = 2\nqueue_depth = {depth}\nverify = true\nretry_for = "30s"\n'
        f'transfer_size = "{transfer}"\nblock_size = "24MiB"\n'
    )
    # Every fourth: of 10 parts at least one is a write's. An object's last one is sent at its close, which none counts.
    with Faults(service.endpoint, slow_every=4, cut_every=7) as faults:
        file = campaign(tmp_path, f"s3://test?endpoint={faults.endpoint}&part=5MiB", work)
        tonnage("run", file, "--out", tmp_path / "run", "--no-report")
    assert faults.counts["slow"] > 3 and (faults.counts["cut"] > 1 or transfer == "6MiB")
    lines = {line["phase"]: line for line in measured_lines(tmp_path / "run")}
    for line in lines.values():
        assert line["status"] == "ok" and line["bytes"] == 48 << 20
        assert troubles(line)
    assert lines["write"]["retries"] > 0 and lines["read"]["retries"] > 0
    assert lines["read"]["verify"] == {"checked_bytes": 48 << 20, "damaged_operations": 0, "first_damage": []}
    run = Run.open(tmp_path / "run")  # a read that comes first has its data filled in
    events = [event for event in run.events() if event["kind"] == "retry"]
    assert sum(event["attempts"] for event in events) == sum(line["retries"] for line in run.trials())
    assert service.keys("test") == []


def retried(run: Path) -> int:
    """Attempts of a run that were followed by another; its events say the same."""
    events = [event for event in Run.open(run).events() if event["kind"] == "retry"]
    attempts = sum(line["retries"] for line in Run.open(run).trials())
    assert sum(event["attempts"] for event in events) == attempts
    return attempts


def test_checkpoints_are_written_over_saved_by_a_program_read_back_and_removed(service: lab.S3, tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    saved.mkdir()
    objects, kept = service.directory / "test", f"{saved}/{{round}}"
    work = (
        'kind = "checkpoint"\nsnapshot = ["none", "command"]\ntasks = [1, 3]\nqueue_depth = [1, 4]\nrounds = 3\n'
        f'snapshot_command = ["cp", "-r", "{objects}", "{kept}"]\nremove_command = ["rm", "-r", "{kept}"]\n'
        'transfer_size = "1MiB"\nblock_size = "6MiB"\nverify = true\n'
    )
    tonnage("run", campaign(tmp_path, f"s3://test/c?endpoint={service.endpoint}", work), "--out", tmp_path / "run")
    lines = measured_lines(tmp_path / "run")
    assert len(lines) == 2 * 2 * 2 * 3 and {line["status"] for line in lines} == {"ok"}
    for line in lines:
        size = line["setting"]["tasks"] * (6 << 20)
        if line["phase"] == "restart":
            assert (line["verify"]["checked_bytes"], line["verify"]["damaged_operations"]) == (size, 0)
        if line["phase"] == "checkpoint":
            taken = 3 if line["setting"]["snapshot"] == "command" else 0
            assert (line["bytes"], line["checkpoint"]["snapshot"]["count"]) == (3 * size, taken)
    assert service.keys("test") == [] and list(saved.iterdir()) == []


@pytest.mark.parametrize("depth", [1, 4])
def test_rounds_of_checkpoints_outlast_bad_moments(service: lab.S3, tmp_path: Path, depth: int) -> None:
    work = (
        f'kind = "checkpoint"\ntasks = 2\nqueue_depth = {depth}\nverify = true\nretry_for = "30s"\n'
        'transfer_size = "1MiB"\nblock_size = "12MiB"\n'
    )
    with Faults(service.endpoint, slow_every=5, cut_every=7) as faults:
        file = campaign(tmp_path, f"s3://test?endpoint={faults.endpoint}", work)
        tonnage("run", file, "--out", tmp_path / "run", "--no-report")
    lines = {line["phase"]: line for line in measured_lines(tmp_path / "run")}
    assert {line["status"] for line in lines.values()} == {"ok"}
    assert lines["restart"]["verify"]["checked_bytes"] == 24 << 20 and retried(tmp_path / "run") > 0
    assert not lines["restart"]["verify"]["damaged_operations"]
    assert service.keys("test") == []


@pytest.mark.parametrize("means", ["rados", "rados-pool", "cephfs", "btrfs", "reflink"])
def test_snapshots_that_a_bucket_lacks_are_one_line_and_exit_2(service: lab.S3, tmp_path: Path, means: str) -> None:
    work = f'kind = "checkpoint"\nsnapshot = "{means}"\ntasks = 1\n'
    file = campaign(tmp_path, f"s3://test?endpoint={service.endpoint}", work)
    done = tonnage("run", file, "--out", tmp_path / "run", expect=2)
    assert f"has no snapshots of kind {means}; hint: use command or none" in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert not (tmp_path / "run").exists() and service.keys("test") == []


def test_a_snapshot_that_hangs_fails_the_trial_when_its_time_is_up(service: lab.S3, tmp_path: Path) -> None:
    work = (
        'kind = "checkpoint"\nsnapshot = "command"\nsnapshot_command = ["sleep", "1000"]\nsnapshot_timeout = "300ms"\n'
        'tasks = 2\ntransfer_size = "1MiB"\nblock_size = "1MiB"\n'
    )
    file = campaign(tmp_path, f"s3://test?endpoint={service.endpoint}", work)
    tonnage("run", file, "--out", tmp_path / "run", "--no-report", expect=1)
    line = next(line for line in measured_lines(tmp_path / "run") if line["phase"] == "checkpoint")
    assert line["status"] == "failed" and "had not ended after 300ms" in line["reason"]
    assert service.keys("test") == []


@pytest.mark.parametrize("depth", [1, 4])
def test_without_patience_a_cut_answer_fails_the_phase(service: lab.S3, tmp_path: Path, depth: int) -> None:
    work = f'op = "read"\ntasks = 1\nqueue_depth = {depth}\ntransfer_size = "1MiB"\nblock_size = "12MiB"\n'
    with Faults(service.endpoint, cut_every=9) as faults:
        file = campaign(tmp_path, f"s3://test?endpoint={faults.endpoint}", work)
        tonnage("run", file, "--out", tmp_path / "run", "--no-report", expect=1)
    (line,) = measured_lines(tmp_path / "run")
    assert line["status"] == "failed" and line["bytes"] < 12 << 20
    assert "1 cut short" in troubles(line) and "the answer was cut short" in troubles(line)
    assert service.keys("test") == []


def test_a_write_that_fails_leaves_neither_objects_nor_parts(service: lab.S3, tmp_path: Path) -> None:
    work = 'op = "write"\ntasks = 1\ntransfer_size = "5MiB"\nblock_size = "100MiB"\n'
    with Faults(service.endpoint, slow_every=12) as faults:
        file = campaign(tmp_path, f"s3://test?endpoint={faults.endpoint}", work)
        tonnage("run", file, "--out", tmp_path / "run", "--no-report", expect=1)
    (line,) = measured_lines(tmp_path / "run")
    assert line["status"] == "failed" and "the service says 503 SlowDown" in troubles(line)
    assert service.keys("test") == []


def test_trees_are_made_again_by_themselves(service: lab.S3, tmp_path: Path) -> None:
    work = 'kind = "files"\ntasks = 2\nitems = 30\nfile_size = "2KiB"\nverify = true\n'
    with Faults(service.endpoint, slow_every=6, cut_every=9) as faults:
        file = campaign(tmp_path, f"s3://test?endpoint={faults.endpoint}", work)
        tonnage("run", file, "--out", tmp_path / "run", "--no-report")
    lines = measured_lines(tmp_path / "run")
    assert {line["status"] for line in lines} == {"ok"} and all(troubles(line) for line in lines)
    assert service.keys("test") == []


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("s3://nosuch?endpoint={endpoint}", "has no bucket nosuch"),
        ("s3://test?endpoint=http://127.0.0.1:{closed}", "Connection refused"),
        ("s3://test?endpoint=http://127.0.0.1:{silent}", "cannot be asked for bucket test"),
        ("s3://test?endpoint=http://no-such-host.invalid", "no such host"),
        ("s3://test?endpoint={endpoint}&profile=nobody", "no credentials for S3"),
        ("s3://key:not-a-secret-of-anyone@test", "keys are never part of it"),
        ("s3:test", "write s3://BUCKET/PREFIX"),
        ("s3://test?endpoint=http://u:p@h", "endpoint: not the address of a service"),
        ("s3://test?part=1MiB", "5MiB to 5GiB"),
        ("s3://test?regoin=x", "did you mean 'region'"),
        ("s3://test/a/../b?endpoint={endpoint}", "a prefix holds letters"),
    ],
)
def test_what_cannot_be_reached_is_one_line_and_exit_2(service: lab.S3, tmp_path: Path, target: str, said: str) -> None:
    with socket.socket() as silent, socket.socket() as closed:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        closed.bind(("127.0.0.1", 0))
        ports = {"silent": silent.getsockname()[1], "closed": closed.getsockname()[1]}
        file = campaign(tmp_path, target.format(endpoint=service.endpoint, **ports))
        done = tonnage("run", file, "--out", tmp_path / "run", expect=2)
    assert said in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert not (tmp_path / "run").exists() and service.keys("test") == []


@pytest.mark.parametrize("wrong", ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"])
def test_wrong_keys_are_told_and_not_repeated(
    service: lab.S3, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    monkeypatch.setenv(wrong, "mistaken-for-a-key")
    file = campaign(tmp_path, f"s3://test?endpoint={service.endpoint}")
    done = tonnage("run", file, "--out", tmp_path / "run", expect=2)
    assert "does not let these credentials into bucket test" in done.stderr and done.stderr.count("\n") == 1
    assert "mistaken-for-a-key" not in done.stderr and lab.KEY not in done.stderr
    assert not (tmp_path / "run").exists()


def test_keys_may_stand_in_a_profile(service: lab.S3, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    keys = tmp_path / "credentials"
    keys.write_text(f"[lab]\naws_access_key_id = {lab.KEY}\naws_secret_access_key = {lab.SECRET}\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(keys))
    file = campaign(tmp_path, f"s3://test?endpoint={service.endpoint}&profile=lab")
    tonnage("run", file, "--out", tmp_path / "run", "--no-report")


@pytest.mark.parametrize(
    ("work", "said"),
    [
        ('op = "write"\naccess = "random"\n', "from its first byte to its last"),
        ('op = "read"\nlayout = "shared"\n', "one writer"),
        ('op = "mixed"\n', "not written in the middle"),
        ('op = "write"\nsync = "fsync-each"\n', "durable as a whole"),
        ('kind = "files"\nphases = ["create", "rename"]\n', "nothing to rename"),
        ('kind = "files"\nwhat = "directories"\n', "no directories"),
        ('kind = "tail"\n', "nobody can follow an object"),
    ],
)
def test_what_objects_do_not_do_is_refused_in_one_line(service: lab.S3, tmp_path: Path, work: str, said: str) -> None:
    file = campaign(tmp_path, f"s3://test?endpoint={service.endpoint}", work)
    done = tonnage("run", file, "--out", tmp_path / "run", expect=2)
    assert said in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert not (tmp_path / "run").exists() and service.keys("test") == []


def test_a_probe_keeps_to_its_space_and_objects_of_others_stay(service: lab.S3, tmp_path: Path) -> None:
    others = ["tonnage-of-another/data.00000000", "mine/data.00000000"]
    for other in others:
        path = service.bucket("shared") / other
        path.parent.mkdir(exist_ok=True)
        path.write_text("of another")
    limits = ["--space", "16MiB", "--budget", "4s", "--max-tasks", "3"]
    tonnage("probe", f"s3://shared?endpoint={service.endpoint}", *limits, "--out", tmp_path / "run", "--no-report")
    trials = Run.open(tmp_path / "run").trials()
    assert {line["phase"] for line in trials} == {"write", "read"}
    assert all(line["setting"]["block_size"] * line["setting"]["tasks"] <= 16 << 20 for line in trials)
    assert service.keys("shared") == sorted(others)


def test_https_is_trusted_where_the_site_says_so_and_only_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("no openssl here to make a certificate with")
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    made = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    name = ["-addext", "subjectAltName=DNS:localhost", "-addext", "basicConstraints=critical,CA:FALSE"]
    argv = ["openssl", *made, *name, "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(argv, check=True, capture_output=True, timeout=LIMIT_S)
    (tmp_path / "buckets").mkdir()
    work = 'op = ["write", "read"]\nqueue_depth = [1, 4]\nblock_size = "12MiB"\nverify = true\n'
    with lab.s3(tmp_path / "buckets", certificate=(certificate, key)) as service:
        service.bucket("test")
        file = campaign(tmp_path, f"s3://test?endpoint={service.endpoint}", work)
        done = tonnage("run", file, "--out", tmp_path / "run", expect=2)
        assert "certificate" in done.stderr and done.stderr.count("\n") == 1, done.stderr
        monkeypatch.setenv("AWS_CA_BUNDLE", str(certificate))
        tonnage("run", file, "--out", tmp_path / "run", "--no-report")
        assert all(line["status"] == "ok" for line in measured_lines(tmp_path / "run"))
