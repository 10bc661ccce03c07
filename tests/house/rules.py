"""The rules of docs/semantics.md, and who cites them.

A docstring cites a rule by its number: ``"B4: both names see the change."``, ``(rules C2 to C4)``.
Whatever looks like such a number counts, so a misspelt one is found.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "semantics.md"

_RULE = re.compile(r"\b[A-H][0-9]{1,2}b?\b")
_ROW = re.compile(r"^\| ([A-H][0-9]{1,2}b?) \|", re.MULTILINE)
_RANGE = re.compile(r"\b([A-H][0-9]b?) to ([A-H][0-9]b?)\b")


@dataclass(frozen=True)
class Citation:
    """A rule, as a docstring names it.

    Attributes:
        rule: its number, such as ``"B4"``.
        file: the file, from the root of the project.
        line: the line on which the function, class or module begins.
        test: whether a test says that it is about this rule, by itself and not in a range of rules.
    """

    rule: str
    file: str
    line: int
    test: bool


def rules_of(page: str) -> list[str]:
    """The rules that the text of the page states, in its order."""
    return _ROW.findall(page)


def cited_in(text: str, file: str) -> Iterator[Citation]:
    """The rules that the docstrings of a module cite."""
    nodes: list[ast.AST] = [ast.parse(text)]
    for node in nodes:  # expressions have no docstrings, so they are left out
        inner = ast.iter_child_nodes(node)
        nodes += [x for x in inner if isinstance(x, (ast.stmt, ast.excepthandler, ast.match_case))]
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            doc = ast.get_docstring(node) or ""
            test = not isinstance(node, ast.Module) and node.name.startswith(("test_", "Test"))
            line = 1 if isinstance(node, ast.Module) else node.lineno
            ends = {end for pair in _RANGE.findall(doc) for end in pair}
            for rule in _RULE.findall(doc):
                yield Citation(rule, file, line, test and rule not in ends)


@functools.cache
def citations(folder: str) -> list[Citation]:
    """The citations of all modules in a folder of the project, golden files left out."""
    return [
        found
        for path in sorted((ROOT / folder).rglob("*.py"))
        if "golden" not in path.parts
        for found in cited_in(path.read_text("utf-8"), str(path.relative_to(ROOT)))
    ]
