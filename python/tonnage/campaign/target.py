"""Which storage is meant: directories, ``null:`` (or ``null:transfer=1ms``), ``memory:``, ``sim:knee=8,noise=20%``,
``rados://pool``, ``nfs://server/export/path``, ``s3://bucket/prefix``."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from tonnage import units
from tonnage.errors import RequestError
from tonnage.program_places import working_directory
from tonnage.records.line_types import Json
from tonnage.records.phase_specs import BucketSpec, Delays, ExportSpec, PoolSpec, TargetSpec
from tonnage.toml_documents import near_or_all

STORAGES_WITH_FILES = frozenset({"posix", "uring", "mmap", "mpiio"})


ModelSpec = Json
"""What the simulator is given (``crates/simulator/src/model.rs``)."""
Keys = dict[str, tuple[str, Callable[[str], Any]]]
"""Key as the user writes it → name in the specification, and how its value is read."""


@dataclass(frozen=True, slots=True)
class Target:
    """Describes the storage that a campaign's ``target`` names."""

    uri: str
    scheme: str
    """``path``, ``null``, ``memory``, ``sim``, ``rados``, ``nfs`` or ``s3``."""
    paths: tuple[Path, ...] = ()
    """Its devices: absolute directories; only for ``path``. Where more devices are asked for than directories given,
    one directory is used for several and is listed so many times: each device has its own scratch directory there."""
    models: tuple[ModelSpec, ...] = ()
    """ModelSpecs (``crates/simulator``), its devices; only for ``sim``. One model is used for all devices, as one
    directory is."""
    assign: tuple[int, ...] = ()
    """File i goes to the directory ``assign[i % len]``; empty: round robin."""
    names: tuple[Path, ...] = ()
    """Files named by the user, absolute: file i is the i-th. ``paths`` are then the directories they are in."""
    existing: str = "refuse"
    """What a write does where one of ``names`` is there."""
    keep: bool = False
    """Leave ``names`` at the end of the run."""
    keep_damaged: bool = False
    """Leave them where the last phase that read them found damage."""
    delays: Delays | None = None
    """How long each call waits; only for ``null``."""
    pool: PoolSpec | None = None
    """A PoolSpec (``crates/storage/src/target/pool.rs``) without its namespace; only for ``rados``."""
    export: ExportSpec | None = None
    """An ExportSpec (``crates/storage/src/target/export.rs``); only for ``nfs``."""
    bucket: BucketSpec | None = None
    """A BucketSpec (``crates/storage/src/target/bucket.rs``), its prefix without the run; only for ``s3``."""

    @property
    def keeps(self) -> bool:
        """Whether it keeps what is written, and so can be filled."""
        return self.scheme not in ("null", "sim")

    @property
    def path(self) -> Path | None:
        """The first of its directories."""
        return self.paths[0] if self.paths else None

    @property
    def name(self) -> str:
        """Short, for titles."""
        return ", ".join(dict.fromkeys(map(str, self.paths))) or self.uri

    def kind(self, storage: str) -> str:
        """The kind of storage in the records: the storage asked for, unless the URI itself is one."""
        return storage if self.scheme == "path" else self.scheme

    def spec(
        self,
        storage: str,
        direct: str,
        directories: Sequence[Path],
        seed: int,
        *,
        devices: int | None = None,
        device: int | None = None,
        run_id: str = "",
    ) -> TargetSpec:
        """What a launcher opens. ``directories`` are the scratch directories of a ``path``, of which only
        ``device`` is used, or the first ``devices`` (None: all)."""
        if self.models:
            model = self.models[(device or 0) if len(self.models) > 1 else 0]
            return cast("TargetSpec", {"kind": "sim", "seed": seed, **model})
        if self.pool is not None:
            return {"kind": "rados", "rados": {**self.pool, "namespace": f"tonnage-{run_id}"}}
        if self.export is not None:
            return {"kind": "nfs", "nfs": self.export, "run_id": run_id}
        if self.bucket is not None:
            prefix = "/".join(filter(None, (self.bucket["prefix"], f"tonnage-{run_id}")))
            return {"kind": "s3", "s3": {**self.bucket, "prefix": prefix}}
        if self.scheme != "path" or storage not in STORAGES_WITH_FILES:
            kind: TargetSpec = {"kind": storage if self.scheme == "path" else self.scheme}
            return {**kind, "delays": self.delays} if self.delays else kind
        spec: TargetSpec = {"kind": storage, "direct": direct}
        if self.names:
            names = [str(name) for name in self.names]
            named: TargetSpec = {"names": names, "existing": self.existing, "keep": self.keep, "run_id": run_id}
            # Striped ones, in which new files begin: one for each directory of names.
            nurseries = [str(directory) for directory in directories]
            return {**spec, **named, "nurseries": nurseries} if nurseries else {**spec, **named}
        if device is not None:
            return {**spec, "directories": [str(directories[device])]}
        spec["directories"] = [str(directory) for directory in directories[:devices]]
        return {**spec, "assign": list(self.assign)} if self.assign else spec

    def files_in(self, files: int, devices: int | None = None) -> list[int]:
        """How many of files 0…``files`` − 1 are in each of its directories."""
        if self.names:
            order: Sequence[int] = [self.paths.index(name.parent) for name in self.names[:files]]
        else:
            order = self.assign or range(len(self.paths[:devices]))
        whole, rest = divmod(files, len(order))
        counts = [0] * len(self.paths)
        for number, directory in enumerate(order):
            counts[directory] += whole + (number < rest)
        return counts


def parse_target(uris: str | Sequence[str]) -> Target:
    """The target that one URI, or a list of directories, names; RequestError if it cannot name one. Does not access the
    disk."""
    if isinstance(uris, str):
        return _parse_one(uris)
    found = [_parse_one(uri) for uri in uris]
    if len(found) == 1:
        return found[0]
    if all(target.scheme == "sim" for target in found):
        return Target(", ".join(uris), "sim", models=tuple(model for target in found for model in target.models))
    for target in found:
        if target.scheme != "path":
            raise RequestError(f"a list of targets holds directories, not {target.uri}; hint: give it alone")
    return Target(", ".join(uris), "path", tuple(path for target in found for path in target.paths))


def _parse_one(uri: str) -> Target:
    scheme, colon, rest = uri.partition(":")
    if colon and scheme == "null":
        return Target(uri, scheme, delays=cast("Delays", _parse_keys("null", rest, DELAY_KEYS)) or None)
    if colon and scheme == "memory":
        if rest:
            raise RequestError(f"{scheme}: takes nothing after the colon, not {rest!r}; hint: write {scheme}:")
        return Target(uri, scheme)
    if colon and scheme == "sim":
        return Target(uri, "sim", models=(parse_model(rest),))
    if colon and scheme == "rados":
        return Target(uri, scheme, pool=_parse_pool(rest))
    if colon and scheme == "nfs":
        return Target(uri, scheme, export=_parse_export(rest))
    if colon and scheme == "s3":
        return Target(uri, scheme, bucket=_parse_bucket(rest))
    if "\0" in uri:
        raise RequestError("a path cannot hold a null character; hint: give a directory")
    return Target(uri, "path", (Path(working_directory(), uri),))


def parse_model(text: str) -> ModelSpec:
    """``knee=8,plateau=2GB/s,noise=20%`` as a ModelSpec. ``name=SCRATCH`` is no part of it: runs of models with one
    name are of one storage, which became another."""
    model = _parse_keys("sim", text, {**MODEL_KEYS, "name": ("name", _model_name)})
    model.pop("name", None)
    return model


def _parse_pool(text: str) -> PoolSpec:
    """``//pool?object=4MiB&conf=/etc/ceph/ceph.conf&user=client.admin`` as a PoolSpec without its namespace. A message
    never repeats what may hold a key."""
    name, _, query = text.removeprefix("//").partition("?")
    if not text.startswith("//") or not _POOL.fullmatch(name):
        raise RequestError(
            "rados: names a pool and nothing in it, and users and keys are no part of that; hint: write "
            "rados://POOL, or rados://POOL?user=client.NAME&conf=FILE"
        )
    keys = _parse_keys("rados", query.replace("&", ","), POOL_KEYS)
    return cast("PoolSpec", {"pool": name, "object_bytes": 4 << 20, **keys})


def _parse_export(text: str) -> ExportSpec:
    """``//server/export/path?port=2049&rsize=1MiB`` as an ExportSpec."""
    place, _, query = text.removeprefix("//").partition("?")
    server, slash, path = place.partition("/")
    server = server.removeprefix("[").removesuffix("]")
    if not text.startswith("//") or not server or "@" in server or not path or "\0" in place:
        raise RequestError(
            "nfs: names a server and a directory that it exports, and no user; hint: write nfs://SERVER/PATH"
        )
    if server.count(":") == 1:
        raise RequestError("nfs: a port is no part of the server's name; hint: write nfs://SERVER/PATH?port=2049")
    keys = _parse_keys("nfs", query.replace("&", ","), EXPORT_KEYS)
    return cast("ExportSpec", {"server": server, "path": slash + path, **keys})


def _parse_bucket(text: str) -> BucketSpec:
    """``//bucket/prefix?endpoint=http://127.0.0.1:7070`` as a BucketSpec whose prefix is not the run's yet. A message
    never repeats what may hold a secret."""
    place, _, query = text.removeprefix("//").partition("?")
    name, _, prefix = place.partition("/")
    if not text.startswith("//") or not _BUCKET.fullmatch(name):
        raise RequestError(
            "s3: names a bucket, by two or more letters, digits and . _ -, and keys are never part of it; hint: write "
            "s3://BUCKET/PREFIX?endpoint=http://HOST:PORT"
        )
    prefix = prefix.strip("/")
    if prefix and not (_PREFIX.fullmatch(prefix) and {"", ".", ".."}.isdisjoint(prefix.split("/"))):
        raise RequestError("s3: a prefix holds letters, digits and . _ - in parts between slashes; hint: write another")
    given = _parse_keys("s3", query.replace("&", ","), BUCKET_KEYS)
    region = given.get("region") or _first_set("AWS_REGION", "AWS_DEFAULT_REGION") or "us-east-1"
    named = given.get("endpoint") or _endpoint(_first_set("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"))
    found = {
        "part_bytes": 8 << 20,
        # AWS's own names are hosts; of other services few have a name for each bucket.
        "path_style": named is not None,
        **given,
        "bucket": name,
        "prefix": prefix,
        "region": region,
        "endpoint": named or f"https://s3.{region}.amazonaws.com",
    }
    return cast("BucketSpec", found)


def _first_set(*names: str) -> str | None:
    return next((value for name in names if (value := os.environ.get(name))), None)


def _endpoint(text: str | None) -> str | None:
    if text is not None and not _ENDPOINT.fullmatch(text):
        raise RequestError("not the address of a service; hint: write it like http://127.0.0.1:7070")
    return text


def _part_size(text: str) -> int:
    size = units.parse_size(text)
    if not 5 << 20 <= size <= 5 << 30:
        raise RequestError("S3 takes parts of 5MiB to 5GiB; hint: give one of them")
    return size


def _plain(text: str) -> str:
    if not _PLAIN.fullmatch(text):
        raise RequestError("a name holds letters, digits and . _ -; hint: write another")
    return text


def _ceph_user(text: str) -> str:
    if not _CEPH_USER.fullmatch(text):
        raise RequestError("not the name of a Ceph user; hint: write it like client.admin; its key is in the keyring")
    return text


_POOL = re.compile(r"[^/@:=\0]+")
_CEPH_USER = re.compile(r"[a-z]+\.[^@:=\0]+")
_KEY = re.compile(r"[a-z_-]{1,24}")
"""What may be a mistyped name, and is no secret."""
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,254}")
_PREFIX = re.compile(r"[A-Za-z0-9._/-]{1,512}")
_PLAIN = re.compile(r"[A-Za-z0-9._-]{1,128}")
_ENDPOINT = re.compile(r"https?://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?(/[A-Za-z0-9._/-]*)?")


def _parse_keys(scheme: str, text: str, keys: Keys) -> dict[str, Any]:
    """``key=value,key=value`` under the names that ``keys`` gives them."""
    model: dict[str, Any] = {}
    for part in filter(None, text.split(",")):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if key not in keys:
            named = repr(key) if _KEY.fullmatch(key) else "such key"
            raise RequestError(f"{scheme}: has no {named}; hint: {near_or_all(key, keys)}")
        if not equals or not value:
            raise RequestError(f"{scheme}: {key} has no value; hint: write {key}=…")
        name, parse = keys[key]
        if name in model:
            raise RequestError(f"{scheme}: {key} is given twice; hint: give it once")
        try:
            model[name] = parse(value)
        except RequestError as error:
            raise RequestError(f"{scheme}: {key}: {error}") from None
    return model


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 2**31):
        raise RequestError(f"{text!r} is not a whole number above 0; hint: write it like 8")
    return int(text)


def _model_name(text: str) -> str:
    if not _MODEL_NAME.fullmatch(text):
        raise RequestError("a name holds letters, digits and . _ -; hint: write another")
    return text


def _port(text: str) -> int:
    port = _count(text)
    if port > 65535:
        raise RequestError(f"{text} is no port; hint: write a number up to 65535")
    return port


def _call_size(text: str) -> int:
    size = units.parse_size(text)
    if not 1024 <= size <= 1 << 30:
        raise RequestError(f"{text} is not between 1KiB and 1GiB; hint: write it like 1MiB")
    return size


def _timeout(text: str) -> int:
    ns = units.parse_time(text)
    if ns == 0:
        raise RequestError("a server needs some time to answer; hint: write it like 60s")
    return ns


def _object_size(text: str) -> int:
    size = units.parse_size(text)
    if not size:
        raise RequestError("an object has at least one byte; hint: write it like 4MiB")
    return size


def _number_of_task(text: str) -> int:
    return 0 if text == "0" else _count(text)


def _knee(text: str) -> int | None:
    return None if text == "none" else _count(text)


def _rate_or_none(text: str) -> int | None:
    return None if text == "none" else units.parse_rate(text)


def _number(text: str) -> float:
    """A factor or a share of any size or sign: what is sensible, the simulator checks."""
    percent = text.endswith("%")
    try:
        value = float(text.removesuffix("%")) / (100 if percent else 1)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise RequestError(f"{text!r} is not a number; hint: write it like 20% or 0.2")
    return value


def _yes_or_no(text: str) -> bool:
    if text not in ("true", "false", "yes", "no"):
        raise RequestError(f"{text!r} is not yes or no; hint: write yes or no")
    return text in ("true", "yes")


def _shape(text: str) -> str:
    if text not in ("hinge", "smooth", "linear"):
        raise RequestError(f"{text!r} is not a shape; hint: write hinge, smooth or linear")
    return text


def _aggregators(text: str) -> tuple[int, float]:
    """``2:20%``: how many, and the share of the throughput that the way to them costs; ``2``: none of it."""
    count, _, exchange = text.partition(":")
    return _count(count), _number(exchange) if exchange else 0.0


def _curve(text: str) -> list[tuple[int, float]]:
    """``4:50%/16:50%/20:100%``: numbers of tasks, and the share of the plateau at each."""
    points = [point.partition(":") for point in text.split("/")]
    if not all(colon for _, colon, _ in points):
        raise RequestError(f"{text!r} has no share for each number of tasks; hint: write it like 4:50%/16:50%/20:100%")
    return [(_count(tasks), _number(share)) for tasks, _, share in points]


_MODEL_NAME = re.compile(r"[\w.-]+")
MODEL_KEYS: Keys = {
    "knee": ("knee", _knee),
    "plateau": ("plateau_bytes_per_s", _rate_or_none),
    "read-plateau": ("read_plateau_bytes_per_s", units.parse_rate),
    "node-plateau": ("node_plateau_bytes_per_s", units.parse_rate),
    "read-node-plateau": ("read_node_plateau_bytes_per_s", units.parse_rate),
    "straggler-node": ("straggler_node", _number),
    "operations": ("operations_per_s", _count),
    "call": ("call_ns", units.parse_time),
    "task-speed": ("task_bytes_per_s", units.parse_rate),
    "stripe": ("stripe_bytes", units.parse_size),
    "stripe-gain": ("stripe_gain", _number),
    "shape": ("shape", _shape),
    "decline": ("decline", _number),
    "creep": ("creep", _number),
    "curve": ("curve", _curve),
    "queues": ("queues", _count),
    "queue-demand": ("queue_demand", _number),
    "contention": ("contention", _number),
    "coherency": ("coherency", _number),
    "power": ("power", _number),
    "dip": ("dip", _number),
    "dip-from": ("dip_from", _count),
    "dip-to": ("dip_to", _count),
    "odd-loss": ("odd_loss", _number),
    "aggregators": ("aggregators", _aggregators),
    "noise": ("noise", _number),
    "noise-growth": ("noise_growth", _number),
    "tails": ("tails", _count),
    "correlation": ("correlation", _number),
    "outliers": ("outliers", _number),
    "outlier-speed": ("outlier_speed", _number),
    "day": ("day", _number),
    "drift": ("drift", _number),
    "step": ("step", _number),
    "step-at": ("step_at_ns", units.parse_time),
    "jitter": ("jitter", _number),
    "warmup": ("warmup_ns", units.parse_time),
    "straggler": ("straggler", _number),
    "fsync": ("fsync_ns", units.parse_time),
    "cache": ("cache_bytes", units.parse_size),
    "cache-speed": ("cache_bytes_per_s", units.parse_rate),
    "direct": ("direct", _yes_or_no),
    "burst": ("burst_bytes", units.parse_size),
    "burst-speed": ("burst_bytes_per_s", units.parse_rate),
    "stall-every": ("stall_every_ns", units.parse_time),
    "stall": ("stall_ns", units.parse_time),
    "fault-every": ("fault_every", _count),
    "damage-every": ("damage_every", _count),
    "full-after": ("full_after_bytes", units.parse_size),
    "snapshot": ("snapshot_ns", units.parse_time),
    "names": ("names_per_s", _count),
    "lock-every": ("lock_every_ns", units.parse_time),
    "lock": ("lock_ns", units.parse_time),
    "reader-cost": ("reader_cost", _number),
    "copy": ("copy_bytes", units.parse_size),
    "copy-cpu": ("copy_cpu_ns", units.parse_time),
    "cpus": ("cpus", _count),
    "seed": ("seed", _count),
}
"""Key in the URI → name in the ModelSpec (``crates/simulator/src/model.rs``), and how its value is read."""

POOL_KEYS: Keys = {
    "object": ("object_bytes", _object_size),
    "conf": ("conf", str),
    "user": ("user", _ceph_user),
    "write_once": ("write_once", _yes_or_no),
    "timeout": ("timeout_ns", _timeout),
}
"""Key after ``rados://POOL?`` → name in the ``PoolSpec`` of ``crates/storage/src/target/pool.rs``, and how its value is
read."""

EXPORT_KEYS: Keys = {
    "port": ("port", _port),
    "mountport": ("mount_port", _port),
    "rsize": ("rsize", _call_size),
    "wsize": ("wsize", _call_size),
}
"""Key after ``nfs://SERVER/PATH?`` → name in the ``ExportSpec`` of ``crates/storage/src/target/export.rs``, and how its
value is read."""

BUCKET_KEYS: Keys = {
    "endpoint": ("endpoint", _endpoint),
    "region": ("region", _plain),
    "part": ("part_bytes", _part_size),
    "path_style": ("path_style", _yes_or_no),
    "profile": ("profile", _plain),
}
"""Key after ``s3://BUCKET?`` → name in the ``BucketSpec`` of ``crates/storage/src/target/bucket.rs``, and how its value
is read."""

DELAY_KEYS: Keys = {
    "create": ("create_ns", units.parse_time),
    "transfer": ("transfer_ns", units.parse_time),
    "sync": ("sync_ns", units.parse_time),
    "close": ("close_ns", units.parse_time),
    "task": ("task", _number_of_task),
}
"""Key after ``null:`` → name in the ``Delays`` of ``crates/storage/src/target/mod.rs``, and how its value is read."""
