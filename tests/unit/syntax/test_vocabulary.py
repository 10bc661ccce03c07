"""Passes and operators speak the same words (architecture: they never import each other)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import d2s.passes
from d2s.runtime import NAMESPACE
from d2s.syntax.vocabulary import WORDS, word

TEXTS = {
    path.stem: path.read_text(encoding="utf-8")
    for path in Path(d2s.passes.__path__[0]).rglob("*.py")
}


def used_in(text: str) -> set[str]:
    """Words in templates (``d2s.word``, or ``d2s.{a}`` with the words beside it in quotes)."""
    code = re.sub(r'^ *"""\w.*?"""', "", text, flags=re.DOTALL | re.MULTILINE)  # no docstrings
    code = re.sub(r"(from|import) d2s[\w.]*", "", code)
    found = set(re.findall(r"\bd2s\.(\w+)", code))
    if re.search(r"d2s\.\{", code):
        found |= {name for name in WORDS if re.search(rf"[\"']{name}[\"']", code)}
    return found


def test_each_word_is_an_operator() -> None:
    assert set(vars(NAMESPACE)) == set(WORDS)
    for name in WORDS:
        assert callable(getattr(NAMESPACE, name)), name


@pytest.mark.parametrize("name", sorted(WORDS))
def test_each_word_is_used_by_a_pass(name: str) -> None:
    assert any(name in used_in(text) for text in TEXTS.values())


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_passes_use_no_other_words(name: str) -> None:
    assert used_in(TEXTS[name]) - {"passes", "syntax", "analysis", "errors"} <= set(WORDS)


@pytest.mark.parametrize("name", sorted(WORDS))
def test_each_word_says_what_it_is(name: str) -> None:
    assert re.match(rf"{name}\(.*\): \S", WORDS[name]), WORDS[name]


def test_a_misspelt_word_is_found() -> None:
    assert word("if_") == "d2s.if_"
    with pytest.raises(KeyError, match="iff"):
        word("iff")
