"""Commands that ask several runs, or a run beyond what it measured: history, crossover, project."""

from __future__ import annotations

from tonnage.cli.option import Command, Option, share

JSON = Option(("--json",), "print one JSON object on stdout and nothing else there", is_flag=True)
PAGE = Option(("--out",), "also write a page with the picture", "FILE", completes="file")

HISTORY = Command(
    "history",
    "tell when runs became faster or slower, and what changed then",
    "Puts runs in order of time. Of each setting the series of its levels is searched for changes, and beside each "
    "change stands what the manifests say was changed then: kernel, mount options, versions, host, file system. Of "
    "histories in which nothing changed at most one in twenty is given a change. The verdicts are faster, slower, no "
    "change shown.",
    (
        Option(("runs",), "run directories, or directories of them", "DIR", repeats=True, completes="directory"),
        Option(("--threshold",), "least change of a throughput that is called one", "SHARE", "2%", parse=share),
        Option(
            ("--fail-if",),
            "exit with 1 where the newest change of a setting has this verdict",
            choices=("slower", "faster", "changed"),
        ),
        PAGE,
        JSON,
    ),
    (
        ("tonnage history tonnage-runs --out history.html", "all runs of a directory, as a picture"),
        ("tonnage history --fail-if slower nightly/*", "for a pipeline: exit code 1 where it got slower"),
    ),
)

PROJECTING = (HISTORY,)
