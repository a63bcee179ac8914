"""Verifies a run: its bytes by their hashes, its figures from its files, its sentences from its figures."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from tonnage import plugins
from tonnage.analysis import analyse
from tonnage.analysis.findings.throughput_curve import SINGLE, SINGLE_IMPORTED
from tonnage.analysis.points import renamed
from tonnage.analysis.summary import NEW_KEYS, summary, without_ends
from tonnage.errors import RecordError
from tonnage.records import Run, verify_files
from tonnage.records.file_names import MANIFEST, ORIGINALS
from tonnage.records.line_types import Json
from tonnage.records.verify_bytes import Seal, SealKind, digest_of, examine
from tonnage.records.verify_figures import guarded

_PLACES = frozenset({"run", "report"})
"""Where the run was when it was summarised; it may have moved since."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a run's files say of each other."""

    seal: Seal
    trials: int
    """Records that count."""
    contradictions: tuple[str, ...]
    """Sentences, one for each thing that does not hold; none where everything does."""

    def answer(self, run: str) -> VerifyAnswer:
        """Returns the answer for a caller who named the run ``run``."""
        return VerifyAnswer(
            run=run,
            trials=self.trials,
            contradictions=self.contradictions,
            seal=self.seal.kind,
            sha256=self.seal.sha256,
            torn=tuple(self.seal.torn),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyAnswer:
    """What ``tonnage verify --json`` prints."""

    run: str
    trials: int
    """Records that count."""
    contradictions: tuple[str, ...]
    seal: SealKind
    sha256: str
    """Of ``manifest.json``."""
    torn: tuple[str, ...]
    """Files with a tail that a killed writer left."""


def verify(run: Run) -> Verdict:
    """Compares every file with its hash, recomputes every derived figure of the records, then analyses the run again
    and compares the result with the ``summary`` that its manifest keeps from the time it ended (if it keeps one).

    A summary of records that were altered is not compared: it would say the same once more.
    """
    seal = examine(run)
    found = [*seal.wrong, *verify_files(run, seal.damaged, is_torn=run.manifest.get("state") == "running")]
    found += guarded(lambda: _originals(run, seal.damaged))
    said = run.manifest.get("summary")
    if isinstance(said, dict) and seal.damaged <= {MANIFEST}:
        found += guarded(lambda: _summarised(run, said))
    try:
        trials = len(run.trials())
    except RecordError:
        trials = 0
    return Verdict(seal, trials, tuple(found))


def _originals(run: Run, damaged: AbstractSet[str]) -> Iterator[str]:
    """Files of other tools against the hashes that they had when they were imported, which the manifest has as well."""
    for file in (run.manifest.get("imported") or {}).get("files") or ():
        name = f"{ORIGINALS}/{PurePath(file['kept']).name}"
        if name not in damaged and digest_of(run.path / name) != file["sha256"]:
            yield f"{name} is not the file that was imported: {MANIFEST} has another hash of it"


def _summarised(run: Run, said: Json) -> list[str]:
    # Older versions kept the median as both ends of an interval that nothing shows.
    then, now = _without_plug_ins(without_ends(said)), _without_plug_ins(summary(analyse(run), None))
    keys = sorted((then.keys() | now.keys()) - _PLACES - (NEW_KEYS - then.keys()))
    return [text for key in keys for text in _differences(f"summary.{key}", then.get(key), now.get(key))]


def _without_plug_ins(told: Json) -> Json:
    """Without the findings of plug-ins: another host, or another year, has others."""
    own = plugins.OWN[plugins.FINDINGS]
    kept = [one for one in told.get("findings") or () if not isinstance(one, dict) or one.get("code") in own]
    return {**told, "findings": kept}


def _differences(where: str, said: Any, now: Any) -> list[str]:
    if isinstance(said, dict) and isinstance(now, dict):
        keys = (said.keys() | now.keys()) - (NEW_KEYS - said.keys())
        pairs = [(f"{where}.{key}", said.get(key), now.get(key)) for key in sorted(keys)]
        return [text for pair in pairs for text in _differences(*pair)]
    if isinstance(said, list | tuple) and isinstance(now, list | tuple) and len(said) == len(now):
        pairs = [(f"{where}[{i}]", *both) for i, both in enumerate(zip(said, now, strict=True))]
        return [text for pair in pairs for text in _differences(*pair)]
    if isinstance(said, str) and isinstance(now, str) and _in_current_wording(said, now) == now:
        return []
    return [] if said == now else [f"{where} was {said!r}, and is {now!r} when analysed again"]


def _in_current_wording(said: str, now: str) -> str:
    """What an older version kept, where this one says the same in other words."""
    for old, new in ((SINGLE, SINGLE_IMPORTED), ("One run can", "One figure can")):
        if now.startswith(new):
            said = said.replace(old, new)
    return renamed(said)
