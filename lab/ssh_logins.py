"""Sets up ssh logins from any host of a lab to any other, with keys made for the test."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

from hosts import PATIENCE_S, Daemon, Hosts, wait_for
from impossible import program


@contextlib.contextmanager
def logins(every: Hosts, directory: Path) -> Iterator[tuple[Path, dict[str, Daemon]]]:
    """A directory with an ``ssh`` that logs in to each host by its name, and the servers by their hosts.

    ``directory`` is empty, and seen by all hosts under the same path. Impossible where ssh is not installed.
    """
    server, client, keygen = (program(name) for name in ("sshd", "ssh", "ssh-keygen"))
    host_key, key = directory / "host_key", directory / "key"
    for one in (host_key, key):
        subprocess.run([keygen, "-q", "-t", "ed25519", "-N", "", "-f", str(one)], check=True, timeout=PATIENCE_S)
    (directory / "sshd_config").write_text(
        f"HostKey {host_key}\nAuthorizedKeysFile {key}.pub\nPermitRootLogin prohibit-password\n"
        "StrictModes no\nUsePAM no\nPidFile none\nMaxStartups 100\n"
    )
    (directory / "known_hosts").write_text(f"lab {host_key.with_suffix('.pub').read_text()}")
    (directory / "ssh_config").write_text(
        f"Host *\n  User root\n  IdentityFile {key}\n  IdentitiesOnly yes\n  HostKeyAlias lab\n"
        f"  UserKnownHostsFile {directory / 'known_hosts'}\n"
    )
    programs = directory / "bin"
    programs.mkdir()
    (programs / "ssh").write_text(f'#!/bin/sh\nexec {client} -F {directory / "ssh_config"} "$@"\n')
    (programs / "ssh").chmod(0o755)
    daemons: dict[str, Daemon] = {}
    try:
        for name, host in every.items():
            host.path("/run/sshd").mkdir(mode=0o755)
            daemons[name] = host.daemon(server, "-D", "-e", "-f", directory / "sshd_config")
        wait_for(lambda: all("listening" in one.output_end() for one in daemons.values()), "sshd listens on every host")
        yield programs, daemons
    finally:
        for daemon in daemons.values():
            daemon.end()
