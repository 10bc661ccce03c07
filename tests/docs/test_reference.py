"""The API reference has every public name, and each docstring what a reader looks for.

The Chinese page is made of the same docstrings.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import d2s
from corpus import reference
from d2s.diagnostics.catalogue import codes

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "api.md").read_text("utf-8")
SHOWN = re.findall(r"^::: d2s\.(?:api\.)?(\w+)$", PAGE, re.MULTILINE)


def sections(name: str) -> dict[str, str]:
    """The sections of a docstring, by heading."""
    text = inspect.getdoc(getattr(d2s, name)) or ""
    parts = re.split(r"^(\w+):$", text, flags=re.MULTILINE)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def parameters(found: Any) -> set[str]:
    """The names a caller can give; none of what only d2s makes."""
    if found in (d2s.Report, d2s.Explanation, d2s.StaticFunction):
        return set()
    return set(inspect.signature(found).parameters)


def test_every_public_name_is_on_the_page_once() -> None:
    assert sorted(SHOWN) == sorted(d2s.__all__)


@pytest.mark.parametrize("name", d2s.__all__)
def test_a_docstring_has_its_parameters_and_an_example(name: str) -> None:
    found = sections(name)
    assert found[""].strip()
    assert ">>> " in found.get("Examples", "") or "has an example" in found[""]
    described = found.get("Args", "") + found.get("Attributes", "")
    heads = re.findall(r"^ {4}([*\w, ]+): ", described, re.MULTILINE)
    named = {each.strip().lstrip("*") for head in heads for each in head.split(",")}
    assert parameters(getattr(d2s, name)) <= named


@pytest.mark.parametrize("name", d2s.__all__)
def test_each_code_of_a_docstring_exists(name: str) -> None:
    text = inspect.getdoc(getattr(d2s, name)) or ""
    assert {each for each in re.findall(r"D2S\d+", text) if each != "D2S"} <= set(codes())


def test_the_chinese_page_is_made_of_the_docstrings() -> None:
    page = reference.CHINESE_PAGE.read_text("utf-8")
    assert reference.render() == page, "run `make reference`, and read the diff"


def test_every_public_name_is_on_the_chinese_page_once() -> None:
    """With its parameters, and the example as the docstring has it."""
    page = reference.CHINESE_PAGE.read_text("utf-8")
    parts = re.split(r"^### (\w+)$", page, flags=re.MULTILINE)
    entries = dict(zip(parts[1::2], parts[2::2], strict=True))
    assert set(d2s.__all__) <= set(entries)
    assert len(parts[1::2]) == len(entries)
    for name in d2s.__all__:
        assert all(
            f"`{each}`" in entries[name].replace("*", "") for each in parameters(getattr(d2s, name))
        )
        if ">>> " in sections(name).get("Examples", ""):
            assert inspect.cleandoc(sections(name)["Examples"]).partition("\n")[0] in entries[name]
