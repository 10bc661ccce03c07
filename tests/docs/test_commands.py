"""Commands of d2s and of make that the pages show exist, with their options."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer.main

from corpus import summary
from d2s import cli
from tests.docs.pages import DOCS, ROOT, blocks
from tests.processes import python

PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md")), ROOT / "examples" / "README.md"]
GROUP: Any = typer.main.get_command(cli.app)  # of Typer's own click
TARGETS = set(re.findall(r"^([a-z]+):.*##", (ROOT / "Makefile").read_text("utf-8"), re.M))


def shown(page: Path) -> list[list[str]]:
    """The words of each command of d2s in the blocks of shell of a page."""
    lines = [
        line for each in blocks(page) if each.language == "sh" for line in each.text.split("\n")
    ]
    return [
        words[1:]
        for words in (shlex.split(line, comments=True) for line in lines)
        if words[:1] == ["d2s"] and len(words) > 1
    ]


def known(words: list[str]) -> set[str]:
    """The options of a command; it must exist."""
    command = GROUP.commands[words[0]]
    return {name for each in command.params for name in (*each.opts, *each.secondary_opts)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_commands_of_a_page_exist(page: Path) -> None:
    for words in shown(page):
        before, _, _ = " ".join(words).partition(" train.py")  # what follows is of the program
        options = {each.partition("=")[0] for each in before.split() if re.match(r"--?[a-z]", each)}
        if words[0].startswith("-"):
            continue
        assert options - {"-m"} <= known(words), words


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_targets_of_make_exist(page: Path) -> None:
    named = set(re.findall(r"`make ([a-z]+)`", page.read_text("utf-8")))
    assert named <= TARGETS


def test_the_summary_of_a_run_is_that_of_the_page() -> None:
    """But for the seconds; ``python -m corpus.summary`` writes it."""
    default = {key: value for key, value in os.environ.items() if key != "D2S_FULL_GRAPH"}
    done = python("-m", "d2s", "run", summary.PROGRAM, env=default)
    assert done.returncode == 0, done.stderr
    found = [
        re.sub(r"\d+\.\d+", "N", line) for line in summary.summary_in(done.stderr).splitlines()
    ]
    for page in summary.PAGES:
        assert "\n".join(found) in re.sub(r"\d+\.\d+", "N", page.read_text("utf-8"))


def test_there_are_commands() -> None:
    assert sum(len(shown(page)) for page in PAGES) > 40
    assert "--side-by-side" in known(["dump"])
    assert len(TARGETS) > 20
