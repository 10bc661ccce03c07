"""``python -m corpus.reference``: write the API reference in Chinese, ``docs/zh/reference/api.md``.

The English page, ``docs/reference/api.md``, names what it shows, and mkdocstrings puts the
docstrings in the place of the names.  Here the same docstrings are written out, with the words of
``corpus/translations/reference.md``; signatures and examples are those of the code.

Ends with 0, or with 1 when a text has no translation.
"""

from __future__ import annotations

import logging
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, Final

import griffe
import yaml

from corpus.language import CHINESE, DOCS
from corpus.translated import MissingTranslationError, translated

PAGE: Final = DOCS / "reference" / "api.md"
CHINESE_PAGE: Final = CHINESE / "reference" / "api.md"
_CODES: Final = re.compile(r"^\((D2S\d{3}(?:, D2S\d{3})*)\)\.?\s*")
_LISTS: Final = {"parameters": "参数", "attributes": "属性", "raises": "抛出"}
_SIDE: Final = 80
"""A signature that is longer has a line for each parameter."""

Section = Any
"""A part of a docstring, as griffe parses it."""


# -- what the page shows ---------------------------------------------------------------------------


def _blocks() -> list[str]:
    """Headings, paragraphs and directives of the English page, in order."""
    return re.split(r"\n\n+|\n(?=:::)", PAGE.read_text(encoding="utf-8").strip())


@cache
def _package() -> Any:
    logging.getLogger("griffe").setLevel(logging.ERROR)
    return griffe.load("d2s", docstring_parser="google", search_paths=[str(DOCS.parent)])


def _shown(directive: str) -> tuple[Any, list[Any], list[Section]]:
    """What a directive names, the members that it asks for, and what is said of the first."""
    head, _, rest = directive.partition("\n")
    options = (yaml.safe_load(textwrap.dedent(rest)) or {}).get("options", {})
    found = _target(_package()[head.removeprefix("::: d2s.")])
    members = [_target(found.all_members[name]) for name in options.get("members", ())]
    hidden = {"parameters"} if options.get("show_docstring_parameters") is False else set()
    return found, members, [each for each in _sections(found) if each.kind.value not in hidden]


def _target(found: Any) -> Any:
    return found.final_target if found.is_alias else found


def _sections(found: Any) -> list[Section]:
    return list(found.docstring.parsed)


# -- texts --------------------------------------------------------------------------------------


def texts() -> list[str]:
    """Every paragraph of the page and of what it shows that wants a translation."""
    return [_markdown(text) for text in _texts()]


def _texts() -> Iterator[str]:
    for block in _blocks():
        if not block.startswith(":::"):
            yield block.lstrip("# ")
            continue
        _, members, sections = _shown(block)
        for each in (*sections, *(each for member in members for each in _sections(member))):
            yield from _texts_of(each)


def _texts_of(section: Section) -> Iterable[str]:
    kind = section.kind.value
    if kind == "text":
        return re.split(r"\n\n+", section.value)
    if kind == "examples":
        return []
    found = (_CODES.sub("", each.description) for each in section.value)
    return [text for text in found if text]


def _said(text: str) -> str:
    return translated("reference", _markdown(text), "zh") if text else ""


def _markdown(text: str) -> str:
    """The text of a docstring, code marked as on a page."""
    return re.sub(r":\w+:(?=`)", "", text).replace("``", "`")


# -- the page --------------------------------------------------------------------------------------


def render() -> str:
    """The Chinese page.

    Raises:
        MissingTranslationError: a paragraph has none.
    """
    made = []
    for block in _blocks():
        marks, _, text = block.rpartition("# ") if block.startswith("#") else ("", "", block)
        if block.startswith(":::"):
            made += _entry(*_shown(block))
        else:
            made.append(f"{marks}# {_said(text)}" if block.startswith("#") else _said(text))
    note = "<!-- Made by `make reference` from the docstrings and corpus/translations. -->"
    return "\n\n".join([made[0], note, *made[1:]]) + "\n"


def _entry(found: Any, members: list[Any], sections: list[Section]) -> Iterator[str]:
    yield f"### {found.name}"
    if found.is_function or any(each.kind.value == "parameters" for each in sections):
        yield _signature(found)
    yield from _parts(sections)
    for member in members:
        yield f"#### {found.name}.{member.name}"
        if member.is_function:
            yield _signature(member)
        yield from _parts(_sections(member))


def _signature(found: Any) -> str:
    """Name, parameters and result as a block of Python; one line where that is short."""
    given = [_parameter(each) for each in found.parameters if each.name != "self"]
    kinds = [each.kind for each in found.parameters if each.name != "self"]
    keyword = griffe.ParameterKind.keyword_only
    if keyword in kinds and griffe.ParameterKind.var_positional not in kinds:
        given.insert(kinds.index(keyword), "*")
    result = f" -> {found.returns}" if found.is_function and found.returns is not None else ""
    text = f"{found.name}({', '.join(given)}){result}"
    if len(text) > _SIDE:
        inside = "".join(f"    {each},\n" for each in given)
        text = f"{found.name}(\n{inside}){result}"
    return f"```py\n{text}\n```"


def _parameter(each: Any) -> str:
    stars = {"variadic positional": "*", "variadic keyword": "**"}.get(each.kind.value, "")
    typed = f": {each.annotation}" if each.annotation is not None else ""
    if stars or each.default is None:
        return f"{stars}{each.name}{typed}"
    return f"{each.name}{typed} = {each.default}" if typed else f"{each.name}={each.default}"


def _parts(sections: list[Section]) -> Iterator[str]:
    for each in sections:
        kind = each.kind.value
        if kind == "text":
            yield _said(each.value)
        elif kind == "examples":
            yield "**示例**"
            yield from (f"```pycon\n{text.rstrip()}\n```" for _, text in each.value)
        elif kind == "returns":
            yield "**返回**"
            yield _said(each.value[0].description)
        else:
            yield f"**{_LISTS[kind]}**"
            yield "\n".join(f"- {_item(item)}" for item in each.value)


def _item(item: Any) -> str:
    """A parameter, an attribute or an exception, with what is said of it."""
    names = str(item.annotation) if getattr(item, "name", None) is None else item.name
    if names.endswith(","):  # ``file, line: where.``, of which griffe takes a word for a type
        names += f" {item.annotation}"
    head = "、".join(f"`{name}`" for name in re.findall(r"[*\w.]+", names))
    codes = _CODES.match(item.description)
    if codes is not None:
        links = (f"[{code}](../errors/{code}.md)" for code in codes[1].split(", "))
        head += f"（{'、'.join(links)}）"
    text = _said(_CODES.sub("", item.description))
    return f"{head}：{text}" if text else head


def main() -> int:
    """Write the page; 1 where a text has no translation."""
    try:
        page = render()
    except MissingTranslationError as error:
        print(error, file=sys.stderr)
        return 1
    CHINESE_PAGE.parent.mkdir(exist_ok=True)
    CHINESE_PAGE.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
