"""Sets up a checkout: ``.venv``, its locked packages, the engine's release build. Run by the launcher, as a script.
Without cargo, ``TONNAGE_WHEEL`` may name a wheel of the checkout's version and sources, installed instead of the build.

Standard library only, and nothing of Tonnage: it runs before either can be imported. Exit code 2 and one line where
something is missing; the failing program's own words and its code's meaning where a step failed.
"""

from __future__ import annotations

import base64
import csv
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import NoReturn

STAMP = ".tonnage-built"
PACKAGES = ".tonnage-packages"
PROFILE = os.environ.get("TONNAGE_BUILD_PROFILE", "release")
"""Cargo's profile of the engine: `make test` sets another one."""
SOURCES = ("crates", "Cargo.toml", "Cargo.lock", "pyproject.toml", "requirements.lock")


def main() -> None:
    root = Path(sys.argv[1])
    # A lock on the directory itself needs no file, and the kernel lets go of it however this process ends.
    lock = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        say("another start is setting this checkout up; waiting for it")
        fcntl.flock(lock, fcntl.LOCK_EX)
    if is_current(root):
        return
    try:
        cargo = find_cargo(root)
    except MissingError as missing:
        wheel = find_wheel(root, missing)
        started = time.time_ns()
        install_wheel(root, wheel)
    else:
        started = time.time_ns()
        build(root, cargo)
    stamp = root / ".venv" / STAMP
    stamp.write_text(f"{root}\n{PROFILE}\n")
    # Dated when the build began: a source saved while it ran makes the next start build again.
    os.utime(stamp, ns=(started, started))
    say("ready")


class MissingError(Exception):
    """There is no cargo that can build the engine. ``what`` is missing, and ``hint`` says how to get it."""

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(what)
        self.what, self.hint = what, hint


def build(root: Path, cargo: Path) -> None:
    """The engine, and with it the package as it is in the checkout."""
    python = make_venv(root)
    install_packages(root, python)
    say(f"building the engine ({PROFILE} build; some minutes the first time)")
    environment = {
        **os.environ,
        "PATH": f"{cargo.parent}{os.pathsep}{os.environ.get('PATH', '')}",
        "VIRTUAL_ENV": str(root / ".venv"),
        "PIP_QUIET": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }
    command = [python, "-m", "maturin", "develop", "--profile", PROFILE, "--locked"]
    run("the engine could not be built", command, root, environment)


def install_wheel(root: Path, wheel: Path) -> None:
    """Engine and package of a wheel: what runs then is the wheel's, and nothing of the checkout but the launcher."""
    python = make_venv(root)
    install_packages(root, python)
    say(f"installing {wheel.name}, for there is no cargo to build with")
    options = ["--disable-pip-version-check", "--quiet", "--no-deps", "--no-index", "--force-reinstall"]
    run("the wheel could not be installed", [python, "-m", "pip", "install", *options, str(wheel)], root)


def find_wheel(root: Path, missing: MissingError) -> Path:
    """What TONNAGE_WHEEL names, if it is of this checkout's version and Python sources."""
    named = os.environ.get("TONNAGE_WHEEL")
    if not named:
        fail(missing.what, f"{missing.hint}; or give a wheel of this version with TONNAGE_WHEEL=/path/to.whl")
    wheel, wanted = Path(named).absolute(), version(root)
    name = re.fullmatch(r"tonnage-([^-]+)-.+\.whl", wheel.name)
    if name is None or not wheel.is_file():
        fail(f"TONNAGE_WHEEL: {named} is not a wheel of Tonnage", f"give the path of a tonnage-{wanted}-….whl")
    if name[1] != wanted:
        fail(f"TONNAGE_WHEEL: {named} is of {name[1]} and this checkout of {wanted}", "take a wheel of this version")
    if other := other_sources(root, wheel):
        differ = f"{other[0]} differs" if len(other) == 1 else f"{other[0]} and {len(other) - 1} more differ"
        fail(
            f"TONNAGE_WHEEL: {named} is of {wanted} too, but of other sources: {differ} in this checkout",
            "take the wheel of this checkout's commit, or make one with `make wheels`",
        )
    return wheel


def other_sources(root: Path, wheel: Path) -> list[str]:
    """Python files of the checkout that the wheel has not as they are, by the hashes that it records. Of the engine's
    sources a wheel records nothing: an engine of the same version and other sources is not found out."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            record = next(name for name in archive.namelist() if name.endswith(".dist-info/RECORD"))
            rows = archive.read(record).decode().splitlines()
    except (OSError, ValueError, StopIteration, zipfile.BadZipFile):
        fail(f"TONNAGE_WHEEL: {wheel} cannot be read as a wheel", "take it from where it was made again")
    known = {row[0]: row[1] for row in csv.reader(rows) if len(row) > 1}
    found = []
    for file in sorted((root / "python/tonnage").rglob("*.py")):
        name = file.relative_to(root / "python").as_posix()
        digest = base64.urlsafe_b64encode(hashlib.sha256(file.read_bytes()).digest()).rstrip(b"=").decode()
        if known.get(name) != f"sha256={digest}":
            found.append(name)
    return found


def version(root: Path) -> str:
    """Returns the version of the checkout; empty where its ``Cargo.toml`` states none."""
    found = re.search(r'^version = "([^"]+)"', (root / "Cargo.toml").read_text(), re.MULTILINE)
    return found[1] if found else ""


def is_current(root: Path) -> bool:
    """Whether another start finished the set-up while this one waited: what the launcher asks, in Python."""
    stamp = root / ".venv" / STAMP
    if not stamp.exists() or stamp.read_text().splitlines() != [str(root), PROFILE]:
        return False
    built = stamp.stat().st_mtime_ns
    tops = [root / name for name in SOURCES]
    return all(path.stat().st_mtime_ns <= built for top in tops for path in (top, *top.rglob("*")))


def find_cargo(root: Path) -> Path:
    """Returns cargo, also where rustup puts it and a login shell would look. MissingError where none is there, or it is
    too old or does not work."""
    found = shutil.which("cargo") or shutil.which("cargo", path=Path("~/.cargo/bin").expanduser())
    if found is None:
        raise MissingError("cargo is missing", "install Rust from https://rustup.rs, then run this again")
    wanted = re.search(r'^rust-version = "(\d+)\.(\d+)', (root / "Cargo.toml").read_text(), re.MULTILINE)
    said = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout
    actual = re.search(r"(\d+)\.(\d+)", said)
    if actual is None:
        raise MissingError(f"{found} does not say its version", "run `cargo --version` and follow what it says")
    if wanted and tuple(map(int, actual.groups())) < tuple(map(int, wanted.groups())):
        raise MissingError(
            f"cargo is {'.'.join(actual.groups())} and {'.'.join(wanted.groups())} or newer is needed",
            "run `rustup update stable`",
        )
    return Path(found)


def make_venv(root: Path) -> str:
    """The Python of ``root/.venv``, which is made (again) unless it works and is at home here."""
    venv = root / ".venv"
    python = venv / "bin/python"
    if python.exists() and f"{venv}" in (venv / "bin/activate").read_text() and works(python):
        return str(python)
    if venv.exists() and not (venv / "pyvenv.cfg").exists() and any(venv.iterdir()):
        fail(f"{venv} exists and is not a virtual environment", "move it away, then run this again")
    version = ".".join(map(str, sys.version_info[:3]))
    say(f"creating .venv with Python {version} ({sys.executable})")
    run(
        "a virtual environment could not be made (on Debian: apt install python3-venv)",
        [sys.executable, "-m", "venv", "--clear", str(venv)],
        root,
    )
    return str(python)


def install_packages(root: Path, python: str) -> None:
    """Brings .venv to the locked versions; does nothing if it has had this very lock before."""
    lock, done = root / "requirements.lock", root / ".venv" / PACKAGES
    if done.exists() and done.read_bytes() == lock.read_bytes():
        return
    say("installing the locked packages")
    run(
        "the packages could not be installed",
        [python, "-m", "pip", "install", "--disable-pip-version-check", "--requirement", str(lock)],
        root,
    )
    done.write_bytes(lock.read_bytes())


def works(python: Path) -> bool:
    check = "import sys, pip; sys.exit(sys.version_info < (3, 10))"
    return subprocess.run([python, "-c", check], capture_output=True, check=False).returncode == 0


def run(what: str, command: list[str], root: Path, environment: dict[str, str] | None = None) -> None:
    if subprocess.run(command, cwd=root, env=environment, check=False).returncode != 0:
        fail(what, "the lines above say why; run this again when it is mended")


def say(text: str) -> None:
    print(f"tonnage: set-up: {text}", file=sys.stderr, flush=True)


def fail(what: str, hint: str) -> NoReturn:
    print(f"tonnage: error: {what}; hint: {hint}", file=sys.stderr)
    sys.exit(2)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
