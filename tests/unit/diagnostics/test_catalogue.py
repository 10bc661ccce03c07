"""The catalogue of error codes: complete, its programs do what it says, its pages are fresh."""

from __future__ import annotations

import ast
import functools
import json
import re
from pathlib import Path

import pytest

import d2s
from corpus import errors
from corpus.errors import KINDS, PAGES, ExampleError, message_of, results_of
from corpus.language import LANGUAGES, Language, page_in
from corpus.messages import messages, pattern
from d2s.diagnostics.catalogue import Block, Entry, codes, entry, parse

ROOT = Path(d2s.__file__).parent
GUIDE = ROOT.parent / "docs" / "guide"
SOURCES = sorted(ROOT.rglob("*.py"))
CODE = re.compile(r"D2S\d{3}\b")
HOW = "run `make errors`, and read the diff"


@functools.cache
def nodes_of_sources() -> dict[Path, list[ast.AST]]:
    """All that d2s is made of, by file; whoever asks changes nothing."""
    return {path: [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))] for path in SOURCES}


def classes_with_codes() -> dict[str, str]:
    """Each code that a class of d2s has, wherever the class stands, with the name of the class."""
    found: dict[str, str] = {}
    for nodes in nodes_of_sources().values():
        for node in nodes:
            if not isinstance(node, ast.ClassDef):
                continue
            for item in node.body:
                value = getattr(item, "value", None)
                if isinstance(value, ast.Constant) and CODE.fullmatch(str(value.value)):
                    assert value.value not in found, f"{value.value} is the code of two classes"
                    found[value.value] = node.name
    return found


def names_used() -> set[str]:
    """Every name that a module of d2s other than ``errors`` reads."""
    return {
        node.id
        for path, nodes in nodes_of_sources().items()
        if path != ROOT / "errors.py"
        for node in nodes
        if isinstance(node, ast.Name)
    }


# -- complete --------------------------------------------------------------------------------------


def test_every_code_has_an_entry_and_every_entry_a_code() -> None:
    """The catalogue is the list of codes."""
    assert sorted(classes_with_codes()) == list(codes())
    assert sorted(KINDS) == list(codes())


def test_every_code_is_in_use() -> None:
    """No entry is about an error that nothing raises."""
    used = names_used()
    unused = [code for code, name in classes_with_codes().items() if name not in used]
    assert unused == []


@pytest.mark.parametrize("folder", ["d2s", "docs", "corpus/programs"])
def test_every_code_that_is_mentioned_exists(folder: str) -> None:
    """A code in a text or docstring can be looked up."""
    unknown = {
        (str(path), code)
        for path in (ROOT.parent / folder).rglob("*")
        if path.suffix in (".py", ".md")
        for code in CODE.findall(path.read_text(encoding="utf-8"))
        if code not in codes() and code != "D2S999" and code != "D2S299"
    }
    assert unknown == set()


@pytest.mark.parametrize("code", codes())
def test_links_lead_somewhere(code: str) -> None:
    """Each link is to a page of the guide, and to a heading of it."""
    found = entry(code)
    assert "](" not in found.cause + found.cure, "a terminal has no links"
    for link in found.see:
        name, _, anchor = link.target.partition("#")
        text = (GUIDE / name).read_text(encoding="utf-8")
        headings = {
            re.sub(r"[^a-z0-9]+", "-", line.lstrip("# ").lower()).strip("-")
            for line in text.splitlines()
            if line.startswith("#")
        }
        assert not anchor or anchor in headings, link


# -- its programs ----------------------------------------------------------------------------------


@pytest.mark.parametrize("code", codes())
def test_the_example_ends_with_its_code_and_the_page_shows_what_it_says(code: str) -> None:
    """The page is what the command writes: entry and message, to the letter."""
    found = entry(code)
    message = message_of(found)
    assert message.rstrip().endswith(f"[{code}]")
    for language in LANGUAGES:
        page = page_in(language, PAGES / f"{code}.md").read_text(encoding="utf-8")
        assert page == errors.page(found, message, language), HOW


@pytest.mark.parametrize("code", [code for code in codes() if entry(code).instead])
def test_the_better_form_runs_and_equals_dygraph(code: str) -> None:
    """What the catalogue advises works."""
    dygraph, static = results_of(entry(code))
    assert dygraph
    assert static == dygraph


@pytest.mark.parametrize("code", codes())
def test_every_message_of_the_code_is_on_its_page(code: str) -> None:
    """What the source can say under a code is on the page; what the example says is among it."""
    text = (PAGES / f"{code}.md").read_text(encoding="utf-8")
    said = messages().get(code, [])
    missing = [each for each in said if f"\n{each}\n" not in text]
    assert missing == [], HOW
    shown = text.partition("says:\n\n```text\n")[2].partition("\n```")[0]
    assert not said or any(pattern(each).search(shown) for each in said), shown


def test_no_error_is_made_of_a_text_that_is_not_found() -> None:
    """The reader of messages is not blind: each text that an error is made with is among them."""
    everything = "\n".join(text for texts in messages().values() for text in texts)
    names = set(classes_with_codes().values())
    texts = [
        str(node.args[0].value).partition("\n")[0]
        for nodes in nodes_of_sources().values()
        for node in nodes
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant)
        if isinstance(node.func, ast.Name) and node.func.id in names
    ]
    assert len(texts) >= 20
    assert [text for text in texts if text not in everything] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_page_is_missing_or_left_over(language: Language) -> None:
    """The folder holds the pages of the catalogue, and the list of them."""
    folder = page_in(language, PAGES)
    names = {path.name for path in folder.glob("*.md")}
    assert names == {"index.md", *(f"{code}.md" for code in codes())}, HOW
    listed = errors.index([entry(code) for code in codes()], language)
    assert (folder / "index.md").read_text(encoding="utf-8") == listed, HOW


def test_the_guide_quotes_what_is_said() -> None:
    """No message in the guide is typed in by hand: each stands on the page of its code."""
    quoted = re.findall(r"```text\n(net\.py:.*?)```", (GUIDE / "errors.md").read_text(), re.DOTALL)
    assert quoted
    for message in quoted:
        (code,) = CODE.findall(message)
        assert message in (PAGES / f"{code}.md").read_text(encoding="utf-8")


ENDS_WELL = Entry("D2S204", "title", "cause", Block("python", "x = 1\n"), "cure")
ENDS_ELSEWHERE = Entry(
    "D2S204", "title", "cause", Block("python", "import d2s\nd2s.to_static(3)\n"), "cure"
)


@pytest.mark.parametrize(
    ("found", "words"),
    [(ENDS_WELL, "ends without an error"), (ENDS_ELSEWHERE, r"D2S102")],
)
def test_an_example_that_ends_otherwise_is_found(found: Entry, words: str) -> None:
    """The check of the examples can fail."""
    with pytest.raises(ExampleError, match=words):
        message_of(found)


# -- its form --------------------------------------------------------------------------------------

GOOD = """# Title

Cause.

## Example

```python
f(x)
```

## Cure

Cure.
"""


def test_an_entry_is_understood() -> None:
    """The form that the module describes."""
    found = parse("D2S999", GOOD + "\n## See\n\n- [A page](page.md#part)\n")
    assert (found.title, found.cause, found.cure) == ("Title", "Cause.", "Cure.")
    assert found.example == Block("python", "f(x)\n")
    assert found.instead is None
    assert [(link.text, link.target) for link in found.see] == [("A page", "page.md#part")]


@pytest.mark.parametrize(
    "text",
    [
        "",
        GOOD.removeprefix("# Title"),
        GOOD.replace("Cause.", ""),
        GOOD.replace("## Cure\n\nCure.\n", ""),
        GOOD.replace("Cure.\n", ""),
        GOOD.replace("```python", "```"),
        GOOD.replace("f(x)\n```", "f(x)\n```\n\nmore"),
        GOOD.replace("## Cure", "## Advice"),
        GOOD + "\n## See\n\nno link\n",
        GOOD + "\n## See\n\n- [A page](page.md)\n\n## Instead\n\n```python\nx\n```\n",
    ],
)
def test_another_form_is_refused(text: str) -> None:
    """A file that is not of the form says its code, and is never half read."""
    with pytest.raises(ValueError, match="D2S999"):
        parse("D2S999", text)


@pytest.mark.parametrize("code", codes())
def test_json(code: str) -> None:
    """``d2s explain --json`` can write every entry, and nothing of it is lost."""
    data = json.loads(json.dumps(entry(code).as_dict()))
    assert data["code"] == code
    assert data["example"] == entry(code).example.text
    assert (ROOT.parent / "docs" / data["docs"]).is_file()
    for link in data["see"]:
        assert (ROOT.parent / "docs" / link["target"].partition("#")[0]).is_file()


@pytest.mark.parametrize("code", ["", "D2S999", "d2s204", "../catalogue/D2S204"])
def test_a_code_that_there_is_not(code: str) -> None:
    """Only the codes themselves are names of files."""
    with pytest.raises(KeyError):
        entry(code)
