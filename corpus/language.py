"""The two languages of the generated pages: a phrase in both of them, and where a page lies.

A page is rendered once for each language, from the same results.  Its words are made of
:class:`Text`, which cannot be made without its translation; names of programs, verdicts and
messages are the same in both.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

Language = Literal["en", "zh"]

LANGUAGES: Final[tuple[Language, ...]] = ("en", "zh")
DOCS: Final = Path(__file__).resolve().parents[1] / "docs"
CHINESE: Final = DOCS / "zh"
_WIDE: Final = r"[\u3000-\u9fff\uff00-\uffef]"
_BREAK: Final = re.compile(rf"(?<={_WIDE})\n(?={_WIDE})")


@dataclass(frozen=True)
class Text:
    """A phrase in English and in Chinese.

    A line of Chinese that ends within a sentence goes on without a space.

    >>> Text("a loop", "循环")["zh"]
    '循环'
    """

    en: str
    zh: str

    def __getitem__(self, language: Language) -> str:
        return _BREAK.sub("", self.zh) if language == "zh" else self.en


def same(text: str) -> Text:
    """What is not translated: a name, code, a verdict."""
    return Text(text, text)


def page_in(language: Language, page: Path) -> Path:
    """Where the page that is ``page`` in English lies in a language.

    >>> page_in("zh", DOCS / "guide" / "zoo.md").relative_to(DOCS).as_posix()
    'zh/guide/zoo.md'
    """
    return CHINESE / page.relative_to(DOCS) if language == "zh" else page


def write(page: Path, render: Callable[[Language], str]) -> None:
    """Write a page in each language."""
    for language in LANGUAGES:
        path = page_in(language, page)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(render(language), encoding="utf-8")


def table(titles: tuple[Text, ...], language: Language) -> list[str]:
    """The head of a Markdown table."""
    return [f"| {' | '.join(each[language] for each in titles)} |", "|" + "---|" * len(titles)]


def section(title: Text, body: str, language: Language) -> str:
    """A section of a page."""
    return f"## {title[language]}\n\n{body}"
