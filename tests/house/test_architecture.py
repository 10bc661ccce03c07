"""docs/architecture.md shows the rooms, files and directions that there are."""

from __future__ import annotations

import re
import sys
from typing import Any

import pytest

from tests.house.rules import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
CONTRACTS = {
    contract["containers"][0].replace(".", "/"): contract["layers"]
    for contract in SETTINGS["tool"]["importlinter"]["contracts"]
    if contract["type"] == "layers"
}


def rooms(layers: list[str]) -> list[list[str]]:
    """The rooms of each layer, ``"(lint) | (debug)"``."""
    return [re.findall(r"\w+", layer) for layer in layers]


def picture(container: str) -> list[list[str]]:
    """The rooms of each line of the picture that the page has of a container."""
    (found,) = re.findall(rf"^`{container}`:\n\n```text\n(.*?)```", PAGE, re.MULTILINE | re.DOTALL)
    return [line.split() for line in found.splitlines()]


def table(container: str) -> set[str]:
    """The rooms in the table that the page has of a container."""
    name = container.rpartition("/")[2]
    head = "room" if name == "d2s" else f"room of `{name}`"
    (rows,) = re.findall(rf"^\| {head} \|.*\n\|---\|---\|\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    return set(re.findall(r"^\| `(\w+)` \|", rows, re.MULTILINE))


@pytest.mark.parametrize("container", CONTRACTS)
def test_the_pictures_are_the_contracts(container: str) -> None:
    """Line by line; ``import-linter`` holds the code against the contracts."""
    assert picture(container) == rooms(CONTRACTS[container])


@pytest.mark.parametrize("container", CONTRACTS)
def test_the_tables_have_every_room(container: str) -> None:
    """``__main__`` is no room."""
    wanted: set[Any] = {room for layer in rooms(CONTRACTS[container]) for room in layer}
    assert table(container) == wanted - {"__main__"}


def test_the_files_that_the_page_names_are_there() -> None:
    """From ``d2s``, or from one of its rooms where the picture says which."""
    named = set(re.findall(r"[\w/]+\.py\b", PAGE))
    known = [path.relative_to(ROOT).as_posix() for path in (ROOT / "d2s").rglob("*.py")]
    assert len(named) > 15
    assert {name for name in named if not any(path.endswith(f"/{name}") for path in known)} == set()
