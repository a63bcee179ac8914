"""The launcher: found from anywhere, quick, and clear about what is missing."""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import signal
import subprocess
import zipfile
from pathlib import Path

import pytest
from tonnage import __version__
from tonnage.cli.bootstrap import MissingError, find_wheel

from .shell import LAUNCHER, ROOT, Shell


def test_it_starts_through_a_relative_link_in_a_directory_with_blanks(shell: Shell) -> None:
    place = shell.home / "a b" / "c"
    place.mkdir(parents=True)
    link = place / "ton nage"
    link.symlink_to(os.path.relpath(LAUNCHER, place))
    assert shell("--version", launcher=link).out == f"tonnage {__version__}\n"


def test_an_interrupt_that_comes_while_it_loads_is_told_in_one_line(shell: Shell) -> None:
    def interrupted() -> None:
        # Held back until the command line lets it through, as one is that comes between the launcher and that.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        os.kill(os.getpid(), signal.SIGINT)

    process = shell.start("where", shell.home, preexec_fn=interrupted)
    assert process.communicate() == ("", "tonnage: error: interrupted\n") and process.returncode == 130


def test_version_and_help_import_nothing_that_takes_time() -> None:
    code = "import sys; from tonnage.cli import main\ntry: main(sys.argv[1:])\n"
    code += "except SystemExit: pass\nprint(*sys.modules)"
    for option in ("--version", "--help"):
        loaded = subprocess.run(
            [ROOT / ".venv/bin/python", "-I", "-c", code, option], capture_output=True, text=True, check=True
        ).stdout.split()
        assert not {"pydantic", "rich", "numpy", "scipy", "tonnage._native"} & set(loaded)
        # A start takes as long as what it loads: Python alone has about sixty.
        assert option == "--help" or len(loaded) < 100, loaded


_AT_FIRST_BYTE = """
import io, os, sys
from tonnage.cli import start
class Told(io.StringIO):
    def write(self, text):
        os.write(1, (" ".join(sys.modules) + "\\n").encode())
        os._exit(0)
sys.stderr = Told()
start()
"""


def test_a_probe_says_what_it_measures_before_it_loads_what_comes_after(shell: Shell) -> None:
    asked = ["probe", str(shell.home), "--budget", "3s"]
    loaded = subprocess.run(
        [ROOT / ".venv/bin/python", "-I", "-c", _AT_FIRST_BYTE, *asked],
        capture_output=True, text=True, check=True, cwd=shell.home,
    ).stdout.split()  # fmt: skip
    assert "tonnage.campaign.run_lifecycle" in loaded
    later = {"numpy", "rich", "jinja2", "sqlite3", "tonnage.analysis", "tonnage.report", "tonnage.measuring"}
    later |= {"tonnage.placement", "tonnage.campaign.probe", "tonnage.campaign.kinds.files"}
    assert not later & set(loaded)


def test_what_reads_a_run_loads_nothing_that_makes_one(shell: Shell) -> None:
    code = "import sys; from importlib import import_module; import tonnage.cli.entry\n"
    code += "for name in sys.argv[1:]:\n"
    code += "    for one in import_module(f'tonnage.cli.commands.{name}').COMMAND.loads: import_module(one)\n"
    code += "print(*sys.modules)"
    readers = ["report", "compare", "history", "crossover", "project"]
    loaded = subprocess.run(
        [ROOT / ".venv/bin/python", "-I", "-c", code, *readers],
        capture_output=True, text=True, check=True, cwd=shell.home,
    ).stdout.split()  # fmt: skip
    assert "tonnage.analysis" in loaded
    assert not [name for name in loaded if name.startswith(("pydantic", "tonnage.campaign", "tonnage.placement"))]


def test_no_collection_looks_at_what_a_command_has_loaded() -> None:
    code = "import gc; from tonnage.cli import main; main(['explain', 'no-plateau']); print(gc.get_freeze_count())"
    said = subprocess.run([ROOT / ".venv/bin/python", "-I", "-c", code], capture_output=True, text=True, check=True)
    assert int(said.stdout.split()[-1]) > 1000


def test_files_in_the_current_directory_do_not_shadow_modules(shell: Shell) -> None:
    for name in ("json.py", "tonnage.py", "argparse.py"):
        shell.write(name, "raise SystemExit('shadowed')\n")
    shell("probe", "--help")


def bare_checkout(place: Path) -> Path:
    """What the launcher looks at before it builds, without the sources."""
    for name in ("tonnage", "Cargo.toml", "Cargo.lock", "pyproject.toml", "requirements.lock"):
        shutil.copy2(ROOT / name, place / name)
    (place / "crates").mkdir()
    (place / "python/tonnage/cli").mkdir(parents=True)
    shutil.copy2(ROOT / "python/tonnage/cli/bootstrap.py", place / "python/tonnage/cli/bootstrap.py")
    return place / "tonnage"


def tools(place: Path, **scripts: str) -> str:
    """A PATH with these programs only."""
    place.mkdir()
    for name, text in scripts.items():
        (place / name).write_text(f"#!/bin/sh\n{text}\n")
        (place / name).chmod(0o755)
    return str(place)


def test_without_a_python_it_says_so_in_one_line(shell: Shell) -> None:
    launcher = bare_checkout(shell.home)
    old = f'case "$*" in *version_info*) exit 1 ;; esac; exec "{ROOT}/.venv/bin/python" "$@"'
    said = shell("--version", launcher=launcher, check=2, PATH=tools(shell.home / "bin", python3=old))
    assert said.err == (
        "tonnage: error: no Python 3.10 or newer found; "
        "hint: install one, or name it with TONNAGE_PYTHON=/path/to/python3\n"
    )


def test_without_a_cargo_that_works_and_is_new_enough_it_says_so_in_one_line(shell: Shell) -> None:
    launcher = bare_checkout(shell.home)
    python = f'exec "{ROOT}/.venv/bin/python" "$@"'
    said = shell(
        "--version", launcher=launcher, check=2, HOME=str(shell.home), PATH=tools(shell.home / "bin", python3=python)
    )
    wheel = "; or give a wheel of this version with TONNAGE_WHEEL=/path/to.whl\n"
    assert said.err == (
        f"tonnage: error: cargo is missing; hint: install Rust from https://rustup.rs, then run this again{wheel}"
    )
    old = tools(shell.home / "old", python3=python, cargo="echo cargo 1.60.0")
    said = shell("--version", launcher=launcher, check=2, HOME=str(shell.home), PATH=old)
    assert (
        said.err
        == f"tonnage: error: cargo is 1.60 and 1.89 or newer is needed; hint: run `rustup update stable`{wheel}"
    )
    mute = tools(shell.home / "mute", python3=python, cargo="echo no toolchain >&2; exit 1")
    said = shell("--version", launcher=launcher, check=2, HOME=str(shell.home), PATH=mute)
    assert said.err == (
        f"tonnage: error: {shell.home}/mute/cargo does not say its version; "
        f"hint: run `cargo --version` and follow what it says{wheel}"
    )
    assert not (shell.home / ".venv").exists()


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("tonnage-0.0.9-cp310-abi3-linux_x86_64.whl", f"is of 0.0.9 and this checkout of {__version__}; "),
        ("other-0.1.0-py3-none-any.whl", "is not a wheel of Tonnage; "),
        ("missing", "is not a wheel of Tonnage; "),
    ],
)
def test_a_wheel_that_is_not_of_this_version_is_refused_in_one_line(name: str, why: str, shell: Shell) -> None:
    launcher = bare_checkout(shell.home)
    wheel = shell.home / name
    if name != "missing":
        wheel.write_bytes(b"")
    path = tools(shell.home / "bin", python3=f'exec "{ROOT}/.venv/bin/python" "$@"')
    said = shell("--version", launcher=launcher, check=2, HOME=str(shell.home), PATH=path, TONNAGE_WHEEL=str(wheel))
    assert said.err.startswith(f"tonnage: error: TONNAGE_WHEEL: {wheel} {why}hint: ") and said.err.count("\n") == 1
    assert not (shell.home / ".venv").exists()


def made_wheel(place: Path, text: bytes) -> Path:
    """One that records a file of this text as the checkout's own."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=").decode()
    wheel = place / f"tonnage-{__version__}-cp310-abi3-linux_x86_64.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        record = f"tonnage/cli/bootstrap.py,sha256={digest},{len(text)}\ntonnage-{__version__}.dist-info/RECORD,,\n"
        archive.writestr(f"tonnage-{__version__}.dist-info/RECORD", record)
    return wheel


@pytest.mark.parametrize("added", [False, True])
def test_a_wheel_of_other_sources_is_refused_in_one_line(shell: Shell, *, added: bool) -> None:
    launcher = bare_checkout(shell.home)
    package = shell.home / "python/tonnage"
    wheel = made_wheel(shell.home, (package / "cli/bootstrap.py").read_bytes() if added else b"print()\n")
    if added:
        (package / "cli/new.py").write_text("")
    path = tools(shell.home / "bin", python3=f'exec "{ROOT}/.venv/bin/python" "$@"')
    said = shell("--version", launcher=launcher, check=2, HOME=str(shell.home), PATH=path, TONNAGE_WHEEL=str(wheel))
    name = "new" if added else "bootstrap"
    assert said.err == (
        f"tonnage: error: TONNAGE_WHEEL: {wheel} is of {__version__} too, but of other sources: "
        f"tonnage/cli/{name}.py differs in this checkout; "
        "hint: take the wheel of this checkout's commit, or make one with `make wheels`\n"
    )
    assert not (shell.home / ".venv").exists()


def test_a_wheel_of_these_sources_is_taken_and_one_that_is_none_is_not(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bare_checkout(shell.home)
    wheel = made_wheel(shell.home, (shell.home / "python/tonnage/cli/bootstrap.py").read_bytes())
    monkeypatch.setenv("TONNAGE_WHEEL", str(wheel))
    assert find_wheel(shell.home, MissingError("cargo is missing", "")) == wheel
    wheel.write_bytes(b"no archive")
    with pytest.raises(SystemExit) as ended:
        find_wheel(shell.home, MissingError("cargo is missing", ""))
    assert ended.value.code == 2 and "cannot be read as a wheel; hint: " in capsys.readouterr().err


BUILDS = """case "$*" in *maturin*) echo "$*" >>"{place}/builds" ;; *) exec "{python}" "$@" ;; esac"""


def ready_venv(place: Path) -> None:
    """An environment that lacks nothing but the engine: what would build that notes what it was asked for."""
    venv = place / ".venv"
    venv.mkdir()
    tools(venv / "bin", python=BUILDS.format(place=place, python=ROOT / ".venv/bin/python"))
    (venv / "bin/activate").write_text(str(venv))
    (venv / ".tonnage-packages").write_bytes((place / "requirements.lock").read_bytes())


def test_a_start_builds_the_profile_that_is_asked_for_where_another_one_is_there(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TONNAGE_BUILD_PROFILE", raising=False)
    launcher = bare_checkout(shell.home)
    ready_venv(shell.home)
    path = tools(shell.home / "bin", python3=f'exec "{ROOT}/.venv/bin/python" "$@"', cargo="echo cargo 1.999.0")
    built: list[str] = []
    for asked in ("tested", "tested", "release", "release", "tested"):
        environment = {} if asked == "release" else {"TONNAGE_BUILD_PROFILE": asked}
        said = shell("--version", launcher=launcher, PATH=path, HOME=str(shell.home), **environment)
        assert said.out == f"tonnage {__version__}\n"
        if not built or built[-1] != asked:
            built.append(asked)
        lines = (shell.home / "builds").read_text().splitlines()
        assert lines == [f"-m maturin develop --profile {profile} --locked" for profile in built]
    assert built == ["tested", "release", "tested"]


def test_path_is_as_it_was_given_and_an_empty_one_is_no_working_directory(shell: Shell) -> None:
    launcher = bare_checkout(shell.home)
    (shell.home / "python/tonnage/cli/bootstrap.py").write_text(
        "import os, pathlib, sys\n"
        "pathlib.Path(sys.argv[1], 'seen').write_text(repr(os.environ.get('PATH')))\n"
        "sys.exit(3)\n"
    )
    named = {"TONNAGE_PYTHON": f"{ROOT}/.venv/bin/python"}
    for given, seen in (("/usr/bin:/bin:/opt", "/usr/bin:/bin:/opt"), ("", None), ("/bin:", "/bin:")):
        shell("--version", launcher=launcher, check=3, PATH=given, **named)
        assert (shell.home / "seen").read_text() == repr(seen)
        # A checkout that nothing may be executed from is started by a named Python.
        subprocess.run([f"{ROOT}/.venv/bin/python", launcher, "--version"], env={"PATH": given, **named}, check=False)
        assert (shell.home / "seen").read_text() == repr(seen)


def test_without_a_path_no_python_of_the_working_directory_is_looked_for() -> None:
    """Whoever can write there would have a program of theirs run, where the system has none of that name."""
    first = LAUNCHER.read_text(encoding="utf-8").splitlines()[0]
    searched = first.removeprefix("#!/usr/bin/env -S ").split()[0]
    for given in ([], ["PATH="]):
        command = ["/usr/bin/env", "-i", *given, "/usr/bin/env", "-S", f"{searched} /usr/bin/printenv PATH"]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.rstrip("\n")
        assert all(part.startswith("/") for part in said.split(":")), said
