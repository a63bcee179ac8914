"""Nextflow, the real one, without its own downloader: its jars through Maven, and a program that starts them.

``program()`` gives the path of a ``nextflow`` that runs; a site's own, where there is one. ``python lab/nextflow.py``
prepares it and prints that path. The jars stay in the user's cache: 28 MB, fetched once.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from impossible import Impossible

VERSION = "23.10.1"
"""The newest whose dependencies are complete where Maven looks."""
PATIENCE_S = 180.0
_OPENED = ("lang", "io", "nio", "nio.file.spi", "net", "util", "util.concurrent.locks", "util.concurrent.atomic")
"""Packages of Java that Nextflow's Groovy reaches into."""
_ALSO_OPENED = ("sun.nio.ch", "sun.nio.fs", "sun.net.www.protocol.http", "sun.net.www.protocol.https")
_PROJECT = f"""\
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>lab</groupId><artifactId>nextflow</artifactId><version>1</version>
  <dependencies><dependency>
    <groupId>io.nextflow</groupId><artifactId>nextflow</artifactId><version>{VERSION}</version>
  </dependency></dependencies>
</project>
"""


def prepared() -> Path | None:
    """A ``nextflow`` that runs; None where there is none yet."""
    if own := shutil.which("nextflow"):
        return Path(own)
    program = _home() / f"nextflow-{VERSION}" / "nextflow"
    return program if program.is_file() and shutil.which("java") else None


def _home() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tonnage-lab"


def program() -> Path:
    """A ``nextflow`` that runs; prepared the first time. Impossible with what is missing."""
    if (there := prepared()) is not None:
        return there
    java = shutil.which("java")
    if java is None:
        raise Impossible("java is not installed; hint: apt-get install default-jre-headless")
    home = _home()
    whole = home / f"nextflow-{VERSION}"
    if not whole.is_dir():
        home.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="nextflow-", dir=home) as fresh:
            _fetch(Path(fresh))
            _write_program(Path(fresh), java, whole)
            try:
                # Whoever comes second finds it done.
                Path(fresh).joinpath("whole").rename(whole)
            except OSError:
                if not whole.is_dir():
                    raise
    return whole / "nextflow"


def _fetch(directory: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise Impossible("neither nextflow nor mvn is installed; hint: apt-get install maven")
    (directory / "pom.xml").write_text(_PROJECT)
    jars = directory / "whole" / "jars"
    argv = [maven, "--quiet", "--batch-mode", "dependency:copy-dependencies", f"-DoutputDirectory={jars}"]
    try:
        done = subprocess.run(argv, cwd=directory, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    except subprocess.TimeoutExpired:
        raise Impossible(f"Maven did not bring Nextflow {VERSION} within {PATIENCE_S:.0f} s") from None
    if done.returncode:
        last = next((line for line in done.stdout.splitlines() if "ERROR" in line), "it did not say why")
        raise Impossible(f"Maven did not bring Nextflow {VERSION}: {last}")


def _write_program(directory: Path, java: str, home: Path) -> None:
    opened = [f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in _OPENED]
    opened += [f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in _ALSO_OPENED]
    words = [java, *opened, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", f"{home}/jars/*"]
    lines = [
        "#!/bin/sh",
        "export NXF_OFFLINE=true NXF_DISABLE_CHECK_LATEST=true NXF_ANSI_LOG=false",
        f'exec {shlex.join(words)} nextflow.cli.Launcher "$@"',
    ]
    file = directory / "whole" / "nextflow"
    file.write_text("\n".join(lines) + "\n")
    file.chmod(0o755)


if __name__ == "__main__":
    try:
        print(program())
    except Impossible as error:
        sys.exit(str(error))
