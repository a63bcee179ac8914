"""A test's parameters under the names under which IOR prints them."""

from __future__ import annotations

import platform
import re

from tonnage.compat.ior.number_format import human
from tonnage.compat.ior.options import Parameters
from tonnage.machine.host_facts import memory

Value = str | int
_PACKETS = {"t": 0, "o": 1, "i": 2, "r": 3}


def option_lines(test: Parameters) -> list[tuple[str, Value]]:
    """Writes the section Options."""
    lines: list[tuple[str, Value]] = [
        ("api", test.api),
        ("apiVersion", "0.5" if test.api == "DUMMY" else ""),
        ("test filename", test.test_file),
        ("access", "file-per-process" if test.file_per_proc else "single-shared-file"),
        ("type", "collective" if test.collective else "independent"),
        ("segments", test.segment_count),
        ("ordering in a file", "random" if test.random_offset else "sequential"),
        *_ordering(test),
        ("nodes", max(test.num_nodes, 1)),
        ("tasks", test.num_tasks),
        ("clients per node", test.num_tasks if test.tasks_on_node_0 == -1 else test.tasks_on_node_0),
        *([("memoryPerTask", human(test.memory_per_task))] if test.memory_per_task else []),
        *([("memoryPerNode", human(node_memory(test)))] if test.memory_per_node else []),
        ("memoryBuffer", "CPU"),
        ("dataAccess", "CPU"),
        ("GPUDirect", "0"),
        ("repetitions", test.repetitions),
        ("xfersize", human(test.transfer_size)),
        ("blocksize", human(test.block_size)),
        ("aggregate filesize", human(aggregate_bytes(test))),
    ]
    lines += [("dryRun", test.dry_run)] if test.dry_run else []
    lines += [("verbose", test.verbose)] if test.verbose else []
    if test.deadline_for_stonewalling:
        lines.append(("stonewallingTime", test.deadline_for_stonewalling))
        lines.append(("stoneWallingWearOut", test.stone_walling_wear_out))
    return lines


def _ordering(test: Parameters) -> list[tuple[str, Value]]:
    offset: tuple[str, Value] = ("task offset", test.task_per_node_offset)
    if test.reorder_tasks:
        return [("ordering inter file", "constant task offset"), offset]
    if test.reorder_tasks_random:
        seed: tuple[str, Value] = ("reorder random seed", test.reorder_tasks_random_seed)
        return [("ordering inter file", "random task offset"), offset, seed]
    return [("ordering inter file", "no tasks offsets")]


def aggregate_bytes(test: Parameters) -> int:
    """Returns the bytes of all files after one pass."""
    return test.block_size * test.segment_count * test.num_tasks


def node_memory(test: Parameters) -> int:
    """Returns the bytes of ``-M``: a size, or a share of the node's memory."""
    from tonnage.compat.ior.parse import whole_number

    if share := re.fullmatch(r"(\d+)\s*%", test.memory_per_node):
        return (memory("MemTotal") or 0) // 100 * int(share[1])
    return whole_number(test.memory_per_node, "-M")


def parameter_lines(test: Parameters, identifier: int) -> list[tuple[str, Value]]:
    """Writes the section Parameters: JSON, and text from ``-vvv`` on."""
    facts = platform.uname()
    node = re.sub(r"(?<=.)\d+\Z", "", facts.node)
    return [
        ("testID", identifier),
        ("refnum", test.reference_number),
        ("api", test.api),
        ("platform", test.platform or f"{node}({facts.system})"),
        ("testFileName", test.test_file),
        ("deadlineForStonewall", test.deadline_for_stonewalling),
        ("stoneWallingWearOut", test.stone_walling_wear_out),
        ("maxTimeDuration", test.max_time_duration),
        ("outlierThreshold", test.outlier_threshold),
        ("options", "(null)"),
        ("dryRun", test.dry_run),
        ("nodes", max(test.num_nodes, 1)),
        ("memoryPerTask", test.memory_per_task),
        ("memoryPerNode", node_memory(test) if test.memory_per_node else 0),
        ("tasksPerNode", test.num_tasks if test.tasks_on_node_0 == -1 else test.tasks_on_node_0),
        ("repetitions", test.repetitions),
        ("multiFile", test.multi_file),
        # A fraction of a second stays one: IOR would print 0.
        ("interTestDelay", int(test.inter_test_delay)),
        ("fsync", test.fsync),
        ("fsyncperwrite", test.fsync_per_write),
        ("useExistingTestFile", test.use_existing_test_file),
        ("uniqueDir", test.unique_dir),
        ("singleXferAttempt", test.single_xfer_attempt),
        ("readFile", test.read_file),
        ("writeFile", test.write_file),
        ("filePerProc", test.file_per_proc),
        ("reorderTasks", test.reorder_tasks),
        ("reorderTasksRandom", test.reorder_tasks_random),
        ("reorderTasksRandomSeed", test.reorder_tasks_random_seed),
        ("randomOffset", test.random_offset),
        ("checkWrite", test.check_write),
        ("checkRead", test.check_read),
        ("dataPacketType", _PACKETS.get(test.buffer_type[:1], 0)),
        ("keepFile", test.keep_file),
        ("keepFileWithError", test.keep_file_with_error),
        ("warningAsErrors", test.warning_as_errors),
        ("verbose", test.verbose),
        ("data packet type", test.buffer_type[:1] or "g"),
        ("setTimeStampSignature/incompressibleSeed", test.set_time_stamp_signature),
        ("collective", test.collective),
        ("segmentCount", test.segment_count),
        ("transferSize", test.transfer_size),
        ("blockSize", test.block_size),
    ]
