"""Names and formats are the originals', sentences are ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from .peer_facts import repeated, strings, words_of

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted((ROOT / "python" / "tonnage" / "compat").rglob("*.py"))
PAGES = [ROOT / "docs" / "ior.md", ROOT / "docs" / "mdtest.md"]


def test_no_string_of_the_front_ends_repeats_a_sentence_of_ior_or_mdtest() -> None:
    found = {
        f"{path.relative_to(ROOT)}: {sentence}"
        for path in MODULES
        for text in strings(path)
        for sentence in repeated(text)
    }
    assert len(MODULES) > 20 and not found, "\n".join(sorted(found))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_of_a_front_end_repeats_a_sentence_of_ior_or_mdtest(page: Path) -> None:
    assert not repeated(page.read_text(encoding="utf-8"))


def test_a_sentence_of_the_original_is_found_whatever_its_case_and_what_stands_around_it() -> None:
    recording = (Path(__file__).parent / "peer" / "mdtest-1task-S.txt").read_text(encoding="utf-8")
    (warning,) = (line for line in recording.splitlines() if line.startswith("WARNING: "))
    sentence = warning.removeprefix("WARNING: ")
    assert repeated(f"so: {sentence.upper()}, and more") == [" ".join(words_of(sentence))]
    assert not repeated(sentence.replace("will", "may"))
