"""What Prometheus reads: every figure under its name, on the loopback interface only."""

from __future__ import annotations

import socket
import sys
import urllib.request
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tonnage.errors import RequestError
from tonnage.staging.mover_host import Metrics, names
from tonnage.staging.mover_status import Status

from .mover_status import status

PAGE = Path(__file__).resolve().parents[2] / "docs" / "stage.md"


def scraped(**more: object) -> dict[tuple[str, str], float]:
    return scrapes([status(**more)])[0]


def scrapes(moments: list[Status]) -> list[dict[tuple[str, str], float]]:
    """What is read at each of these moments."""
    metrics, now = Metrics(0), iter(moments)
    metrics.serve(lambda: next(now))
    try:
        assert metrics._server.server_address[0] == "127.0.0.1"
        return [figures(metrics) for _ in moments]
    finally:
        metrics.close()


def figures(metrics: Metrics) -> dict[tuple[str, str], float]:
    with urllib.request.urlopen(f"http://127.0.0.1:{metrics.port}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    families = list(text_string_to_metric_families(text))
    samples = [sample for family in families for sample in family.samples]
    assert {sample.labels["mover"] for sample in samples} == {"run7"}
    assert {sample.name for sample in samples} <= set(names())
    return {(sample.name, sample.labels.get("state", "")): sample.value for sample in samples}


def test_a_scrape_has_the_figures_of_that_moment() -> None:
    found = scraped(
        done=(3, 30), left_ns=1_500_000_000, above_high_mark=True, copied_bytes=7, rate_bytes_per_s=5,
        rate_files_per_s=0.5, limit_bytes_per_s=9, limit_files_per_s=8, gentle_bytes_per_s=6,
    )  # fmt: skip
    assert found["tonnage_stage_files", "done"] == 3 and found["tonnage_stage_bytes", "done"] == 30
    assert found["tonnage_stage_left_seconds", ""] == pytest.approx(1.5)
    assert found["tonnage_stage_source_used_ratio", ""] == pytest.approx(0.4)
    assert found["tonnage_stage_above_high_mark", ""] == 1 and found["tonnage_stage_copied_bytes_total", ""] == 7
    assert {name for name, _ in found} == set(names())


def test_a_copy_that_came_to_nothing_does_not_set_the_counter_back() -> None:
    moments = scrapes([status(copied_bytes=copied) for copied in (7, 5, 9)])
    assert [found["tonnage_stage_copied_bytes_total", ""] for found in moments] == [7, 7, 9]


def test_what_is_not_known_has_no_sample() -> None:
    assert ("tonnage_stage_left_seconds", "") not in scraped()


def test_every_name_is_on_the_page() -> None:
    page = PAGE.read_text()
    assert not [name for name in names() if f"`{name}" not in page]


def test_a_port_that_is_taken_is_refused_at_once() -> None:
    complaint = r"cannot listen on 127.0.0.1:.*; hint: give --metrics another port"
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(RequestError, match=complaint):
        Metrics(taken.getsockname()[1])


def test_without_the_package_it_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client.exposition", None)
    with pytest.raises(RequestError, match="needs the package prometheus-client"):
        Metrics(0)
