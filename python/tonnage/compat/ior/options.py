"""Every option and directive of IOR 4.1, once: the parser, ``-h``, the parameters' defaults and ``docs/ior.md``."""

from __future__ import annotations

from dataclasses import Field, dataclass, field, fields
from typing import Any, Literal

Kind = Literal["flag", "integer", "size", "seconds", "text", "directives"]


@dataclass(frozen=True, slots=True)
class Spelling:
    """How a parameter is given, and what it means here."""

    kind: Kind
    help: str
    """IOR's own words in its ``-h``; empty where it does not list the parameter."""
    short: str
    long: str
    directive: str
    """Its name in ``-O name=value`` and in a script; looked up without regard to case."""
    here: str
    """What it does in Tonnage, for ``docs/ior.md``."""
    module: str
    refused: str
    """Why this build refuses any value but the default; empty where it does not."""


def _option(
    default: Any,
    kind: Kind,
    here: str,
    *,
    help: str = "",
    short: str = "",
    long: str = "",
    directive: str = "",
    module: str = "",
    refused: str = "",
) -> Any:
    spelling = Spelling(kind, help, short, long, directive, here, module, refused)
    return field(default=default, metadata={"spelling": spelling})


_NO_GPU = "this build moves data of the CPU only"
_NO_MPIIO = "this build has no MPIIO"
_NO_GPFS = "this build gives GPFS no hints, which its own header file is needed for"
_NO_LOCK_CALL = "this build does not switch Lustre's locks off, which its own header file is needed for"


@dataclass(slots=True)
class Parameters:
    """One test: IOR's ``IOR_param_t``. Fields stand in the order of IOR's ``-h``; sizes in bytes."""

    # fmt: off
    api: str = _option("POSIX", "text", "`POSIX`, `MMAP`, `AIO` (through io_uring), `URING` (the same), `DUMMY`",
        help="API for I/O [POSIX|DUMMY|MMAP|AIO|URING]", short="a", directive="api")
    reference_number: int = _option(0, "integer", "printed in the summary",
        help="refNum -- user supplied reference number to include in the summary", short="A", directive="refnum")
    block_size: int = _option(1 << 20, "size", "`block_size`",
        help="blockSize -- contiguous bytes to write per task  (e.g.: 8, 4k, 2m, 1g)", short="b", directive="blockSize")
    collective: int = _option(0, "flag", "printed: only MPIIO's transfers are collective, and a finding says so",
        help="Use collective I/O", short="c", long="collective", directive="collective")
    reorder_tasks: int = _option(0, "flag",
        "a read works on the data of the task `-Q` further on; on one node as well, where IOR re-reads its own",
        help="reorderTasks -- changes task ordering for readback (useful to avoid client cache)", short="C",
        directive="reorderTasksConstant")
    inter_test_delay: float = _option(0.0, "seconds", "pause before each phase; fractions count, which IOR cuts off",
        help="interTestDelay -- delay between reps in seconds", short="d", directive="interTestDelay")
    deadline_for_stonewalling: int = _option(0, "integer", "`time_limit`",
        help="deadlineForStonewalling -- seconds before stopping write or read phase", short="D",
        directive="deadlineForStonewalling")
    stone_walling_wear_out: int = _option(0, "integer", "`wear_out`", directive="stoneWallingWearOut",
        help="1           -- once the stonewalling timeout is over, all process finish to access the amount of data")
    stone_walling_wear_out_iterations: int = _option(0, "integer", "`operations`: transfers of each task",
        directive="stoneWallingWearOutIterations",
        help="N -- stop after processing this number of iterations, needed for reading data back written with "
        "stoneWallingWearOut")
    stone_walling_status_file: str = _option("", "text", "written after a write, read before a read",
        directive="stoneWallingStatusFile",
        help="FILE     -- this file keeps the number of iterations from stonewalling during write and allows to use "
        "them for read")
    min_time_duration: int = _option(0, "integer", "`min_time`, in seconds", directive="minTimeDuration",
        help="0           -- minimum Runtime for the run (will repeat from beginning of the file if time is not yet "
        "over)")
    fsync: int = _option(0, "flag", "`sync` `fsync`: inside the clock; else `none`",
        help="fsync -- perform a fsync() operation at the end of each read/write phase", short="e", directive="fsync")
    use_existing_test_file: int = _option(0, "flag", "contents of a file that is there are overwritten in place",
        help="useExistingTestFile -- do not remove test file before write access", short="E",
        directive="useExistingTestFile")
    test_scripts: str = _option("", "text", "one run for each `RUN`",
        help="scriptFile -- test script name", short="f")
    file_per_proc: int = _option(0, "flag", "`layout` `file-per-task`; else `shared`",
        help="filePerProc -- file-per-process", short="F", directive="filePerProc")
    intra_test_barriers: int = _option(0, "flag",
        "`barriers`: no task transfers before all have opened, nor closes before all have transferred",
        help="intraTestBarriers -- use barriers between open, write/read, and close", short="g",
        directive="intraTestBarriers")
    set_time_stamp_signature: int = _option(0, "integer", "seed of the payload; else drawn",
        help="setTimeStampSignature -- set value for time stamp signature/random seed", short="G",
        directive="setTimeStampSignature")
    repetitions: int = _option(1, "integer", "`repeat.count`",
        help="repetitions -- number of repetitions of test", short="i", directive="repetitions")
    outlier_threshold: int = _option(0, "integer", "the same warnings, from each task's record",
        help="outlierThreshold -- warn on outlier N seconds from mean", short="j", directive="outlierThreshold")
    keep_file: int = _option(0, "flag", "`keep`",
        help="keepFile -- don't remove the test file(s) on program exit", short="k", directive="keepFile")
    keep_file_with_error: int = _option(0, "flag", "`keep_damaged`: files in which the last read found damage stay",
        help="keepFileWithError  -- keep error-filled file(s) after data-checking", short="K",
        directive="keepFileWithError")
    buffer_type: str = _option("", "text",
        "all four are written as unique, incompressible data that a read can check; IOR's patterns are not made",
        help="datapacket type-- type of packet that will be created [offset|incompressible|timestamp|random|o|i|t|r]",
        short="l", long="dataPacketType", directive="dataPacketType")
    multi_file: int = _option(0, "flag", "files of each repetition have its number as a suffix",
        help="multiFile -- use number of reps (-i) for multiple file count", short="m", directive="multiFile")
    memory_per_node: str = _option("", "text", "`hog`",
        help="memoryPerNode -- hog memory on the node  (e.g.: 2g, 75%)", short="M", directive="memoryPerNode")
    num_tasks: int = _option(-1, "integer", "tasks; `--tasks` is the same. Processes of MPI, else threads of one",
        help="numTasks -- number of tasks that are participating in the test (overrides MPI)", short="N",
        long="tasks", directive="numTasks")
    test_file: str = _option("testFile", "text", "names as IOR's, several with `@`",
        help="testFile -- full name for test", short="o", directive="testFile")
    directives: str = _option("", "directives", "the directives of this table",
        help="string of IOR directives (e.g. -O checkRead=1,GPUid=2)", short="O")
    task_per_node_offset: int = _option(1, "integer", "`shift`, in tasks",
        help="taskPerNodeOffset for read tests use with -C & -Z options (-C constant N, -Z at least N)", short="Q",
        directive="taskPerNodeOffset")
    read_file: int = _option(0, "flag", "a trial with `op` `read`; never of files that are missing or too short",
        help="readFile -- read existing file", short="r", directive="readFile")
    check_read: int = _option(0, "flag", "`verify`",
        help="checkRead -- verify that the output of read matches the expected signature (used with -G)", short="R",
        directive="checkRead")
    segment_count: int = _option(1, "size", "`segments`",
        help="segmentCount -- number of segments", short="s", directive="segmentCount")
    transfer_size: int = _option(1 << 18, "size", "`transfer_size`, at most 1 GiB",
        help="transferSize -- size of transfer in bytes (e.g.: 8, 4k, 2m, 1g)", short="t", directive="transferSize")
    max_time_duration: int = _option(0, "integer", "`budget.time`: no phase starts later",
        help="maxTimeDuration -- max time in minutes executing repeated test; it aborts only between iterations and "
        "not within a test!", short="T", directive="maxTimeDuration")
    unique_dir: int = _option(0, "flag", "a directory for each task, made where it is missing",
        help="uniqueDir -- use unique directory name for each file-per-process", short="u", directive="uniqueDir")
    verbose: int = _option(0, "flag", "1 to 5; JSON stays valid",
        help="verbose -- output information (repeating flag increases level)", short="v", directive="verbose")
    write_file: int = _option(0, "flag", "a trial with `op` `write`",
        help="writeFile -- write file", short="w", directive="writeFile")
    check_write: int = _option(0, "flag", "`check_written`: all is read back and checked, by the task that wrote it",
        help="checkWrite -- check read after write", short="W", directive="checkWrite")
    single_xfer_attempt: int = _option(0, "flag", "`single_attempt`: a call that moves a part of a transfer fails",
        help="singleXferAttempt -- do not retry transfer if incomplete", short="x", directive="singleXferAttempt")
    reorder_tasks_random_seed: int = _option(0, "integer", "`source_seed`, in every repetition; else the run's",
        help="reorderTasksRandomSeed -- random seed for -Z option", short="X", directive="reorderTasksRandomSeed")
    dual_mount: int = _option(0, "flag", "refused", help="dualMount -- use dual mount points for a filesystem",
        short="y", directive="dualMount", refused="this build binds no task to a socket: name both mounts with -o A@B")
    fsync_per_write: int = _option(0, "flag", "`sync` `fsync-each`",
        help="fsyncPerWrite -- perform sync operation after every write operation", short="Y",
        directive="fsyncPerWrite")
    random_offset: int = _option(0, "flag",
        "`access` `random`: each transfer once, within a task's own block; twice `random-blocks`: blocks drawn from "
        "the whole file, some again, and in each the transfers in order",
        help="randomOffset -- access is to shuffled, not sequential, offsets within a file, specify twice for random "
        "(potentially overlapping)", short="z", directive="randomOffset")
    random_prefill: int = _option(0, "size", "`prefill`: before the clock",
        help="For random -z access only: Prefill the file with this blocksize, e.g., 2m", long="randomPrefill")
    random_offset_seed: int = _option(-1, "integer", "`order_seed`; else the run's",
        help="The seed for -z", long="random-offset-seed")
    reorder_tasks_random: int = _option(0, "flag", "a read works on the data of a random task, each of them once",
        help="reorderTasksRandom -- changes task ordering to random select regions for readback, use twice for "
        "shuffling", short="Z", directive="reorderTasksRandom")
    warning_as_errors: int = _option(0, "flag", "a warning makes the exit status 1",
        help="Any warning should lead to an error.", long="warningAsErrors", directive="warningAsErrors")
    summary_file: str = _option("", "text", "the result goes there", directive="summaryFile",
        help="FILE                 -- store result data into this file")
    summary_format: str = _option("default", "text", "the same", directive="summaryFormat",
        help="[default,JSON,CSV] -- use the format for outputting the summary")
    save_rank_details_csv: str = _option("", "text", "the same", directive="saveRankPerformanceDetailsCSV",
        help="<FILE> -- store the performance of each rank into the named CSV file.")
    save_per_op_data_csv: str = _option("", "text", "the first 2^20 transfers of each task; `keep_operations`",
        directive="savePerOpDataCSV",
        help="<FILE> -- store the performance of each rank into an individual file prefixed with this option.")
    dry_run: int = _option(0, "flag", "checks everything, prints the header, does nothing",
        help="do not perform any I/Os just run evtl. inputs print dummy output", long="dryRun")

    # Directives that IOR's -h does not list.
    debug: str = _option("", "text", "printed", directive="debug")
    platform: str = _option("", "text", "printed", directive="platform")
    num_nodes: int = _option(-1, "integer", "the hosts of the tasks, or refused", directive="numNodes")
    tasks_on_node_0: int = _option(-1, "integer", "printed", directive="numTasksOnNode0")
    inter_io_delay: int = _option(0, "integer", "`think`, in microseconds", directive="interIODelay")
    memory_per_task: int = _option(0, "size", "`hog`, times the tasks", directive="memoryPerTask")
    summary_always: int = _option(0, "integer", "from `-v` on the summary also comes after each test",
        directive="summaryAlways")
    gpu_memory_flags: int = _option(0, "integer", "refused", directive="allocateBufferOnGPU", refused=_NO_GPU)
    gpu_id: int = _option(-1, "integer", "refused", directive="GPUid", refused=_NO_GPU)
    gpu_direct: int = _option(0, "integer", "refused", directive="GPUDirect", refused=_NO_GPU)
    tonnage_out: str = _option("", "text", "where the run directory goes; of Tonnage", directive="tonnageOut")

    # Options of the backends.
    odirect: int = _option(0, "flag", "`direct` `yes`; else `no`", help="Direct I/O Mode", long="posix.odirect",
        directive="useO_DIRECT", module="POSIX")
    rangelocks: int = _option(0, "flag", "`range_locks`", help="Use range locks (read locks for read ops)",
        long="posix.rangelocks", module="POSIX")
    beegfs_targets: int = _option(-1, "integer", "`stripe.count`, where the file system is BeeGFS",
        help="Targets of a BeeGFS file",
        long="posix.beegfs.NumTargets", module="POSIX")
    beegfs_chunk: int = _option(-1, "size", "`stripe.size`, where the file system is BeeGFS",
        help="Chunk of a BeeGFS file",
        long="posix.beegfs.ChunkSize", module="POSIX")
    gpfs_hint: int = _option(0, "flag", "refused", help="Hint the accesses to GPFS", long="posix.gpfs.hintaccess",
        module="POSIX", refused=_NO_GPFS)
    gpfs_release: int = _option(0, "flag", "refused", help="Release GPFS' tokens",
        long="posix.gpfs.releasetoken", module="POSIX", refused=_NO_GPFS)
    gpfs_fine_write: int = _option(0, "flag", "refused", help="Enable fine grain write sharing",
        long="posix.gpfs.finegrainwritesharing", module="POSIX", refused=_NO_GPFS)
    gpfs_fine_read: int = _option(0, "flag", "refused", help="Enable fine grain read sharing",
        long="posix.gpfs.finegrainreadsharing", module="POSIX", refused=_NO_GPFS)
    gpfs_create: int = _option(0, "flag", "refused", help="Enable efficient file creation in a shared directory",
        long="posix.gpfs.createsharing", module="POSIX", refused=_NO_GPFS)
    lustre_count: int = _option(0, "integer", "`stripe.count`, where the file system is Lustre",
        help="Stripes of a Lustre file",
        long="posix.lustre.stripecount", module="POSIX")
    lustre_size: int = _option(0, "size", "`stripe.size`, where the file system is Lustre",
        help="Stripe size of a Lustre file",
        long="posix.lustre.stripesize", module="POSIX")
    lustre_start: int = _option(-1, "integer", "`stripe.start`, where the file system is Lustre",
        help="First OST of a Lustre file",
        long="posix.lustre.startost", module="POSIX")
    lustre_locks: int = _option(0, "flag", "refused", help="Ignore Lustre's locks",
        long="posix.lustre.ignorelocks", module="POSIX", refused=_NO_LOCK_CALL)
    lustre_pool: str = _option("", "text", "`stripe.pool`, where the file system is Lustre",
        help="Name for Lustre pool to use",
        long="posix.lustre.pool", module="POSIX")
    delay_only_rank0: int = _option(0, "flag", "the delays below are task 0's alone",
        help="Delay only Rank0", long="dummy.delay-only-rank0",
        module="DUMMY")
    delay_create: int = _option(0, "integer", "target `null:create=…`, in microseconds: where a write opens a file",
        help="Delay per create in usec", long="dummy.delay-create",
        module="DUMMY")
    delay_close: int = _option(0, "integer", "`null:close=…`", help="Delay per close in usec", long="dummy.delay-close",
        module="DUMMY")
    delay_sync: int = _option(0, "integer",
        "`null:sync=…`: in each fsync of `-e` and `-Y`, where IOR's DUMMY never waits",
        help="Delay for sync in usec", long="dummy.delay-sync",
        module="DUMMY")
    delay_xfer: int = _option(0, "integer", "`null:transfer=…`",
        help="Delay per xfer in usec", long="dummy.delay-xfer", module="DUMMY")
    mpiio_hints: int = _option(0, "flag", "refused", help="Show MPI hints", long="mpiio.showHints", module="MPIIO",
        refused=_NO_MPIIO)
    mpiio_preallocate: int = _option(0, "flag", "refused", help="Preallocate file size", long="mpiio.preallocate",
        module="MPIIO", refused=_NO_MPIIO)
    mpiio_strided: int = _option(0, "flag", "refused", help="put strided access into datatype",
        long="mpiio.useStridedDatatype", module="MPIIO", refused=_NO_MPIIO)
    mpiio_view: int = _option(0, "flag", "refused", help="Use MPI_File_set_view", long="mpiio.useFileView",
        module="MPIIO", refused=_NO_MPIIO)
    mpiio_hints_file: str = _option("", "text", "refused", help="Full name for hints file",
        long="mpiio.hintsFileName", module="MPIIO", refused=_NO_MPIIO)
    advise_dont_need: int = _option(0, "flag",
        "`advice` `dont-need`: given when the file was mapped, and so of little effect",
        help="Use advise don't need", long="mmap.madv_dont_need",
        module="MMAP")
    advise_pattern: int = _option(0, "flag", "`advice` `random` with `-z`, else `sequential`",
        help="Use advise to indicate the pattern random/sequential", long="mmap.madv_pattern", module="MMAP")
    max_pending: int = _option(128, "integer", "`queue_depth`", help="Max number of pending ops",
        long="aio.max-pending", module="AIO")
    granularity: int = _option(16, "integer", "accepted: a queue is filled again as soon as one operation ends",
        help="How frequent to submit pending IOs, submit every granularity elements", long="aio.granularity",
        module="AIO")
    # fmt: on


def spelling(parameter: Field[Any]) -> Spelling:
    """How a field of ``Parameters`` is given."""
    found: Spelling = parameter.metadata["spelling"]
    return found


def spellings() -> dict[str, Spelling]:
    """Field → how it is given, in the order of IOR's ``-h``."""
    return {parameter.name: spelling(parameter) for parameter in fields(Parameters)}


DEFAULTS = Parameters()
DIRECTIVES = {found.directive.lower(): name for name, found in spellings().items() if found.directive} | {
    "reordertasks": "reorder_tasks",
}
"""Directive, in small letters → field."""
SHORT = {found.short: name for name, found in spellings().items() if found.short}
LONG = {found.long: name for name, found in spellings().items() if found.long}
