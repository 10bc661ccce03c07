"""The Chinese pages are in step with the English ones: headings, code, tables, codes of errors.

Comments in Python and shell, and the words of a diagram, may be translated; all other code is the
same, so that what runs on an English page runs on the Chinese one.  Code in the middle of
sentences is the same, too; words are not compared.  Generated pages are made in both languages by
one command, which the tests of each command hold; what is asked here holds for them, too.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, ROOT, Block, blocks, headings, rows

CHINESE = DOCS / "zh"
FENCED = re.compile(r"^ *```.*?^ *```$", re.M | re.S)
PART = re.compile(r"<!-- [\w ]+: .*?-->.*?<!-- (?:[\w ]+: end|end of [\w ]+|/bench) -->", re.S)
HOW = "translate what has changed in {english} into {chinese}"
OF_DOCSTRINGS = "reference/api.md"
"""The English page has names only, and mkdocstrings writes the rest; ``test_reference.py``."""

PAIRS = {
    ROOT / "README.zh-CN.md": ROOT / "README.md",
    **{page: DOCS / page.relative_to(CHINESE) for page in sorted(CHINESE.rglob("*.md"))},
}


def pairs() -> list[object]:
    """Each Chinese page with the English one."""
    return [
        pytest.param(chinese, english, id=str(chinese.relative_to(ROOT)))
        for chinese, english in PAIRS.items()
        if english != DOCS / OF_DOCSTRINGS
    ]


def bare(block: Block) -> str:
    """What a block does: without the comments that may be translated."""
    if block.language == "python":
        return ast.dump(ast.parse(block.text))
    if block.language == "diagram":  # the files and rooms in it
        return " ".join(re.findall(r"\w[\w/]*/[\w/.]*|\w+\.py|d2s[ .]\w+", block.text, re.A))
    if block.language == "sh":
        return re.sub(r" *(^|\s)#.*$", "", block.text, flags=re.M)
    return block.text


def test_every_page_of_the_guide_is_there_in_chinese() -> None:
    english = {page.relative_to(DOCS).with_suffix("").as_posix() for page in DOCS.rglob("*.md")}
    wanted = {name for name in english if not name.startswith(("zh/", "decisions/"))}
    found = {page.relative_to(CHINESE).with_suffix("").as_posix() for page in CHINESE.rglob("*.md")}
    assert found == wanted


@pytest.mark.parametrize(("chinese", "english"), pairs())
def test_the_headings_are_those_of_the_english_page(chinese: Path, english: Path) -> None:
    assert headings(chinese) == headings(english), HOW.format(chinese=chinese, english=english)


@pytest.mark.parametrize(("chinese", "english"), pairs())
def test_the_code_is_that_of_the_english_page(chinese: Path, english: Path) -> None:
    found = [(block.language, bare(block)) for block in blocks(chinese)]
    assert found == [(block.language, bare(block)) for block in blocks(english)], HOW.format(
        chinese=chinese, english=english
    )


@pytest.mark.parametrize(("chinese", "english"), pairs())
def test_the_tables_and_lists_are_as_long(chinese: Path, english: Path) -> None:
    assert rows(chinese) == rows(english), HOW.format(chinese=chinese, english=english)


@pytest.mark.parametrize(("chinese", "english"), pairs())
def test_the_codes_are_those_of_the_english_page(chinese: Path, english: Path) -> None:
    codes = lambda page: sorted(set(re.findall(r"D2S\d{3}", page.read_text("utf-8"))))
    assert codes(chinese) == codes(english), HOW.format(chinese=chinese, english=english)


@pytest.mark.parametrize(("chinese", "english"), pairs())
def test_links_stay_in_chinese_where_there_is_a_chinese_page(chinese: Path, english: Path) -> None:
    found = re.findall(r"\]\(([^)\s:]+\.md)(?:#[^)\s]*)?\)", chinese.read_text("utf-8"))
    targets = {(chinese.parent / link).resolve() for link in found}
    assert targets & {*PAIRS.values()} - {english} == set()


def spans(page: Path) -> set[str]:
    """The code in the sentences of a page, without what a program has written into parts of it."""
    text = PART.sub("", FENCED.sub("", page.read_text("utf-8")))
    return {" ".join(span.split()) for span in re.findall(r"`[^`]+`", text)}


@pytest.mark.parametrize(("chinese", "english"), pairs())
def test_the_code_in_sentences_is_that_of_the_english_page(chinese: Path, english: Path) -> None:
    assert spans(chinese) == spans(english), HOW.format(chinese=chinese, english=english)


def test_a_change_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    text = "# A\n\n```python\nx = 1  # one\n```\n\n| a |\n|---|\n| b |\n\n- c\n"
    page.write_text(text, "utf-8")
    block, levels, lengths = blocks(page)[0], headings(page), rows(page)
    page.write_text(text.replace("# one", "# 一"), "utf-8")
    assert bare(blocks(page)[0]) == bare(block)
    page.write_text(text.replace("x = 1", "x = 2"), "utf-8")
    assert bare(blocks(page)[0]) != bare(block)
    page.write_text(text.replace("- c", "- `c`"), "utf-8")
    assert spans(page) == {"`c`"}
    page.write_text(text.replace("# A", "## A"), "utf-8")
    assert headings(page) != levels
    page.write_text(text.replace("| b |\n", ""), "utf-8")
    assert rows(page) != lengths
