"""Every option and directive of IOR 4.1, once: the parser, ``-h``, the parameters' defaults and ``docs/ior.md``."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Literal

from tonnage.command_option import Option
from tonnage.compat.front_end import FrontEnd

Kind = Literal["flag", "number", "seconds", "text", "directives"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spelling(Option):
    """How a parameter is given, and what it means here. Its metavar is what ``-h`` shows after ``-O directive=``; None:
    the default."""

    kind: Kind
    directive: str
    """Its name in ``-O name=value`` and in a script; looked up without regard to case."""
    campaign: str
    """The key of a campaign that it becomes, for ``docs/ior.md``; empty where there is none."""
    module: str
    former: str
    """Its letter in IOR 3, which 4.1 has no more; empty where it had none."""

    @property
    def is_flag(self) -> bool:
        return self.kind == "flag"

    @property
    def value_name(self) -> str:
        return {"number": "N", "seconds": "SECONDS", "directives": "NAME=VALUE,..."}.get(self.kind, "TEXT")

    @property
    def short(self) -> str:
        """Its letter; empty where it has none."""
        return next((name[1:] for name in self.names if not name.startswith("--") and name[1:] != self.former), "")

    @property
    def long(self) -> str:
        """Its name without the dashes; empty where it has none."""
        return next((name[2:] for name in self.names if name.startswith("--")), "")


def _option(
    default: Any,
    kind: Kind,
    help: str,
    *,
    short: str = "",
    long: str = "",
    directive: str = "",
    value: str = "",
    campaign: str = "",
    module: str = "",
    refused: str = "",
    former: str = "",
) -> Any:
    spelling = Spelling(
        names=(*(f"-{letter}" for letter in short), *([f"--{long}"] if long else []), *(f"-{one}" for one in former)),
        help=help,
        metavar=value or None,
        refused=refused,
        kind=kind,
        directive=directive,
        campaign=campaign,
        module=module,
        former=former,
    )
    return field(default=default, metadata={"spelling": spelling})


_NO_GPU = "this build moves data of the CPU only"
_NO_GPFS = "this build gives GPFS no hints: they need its header files"
_NO_LOCK_CALL = "this build does not switch Lustre's locks off: that needs its header files"


@dataclass(slots=True)
class Parameters:
    """One test: IOR's ``IOR_param_t``. Fields stand in the order of IOR's ``-h``; sizes in bytes."""

    # fmt: off
    api: str = _option("POSIX", "text",
        "how files are reached: POSIX, MPIIO, MMAP, AIO or URING (both use io_uring); DUMMY touches no file",
        short="a", directive="api", campaign="storage")
    reference_number: int = _option(0, "number", "number of your choice, printed in the summary as RefNum",
        short="A", directive="refnum")
    block_size: int = _option(1 << 20, "number",
        "bytes that a task has in one piece of the file; a multiple of -t. 8, 4k, 2m, 1g (powers of 1024)",
        short="b", directive="blockSize", campaign="block_size")
    collective: int = _option(0, "flag",
        "MPIIO: all tasks of a file make each transfer together. Other backends only print the type as collective",
        short="c", long="collective", directive="collective", campaign="collective")
    reorder_tasks: int = _option(0, "flag",
        "each task reads what the task -Q further on wrote, not the data that its own node may have cached",
        short="C", directive="reorderTasksConstant", campaign="source")
    inter_test_delay: float = _option(0.0, "seconds", "seconds to wait before each phase; 0.5 is half a second",
        short="d", directive="interTestDelay", campaign="pause")
    deadline_for_stonewalling: int = _option(0, "number",
        "seconds after which a write or read phase stops; 0: no limit",
        short="D", directive="deadlineForStonewalling", campaign="time_limit")
    stone_walling_wear_out: int = _option(0, "number",
        "1: after -D, slower tasks go on until each has made as many transfers as the fastest",
        directive="stoneWallingWearOut", value="1", campaign="wear_out")
    stone_walling_wear_out_iterations: int = _option(0, "number",
        "number of transfers after which each task stops; 0: no limit. For a read of what -D cut short",
        directive="stoneWallingWearOutIterations", value="N", campaign="operations")
    stone_walling_status_file: str = _option("", "text",
        "a write puts into FILE how many transfers a task made; a later run with -r reads as many. With -k",
        directive="stoneWallingStatusFile", value="FILE")
    min_time_duration: int = _option(0, "number",
        "least seconds of a phase; a task that finishes earlier repeats its transfers",
        directive="minTimeDuration", campaign="min_time")
    fsync: int = _option(0, "flag",
        "a write ends with fsync, inside the measured time; without -e, data may still be in memory",
        short="e", directive="fsync", campaign="sync")
    use_existing_test_file: int = _option(0, "flag",
        "writes into existing files, whoever made them, and does not cut them; without -E, a file that Tonnage made "
        "is replaced and any other is an error", short="E", directive="useExistingTestFile")
    test_scripts: str = _option("", "text",
        "file with the tests: lines name=value between IOR START and IOR STOP; each line RUN starts one", short="f")
    file_per_proc: int = _option(0, "flag", "each task has its own file; without -F, all tasks share one",
        short="F", directive="filePerProc", campaign="layout")
    intra_test_barriers: int = _option(0, "flag",
        "all tasks wait for each other after they opened the file, and again before they close it",
        short="g", directive="intraTestBarriers", campaign="barriers")
    set_time_stamp_signature: int = _option(0, "number",
        "seed of the data; a later -R or -W needs the same one. 0: a random one",
        short="G", directive="setTimeStampSignature", campaign="seed")
    repetitions: int = _option(1, "number", "how many times the test runs",
        short="i", directive="repetitions", campaign="repeat.count")
    outlier_threshold: int = _option(0, "number",
        "warns of a task whose open, transfer or close is more than this many seconds off the mean of all tasks; 0: "
        "never", short="j", directive="outlierThreshold")
    keep_file: int = _option(0, "flag", "the files stay; without -k, those that Tonnage made are removed at the end",
        short="k", directive="keepFile", campaign="keep")
    keep_file_with_error: int = _option(0, "flag", "files in which the last read found damage stay, also without -k",
        short="K", directive="keepFileWithError", campaign="keep_damaged")
    buffer_type: str = _option("", "text",
        "kind of data: offset, incompressible, timestamp or random (o, i, t, r). Here all four mean the same: unique "
        "data that does not compress", short="l", long="dataPacketType", directive="dataPacketType")
    multi_file: int = _option(0, "flag", "each repetition has its own files, FILE.0, FILE.1 and so on",
        short="m", directive="multiFile")
    memory_per_node: str = _option("", "text",
        "memory to occupy on a node during each phase, so that less is left for the page cache: 2g or 75%",
        short="M", directive="memoryPerNode", campaign="hog")
    num_tasks: int = _option(-1, "number",
        "how many tasks: processes that MPI started, else threads of one process. -1: all processes, or one thread",
        short="N", long="tasks", directive="numTasks", campaign="tasks")
    test_file: str = _option("testFile", "text",
        "path of the file. With -F also several, A@B: the tasks take them in turn",
        short="o", directive="testFile", campaign="file_names")
    directives: str = _option("", "directives",
        "sets parameters by name: -O NAME=VALUE,NAME=VALUE. Here a name stands before the colon, or after -O",
        short="O")
    task_per_node_offset: int = _option(1, "number", "distance of -C in tasks; in nodes, if the tasks are on several",
        short="Q", directive="taskPerNodeOffset", campaign="shift")
    read_file: int = _option(0, "flag",
        "reads the files, which must exist and be long enough. Without -r, -R, -w and -W, a test writes and reads",
        short="r", directive="readFile", campaign="op")
    check_read: int = _option(0, "flag",
        "reads the files and checks every byte; Tonnage must have written them with the same -G",
        short="R", directive="checkRead", campaign="verify")
    segment_count: int = _option(1, "number", "number of segments in a file; a segment holds one block of each task",
        short="s", directive="segmentCount", campaign="segments")
    transfer_size: int = _option(1 << 18, "number",
        "bytes of one read or write call, a multiple of 8, at most 1g. 8, 4k, 2m (powers of 1024)",
        short="t", directive="transferSize", campaign="transfer_size")
    max_time_duration: int = _option(0, "number", "minutes after which no further phase starts; 0: no limit",
        short="T", directive="maxTimeDuration", campaign="budget.time")
    unique_dir: int = _option(0, "flag",
        "the file of each task is in a directory of its own, which is made if it is missing. With -F",
        short="u", directive="uniqueDir")
    verbose: int = _option(0, "flag", "prints more; -vv up to -vvvvv print still more", short="v", directive="verbose")
    write_file: int = _option(0, "flag", "writes the files", short="w", directive="writeFile", campaign="op")
    check_write: int = _option(0, "flag",
        "after a write, outside its time, each task reads back what it wrote and checks every byte. Without -w, only "
        "checks", short="W", directive="checkWrite", campaign="check_written")
    single_xfer_attempt: int = _option(0, "flag",
        "a call that moves only a part of a transfer is an error; without -x, another call moves the rest",
        short="x", directive="singleXferAttempt", campaign="single_attempt")
    reorder_tasks_random_seed: int = _option(0, "number", "seed of the order of -Z; 0: from -G",
        short="X", directive="reorderTasksRandomSeed", campaign="source_seed")
    dual_mount: int = _option(0, "flag", "the tasks work through two mounts of a file system",
        short="y", directive="dualMount",
        refused="this build binds no task to a socket: name both mounts with -F -o A@B")
    fsync_per_write: int = _option(0, "flag", "fsync after each write call, inside the measured time",
        short="Y", directive="fsyncPerWrite", campaign="sync")
    random_offset: int = _option(0, "flag",
        "transfers at random offsets: each transfer of a task's own blocks once. -z -z: blocks drawn from the whole "
        "file, some more than once; within a block the transfers are in order",
        short="z", directive="randomOffset", campaign="access")
    random_prefill: int = _option(0, "number",
        "before a write with -z, outside its time, the files are filled by writes of this many bytes; 0: not filled",
        long="randomPrefill", campaign="prefill")
    random_offset_seed: int = _option(-1, "number", "seed of the order of -z; -1: from -G",
        long="random-offset-seed", campaign="order_seed")
    reorder_tasks_random: int = _option(0, "flag",
        "each task reads what another task wrote, drawn at random; no two tasks read the same",
        short="Z", directive="reorderTasksRandom", campaign="source")
    warning_as_errors: int = _option(0, "flag", "the exit status is 1 if a warning was printed",
        long="warningAsErrors", directive="warningAsErrors")
    summary_file: str = _option("", "text", "the whole output goes into FILE; standard output only names FILE",
        directive="summaryFile", value="FILE")
    summary_format: str = _option("default", "text", "form of the output: text, one JSON object, or CSV",
        directive="summaryFormat", value="[default,JSON,CSV]")
    save_rank_details_csv: str = _option("", "text", "CSV file with the times and rates of each task in each phase",
        directive="saveRankPerformanceDetailsCSV", value="<FILE>")
    save_per_op_data_csv: str = _option("", "text",
        "CSV files FILE-REPETITION-TASK.csv with start, seconds and rate of each transfer; the first 2^20 of a task",
        directive="savePerOpDataCSV", value="<FILE>", campaign="keep_operations")
    dry_run: int = _option(0, "flag", "checks the request and prints the header; reads and writes nothing",
        long="dryRun")

    # Directives that IOR's -h does not list.
    debug: str = _option("", "text", "text of your choice, printed in the header", directive="debug", value="STRING")
    platform: str = _option("", "text", "name of the machine, printed", directive="platform", value="STRING")
    num_nodes: int = _option(-1, "number", "number of nodes; an error if the tasks are on another number of nodes",
        directive="numNodes")
    tasks_on_node_0: int = _option(-1, "number", "number of tasks on the first node, printed",
        directive="numTasksOnNode0")
    inter_io_delay: int = _option(0, "number", "microseconds that a task waits after each transfer",
        directive="interIODelay", campaign="think")
    memory_per_task: int = _option(0, "number", "as -M: bytes for each task",
        directive="memoryPerTask", campaign="hog")
    summary_always: int = _option(0, "number", "1: with -v, a summary also follows each test",
        directive="summaryAlways")
    gpu_memory_flags: int = _option(0, "number", "kind of GPU memory for the data",
        directive="allocateBufferOnGPU", refused=_NO_GPU)
    gpu_id: int = _option(-1, "number", "number of the GPU", directive="GPUid", refused=_NO_GPU)
    gpu_direct: int = _option(0, "number", "1: moves data between GPU and storage without the CPU",
        directive="GPUDirect", refused=_NO_GPU)
    tonnage_out: str = _option("", "text", "directory for the records of the run; Tonnage's own",
        directive="tonnageOut", value="DIR")

    # Options of the backends.
    odirect: int = _option(0, "flag", "transfers bypass the page cache (O_DIRECT)",
        long="posix.odirect", directive="useO_DIRECT", module="POSIX", campaign="direct")
    rangelocks: int = _option(0, "flag", "locks the bytes of each transfer; reads share a lock",
        long="posix.rangelocks", module="POSIX", campaign="range_locks")
    beegfs_targets: int = _option(-1, "number", "BeeGFS: number of targets of a new file; -1: as its directory says",
        long="posix.beegfs.NumTargets", module="POSIX", campaign="stripe.count")
    beegfs_chunk: int = _option(-1, "number",
        "BeeGFS: bytes of a chunk of a new file, a power of two from 64k on; -1: as its directory says",
        long="posix.beegfs.ChunkSize", module="POSIX", campaign="stripe.size")
    gpfs_hint: int = _option(0, "flag", "GPFS: announces each transfer",
        long="posix.gpfs.hintaccess", module="POSIX", refused=_NO_GPFS)
    gpfs_release: int = _option(0, "number", "GPFS: 1: gives up the locks of a file after it was opened",
        long="posix.gpfs.releasetoken", module="POSIX", refused=_NO_GPFS)
    gpfs_fine_write: int = _option(0, "flag", "GPFS: prepares a file for small writes by many nodes",
        long="posix.gpfs.finegrainwritesharing", module="POSIX", refused=_NO_GPFS)
    gpfs_fine_read: int = _option(0, "flag", "GPFS: prepares a file for small reads by many nodes",
        long="posix.gpfs.finegrainreadsharing", module="POSIX", refused=_NO_GPFS)
    gpfs_create: int = _option(0, "flag", "GPFS: prepares a directory in which many nodes create files",
        long="posix.gpfs.createsharing", module="POSIX", refused=_NO_GPFS)
    lustre_count: int = _option(0, "number", "Lustre: number of stripes of a new file; 0: as its directory says",
        long="posix.lustre.stripecount", module="POSIX", campaign="stripe.count")
    lustre_size: int = _option(0, "number", "Lustre: bytes of a stripe of a new file; 0: as its directory says",
        long="posix.lustre.stripesize", module="POSIX", campaign="stripe.size")
    lustre_start: int = _option(-1, "number", "Lustre: index of the OST with the first stripe; -1: Lustre chooses",
        long="posix.lustre.startost", module="POSIX", campaign="stripe.start")
    lustre_locks: int = _option(0, "flag", "Lustre: takes no locks",
        long="posix.lustre.ignorelocks", module="POSIX", refused=_NO_LOCK_CALL)
    lustre_pool: str = _option("", "text", "Lustre: pool of OSTs for a new file; with stripecount and stripesize",
        long="posix.lustre.pool", module="POSIX", campaign="stripe.pool")
    delay_only_rank0: int = _option(0, "flag", "only task 0 waits, not every task",
        long="dummy.delay-only-rank0", module="DUMMY", campaign="target")
    delay_create: int = _option(0, "number", "microseconds to wait in each open for a write",
        long="dummy.delay-create", module="DUMMY", campaign="target")
    delay_close: int = _option(0, "number", "microseconds to wait in each close",
        long="dummy.delay-close", module="DUMMY", campaign="target")
    delay_sync: int = _option(0, "number", "microseconds to wait in each fsync of -e and -Y",
        long="dummy.delay-sync", module="DUMMY", campaign="target")
    delay_xfer: int = _option(0, "number", "microseconds to wait in each transfer",
        long="dummy.delay-xfer", module="DUMMY", campaign="target")
    mpiio_hints: int = _option(0, "flag", "prints the hints given to MPI, and those in effect",
        long="mpiio.showHints", former="H", module="MPIIO")
    mpiio_preallocate: int = _option(0, "flag", "reserves the space of a file when it is opened for a write",
        long="mpiio.preallocate", former="p", module="MPIIO", campaign="preallocate")
    mpiio_strided: int = _option(0, "flag",
        "each call moves a transfer of every segment, by an MPI data type; with useFileView",
        long="mpiio.useStridedDatatype", former="S", module="MPIIO", campaign="file_view")
    mpiio_view: int = _option(0, "flag", "each task sees only its own blocks of the file (MPI_File_set_view)",
        long="mpiio.useFileView", former="V", module="MPIIO", campaign="file_view")
    mpiio_hints_file: str = _option("", "text",
        "file with hints of MPI, one a line: IOR_HINT__MPI__NAME=VALUE. It overrides the environment",
        long="mpiio.hintsFileName", former="U", module="MPIIO", campaign="hints")
    advise_dont_need: int = _option(0, "flag",
        "madvise DONTNEED when the file is mapped; little effect, as no page is mapped at that time",
        long="mmap.madv_dont_need", module="MMAP", campaign="advice")
    advise_pattern: int = _option(0, "flag", "madvise RANDOM with -z, else SEQUENTIAL",
        long="mmap.madv_pattern", module="MMAP", campaign="advice")
    max_pending: int = _option(128, "number", "number of operations that a task has under way at once",
        long="aio.max-pending", module="AIO", campaign="queue_depth")
    granularity: int = _option(16, "number", "no effect: as soon as one operation ends, the next one starts",
        long="aio.granularity", module="AIO")
    # fmt: on


def spellings() -> dict[str, Spelling]:
    """Field of ``Parameters`` → how it is given, in the order of IOR's ``-h``."""
    return {parameter.name: parameter.metadata["spelling"] for parameter in fields(Parameters)}


DEFAULTS = Parameters()
DIRECTIVES = {found.directive.lower(): name for name, found in spellings().items() if found.directive} | {
    "reordertasks": "reorder_tasks",
}
"""Directive, in small letters → field."""
NAMES = {name: field for field, found in spellings().items() for name in found.names}
"""Option → field."""
_OF_IOR_3 = {
    "B": "is --posix.odirect since 4.0",
    "q": "is not needed: a failed operation ends the test",
    "P": "has no other effect in IOR than to end it: tasks have no file pointer in common",
    **dict.fromkeys("IJn", "is HDF5's or NCMPI's, which this build lacks"),
}
"""Options that 4.1 has no more → what to do."""
IOR = FrontEnd(
    "ior",
    "IOR's command lines, measured here",
    "Takes the options, directives and scripts of IOR 4.1 and prints what it prints, on files of the names that IOR "
    "gives them. Tasks are threads of one process: -N or --tasks says how many. What the output does not say comes "
    "after it on stderr.",
    tuple(found for found in spellings().values() if found.names),
    (
        ("tonnage ior -t 16m -b 1g -F -g -G 27 -k -e -o /scratch/me/FILE", "write, then read, a file of 1 GiB"),
        ("tonnage ior -N 16 -w -z -E -F -k -e -m -d 0.1 -i 10 -t 4k -b 16m -o FILE", "random writes, 16 tasks"),
    ),
    hints={f"-{letter}": f"IOR 3's -{letter} {told}" for letter, told in _OF_IOR_3.items()},
    asks_help="-h",
    ends_at_dashes=False,
)
