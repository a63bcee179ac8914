"""The options of ``tonnage serve``."""

from __future__ import annotations

from tonnage.cli.option import Command, Option, port
from tonnage.cli.options_placement import SITE

SERVE = Command(
    "serve",
    "show runs, file servers and drains on a live page",
    "Serves a page that lists the runs below each DIR, under way and done, with their progress, figures and findings "
    "as they come, their reports and comparisons, the load of the site's file servers and the drains of this user. "
    "Prints the address to open. Nothing on the page changes anything.",
    (
        Option(
            ("directories",),
            "directory that holds runs, or one run",
            "DIR",
            "the current directory",
            optional=True,
            repeats=True,
            completes="directory",
        ),
        Option(("--port",), "where to listen, 0 for any free port", "PORT", "0", parse=port),
        Option(
            ("--host",),
            "address or name to listen on; one that other hosts reach asks viewers for a token, which is in the "
            "printed address",
            "HOST",
            "127.0.0.1",
        ),
        Option(("--token",), "ask for a token on this host too, where other users could look", is_flag=True),
        Option(
            ("--certificate",),
            "serve https (TLS 1.2 or newer) with this certificate (PEM)",
            "FILE",
            "plain text",
            completes="file",
        ),
        Option(
            ("--key",),
            "the certificate's private key (PEM, without a password), which others may not read",
            "FILE",
            "in the certificate's file",
            completes="file",
        ),
        SITE,
    ),
    (
        ("tonnage serve", "the runs below this directory"),
        (
            "tonnage serve --port 8080 /scratch/me/runs /project/runs",
            "of several directories, on a port of your choice",
        ),
        ("tonnage serve --host 0.0.0.0", "for colleagues: they open the printed address with its token"),
        (
            "tonnage serve --host 0.0.0.0 --certificate login1.pem --key login1.key",
            "the same, unreadable for others on the network",
        ),
    ),
)
