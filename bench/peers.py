"""The bare C loop, fio, IOR and elbencho, each with the options that do the same calls with the least of their own."""

from __future__ import annotations

import json
import re
import resource
from pathlib import Path

from cell_files import Ground
from cell_load import MIB, Load, Sample
from child_processes import said_by


def children_cpu_ns() -> int:
    """User and system time of all processes that were started and waited for, with theirs."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return round((usage.ru_utime + usage.ru_stime) * 1e9)


class Process:
    """A contender that is a program: one start of it a run."""

    name = ""
    file_name = "data.{task}"

    def __init__(self, program: Path) -> None:
        self.program: Path | None = program
        self.directory = Path()

    def can(self, load: Load) -> bool:
        return not load.null and load.depth == 1

    def prepare(self, load: Load, ground: Ground) -> None:
        self.directory = ground.directory / re.sub(r"\W+", "-", self.name)
        self.directory.mkdir()
        if not (load.fresh or load.null):
            ground.link(self.directory, self.file_name)

    def files(self, load: Load) -> list[Path]:
        return [self.directory / self.file_name.format(task=task) for task in range(load.tasks)]

    def run(self, load: Load) -> Sample:
        if load.fresh:
            for file in self.files(load):
                file.unlink(missing_ok=True)
        before = children_cpu_ns()
        done = said_by(self.command(load), self.directory)
        cpu_ns = children_cpu_ns() - before
        if done.returncode:
            said = done.stderr or done.stdout
            raise RuntimeError(f"{self.name} failed with {done.returncode}: {' '.join(done.args)}\n{said}")
        operations, elapsed_ns = self.parse(load, done.stdout)
        return Sample(operations * load.transfer, operations, elapsed_ns, cpu_ns)

    def command(self, load: Load) -> list[str]:
        raise NotImplementedError

    def parse(self, load: Load, output: str) -> tuple[int, int]:
        """Parses operations and elapsed nanoseconds."""
        raise NotImplementedError


class Bare(Process):
    """``bare.c``: the limit."""

    name = "bare C loop"

    def __init__(self, program: Path, *, summing: bool = False) -> None:
        super().__init__(program)
        self.summing = summing
        if summing:
            self.name = "bare C loop, summing"

    def can(self, load: Load) -> bool:
        return not load.null

    def command(self, load: Load) -> list[str]:
        options = ["--transfer", load.transfer, "--file-bytes", load.file_bytes, "--threads", load.tasks]
        options += ["--milliseconds", max(1, round(load.seconds * 1000)) if not load.fresh else 60_000]
        # As much memory as Tonnage's unique payload goes through.
        options += ["--payload", MIB] if load.op == "write" and load.transfer < MIB else []
        options += ["--random"] if load.random else []
        options += ["--create"] if load.fresh else ["--no-wrap"] if load.once else []
        options += ["--uring", load.depth] if load.depth > 1 else []
        options += ["--reads", load.read_percent] if load.read_percent is not None else []
        options += ["--sum"] if self.summing else []
        return [str(self.program), *map(str, options), load.op, "data"]

    def parse(self, _load: Load, output: str) -> tuple[int, int]:
        result = json.loads(output)
        return result["operations"], result["elapsed_ns"]


class Fio(Process):
    """fio with latencies on (its normal way), without the map of visited blocks, which would cost it a few per cent."""

    name = "fio"

    def can(self, _load: Load) -> bool:
        return True

    def command(self, load: Load) -> list[str]:
        engine = "null" if load.null else "io_uring" if load.depth > 1 else "psync"
        op = load.op if load.read_percent is None else "rw"
        options = {
            "name": "cell", "thread": 1, "ioengine": engine, "rw": ("rand" if load.random else "") + op,
            "bs": load.transfer, "size": load.file_bytes, "numjobs": load.tasks, "filename_format": "data.$jobnum",
            "invalidate": 0, "norandommap": 1, "randrepeat": 0, "fallocate": "none", "group_reporting": 1,
            "output-format": "json",
        }  # fmt: skip
        if load.op == "write" and not load.fresh:
            options["overwrite"] = 1
        if load.read_percent is not None:
            options["rwmixread"] = load.read_percent
        if load.depth > 1:
            options |= {"iodepth": load.depth, "fixedbufs": 1, "registerfiles": 1}
        if not load.once:
            options |= {"time_based": 1, "runtime": f"{round(load.seconds * 1000)}ms"}
        return [str(self.program), *(f"--{key}={value}" for key, value in options.items())]

    def parse(self, load: Load, output: str) -> tuple[int, int]:
        found = json.loads(output[output.index("{") :])["jobs"][0]
        if load.read_percent is not None:
            total, iops = (sum(found[op][key] for op in ("read", "write")) for key in ("total_ios", "iops"))
            return total, max(1, round(total / iops * 1e9))
        job = found[load.op]
        # `runtime` is in whole milliseconds; `iops` comes from finer clocks where the run is short.
        return job["total_ios"], max(1, round(job["total_ios"] / job["iops"] * 1e9)) if job["iops"] else 1


class Ior(Process):
    """IOR under mpirun, one rank a task. ``verify`` reads with -R."""

    file_name = "data.{task:08d}"

    def __init__(self, program: Path, mpirun: Path, *, verify: bool = False) -> None:
        super().__init__(program)
        self.mpirun = mpirun
        self.verify = verify
        self.name = "IOR -R" if verify else "IOR"

    def can(self, load: Load) -> bool:
        return load.depth == 1

    def prepare(self, load: Load, ground: Ground) -> None:
        super().prepare(load, ground)
        if self.verify:  # it can check only what it wrote
            for file in self.files(load):
                file.unlink()
            options = f"-a POSIX -F -w -k -G 7 -t {load.transfer} -b {load.file_bytes} -o data".split()
            said_by([*self.ranks(load), *options], self.directory).check_returncode()

    def ranks(self, load: Load) -> list[str]:
        # Unbound: Open MPI would put rank 0 where the interrupts are.
        placed = ["--bind-to", "none", "--oversubscribe", "--allow-run-as-root"]
        return [str(self.mpirun), *placed, "-np", str(load.tasks), str(self.program)]

    def command(self, load: Load) -> list[str]:
        api, op = "DUMMY" if load.null else "POSIX", load.op[0]
        options = f"-a {api} -F -k -{op} -t {load.transfer} -b {load.file_bytes} -o data".split()
        options += (["-z"] if load.random else []) + ([] if load.fresh else ["-E"])
        options += ["-R", "-G", "7"] if self.verify else []
        if not load.once:
            options += ["-D", str(load.whole_seconds), "-O", f"minTimeDuration={load.whole_seconds}"]
        options += ["-O", "summaryFormat=JSON", "-O", "summaryFile=summary.json"]
        return [*self.ranks(load), *options]

    def parse(self, load: Load, _output: str) -> tuple[int, int]:
        summary = json.loads((self.directory / "summary.json").read_text())["summary"][0]
        if summary["operation"] != load.op:
            raise RuntimeError(f"IOR reports {summary['operation']} where {load.op} was asked")
        elapsed_ns = max(1, round(summary["MeanTime"] * 1e9))
        return round(summary["bwMeanMIB"] * MIB * elapsed_ns / 1e9 / load.transfer), elapsed_ns


class Elbencho(Process):
    """elbencho with latencies on; its payload is fresh for every block, as is its default."""

    name = "elbencho"

    def command(self, load: Load) -> list[str]:
        options = ["-r" if load.op == "read" else "-w", "-b", load.transfer, "-s", load.file_bytes, "-t", load.tasks]
        options += ["--lat", "--nolive", "--jsonfile", "result.json", *(["--rand"] if load.random else [])]
        options += ["--csvfile", "result.csv", "--resfile", "result.txt"]  # or they go to /var/tmp
        if not load.once:
            options += ["--infloop", "--timelimit", load.whole_seconds]
        return [str(self.program), *map(str, options), *(file.name for file in self.files(load))]

    def parse(self, load: Load, _output: str) -> tuple[int, int]:
        # One object a line, appended a run; `last_done` is when the last thread was done.
        last = json.loads((self.directory / "result.json").read_text().splitlines()[-1])["last_done"]
        moved = int(last["bytes"])
        # `elapsed_time_ms` is whole milliseconds; bytes and bytes a second together say it finer.
        return moved // load.transfer, round(moved / int(last["bytes/s"]) * 1e9)
