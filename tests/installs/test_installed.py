"""An installed Tonnage, without its sources: the wheel and the sdist are whole, in an environment that is new.

``TONNAGE_WHEEL`` names a wheel to look at instead of one that is built of what is there. What takes many minutes is
done where ``TONNAGE_ALL_INSTALLS`` is set: the release build, the build from the sdist, and each Python that is found.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import tonnage
from tonnage.cli.commands.completions import bash

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "tonnage"
SHARE = ROOT / "packaging" / "installed" / "data" / "share"
VERSION = tonnage.__version__
ENGINE = "tonnage/_native.abi3.so"
LARGEST_WHEEL = 8_000_000
LARGEST_REST = 2_000_000
"""Of a wheel, besides its engine, which is larger than it is for users where it is not a release build."""
EXTRAS = ("report", "notebook", "serve", "stage", "mpi")
"""All but `mpich`, which is an MPI of its own, and `dev`."""
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
ALL = "TONNAGE_ALL_INSTALLS" in os.environ
PROFILE = "release" if ALL else os.environ.get("TONNAGE_BUILD_PROFILE", "release")
"""As everything else of `make test` is built: only the engine is compiled that way."""
DEADLINE_S = 1500
pytestmark = [pytest.mark.timeout(2 * DEADLINE_S), pytest.mark.slow]


def maturin(*words: str, environment: dict[str, str] | None = None, cwd: Path = ROOT) -> None:
    """The build tool of the checkout's own environment, as the launcher calls it."""
    cargo = (
        f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}{os.pathsep}{Path('~/.cargo/bin').expanduser()}"
    )
    done = subprocess.run(
        [sys.executable, "-m", "maturin", *words],
        cwd=cwd,
        env={**os.environ, "PATH": cargo, "VIRTUAL_ENV": sys.prefix, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from the ``target`` that is there, so that only what is new is compiled."""
    if named := os.environ.get("TONNAGE_WHEEL"):
        return Path(named).absolute()
    place = tmp_path_factory.mktemp("wheel")
    maturin("build", "--profile", PROFILE, "--locked", "--out", str(place))
    return next(place.glob("*.whl"))


@pytest.fixture(scope="session")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("sdist")
    maturin("sdist", "--out", str(place))
    return next(place.glob("*.tar.gz"))


@dataclass(frozen=True)
class Environment:
    """A Python environment and an empty directory to work in; nothing of the checkout is on its paths."""

    place: Path

    @property
    def programs(self) -> Path:
        return self.place / "venv" / "bin"

    def run(self, *words: str | Path, check: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            words,
            cwd=self.place / "work",
            env={"HOME": str(self.place), "PATH": f"{self.programs}:/usr/bin:/bin", "LANG": "C.UTF-8"},
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )
        assert done.returncode == check, (words, done.stdout, done.stderr)
        return done

    def tonnage(self, *words: str | Path, check: int = 0) -> subprocess.CompletedProcess[str]:
        return self.run(self.programs / "tonnage", *words, check=check)

    def python(self, code: str) -> str:
        return self.run(self.programs / "python", "-I", "-c", code).stdout

    def pip(self, *words: str | Path) -> None:
        """Skips where there is no package index to ask."""
        command = [self.programs / "python", "-m", "pip", "--disable-pip-version-check", *words]
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL"))}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=DEADLINE_S, check=False)
        if done.returncode and ("NewConnectionError" in done.stderr or "name resolution" in done.stderr):
            pytest.skip("no package index can be reached")
        assert done.returncode == 0, done.stderr


def new_environment(place: Path, python: str) -> Environment:
    (place / "work").mkdir()
    subprocess.run([python, "-m", "venv", place / "venv"], check=True, capture_output=True, timeout=DEADLINE_S)
    return Environment(place)


def found_pythons() -> Iterator[str]:
    """One of each version: on PATH, or of pyenv's."""
    for version in PYTHONS:
        kept = sorted(Path("~/.pyenv/versions").expanduser().glob(f"{version}.*/bin/python3"))
        for python in (f"python{version}", *map(str, kept)):
            try:
                asked = subprocess.run([python, "-c", "import venv, ensurepip"], capture_output=True, check=False)
            except OSError:
                continue
            if asked.returncode == 0:
                yield python
                break


@pytest.fixture(scope="session")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """The wheel on the oldest Python that is here, without any extra."""
    here = new_environment(tmp_path_factory.mktemp("bare"), next(found_pythons(), sys.executable))
    here.pip("install", wheel)
    return here


@pytest.fixture(scope="session")
def with_extras(bare: Environment, wheel: Path) -> Environment:
    """The same environment, later: what needs it without extras is asked before."""
    bare.pip("install", f"{wheel}[{','.join(EXTRAS)}]")
    return bare


def package_files() -> dict[str, bytes]:
    """What git has of the package, by its place in a wheel."""
    listed = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard", "python/tonnage"]
    names = subprocess.run(listed, check=True, capture_output=True, text=True).stdout.split("\0")
    return {name.removeprefix("python/"): (ROOT / name).read_bytes() for name in names if name}


def test_the_wheel_has_every_file_of_the_package_with_pages_and_licences_and_is_small(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        wanted = package_files()
        assert wanted.keys() <= names, sorted(wanted.keys() - names)
        assert all(archive.read(name) == data for name, data in wanted.items())
        data, meta = f"tonnage-{VERSION}.data/data/share", f"tonnage-{VERSION}.dist-info"
        for path in SHARE.rglob("*"):
            if path.is_file():
                assert archive.read(f"{data}/{path.relative_to(SHARE)}") == path.read_bytes()
        licences = {f"{meta}/licenses/{name}" for name in ("LICENSE", "LICENSE-APACHE", "LICENSE-MIT")}
        assert licences <= names
        others = {name for name in names - wanted.keys() if not name.startswith((data, meta)) and name != ENGINE}
        assert others == set()
        rest = sum(each.compress_size for each in archive.infolist() if each.filename != ENGINE)
    assert rest < LARGEST_REST
    if PROFILE == "release" or "TONNAGE_WHEEL" in os.environ:
        assert wheel.stat().st_size < LARGEST_WHEEL


def test_the_sdist_has_all_that_the_wheel_is_built_of(sdist: Path, tmp_path: Path) -> None:
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    top = tmp_path / f"tonnage-{VERSION}"
    for name, data in package_files().items():
        assert (top / "python" / name).read_bytes() == data
    for name in ("LICENSE-MIT", "Cargo.lock", "README.md", *(f"packaging/installed/data/share/{p}" for p in shared())):
        assert (top / name).is_file(), name
    # Cargo would say here that a manifest of the workspace is missing, or that the lock is not of it.
    asked = ["cargo", "metadata", "--locked", "--no-deps", "--format-version", "1"]
    path = f"{os.environ['PATH']}{os.pathsep}{Path('~/.cargo/bin').expanduser()}"
    said = subprocess.run(asked, cwd=top, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=True)
    assert any(package["name"] == "tonnage-bindings" for package in json.loads(said.stdout)["packages"])


def shared() -> list[str]:
    return [path.relative_to(SHARE).as_posix() for path in SHARE.rglob("*") if path.is_file()]


def test_it_says_its_version_and_what_the_package_index_is_told(bare: Environment) -> None:
    assert bare.tonnage("--version").stdout == f"tonnage {VERSION}\n"
    code = "import tonnage, importlib.metadata as m; d = m.metadata('tonnage'); "
    code += "print(tonnage.__version__, tonnage._native.__version__, d['Version'], d['License-Expression'])"
    assert bare.python("import tonnage._native; " + code).split(" ", 3) == [VERSION] * 3 + ["Apache-2.0 OR MIT\n"]
    assert str(bare.place) in bare.python("import tonnage; print(tonnage.__file__)")


def test_findings_examples_pages_and_completions_are_there(bare: Environment) -> None:
    assert "## Threshold" in bare.tonnage("explain", "cache-read").stdout
    findings, _, pages = bare.tonnage("explain").stdout.partition("\nPages of the documentation:\n")
    for listed, folder, fewest in ((findings, "explained", 70), (pages, "documentation", 40)):
        assert len(listed.splitlines()) == len(list((PACKAGE / folder).glob("*.md"))) > fewest
    # In the checkout these pages are links, which a package cannot have.
    assert bare.tonnage("explain", "site-file").stdout.startswith("# The site file\n")
    assert len(bare.tonnage("example").stdout.splitlines()) == len(list((PACKAGE / "examples").iterdir()))
    bare.tonnage("example", "first-light", "--out", "first-light.toml")
    assert "40 trials" in bare.tonnage("run", "--dry-run", "first-light.toml").stdout
    assert bare.tonnage("completions", "bash").stdout == bash()
    share = bare.place / "venv" / "share"
    assert all((share / name).is_file() for name in shared())


def test_old_command_lines_are_installed_and_start_it(bare: Environment) -> None:
    bare.tonnage("compat", "install", "old")
    old = bare.place / "work" / "old"
    assert "Max Write: " in bare.run(old / "ior", "-t", "1m", "-b", "4m", "-o", "file").stdout
    assert bare.run(old / "mdtest", "--help").stdout


def test_it_measures_verifies_and_names_the_extra_that_a_report_needs(bare: Environment) -> None:
    said = bare.tonnage("probe", "sim:knee=8,plateau=2GB/s", "--out", "probed")
    assert "reach 95 % of" in said.stdout
    assert "records agree" in bare.tonnage("verify", "probed").stdout
    assert "GB/s" in bare.tonnage("compare", "probed", "probed", check=0).stdout
    told = bare.tonnage("report", "probed", check=1).stderr
    assert told.startswith("tonnage: no report: the report needs plotly") and "pip install 'tonnage[report]'" in told
    assert told.count("\n") == 1


def test_without_its_extra_each_command_says_so_in_one_line(bare: Environment) -> None:
    for words, extra in (
        (("serve",), "serve"),
        (("stage", "start", "--from", ".", "--to", "elsewhere", "--metrics", "0"), "stage"),
    ):
        (bare.place / "work" / "elsewhere").mkdir(exist_ok=True)
        told = bare.tonnage(*words, check=2).stderr
        assert told.startswith("tonnage: error: ") and f"'tonnage[{extra}]'" in told and told.count("\n") == 1
    code = "import tonnage\ntry: tonnage.read('probed').points\nexcept tonnage.TonnageError as error: print(error)"
    assert "pip install 'tonnage[notebook]'" in bare.python(code)


def test_with_all_extras_the_environment_is_sound_and_the_report_is_written(with_extras: Environment) -> None:
    with_extras.pip("check")
    with_extras.tonnage("report", "probed")
    assert "Plotly" in (with_extras.place / "work" / "probed" / "report.html").read_text(encoding="utf-8")
    code = "import tonnage; run = tonnage.read('probed'); print(len(run.points), len(run.figures) > 0)"
    assert int(with_extras.python(code).split()[0]) > 3


def test_a_checkout_without_cargo_runs_a_wheel_of_its_version(wheel: Path, tmp_path: Path) -> None:
    """Its ``.venv`` has the locked packages already, here from the checkout's own: pip has its test above."""
    for name in ("tonnage", "Cargo.toml", "Cargo.lock", "pyproject.toml", "requirements.lock"):
        shutil.copy2(ROOT / name, tmp_path / name)
    (tmp_path / "crates").mkdir()
    (tmp_path / "python/tonnage/cli").mkdir(parents=True)
    shutil.copy2(PACKAGE / "cli/bootstrap.py", tmp_path / "python/tonnage/cli/bootstrap.py")
    venv = tmp_path / ".venv"
    subprocess.run([sys.executable, "-m", "venv", venv], check=True, capture_output=True, timeout=DEADLINE_S)
    (venv / ".tonnage-packages").write_bytes((ROOT / "requirements.lock").read_bytes())
    site = Path(sysconfig.get_path("purelib", vars={"base": str(venv)}))
    (site / "locked.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    environment = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "TONNAGE_PYTHON": sys.executable}
    for words, more in ((("--version",), {"TONNAGE_WHEEL": str(wheel)}), (("explain", "stall"), {})):
        done = subprocess.run(
            [sys.executable, "-IS", tmp_path / "tonnage", *words],
            env=environment | more,
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(f"tonnage {VERSION}\n" if more else "# `stall`")
        assert done.stderr.endswith("tonnage: set-up: ready\n") if more else done.stderr == ""
    assert (site / "tonnage/explained/stall.md").is_file()


@pytest.mark.skipif(not ALL, reason="TONNAGE_ALL_INSTALLS is not set: each takes a minute")
@pytest.mark.parametrize("python", list(found_pythons()))
def test_it_is_installed_on_every_python(python: str, wheel: Path, tmp_path: Path) -> None:
    here = new_environment(tmp_path, python)
    here.pip("install", wheel)
    here.pip("check")
    assert "reach 95 % of" in here.tonnage("probe", "sim:knee=8,plateau=2GB/s").stdout


@pytest.mark.skipif(not ALL, reason="TONNAGE_ALL_INSTALLS is not set: it compiles everything anew")
def test_the_sdist_builds_into_the_same_package(sdist: Path, wheel: Path, tmp_path: Path) -> None:
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    cache = {"CARGO_TARGET_DIR": str(ROOT / "target" / "from-sdist")}
    place = tmp_path / f"tonnage-{VERSION}"
    maturin("build", "--release", "--locked", "--out", str(tmp_path), environment=cache, cwd=place)
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as built, zipfile.ZipFile(wheel) as other:
        assert set(built.namelist()) == set(other.namelist())
