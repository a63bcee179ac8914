"""From a test to the campaign that measures it, and the striping that it asks for, by tools of Lustre and BeeGFS."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Sequence
from pathlib import Path

from tonnage.campaign.campaign_file import build_campaign
from tonnage.campaign.model import Campaign
from tonnage.compat.ior.detail_files import operations_kept
from tonnage.compat.ior.file_names import file_names, parents
from tonnage.compat.ior.options import DEFAULTS, Parameters, spellings
from tonnage.compat.ior.parameters import node_memory
from tonnage.compat.ior.validate import STORAGES, hints_of
from tonnage.compat.measure import Ranks
from tonnage.errors import RequestError
from tonnage.machine.mounts import mount_of
from tonnage.records.line_types import Manifest
from tonnage.toml_documents import read_text

_STRIPED = ("POSIX", "AIO", "URING")
"""Backends that make their files as POSIX does."""
_TOOLS = {"Lustre": ("lfs",), "BeeGFS": ("beegfs", "beegfs-ctl")}


def stripe_of(test: Parameters) -> dict[str, object]:
    """The ``[stripe]`` of a test; empty where it asks for none."""
    wanted = {
        "count": test.beegfs_targets if test.beegfs_targets != -1 else test.lustre_count or None,
        "size": test.beegfs_chunk if test.beegfs_chunk != -1 else test.lustre_size or None,
        "start": test.lustre_start if test.lustre_start != -1 else None,
        "pool": test.lustre_pool or None,
    }
    given = {key: value for key, value in wanted.items() if value is not None}
    return {"stripe": given} if given and test.write_file and test.api in _STRIPED else {}


def refuse_striping(test: Parameters) -> None:
    """RequestError where the files of a test cannot be striped as it asks."""
    if not stripe_of(test):
        return
    lustre = _given(test, "lustre_")
    beegfs = _given(test, "beegfs_")
    if lustre and beegfs:
        raise RequestError(f"{lustre} and {beegfs} are for two file systems; hint: keep those of yours")
    option, system = (lustre, "Lustre") if lustre else (beegfs, "BeeGFS")
    for directory in parents(test):
        mount = mount_of(directory if directory.is_dir() else directory.parent)
        if mount is None or mount.file_system != system.lower():
            found = mount.file_system if mount else "an unknown file system"
            raise RequestError(f"{option}: {directory} is on {found}, not on {system}; hint: leave {option} out")
    if not any(map(shutil.which, _TOOLS[system])):
        tools = " or ".join(_TOOLS[system])
        raise RequestError(f"{option}: {tools} is not installed here; hint: install {system}'s client tools")
    if test.use_existing_test_file:
        for name in file_names(test, 0 if test.multi_file else None):
            if Path(name).exists():
                raise RequestError(f"{option}: {name} is there and keeps its striping; hint: leave -E or {option} out")


def problems(manifest: Manifest) -> Sequence[str]:
    """Why the files of a run are not striped as they were to be."""
    found: Sequence[str] = (manifest["target"].get("stripe") or {}).get("problems", ())
    return found


def _given(test: Parameters, system: str) -> str:
    """The first option of a file system that is given."""
    for name, found in spellings().items():
        if name.startswith(system) and getattr(test, name) != getattr(DEFAULTS, name):
            return f"--{found.long}"
    return ""


def campaign_of(test: Parameters, seed: int, repetition: int | None = None) -> Campaign:
    """The campaign of a validated test; with ``-m`` of one ``repetition``, which has files of its own."""
    several = test.repetitions if repetition is None else 1
    data: dict[str, object] = {
        "name": "ior",
        "order": "given",
        "seed": seed,
        # IOR goes on after damaged data, and ends where an operation fails.
        "on_error": "continue" if test.check_read or test.check_write else "stop",
        "repeat": {"count": several},
        "workload": _workloads(test),
        **_target_keys(test, repetition),
    }
    if test.save_per_op_data_csv:
        data["keep_operations"] = operations_kept(test)
    if test.inter_test_delay:
        data["pause_ns"] = round(test.inter_test_delay * 1e9)
    if test.max_time_duration:
        data["budget"] = {"time_ns": test.max_time_duration * 60 * 10**9}
    return build_campaign(data, "ior", stored=True)


def seed_of(test: Parameters) -> int:
    """``-G`` if it is given: a later ``ior -r -R`` with the same one expects the same data."""
    return abs(test.set_time_stamp_signature) or secrets.randbelow(2**32)


def _target_keys(test: Parameters, repetition: int | None) -> dict[str, object]:
    if test.api == "DUMMY":
        return {"target": _null(test)}
    names = file_names(test, repetition)
    existing = "overwrite" if test.use_existing_test_file else "ours"
    return {
        "target": str(Path(names[0]).parent),
        "file_names": names,
        "existing": existing,
        "keep": bool(test.keep_file),
        "keep_damaged": bool(test.keep_file_with_error),
        **stripe_of(test),
    }


def _null(test: Parameters) -> str:
    delays = {"create": test.delay_create, "transfer": test.delay_xfer, "sync": test.delay_sync,
              "close": test.delay_close}  # fmt: skip
    given = [f"{name}={delay}us" for name, delay in delays.items() if delay]
    return "null:" + ",".join([*given, *(["task=0"] if given and test.delay_only_rank0 else [])])


def _workloads(test: Parameters) -> list[dict[str, object]]:
    shared: dict[str, object] = {
        "kind": "stream",
        "tasks": test.num_tasks,
        "transfer_size": test.transfer_size,
        "block_size": test.block_size,
        "segments": test.segment_count,
        "access": ("sequential", "random", "random-blocks")[min(test.random_offset, 2)],
        "layout": "file-per-task" if test.file_per_proc else "shared",
        "storage": STORAGES[test.api],
        "direct": "yes" if test.odirect and test.api != "DUMMY" else "no",
        "cache": "keep",
        **_limits(test),
        **_hog(test),
        **_manner(test),
    }
    if STORAGES[test.api] == "uring":
        shared["queue_depth"] = test.max_pending
    reading = {"op": "read", **shared, **_source(test)}
    found: list[dict[str, object]] = []
    if test.write_file:
        sync = "fsync-each" if test.fsync_per_write else "fsync" if test.fsync else "none"
        found.append({"name": "write", "op": "write", "sync": sync, "check_written": bool(test.check_write), **shared,
                      **({"prefill": test.random_prefill} if test.random_prefill else {})})  # fmt: skip
    elif test.check_write:
        found.append({"name": "check", "verify": True, **reading})
    if test.read_file or test.check_read:
        found.append({"name": "read", "verify": bool(test.check_read), **reading, **_iterations(test)})
    return found


def _limits(test: Parameters) -> dict[str, object]:
    limits: dict[str, object] = {}
    if test.deadline_for_stonewalling:
        limits["time_limit_ns"] = test.deadline_for_stonewalling * 10**9
        limits["wear_out"] = bool(test.stone_walling_wear_out)
    if test.min_time_duration:
        limits["min_time_ns"] = test.min_time_duration * 10**9
    if test.stone_walling_wear_out_iterations:
        limits["operations"] = test.stone_walling_wear_out_iterations
    if test.inter_io_delay:
        limits["think_ns"] = test.inter_io_delay * 1000
    return limits


def _manner(test: Parameters) -> dict[str, object]:
    """How the calls are made, where that is not as usual."""
    manner: dict[str, object] = {}
    if test.intra_test_barriers:
        manner["barriers"] = True
    if test.single_xfer_attempt:
        manner["single_attempt"] = True
    if test.random_offset and test.random_offset_seed != -1:
        manner["order_seed"] = abs(test.random_offset_seed)
    if test.random_offset > 1 and (spread := _spread(test)):
        manner["spread"] = spread
    if test.rangelocks and test.api == "POSIX":
        manner["range_locks"] = True
    if test.api == "MMAP":
        pattern = ["random" if test.random_offset else "sequential"] if test.advise_pattern else []
        manner["advice"] = pattern + ["dont-need"] * bool(test.advise_dont_need)
    if test.api == "MPIIO":
        manner |= _mpiio(test)
    return manner


def _mpiio(test: Parameters) -> dict[str, object]:
    """What only the backend MPIIO has."""
    found: dict[str, object] = {"collective": bool(test.collective), "preallocate": bool(test.mpiio_preallocate)}
    if test.mpiio_view:
        found["file_view"] = "strided" if test.mpiio_strided else "blocks"
    if hints := hints_of(test):
        found["hints"] = [f"{name}={value}" for name, value in hints.items()]
    return found


def _spread(test: Parameters) -> int | None:
    """Bytes of the files that are there and stay: IOR draws blocks from all of a file. None where there are none."""
    if test.api == "DUMMY" or (test.write_file and not test.use_existing_test_file):
        return None
    try:
        sizes = [Path(name).stat().st_size for name in file_names(test, 0 if test.multi_file else None)]
    except OSError:
        return None
    # What the test itself would write is written anyhow.
    whole = test.block_size * test.segment_count * (1 if test.file_per_proc else test.num_tasks)
    found = max(min(sizes), whole) if test.write_file else min(sizes)
    return found // test.block_size * test.block_size or None


def _hog(test: Parameters) -> dict[str, object]:
    size = test.memory_per_task * test.num_tasks or (node_memory(test) if test.memory_per_node else 0)
    return {"hog": size} if size else {}


def _source(test: Parameters) -> dict[str, object]:
    if test.reorder_tasks:
        return {"source": "shift", "shift": _shift(test)}
    if not test.reorder_tasks_random:
        return {}
    seed = abs(test.reorder_tasks_random_seed)
    return {"source": "random", **({"source_seed": seed} if seed else {})}


def _shift(test: Parameters) -> int:
    """Tasks between a task and the one whose data it reads: over nodes as IOR counts, `-Q` nodes further on."""
    ranks = Ranks.here()
    several = ranks.nodes(test.num_tasks)
    if several < 2:
        return test.task_per_node_offset
    nodes = min(test.task_per_node_offset, several - 1)
    return nodes * ranks.on_first(test.num_tasks) if ranks.in_blocks else nodes


def _iterations(test: Parameters) -> dict[str, object]:
    """A read of what an earlier, stonewalled write left: as many transfers as its status file says."""
    if not test.stone_walling_status_file or test.write_file:
        return {}
    try:
        text = read_text(Path(test.stone_walling_status_file)).split()
        return {"operations": int(text[0])}
    except (OSError, ValueError, IndexError):
        raise RequestError(
            f"stoneWallingStatusFile: {test.stone_walling_status_file} does not hold a number of transfers; "
            "hint: give the file of the write, made with -O stoneWallingWearOut=1"
        ) from None
