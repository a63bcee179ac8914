"""The engine and the simulator, in Rust. Private: the rest of Tonnage is the way to use it.

Specifications cross as JSON text (serde checks them: ``crates/workload/src/phase.rs``,
``crates/storage/src/target/mod.rs``);
results come back as plain dicts whose keys are those of ``docs/record-format.md``.

Errors: ``ValueError`` for a specification that cannot be run (its text says what to do), ``OSError`` with errno and
filename for what the system refused, ``MemoryError`` for buffers.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, final

from tonnage.cluster.launcher import Live
from tonnage.records.phase_results import PhaseResult
from tonnage.staging.mover_status import CopiesReport, MoverStatus

__version__: str

@final
class Scratch:
    """A marked directory that this process created; the only place where files are written or removed."""

    @staticmethod
    def create(parent: str, run_id: str) -> Scratch:
        """Makes ``parent/.tonnage-<run_id>`` (mode 0700) with a marker file in it."""
    @staticmethod
    def reopen(path: str, *, force: bool = False) -> Scratch:
        """Takes over what a run left that is over, as ``leftovers`` found it; ``force``: also where its state is
        ``unknown``. ValueError if it carries no marker of ours, or its run goes on, or kept it.
        """
    @staticmethod
    def create_named(parent: str, name: str, run_id: str) -> Scratch:
        """Makes ``parent/name``, marked, which a later run may find again; one component, no dot at its beginning."""
    @staticmethod
    def reopen_named(parent: str, name: str, *, stays: bool = False) -> Scratch:
        """Takes over what ``create_named`` made, from a run that died or kept it; ``stays``: it is left again.
        ValueError if it is not ours or may still be in use, or a data file in it was changed since it was kept.
        """
    @staticmethod
    def reopen_kept(parent: str, name: str) -> Scratch:
        """The same, for ``remove``: what was changed in it is looked for there."""
    @staticmethod
    def left_ns(path: str) -> int:
        """When the run that kept it left it, in nanoseconds, by the clock of its file system. A date of whole seconds
        is taken for the end of the two seconds that it may stand for. OSError where it is gone."""
    @staticmethod
    def leftovers(parent: str) -> list[dict[str, Any]]:
        """Marked scratch directories in ``parent``: ``path``, ``run_id``, ``pid``, ``host``, ``state`` (``running``,
        ``dead``, ``kept``, ``copy``, ``unknown``) and ``why``, a clause that says so.
        """
    @staticmethod
    def file_leftovers(parent: str) -> list[dict[str, Any]]:
        """The same of marked files in ``parent`` that no run has ended with: ``running`` or ``unknown``."""
    @staticmethod
    def remove_left_file(path: str) -> None:
        """Removes one of those whose state is ``unknown``; ValueError or OSError where it is none by now."""
    @property
    def path(self) -> str: ...
    def keep(self, as_found: bool = False) -> None:
        """Leaves it and all in it to a later run, instead of ``remove``; ``as_found``: this run changed nothing in it,
        and it counts as left when the run before left it.
        """
    def remove(self, until_ns: int | None = None) -> None:
        """Removes the data files that Tonnage made in it, the marker and the directory. Anything else stays and
        is an OSError. ``until_ns``: also files that were changed after this, by the file system's clock.
        """

@final
class Target:
    """An opened storage, or a simulated one. ``spec`` is a TargetSpec as JSON, or ``{"kind": "sim", ...}`` with
    a ModelSpec.
    """

    def __init__(self, spec: str, *, series_directory: str | None = None) -> None:
        """``series_directory`` is the run directory: ``series/``, ``heat/`` and ``latency/`` below it must
        exist. None: nothing is written.
        """
    def for_others(self) -> str:
        """The same target for the other processes of the run, wherever they are: they open it with this. They find
        the directories that this process knows, or ValueError, and leave ``clear`` and ``finish`` to it: there these
        only forget. A target that others share is opened here with ``"process": "first"``."""
    def start(self, phase: str, *, share: bool = False, processes: Sequence[int] | None = None) -> Phase:
        """Checks the PhaseSpec (JSON), prepares all tasks (memory, rings), and leaves them waiting at the start
        line. ``share``: series, heat, histograms and operations are kept in memory for ``Phase.share``, and no file
        of a record is touched. ``processes``: of each task of the whole phase, the rank of its process.
        """
    def start_beside(self, phase: str, company: Target, company_phase: str, lead_ns: int) -> Beside:
        """The same for two phases at once: this one's, and that of another target, whose start line opens ``lead_ns``
        earlier and which ends when the first has. A model needs another target of the same model."""
    def clear(self) -> None:
        """Removes all data files of the target (never the scratch directory itself)."""
    def finish(self) -> list[tuple[str, str]]:
        """The run ends: named files that are ours are removed, or stay where the spec says ``keep``. Another's
        always stay. Notes on that: code and sentence.
        """
    def keep_named(self, keep: bool) -> None:
        """Decides anew whether ``finish`` leaves the named files."""
    def length(self, file: int) -> int:
        """Bytes of a data file; FileNotFoundError if there is none."""
    def now_ns(self) -> int:
        """The run's clock: CLOCK_MONOTONIC, or the virtual time of a simulated target."""

@final
class Phase:
    """A phase whose tasks wait at the start line, run, or have ended."""

    def go(self) -> None:
        """Opens the start line."""
    def wait(self, timeout_s: float) -> bool:
        """Waits without the GIL; True when all tasks have ended. A simulated phase has ended when ``go`` returns.
        False, and early, where there is a ``meeting`` that nobody has asked for yet."""
    def stop(self) -> None:
        """Asks the tasks to end after the operation in hand (``stop_reason`` becomes ``interrupted``)."""
    def live(self) -> Live:
        """A snapshot that does not disturb the tasks: ``elapsed_ns``, ``bytes``, ``operations``,
        ``p50_ns``, ``p99_ns``,
        ``bandwidth_bytes_per_s`` and ``recent_p99_ns`` over the last second, ``running_tasks``; ``heat``: so far,
        ``[low_ns, high_ns, operations]`` of each bucket of latency that has any; ``failed``: an operation failed here,
        and the tasks of other processes are to end as well."""
    def result(self) -> PhaseResult:
        """After ``wait`` was True: a PhaseResult (``crates/records/src/result.rs``) as a dict. Once."""
    def share(self) -> bytes:
        """Instead of ``result``, of a phase started with ``share``: all that this process leaves behind, for
        ``merge_shares`` and ``write_share``. ValueError or OSError as ``result``. Once."""
    def meeting(self) -> int | None:
        """All tasks here have come to a point where they agree with those of other processes (``barriers``,
        ``limit.wear_out``), and wait: what this process says there. None: not now. Every process comes to the same
        points in the same order, unless one of them fails or stops: then stop the others. Tasks that wait give up,
        and the phase fails, where nobody calls ``wait``, ``live`` or this for 600 s."""
    def meet(self, agreed: int) -> None:
        """The largest that any process said: the tasks that wait go on."""

@final
class Beside:
    """A phase and its company, at their start lines, running, or ended."""

    def go(self) -> None:
        """Opens the company's start line, waits for as long as it is to be ahead, and opens the other."""
    def wait(self, timeout_s: float) -> bool:
        """Waits without the GIL; True when all tasks of both have ended."""
    def stop(self) -> None:
        """As ``Phase.stop``, of both."""
    def live(self) -> Live:
        """As ``Phase.live``, of the measured phase alone."""
    def results(self) -> tuple[PhaseResult, PhaseResult]:
        """After ``wait`` was True: that of the phase and that of its company, which ended by ``time`` where it was told
        to. Once."""

@final
class Mover:
    """Stages one tree into another (``crates/mover``). Its status is ``crates/mover/src/status.rs`` as a dict."""

    def __init__(self, options: str, before_journal: Callable[[], object] | None = None) -> None:
        """``options`` is ``crates/mover/src/options.rs`` as JSON. Checks both trees, takes the lock, opens the journal.

        ``before_journal`` is called with the lock held where there is no journal
        yet. ValueError for a request that cannot work, and then nothing was touched.
        """
    def start(self) -> None:
        """Starts its threads and returns at once."""
    def give_way_to(self, pid: int | None) -> None:
        """The application whose first process is ``pid`` comes first, if the options want that. None: everybody else of
        this user."""
    def status(self) -> MoverStatus:
        """Everything at this moment; takes no time worth counting."""
    def rescan(self) -> int:
        """Asks for a scan of the whole source now. What was there at this call has been found once ``scans`` of the
        status has reached the number returned."""
    def drain(self) -> None:
        """No more is coming: scans once more, copies what is left, ends."""
    def set_limit(self, bytes_per_s: int | None, files_per_s: int | None) -> None:
        """New bounds, at once. None: no bound. 0: pauses."""
    def stop(self, deadline_ns: int) -> None:
        """Drains by priority for at most ``deadline_ns`` nanoseconds from now, then halts; a new mover on the same
        state goes on. A second call replaces the deadline. 0: halts now."""
    def wait(self, timeout_s: float) -> bool:
        """Waits without the GIL; True once it has ended. OSError or RuntimeError, once, where it could
        not go on."""

def stage_status(state: str) -> MoverStatus:
    """The status of a mover that does not run, from the journal in its state directory. ValueError: it is of
    another version."""

def stage_verify(to: str, threads: int, on_progress: Callable[[int, int, int, int], bool]) -> CopiesReport:
    """Compares a tree with the manifests in it (``crates/mover/src/manifest/verify.rs`` ``Report``). ``on_progress``
    gets, a few times a second, files checked and of how many, bytes and of how many; where it says False the check
    ends."""

def stage_lost(to: str, id: str) -> list[str]:
    """Paths that the mover ``id`` placed in the tree ``to`` and that are not there any more with the kind and the size
    of the manifests. Nothing is read. OSError where the tree or its manifests cannot be opened."""

def stage_entries(state: str, kind: str, after: int, limit: int) -> list[dict[str, Any]]:
    """At most ``limit`` entries of a journal with numbers above ``after``: ``id``, ``path``, ``size``, ``reason``.
    ``kind``: ``failed`` or ``queued``. May be called while the mover runs."""

def pool_free_bytes(pool: str) -> int | None:
    """Bytes that the cluster of a pool has left on all of its disks; None where nobody counts them. ``pool`` is a
    PoolSpec as JSON; ValueError where it cannot be reached or has no such pool.
    """

def pool_leftovers(pool: str) -> list[dict[str, Any]]:
    """The marked namespaces of a pool, as ``Scratch.leftovers``; every object's name is looked at. ``pool`` and errors
    as of ``pool_free_bytes``; its namespace does not matter."""

def clean_pool(pool: str, *, force: bool = False) -> None:
    """Removes what a dead run left in the namespace of ``pool``: the snapshots that it noted, its objects, its marker.
    ``force``: also where nobody can know whether it is dead. ValueError where the marker is missing, another's, or of
    a run that goes on; OSError."""

def export_facts(export: str) -> str:
    """What an NFS server says of an export, as a JSON object (``ExportFacts`` of ``crates/storage/src/nfs/mod.rs``).
    ``export`` is an ExportSpec as JSON. Nothing is made; ValueError where it cannot be reached, is not exported to this
    host, or this user may make nothing in it.
    """

def check_bucket(bucket: str) -> None:
    """Sees that a bucket can be reached and lets the credentials in; nothing is made. ``bucket`` is a BucketSpec as
    JSON; ValueError where it does not.
    """

def ask_monitor(pool: str, questions: list[str]) -> list[str]:
    """The answers of a monitor of a pool's cluster to questions in JSON, such as ``{"prefix": "osd tree"}``; ``pool``
    and errors as of ``pool_free_bytes``; OSError where it refuses one.
    """

def memory_copy_bytes_per_s(transfer_size: int, tasks: int, duration_ns: int) -> int:
    """Measured rate at which ``tasks`` threads copy buffers of ``transfer_size`` bytes, all together: the memory
    ceiling.
    """

def merge_shares(one: bytes, other: bytes) -> bytes:
    """Two shares of one phase as one, in any order. ValueError: damaged, of another version, or of the same tasks."""

def write_share(share: bytes, run_directory: str | None, record: str, line_ns: int) -> PhaseResult:
    """The PhaseResult of all tasks of a share, with instants as if all lines had opened at ``line_ns`` of the run's
    clock; its series, heat, histograms and operations are written below ``run_directory``, if given, as a single
    process would have. ValueError as ``merge_shares``; OSError."""

def read_table(path: str) -> dict[str, list[int]]:
    """The columns of a ``series/`` or ``heat/`` Parquet file, by name."""

def read_histograms(path: str) -> dict[str, list[tuple[int, int]]]:
    """A ``latency/*.hlog`` file: tag → list of (highest equivalent value in ns, count), ascending, empty ones
    left out.
    """

def read_merged(path: str, prefix: str) -> list[tuple[int, int]]:
    """The same of all histograms in it whose tags begin with ``prefix``, as one."""

def write_series(run_directory: str, record: str, rows: list[tuple[int, int, int, int]]) -> None:
    """Writes ``series/<record>.parquet`` of a phase that another program ran: ``start_ns``, ``end_ns``, ``task``,
    ``bytes`` of each interval; its operations are 0.
    """

def mpiio_shim() -> str:
    """The source, in C, of what ``mpiio.library`` of a TargetSpec leads to."""

def end_waits(now: bool) -> None:
    """With True, nothing of this process waits for a silent server (``nfs``, ``s3``) any more, and no more is begun on
    a pool of Ceph; with False it does again."""

def clock_name() -> str:
    """What times the operations here: ``tsc`` (the CPU's counter, where the kernel trusts it) or ``monotonic``."""

def sim_shares(model: str, tasks: int) -> list[float]:
    """Noise-free throughput of a ModelSpec (JSON) with 1 to ``tasks`` operations in flight, as shares of its plateau;
    where nodes have a plateau of their own, of that of one node. The true load line of a search is the first that is
    at least 95 % of the largest. ValueError for an impossible model."""

@final
class Rows:
    """The whole lines of a file of JSON objects, kept as columns."""

    @staticmethod
    def read(path: str) -> Rows:
        """ValueError where a line is no object with plain, different keys, or has nothing in common with the others."""
    def __len__(self) -> int: ...
    def keys(self) -> list[str]:
        """All keys that any row has."""
    def row(self, row: int) -> Mapping[str, Any]:
        """A row by its number; IndexError where there is none."""
    def kinds(self, *path: str) -> bytes:
        """What each row has at a path, a key or also one in its object: a letter, ``n`` for null, ``b`` a truth value,
        ``i`` an integer, ``k`` one below zero, ``f`` another number, ``s`` words, ``a`` a list, ``o`` an object; a
        capital where Python takes the value for true, ``-`` where there is none."""
    def codes(self, *path: str) -> tuple[bytes, list[Any]]:
        """Of each row, as native integers of 32 bits, which of the values that follow it has: all that are written
        differently, each once, in the order of their first rows. What is missing counts as null."""
    def column(self, rows: bytes, *path: str) -> list[Any]:
        """The values of ``rows``, native integers of 64 bits; None where there is none."""
    def numbers(self, rows: bytes, *path: str) -> bytes | None:
        """The integers of ``rows``, as native ones of 64 bits; -2**63 where there is none, or null; None where any of
        them is something else, or needs more than 62 bits."""
    def integers(self, key: str) -> list[tuple[str, bytes]]:
        """Members of the objects under ``key`` in all rows, 64 at most: their names, and integers of up to 62 bits as
        native ones of 64; -2**63 where there is none."""

@final
class Row:
    """One line, as a mapping that is read only. What it shares with other rows is one object: do not change it."""

    def __getitem__(self, key: str) -> Any: ...
    def get(self, key: str, default: Any = None) -> Any: ...
    def __contains__(self, key: object) -> bool: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[str]: ...
    def keys(self) -> list[str]: ...
