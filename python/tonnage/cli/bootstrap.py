"""Sets up a checkout: ``.venv``, its locked packages, the engine's release build. Run by the launcher, as a script.

Standard library only, and nothing of Tonnage: it runs before either can be imported. Exit code 2 and one line where
something is missing; the failing program's own words and its code's meaning where a step failed.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NoReturn

STAMP = ".tonnage-built"
PACKAGES = ".tonnage-packages"
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
    cargo = find_cargo(root)
    started = time.time_ns()
    python = make_venv(root)
    install_packages(root, python)
    say("building the engine (release build; a minute or two the first time)")
    environment = {
        **os.environ,
        "PATH": f"{cargo.parent}{os.pathsep}{os.environ.get('PATH', '')}",
        "VIRTUAL_ENV": str(root / ".venv"),
        "PIP_QUIET": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }
    build = [python, "-m", "maturin", "develop", "--release", "--locked"]
    run("the engine could not be built", build, root, environment)
    stamp = root / ".venv" / STAMP
    stamp.write_text(f"{root}\n")
    # Dated when the build began: a source saved while it ran makes the next start build again.
    os.utime(stamp, ns=(started, started))
    say("ready")


def is_current(root: Path) -> bool:
    """Whether another start finished the set-up while this one waited: what the launcher asks, in Python."""
    stamp = root / ".venv" / STAMP
    if not stamp.exists() or stamp.read_text().rstrip("\n") != str(root):
        return False
    built = stamp.stat().st_mtime_ns
    tops = [root / name for name in SOURCES]
    return all(path.stat().st_mtime_ns <= built for top in tops for path in (top, *top.rglob("*")))


def find_cargo(root: Path) -> Path:
    """cargo, also where rustup puts it and a login shell would look."""
    found = shutil.which("cargo") or shutil.which("cargo", path=Path("~/.cargo/bin").expanduser())
    if found is None:
        fail("cargo is missing", "install Rust from https://rustup.rs, then run this again")
    wanted = re.search(r'^rust-version = "(\d+)\.(\d+)', (root / "Cargo.toml").read_text(), re.MULTILINE)
    said = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout
    actual = re.search(r"(\d+)\.(\d+)", said)
    if actual is None:
        fail(f"{found} does not say its version", "run `cargo --version` and follow what it says")
    if wanted and tuple(map(int, actual.groups())) < tuple(map(int, wanted.groups())):
        fail(
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
