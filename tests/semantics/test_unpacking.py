"""``a, b = items`` and ``a, *rest = items`` where a tensor decides what the items are (D1, B2)."""

from __future__ import annotations

import re
import textwrap

import pytest

import d2s
from d2s.errors import ContainerInGraphError
from tests.helpers import assert_same, function_of, tensor

X = [
    tensor(3.0, 1.0, 2.0, 5.0),
    tensor(-1.0, 4.0, -2.0, 0.5),
    tensor(-1.0, -1.0, 1.0, -1.0),
    tensor(-1.0, -1.0, -1.0, -1.0),
]

BEGIN = {
    "g": "g = [v * 2 for v in x if v > 0]",
    "at": "at = paddle.nonzero(x > 0).flatten().tolist()",
    "d": "d = {i: x[i] for i in paddle.nonzero(x > 0).flatten().tolist()}",
    "z": "z = x.sum() * 0",
}

FORMS = {
    "two": "a, b = g\nreturn a - b * 3",
    "numbers": "a, b = at[:2]\nreturn a, b, x[a] * x[b]",
    "one": "(a,) = g\nreturn a * a",
    "in brackets": "[a, b] = at[-2:]\nreturn a + 10 * b",
    "a tuple": "a, b = tuple(g)\nreturn a * b",
    "nested": "(a, b), c = g[:2], x.sum()\nreturn a * b + c",
    "into an item": "got = {}\ngot['a'], got['b'] = g\nreturn got",
    "zip": "if len(g) == 2:\n    (a, k), (b, l) = zip(g, at)\n    return a * l\nreturn x",
    "keys": "(k,) = d\n((l, v),) = d.items()\nreturn k, l, v",
    "map": "a, b = map(lambda v: v + 1, g)\nreturn a * b",
    "in a branch": "if len(g) == 2:\n    a, b = g\n    return (a - b) * x.sum()\nreturn z",
    "in a for": "for k, (a, b) in enumerate([g[:2], g[-2:]]):\n    z = z + a * b * k\nreturn z",
    "in a while": (
        "n = 0\nwhile len(g) >= 2:\n    a, b = g[-2:]\n    del g[-2:]\n    g.append(a * b + 1)\n"
        "    n += 1\nreturn g, n"
    ),
    "and returned": (
        "for k in range(3):\n    h = [v for v in x if v > k]\n    if len(h) == 2:\n"
        "        a, b = h\n        return a * b, k\nreturn z, -1"
    ),
    "in a comprehension": "return [a * b for a, b in [g[:2], g[-2:]]]",
    "the first": "a, *rest = g\nreturn a, rest, len(rest)",
    "the last": "*rest, a = g\nrest.append(a * 2)\nreturn a, rest",
    "both ends": "a, *rest, b = g\nreturn a - b, rest",
    "of a tensor": "a, *rest = x[x > 0]\nreturn a, rest",
    "of keys": "a, *rest = d\nb, *more = d.items()\nreturn a, rest, b, more",
    "of zip": "(a, k), *rest = zip(g, at)\nreturn a * k, rest",
    "until none is left": "while at:\n    k, *at = at\n    z = z + x[k] * 2\nreturn z, at",
    "caught": "try:\n    a, b = g\nexcept ValueError as e:\n    return str(e)\nreturn a * b",
    "caught behind a star": (
        "try:\n    a, b, *c = g\nexcept ValueError as error:\n    return str(error)\nreturn a, b, c"
    ),
    "one of two": "h = [x[0], x[1]] if x[0] > 0 else [x[1], x[2], x[3]]\na, b = h\nreturn a - b",
    "the first of one of two": (
        "h = [x[0], x[1]] if x[0] > 0 else [x[1], x[2], x[3]]\na, *b = h\nreturn a, b"
    ),
    "one of two generators": (
        "ways = {'a': (0, 1), 'b': (1, 0)}\nway = ways['a' if x[2] > 0 else 'b']\n"
        "a, b = (p * q for p, q in zip((x[0], x[1]), way))\nreturn a, b"
    ),
    "all of one of two generators": (
        "ways = {'a': (0, 1), 'b': (1, 0)}\nway = ways['a' if x[2] > 0 else 'b']\n"
        "h = (p * q for p, q in zip((x[0], x[1]), way))\na, b = h\nreturn a, b, list(h)"
    ),
}


@pytest.mark.sampled(3, also=["the first of one of two", "caught"])
@pytest.mark.parametrize("form", FORMS)
def test_as_many_as_the_run_has(form: str) -> None:
    """D1, B2: the run raises what Python does where there are more or less."""
    words = set(re.findall(r"\w+", FORMS[form]))
    body = "\n".join([*(BEGIN[name] for name in BEGIN if name in words), FORMS[form]])
    text = "import paddle\n\ndef f(x):\n" + textwrap.indent(body, "    ")
    assert_same(function_of(text, "f"), *X)


def test_an_iterator_that_is_used_behind_the_branch() -> None:
    """F4: what a branch takes from it is known to the run only, so it is refused."""
    text = """
def f(x):
    ways = {"a": (0, 1), "b": (1, 0)}
    h = (p * q for p, q in zip((x[0], x[1]), ways["a" if x[2] > 0 else "b"]))
    a = b = x[0]
    if x[1] > 0:
        a, b = h
    return a, b, list(h)
"""
    with pytest.raises(d2s.errors.UnsupportedInGraphError, match="takes an item"):
        d2s.to_static(function_of(text, "f"), full_graph=True)(X[0])


PYTHONS = [
    "a, *b = [1, 2, 3]", "a, *b = 'xyz'", "*a, b = (x, 2)", "a, *b = iter([x])", "a, *b = x",
    "*a, b = {1: x}", "a, *b = []", "a, *b, c, e = [x]", "a, *b = 5", "*a, b = None",
]  # fmt: skip


@pytest.mark.parametrize("statement", PYTHONS)
def test_of_python_values_as_python_does(statement: str) -> None:
    """A1: the same parts, and the same words where there are too few."""
    text = f"def f(x):\n    {statement}\n    return a, b"
    assert_same(function_of(text, "f"), *X[:2])


CALLED = """
import collections, dataclasses, functools, paddle

def spread(first, *others, scale=1):
    total = first
    for other in others:
        total = total * 2 + other * scale
    return total, len(others), others

def two(a, b):
    return a - b * 3

def some(a, b=2.0, c=5.0):
    return a - b + c * 7

def none():
    return 0

def logged(function):
    @functools.wraps(function)
    def run(*given, **options):
        seen.append(len(given))
        return function(*given, **options)
    return run

seen = []
spread_logged, two_logged = logged(spread), logged(two)

def items(*given):
    for one in given:
        yield one * 2

Pair = collections.namedtuple("Pair", "left right")

@dataclasses.dataclass
class Point:
    a: object
    b: object = 1.0

class Hand:
    kept = 0

    def __init__(self, *cards):
        self.cards = list(cards)

    def put(self, *cards):
        self.cards += cards
        self.kept = self.kept + sum(cards)
        return self

    def only(self, card):
        self.cards.append(card)

    @classmethod
    def of(cls, *cards):
        return cls(*cards, 5.0)
"""

GIVEN = {
    "hand": "hand = Hand(x[0], x[1])",
    "g": "g = [v * 2 for v in x if v > 0]",
    "at": "at = [int(v * 2) for v in x if v > 0]",
    "pairs": "pairs = [(v, i, v * i) for i, v in enumerate(x) if v > 0]",
    "either": "either = (x[0], x[1]) if x[2] > 0 else (x[1],)",
}


def calling(body: str) -> str:
    """The text of a function with ``body``, behind what it names of ``GIVEN``."""
    words = set(re.findall(r"\w+", body))
    lines = "\n".join([*(GIVEN[name] for name in GIVEN if name in words), body])
    return f"{CALLED}\ndef f(x):\n{textwrap.indent(lines, '    ')}"


CALLS = [
    "return spread(*g)",
    "return spread(x[0], *g, scale=3)",
    "return spread(*g, x[1], *g)",
    "return spread(1, *at)[0], spread(0, *at)",
    "return spread_logged(*g), seen[-1]",
    "return two(*g)",
    "return two(x[0], *g)",
    "return two(*at)",
    "return two_logged(*g)",
    "return some(*g)",
    "return some(x[0], *g)",
    "return some(*g, c=2.0)",
    "return none(*g)",
    "return none(*at)",
    "return list(items(*g))",
    "out = []\nfor v in items(x[0], *g):\n    out.append(v)\nreturn out",
    "return (lambda a, b=2.0: a * b)(*g[:2])",
    "return functools.partial(spread, x[0])(*g)",
    "return Pair(*g)",
    "return Pair(*at).left",
    "p = Point(*g)\nreturn p.a * p.b",
    "return Hand(*g).cards",
    "return Hand(*g, x[0]).cards, Hand.of(*g).cards",
    "hand.put(*g)\nreturn hand.cards, hand.kept",
    "hand.only(*g[:1])\nreturn hand.cards",
    "return hand.put(*at, 1).put(*at).cards, hand.kept",
    "hand.put(*either)\nreturn hand.cards, hand.kept",
    "h = g if x[0] > 0 else at\nreturn spread(*h)[:2]",
    "return spread(*(v * 2 for v in either)), two(x[0], *map(spread, either))[0]",
    "return spread(*reversed(either)), [*(v * w for v, w in zip(either, x))]",
    "return spread(*(v * w for v, w in zip(either, x)), scale=2), (*iter(either),)",
    "rest = (v + 1 for v in either)\nfirst = spread(*rest)\nreturn first, list(rest)",
    "rest = iter(either)\nv = next(rest)\nfirst = some(v, *rest)\nreturn first, list(rest)",
    "hand.put(*iter(either))\nreturn hand.cards, hand.kept, Hand.of(*(-v for v in either)).cards",
    "print(*(v + 1 for v in either), sep=', ')\nreturn max(x[3], *(v - 9 for v in either))",
    "if not pairs:\n    return x\nreturn spread(*(sum(column) for column in zip(*pairs)))",
    "return Pair(*(sum(column) for column in zip(*[(v, v * i) for v, i, _ in pairs])))",
    "try:\n    return two(*(v for v in either))\nexcept TypeError as error:\n    return str(error)",
    "return max(*g, x[0]), min(*at, 3, *at)",
    "return max(*at), min(*at)",
    "return max(*at, 0, key=lambda v: -v)",
    "print(*at)\nprint('n', *at, 2, sep='-', end='!')\nreturn x",
    "print(*g)\nreturn x",
    "if not g:\n    return x\na, b, c = zip(*pairs)\nreturn a, b, sum(c)",
    "return list(zip(*pairs)), [len(column) for column in zip(*pairs)]",
    "if len(g) > 1:\n    return spread(*g)[0]\nreturn x.sum()",
    "i = paddle.to_tensor(0)\nt = x.sum() * 0\nwhile i < 3:\n    t = t + spread(x[i], *g)[0]\n"
    "    hand.put(*g)\n    i += 1\nreturn t, hand.kept",
    "try:\n    return two(*g)\nexcept TypeError as error:\n    return str(error)",
    "try:\n    return none(*g)\nexcept TypeError as error:\n    return str(error)",
]


@pytest.mark.sampled(
    3,
    also=[
        "print(*g)\\nreturn x",
        "try:\\n    return none(*g)\\nexcept TypeError as error:\\n    return str(error)",
        "print(*at)\\nprint('n', *at, 2, sep='-', end='!')\\nreturn x",
        "return max(*g, x[0]), min(*at, 3, *at)",
        "return functools.partial(spread, x[0])(*g)",
        "return some(*g, c=2.0)",
        "p = Point(*g)\\nreturn p.a * p.b",
    ],
)
@pytest.mark.parametrize("body", CALLS)
def test_as_many_arguments_as_the_run_has(body: str) -> None:
    """D1, E2: a function that names some of them, or takes all that come, gets those of the run."""
    assert_same(function_of(calling(body), "f"), *X, tensor(9.0, 8.0, 7.0, 6.0))


UNKNOWN = ["'{}'.format(*at)", "set().union(*[at, at], *at)", "(lambda *v: v)(*at)"]


@pytest.mark.parametrize("call", UNKNOWN)
def test_what_is_not_converted_is_not_given_as_many_as_the_run_has(call: str) -> None:
    """D1: it does not know of them."""
    with pytest.raises(ContainerInGraphError, match="unpacked"):
        d2s.to_static(function_of(calling(f"return {call}"), "f"), full_graph=True)(X[0])
