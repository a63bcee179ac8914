"""Kills through the command line: whoever is killed, ``stage resume --wait`` ends it, ``stage verify`` agrees."""

from __future__ import annotations

import contextlib
import os
import random
import select
import signal
import sys
import time

import pytest
from checkpoint_application import body
from stage_commands import Commands
from stage_trees import LAB, PATIENCE_S, Stage, differences, memory_directory, plant, tree

pytest.importorskip("tonnage._native", reason="the engine is not built: run ./tonnage once")


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
        writes = [sys.executable, "-I", "-S", LAB / "checkpoint_application.py", stage.source, str(seed), ledger]
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
        assert "0 wrong" in tonnage("verify", "--to", stage.to).stdout
