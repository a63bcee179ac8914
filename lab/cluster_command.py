"""The words of ``lab/cluster``: up, down, exec and status of two sites of hosts on this machine.

Exit status: that of the program for ``exec``; else 0, 1 where ``status`` finds something that ended, 2 for a wrong or
impossible request, with one line that says why.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import cluster_process as keeper
import nextflow
from hosts import PATIENCE_S, children, ended, wait_for
from impossible import Impossible
from slurm_hosts import HEAD
from two_sites import COMPUTE, FILES, GBIT_BYTES_PER_S, STORAGE, Plan

_UNITS = {"kbit": 125, "Mbit": 125_000, "Gbit": 125_000_000, "kB/s": 1000, "MB/s": 1_000_000, "GB/s": 1_000_000_000}
WORKFLOWS = Path(__file__).resolve().parent / "workflows"
_FORWARDED = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)
_BY_A_PROCESS = 0
"""The code of a signal that a process sent, not a terminal to all in front of it."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Impossible(f"{message}; hint: lab/cluster --help")


def rate(text: str) -> int:
    """Parses ``100Mbit`` or ``200MB/s`` as bytes per second."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kMG]bit|[kMG]B/s)", text)
    if found and (value := round(float(found[1]) * _UNITS[found[2]])) >= 1000:
        return value
    raise argparse.ArgumentTypeError(f"{text!r} is no rate of 1 kB/s or more, such as 1Gbit, 100Mbit or 200MB/s")


def _parse(words: Sequence[str]) -> argparse.Namespace:
    parser = _Parser(prog="lab/cluster", description="Two sites of hosts on this machine, with Slurm over them.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="up|down|exec|status", parser_class=_Parser)
    up = commands.add_parser("up", help="start it; returns when every host takes jobs")
    up.add_argument("--link", type=rate, default=GBIT_BYTES_PER_S, help="rate between the sites (1Gbit)")
    up.add_argument("--port", type=rate, help="rate of each host's port (as --link)")
    up.add_argument("--rate", type=rate, default=0, help=f"rate of the device of {STORAGE} (no limit)")
    up.add_argument("--without-files", action="store_true", help=f"no file system from {STORAGE}: {FILES} in memory")
    commands.add_parser("down", help="end all of it")
    run = commands.add_parser("exec", help="run a program on a host: exec HOST [--] COMMAND …")
    run.add_argument("host")
    run.add_argument("words", nargs=argparse.REMAINDER, metavar="COMMAND")
    commands.add_parser("status", help="hosts, addresses, daemons and Slurm's states")
    return parser.parse_args(words)


def main(words: Sequence[str]) -> int:
    """Does what the command line says; its exit status."""
    try:
        given = _parse(words)
        if given.command == "up":
            return _up(given)
        if given.command == "down":
            print("down" if keeper.stop() else "no cluster was up")
            return 0
        if given.command == "exec":
            return _exec(given.host, given.words[given.words[:1] == ["--"] :])
        return _status()
    except Impossible as error:
        print(f"lab/cluster: {error}", file=sys.stderr)
        return 2


def _up(given: argparse.Namespace) -> int:
    began = time.monotonic()
    wanted = Plan(
        link_bytes_per_s=given.link,
        port_bytes_per_s=given.port,
        device_bytes_per_s=given.rate,
        files=not given.without_files,
    )
    plan = keeper.start(wanted)
    files = f"{STORAGE} serves {FILES} to all" if plan.files else f"{FILES} is in memory, shared by all"
    print(f"up in {time.monotonic() - began:.1f} s: {len(COMPUTE)} compute hosts, {_spelled(plan)}, {files}")
    if wanted.files and not plan.files:
        print("no file system is served: loop devices and a brick's attributes need root", file=sys.stderr)
    _prepare_examples()
    return 0


def _prepare_examples() -> None:
    """What ``examples/knox-epouta.toml`` needs here: its workflows, which are put there, and Nextflow, which is named
    where it is missing: nothing is fetched from elsewhere unless somebody asks."""
    note = keeper.note()
    words = note.command_line(
        HEAD, ["cp", "--recursive", "--no-target-directory", str(WORKFLOWS), f"{FILES}/workflows"], "/"
    )
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    if done.returncode:
        print(f"{FILES}/workflows, which examples/knox-epouta.toml needs: {done.stderr.strip()}", file=sys.stderr)
    if nextflow.prepared() is None:
        print(
            "two workloads of examples/knox-epouta.toml need nextflow, which is not here: `python3 lab/nextflow.py` "
            "prepares it (28 MB, by Maven); without it: tonnage run --without cancer-analysis "
            "--without wgs-structvar-manta",
            file=sys.stderr,
        )


def _spelled(plan: Plan) -> str:
    return f"link of {plan.link_bytes_per_s * 8 / 1e6:g} Mbit/s"


def _exec(host: str, argv: list[str]) -> int:
    """Runs a program on a host in the place of this one, as far as a parent can tell."""
    if not argv:
        raise Impossible("exec needs a command; hint: lab/cluster exec head -- sinfo")
    note = keeper.note()
    here = Path.cwd()
    there = next((one.path(here) for one in note.hosts if one.name == host), here)
    with contextlib.suppress(OSError):
        # A name space of another user's shows its files to that user only.
        here = here if note.owned or there.is_dir() else FILES
    path = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"
    if (engine := nextflow.prepared()) is not None:
        path = f"{path}:{engine.parent}"
    words = note.command_line(host, argv, here)
    # Before it begins: one that came in between would end this process, and leave the program behind.
    signal.pthread_sigmask(signal.SIG_BLOCK, [*_FORWARDED, signal.SIGCHLD])
    with subprocess.Popen(
        words,
        env={**os.environ, **note.environment, "PATH": path},
        preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, []),
    ) as process:
        return _attended(process)


def _attended(process: subprocess.Popen[bytes]) -> int:
    """Passes on what this process is sent, of signals that are blocked, until the other ends; the other's status as a
    shell would say it."""
    while process.poll() is None:
        got = signal.sigtimedwait([*_FORWARDED, signal.SIGCHLD], 1)
        # A terminal has told the program as well.
        if got and got.si_signo != signal.SIGCHLD and got.si_code <= _BY_A_PROCESS:
            wait_for(lambda: bool(children(process.pid)) or process.poll() is not None, "the program starts")
            for child in children(process.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, got.si_signo)
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


def _status() -> int:
    note = keeper.note()
    words = note.command_line(HEAD, ["sinfo", "--noheader", "--Node", "--format=%N %T"], "/")
    asked = subprocess.run(
        words, env={**os.environ, **note.environment}, capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )
    states = dict(line.split() for line in asked.stdout.splitlines())
    rows = [("SITE", "HOST", "ADDRESS", "DAEMONS", "SLURM")]
    gone = bool(asked.returncode)
    for host in note.hosts:
        daemons = []
        for name, pid in note.daemons.items():
            kind, _, where = name.partition(" ")
            if (where or HEAD) == host.name:
                daemons.append(kind if not ended(pid) else f"{kind} (ended)")
        gone |= any(daemon.endswith("(ended)") for daemon in daemons)
        rows.append((host.site, host.name, host.address, ", ".join(daemons), states.get(host.name, "-")))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(f"{word:{width}}" for word, width in zip(row, widths, strict=True)).rstrip())
    files = f"GlusterFS of {STORAGE}" if note.plan.files else "in memory"
    print(f"{_spelled(note.plan)}; {FILES}: {files}")
    return int(gone)
