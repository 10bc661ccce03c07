"""The reasons in ``left.json``, and the functions that d2s has."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("left.json")
ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Left:
    """Why functions are not run whole.

    Attributes:
        reasons: by ``module:name``; a function in another one is ``outer.inner``, what stands in
            the module itself ``<module>``.
    """

    reasons: dict[str, str]

    @staticmethod
    def read(file: Path = FILE) -> Left:
        """What ``left.json`` says."""
        tables = json.loads(file.read_text(encoding="utf-8"))
        return Left(
            {f"{module}:{name}": why for module in tables for name, why in tables[module].items()}
        )


def functions_of_d2s(folder: Path = ROOT / "d2s") -> set[str]:
    """Each function of d2s, and each module."""
    found = set()
    for path in folder.rglob("*.py"):
        parts = path.relative_to(folder.parent).with_suffix("").parts
        module = ".".join(parts).removesuffix(".__init__")
        found.add(f"{module}:<module>")
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found |= {f"{module}:{name}" for name in _names(tree, ())}
    return found


def _names(node: Any, around: tuple[str, ...]) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        inside = around
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inside = (*around, child.name)
            if not isinstance(child, ast.ClassDef):
                yield ".".join(inside)
        yield from _names(child, inside)
