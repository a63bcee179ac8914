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
