"""Every message that the code of d2s has for each error code, read from its source.

A message is the text that an error or warning is made with, at whatever place: ``Kind(text)``,
``error_here(Kind, text)``, a function that hands its own parameter on as the text.  What only the
moment knows (a name, a shape) stands as ``…``.
"""

from __future__ import annotations

import ast
import collections
import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import d2s

ROOT: Final = Path(d2s.__file__).parent
OPEN: Final = "…"
"""What stands for a part that is another one each time."""

_CODE: Final = re.compile(r"D2S\d{3}")
_Functions = ast.FunctionDef | ast.AsyncFunctionDef


@functools.cache
def messages() -> dict[str, list[str]]:
    """The messages of each code, sorted."""
    files = [ast.parse(path.read_text(encoding="utf-8")) for path in sorted(ROOT.rglob("*.py"))]
    kinds = dict(pair for tree in files for pair in _kinds(tree))
    found: dict[str, set[str]] = collections.defaultdict(set)
    for tree in files:
        for code, text in _File(tree, kinds).messages():
            found[code].add(text)
    return {code: sorted(texts) for code, texts in found.items()}


def pattern(text: str) -> re.Pattern[str]:
    """What matches the beginning of a message that was made of ``text``."""
    parts = map(re.escape, text.split(OPEN))
    return re.compile(".*?".join(parts), re.DOTALL)


def _kinds(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The classes with codes in a file, and those that have them of a class of the file's own."""
    known: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            values = [
                item.value for item in node.body if isinstance(item, ast.AnnAssign | ast.Assign)
            ]
            codes = [each.value for each in values if isinstance(each, ast.Constant)]
            own = [code for code in codes if isinstance(code, str) and _CODE.fullmatch(code)]
            inherited = [
                known[base.id]
                for base in node.bases
                if isinstance(base, ast.Name) and base.id in known
            ]
            for code in (*own, *inherited)[:1]:
                known[node.name] = code
                yield node.name, code


class _File:
    """One file: where it makes errors, and of which texts."""

    def __init__(self, tree: ast.Module, kinds: dict[str, str]) -> None:
        self.kinds = kinds
        self.constants = {
            target.id: node.value
            for node in tree.body
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if isinstance(target, ast.Name)
        }
        self.around: dict[ast.Call, _Functions | None] = dict(_calls(tree, None))

    def messages(self) -> Iterator[tuple[str, str]]:
        """Code and text of each error that is made here."""
        made = [pair for call in self.around for pair in self._made(call)]
        handed = set()
        for code, text, function in made:
            parameters = [] if function is None else [each.arg for each in function.args.args]
            if function is not None and isinstance(text, ast.Name) and text.id in parameters:
                at = parameters.index(text.id) - (parameters[0] == "self")
                if (function.name, code) not in handed:
                    handed.add((function.name, code))
                    made += self._calls_of(function.name, text.id, at, code)  # grows as it is read
                continue
            for said in self._texts(text, function):
                first = said.partition("\n")[0].removesuffix(f" [{OPEN}]")  # a cure may follow
                if first.strip(OPEN + " :[],."):
                    yield code, first

    def _made(self, call: ast.Call) -> Iterator[tuple[str, ast.expr, _Functions | None]]:
        """The error that a call makes, with the expression of its text."""
        function = self.around[call]
        name = call.func.id if isinstance(call.func, ast.Name) else None
        names = [each.id if isinstance(each, ast.Name) else None for each in call.args]
        if name in self.kinds and call.args:
            yield self.kinds[name], call.args[0], function
        elif len(names) > 1 and names[0] in self.kinds:  # error_here(Kind, text)
            yield self.kinds[str(names[0])], call.args[1], function
        elif len(names) > 1 and names[1] in self.kinds and _is_warning(call):
            yield self.kinds[str(names[1])], call.args[0], function

    def _calls_of(
        self, name: str, parameter: str, at: int, code: str
    ) -> Iterator[tuple[str, ast.expr, _Functions | None]]:
        """What is handed to a function that makes an error of a parameter."""
        for call, function in self.around.items():
            called = (
                call.func.attr
                if isinstance(call.func, ast.Attribute)
                else getattr(call.func, "id", "")
            )
            if called != name:
                continue
            named = [each.value for each in call.keywords if each.arg == parameter]
            for text in (*call.args[at : at + 1], *named):
                yield code, text, function

    def _texts(self, node: ast.expr, function: _Functions | None) -> list[str]:
        """What an expression may say."""
        if isinstance(node, ast.Constant):
            return [str(node.value)]
        if isinstance(node, ast.FormattedValue):
            found = self._texts(node.value, function)
            return found if found != [OPEN] and len(found) < 4 else [OPEN]
        if isinstance(node, ast.IfExp):
            return self._texts(node.body, function) + self._texts(node.orelse, function)
        if isinstance(node, ast.JoinedStr | ast.BinOp):
            parts = node.values if isinstance(node, ast.JoinedStr) else [node.left, node.right]
            said = [""]
            for part in parts:
                said = [before + after for before in said for after in self._texts(part, function)]
            return said
        if isinstance(node, ast.Name):
            assigned = _assigned(function, node.id)
            if assigned:
                return [text for each in assigned for text in self._texts(each, None)]
            if isinstance(self.constants.get(node.id), ast.Constant | ast.JoinedStr):
                return self._texts(self.constants[node.id], None)
        return [OPEN]


def _assigned(function: _Functions | None, name: str) -> list[ast.expr]:
    """The texts that a function assigns to one of its variables."""
    return [
        node.value
        for node in (() if function is None else ast.walk(function))
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Constant | ast.JoinedStr | ast.IfExp | ast.BinOp)
        and any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
    ]


def _is_warning(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr.startswith("warn")


def _calls(
    node: ast.AST, function: _Functions | None
) -> Iterator[tuple[ast.Call, _Functions | None]]:
    """Every call below a node, with the function that it stands in."""
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.Call):
            yield inner, function
        yield from _calls(inner, inner if isinstance(inner, _Functions) else function)
