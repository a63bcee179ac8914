"""The pages that the tests look at, rendered once."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

# With import-mode=importlib a test cannot import its neighbour by itself.
sys.path.insert(0, str(Path(__file__).parent))

import report_sample as sample
from tonnage.report.page import render


@pytest.fixture(scope="session")
def page_text() -> str:
    """The page of the usual run."""
    return render(*sample.whole())


@pytest.fixture(scope="session")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Path]:
    """Puts a page where a browser can open it."""
    directory = tmp_path_factory.mktemp("pages")

    def put(name: str, text: str) -> Path:
        path = directory / f"{name}.html"
        path.write_text(text, encoding="utf-8")
        return path

    return put


@pytest.fixture(scope="session")
def kinds_page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of a run of every kind of workload, beside published figures."""
    pytest.importorskip("tonnage._native", reason="the engine is not built: run make build")
    import kinds_sample
    from tonnage.analysis import analyse
    from tonnage.report.page_data import Source

    run = kinds_sample.write(tmp_path_factory.mktemp("every-kind") / "run", repetitions=2, published="lcls-ffb")
    return render(analyse(run), Source.of(run))
