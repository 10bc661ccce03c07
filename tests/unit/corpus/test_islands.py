"""The measurements of functions that are not one program, and the page that shows them."""

from __future__ import annotations

import pytest

from corpus.islands import record
from corpus.islands.record import Found
from corpus.islands.suites import STRANGERS, SUITES, everything
from corpus.language import LANGUAGES, Language, page_in

KEPT = {
    name: each
    for name, each in record.read().items()
    if STRANGERS.exists() or not name.startswith("strangers/")
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_shows_what_is_kept(language: Language) -> None:
    text = page_in(language, record.PAGE).read_text(encoding="utf-8")
    assert record.page(text, record.table(record.read(), language)) == text


def test_what_is_kept_is_of_the_programs_of_today() -> None:
    paths = {each.key: each.path for suite in SUITES for each in everything(suite)}
    assert KEPT
    assert record.stale(KEPT, paths) == []


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (Found("", "right", breaks=1, ratio=1.02), "All are right"),
        (Found("", "WRONG", "record 1"), "- `a/b`: WRONG: record 1"),
        (Found("", "right", breaks=1, ratio=1.5), "- `a/b`: takes 1.50 times as long"),
    ],
)
def test_the_table_names_what_is_not_as_it_should_be(found: Found, said: str) -> None:
    assert said in record.table({"a/b": found}, "en")


def test_another_file_is_stale() -> None:
    path = next(everything("programs")).path
    assert record.stale({"a/b": Found("0", "right")}, {"a/b": path}) == ["a/b: has changed"]
    assert record.stale({"a/b": Found("0", "right")}, {}) == ["a/b: there is no such program"]
