"""The printer: parsing what it prints gives the tree back, and the line table points home."""

from __future__ import annotations

import ast
import subprocess
import sys
import sysconfig
import textwrap
import warnings
from pathlib import Path

import gast
import pytest
from hypothesis import given
from hypothesis import strategies as st

from d2s.errors import SyntaxNotSupportedError
from d2s.syntax.printer import MAX_LINE, text_of, to_source
from d2s.syntax.printing.layout import Printed


def parsed(text: str | bytes) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes in the standard library's own tests
        return ast.parse(text)


def printed(text: str) -> str:
    return to_source(gast.parse(textwrap.dedent(text))).text


def assert_round_trip(text: str | bytes) -> Printed:
    tree = parsed(text)
    result = to_source(gast.ast_to_gast(tree))
    assert ast.dump(parsed(result.text)) == ast.dump(tree), result.text
    assert result.text.endswith("\n")
    assert len(result.lines) == result.text.count("\n")
    return result


EXPRESSIONS = r"""
1
-1
(-1) ** 2
-1 ** 2
2 ** -1
2 ** -x ** 2
(a ** b) ** c
a ** b ** c
(await_ + 1) * 2
a - (b - c)
(a - b) - c
a * (b + c) @ d // e % f
~(a | b) ^ c & d << e >> f
not (a and b) or c and not d
(a or b) and (c or d)
a and (b and c)
not a == b
(not a) == b
(a < b) == (c > d)
a < b <= c != d is not e not in f
a if b else c if d else e
(a if b else c) if (d if e else f) else g
lambda: 0
lambda: (yield)
lambda x, /, y=1, *z, w, v=lambda: 2, **u: (x, y)
lambda *, a: a
lambda *a: a
(lambda: 1)()
(lambda x: x).y
[lambda: 1, lambda: 2]
(x := 1)
[y := 1, y ** 2]
f(x := 1)
{(x := 1): 2}
x[(y := 1)]
f(a, *b, c, *d, e=1, **f, g=2)
f(*(a or b), **(c or d))
f(x for x in y)
f((x for x in y), 1)
f((yield))
f(*(x for x in y))
f()(1)(2).g[3]
(yield)
(yield 1, 2)
(yield from x)
x.y.z
(1).real
1.0.real
1j.imag
"a".join
f"{a}".join
b"a".join
(a, b).c
[a].b
{a: b}.c
(a + b).c
(-a).b
-a.b
()
(a,)
(a, *b)
[*a, *b]
{*a, *(b or c)}
{1: 2, **a, 3: 4, **(b or c)}
{lambda: 1: lambda: 2}
{(a if b else c): d}
[x for x in y if z if w for v in u]
[(x, y) for x, y in z]
[x for x in (yield)]
[x for x, in y]
[x async for x in y]
[x for x in (a if b else c) if (d if e else f)]
[x for x in (lambda: 1, 2)]
{x: y for x, y in z}
{x for x in y}
((x, y) for x in z)
[[x for x in y] for y in z]
x[1]
x[1, 2]
x[1,]
x[()]
x[1:2]
x[1:2:3]
x[::]
x[::-1]
x[:, 1:2, ...]
x[(1, 2):3]
x[(1, 2), 3]
x[a if b else c:lambda: 1]
x[lambda: 1]
x[(*a,)]
x[(*a, b)]
None, True, False, ...
10 ** 100
0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF
1e400
-1e400
1e400j
1e-320
0.1
1.5e300
1_000
3j
1.5j
1 + 2j
""
"it's"
'say "hi"'
"it's \"both\""
"\\ \n \t \r \0 \x7f \u2028 \ud800"
"ünïcode 字 🎉"
u"old"
b"bytes\x00\xff'\""
"a" "b"
f""
f"{x}"
f"{{}}"
f"{{{x}}}"
f"{x!r:>{width}.{precision}}"
f"{x:%Y-%m-%d}"
f"{x = }"
f"{x=!s:^10}"
f"it's {x}"
f'say "hi" {x}'
f"it's \"both\" {x}"
f"{d['k']}"
f'{d["k"]}'
f"{'a' if b else 'c'}"
f"{(lambda x: 1)}"
f"{a if b else (lambda: 1)}"
f"{(x := 1)}"
f"{x:=5}"
f"{ {1: 2}[1] }"
f"{ {1, 2} }"
f"{(yield)}"
f"{a, b}"
f"{(a, *b)}"
f"{a != b}"
f"{a!r}" f"{b!s}" "c"
f"\n{x}\t\\"
f"{f'{x}'}"
f"{f'{y!r}'!s}"
f"{x:{f'{y}'}}"
rf"\d{x}\d"
""".strip().splitlines()
EXPRESSIONS += [
    "f'''{x[\"a\"]['b']}'''",
    "f'''{\"\"\" \"\"\"}'''",
    'f"""{x[\'a\']} \'\' " {y}"""',
]

STATEMENTS = [
    "x = y = z",
    "x = yield",
    "x = yield a, b",
    "x = *a, b",
    "x, *y = z",
    "[x, (y, z)] = w",
    "x.a, x[0] = y",
    "x += yield",
    "x += 1, 2",
    *(f"x {op}= 1" for op in "+ - * / // % @ & | ^ << >> **".split()),
    "x: int",
    "x: int = 1",
    "(x): int = 1",
    "x.y: int = 1",
    "x[0]: int",
    "x: (yield)",
    "x: (int, str) = (1, 2)",
    "del x",
    "del x, y[0], z.a",
    "del (x, y)",
    "del (x,), [y]",
    "del ()",
    "pass",
    "import a",
    "import a.b as c, d",
    "from a import b",
    "from . import b as c",
    "from ...a.b import c, d as e",
    "from a import *",
    "global_ = 1",
    "assert a",
    "assert (a, b), c",
    "assert a, (b, c)",
    "raise",
    "raise a",
    "raise a from b",
    "raise (yield)",
    "print((yield))",
    '"a string"\n"another"',
    '"""several\nlines"""',
    "async def f():\n    await x ** 2\n    (await x).y\n    await (yield)\n    -await x",
    "async def f():\n    async with a as b, c:\n        return [i async for i in j if await i]",
    "async def f():\n    async for i in x:\n        pass\n    else:\n        pass",
    "def f():\n    return\n    return a, b\n    return *a, b\n    return (yield)",
    "def f():\n    x = 1\n    def g():\n        nonlocal x, y\n        global z\n    y = 2",
    "def f(a, b: int, c=1, d: int = 2, *e: tuple, f, g: int = 3, **h: dict) -> (int, str): pass",
    "def f(a, /, b, c=1, d=2): pass",
    "def f(a=1, /, b=2): pass",
    "def f(a, b=1, /): pass",
    "def f(*, a, b=1, c): pass",
    "def f(x=lambda: 1, y=(yield_, 2), z=(w := 3)): pass",
    "@a\n@b.c(1)\n@(d or e)\n@f[0]\ndef g(): pass",
    "@a\nclass B: pass",
    "class A(B, *c, metaclass=D, **e):\n    x: int = 1\n\n    def f(self): pass\n    y = 2",
    'def f():\n    """One line."""',
    r'''def f():
    """Doc "quoted" \\d \'\'\'.

      Indented, with blanks at the end.\x20\x20
    Ends with "quote\""""''',
    r'''def f():
    """Three \"\"\" and
    more \"\"\""""''',
    'class A:\n    r"""Raw \\d\n    two."""',
    "if (a, b): pass",
    "if (yield): pass",
    "if a:\n    pass\nelif b:\n    pass\nelif c:\n    pass\nelse:\n    pass",
    "if a:\n    pass\nelse:\n    if b:\n        pass\n    c",
    "while (a, b):\n    break\nelse:\n    continue_",
    "for x in a, b: continue",
    "for x, in y: pass",
    "for x, *y in *a, b: pass",
    "for x[0] in y: pass\nelse: pass",
    "for (x.y, [z]) in lambda: 1, 2: pass",
    "with a: pass",
    "with a, b: pass",
    "with a as b, c as (d, e), f: pass",
    "with (a, b) as c: pass",
    "with ((a, b)): pass",
    "with ((a,)): pass",
    "with (): pass",
    "with (a, b), c: pass",
    "with (yield) as x: pass",
    "with (lambda: a) as x: pass",
    "with (a := b): pass",
    "with (a, b)[0]: pass",
    "with (x for x in y): pass",
    "try:\n    a\nexcept:\n    b",
    "try:\n    a\nexcept (A, B) as e:\n    b\nexcept C:\n    c\nelse:\n    d\nfinally:\n    e",
    "try:\n    a\nfinally:\n    b",
    "try:\n    try:\n        a\n    finally:\n        b\nfinally:\n    c",
    "match x:\n    case 1 | -1 | 1.5 | 2j | 1 + 2j | -1 - 2j: pass",
    'match x:\n    case None | True | False | "a" | b"c" | "a" "b": pass',
    "match x:\n    case a.b | a.b.c: pass\n    case _: pass",
    "match x, y:\n    case a, b: pass\n    case [a, *_] | (_, *a): pass\n    case []: pass",
    "match *x, y:\n    case (a): pass",
    "match (yield):\n    case [*_]: pass",
    'match x:\n    case {"a": 1, -1: b, c.d: _, **rest}: pass\n    case {}: pass',
    "match x:\n    case {**r}: pass",
    "match x:\n    case A(): pass\n    case a.B(1, c, d=2, e=[f]): pass\n    case C(x=1): pass",
    "match x:\n    case (1 | 2) as a: pass\n    case [(1 as b), (c as d) | e]: pass",
    "match x:\n    case ((a as b) as c): pass\n    case (1 | (2 | 3)): pass",
    "match x:\n    case a if b: pass\n    case a if (b := c): pass\n    case a if (yield): pass",
    "match x:\n    case A(b=(1 | 2) as c, d={1: (2 as e)}): pass",
    "match -x:\n    case 1: pass",
    "match (x):\n    case 1:\n        match y:\n            case 2: pass",
    "match = case = type = _ = 1\nmatch[case]\nprint(match, case)\ntype(x)",
]

STATEMENTS_3_11 = [
    "try:\n    a\nexcept* (A, B) as e:\n    b\nexcept* C:\n    c\nelse:\n    d\nfinally:\n    e",
    "x[*a]",
    "x[*a, 1:2]",
    "def f(*args: *Ts): pass",
    "def f(*args: *tuple[int, *Ts]) -> Tuple[*Ts]: pass",
]

STATEMENTS_3_12 = [
    "type X = int",
    "type X[T, *Ts, **P] = dict[T, (int, str)]",
    "type X[T: int, S: (int, str)] = T | S",
    "type X = lambda: 1",
    "def f[T](x: T) -> T: pass",
    "async def f[T: (int, str), *Ts, **P](): pass",
    "class A[T]: pass",
    "class A[T, *Ts](B[T], metaclass=C): pass",
    'f"{"a"}"',
    'f"{f"{f"{1}"}"}"',
    'f"{"\\n".join(x)}"',
    'f"{x["a"]}" f\'{x["b"]}\'',
    'f"""{\n# a comment\nx}"""',
    'f"{x:{y:{z}}}"',
    "f\"{'''a\nb'''}\"",
    r'''f"{"'"} {'"'} ' \""''',
]

STATEMENTS_3_13 = [
    "type X[T = int, *Ts = *tuple[int, str], **P = [int]] = T",
    "def f[T: object = int](x: T): pass",
    "class A[T = (int, str)]: pass",
]


def since(minor: int, texts: list[str]) -> list[object]:
    skip = pytest.mark.skipif(sys.version_info < (3, minor), reason=f"syntax of Python 3.{minor}")
    return [pytest.param(text, marks=skip) for text in texts]


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expression_round_trip(text):
    assert_round_trip(text)


# Each place binds differently: a missing pair of parentheses shows in at least one of them.
PLACES = [
    "x = EXPR",
    "return_EXPR",
    "f(a, k=EXPR)",
    "EXPR.attr",
    "EXPR[0]",
    "x[EXPR]",
    "-EXPR",
    "EXPR ** 2",
    "2 ** EXPR",
    "EXPR + 1",
    "1 + EXPR",
    "EXPR < 1 < EXPR",
    "not EXPR",
    "EXPR and EXPR",
    "EXPR if EXPR else EXPR",
    "lambda x=EXPR: EXPR",
    "[EXPR, *EXPR]",
    "{EXPR: EXPR, **EXPR}",
    "[EXPR for x in EXPR if EXPR]",
    "{EXPR: EXPR for x in y}",
    "x: EXPR = EXPR",
    "for x in EXPR: pass",
    "with EXPR: pass",
    "if EXPR: pass",
    "assert EXPR, EXPR",
    "raise EXPR from EXPR",
    "@EXPR\ndef f(a: EXPR = EXPR) -> EXPR: pass",
    "class A(EXPR, b=EXPR): pass",
    "match EXPR:\n    case 1 if EXPR: pass",
    "(yield EXPR)",
    "x[EXPR:EXPR:EXPR]",
]
OPERANDS = [
    text for text in EXPRESSIONS if not text.startswith(("x[", 'f"', "f'", '"', "b'", "[x async"))
]


@pytest.mark.parametrize("place", PLACES)
def test_every_expression_in_every_place(place):
    for text in OPERANDS:
        source = place.replace("EXPR", f"({text})")
        try:
            parsed(source)
        except SyntaxError:  # a ``yield`` in a comprehension, and the like
            continue
        assert_round_trip(source)


@pytest.mark.parametrize(
    "text",
    [
        *STATEMENTS,
        *since(11, STATEMENTS_3_11),
        *since(12, STATEMENTS_3_12),
        *since(13, STATEMENTS_3_13),
    ],
)
def test_statement_round_trip(text):
    assert_round_trip(text)


@pytest.mark.parametrize("text", STATEMENTS)
def test_statement_round_trip_inside_blocks(text):
    body = textwrap.indent(text, "    ")
    if '"""' in text or "'''" in text:  # indenting would change the string
        pytest.skip("a multi-line string")
    if "import *" in text:
        pytest.skip("only at module level")
    assert_round_trip(f"def outer():\n    x = 0\n{body}\n{body}\n    y = 0")
    assert_round_trip(f"class Outer:\n{body}\n    y = 0")


def test_every_node_type_that_python_parses_is_covered():
    texts = [*EXPRESSIONS, *STATEMENTS]
    texts += STATEMENTS_3_11 if sys.version_info >= (3, 11) else []
    texts += STATEMENTS_3_12 if sys.version_info >= (3, 12) else []
    texts += STATEMENTS_3_13 if sys.version_info >= (3, 13) else []
    seen = {type(node).__name__ for text in texts for node in ast.walk(parsed(text))}
    bases = (ast.stmt, ast.expr, ast.pattern, ast.excepthandler)
    if sys.version_info >= (3, 12):
        bases += (ast.type_param,)
    concrete = {
        kind.__name__
        for base in bases
        for kind in base.__subclasses__()
        if kind.__module__ in ("ast", "_ast") and kind.__name__ not in _OLD_NAMES
    }
    assert concrete - seen == set()


# Classes that ``ast`` keeps for old programs; no parser makes them.
_OLD_NAMES = {"Num", "Str", "Bytes", "NameConstant", "Ellipsis", "Index", "ExtSlice"}


def standard_library() -> list[Path]:
    root = Path(sysconfig.get_path("stdlib"))
    return sorted(path for path in root.rglob("*.py") if "site-packages" not in path.parts)


def files_that_differ(paths: list[Path]) -> list[str]:
    different = []
    for path in paths:
        try:
            tree = parsed(path.read_bytes())
        except (SyntaxError, ValueError):
            continue  # the standard library tests its parser with files that do not parse
        try:
            result = to_source(gast.ast_to_gast(tree))
            same = ast.dump(parsed(result.text)) == ast.dump(tree)
        except Exception as error:
            different.append(f"{path}: {error!r}")
        else:
            if not same or len(result.lines) != result.text.count("\n"):
                different.append(str(path))
    return different


def test_standard_library_sample():
    paths = [path for path in standard_library() if path.stat().st_size < 40_000]
    sample = paths[:: max(1, len(paths) // 150)]
    assert len(sample) >= 150
    assert files_that_differ(sample) == []


@pytest.mark.slow
def test_standard_library():
    paths = standard_library()
    assert len(paths) > 500
    assert files_that_differ(paths) == []


# -- values ---------------------------------------------------------------------------------------


@given(st.text())
def test_any_string(value):
    for tree in (
        gast.parse(repr(value)).body[0].value,
        gast.Expr(gast.Constant(value, None)),
        gast.JoinedStr([gast.Constant(value, None)]),
    ):
        text = to_source(tree).text
        if isinstance(tree, gast.JoinedStr):
            assert eval(text) == value
        else:
            assert ast.literal_eval(text) == value


@given(st.text(), st.text(alphabet="{}:'\"\\\n a"), st.text(alphabet="'\"\n\\#{}é"))
def test_any_string_in_and_around_a_field(before, spec, inside):
    class Recorder:
        def __getitem__(self, key):
            self.key = key
            return self

        def __format__(self, spec):
            self.spec = spec
            return "-"

    index = gast.Subscript(
        gast.Name("x", gast.Load(), None, None), gast.Constant(inside, None), gast.Load()
    )
    field = gast.FormattedValue(index, -1, gast.JoinedStr([gast.Constant(spec, None)]))
    tree = gast.JoinedStr([gast.Constant(before, None), field])
    if sys.version_info < (3, 12) and "\\" in inside and set(spec) & {"{", "}"}:
        with pytest.raises(SyntaxNotSupportedError):  # neither an f-string nor str.format can
            to_source(tree)
        return
    text = to_source(tree).text
    recorder = Recorder()
    assert eval(text, {"x": recorder}) == before + "-"
    assert recorder.key == inside
    assert recorder.spec == spec


@given(
    st.one_of(
        st.integers(),
        st.floats(),
        st.complex_numbers(),
        st.binary(),
        st.booleans(),
        st.none(),
        st.just(...),
        st.tuples(st.integers(), st.text()),
        st.tuples(),
        st.tuples(st.none()),
    )
)
def test_any_constant(value):
    result = eval(text_of(gast.Constant(value, None)))
    assert type(result) is type(value)
    assert str(result) == str(value) or result == value


@pytest.mark.parametrize(
    ("left", "shown"), [(-1, "(-1) ** x"), (-1.5, "(-1.5) ** x"), (1, "1 ** x"), (2j, "2j ** x")]
)
def test_a_negative_constant_keeps_its_sign_to_itself(left, shown):
    power = gast.BinOp(
        gast.Constant(left, None), gast.Pow(), gast.Name("x", gast.Load(), None, None)
    )
    assert text_of(power) == shown


def test_an_integer_of_more_digits_than_python_converts():
    value = 10**5000
    assert ast.literal_eval(text_of(gast.Constant(value, None))) == value


def test_an_empty_set_is_a_set():
    assert eval(text_of(gast.Set([]))) == set()


# -- f-strings that old Pythons cannot write ------------------------------------------------------


def test_a_field_that_no_quotes_can_hold():
    backslash = gast.Constant("a\\b", None)
    tree = gast.JoinedStr(
        [
            gast.Constant("{x} ", None),
            gast.FormattedValue(backslash, 114, gast.JoinedStr([gast.Constant(">9", None)])),
        ]
    )
    text = to_source(tree).text
    assert eval(text) == "{x} " + format(repr("a\\b"), ">9")
    assert (".format(" in text) == (sys.version_info < (3, 12))


# -- shape ----------------------------------------------------------------------------------------


def test_readable():
    assert printed(
        '''
            import os
            @deco
            def f(x: int = 1, *args, y=2) -> int:
                """Doc.

                More.
                """
                def g():
                    nonlocal x
                    return not x
                if x > 1:
                    return [a for a in x if a], {"k": v}
                elif y:
                    pass
                else:
                    class C(B): a = 1
                try: pass
                except E as e: pass
                finally: pass
            f(1)
            '''
    ) == textwrap.dedent(
        '''
            import os


            @deco
            def f(x: int = 1, *args, y=2) -> int:
                """Doc.

                More.
                """

                def g():
                    nonlocal x
                    return not x

                if x > 1:
                    return [a for a in x if a], {'k': v}
                elif y:
                    pass
                else:
                    class C(B):
                        a = 1

                try:
                    pass
                except E as e:
                    pass
                finally:
                    pass


            f(1)
            '''
    ).lstrip("\n")


@pytest.mark.parametrize(
    "text",
    [
        "x[a + 1:-1, ::-2] = {-1: a or b, **c}",
        "for i in a or b:\n    pass",
        "with a or b as c, -d:\n    pass",
        "f(-1, *a, k=b if c else d, **e or f)",
        "return_ = [a + 1 for a in -b if not c]",
        "raise a or b from -c",
        "x = a if b else -c ** -d",
        "@a[0] or b\ndef f(x: a | b = -1) -> a | b:\n    pass",
        "assert -x, a or b",
        "x = lambda: (yield), (await_, *b), not c",
        "match -x:\n    case -1 | 2 if a or b:\n        pass",
        "x = (a, b), [c], {d}, a[b, c], a[(b, c):d]",
    ],
)
def test_no_needless_parentheses(text):
    assert to_source(gast.parse(text)).text == text + "\n"


def test_long_calls_break_inside_their_brackets():
    names = ", ".join(f"argument_number_{number}" for number in range(12))
    assert printed(f"result = function({names})({names})[0]") == (
        "result = function(\n"
        + ",\n".join(f"    argument_number_{number}" for number in range(12))
        + "\n)(\n"
        + ",\n".join(f"    argument_number_{number}" for number in range(12))
        + "\n)[0]\n"
    )


def test_long_conditions_break_before_their_operators():
    a, b = "a" * 60, "b" * 60
    assert printed(f"if {a} and {b}: pass") == (f"if (\n    {a}\n    and {b}\n):\n    pass\n")
    assert printed(f"x = {a} or {b}") == f"x = (\n    {a}\n    or {b}\n)\n"
    assert printed(f"return_ = {a}, {b}") == f"return_ = (\n    {a},\n    {b}\n)\n"
    assert printed(f"x = [{a} for {b} in c if d]") == (
        f"x = [\n    {a}\n    for {b} in c\n    if d\n]\n"
    )


def test_lines_are_short_where_brackets_allow_it():
    call = "f(" + ", ".join(f"name_{i}.attribute[{i}](key={i})" for i in range(20)) + ")"
    for text in (call, f"x = {call} + {call}", f"return_({call}, {call})", f"assert {call}"):
        lines = assert_round_trip(text).text.splitlines()
        assert max(map(len, lines)) <= MAX_LINE


def test_comparisons_are_no_assignments():
    side = "x" * 60
    assert_round_trip(f"{side} == {side} and {side} != {side}")
    assert_round_trip(f"f({side} <= {side} and {side} >= {side}, {side})")


def test_long_del_import_and_with_keep_their_meaning():
    names = [f"a_very_long_name_{number}" for number in range(12)]
    for text in (
        f"del {', '.join(names)}",
        f"from m import {', '.join(names)}",
        f"global {', '.join(names)}",
        f"with {', '.join(names)}: pass",
        f"for {', '.join(names)} in x: pass",
        f"x: {' | '.join(names)} = {' + '.join(names)}",
        f"{', '.join(names)} = x",
        f"assert {' and '.join(names)}, {' or '.join(names)}",
        f"while {' and '.join(names)}: pass",
        f"def f():\n    return {', '.join(names)}, *x",
        f"x = yield {', '.join(names)}",
        f"lambda {', '.join(names)}: {' if x else '.join(names)}",
    ):
        assert_round_trip(text)


# -- the line table -------------------------------------------------------------------------------


def table(text: str) -> list[tuple[str, int | None]]:
    result = to_source(gast.parse(text))
    return list(zip(result.text.splitlines(), result.lines, strict=True))


def test_lines_name_the_original_line_of_each_statement():
    text = textwrap.dedent(
        '''\
        @first
        @second

        def f(x):  # line 4
            """Doc
            string."""
            if (x >
                1):  # line 8
                a = 1

            elif x:  # line 11
                b = 2
            else:
                c = 3
            try:
                d = 4
            except E:
                pass  # line 18
            finally:
                return f(
                    x)
        '''
    )
    assert table(text) == [
        ("@first", 1),
        ("@second", 2),
        ("def f(x):", 4),
        ('    """Doc', 5),
        ('    string."""', None),
        ("    if x > 1:", 7),
        ("        a = 1", 9),
        ("    elif x:", 11),
        ("        b = 2", 12),
        ("    else:", None),
        ("        c = 3", 14),
        ("    try:", 15),
        ("        d = 4", 16),
        ("    except E:", 17),
        ("        pass", 18),
        ("    finally:", None),
        ("        return f(x)", 20),
    ]


def test_lines_of_match_follow_the_patterns():
    text = "match x:\n\n    case 1:\n        a\n    case _:\n        b"
    assert [line for _, line in table(text)] == [1, 3, 4, 5, 6]


def test_blank_and_continued_lines_have_no_origin():
    names = ", ".join(f"argument_number_{number}" for number in range(12))
    rows = table(f"a = 1\ndef f():\n    pass\nb = f({names})")
    assert [line for text, line in rows if text.startswith(("a =", "def", "b ="))] == [1, 2, 4]
    assert {line for text, line in rows if not text or text.startswith((" " * 4 + "arg", ")"))} == {
        None
    }


def test_lines_follow_the_nodes_not_the_text():
    tree = gast.parse("a = 1\nb = 2")
    tree.body[0].lineno = 70
    del tree.body[1].lineno
    assert to_source(tree).lines == (70, None)


def test_a_tree_without_positions_prints():
    name = gast.Name("x", gast.Store(), None, None)
    tree = gast.Assign([name], gast.Constant(1, None), None)
    assert to_source(tree) == Printed("x = 1\n", (None,))


def test_an_empty_module_is_one_empty_line():
    assert to_source(gast.parse("")) == Printed("\n", (None,))


# -- text_of --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a if b else (c, *d)", "a if b else (c, *d)"),
        ("(a, b)", "(a, b)"),
        ("(yield)", "(yield)"),
        ("x = 1", "x = 1"),
        ("if a:\n    b", "if a:"),
        ("@deco\ndef f(x): pass", "def f(x):"),
        ("for a, b in c: pass", "for a, b in c:"),
        ("while (a and\n    b): pass", "while a and b:"),
        ('"""one\ntwo"""', "'one\\ntwo'"),
    ],
)
def test_text_of(text, shown):
    assert text_of(gast.parse(text).body[0]) == shown


def test_text_of_stays_on_one_line():
    assert text_of(gast.parse("f\"\"\"{'''a\nb'''}\"\"\"").body[0]).count("\n") == 0
    names = ", ".join(f"argument_number_{number}" for number in range(30))
    assert text_of(gast.parse(f"f({names})").body[0]) == f"f({names})"


# -- refusals -------------------------------------------------------------------------------------


class Novelty(gast.expr):
    _fields = ()
    _attributes = ()


def test_an_unknown_node_is_refused_with_its_line():
    tree = gast.parse("x = 1")
    tree.body[0].value = Novelty()
    tree.body[0].value.lineno = 7
    with pytest.raises(SyntaxNotSupportedError, match=r"Novelty.*line 7") as caught:
        to_source(tree)
    assert caught.value.line == 7
    assert caught.value.code == "D2S103"


def test_a_node_of_ast_is_refused():
    tree = gast.parse("x = 1")
    tree.body[0].value = ast.Constant(1)
    with pytest.raises(SyntaxNotSupportedError, match=r"ast\.Constant"):
        to_source(tree)


@pytest.mark.parametrize("kind", ["Print", "Exec", "Repr", "FunctionType"])
def test_a_node_that_this_python_does_not_parse_is_refused(kind):
    node = getattr(gast, kind)()
    with pytest.raises(SyntaxNotSupportedError, match=kind):
        to_source(node)


@pytest.mark.skipif(sys.version_info >= (3, 11), reason="Python 3.11 knows except*")
def test_except_star_is_refused_where_python_has_none():
    handler = gast.ExceptHandler(gast.Name("A", gast.Load(), None, None), None, [gast.Pass()])
    with pytest.raises(SyntaxNotSupportedError, match="TryStar"):
        to_source(gast.TryStar([gast.Pass()], [handler], [], []))


def test_a_constant_that_no_literal_can_be_is_refused():
    with pytest.raises(SyntaxNotSupportedError, match="Constant"):
        to_source(gast.Constant(frozenset([1]), None))


def test_a_tree_that_is_too_deep_is_refused():
    tree = gast.Name("x", gast.Load(), None, None)
    for _ in range(20_000):
        tree = gast.UnaryOp(gast.Not(), tree)
    with pytest.raises(SyntaxNotSupportedError, match="nested too deeply"):
        to_source(tree)


# -- manners --------------------------------------------------------------------------------------


def test_the_tree_is_left_alone():
    tree = gast.parse("x = f(1, y=[2, 3]) + -z")
    before = gast.dump(tree, include_attributes=True)
    notes = [dict(vars(node)) for node in gast.walk(tree)]
    to_source(tree)
    assert gast.dump(tree, include_attributes=True) == before
    assert [dict(vars(node)) for node in gast.walk(tree)] == notes


def test_a_node_that_stands_in_the_tree_twice_prints_twice():
    name = gast.Name("x", gast.Load(), None, None)
    assert text_of(gast.BinOp(name, gast.Add(), name)) == "x + x"


def test_no_deprecation_warnings():
    program = (
        "import gast\n"
        "from d2s.syntax.printer import to_source\n"
        'print(to_source(gast.parse(\'x = f"{a!r}" + "b" + str(1.5)\')).text)'
    )
    done = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning", "-c", _WITHOUT_D2S_INIT + program],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.strip() == "x = f'{a!r}' + 'b' + str(1.5)"


# Paddle warns for reasons of its own while it is imported; the printer does not need it.
_WITHOUT_D2S_INIT = f"""
import sys, types
package = types.ModuleType("d2s")
package.__path__ = [{str(Path(__file__).parents[3] / "d2s")!r}]
sys.modules["d2s"] = package
"""
