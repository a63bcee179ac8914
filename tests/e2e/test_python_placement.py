"""``tonnage.submit``, ``where`` and ``load`` in Python: the answers of ``--json``, and nothing printed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import tonnage
import warm_start
from tonnage.placement.choice import NoFileServer
from tonnage.placement.submission_ledger import Ledger
from waiting import wait_until

from .placement_user import PlacementUser
from .shell import ROOT

SITE = """
scheduler = "local"
[[server]]
name = "rcss1"
aliases = ["{host}"]
hosts = ["{host}"]
indices = "proc:"
line = {{ tasks = 6, plateau = "2GB/s" }}
[policy]
index_timeout = "20s"
"""


@pytest.fixture
def data(user: PlacementUser, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, on a server that this host stands for."""
    user.site(SITE.format(host=os.uname().nodename))
    monkeypatch.chdir(user.data)
    monkeypatch.setattr(sys, "argv", ["notebook", "--no-such-option"])
    return user.data


def printed(*words: str) -> Any:
    done = warm_start.finished(*words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def plain(answer: Any) -> Any:
    return json.loads(json.dumps(asdict(answer)))


@pytest.mark.usefixtures("data")
def test_python_gets_the_answers_of_json_and_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    plan = tonnage.submit("true", copies="1-4,7", cap=2, name="t", dry_run=True, key="k0")
    place = tonnage.where()
    loads = tonnage.load("rcss1")
    receipt = tonnage.submit("true", key="k1", output="o.%J")
    again = tonnage.submit("true", key="k1", output="o.%J")
    assert capfd.readouterr() == ("", "")
    line = printed("submit", "--json", "--dry-run", "--copies", "1-4,7", "--cap", "2", "-J", "t", "--key", "k0", "true")
    assert plain(plan)["request"] == line["request"] and plain(plan).keys() == line.keys()
    assert (plan.host, plan.cap, plan.why) == (os.uname().nodename, 2, tuple(line["decision"]["why"]))
    told = printed("where", "--json")
    assert plain(place)["load_line"] == told["load_line"] == {"tasks": 6, "plateau": 2 * 10**9}
    assert place.load_line is not None and place.load_line.plateau_bytes_per_s == 2 * 10**9
    assert plain(place).keys() == told.keys() and place.file_servers[0].name == "rcss1"
    assert plain(loads).keys() == printed("load", "--json").keys() and loads.servers[0].line == 6
    assert (receipt.job, receipt.new, again.job, again.new) == ("1", True, "1", False)
    assert Ledger().entry("k1") is not None and Ledger().entry("k0") is None


def test_the_lines_of_the_page_run(data: Path) -> None:
    page = (ROOT / "docs" / "placement.md").read_text()
    (block,) = re.findall(r"```python\n(import tonnage\n.*?)```", page, re.DOTALL)
    (data / "big.dat").write_bytes(bytes(1000))
    done = subprocess.run([sys.executable, "-c", block], capture_output=True, text=True, timeout=240, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    first, *_, last = done.stdout.splitlines()
    assert first.startswith("['rcss1'] ") and "cap= counts copies" in last
    wait_until((data / "big.dat.gz").exists, "the job's file")


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"cap": 8}, "cap= counts copies"),
        ({"copies": 0}, "not a whole number above 0"),
        ({"copies": True}, "no list of numbers|not a whole number"),
        ({"memory": "lots"}, "not a size"),
        ({"time_limit": timedelta(0, -1)}, "not a time"),
        ({"io_share": 1.5}, "above 100 %"),
        ({"key": "a b"}, "cannot be a key"),
        ({"scheduler": "cron"}, "there is no scheduler 'cron'"),
        ({"profile": "nowhere"}, "nowhere"),
        ({"site": "missing.toml"}, "missing.toml"),
        ({"path": ""}, "path= is empty"),
        ({"queue": ""}, "queue: an empty value is no value"),
        ({"name": ""}, "name: an empty value"),
        ({"output": ""}, "output: an empty value"),
        ({"account": ""}, "account: an empty value"),
        ({"site": ""}, "site: an empty value"),
        ({"mail": "end", "mail_to": ""}, "mail_to: an empty value"),
        ({"time_limit": 0}, "time_limit=0 is no time"),
        ({"time_limit": timedelta(hours=2)}, "local"),
    ],
)
def test_a_wrong_request_is_an_exception_and_nothing_is_submitted(options: dict[str, Any], said: str) -> None:
    with pytest.raises(tonnage.RequestError, match=said):
        tonnage.submit("true", **options)
    assert Ledger().since(0.0) == []


@pytest.mark.usefixtures("data")
def test_errors_are_those_of_the_commands() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'wait'"):
        tonnage.submit("true", wait=True)  # type: ignore[call-overload]
    with pytest.raises(tonnage.RequestError, match="there is no command"):
        tonnage.submit()
    with pytest.raises(tonnage.RequestError, match=r"^program: \['true'\] is one list; hint: .* as submit\(\*words\)$"):
        tonnage.submit(["true"])  # type: ignore[call-overload]
    with pytest.raises(NoFileServer, match="Cannot find fileserver for /proc"):
        tonnage.where("/proc")
    with pytest.raises(NoFileServer):
        tonnage.submit("true", path="/proc")
    with pytest.raises(tonnage.RequestError, match="there is no file server 'nas'"):
        tonnage.load("nas")
    for empty in (lambda: tonnage.load(""), lambda: tonnage.load(site=""), lambda: tonnage.where(site="")):
        with pytest.raises(tonnage.RequestError, match=r"there is no file server ''|name of the site file is empty"):
            empty()


def test_the_package_names_what_it_offers_and_loads_it_when_it_is_asked_for() -> None:
    assert {"submit", "where", "load", "read", "compare", "TonnageError"} <= {*dir(tonnage)}
    script = "import sys, tonnage; print(sorted(name for name in sys.modules if name.startswith('tonnage')))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "['tonnage']\n"
    with pytest.raises(AttributeError, match="no attribute 'sink'"):
        tonnage.sink  # noqa: B018


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize(
    "call",
    [
        lambda: tonnage.where(1),  # type: ignore[arg-type]
        lambda: tonnage.where(site=1),  # type: ignore[arg-type]
        lambda: tonnage.where(site="x\0y"),
        lambda: tonnage.where(b"data"),  # type: ignore[arg-type]
        lambda: tonnage.load(1),  # type: ignore[arg-type]
        lambda: tonnage.load(b"rcss1"),  # type: ignore[arg-type]
        lambda: tonnage.submit("true", set(), dry_run=True),  # type: ignore[arg-type]
        lambda: tonnage.submit("true", name=b"x", dry_run=True),  # type: ignore[typeddict-item]
        lambda: tonnage.submit("true", output=b"x", dry_run=True),  # type: ignore[typeddict-item]
        lambda: tonnage.submit("true", dependency=7, dry_run=True),  # type: ignore[typeddict-item]
        lambda: tonnage.submit("true", scheduler_options=7, dry_run=True),  # type: ignore[typeddict-item]
        lambda: tonnage.submit("true", key=7, dry_run=True),  # type: ignore[typeddict-item]
    ],
)
def test_a_value_that_is_no_text_is_a_wrong_request_and_no_error_from_inside(call: Any) -> None:
    with pytest.raises(tonnage.RequestError, match="is no text and no"):
        call()


def test_load_in_a_directory_that_was_removed_reads_the_site_file_that_is_named(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    (server,) = tonnage.load(site=data / "tonnage.toml").servers
    assert server.server == "rcss1"
    with pytest.raises(tonnage.RequestError, match="no file server is known"):
        tonnage.load()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"cap": 3}, "cap= counts copies; hint: add copies=8, or as many as there are"),
        ({"mail_to": "me"}, "mail_to= says to whom, and not when; hint: add mail='end,fail'"),
        ({"profile": "RUN", "io_share": 0.5}, "profile= and io_share= say the same thing; hint: give one of them"),
        ({"memory": 0}, "memory=0 is no memory; hint: write it like 4GiB"),
        ({"time_limit": "soon"}, "time_limit: 'soon' is not a time; hint: write it like 500ms, 60s or 2m"),
        ({"key": 3}, "key: 3 is no text and no path; hint: give a str or a Path"),
        ({"dry_run": "no"}, "dry_run: 'no' is neither True nor False; hint: give one of them"),
        ({"anywhere": "no"}, "anywhere: 'no' is neither True nor False; hint: give one of them"),
        ({"io_share": 1e-5, "profile": "RUN"}, "profile= and io_share= say the same thing; hint: give one of them"),
    ],
)
def test_a_message_names_the_keywords_of_the_call(data: Path, options: dict[str, Any], told: str) -> None:
    with pytest.raises(tonnage.RequestError) as refused:
        tonnage.submit("true", **options)
    assert str(refused.value) == told and data.exists()
