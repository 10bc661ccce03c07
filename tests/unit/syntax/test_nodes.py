"""Every kind of node that Python's grammar or gast knows, and what a conversion makes of it.

A node class that is in none of the tables below fails the first tests: nobody has said yet what
becomes of it. Each class in a table has a function that uses it, which goes through
``d2s.convert`` and still does on Python values what Python does.
"""

# ruff: noqa: E501 - a function a line

from __future__ import annotations

import ast
import asyncio
import inspect
import sys
import textwrap
from collections.abc import Callable
from typing import Any

import gast
import pytest

import d2s
from d2s.syntax.source import source_of
from tests.helpers import function_of

# Class -> (a word that its conversion uses, a function). The word is an operator of
# ``d2s.syntax.vocabulary``, or a text that stands in the generated code and not in the original.
CONVERTED: dict[str, tuple[str, str]] = {
    "If": ("d2s.if_(", "def f(x):\n if x > 1:\n  x = -x\n elif x:\n  x = 5\n else:\n  x = 7\n return x"),
    "While": ("d2s.while_(", "def f(x):\n n = 0\n while x > n:\n  n += 1\n else:\n  n += 10\n return n"),
    "For": ("d2s.for_(", "def f(x):\n n = 0\n for i in range(x):\n  n += i\n else:\n  n += 10\n return n"),
    "Break": ("broken", "def f(x):\n for i in range(9):\n  if i == x:\n   break\n else:\n  i = 99\n return i"),
    "Continue": ("d2s.if_(", "def f(x):\n n = 0\n for i in range(4):\n  if i == x:\n   continue\n  n += i\n return n"),
    "Return": ("result", "def f(x):\n if x:\n  return x\n return 'none'"),
    "IfExp": ("d2s.ifelse(", "def f(x):\n return 'a' if x else 'b'"),
    "BoolOp": ("d2s.and_(", "def f(x):\n return x and 1 / x or 'zero'"),
    "And": ("d2s.and_(", "def f(x):\n return x and 1 / x"),
    "Or": ("d2s.or_(", "def f(x):\n return x or 'zero'"),
    "Not": ("d2s.not_(", "def f(x):\n return not x"),
    "In": ("d2s.in_(", "def f(x):\n return x in [1, 2]"),
    "NotIn": ("d2s.not_in(", "def f(x):\n return x not in [1, 2]"),
    "Is": ("d2s.is_(", "def f(x):\n y = x or None\n return y is None"),
    "IsNot": ("d2s.is_not(", "def f(x):\n y = x or None\n return y is not None"),
    "Assert": ("d2s.assert_(", "def f(x):\n assert x, 'zero ' + str(x)\n return x"),
    "Raise": ("d2s.error(", "def f(x):\n if x:\n  raise ValueError(x) from None\n return x"),
    "Call": ("d2s.call(", "def g(*a, **k):\n return a, k\ndef f(x):\n return g(x, *[1, x], key=x, **{'m': 2})"),
    "JoinedStr": ("d2s.text(", "def f(x):\n return f'a{x}b'"),
    "FormattedValue": ("d2s.text(", "def f(x):\n return f'{x!r:>{x}}|{x=}'"),
    "Subscript": ("d2s.getitem(", "def f(x):\n return [5, 6, 7][x % 3]"),
    "Match": ("d2s.if_(", "def f(x):\n match x:\n  case 1 if x > 0:\n   return 'one'\n  case n:\n   return n"),
    "ListComp": ("d2s.list_(", "def f(x):\n return [i * x for i in [1, 2, 3] if i != x]"),
    "Set": ("d2s.set_(", "def f(x):\n return {x, 1}"),
    "SetComp": ("d2s.set_(", "def f(x):\n return {i * x for i in [1, 2, 3]}"),
    "DictComp": ("d2s.dict_(", "def f(x):\n return {i: x for i in [1, 2]}"),
    "match_case": ("d2s.if_(", "def f(x):\n match x:\n  case 1:\n   return 'one'\n return x"),
    "MatchValue": ("d2s.if_(", "def f(x):\n match x:\n  case 1:\n   return 'one'\n return x"),
    "MatchSingleton": ("d2s.if_(", "def f(x):\n match x or None:\n  case None:\n   return 'none'\n return x"),
    "MatchAs": ("d2s.if_(", "def f(x):\n match x:\n  case 1 as a:\n   return a, 'one'\n  case b:\n   return b"),
    "MatchOr": ("d2s.if_(", "def f(x):\n match x:\n  case 1 | 2:\n   return 'low'\n return x"),
    "Try": ("d2s.attempt(", "def f(x):\n try:\n  x = str(1 / x)\n except ZeroDivisionError:\n  x = 'zero'\n finally:\n  y = x\n return y"),
}  # fmt: skip

# Class -> a function. The node stands in the generated code as well.
PASSED: dict[str, str] = {
    # statements
    "FunctionDef": "def f(x):\n def g(y=x):\n  return y + 1\n return g()",
    "ClassDef": "def f(x):\n class A(dict, metaclass=type):\n  k = x\n return A.k, A(a=1)",
    "Assign": "def f(x):\n a = b = x\n (c, *d), e = [a, 1, 2], b\n return a, b, c, d, e",
    "AugAssign": "def f(x):\n y = [x]\n y[0] += 2\n x -= 1\n return x, y",
    "AnnAssign": "def f(x):\n y: int\n z: int = x\n y = z\n return y",
    "Delete": "def f(x):\n y = [x, 1]\n del y[0]\n return y",
    "With": "def f(x):\n import contextlib\n with contextlib.suppress(ZeroDivisionError) as y, contextlib.nullcontext(x):\n  x = 1 / x\n return x, y",
    "Import": "def f(x):\n import math as m\n return m.floor(x + 0.5)",
    "ImportFrom": "def f(x):\n from math import floor as g\n return g(x + 0.5)",
    "Global": "def f(x):\n global G\n G = x\n return G",
    "Nonlocal": "def f(x):\n y = 0\n def g():\n  nonlocal y\n  y = x\n g()\n return y",
    "Expr": "def f(x):\n y = []\n y.append(x)\n return y",
    "Pass": "def f(x):\n class A:\n  pass\n return A.__name__, x",
    # expressions
    "NamedExpr": "def f(x):\n return (y := x + 1) * y",
    "BinOp": "def f(x):\n return x + 1",
    "UnaryOp": "def f(x):\n return -x",
    "Lambda": "def f(x):\n return (lambda a, /, b=2, *c, d=3, **e: (a, b, c, d, e))(x)",
    "Dict": "def f(x):\n return {'a': x, **{'b': 1}}",
    "List": "def f(x):\n return [x, *[1]]",
    "Tuple": "def f(x):\n return x, 1",
    "GeneratorExp": "def f(x):\n return list(i * x for i in [1, 2])",
    "comprehension": "def f(x):\n return [(i, j) for i in [1, x] for j in [i] if i]",
    "Compare": "def f(x):\n return x < 2",
    "Constant": "def f(x):\n return x, 1, 2.5, 3j, 'a', b'b', None, True, ...",
    "Attribute": "def f(x):\n return x.real",
    "Slice": "def f(x):\n return [5, 6, 7][1 : : 2]",
    "Starred": "def f(x):\n b = [x, 1, 2]\n return max(*b)",
    "Name": "def f(x):\n return x",
    "Yield": "def f(x):\n y = yield x\n yield y",
    "YieldFrom": "def f(x):\n y = yield from [x, 1]\n return y",
    "Await": "async def g(x):\n return x\nasync def f(x):\n return await g(x)",
    "AsyncFunctionDef": "def f(x):\n async def g():\n  return x\n import asyncio\n return asyncio.run(g())",
    "AsyncFor": "async def g(x):\n yield x\n yield 1\nasync def f(x):\n out = []\n async for i in g(x):\n  out.append(i)\n else:\n  out.append('else')\n return out",
    "AsyncWith": "class A:\n async def __aenter__(self):\n  return 1\n async def __aexit__(self, *a):\n  return True\nasync def f(x):\n async with A() as y:\n  x = y / x\n return x",
    # parts
    "arguments": "def f(x, y=1, *z, k=2, **more):\n return x, y, z, k, more",
    "keyword": "def f(x):\n return dict(a=x)",
    "alias": "def f(x):\n import math as m\n return m.pi * x",
    "withitem": "def f(x):\n import contextlib\n with contextlib.nullcontext(x) as y:\n  return y",
    "ExceptHandler": "def f(x):\n try:\n  return 1 / x\n except ZeroDivisionError as e:\n  return str(e)",
    "MatchSequence": "def f(x):\n match [x, 2]:\n  case [1, a]:\n   return a\n return x",
    "MatchStar": "def f(x):\n match [x, 2, 3]:\n  case [1, *a]:\n   return a\n return x",
    "MatchMapping": "def f(x):\n match {'k': x, 'm': 2}:\n  case {'k': 1, **a}:\n   return a\n return x",
    "MatchClass": "def f(x):\n match x:\n  case int(real=1):\n   return 'one'\n return x",
    # contexts
    "Load": "def f(x):\n return x",
    "Store": "def f(x):\n y = x\n return y",
    "Del": "def f(x):\n y = [x, 1]\n del y[0]\n return y",
    "Param": "def f(x):\n return x",
    # operators
    **{
        name: f"def f(x):\n return 7 {sign} (x + 1)"
        for name, sign in {
            "Add": "+", "Sub": "-", "Mult": "*", "Div": "/", "FloorDiv": "//", "Mod": "%",
            "Pow": "**", "LShift": "<<", "RShift": ">>", "BitOr": "|", "BitXor": "^", "BitAnd": "&",
            "Eq": "==", "NotEq": "!=", "Lt": "<", "LtE": "<=", "Gt": ">", "GtE": ">=",
        }.items()
    },
    "MatMult": "def f(x):\n class A:\n  def __matmul__(self, other):\n   return other\n return A() @ x",
    "UAdd": "def f(x):\n return +x",
    "USub": "def f(x):\n return -x",
    "Invert": "def f(x):\n return ~x",
}  # fmt: skip
if sys.version_info >= (3, 11):
    PASSED["TryStar"] = (
        "def f(x):\n try:\n  if x:\n   raise ExceptionGroup('g', [ValueError(x)])\n"
        " except* ValueError as e:\n  x = str(e.exceptions)\n return x"
    )
if sys.version_info >= (3, 12):
    PASSED |= {
        "TypeAlias": "def f(x):\n type A = list[int]\n return A.__value__, x",
        "TypeVar": "def f(x):\n def g[T: int](y: T) -> T:\n  return y\n return g(x)",
        "TypeVarTuple": "def f(x):\n def g[*T](*y: *T):\n  return y\n return g(x)",
        "ParamSpec": "def f(x):\n def g[**P](y):\n  return y\n return g(x)",
    }

# Class -> (the code of the error, a function).
REFUSED: dict[str, tuple[str, str]] = {}
# Paddle has no wheel for Python 3.14 yet, so these two have not been tried.
if sys.version_info >= (3, 14):
    REFUSED |= {
        "TemplateStr": ("D2S103", "def f(x):\n return t'a{x}'"),
        "Interpolation": ("D2S103", "def f(x):\n return t'{x}'"),
    }

# Never part of a function that the running Python has parsed.
ABSENT: dict[str, str] = {
    **dict.fromkeys(
        ["AST", "mod", "stmt", "expr", "slice", "expr_context", "boolop", "operator", "unaryop"],
        "a base class",
    ),
    **dict.fromkeys(
        ["cmpop", "excepthandler", "pattern", "type_ignore", "type_param"], "a base class"
    ),
    **dict.fromkeys(["Module", "Interactive", "Expression", "FunctionType"], "above functions"),
    "TypeIgnore": "only for parsers that ask for type comments",
    "arg": "gast says Name instead",
    **dict.fromkeys(["Exec", "Print", "Repr"], "Python 2"),
    **dict.fromkeys(["Suite", "AugLoad", "AugStore"], "no parser makes it any more"),
    **dict.fromkeys(
        ["Num", "Str", "Bytes", "NameConstant", "Ellipsis", "_ast_Ellipsis"],
        "an old name of Constant",
    ),
    **dict.fromkeys(["Index", "ExtSlice"], "no parser makes it any more"),
}
for _name, _since in {
    "TryStar": (3, 11),
    **dict.fromkeys(["TypeAlias", "TypeVar", "TypeVarTuple", "ParamSpec"], (3, 12)),
    **dict.fromkeys(["TemplateStr", "Interpolation"], (3, 14)),
}.items():
    if sys.version_info < _since:
        ABSENT[_name] = f"syntax of Python {_since[0]}.{_since[1]}"

INPUTS = (0, 1, 2, 3)


def classes(module: Any) -> set[str]:
    return {
        name
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, ast.AST)
    }


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("module", [gast, ast])
def test_each_class_is_in_one_table(module: Any) -> None:
    tables = [set(table) for table in (CONVERTED, PASSED, REFUSED, ABSENT)]
    known = set().union(*tables)
    assert sum(map(len, tables)) == len(known), "a class is in two tables"
    assert classes(module) - known == set(), "say what becomes of these"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_tables_name_nothing_else() -> None:
    known = set(CONVERTED) | set(PASSED) | set(REFUSED) | set(ABSENT)
    old = {
        "_ast_Ellipsis",
        "Num",
        "Str",
        "Bytes",
        "NameConstant",
        "Ellipsis",
        "Index",
        "ExtSlice",
        "TypeIgnore",
    }
    old |= {"Suite", "AugLoad", "AugStore", "Param", "slice", "type_param"}
    assert known - classes(gast) - classes(ast) <= old


def outcome(function: Callable[..., Any], x: int) -> Any:
    try:
        result = function(x)
        if inspect.iscoroutine(result):
            result = asyncio.run(result)
        if inspect.isgenerator(result):
            result = list(result)
        return type(result), repr(result)
    except Exception as error:
        return type(error), str(error), error.__suppress_context__


def kinds(tree: Any) -> set[str]:
    return {type(node).__name__ for node in ast.walk(tree)}


def converted(text: str) -> str:
    """Hold the converted function against the original; give the generated text."""
    function = function_of(text, "f")
    new = d2s.convert(function)
    for x in INPUTS:
        assert outcome(new, x) == outcome(function, x), x
    return d2s.code(function)


@pytest.mark.parametrize("name", CONVERTED)
def test_a_converted_node(name: str) -> None:
    word, text = CONVERTED[name]
    assert name in kinds(source_of(function_of(text, "f")).tree), "the function lacks the node"
    code = converted(text)
    assert word not in text
    assert word in code, code


@pytest.mark.parametrize("name", PASSED)
def test_a_node_that_is_passed_through(name: str) -> None:
    text = PASSED[name]
    assert name in kinds(source_of(function_of(text, "f")).tree), "the function lacks the node"
    code = converted(text)
    assert name in kinds(gast.parse(textwrap.dedent(code))), code


@pytest.mark.parametrize("name", REFUSED)
def test_a_node_that_is_refused(name: str) -> None:
    code, text = REFUSED[name]
    with pytest.raises(d2s.D2SError) as caught:
        d2s.convert(function_of(text, "f"))
    assert caught.value.code == code
    assert caught.value.line == 2
    assert caught.value.cure
