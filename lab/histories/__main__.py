"""``python -m histories SEEDS`` or ``--script FILE``: histories, and what was wrong with them, as JSON lines."""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

LAB = Path(__file__).resolve().parents[1]
if str(LAB) not in sys.path:
    sys.path.insert(0, str(LAB))

from stage_trees import memory_directory  # noqa: E402

from histories import history_script  # noqa: E402
from histories.execute import Execution  # noqa: E402
from histories.file_systems import Ground, grounds, possible  # noqa: E402
from histories.history_script import History  # noqa: E402
from histories.judge import Wrong  # noqa: E402
from histories.random_history import draw  # noqa: E402
from histories.shrink import shrink  # noqa: E402

_INSIDE = "TONNAGE_HISTORIES_INSIDE"


def enter_namespaces() -> None:
    """Begins again where whatever is mounted or started here is gone with this process, however it ends."""
    if os.environ.get(_INSIDE):
        return
    os.environ[_INSIDE] = "1"
    unshare = ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--mount-proc"]
    os.environ["PYTHONPATH"] = os.fspath(LAB)
    os.execvp("unshare", [*unshare, sys.executable, "-m", "histories", *sys.argv[1:]])


class Runner:
    """Runs histories on one set of file systems, one after the other."""

    def __init__(self, made: dict[str, Ground], tries: int) -> None:
        self.made, self.tries = made, tries
        self.counts: Counter[str] = Counter()

    def run(self, history: History) -> list[Wrong]:
        with tempfile.TemporaryDirectory(prefix="tonnage-history-") as work:
            return Execution(history, self.made, Path(work), self.counts).run()

    def shortened(self, history: History, kind: str, budget_s: float) -> History:
        """That still shows this kind of wrong in one of so many tries."""

        def fails(shorter: History) -> bool:
            return any(kind in {found.kind for found in self.run(shorter)} for _ in range(self.tries))

        counts, self.counts = self.counts, Counter()
        short = shrink(history, fails, budget_s)
        self.counts = counts
        return short


def seeds_of(words: list[str]) -> list[int]:
    """Parses ``7`` or ``0-99``."""
    ranges = (word.partition("-") for word in words)
    return list(itertools.chain.from_iterable(range(int(low), int(high or low) + 1) for low, _, high in ranges))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m histories", description=__doc__)
    parser.add_argument("seeds", nargs="*", metavar="SEED|FIRST-LAST")
    parser.add_argument("--script", type=Path, help="run this script in place of what seeds draw")
    parser.add_argument("--times", type=int, default=1, help="run the script so many times")
    parser.add_argument(
        "--shrink",
        type=float,
        default=0.0,
        metavar="SECONDS",
        help="shorten the first of each kind of failure, for so long",
    )
    parser.add_argument("--tries", type=int, default=3, help="runs of a shorter history until it is taken to be right")
    parser.add_argument("--show", action="store_true", help="print what the seeds draw, and run nothing")
    asked = parser.parse_args()
    if os.geteuid() or not shutil.which("unshare"):
        print("histories need root and unshare, to mount what they use", file=sys.stderr)
        return 2
    kinds = possible()
    work = [(f"seed {seed}", draw(seed, kinds)) for seed in seeds_of(asked.seeds)]
    if asked.script:
        work += [(os.fspath(asked.script), history_script.read_file(asked.script))] * asked.times
    if asked.show:
        for name, history in work:
            print(f"# {name}\n{history}")
        return 0
    enter_namespaces()
    failed, shortened = 0, set[str]()
    with memory_directory() as memory, grounds(memory, kinds) as made:
        runner = Runner(made, asked.tries)
        for name, history in work:
            runner.counts["histories"] += 1
            wrongs = runner.run(history)
            if wrongs:
                failed += 1
                kind, short = wrongs[0].kind, history
                if asked.shrink and kind not in shortened:
                    # Of many that fail in one way, one short script says enough.
                    shortened.add(kind)
                    short = runner.shortened(history, kind, asked.shrink)
                said = {"failed": name, "wrongs": list(map(str, wrongs)), "script": str(short)}
                print(json.dumps(said), flush=True)
        print(json.dumps({"counts": dict(runner.counts), "kinds": kinds, "wrong": failed}), flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
