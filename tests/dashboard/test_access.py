"""Who may ask for what. Asked of the server as it stands, by words that a browser would not send."""

from __future__ import annotations

import platform
from collections.abc import Callable
from pathlib import Path

import live_page
import pytest

Serving = Callable[..., live_page.Served]


@pytest.fixture(scope="module")
def served(runs: Path) -> live_page.Served:
    found = live_page.Served(runs)
    yield found
    found.close()


@pytest.fixture(scope="module")
def guarded(runs: Path) -> live_page.Served:
    found = live_page.Served("--token", runs)
    yield found
    found.close()


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_nothing_but_reading(served: live_page.Served, method: str) -> None:
    assert served.get("/", method).status == 405


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:{port}", 200),
        ("127.0.0.1", 200),
        ("[::1]:8080", 200),
        (platform.node(), 200),
        ("rebound.example:{port}", 421),
        ("localhost.example", 421),
        ("127.0.0.1.example", 421),
        ("", 421),
    ],
)
def test_a_name_that_was_made_to_point_here_is_refused(served: live_page.Served, host: str, status: int) -> None:
    assert served.get("/", Host=host.format(port=served.port)).status == status


def test_other_sites_may_link_here_and_no_more(served: live_page.Served) -> None:
    assert served.get("/", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate").status == 200
    assert served.get("/events", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="cors").status == 403


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "http://attacker.invalid"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://{own}.attacker.invalid"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Origin": "http://{own}"}, 200),
        ({"Sec_Fetch_Site": "same-site", "Sec_Fetch_Mode": "cors"}, 403),
        ({"Sec_Fetch_Site": "same-site", "Sec_Fetch_Mode": "no-cors"}, 403),
        ({"Sec_Fetch_Site": "same-site"}, 403),
        ({"Sec_Fetch_Site": "same-site", "Sec_Fetch_Mode": "navigate"}, 200),
        ({"Sec_Fetch_Site": "same-origin", "Sec_Fetch_Mode": "cors"}, 200),
        ({"Sec_Fetch_Site": "none", "Sec_Fetch_Mode": "navigate"}, 200),
    ],
)
def test_scripts_of_other_pages_are_refused_by_whatever_their_browser_tells(
    served: live_page.Served, headers: dict[str, str], status: int
) -> None:
    own = f"127.0.0.1:{served.port}"
    sent = {name: text.format(own=own) for name, text in headers.items()}
    assert served.get("/", Host=own, **sent).status == status


@pytest.mark.parametrize(
    "path",
    [
        "/static/../pages.py",
        "/static/..%2fpages.py",
        "/static/%2e%2e/%2e%2e/errors.py",
        "/static//etc/passwd",
        "/static/list.html",
        "/run/..",
        "/run/%2e%2e%2f%2e%2e%2fetc",
        "/run/%2Fetc",
        "/run/0123456789abcdef",
        "/run/" + "f" * 10_000,
        "/report/../../etc/passwd",
        "/report/base",
        "/compare/base/other",
        "/events?run=../../etc",
        "/events?run=",
        "//etc/passwd",
        "/run/%00",
        "/etc/passwd",
    ],
)
def test_no_path_leads_out_of_what_was_found(served: live_page.Served, path: str) -> None:
    answer = served.get(path)
    assert answer.status in (400, 404), answer.text[:200]
    assert "root:" not in answer.text and "import" not in answer.text


def test_every_answer_forbids_foreign_scripts_and_frames(served: live_page.Served) -> None:
    name = served.identifier("base")
    for path in ("/", f"/run/{name}", f"/report/{name}", "/static/live.js", "/nothing"):
        headers = served.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"], path
        assert "frame-ancestors 'none'" in headers["content-security-policy"], path
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers
    assert "'unsafe-inline'" not in served.get("/").headers["content-security-policy"].partition("style-src")[0]
    assert "sandbox allow-scripts" in served.get(f"/report/{name}").headers["content-security-policy"]


def test_what_does_not_change_is_not_sent_again(served: live_page.Served) -> None:
    tag = served.get("/static/plotly.min.js").headers["etag"]
    again = served.get("/static/plotly.min.js", If_None_Match=tag)
    assert (again.status, again.text) == (304, "")


@pytest.mark.parametrize(
    "path", ["/", "/?token=", "/?token=wrong", "/events", "/static/live.js", "/?token=%C3%A9", "/nothing"]
)
def test_without_the_token_there_is_nothing(guarded: live_page.Served, path: str) -> None:
    answer = guarded.get(path)
    assert (answer.status, "base" in answer.text) == (403, False)
    assert "set-cookie" not in answer.headers


def test_the_token_is_taken_once_and_then_kept_as_a_cookie(guarded: live_page.Served) -> None:
    first = guarded.get(f"/?{guarded.query}&more=1")
    assert (first.status, first.headers["location"]) == (303, "/?more=1")
    cookie = first.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie
    kept = cookie.partition(";")[0]
    assert guarded.get("/", Cookie=f"other=1; {kept}").status == 200
    assert guarded.get("/", Cookie=kept[:-1]).status == 403
    assert guarded.get("/", Cookie=kept.replace(str(guarded.port), "1")).status == 403
    assert guarded.get("/?token=wrong", Cookie=kept).status == 403


def test_the_way_back_after_the_token_leads_to_this_server(guarded: live_page.Served) -> None:
    assert guarded.get(f"//elsewhere.example/?{guarded.query}").headers["location"] == "/elsewhere.example/"


def test_an_address_that_others_reach_asks_for_a_token_by_itself(runs: Path, serving: Serving) -> None:
    served = serving("--host", "0.0.0.0", runs)
    assert served.query.startswith("token=") and served.host == platform.node().lower()
    assert served.get("/").status == 403
    assert served.get(f"/?{served.query}").status == 303
