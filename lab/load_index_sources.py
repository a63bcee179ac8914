"""Real sources of load indices on the loopback interface: prometheus-node-exporter, and an sshd started for the test.

Each is a context manager that ends what it started; the kernel ends it where its test is killed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pwd
import random
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from impossible import Impossible, program

PATIENCE_S = 20.0
_SEPARATED = Path("/run/sshd")
"""sshd asks for this directory where root starts it."""
_OURS = _SEPARATED / "made-by-a-lab"


@contextlib.contextmanager
def node_exporter(*words: str) -> Iterator[str]:
    """Its address, as a site file has it. Impossible where it is not installed."""
    exporter = program("prometheus-node-exporter")
    port = free_port()
    with _running([exporter, f"--web.listen-address=127.0.0.1:{port}", *words], port):
        yield f"http://127.0.0.1:{port}/metrics"


@contextlib.contextmanager
def sshd(directory: Path) -> Iterator[Path]:
    """A directory with an ``ssh`` that reaches this host as ``fileserver``, through a server on a port of its own.

    ssh finds its configuration by the password file and not by ``$HOME``: the one in the directory is told of ours,
    and is the real one otherwise. Keys of both sides are made for this and let nobody else in.
    """
    server, client, keygen = (program(name) for name in ("sshd", "ssh", "ssh-keygen"))
    host_key, key = directory / "host_key", directory / "key"
    for one in (host_key, key):
        subprocess.run([keygen, "-q", "-t", "ed25519", "-N", "", "-f", str(one)], check=True, timeout=PATIENCE_S)
    port = free_port()
    (directory / "sshd_config").write_text(
        f"ListenAddress 127.0.0.1:{port}\nHostKey {host_key}\nAuthorizedKeysFile {key}.pub\n"
        "PermitRootLogin prohibit-password\nStrictModes no\nUsePAM no\nPidFile none\n"
    )
    (directory / "known_hosts").write_text(f"fileserver {host_key.with_suffix('.pub').read_text()}")
    (directory / "ssh_config").write_text(
        f"Host fileserver\n  HostName 127.0.0.1\n  Port {port}\n  User {pwd.getpwuid(os.geteuid()).pw_name}\n"
        f"  IdentityFile {key}\n  IdentitiesOnly yes\n  HostKeyAlias fileserver\n"
        f"  UserKnownHostsFile {directory / 'known_hosts'}\n"
    )
    bin_directory = directory / "bin"
    bin_directory.mkdir()
    (bin_directory / "ssh").write_text(f'#!/bin/sh\nexec {client} -F {directory / "ssh_config"} "$@"\n')
    (bin_directory / "ssh").chmod(0o755)
    with _separated(), _running([server, "-D", "-e", "-f", str(directory / "sshd_config")], port):
        yield bin_directory


def free_port() -> int:
    """One of the loopback interface that nobody has, below those that the kernel gives to outgoing connections: no such
    connection takes it before its daemon does."""
    while True:
        with (
            contextlib.suppress(OSError),
            socket.create_server(("127.0.0.1", random.randrange(20_000, 32_000))) as taken,
        ):
            port: int = taken.getsockname()[1]
            return port


@contextlib.contextmanager
def _running(argv: Sequence[str], port: int) -> Iterator[None]:
    """Until it listens; ended at the end, and by the kernel with this process."""
    process = subprocess.Popen(
        [program("setpriv"), "--pdeathsig", "KILL", "--", *argv],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        end_s = time.monotonic() + PATIENCE_S
        while not _listens(port):
            if process.poll() is not None:
                raise Impossible(f"{argv[0]} ended with status {process.returncode}")
            if time.monotonic() > end_s:
                raise Impossible(f"{argv[0]} does not listen after {PATIENCE_S:g} s")
            time.sleep(0.02)
        yield
    finally:
        process.kill()
        process.wait()


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


@contextlib.contextmanager
def _separated() -> Iterator[None]:
    """The directory is there: the machine's own, or one that all labs share and the last one removes."""
    held = _shared() if os.geteuid() == 0 else None
    try:
        yield
    finally:
        if held is not None:
            with locked(_SEPARATED.parent), contextlib.suppress(BlockingIOError):
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _OURS.unlink()
                _SEPARATED.rmdir()
            os.close(held)


def _shared() -> int | None:
    """A lock on the directory, which was made for it where it is not there; None where it is the machine's own."""
    with locked(_SEPARATED.parent):
        if not _SEPARATED.exists():
            _SEPARATED.mkdir(mode=0o755)
            _OURS.touch()
        if not _OURS.exists():
            return None
        held = os.open(_SEPARATED, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(held, fcntl.LOCK_SH)
        return held


@contextlib.contextmanager
def locked(directory: Path) -> Iterator[None]:
    """No other lab looks at what is in it meanwhile."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
