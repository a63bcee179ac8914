"""Options that several commands take."""

from __future__ import annotations

from tonnage import plugins
from tonnage.command_option import Option, parse_port
from tonnage.errors import RequestError


def _seed(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) < 2**63):
        raise RequestError(f"{text!r} is not a whole number from 0 to 2^63 - 1; hint: write it like 42")
    return int(text)


SEED = Option(("--seed",), "seed of payloads and orders", "N", "drawn, and recorded", parse=_seed)
OUT = Option(("--out",), "run directory to make", "DIR", "./tonnage-runs/<time>-<name>-<id>", completes="directory")
DRY_RUN = Option(("--dry-run",), "print the plan and the time and space it takes; write nothing")
JSON = Option(("--json",), "print one JSON object on stdout and nothing else there")
VERBOSE = Option(("-v", "--verbose"), "print all tables and findings, not only the summary of a search")
NO_REPORT = Option(("--no-report",), "do not write report.html")
NO_KEEP = Option(("--no-keep",), "do not keep for placement what was found: load lines, what company costs")
RUN = Option(("run_directory",), "a run directory", "RUN", completes="directory")
PAGE = Option(("--out",), "also write an HTML page with the figure", "FILE", completes="file")
SITE = Option(
    ("--site",),
    "read this site file and no other",
    "FILE",
    "tonnage.toml above here, of the user, of the system",
    completes="file",
)
SCHEDULER = Option(
    ("--scheduler",),
    "scheduler to use",
    None,
    "the site file's",
    plugins.OWN[plugins.SCHEDULERS],
    plugins=plugins.SCHEDULERS,
)
SERVER = Option(("server",), "only this one", "SERVER", optional=True)
METRICS = Option(
    ("--metrics",), "serve the figures to Prometheus on 127.0.0.1:PORT, 0 for any", "PORT", "off", parse=parse_port
)
