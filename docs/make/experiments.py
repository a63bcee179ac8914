"""The field's experiments, run and written into their pages: ``python docs/make/experiments.py``, or
``make experiments``.

Each page in ``docs/experiments/`` is prose with generated parts: what was published as it was printed, and for each run
the published tables with ours beside them. A run that is not made (``--only``, or this machine lacks what it needs)
leaves its part of the page as it was. Pictures need Chromium, as ``docs/make/screenshot.py`` does; the whole reports go
to ``docs/experiments/html``, which git ignores. Wants root, a quiet machine and a quarter of an hour, Knox and ePouta
as much again.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

import experiment_pages as pages
import experiment_places as places
from tonnage.errors import TonnageError

DOCS = Path(__file__).resolve().parents[1]
EXAMPLES = DOCS.parent / "examples"


@dataclass(frozen=True, slots=True)
class PagePart:
    """One run of a page."""

    name: str
    """Of the run, and of the part of the page."""
    page: str
    """Also the name of its published figures."""
    example: str
    scale: float
    target: str
    """As a reader would give it; empty where the example names it."""
    storage: str
    section: str
    """Of the report: the page's picture."""
    measure: Callable[[places.RunRequest], None]

    def command(self, scale: float) -> str:
        scaled = f" --scale {scale:g}" if scale != 1 else ""
        target = f" --target {self.target}" if self.target else ""
        return f"tonnage run{scaled}{target} examples/{self.example}.toml"


PARTS = (
    PagePart(
        "knox-epouta", "knox-epouta", "knox-epouta", 0.01, "/run/data",
        "six hosts of [the lab](../lab.md) at two sites, 1 Gbit/s between them", "workflow", places.two_countries,
    ),
    PagePart(
        "lcls-ffb", "lcls-ffb", "lcls-ffb", 0.003, "DIR",
        "eight file systems (XFS), each on a device of 100 MB/s, in the place of eight OSTs", "load-line-write",
        places.several_devices,
    ),
    PagePart(
        "iobsub", "iobsub", "iobsub", 0.02, "DIR",
        "a compute node and a file server of the lab, a GlusterFS on a device of 60 MB/s and 4 ms, links of 20 MB/s",
        "load-line-command", places.one_server,
    ),
    PagePart(
        "summit-nvme", "summit-nvme", "summit-nvme", 0.001, "",
        "the fast tier is a device in memory, the slow one a device of 100 MB/s, both XFS", "tiers", places.two_tiers,
    ),
    PagePart(
        "summit-nvme-scale", "summit-nvme", "summit-nvme-scale", 1, "",
        "the simulator, with the ceilings that were measured at 1,100 nodes", "load-line-write", places.model,
    ),
    PagePart(
        "ceph-snapshots", "ceph-snapshots", "ceph-snapshots", 1, "rados://POOL",
        "a real Ceph, three OSDs that keep their objects in memory; of the example 1, 2 and 4 tasks, rounds of 100 "
        "transfers and three repetitions", "snapshots", places.ceph_pool,
    ),
    PagePart(
        "ceph-snapshots-model", "ceph-snapshots", "ceph-snapshots", 1, "sim:snapshot=1s,noise=30%",
        "the simulator, with a snapshot of 1 s and rates that scatter by 30 %; of the example four repetitions",
        "snapshots", places.snapshot_model,
    ),
)  # fmt: skip


def write(part: PagePart, run: Path, docs: Path = DOCS, *, picture: bool = True) -> None:
    """The part of its page that tells of this run, its picture and its report; ``docs``: where they are."""
    from tonnage.report import write_report

    page = docs / "experiments" / f"{part.page}.md"
    reports = docs / "experiments" / "html"
    reports.mkdir(exist_ok=True)
    report = write_report(run, reports / f"{part.name}.html")
    image = docs / "images" / f"experiment-{part.name}.png"
    shown = (f"../images/{image.name}", part.section) if picture else ()
    told = pages.RunDescription(part.storage, part.command(pages.scale_of(run)), *shown)
    text = pages.replaced(page.read_text(encoding="utf-8"), part.name, pages.of_run(run, told))
    if picture:
        from screenshot import shoot_section

        shoot_section(report, part.section, image)
    page.write_text(text, encoding="utf-8")


def write_printed(docs: Path = DOCS) -> None:
    """Writes the published tables of every page, which need no run."""
    for name in dict.fromkeys(part.page for part in PARTS):
        page = docs / "experiments" / f"{name}.md"
        text = pages.replaced(page.read_text(encoding="utf-8"), pages.AS_PRINTED, pages.as_printed(name))
        page.write_text(text, encoding="utf-8")


def main() -> int:
    """Makes the runs that were asked for, or takes them, and writes the pages; 1 where a run failed."""
    given = _arguments()
    with places.terminated_as_exit():
        return _made(given)


def _made(given: argparse.Namespace) -> int:
    write_printed()
    failed = 0
    for part in given.only:
        began_s = time.monotonic()
        try:
            with tempfile.TemporaryDirectory(prefix="tonnage-experiment-") as scratch:
                write(part, given.taken.get(part.name) or _measured_run(part, given.scale, given.keep, Path(scratch)))
        except places.Impossible as error:
            print(f"{part.name}: not run, and its part of the page stays as it was: {error}", flush=True)
        except (places.Failed, TonnageError, ValueError) as error:
            failed += 1
            print(f"{part.name}: failed: {error}", file=sys.stderr, flush=True)
        else:
            print(f"{part.name}: written, {time.monotonic() - began_s:.0f} s", flush=True)
    return 1 if failed else 0


def _measured_run(part: PagePart, times: float, keep: Path | None, scratch: Path) -> Path:
    work = scratch / "work"
    work.mkdir()
    out = (keep or scratch) / part.name
    part.measure(places.RunRequest(EXAMPLES / f"{part.example}.toml", part.scale * times, out, work))
    return out


def _arguments() -> argparse.Namespace:
    names = {part.name: part for part in PARTS}
    width = max(map(len, names))
    parser = argparse.ArgumentParser(
        description="Runs the field's experiments and writes them into their pages.",
        epilog="\n".join(["names:", *(f"  {part.name:{width}}  docs/experiments/{part.page}.md" for part in PARTS)]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--only", nargs="+", choices=names, metavar="NAME", default=list(names), help="these runs (default: all)"
    )
    parser.add_argument(
        "--from", dest="taken", action="append", default=[], metavar="NAME=DIR", help="take this run, measure none"
    )
    parser.add_argument("--scale", type=float, default=1.0, help="of each run's usual work, to try the command")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where the run directories stay (default: nowhere)")
    given = parser.parse_args()
    given.only = [names[name] for name in given.only]
    pairs = [text.partition("=") for text in given.taken]
    if unknown := [name for name, _, path in pairs if name not in names or not path]:
        parser.error(f"--from {unknown[0]}: give NAME=DIR, NAME one of {', '.join(names)}")
    given.taken = {name: Path(path) for name, _, path in pairs}
    if given.keep:
        given.keep = given.keep.resolve()
        given.keep.mkdir(parents=True, exist_ok=True)
    return given


if __name__ == "__main__":
    sys.exit(main())
