"""A real S3 on the loopback interface: versitygw, which keeps objects as plain files, for as long as a test.

``python lab/s3_service.py`` starts one and says how to reach it, until Ctrl-C. The kernel ends it where its starter is
killed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from hosts import wait_for
from impossible import Impossible
from load_index_sources import free_port, locked
from throttled import terminated_as_exit

MODULE = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"
CACHE = Path.home() / ".cache" / "tonnage-lab"
"""Where the gateway is kept once it was built: that takes minutes."""
BUILD_S = 900
KEY, SECRET = "lab-key", "not-a-secret-of-anyone"
REGION = "us-east-1"


@dataclass(frozen=True)
class S3:
    """A service that runs."""

    directory: Path
    """Each directory in it is a bucket, each file below that an object."""
    port: int
    https: bool
    daemon: subprocess.Popen[bytes]

    @property
    def endpoint(self) -> str:
        """For ``?endpoint=``."""
        return f"{'https' if self.https else 'http'}://{'localhost' if self.https else '127.0.0.1'}:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        """What lets a program in."""
        return {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": REGION}

    def bucket(self, name: str) -> Path:
        """Makes a bucket; where its objects are."""
        path = self.directory / name
        path.mkdir(exist_ok=True)
        return path

    def halt(self) -> None:
        """As a service that hangs: it takes connections, and answers nothing until ``go_on``."""
        self.daemon.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Lets it continue after ``halt``."""
        self.daemon.send_signal(signal.SIGCONT)

    def keys(self, bucket: str) -> list[str]:
        """Lists the keys of all its objects, and of the parts of uploads that nobody completed."""
        path = self.directory / bucket
        return sorted(str(file.relative_to(path)) for file in path.rglob("*") if file.is_file())


def gateway() -> str:
    """The program; built from its module where it is not there yet. Impossible without Go."""
    if found := shutil.which("versitygw") or shutil.which("versitygw", path=CACHE):
        return found
    if shutil.which("go") is None:
        raise Impossible("neither versitygw nor the go that would build it is installed")
    CACHE.mkdir(parents=True, exist_ok=True)
    # Whoever comes second finds it done.
    with locked(CACHE):
        return shutil.which("versitygw", path=CACHE) or _built()


def _built() -> str:
    environment = {**os.environ, "GOBIN": str(CACHE)}
    done = subprocess.run(
        ["go", "install", MODULE], env=environment, capture_output=True, text=True, timeout=BUILD_S, check=False
    )
    if done.returncode:
        raise Impossible(f"go install {MODULE}: {done.stderr.strip()[-300:]}")
    return str(CACHE / "versitygw")


@contextlib.contextmanager
def s3(directory: Path, *, certificate: tuple[Path, Path] | None = None) -> Iterator[S3]:
    """A service whose buckets are below an empty directory; with a certificate and its key it speaks https. Impossible
    where it cannot run."""
    program, port = gateway(), free_port()
    tls = ["--cert", str(certificate[0]), "--key", str(certificate[1])] if certificate else []
    words = ["setpriv", "--pdeathsig", "KILL", "--", program, "--port", f"127.0.0.1:{port}", "--quiet", "--keep-alive"]
    environment = {**os.environ, "ROOT_ACCESS_KEY": KEY, "ROOT_SECRET_KEY": SECRET}
    argv = [*words, *tls, "posix", str(directory)]
    with tempfile.TemporaryFile() as log:
        daemon = subprocess.Popen(argv, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        found = S3(directory, port, certificate is not None, daemon)
        try:
            wait_for(lambda: _answers(daemon, found, log), "S3 answers")
            yield found
        finally:
            daemon.kill()
            daemon.wait()


def _answers(daemon: subprocess.Popen[bytes], found: S3, log: IO[bytes]) -> bool:
    if daemon.poll() is not None:
        log.seek(0)
        raise Impossible(f"versitygw ended: {log.read()[-300:]!r}")
    try:
        urllib.request.urlopen(found.endpoint.replace("localhost", "127.0.0.1"), timeout=5).close()
    except urllib.error.HTTPError:
        return True  # it does not let everyone in
    except urllib.error.URLError as error:
        return "CERTIFICATE_VERIFY_FAILED" in str(error)
    return True


def main() -> int:
    """Runs the service until Ctrl-C."""
    made = tempfile.TemporaryDirectory(prefix="tonnage-s3-")
    with terminated_as_exit(), made as directory, s3(Path(directory)) as found:
        found.bucket("bench")
        print(" ".join(f"{name}={value}" for name, value in found.environment.items()))
        print(f"s3://bench?endpoint={found.endpoint}", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            while True:
                time.sleep(3600)
    return 0


if __name__ == "__main__":
    sys.exit(main())
