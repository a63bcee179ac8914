"""BeeGFS: targets and their nodes by ``beegfs`` (version 8) or ``beegfs-ctl`` (version 7), the client's caches where
its module shows them."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

from tonnage.errors import RequestError
from tonnage.filesystems.file_holders import Holding, Looked, striped
from tonnage.filesystems.mounted_path import Facts, Gathering, MountedPath
from tonnage.filesystems.servers import Answer, Device, ObservedPath, several
from tonnage.filesystems.striping import Striped, Striping, by_tool
from tonnage.machine.mounts import Mount
from tonnage.machine.site_tools import ToolError
from tonnage.units import parse_size

_PROC = Path("/proc/fs/beegfs")
_MOST_TEXT = 4096
_CLIENT = {
    "tuneFileCacheType": "cache_type",
    "tuneFileCacheBufSize": "cache_bytes_per_file",
    "tuneNumWorkers": "workers",
    "connMaxInternodeNum": "connections",
    "connRDMABufNum": "rdma_buffers",
}


def facts(mounted: MountedPath) -> Facts:
    """Returns ``layout`` of new files in the directory (keys of :func:`of_entry`) and, of the client, ``cache_type``,
    ``cache_bytes_per_file``, ``connections`` …"""
    found = Gathering()
    found.ask("layout", lambda: of_entry(entry(mounted, mounted.path)[:_MOST_TEXT]))
    client = found.ask("client", lambda: of_client(_configuration()))
    if client is not None:
        del found.facts["client"]
        found.facts |= client
    return found.as_dict()


def entry(mounted: MountedPath, path: str) -> str:
    """What the tool that is there says of a file or directory. ToolError."""
    if shutil.which("beegfs") is not None:
        return mounted.tool("beegfs", "entry", "info", "--retro", path)
    return mounted.tool("beegfs-ctl", f"--mount={mounted.mount.mount_point}", "--getentryinfo", path)


def tool_name(mount: Mount) -> str:
    """Returns the name of the query in messages."""
    return "beegfs entry info" if shutil.which("beegfs") else f"beegfs-ctl --getentryinfo on {mount.mount_point}"


def of_entry(text: str) -> Facts:
    """``chunk_size``, ``num_targets``, ``pattern`` and ``pool`` as BeeGFS spells them, and the text."""
    found: Facts = {"text": text.strip()}
    for name, words in (
        ("pattern", r"\+ Type:\s*(\S+)"),
        ("chunk_size", r"\+ Chunksize:\s*(\S+)"),
        ("num_targets", r"\+ Number of storage targets: desired:\s*([0-9]+)"),
        ("pool", r"\+ Storage Pool:\s*(\S+)"),
    ):
        if match := re.search(words, text):
            found[name] = int(match[1]) if name == "num_targets" else match[1]
    return found


def entry_targets(text: str) -> list[tuple[str, str]]:
    """Returns (target, node) of ``+ 101 @ storage01 [ID: 1]``, as both versions print a file's."""
    return re.findall(r"^\s*\+\s+([0-9]+)\s+@\s+(\S+)\s+\[ID:", text, re.MULTILINE)


def entry_pool(text: str) -> str | None:
    """Returns the number of a directory's storage pool."""
    match = re.search(r"^\+ Storage Pool:\s*([0-9]+)", text, re.MULTILINE)
    return match[1] if match else None


def table(text: str) -> list[dict[str, str]]:
    """Rows of a table of version 8 by the names in its first line; no cell has blanks."""
    lines = [line.split() for line in text.splitlines() if line.strip()]
    return [dict(zip(lines[0], line, strict=False)) for line in lines[1:]] if lines else []


def holding(text: str, size: int) -> Holding | None:
    """Where a file of ``size`` bytes is; None where the tool names no targets (a mirrored file has groups of them)."""
    targets = entry_targets(text)
    unit = _chunk_bytes(text)
    if not targets or unit is None:
        return None
    return Holding(striped([target for target, _ in targets], size, unit))


def holders(mounted: MountedPath, files: Sequence[tuple[str, int]]) -> Looked:
    """The targets of each file, a question each: as many of them, evenly chosen, as the time allows."""
    until = time.monotonic() + mounted.timeout_s
    held: dict[str, Holding] = {}
    servers: dict[str, str | None] = {}
    for path, size in _evenly(files):
        if time.monotonic() > until:
            break
        text = entry(mounted, path)
        servers |= dict(entry_targets(text))
        if (found := holding(text, size)) is not None:
            held[path] = found
    return Looked(holdings=held, devices=tuple(servers.items()), how=(f"{tool_name(mounted.mount)}: targets",))


def of_client(text: str) -> Facts:
    """What the client's module shows of its configuration: ``tuneFileCacheType = buffered``."""
    values = dict(re.findall(r"^(\w+)\s*=\s*(\S+)\s*$", text, re.MULTILINE))
    return {
        name: int(values[key]) if values[key].isdecimal() else values[key]
        for key, name in _CLIENT.items()
        if key in values
    }


def _configuration() -> str:
    clients = sorted(_PROC.glob("*/config"))
    if len(clients) != 1:
        raise LookupError(f"the kernel shows {len(clients)} BeeGFS clients")
    return clients[0].read_text(encoding="utf-8", errors="replace")


def _chunk_bytes(text: str) -> int | None:
    match = re.search(r"\+ Chunksize:\s*([0-9]+[KMGkmg]?)", text)
    try:
        return parse_size(match[1]) if match else None
    except RequestError:
        return None


def _evenly(files: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """In an order of which every beginning is spread over all of them."""
    step = max(len(files), 1)
    order: list[tuple[str, int]] = []
    seen: set[int] = set()
    while len(order) < len(files):
        for number in range(0, len(files), step):
            if number not in seen:
                seen.add(number)
                order.append(files[number])
        step = max(step // 2, 1)
    return order


def served_by(observed: ObservedPath) -> Answer:
    """The targets of a file; of a directory, and of what is mirrored, all those that it may be on."""
    notes: list[str] = []
    new = shutil.which("beegfs") is not None
    try:
        found, pool = _of_file(observed, new, notes) if observed.answers else ([], None)
        if not found:
            found = _all_new(observed, pool) if new else _all_old(observed)
            notes.append(f"{'beegfs target list' if new else 'beegfs-ctl --listtargets'}: any target may hold it")
    except ToolError as error:
        return Answer(
            how=tuple(notes),
            problem=f'{error}; hint: give its server holds = ["{observed.mount.mount_point}"] in tonnage.toml',
        )
    servers = several([device.server for device in found])
    problem = None if servers else "BeeGFS lists no storage targets; hint: ask `beegfs health check`"
    return Answer(servers=servers, devices=tuple(found), striped=len(found) > 1, how=tuple(notes), problem=problem)


def _of_file(observed: ObservedPath, new: bool, notes: list[str]) -> tuple[list[Device], str | None]:
    text = entry(observed, observed.path)
    found = [Device(target, observed.spelled(node)) for target, node in entry_targets(text)]
    if found:
        targets = ", ".join(device.name for device in found)
        notes.append(f"{'beegfs entry info' if new else 'beegfs-ctl --getentryinfo'}: on target {targets}")
    return found, entry_pool(text)


def _all_new(observed: ObservedPath, pool: str | None) -> list[Device]:
    targets = [row for row in table(observed.tool("beegfs", "target", "list")) if row.get("TYPE") == "storage"]
    nodes = {row.get("ID"): row.get("ALIAS") for row in table(observed.tool("beegfs", "node", "list"))}
    return [
        Device(row["ID"].partition(":")[2], observed.spelled(nodes.get(row.get("NODE"))))
        for row in targets
        if pool is None or row.get("STORAGE_POOL") in (f"s:{pool}", None)
    ]


def _all_old(observed: ObservedPath) -> list[Device]:
    """Rows ``101   storage01 [ID: 1]``; a node's name comes last where a word for its kind comes first."""
    words = (f"--mount={observed.mount.mount_point}", "--listtargets", "--nodetype=storage", "--longnodes")
    rows = re.findall(r"^\s*([0-9]+)\s+(?:.*\s)?(\S+)\s+\[ID:", observed.tool("beegfs-ctl", *words), re.MULTILINE)
    return [Device(target, observed.spelled(node)) for target, node in rows]


def stripe(directory: Path, wanted: Striping) -> Striped:
    """By the tool of the version that is there."""
    if wanted.osts:
        return Striped(str(directory), None, "BeeGFS does not pin a directory to storage targets; use a pool", {})
    if wanted.start is not None:
        return Striped(str(directory), None, "BeeGFS does not choose the target on which a file begins", {})
    if shutil.which("beegfs"):
        asked = ["beegfs", "entry", "info", "--retro"]
        return by_tool(directory, ["beegfs", *stripe_arguments(wanted)], asked, of_entry)
    asked = ["beegfs-ctl", "--getentryinfo"]
    return by_tool(directory, ["beegfs-ctl", *stripe_arguments7(wanted)], asked, of_entry)


def stripe_arguments(wanted: Striping) -> list[str]:
    """Returns the arguments of ``beegfs``, version 8."""
    return ["entry", "set", *_stripe_options(wanted, "--num-targets", "--chunk-size", "--pool")]


def stripe_arguments7(wanted: Striping) -> list[str]:
    """Returns the arguments of ``beegfs-ctl``, version 7."""
    return ["--setpattern", *_stripe_options(wanted, "--numtargets", "--chunksize", "--storagepoolid")]


def _stripe_options(wanted: Striping, count: str, size: str, pool: str) -> list[str]:
    # BeeGFS takes as many targets as there are where more are asked for.
    number = None if wanted.count is None else 65535 if wanted.count == -1 else wanted.count
    values = ((count, number), (size, wanted.size_bytes), (pool, wanted.pool))
    return [f"{option}={value}" for option, value in values if value is not None]
