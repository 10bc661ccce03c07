"""The trees of Python and of gast say the same, whichever way they are made."""

from __future__ import annotations

import ast
from pathlib import Path

import gast
import pytest

import d2s
from d2s.syntax.plain import to_ast, to_gast

FILES = sorted(Path(d2s.__file__).parent.rglob("*.py"))[::6]

TEXTS = {
    "parameters": "def f(a: int, /, b=1, *c: str, d, e=2, **g) -> None: pass",
    "handlers": "try:\n    pass\nexcept (A, B) as error:\n    pass\nexcept C:\n    pass",
    "patterns": "match a:\n    case {'k': [1, *r], **o} | C(x, y=None) if x: pass",
    "comprehensions": "[a async for a in b if c], {**d, e: f}, (g for h in i)",
    "strings": "f'{a!r:>{b}}', b'c', u'd'",
    "class": "@d\nclass A(B, metaclass=C):\n    x: int = 1",
}


def dumped(tree: ast.AST) -> str:
    return ast.dump(tree, include_attributes=True)


@pytest.mark.parametrize("text", [*TEXTS.values()], ids=[*TEXTS])
def test_there_and_back(text: str) -> None:
    if "async for" in text:
        text = f"async def f():\n    {text}"
    tree = ast.parse(text)
    assert dumped(to_ast(to_gast(tree))) == dumped(tree)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_tree_is_that_of_gast(file: Path) -> None:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    mine, theirs = to_gast(tree), gast.ast_to_gast(tree)
    assert gast.dump(mine, include_attributes=True) == gast.dump(theirs, include_attributes=True)
    assert dumped(to_ast(mine)) == dumped(tree)


def test_what_has_no_position_gets_that_of_the_node_around() -> None:
    (call,) = gast.parse("\n\n   \nf(a)").body
    call.value.args.append(gast.Name("b", gast.Load(), None, None))
    plain = to_ast(gast.Module([call], []))
    added = plain.body[0].value.args[1]
    assert (added.lineno, added.col_offset, added.end_lineno, added.end_col_offset) == (4, 0, 4, 0)
    assert compile(plain, "<text>", "exec")
