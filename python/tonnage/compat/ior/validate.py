"""What IOR refuses, and what this build lacks: one line each, before anything is touched."""

from __future__ import annotations

import os
import re
from pathlib import Path

from tonnage.compat.ior.number_format import human
from tonnage.compat.ior.options import DEFAULTS, Parameters, spellings
from tonnage.compat.measure import ALONE, Ranks
from tonnage.errors import RequestError
from tonnage.toml_documents import read_text

PREFIX = "IOR_HINT__MPI__"
OTHERS = "IOR_HINT__"


def hints_of(test: Parameters) -> dict[str, str]:
    """By name; a line of the file counts more than the environment. RequestError where one is no hint."""
    found = {}
    for name, value in sorted(os.environ.items()):
        if name.startswith(PREFIX):
            if name == PREFIX or not value.strip():
                raise RequestError(
                    f"{name}={value} in the environment is no hint of MPI; hint: unset it, or give a value"
                )
            found[name.removeprefix(PREFIX)] = value.strip()
    if test.mpiio_hints_file:
        found |= _of_file(test.mpiio_hints_file)
    return found


def _of_file(path: str) -> dict[str, str]:
    try:
        lines = read_text(Path(path)).splitlines()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise RequestError(f"cannot read the hints {path}: {reason}; hint: give the path after -U") from None
    found: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        # IOR passes over each line that is no hint, whatever was meant by it.
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        parts = re.fullmatch(rf"\s*{PREFIX}([^\s=]+)[ =]+(\S+)\s*", line)
        if parts is None:
            raise RequestError(
                f"{path}:{number}: {line.strip()!r} is no hint of MPI; hint: write {PREFIX}NAME=VALUE, such as "
                f"{PREFIX}cb_nodes=4, or # before a remark"
            )
        if parts[1] in found:
            raise RequestError(f"{path}:{number}: {parts[1]} has a value already; hint: leave one of the lines out")
        found[parts[1]] = parts[2]
    return found


def unused_hints(test: Parameters) -> list[str]:
    """Variables of the environment that have no effect on this test."""
    used = PREFIX if test.api == "MPIIO" else None
    return sorted(name for name in os.environ if name.startswith(OTHERS) and not (used and name.startswith(used)))


STORAGES = {"POSIX": "posix", "MMAP": "mmap", "MPIIO": "mpiio", "AIO": "uring", "URING": "uring", "DUMMY": "null"}
"""IOR's backends → how bytes are touched."""
FORMATS = ("default", "json", "csv")
_ACCESS = 8
"""The data is made of words of this many bytes, as IOR's."""


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
    is_shared = test.api == "MPIIO" and not test.file_per_proc and test.num_tasks > 1
    if test.collective and is_shared and len(ranks.hosts) < test.num_tasks:
        _no(
            "-c: collective transfers on a shared file need a process for each task",
            "start it with mpiexec, or leave out -c",
        )
    if ranks.hosts:
        test.num_nodes = ranks.nodes(test.num_tasks)
        if test.tasks_on_node_0 == -1:
            test.tasks_on_node_0 = ranks.on_first(test.num_tasks)


def _no(what: str, hint: str) -> None:
    raise RequestError(f"{what}; hint: {hint}")


def _refuse_what_is_not_there(test: Parameters) -> None:
    if test.api not in STORAGES:
        _no(f"this build has no backend {test.api}", f"use -a with one of {', '.join(STORAGES)}")
    for name, found in spellings().items():
        if found.refused and getattr(test, name) != getattr(DEFAULTS, name):
            spelled = f"-{found.short}" if found.short else f"--{found.long}" if found.long else found.directive
            _no(f"{spelled}: {found.refused}", f"leave {spelled} out")
    if test.summary_format.lower() not in FORMATS:
        _no(f"summaryFormat={test.summary_format} is not known", "use default, JSON or CSV")
    if test.buffer_type and test.buffer_type[0] not in "oitr":
        _no(f"-l {test.buffer_type!r} is no kind of data", "use offset, incompressible, timestamp or random")


def _sizes(test: Parameters) -> None:
    block, transfer = test.block_size, test.transfer_size
    if test.segment_count < 1:
        _no(f"-s {test.segment_count}: a file has at least one segment", "use -s 1")
    if block < 0:
        _no(f"-b {block} is below 0", "give -b a size such as 1m")
    if transfer < 0:
        _no(f"-t {transfer} is below 0", "give -t a size such as 256k")
    if transfer == 0:
        _no(f"-t 0: a transfer has at least {_ACCESS} bytes", "give -t a size such as 256k")
    if transfer % _ACCESS:
        _no(f"-t {transfer} is not a multiple of {_ACCESS} bytes", f"use -t {max(transfer // _ACCESS, 1) * _ACCESS}")
    if block < transfer:
        _no(f"-b {human(block)} is less than -t {human(transfer)}", f"use -b {transfer} or a smaller -t")
    if block % transfer:
        _no(
            f"-b {human(block)} is not a multiple of -t {human(transfer)}",
            f"use -b {block // transfer * transfer} or -b {(block // transfer + 1) * transfer}",
        )


def _combinations(test: Parameters) -> None:
    writes = bool(test.write_file)
    if test.check_read and not writes and not test.set_time_stamp_signature:
        _no("-R without -w checks an earlier write, and needs its seed", "give the -G of that write")
    if test.random_offset == 1 and test.block_size == test.transfer_size:
        _no(
            f"-z has no order to draw: each block, -b {human(test.block_size)}, is a single transfer",
            "use a larger -b or a smaller -t",
        )
    if test.random_prefill and not test.random_offset:
        _no("--randomPrefill prepares files for -z, which is not given", "add -z, or leave it out")
    if test.random_prefill and test.block_size % test.random_prefill:
        _no(
            f"-b {test.block_size} is not a multiple of --randomPrefill={test.random_prefill}",
            f"use --randomPrefill={test.transfer_size}",
        )
    if test.reorder_tasks and test.reorder_tasks_random:
        _no("-C and -Z each say which task reads what", "leave out -C or -Z")
    if test.random_offset and not test.file_per_proc and (test.reorder_tasks or test.reorder_tasks_random):
        option = "-C" if test.reorder_tasks else "-Z"
        _no(f"-z with {option} needs a file for each task", f"add -F, or leave out -z or {option}")
    names = test.test_file.split("@")
    if not all(names):
        _no(f"-o {test.test_file!r} names no file", "give names such as DIR/FILE, with @ between them")
    if len(names) > 1 and test.unique_dir:
        _no("-u makes the directories of one name, and -o has several", "leave out -u, or give one -o")
    if test.unique_dir and not test.file_per_proc:
        _no("unique directories are for files of each task", "add -F, or leave out -u")
    if test.api == "DUMMY" and (test.check_read or test.check_write):
        _no("DUMMY stores nothing that a read could check", "leave out -R and -W, or use -a POSIX")
    if test.lustre_pool and not (test.lustre_count and test.lustre_size):
        _no("--posix.lustre.pool needs stripecount and stripesize", "give all three")
    if test.beegfs_chunk != -1 and (test.beegfs_chunk < 1 << 16 or test.beegfs_chunk & (test.beegfs_chunk - 1)):
        _no(f"--posix.beegfs.ChunkSize={test.beegfs_chunk} is not a power of two from 64k on", "use 512k")
    if test.api == "MPIIO":
        _mpiio(test)
    if test.odirect and test.api == "MMAP":
        _no("--posix.odirect: mapped files work through the page cache", "use -a POSIX, or leave it out")


def _mpiio(test: Parameters) -> None:
    """What the backend MPIIO of IOR refuses, and what would have no effect."""
    if test.random_offset and test.collective:
        _no("-c: collective transfers are in order, not at the random offsets of -z", "leave out -c or -z")
    if test.random_offset and test.mpiio_view:
        _no("--mpiio.useFileView is for transfers in order, not for -z", "leave out -V or -z")
    if test.mpiio_strided and not test.mpiio_view:
        _no("--mpiio.useStridedDatatype has no effect without a file view", "add --mpiio.useFileView")
    if test.mpiio_strided and (test.single_xfer_attempt or test.deadline_for_stonewalling):
        _no("--mpiio.useStridedDatatype moves a transfer of every segment in one call", "leave out -x and -D")
    if test.odirect:
        _no("--posix.odirect: MPI-IO opens its files through the page cache", "use -a POSIX, or leave it out")
    hints_of(test)


def _stonewall(test: Parameters) -> None:
    status = test.stone_walling_status_file
    if status and not test.keep_file:
        _no("stoneWallingStatusFile is for a later read, and without -k no file stays to be read", "add -k")
    if status and not test.stone_walling_wear_out and test.write_file:
        _no(
            "stoneWallingStatusFile holds one number for all tasks, and they write different ones without wear-out",
            "add -O stoneWallingWearOut=1",
        )
    if test.stone_walling_wear_out > 0 and test.deadline_for_stonewalling == 0:
        _no("stoneWallingWearOut begins when the time of -D is up, and -D is not given", "add -D 10")
    if test.stone_walling_wear_out and test.min_time_duration:
        _no("stoneWallingWearOut and minTimeDuration end a phase in two ways", "give one of them")


def _numbers(test: Parameters, ranks: Ranks) -> None:
    if test.num_tasks <= 0:
        _no(f"-N {test.num_tasks}: a test has at least one task", "give -N 1 or more")
    if test.num_nodes not in (-1, ranks.nodes(test.num_tasks)):
        _no(f"numNodes={test.num_nodes}: the tasks are on {ranks.nodes(test.num_tasks)}", "leave it out")
    if test.repetitions <= 0:
        _no(f"-i {test.repetitions}: a test runs at least once", "give -i 1 or more")
    for name in ("deadline_for_stonewalling", "min_time_duration", "max_time_duration", "outlier_threshold",
                 "stone_walling_wear_out_iterations", "inter_io_delay", "memory_per_task", "delay_create",
                 "delay_close", "delay_sync", "delay_xfer", "random_prefill"):  # fmt: skip
        if getattr(test, name) < 0:
            found = spellings()[name]
            _no(f"{found.directive or found.long}={getattr(test, name)} is below 0", "give 0 or more")
    if test.task_per_node_offset < 1:
        _no(f"-Q {test.task_per_node_offset}: a task offset is at least 1", "use -Q 1")
    if test.max_pending < 1:
        _no(f"--aio.max-pending {test.max_pending}: a queue holds at least one operation", "use 32")
    if test.memory_per_node and not re.fullmatch(r"\d+\s*[kmgtpKMGTP]?|\d{1,3}\s*%", test.memory_per_node):
        _no(f"-M {test.memory_per_node!r} is not a size or a share", "write it like 2g or 75%")
    if test.memory_per_node.endswith("%") and not 0 < int(test.memory_per_node[:-1]) <= 95:
        _no(f"-M {test.memory_per_node}: a share is from 1% to 95%", "use 75%: the system needs the rest")
