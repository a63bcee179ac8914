"""``training``: accelerators that are fed with samples, as DLIO and MLPerf Storage have it."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from tonnage.campaign.kinds.kind import MOST_TRANSFER, Factors, Setting, Transfers, WorkloadSection, scaled
from tonnage.campaign.kinds.stream import Cache, Direct
from tonnage.campaign.target import Target
from tonnage.errors import RequestError
from tonnage.field_types import Count, Length, Size, Sweep, Time, size_or_name
from tonnage.published.training_models import checkpoint_sizes, training_models
from tonnage.records.phase_specs import Delays
from tonnage.toml_documents import refuse, time_field
from tonnage.units import format_size, format_time, plural

PHASE = "train"
DATASET = 4 << 30
"""Bytes of the data set where a campaign says nothing and the target has room."""
_FREE_SHARE = 10
"""… else so much of what is free, as a divisor."""
_STEP = 4096
"""Samples begin at multiples of it (``crates/workload/src/training.rs``)."""
_LEAST_EVERY = 2
_OF_MODEL = (
    "sample_size",
    "sample_spread",
    "samples_per_file",
    "batch",
    "compute_ns",
    "shuffle",
)
"""Keys that make another model of it where they are given as well."""

Shuffle = Literal["no", "files", "samples"]


def _published(name: Any) -> Any:
    if name not in training_models():
        raise ValueError(f"there is no model {name!r}; hint: they are {', '.join(training_models())}")
    return name


_MODEL = {"enum": list(training_models())}
Model = Annotated[str, BeforeValidator(_published), WithJsonSchema(_MODEL)]
_A_CHECKPOINT = size_or_name(tuple(checkpoint_sizes()), "published checkpoint")
CheckpointSize = Annotated[int | str, _A_CHECKPOINT[0], _A_CHECKPOINT[1]]


@dataclass(frozen=True, slots=True)
class Dataset:
    """What distinguishes the files of one training from those of another."""

    files: int
    samples_per_file: int
    sample_size: int
    sample_spread: int
    direct: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSetting(Setting):
    """Every factor of a training. ``tasks`` are all readers. Sizes in bytes."""

    IS_ONE_PROCESS = True

    kind: str = "training"
    model: str | None
    """The published one, where none of its keys was given otherwise."""
    accelerators: int
    readers: int
    batch: int
    prefetch: int
    compute_ns: int
    dataset_files: int
    samples_per_file: int
    sample_size: int
    sample_spread: int
    shuffle: str
    steps: int | None
    epochs: int
    transfer_size: int
    cache: str
    checkpoint_every: int | None = None
    """Steps from one checkpoint to the next; None: none is written."""
    checkpoint_bytes: int | None = None
    checkpoint_writers: int | None = None
    """None: one for each accelerator."""

    @property
    def phases(self) -> tuple[str, ...]:
        return (PHASE,)

    @property
    def dataset(self) -> Dataset:
        """The files that it reads."""
        return Dataset(self.dataset_files, self.samples_per_file, self.sample_size, self.sample_spread, self.direct)

    @property
    def writers(self) -> int:
        """Tasks that write checkpoints, besides ``tasks``."""
        return (self.checkpoint_writers or self.accelerators) if self.checkpoint_every else 0

    @property
    def part_bytes(self) -> int:
        """What each of them writes of a checkpoint: whole transfers."""
        part = -(-(self.checkpoint_bytes or 0) // max(self.writers, 1))
        return -(-part // self.transfer_size) * self.transfer_size

    @property
    def samples(self) -> int:
        """Of the data set."""
        return self.dataset_files * self.samples_per_file

    @property
    def buffer_bytes(self) -> int:
        return self.transfer_size

    @property
    def space_bytes(self) -> int:
        return data_bytes(self.samples, self.sample_size, self.sample_spread) + self.writers * self.part_bytes

    @property
    def smaller(self) -> str:
        return "use a smaller dataset or scale" + (", or checkpoint_size" if self.checkpoint_bytes else "")

    @property
    def write_bytes(self) -> int:
        checkpoints = self.step_count // self.checkpoint_every * self.epochs if self.checkpoint_every else 0
        return self.space_bytes + max(checkpoints - 1, 0) * self.writers * self.part_bytes

    @property
    def demand_bytes_per_s(self) -> int:
        """What each accelerator reads when it computes all the time."""
        return self.batch * self.sample_size * 10**9 // self.compute_ns

    @property
    def step_count(self) -> int:
        """Steps of each accelerator in an epoch."""
        return self.steps or self.samples // (self.accelerators * self.batch)

    @property
    def read_bytes(self) -> int:
        return self.epochs * self.step_count * self.accelerators * self.batch * self.sample_size

    def least_ns(self, delays: Delays) -> int:  # noqa: ARG002  (as every kind's)
        spent = self.epochs * (self.step_count - 1) * self.compute_ns
        return max(spent if self.time_limit_ns is None else min(spent, self.time_limit_ns), 0)

    def describe(self) -> str:
        return (
            f"{plural(self.accelerators, 'accelerator')}, {self.readers} readers each"
            f"  batch {self.batch} × {format_size(self.sample_size)}  compute {format_time(self.compute_ns)}"
            f"  prefetch {self.prefetch}  {self.dataset_files} files  shuffle {self.shuffle}  direct {self.direct}"
            + (
                f"  checkpoint {format_size(self.checkpoint_bytes)} every {self.checkpoint_every} steps"
                f" by {self.writers}"
                if self.checkpoint_bytes
                else ""
            )
        )

    @property
    def transfers(self) -> Transfers:
        return Transfers(self.transfer_size, "unique")


class Training(WorkloadSection):
    """Accelerators that compute on batches of samples, and the readers that feed them."""

    SETTING = TrainingSetting

    kind: Literal["training"] = Field(description="accelerators that are fed with samples")
    model: Model | None = Field(
        None, description="a published configuration, such as unet3d-h100, from which all keys come that are not given"
    )
    accelerators: Sweep[Count] = Field((1, 2, 4, 8), description="accelerators that are fed at once")
    readers: Sweep[Count] | None = Field(None, description="tasks that read for each accelerator; of the model, or 4")
    batch: Sweep[Count] | None = Field(None, description="samples that an accelerator takes at once; of the model")
    prefetch: Sweep[Count] | None = Field(
        None, description="batches of an accelerator that are read ahead, those in reading included; of the model, or 2"
    )
    compute_ns: Time | None = time_field("compute", None, "time that an accelerator computes on a batch; of the model")
    sample_size: Size | None = Field(None, description="bytes of a sample, on average; of the model, times scale")
    sample_spread: Length | None = Field(
        None, description="standard deviation of these bytes; of the model, or 0, times scale"
    )
    samples_per_file: Count | None = Field(None, description="samples in each file; of the model, or 1")
    dataset: Size | None = Field(None, description="bytes of all files; 4GiB, at most a tenth of the free space")
    shuffle: Shuffle | None = Field(
        None, description="read samples, or files, in random order; of the model, or samples"
    )
    steps: Count | None = Field(
        None, description="batches that each accelerator takes in an epoch; as many as the data set has"
    )
    epochs: Count = Field(1, description="times that the accelerators begin anew, with nothing read ahead")
    transfer_size: Sweep[Size] = Field((1 << 20,), description="bytes of one read call")
    direct: Sweep[Direct] = Field(
        ("auto",), description="past the page cache (O_DIRECT), through it, or past it where possible"
    )
    cache: Sweep[Cache] = Field(("drop",), description="the page cache before each trial")
    checkpoint_every: Count | None = Field(
        None, description="write a checkpoint after so many steps, while all accelerators pause; else none is written"
    )
    checkpoint_size: CheckpointSize | None = Field(
        None,
        description="bytes of a checkpoint, or a published one, such as llama3-8b; of the model; scale multiplies it",
    )
    checkpoint_writers: Count | None = Field(
        None, description="tasks that write a checkpoint, each its part; 1, of a published one all accelerators"
    )
    time_limit_ns: Time | None = time_field("time_limit", None, "no sample is read later than this after the start")

    @model_validator(mode="after")
    def _is_whole(self) -> Training:
        for key in () if self.model else ("sample_size", "batch", "compute_ns"):
            if getattr(self, key) is None:
                told = key.removesuffix("_ns")
                refuse(told, f"without a model, training needs {told}", f"give {told}, or a model such as unet3d-h100")
        for transfer_size in self.transfer_size:
            if transfer_size > MOST_TRANSFER or transfer_size % _STEP:
                refuse(
                    "transfer_size",
                    f"transfer_size {format_size(transfer_size)} is no multiple of 4KiB up to 1GiB",
                    "use 1MiB",
                )
        return self

    @model_validator(mode="after")
    def _checkpoints_are_whole(self) -> Training:
        if self.checkpoint_every is None:
            for key in ("checkpoint_size", "checkpoint_writers"):
                if getattr(self, key) is not None:
                    refuse(key, f"without checkpoint_every there is no {key}", "give checkpoint_every, such as 100")
        elif self.checkpoint_every < _LEAST_EVERY:
            what = "the first step after a checkpoint counts for nothing, and each would be one"
            refuse("checkpoint_every", what, "give 2 or more")
        elif self.checkpoint_size is None and self._published_checkpoint() is None:
            what = f"{self.model or 'a training without a model'} has no published checkpoint"
            refuse("checkpoint_every", what, "give checkpoint_size, such as 500MB or llama3-8b")
        return self

    def _published_checkpoint(self) -> int | None:
        model = training_models().get(self.model or "")
        return model.checkpoint_bytes if model else None

    def on(self, target: Target) -> Training:
        if self.dataset is not None:
            return self
        free = [os.statvfs(path) for path in target.paths if path.is_dir()]
        room = min((facts.f_bavail * facts.f_frsize // _FREE_SHARE for facts in free), default=DATASET)
        return self.model_copy(update={"dataset": max(min(DATASET, room), 1)})

    def knobs(self, factors: Factors, scale: float) -> Factors:
        model = training_models().get(self.model or "")
        own = {key for key in _OF_MODEL if getattr(self, key) is not None}
        found = super().knobs(factors, scale)
        of_model: Factors = (
            {"readers": 4, "prefetch": 2, "sample_spread": 0, "samples_per_file": 1, "shuffle": "samples"}
            if model is None
            else {
                **{key: getattr(model, key) for key in ("readers", "prefetch", "batch", "compute_ns")},
                "sample_size": model.sample_bytes,
                "sample_spread": model.sample_spread_bytes,
                "samples_per_file": model.samples_per_file,
                "shuffle": model.shuffle,
            }
        )
        found |= {key: value for key, value in of_model.items() if found.get(key) is None}
        found |= self._checkpoint(found, scale)
        sample = scaled(found["sample_size"], scale)
        spread = round(found["sample_spread"] * scale)
        return found | {
            "model": None if own else self.model,
            "tasks": found["accelerators"] * found["readers"],
            "sample_size": sample,
            "sample_spread": spread,
            "dataset_files": _files_in(self.dataset or DATASET, found["samples_per_file"], sample, spread),
        }

    def _checkpoint(self, found: Factors, scale: float) -> Factors:
        """Its bytes, and how many write it: the parts of a large language model are on all accelerators."""
        named = self.checkpoint_size
        if self.checkpoint_every is None:
            return {"checkpoint_bytes": None}
        size = checkpoint_sizes()[named] if isinstance(named, str) else named or self._published_checkpoint() or 1
        writers = found["checkpoint_writers"] or (None if isinstance(named, str) else 1)
        return {"checkpoint_bytes": scaled(size, scale), "checkpoint_writers": writers}

    @property
    def is_endless(self) -> bool:
        return self.time_limit_ns is not None


def data_bytes(samples: int, sample_size: int, sample_spread: int) -> int:
    """Returns the bytes of so many samples; they have more with a chance of one in thirty thousand."""
    return samples * (sample_size + _STEP) + round(4 * sample_spread * math.sqrt(samples))


def _files_in(dataset: int, samples_per_file: int, sample_size: int, sample_spread: int) -> int:
    """Files that ``dataset`` bytes have room for; at least one."""
    files = max(dataset // data_bytes(samples_per_file, sample_size, 0), 1)
    while files > 1 and data_bytes(files * samples_per_file, sample_size, sample_spread) > dataset:
        files = max(min(files - 1, files * 99 // 100), 1)
    return files


def with_accelerators(setting: TrainingSetting, accelerators: int) -> TrainingSetting:
    """Returns the same setting for so many accelerators."""
    return replace(setting, accelerators=accelerators, tasks=accelerators * setting.readers)


def check_steps(setting: TrainingSetting) -> None:
    """RequestError where the data set has no batch for each accelerator."""
    if setting.checkpoint_every and setting.checkpoint_every > setting.step_count > 0:
        raise RequestError(
            f"workload.checkpoint_every: an epoch of {setting.accelerators} accelerators has {setting.step_count} "
            f"steps, and the first checkpoint comes after {setting.checkpoint_every}; hint: give fewer, or a "
            "larger dataset"
        )
    if setting.step_count == 0:
        raise RequestError(
            f"workload.dataset: its {setting.samples} samples are no batch of {setting.batch} for each of "
            f"{setting.accelerators} accelerators; hint: give a larger dataset, a smaller scale, or steps"
        )
