"""Chinese for texts that stand elsewhere, such as the catalogue of errors that d2s itself prints.

A file of ``corpus/translations`` has each English paragraph, quoted, above its translation.  A
paragraph that is not in it (it is new, or has been changed) is an error that quotes it, so a page
is never made of an old translation.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Final

from pymdownx.slugs import slugify

from corpus.language import CHINESE, DOCS, Language

FOLDER: Final = Path(__file__).parent / "translations"
_PAIR: Final = re.compile(r"((?:^> .*\n)+)\n((?:^(?!>|#).+\n)+)", re.M)
_FENCE: Final = re.compile(r"^```.*?^```$", re.M | re.S)
_SLUG: Final = slugify(case="lower")


class MissingTranslationError(Exception):
    """A paragraph without Chinese."""


@cache
def pairs(name: str) -> dict[str, str]:
    """The translations of a file by the English paragraph, each on one line."""
    text = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    return {
        " ".join(english.replace("> ", "", 1).replace("\n> ", "\n").split()): chinese.strip()
        for english, chinese in _PAIR.findall(text)
    }


def translated(name: str, text: str, language: Language) -> str:
    """A text of some paragraphs in a language.

    Raises:
        MissingTranslationError: a paragraph is not in the file of that name.
    """
    if language == "en":
        return text
    found = []
    for paragraph in re.split(r"\n\n+", text.strip()):
        english = " ".join(paragraph.split())
        if english not in pairs(name):
            file = (FOLDER / f"{name}.md").relative_to(DOCS.parent)
            raise MissingTranslationError(f"no Chinese in {file} for: {english}")
        found.append(pairs(name)[english])
    return "\n\n".join(found)


# -- links ---------------------------------------------------------------------------------------


def link_in_chinese(target: str) -> tuple[str, str]:
    """The heading that a link leads to on the Chinese page, and the link to it.

    The pages of both languages have the same headings in the same order, to which a test holds
    them.

    Args:
        target: a page below ``docs``, with an anchor or without.
    """
    page, _, anchor = target.partition("#")
    english, chinese = _headings(DOCS / page), _headings(CHINESE / page)
    if not anchor:
        return chinese[0], page
    heading = chinese[[_SLUG(each, "-") for each in english].index(anchor)]
    return heading, f"{page}#{_SLUG(heading, '-')}"


@cache
def _headings(page: Path) -> list[str]:
    """The headings of a page, without marks for code and links."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    found = re.findall(r"^#+ (.*)$", text, re.M)
    return [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", each).replace("`", "") for each in found]
