"""The figures of the evaluation are those that are recorded."""

from __future__ import annotations

import re

import pytest

from corpus import evaluation
from corpus.case import load_all
from corpus.failures import failure
from corpus.language import LANGUAGES, Language, page_in
from tests.docs.pages import ROOT


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_is_what_the_results_say(language: Language) -> None:
    text = page_in(language, evaluation.PAGE).read_text("utf-8")
    shown = evaluation.render(text, language)
    assert text == shown, "run `python -m corpus.evaluation`, and read the diff"


def test_each_section_names_a_command() -> None:
    text = evaluation.PAGE.read_text("utf-8")
    sections = re.split(r"^## ", text, flags=re.M)[1:]
    for section in sections:
        title = section.partition("\n")[0]
        if title != "What this does not say":
            assert re.search(r"`(make|python -m|pytest|d2s) ", section), title


def test_a_figure_shows_what_is_recorded() -> None:
    text = "<!-- figures: rows 17 -->\nold\n<!-- end of figures -->\n"
    shown = evaluation.render(text, "en")
    assert "old" not in shown
    assert "| Paddle AST |" in shown
    assert evaluation.render(shown, "en") == shown


@pytest.mark.parametrize("name", ["README.md", "README.zh-CN.md"])
def test_the_numbers_of_the_readme_are_counted(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    assert re.findall(r"(\d+) (?:programs, beside|个程序展示了这一点.并)", text) == [
        str(len(load_all()))
    ]
    assert re.findall(r"(\d+) (?:programs\. Where|个程序展示了这一点。)", text) == [
        str(len(failure.load_all()))
    ]
