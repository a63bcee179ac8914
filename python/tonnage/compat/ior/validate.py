"""What IOR refuses, in its words, and what this build lacks: one line each, before anything is touched."""

from __future__ import annotations

import re

from tonnage.compat.ior.numbers import human
from tonnage.compat.ior.options import DEFAULTS, Parameters, spellings
from tonnage.compat.shared import ALONE, Ranks
from tonnage.errors import RequestError

STORAGES = {"POSIX": "posix", "MMAP": "mmap", "AIO": "uring", "URING": "uring", "DUMMY": "null"}
"""IOR's backends → how bytes are touched."""
FORMATS = ("default", "json", "csv")
_ACCESS = 8
"""IOR's data is made of words of so many bytes."""


def validate(test: Parameters, ranks: Ranks = ALONE) -> None:
    """Fills in what IOR fills in, and raises RequestError for a test that cannot be done as asked."""
    if not (test.write_file or test.read_file or test.check_write or test.check_read):
        test.write_file = test.read_file = 1
    if test.num_tasks == -1:
        test.num_tasks = ranks.default
    test.api = test.api.upper()
    _refuse_what_is_not_there(test)
    _sizes(test)
    _combinations(test)
    _stonewall(test)
    _numbers(test, ranks)
    if ranks.hosts:
        test.num_nodes = ranks.nodes(test.num_tasks)
        if test.tasks_on_node_0 == -1:
            test.tasks_on_node_0 = ranks.on_first(test.num_tasks)


def _no(what: str, hint: str) -> None:
    raise RequestError(f"{what}; hint: {hint}")


def _refuse_what_is_not_there(test: Parameters) -> None:
    if test.api not in STORAGES:
        _no(f"this build has no backend {test.api}", f"use -a with one of {', '.join(STORAGES)}")
    if test.dual_mount and not test.file_per_proc:
        _no("Dual Mount can only be used with File Per Process", "name both mounts with -F -o A@B, and leave -y out")
    for name, found in spellings().items():
        if found.refused and getattr(test, name) != getattr(DEFAULTS, name):
            spelled = f"-{found.short}" if found.short else f"--{found.long}" if found.long else found.directive
            _no(f"{spelled}: {found.refused}", f"leave {spelled} out")
    if test.summary_format.lower() not in FORMATS:
        _no(f"Unknown summaryFormat {test.summary_format!r}", "use default, JSON or CSV")
    if test.buffer_type and test.buffer_type[0] not in "oitr":
        _no(f'Unknown packet type "{test.buffer_type}"', "use offset, incompressible, timestamp or random")


def _sizes(test: Parameters) -> None:
    block, transfer = test.block_size, test.transfer_size
    if test.segment_count < 1:
        _no("segment count must be positive value", "use -s 1")
    if block < 0:
        _no("block size must be non-negative integer", "give -b a size such as 1m")
    if transfer < 0:
        _no("transfer size must be non-negative integer", "give -t a size such as 256k")
    if transfer == 0:
        _no("test will not complete with zero transfer size", "give -t a size such as 256k")
    if block < transfer:
        _no("block size must not be smaller than transfer size", f"use -b {transfer} or a smaller -t")
    if block % transfer:
        _no(
            f"block size ({human(block)}) must be a multiple of transfer size ({human(transfer)})",
            f"use -b {block // transfer * transfer} or -b {(block // transfer + 1) * transfer}",
        )
    if block % _ACCESS:
        _no("block size must be a multiple of access size", f"use a multiple of {_ACCESS} bytes")
    if transfer % _ACCESS:
        _no("transfer size must be a multiple of access size", f"use a multiple of {_ACCESS} bytes")


def _combinations(test: Parameters) -> None:
    writes = bool(test.write_file)
    if test.check_read and not writes and not test.set_time_stamp_signature:
        _no("using readCheck only requires to write a timeStampSignature -- use -G", "give the -G of the write")
    if test.random_offset == 1 and test.block_size == test.transfer_size:
        _no(
            "IOR will randomize access within a block and repeats the same pattern for all segments, "
            "therefore choose blocksize > transferSize",
            "use a larger -b",
        )
    if test.random_prefill and not test.random_offset:
        _no("Setting the randomPrefill option without using random is not useful", "add -z, or leave it out")
    if test.random_prefill and test.block_size % test.random_prefill:
        _no("The randomPrefill option must divide the blockSize", f"use --randomPrefill={test.transfer_size}")
    if test.reorder_tasks and test.reorder_tasks_random:
        _no("Both Constant and Random task re-ordering specified. Choose one and resubmit", "leave out -C or -Z")
    if test.random_offset and not test.file_per_proc and (test.reorder_tasks or test.reorder_tasks_random):
        kind, option = ("constant", "-C") if test.reorder_tasks else ("random", "-Z")
        _no(
            f"random offset and {kind} reorder tasks specified with single-shared-file. Choose one and resubmit",
            f"leave out -z or {option}, or add -F",
        )
    names = test.test_file.split("@")
    if not all(names):
        _no(f"-o {test.test_file!r} names no file", "give names such as DIR/FILE, with @ between them")
    if len(names) > 1 and test.unique_dir:
        _no("cannot use multiple file names with unique directories", "leave out -u, or give one -o")
    if test.unique_dir and not test.file_per_proc:
        _no("unique directories are for files of each task", "add -F, or leave out -u")
    if test.api == "DUMMY" and (test.check_read or test.check_write):
        _no("DUMMY stores nothing that a read could check", "leave out -R and -W, or use -a POSIX")
    if test.lustre_pool and not (test.lustre_count and test.lustre_size):
        _no("Lustre pool specified but no stripe count or stripe size specified", "give all three")
    if test.beegfs_chunk != -1 and (test.beegfs_chunk < 1 << 16 or test.beegfs_chunk & (test.beegfs_chunk - 1)):
        _no("beegfsChunkSize must be a power of two and >64k", "use 512k")
    if test.odirect and test.api == "MMAP":
        _no("--posix.odirect: mapped files work through the page cache", "use -a POSIX, or leave it out")


def _stonewall(test: Parameters) -> None:
    status = test.stone_walling_status_file
    if status and not test.keep_file:
        _no(
            "a StoneWallingStatusFile is only sensible when splitting write/read into multiple executions of ior, "
            "please use -k",
            "add -k",
        )
    if status and not test.stone_walling_wear_out and test.write_file:
        _no(
            "the StoneWallingStatusFile is only sensible for a write test when using stoneWallingWearOut",
            "add -O stoneWallingWearOut=1",
        )
    if test.stone_walling_wear_out > 0 and test.deadline_for_stonewalling == 0:
        _no("the stoneWallingWearOut is only sensible when setting a stonewall deadline with -D", "add -D 10")
    if test.stone_walling_wear_out and test.min_time_duration:
        _no("stoneWallingWearOut and minTimeDuration end a phase in two ways", "give one of them")


def _numbers(test: Parameters, ranks: Ranks) -> None:
    if test.num_tasks <= 0:
        _no("too few tasks for testing", "give -N 1 or more")
    if test.num_nodes not in (-1, ranks.nodes(test.num_tasks)):
        _no(f"numNodes={test.num_nodes}: the tasks are on {ranks.nodes(test.num_tasks)}", "leave it out")
    if test.repetitions <= 0:
        _no("too few test repetitions", "give -i 1 or more")
    for name in ("deadline_for_stonewalling", "min_time_duration", "max_time_duration", "outlier_threshold",
                 "stone_walling_wear_out_iterations", "inter_io_delay", "memory_per_task", "delay_create",
                 "delay_close", "delay_sync", "delay_xfer", "random_prefill"):  # fmt: skip
        if getattr(test, name) < 0:
            found = spellings()[name]
            _no(f"{found.directive or found.long} must be nonnegative value", "give 0 or more")
    if test.task_per_node_offset < 1:
        _no(f"-Q {test.task_per_node_offset}: a task offset is at least 1", "use -Q 1")
    if test.max_pending < 1:
        _no(f"--aio.max-pending {test.max_pending}: a queue holds at least one operation", "use 32")
    if test.memory_per_node and not re.fullmatch(r"\d+\s*[kmgtpKMGTP]?|\d{1,3}\s*%", test.memory_per_node):
        _no(f"-M {test.memory_per_node!r} is not a size or a share", "write it like 2g or 75%")
    if test.memory_per_node.endswith("%") and not 0 < int(test.memory_per_node[:-1]) <= 95:
        _no("percentage must be between 0 and 100", "a share of 95% or less leaves the system alive")
