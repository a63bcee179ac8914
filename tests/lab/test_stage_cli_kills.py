"""Kills through the command line: whoever is killed, ``stage resume --wait`` ends it, ``stage verify`` agrees."""

from __future__ import annotations

import contextlib
import os
import random
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from checkpointing import body
from staged import LAB, PATIENCE_S, Stage, differences, memory_directory, plant, tree

pytest.importorskip("tonnage._native", reason="the engine is not built: run ./tonnage once")


class Commands:
    """``tonnage stage`` between the two trees of a stage, with a runtime directory of its own."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        runtime = stage.work / "runtime"
        runtime.mkdir(mode=0o700)
        found = os.pathsep.join(filter(None, sys.path))
        self.environment = {**os.environ, "PYTHONPATH": found, "XDG_RUNTIME_DIR": str(runtime), "NO_COLOR": "1"}
        self.trees = ("--from", stage.source, "--to", stage.to)

    def words(self, *words: str | Path) -> list[str | Path]:
        return [sys.executable, "-m", "tonnage.cli", "stage", *words]

    def __call__(self, *words: str | Path) -> str:
        """Must end with 0; what it printed."""
        said = subprocess.run(
            self.words(*words), env=self.environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
        assert said.returncode == 0, said.stderr
        return said.stdout

    @contextlib.contextmanager
    def running(self, *words: str | Path) -> Iterator[subprocess.Popen[bytes]]:
        quiet = subprocess.DEVNULL
        with subprocess.Popen(self.words(*words), env=self.environment, stdout=quiet, stderr=quiet) as process:
            try:
                yield process
            finally:
                process.kill()


@pytest.mark.parametrize(("seed", "victims"), [(1, "mover"), (2, "application"), (3, "both"), (4, "both")])
def test_resume_ends_what_a_kill_of_the_run_or_its_application_left(seed: int, victims: str) -> None:
    rng = random.Random(seed)
    with memory_directory() as work:
        stage = Stage(work)
        plant(stage.source, rng)
        tonnage = Commands(stage)
        ledger, pids = work / "ledger", work / "pid"
        # The application says its own number, and then becomes what writes checkpoints.
        script = "import os, sys; open(sys.argv[1], 'w').write(str(os.getpid())); os.execv(sys.argv[2], sys.argv[2:])"
        writes = [sys.executable, "-I", "-S", LAB / "checkpointing.py", stage.source, str(seed), ledger]
        with tonnage.running("run", *tonnage.trees, "--", sys.executable, "-c", script, pids, *writes) as run:
            until = time.monotonic() + PATIENCE_S
            while not (pids.exists() and pids.read_text()) and time.monotonic() < until:
                time.sleep(0.005)
            # By a handle: whoever gets its number later is not meant.
            application = os.pidfd_open(int(pids.read_text()))
            time.sleep(rng.uniform(0, 0.15))
            if victims != "application":
                run.kill()
            if victims != "mover":
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(application, signal.SIGKILL)
            select.select([application], [], [], PATIENCE_S)
            os.close(application)
            # One whose application was killed brings everything there first, and says then how that ended.
            run.wait(PATIENCE_S)
        tonnage("resume", "--wait", "--from", stage.source)
        assert differences(tree(stage.source), tree(stage.to)) == []
        for line in ledger.read_text().splitlines() if ledger.exists() else []:
            name, own, size = line.rsplit(" ", 2)
            assert (stage.to / name).read_bytes() == body(int(own), int(size)), f"{name} was closed and is not whole"
        assert stage.temporaries() == []
        assert "0 wrong" in tonnage("verify", "--to", stage.to)
