"""Both languages of the generated pages: phrases, places, translations by paragraph, links."""

from __future__ import annotations

import doctest
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from corpus import language, reference, translated
from corpus.failures.failure import load_all
from corpus.language import CHINESE, DOCS, Text, page_in, same, table, write
from corpus.translated import MissingTranslationError, link_in_chinese, pairs
from d2s.diagnostics.catalogue import codes, entry


def test_a_phrase_has_both_languages() -> None:
    assert (Text("a loop", "循环")["en"], Text("a loop", "循环")["zh"]) == ("a loop", "循环")
    assert same("right")["zh"] == "right"
    with pytest.raises(TypeError):
        Text("a loop")  # type: ignore[call-arg]


def test_doctests() -> None:
    assert doctest.testmod(language).failed == 0


def test_a_line_of_chinese_goes_on_without_a_space() -> None:
    text = Text("", "第一行，\n第二行 `x`\n和\n\n- 列表\n- 列表\n")
    assert text["zh"] == "第一行，第二行 `x`\n和\n\n- 列表\n- 列表\n"


def test_a_page_is_written_in_both_languages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("corpus.language.DOCS", tmp_path)
    monkeypatch.setattr("corpus.language.CHINESE", tmp_path / "zh")
    write(tmp_path / "guide.md", lambda language: "\n".join(table((Text("a", "甲"),), language)))
    assert (tmp_path / "guide.md").read_text("utf-8") == "| a |\n|---|"
    assert (tmp_path / "zh" / "guide.md").read_text("utf-8") == "| 甲 |\n|---|"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(translated, "FOLDER", tmp_path)
    monkeypatch.setattr(translated, "DOCS", tmp_path / "docs")
    pairs.cache_clear()
    return tmp_path / "made.md"


def test_a_paragraph_is_found_however_it_is_wrapped(file: Path) -> None:
    file.write_text("# Made\n\n> One of\n> two.\n\n一。\n\n## B\n\n> Other.\n\n二。\n", "utf-8")
    assert translated.translated("made", "One of two.\n\nOther.", "zh") == "一。\n\n二。"
    assert translated.translated("made", "No such.", "en") == "No such."


def test_a_paragraph_that_has_changed_has_no_translation(file: Path) -> None:
    file.write_text("> One.\n\n一。\n", "utf-8")
    with pytest.raises(MissingTranslationError, match=r"no Chinese in made.md for: One more\."):
        translated.translated("made", "One more.", "zh")


SOURCES: dict[str, Callable[[], list[str]]] = {
    "errors": lambda: [
        paragraph
        for each in map(entry, codes())
        for text in (each.title, each.cause, each.cure)
        for paragraph in re.split(r"\n\n+", text)
    ],
    "failures": lambda: [each.summary for each in load_all()],
    "reference": reference.texts,
}
"""What each file of translations is about."""


@pytest.mark.parametrize("name", SOURCES)
def test_every_text_has_its_translation_and_none_is_left_over(name: str) -> None:
    pairs.cache_clear()
    assert pairs(name).keys() == {" ".join(text.split()) for text in SOURCES[name]()}


@pytest.mark.parametrize("name", SOURCES)
def test_a_translation_is_chinese_with_the_code_of_the_original(name: str) -> None:
    spans = lambda text: {*re.findall(r"`[^`]+`", text)}
    wrong = [
        english
        for english, chinese in pairs(name).items()
        if not re.search(r"[一-鿿]", chinese) or spans(english) != spans(chinese)
    ]
    assert wrong == []


def test_a_link_leads_to_the_same_heading() -> None:
    assert link_in_chinese("guide/limits.md") == ("限制", "guide/limits.md")
    text, target = link_in_chinese("guide/control-flow.md#loops")
    assert (text, target) == ("循环", "guide/control-flow.md#循环")
    assert page_in("zh", DOCS / target.partition("#")[0]) == CHINESE / "guide" / "control-flow.md"
