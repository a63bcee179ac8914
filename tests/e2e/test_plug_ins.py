"""The example package, installed as users install one: each plug-in does its part, and a broken one is named."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from tonnage.machine.mounts import mount_of

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "plug-in"
LOCATE = """
from tonnage.filesystems import Device, facts_of, served_by
from tonnage.filesystems.servers import ObservedPath
from tonnage.machine.mounts import Mount
mount = Mount("/mnt", "fuse.examplefs", "far:/vol", "rw")
observed = ObservedPath(
    path="/mnt/x", mount=mount, timeout_s=5, mounts=(mount,), is_known=lambda name: False, below=lambda path: None
)
print(served_by(observed).servers, facts_of("/mnt", mount))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory for PYTHONPATH with the package in it."""
    copy, place = tmp_path_factory.mktemp("source") / "plug-in", tmp_path_factory.mktemp("installed")
    shutil.copytree(EXAMPLE, copy)
    words = ["install", "--quiet", "--disable-pip-version-check", "--no-deps", "--target", place, copy]
    done = subprocess.run([sys.executable, "-m", "pip", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return place


def tonnage(place: Path, home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Without the package's own name in front: Python itself with ``-c``."""
    return python(place, home, "-m", "tonnage.cli", *words)


def python(place: Path, home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(place), "HOME": str(home), "COLUMNS": "100"}
    return subprocess.run(
        [sys.executable, *words], cwd=home, env=environment, capture_output=True, text=True, check=False, timeout=120
    )


def test_a_kind_of_file_is_imported_and_the_finding_fires(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "dd.txt").write_text("1073741824 bytes (1.1 GB, 1.0 GiB) copied, 0.5 s, 2.1 GB/s\n")
    done = tonnage(installed, tmp_path, "import", "dd", "dd.txt", "--out", "run", "--json")
    assert done.returncode == 0, done.stderr
    (point,) = json.loads(done.stdout)["points"]
    assert point["median"] == pytest.approx(1073741824 / 0.5)
    probed = tonnage(installed, tmp_path, "probe", "sim:", "--op", "write", "--out", "probed", "--json", "--no-keep")
    assert probed.returncode == 0, probed.stderr
    assert "few-operations" in [finding["code"] for finding in json.loads(probed.stdout)["findings"]]
    explained = tonnage(installed, tmp_path, "explain", "few-operations")
    assert explained.stdout == "A point of a run, by what is in its records and nothing else.\n"
    assert "few-operations" in tonnage(installed, tmp_path, "explain").stdout


def test_help_and_errors_name_what_plug_ins_add(installed: Path, tmp_path: Path) -> None:
    kinds = "sob, rados, nextflow, nextflow-timeline, darshan"
    for place, more in ((installed, ", dd"), (tmp_path, "")):
        helped = " ".join(tonnage(place, tmp_path, "import", "--help").stdout.split())
        assert f"{kinds}{more} FILE " in helped
    assert ", dd\n" in tonnage(installed, tmp_path, "import", "ddd", "x").stderr
    assert ", dd\n" not in tonnage(tmp_path, tmp_path, "import", "ddd", "x").stderr
    assert "local,shell\n" in tonnage(installed, tmp_path, "submit", "--help").stdout
    (tmp_path / "c.toml").write_text('target = "sim:"\n[job]\non = "shelf"\n[workload]\n')
    wrong = tonnage(installed, tmp_path, "run", "--dry-run", "c.toml")
    assert wrong.returncode == 2 and "'shelf' is no scheduler; hint: they are auto, slurm, " in wrong.stderr
    assert "local, shell" in wrong.stderr


def test_a_job_is_submitted_by_a_scheduler_of_a_plug_in(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["submit", "--scheduler", "shell", "--anywhere", "--dry-run", "--json", "true"]
    assert "shell is not set up on this host" in tonnage(installed, tmp_path, *words).stderr
    monkeypatch.setenv("EXAMPLE_SITE", "1")
    done = tonnage(installed, tmp_path, *words)
    assert done.returncode == 0, done.stderr
    assert tonnage(tmp_path, tmp_path, *words).returncode == 2


def test_a_file_system_tells_its_servers_and_facts(installed: Path, tmp_path: Path) -> None:
    done = python(installed, tmp_path, "-c", LOCATE)
    assert done.stdout == "('far',) {'volume': '/vol', 'unknown': {}}\n", done.stderr
    assert python(tmp_path, tmp_path, "-c", LOCATE).stdout.startswith("('far',) None")


def test_a_workflow_engine_has_its_trace_read(installed: Path, tmp_path: Path) -> None:
    # 2 s of one task, in the past: what counts is that the trace is understood.
    (tmp_path / "c.toml").write_text(
        f'target = "{tmp_path}"\n[workload]\nkind = "command"\ncopies = 1\ntasks = 1\ntrace = "steps"\n'
        'argv = ["sh", "-c", "echo align $(date +%s%N) $(date +%s%N) >steps-1.trace"]\n'
    )
    done = tonnage(installed, tmp_path, "run", "c.toml", "--out", "run", "--no-report")
    assert done.returncode == 0, done.stderr
    tasks = [json.loads(line) for line in (tmp_path / "run" / "workflow.jsonl").read_text().splitlines()]
    assert {(task["engine"], task["name"]) for task in tasks} == {("steps", "align")}


def test_a_broken_plug_in_is_named_in_one_line(installed: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(installed, broken)
    (broken / "tonnage_example" / "dd.py").write_text("def read(data, name):\n    return 1 / 0\n")
    (tmp_path / "dd.txt").write_text("x\n")
    done = tonnage(broken, tmp_path, "import", "dd", "dd.txt", "--out", "run")
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "the plug-in dd (tonnage.importers) of the package tonnage-example failed: ZeroDivisionError" in done.stderr
    assert not (tmp_path / "run").exists()


def plant(place: Path, package: str, group: str, name: str, source: str) -> Path:
    """Installs a package with one plug-in, ``thing`` of a module with this source."""
    module = package.replace("-", "_")
    facts = place / f"{module}-1.dist-info"
    facts.mkdir(parents=True)
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n")
    (facts / "entry_points.txt").write_text(f"[{group}]\n{name} = {module}:thing\n")
    (place / f"{module}.py").write_text(source)
    return place


FINDING = "from tonnage.analysis.results import Finding\ndef thing(evidence):\n    "


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (FINDING + "return [1 / 0]\n", "ZeroDivisionError: division by zero"),
        (FINDING + "raise SystemExit(3)\n", "SystemExit: 3"),
        (FINDING + "yield Finding('odd', 'a', object(), 'b')\n", "TypeError: the evidence of its finding is <object"),
        (FINDING + "yield Finding('even', 'a', 'b', 'c')\n", "ValueError: it yielded the code 'even'"),
        ("import no_such_module\n", "ModuleNotFoundError: No module named 'no_such_module'"),
    ],
    ids=["raises", "exits", "no-text", "another-code", "no-module"],
)
def test_a_finding_that_fails_is_named_and_what_was_measured_is_kept(tmp_path: Path, source: str, why: str) -> None:
    place = plant(tmp_path / "place", "odd-one", "tonnage.findings", "odd", source)
    words = ["probe", "sim:", "--op", "write", "--budget", "30s", "--out", "run", "--no-keep", "--json"]
    done = tonnage(place, tmp_path, *words)
    assert done.returncode == 0, done.stderr
    (told,) = [line for line in done.stderr.splitlines() if "plug-in" in line]
    start = (
        "tonnage: note: without the findings of a plug-in: the plug-in odd (tonnage.findings) of the package odd-one "
    )
    assert told.startswith(f"{start}failed: {why}")
    assert json.loads(done.stdout)["report"] == "run/report.html"
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["state"] == "complete" and manifest["summary"]["load_lines"]


def test_a_finding_cannot_change_what_was_measured_nor_print_into_the_answer(tmp_path: Path) -> None:
    body = "print('noise')\n    for point in evidence.points:\n        point.latency.clear(); point.setting.clear()\n"
    body += "    for line in evidence.trials: line['setting'].clear()\n"
    body += "    evidence.run.manifest.clear()\n    return []\n"
    words = ["probe", "sim:", "--op", "write", "--budget", "30s", "--seed", "5", "--no-keep", "--json"]
    place = plant(tmp_path / "place", "odd-one", "tonnage.findings", "odd", f"print('noise')\n{FINDING}{body}")
    with_plug_in = tonnage(place, tmp_path, *words, "--out", "run")
    without = tonnage(tmp_path, tmp_path, *words, "--out", "other")
    assert with_plug_in.returncode == 0 and "noise" in with_plug_in.stderr
    points = [json.loads(done.stdout)["points"] for done in (with_plug_in, without)]
    assert points[0] == points[1]


def test_pages_are_explained_where_a_finding_cannot_be_imported(tmp_path: Path) -> None:
    place = plant(tmp_path / "place", "odd-one", "tonnage.findings", "odd", "import no_such_module\n")
    listed, page, own = (tonnage(place, tmp_path, "explain", *words) for words in ([], ["no-plateau"], ["odd"]))
    why = "the plug-in odd (tonnage.findings) of the package odd-one failed: ModuleNotFoundError"
    assert [done.returncode for done in (listed, page, own)] == [0, 0, 0]
    assert why in listed.stdout and why in own.stdout and "plateau" in page.stdout


def test_what_a_plug_in_found_is_not_compared_where_it_is_not_installed(tmp_path: Path) -> None:
    place = plant(tmp_path / "place", "odd-one", "tonnage.findings", "odd", FINDING + "yield Finding(*['odd'] * 4)\n")
    done = tonnage(place, tmp_path, "probe", "sim:", "--op", "write", "--budget", "30s", "--out", "run", "--no-keep")
    assert done.returncode == 0, done.stderr
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert "odd" in [finding["code"] for finding in manifest["summary"]["findings"]]
    for there in (place, tmp_path):
        verified = tonnage(there, tmp_path, "verify", "run")
        assert verified.returncode == 0, verified.stdout + verified.stderr


def test_a_plug_in_whose_name_is_taken_is_told_with_its_package(tmp_path: Path) -> None:
    place = tmp_path / "place"
    for package, group, name in (
        ("x-ior", "tonnage.importers", "ior"),
        ("x-nfs", "tonnage.filesystems", "nfs"),
        ("y-one", "tonnage.findings", "odd"),
        ("y-two", "tonnage.findings", "odd"),
    ):
        plant(place, package, group, name, "def thing(*_):\n    'Of the first.'\n    return []\n")
    done = tonnage(place, tmp_path, "explain", "odd")
    assert (done.returncode, done.stdout) == (0, "Of the first.\n")
    told = "tonnage: note: the plug-in {} of the package {} is left out: {} of that name"
    assert sorted(done.stderr.splitlines()) == [
        told.format("ior (tonnage.importers)", "x-ior", "Tonnage has one"),
        told.format("nfs (tonnage.filesystems)", "x-nfs", "Tonnage has one"),
        told.format("odd (tonnage.findings)", "y-two", "the package y-one has one"),
    ]
    assert tonnage(place, tmp_path, "--version").stderr == ""


IMPORTED = "from tonnage.importers.imported_phases import ImportedFile, Phase\ndef thing(data, name):\n    "
PHASE = "Phase(phase='write', setting={{'kind': 'stream', 'op': 'write', 'tasks': 1, **{}}}, elapsed_ns=5, bytes=1, "
PHASE += "operations=1, line=1)"
ODD_PHASE = PHASE.format("{'x': {1}}")


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (IMPORTED + "raise SystemExit(0)\n", "SystemExit: 0"),
        (IMPORTED + "return [1]\n", "TypeError: it returned [1], which is no ImportedFile"),
        (IMPORTED + "return ImportedFile(phases=({},))\n", "TypeError: it returned {} as a phase, which is no Phase"),
        (
            IMPORTED + f"return ImportedFile(phases=({ODD_PHASE},))\n",
            "TypeError: it returned what is not JSON: {1} is neither text",
        ),
    ],
    ids=["exits", "list", "no-phase", "no-json"],
)
def test_an_importer_that_breaks_its_promise_is_named_and_nothing_is_written(
    tmp_path: Path, source: str, why: str
) -> None:
    place = plant(tmp_path / "place", "odd-one", "tonnage.importers", "odd", source)
    (tmp_path / "file").write_text("x\n")
    done = tonnage(place, tmp_path, "import", "odd", "file", "--out", "run")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert f"the plug-in odd (tonnage.importers) of the package odd-one failed: {why}" in done.stderr
    assert not (tmp_path / "run").exists()


def test_a_workflow_engine_that_fails_fails_the_trial_and_the_run_has_its_records(tmp_path: Path) -> None:
    source = "from tonnage.importers import Trace, TracedTask\ndef thing(path):\n    "
    source += "return Trace((TracedTask(name='a', process='a', status='ok', start_ns='now'),))\n"
    place = plant(tmp_path / "place", "odd-one", "tonnage.workflows", "odd", source)
    (tmp_path / "c.toml").write_text(
        f'target = "{tmp_path}"\n[workload]\nkind = "command"\ncopies = 1\ntasks = 1\ntrace = "odd"\n'
        'argv = ["sh", "-c", "echo >odd-1.trace"]\n[repeat]\ncount = 1\n'
    )
    done = tonnage(place, tmp_path, "run", "c.toml", "--out", "run", "--no-report")
    assert done.returncode == 1, done.stderr
    (line,) = [json.loads(text) for text in (tmp_path / "run" / "trials.jsonl").read_text().splitlines()]
    assert line["status"] == "failed"
    assert "the plug-in odd (tonnage.workflows) of the package odd-one failed: TypeError: start_ns" in line["reason"]
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["state"] == "complete"


@pytest.mark.parametrize("facts", ["{'a': {1}}", "{(1, 2): 3}", "{'a': float('nan')}"])
def test_facts_that_are_no_json_are_refused_before_anything_is_written(tmp_path: Path, facts: str) -> None:
    mount = mount_of("/dev/shm")
    if mount is None or mount.file_system != "tmpfs":
        pytest.skip("/dev/shm is no tmpfs here")
    place = plant(tmp_path / "place", "odd-one", "tonnage.filesystems", "tmpfs", "")
    (place / "odd_one.py").write_text(f"class thing:\n    facts = staticmethod(lambda mounted: {facts})\n")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as target:
        done = tonnage(place, tmp_path, "probe", target, "--out", "run", "--budget", "4s")
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
        assert "of the package odd-one failed: TypeError: facts returned what is not JSON" in done.stderr
        assert not (tmp_path / "run").exists() and not list(Path(target).iterdir())


@pytest.mark.parametrize("answer", ["servers=(3,)", "devices=('d',)", "how=None", "how='abc'"])
def test_servers_that_have_other_types_are_refused_in_one_line(tmp_path: Path, answer: str) -> None:
    mount = mount_of("/dev/shm")
    if mount is None or mount.file_system != "tmpfs":
        pytest.skip("/dev/shm is no tmpfs here")
    place = plant(tmp_path / "place", "odd-one", "tonnage.filesystems", "tmpfs", "")
    (place / "odd_one.py").write_text(
        "from tonnage.filesystems.servers import Answer\n"
        f"class thing:\n    served_by = staticmethod(lambda observed: Answer({answer}))\n"
    )
    for words in (["where", "/dev/shm"], ["where", "--json", "/dev/shm"]):
        done = tonnage(place, tmp_path, *words)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
        assert f"of the package odd-one failed: TypeError: {answer.partition('=')[0]}" in done.stderr


SCHEDULER = """
from tonnage.cluster.scheduler import Job, Submitted
class thing:
    name = "odd"
    def __init__(self, timeout_s): pass
    def present(self): return True
    def check(self, request, interactive=False): pass
    def command(self, request): return ["odd", *request.argv]
    def submit(self, request): return Submitted("7", "job 7")
    def find(self, key): return None
    def interactive(self, request): return 0
    def jobs(self, user=None, ended=False): return [Job(job="7")]
    def queues(self): return []
    def hosts(self): return []
    def cancel(self, job, copy=None): pass
    def set_cap(self, job, cap): pass
    def hides_others(self): return False
"""


@pytest.mark.parametrize(
    ("method", "does", "words", "why"),
    [
        ("present", "return 1 / 0", "submit --scheduler odd --anywhere true", "ZeroDivisionError: division by zero"),
        ("present", "return 1 / 0", "queues", "ZeroDivisionError: division by zero"),
        ("check", "raise OSError('no tool')", "submit --scheduler odd --anywhere true", "OSError: no tool"),
        ("command", "return 'odd'", "submit --scheduler odd --anywhere --dry-run true", "TypeError: it returned 'odd'"),
        ("interactive", "raise SystemExit(0)", "submit -I --scheduler odd --anywhere true", "SystemExit: 0"),
        ("jobs", "return [7]", "jobs --scheduler odd", "TypeError: it returned a list with 7, which is no Job"),
        ("jobs", "return None", "jobs --scheduler odd", "TypeError: it returned None, which is no list"),
        ("jobs", "return [Job(job=7)]", "jobs --scheduler odd", "TypeError: job of its Job is 7: input should be"),
        ("queues", "raise KeyError('q')", "queues --scheduler odd", "KeyError: 'q'"),
        ("cancel", "raise KeyError('7')", "cancel --any --scheduler odd 7", "KeyError: '7'"),
    ],
)
def test_a_scheduler_that_fails_is_named_with_its_method_in_one_line(
    tmp_path: Path, method: str, does: str, words: str, why: str
) -> None:
    source = f"{SCHEDULER}    def {method}(self, *_, **__): {does}\n"
    place = plant(tmp_path / "place", "odd-one", "tonnage.schedulers", "odd", source)
    done = tonnage(place, tmp_path, *words.split())
    code = 1 if method == "cancel" else 2  # of jobs to be cancelled some may be
    assert (done.returncode, done.stderr.count("\n")) == (code, 1), done.stderr
    start = f"the plug-in odd (tonnage.schedulers) of the package odd-one failed in {method}(): {why}"
    assert start in done.stderr


def test_a_scheduler_that_fails_while_it_submits_may_have_the_job(tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    source = f"{SCHEDULER}    def submit(self, request): open({str(taken)!r}, 'a').write(request.key + '\\n'); 1 / 0\n"
    place = plant(tmp_path / "place", "odd-one", "tonnage.schedulers", "odd", source)
    (tmp_path / "site.toml").write_text('[policy]\nscheduler_timeout = "1s"\n')
    words = ["submit", "--scheduler", "odd", "--site", "site.toml", "--anywhere", "--key", "mine", "true"]
    done = tonnage(place, tmp_path, *words)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert "failed in submit(): ZeroDivisionError" in done.stderr and "the job may be there" in done.stderr
    source += "    def find(self, key): return Submitted('7', 'job 7')\n"
    (place / "odd_one.py").write_text(source)
    again = tonnage(place, tmp_path, *words)
    assert (again.returncode, taken.read_text()) == (0, "mine\n"), again.stderr


def test_a_scheduler_of_a_plug_in_works_and_tells_what_it_has() -> None:
    from tonnage.cluster.scheduler import Job, RequestError, TellsLicences, TellsWhoSees
    from tonnage.cluster.schedulers.plug_in import guarded

    class Theirs:
        name = "theirs"

        def jobs(self, *, user: str | None = None) -> list[Job]:
            return [Job(job="7", user=user or "")]

        def hides_others(self) -> bool:
            return True

        def cancel(self, job: str) -> None:
            raise RequestError(f"there is no job {job}")

    found = guarded("odd", Theirs())
    assert found.name == "theirs" and found.jobs(user="me") == [Job(job="7", user="me")]
    assert isinstance(found, TellsWhoSees) and found.hides_others() and not isinstance(found, TellsLicences)
    with pytest.raises(RequestError, match=r"^there is no job 7$"):
        found.cancel("7")


def test_the_names_of_tonnages_own_are_in_the_one_list_of_them() -> None:
    from tonnage import plugins
    from tonnage.analysis.findings import REGISTRY
    from tonnage.filesystems.known_filesystems import _MODULES
    from tonnage.importers.file_kinds import KINDS

    assert plugins.OWN[plugins.FILESYSTEMS] == tuple(_MODULES)
    assert plugins.OWN[plugins.IMPORTERS] == tuple(KINDS)
    assert set(REGISTRY) - set(plugins.OWN[plugins.FINDINGS]) == {"notes"}  # it passes on those of the engine


def test_a_scheduler_of_tonnage_has_one_name_wherever_names_are_checked() -> None:
    from tonnage import plugins
    from tonnage.cluster.schedulers import _SCHEDULERS

    assert plugins.OWN[plugins.SCHEDULERS] == ("auto", *_SCHEDULERS)
