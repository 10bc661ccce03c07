"""Built-in functions on tensors of a program mean what they mean in dygraph (rule E1)."""

# ruff: noqa: B009 - attributes are asked for by name, as users do

from __future__ import annotations

import collections
import functools
import itertools
import math
import operator
import types
from typing import Any

import paddle
import pytest

import d2s
from d2s.errors import ConditionError, UnsupportedInGraphError
from d2s.runtime.builtins.dispatch import KEYED, METHODS, OPERATORS
from d2s.runtime.calls.call import call
from tests.helpers import assert_same, function_of, scalar, tensor

X = tensor(1.0, 2.0, 3.0)
ORDERS = [tensor(*row) for row in itertools.permutations((1.0, 2.0, 3.0))]
TIES = [tensor(*row) for row in [(2, 2, 1), (1, 2, 2), (2, 1, 2), (1, 1, 1)]]
OPEN = [paddle.static.InputSpec([None], "float32")]


def scalars(*values: float) -> list[Any]:
    return [scalar(float(value)) for value in values]


# -- any, all ------------------------------------------------------------------------------------


def test_any_and_all_stop_early() -> None:
    """E1: what a generator would raise behind the deciding item is never asked for."""

    def checked(value):
        if value < 0:
            raise ValueError("looked at a negative entry")
        return value > 1

    def f(values, x):
        if any(checked(v) for v in values):
            x = x * 2
        return x

    def g(values, x):
        return x * 3 if all(checked(v) for v in values) else x

    rows = [(0.5, 2.0), (2.0, -1.0), (0.5, -1.0), (0.5, 0.5), (3.0, 2.0)]
    for function in (f, g):
        assert_same(function, *[(scalars(*row), X) for row in rows])


def test_any_and_all_are_bools() -> None:
    """E1: generators, map and lists, with Python truths among them."""

    def f(a, b):
        return (
            any(v > 0 for v in [a, b]),
            all(v > 0 for v in [a, b]),
            any([a > 0, False, b > 0]),
            all([True, a > 0, b > 0]),
            any([a > 0, True]),
            all(v for v in (a > 0, False)),
            any(map(lambda v: v > 0, [a, b])),
            any([]),
            all(v > 0 for v in ()),
        )

    pairs = itertools.product((scalar(1.0), scalar(-1.0)), repeat=2)
    assert_same(f, *pairs, grad=False)


def test_any_over_a_long_generator_is_refused() -> None:
    """E1: with a cure, before Python's own stack ends."""

    def f(x):
        return any(x[0] + i > 500 for i in range(200))

    def g(x):
        return any([x[0] + i > 500 for i in range(200)])

    with pytest.raises(UnsupportedInGraphError, match="a list"):
        d2s.to_static(f)(X)
    assert_same(g, X, X + 400, grad=False)


def test_any_and_all_of_open_length() -> None:
    """E1: of a tensor whose length the run decides, and of a list that grows."""

    def f(x):
        return any(x), all(x > 0)

    def g(x, n):
        parts = []
        for i in range(n):
            parts.append(x[i] > 1)
        return any(parts), all(parts)

    rows = [X, -X, tensor(1.0, -1.0)]
    assert_same(f, *rows, static=d2s.to_static(f, input_spec=OPEN), grad=False)
    assert_same(g, *[(X, scalar(n)) for n in (1, 2, 3)], (X + 5, scalar(2)), grad=False)


# -- min, max ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["max", "min"])
def test_extremes(name: str) -> None:
    """E1: of lists, generators, arguments, tensors; the first of equals has the gradient."""
    f = function_of(f"""
        def f(x):
            a, b, c = x
            return (
                {name}([a, b, c]),
                {name}(v * 2 for v in x),
                {name}(a, b, c),
                {name}(x),
                {name}(a, 2),
                {name}(1.5, b),
                {name}([a]),
                {name}(3, 4.5),
            )
    """)
    assert_same(f, *ORDERS, *TIES)


@pytest.mark.parametrize("name", ["max", "min"])
def test_extremes_with_a_key(name: str) -> None:
    """E1: the key is converted; the item comes out, with its own gradient."""
    f = function_of(f"""
        def f(x, target):
            def far(v):
                if v > target:
                    return v - target
                return target - v

            a, b, c = x
            pairs = [(a * 2, "a", 1), (b, "b", 2), (c + 1, "c", 3)]
            wide = [x * a, x + b, x[:2]]
            return (
                {name}([a, b, c], key=far),
                {name}(a, b, c, key=far),
                {name}(x, key=lambda v: -v),
                {name}(pairs, key=lambda pair: pair[0]),
                {name}(wide, key=lambda row: row.sum()).sum(),
                {name}([a, b], key=None),
                {name}(["aa", "b"], key=len),
                {name}([1, 2, 3], key=lambda n: n * a),
            )
    """)
    assert_same(f, *[(x, scalar(1.75)) for x in [*ORDERS, *TIES]])


def test_extremes_with_a_default() -> None:
    """E1: the default of what is empty, now or on the run."""

    def f(values, x):
        return max(values, default=x), min(values, default=None), max([], default=7)

    def g(x):
        top = max(x, default=scalar(5.0))
        return top * 2

    empty = paddle.zeros([0])
    assert_same(f, ([], X), (scalars(1, 3), X), (scalars(3, 1, 2), X))
    assert_same(g, X, -X, empty, static=d2s.to_static(g, input_spec=OPEN))


def test_map_over_a_tensor_of_open_length() -> None:
    """E1: a tensor of open length is not taken for an empty one."""

    def f(x):
        return list(map(lambda v: v * 2, x))

    assert_same(f, X, X[:1], static=d2s.to_static(f, input_spec=OPEN))


@pytest.mark.parametrize("name", ["max", "min"])
def test_extremes_of_open_length(name: str) -> None:
    """E1: of a tensor of unknown length, of a list that grows; an empty one raises as Python."""
    f = function_of(f"""
        def f(x):
            return {name}(x) * 2
    """)
    g = function_of(f"""
        def f(x, n):
            parts = []
            for i in range(n):
                parts.append(x[i] * 2)
            return {name}(parts)
    """)
    static = d2s.to_static(f, input_spec=OPEN)
    assert_same(f, *ORDERS, *TIES, X[:1], paddle.zeros([0]), static=static)
    assert_same(g, *[(x, scalar(n)) for x in ORDERS[:3] for n in (1, 2, 3)])


def test_nan_wins_only_if_it_comes_first() -> None:
    """E1: as Python compares, not as Paddle reduces."""

    def f(x):
        return max(list(x)), min(list(x)), max(x[0], x[1])

    nan = math.nan
    assert_same(f, tensor(nan, 1, 2), tensor(1, nan, 2), tensor(-math.inf, nan, nan), grad=False)


def test_extremes_of_numbers_and_other_dtypes() -> None:
    """E1: a number that the run decides stays one; whole and half tensors can be compared."""

    def f(x, n):
        k = int(n)
        half = [(x[0] * n).astype("float16"), x[1].astype("float16")]
        top = max(half).astype("float32")
        return max(k, 2), min(k, 3, 5), max([k, k * 2]), top, max(n, n * 2), max(n, 2)

    assert_same(f, *[(x, scalar(n)) for x in ORDERS[:2] for n in (-1, 1, 4)], grad=False)


def test_sum_and_prod() -> None:
    """E1: with a start; what is empty; open lengths; dtypes stay."""

    def f(x):
        a, b, c = x
        whole = x.astype("int32")
        return (
            sum([a, b, c]), sum((v * v for v in x), start=a), sum([x, x], x), sum([], 3), sum(x),
            sum(whole), sum(x > 1), math.prod([a, b, c]), math.prod(x), math.prod([2, 3], start=a),
            functools.reduce(operator.mul, x), sum([1, 2]), math.prod([2, 5]),
        )  # fmt: skip

    def g(x):
        return sum(x) + 1, sum(x > 1), sum(x, x[0])

    assert_same(f, *ORDERS[:3])
    assert_same(g, X, X[:2] - 4, static=d2s.to_static(g, input_spec=OPEN))


# -- sorted --------------------------------------------------------------------------------------


@pytest.mark.parametrize("reverse", [False, True])
def test_sorted(reverse: bool) -> None:
    """E1: lists of tensors, tensors, numbers; every item with its own gradient; stable."""
    f = function_of(f"""
        def f(x):
            a, b, c = x
            low, mid, high = sorted([a * 2, b, c], reverse={reverse})
            tagged = sorted([(a, "a"), (b, "b"), (c, "c")], key=lambda t: t[0], reverse={reverse})
            rows = sorted([x * a, x + b, x - c], key=lambda row: row.sum(), reverse={reverse})
            wide = sorted([x * a, x[:2] + b], key=lambda row: row.max(), reverse={reverse})
            numbers = sorted([int(a) % 2, int(b), 7], reverse={reverse})
            mixed = sorted([1.5, 2, 0], key=lambda n: (n - a) ** 2, reverse={reverse})
            whole = sorted([x, -x], key=lambda v: v[0].astype("int32"), reverse={reverse})
            flags = sorted([x, x * 2, x * 3], key=lambda v: v[1] > 3, reverse={reverse})
            return (
                low, mid, high, tagged, rows, wide[0].sum(), numbers, mixed, whole, flags,
                sorted(x, reverse={reverse}), sorted([a]), sorted([]), sorted("cab"),
                sorted([b, a], key=None), sorted({{"b": a, "a": b}}),
                [v for v, _ in tagged], type(sorted(x)) is list, len(sorted(x)),
            )
    """)
    assert_same(f, *ORDERS, *TIES)


Pair = collections.namedtuple("Pair", "score tag")


def test_sorted_named_tuples() -> None:
    """E1: they stay named tuples."""

    def f(x):
        first, *rest = sorted([Pair(v, i) for i, v in enumerate(x)], key=lambda p: -p.score)
        return first.score * 2, first.tag, rest

    assert_same(f, *ORDERS, *TIES)


def test_list_sort() -> None:
    """E1, B4: in place; every name of the list sees it; in one side of a branch too."""

    def f(x):
        a, b, c = x
        values = [a, b, c]
        alias = values
        nothing = values.sort(key=lambda v: -v)
        if a > 1:
            values.sort()
        words = ["bb", "a"]
        words.sort(key=len)
        return alias[0] * 2, values[1], alias is values, nothing, words

    assert_same(f, *ORDERS, *TIES)


def test_what_cannot_be_sorted() -> None:
    """E1: vectors, and an order that a tensor turns are refused."""

    def vectors(x):
        return sorted([x, x * 2])

    def turned(x):
        return sorted([1, 2], reverse=x[0] > 1)

    with pytest.raises(UnsupportedInGraphError, match="D2S205") as caught:
        d2s.to_static(turned)(X)
    assert caught.value.cure
    with pytest.raises(ConditionError, match="key"):
        d2s.to_static(vectors)(X)


def test_sorted_of_an_open_length() -> None:
    """E1: the rows of a tensor whose length the run knows."""

    def f(x):
        return sorted(x), sorted(x, reverse=True)[0]

    assert_same(f, X, -X, X * 2, static=d2s.to_static(f, input_spec=OPEN))


# -- what a thing is, and what it has ------------------------------------------------------------


def test_isinstance_by_path() -> None:
    """E1: a number on one side and a tensor on the other."""

    def f(x):
        scale = 2.0
        if x.sum() > 0:
            scale = x.max()
        answer = isinstance(scale, paddle.Tensor)
        if isinstance(scale, paddle.Tensor):
            y = x / scale
        else:
            y = x * scale
        return y, answer, isinstance(scale, float), isinstance(scale, (float, paddle.Tensor))

    assert_same(f, X, -X, X * 2)


def test_arithmetic_by_path() -> None:
    """B3: what is computed of a number on one side and a tensor on the other is either, too."""

    def f(x):
        y = 2 if x.sum() > 9 else x
        z = 5.0 if x.sum() > 20 else x
        return (
            (y * 3 + 1, 1 - y, y * 1.5, -y, abs(y), y**2, y % 2, y > 1, y == 2),
            (y / 2, 7 / y, y // 2, 7 // y),  # of other bits, or of another shape
            (y + z, y * y, (y + 1) * 2 > 3),
            (isinstance(y + 1, int), isinstance(y * 2.0, float), isinstance(y + z, float)),
        )

    assert_same(f, X, X * 10, X * 100, X[0], X[0] * 100, grad=False)


def test_arithmetic_by_path_in_loops() -> None:
    """B3: also of what a loop makes a tensor of, or a number."""

    def grown(x):
        y = 0
        while x.sum() < 9:
            x = x + 1
            y = y + x
        return y * 2, y + 1, -y

    def fallen(x):
        y = x
        for _ in range(3):
            if x.sum() > 9:
                y = 1.5
            y = y * 2
        return y

    for function in (grown, fallen):
        assert_same(function, X, X * 10, X[0], X[0] * 100, grad=False)


def test_isinstance_by_alternative() -> None:
    """E1: kinds that cannot be one value."""

    def f(x):
        thing = "text"
        if x.sum() > 0:
            thing = [x] if x.max() > 2 else None
        named = "list" if isinstance(thing, list) else "other"
        return named, isinstance(thing, str), isinstance(thing, (str, list, type(None)))

    assert_same(f, X, -X, X[:1], grad=False)


def test_isinstance_of_values() -> None:
    """E1: tensors and numbers of the run against classes and unions of them."""

    def f(x):
        n = int(x[0])
        return (
            isinstance(x, paddle.Tensor), isinstance(x, int), isinstance(x, object),
            isinstance(n, int), isinstance(n, (str, (float, int))), isinstance(n, paddle.Tensor),
            isinstance(x, paddle.Tensor | int), isinstance(n, str | float), isinstance(x > 0, bool),
            isinstance(bool(x[0] > 0), int),
        )  # fmt: skip

    assert_same(f, X, -X, grad=False)


def test_type() -> None:
    """E1: of tensors, numbers of the run, and what differs by path."""

    def f(x):
        n = int(x[0])
        scale = 2.0
        if x.sum() > 0:
            scale = x.max()
        thing = "text" if x.sum() > 0 else ("tuple",)
        k = 1 if x.sum() > 0 else 3
        known = type(x) is paddle.Tensor, type(n) is int, type(n / 2) is float, type(k) is int
        told = type(scale) is float, type(scale) is paddle.Tensor, type(thing) is str
        return known, told, type(k)(2), type(n).__name__, type("T", (), {"a": 1}).a

    assert_same(f, X, -X, grad=False)


class Cache:
    limit = 3


def test_attributes_by_name() -> None:
    """E1, B4: one that only one side of a branch has made."""

    def f(x):
        cache = Cache()
        if x.sum() > 0:
            cache.top = x.max()
        y = x * 3
        if hasattr(cache, "top"):
            y = y + cache.top
        asked = hasattr(cache, "top"), hasattr(cache, "none"), hasattr(cache, "limit")
        return y * getattr(cache, "top", 2.0), getattr(cache, "top", None), asked

    def g(x):
        cache = Cache()
        if x.sum() > 0:
            cache.top = x.max()
        return x * getattr(cache, "top")

    assert_same(f, X, -X, X * 2)
    assert_same(g, X, -X, X * 2)


def test_attributes_of_values() -> None:
    """E1: of tensors, and of numbers that the run decides."""

    def f(x):
        n = int(x[0])
        return (
            hasattr(x, "shape"), hasattr(x, "get_defining_op"), hasattr(n, "shape"),
            hasattr(n, "bit_length"), getattr(n, "shape", "none"), getattr(x, "nothing", 1),
            getattr(x, "shape"), getattr(x, "mean")(), getattr(Cache, "limit"),
            getattr(Cache(), "gone", None),
        )  # fmt: skip

    def g(x):
        return getattr(x, "nothing")

    assert_same(f, X, -X)
    with pytest.raises(AttributeError, match="'Tensor' object has no attribute 'nothing'"):
        d2s.to_static(g)(X)


# -- math ----------------------------------------------------------------------------------------

INSIDE = (0.0, 0.3, -0.6, 1.0)
ABOVE = (1.0, 1.5, 20.0)
ANY = (-7.25, -0.5, 0.0, 0.5, 2.5, 3.0)
VALUES = {
    "acos": (*INSIDE, 2.0), "asin": (*INSIDE, -2.0), "atanh": (*INSIDE, -1.5),
    "acosh": (*ABOVE, 0.5), "sqrt": (0.0, 2.0, -1.0), "log": (2.0, 0.0, -1.0, math.inf),
    "log2": (8.0, 0.0), "log10": (1000.0, -1.0), "log1p": (0.5, -1.0, -3.0),
    "floor": (*ANY, math.inf, math.nan), "ceil": (*ANY, -math.inf), "sin": (*ANY, math.inf),
    "exp": (*ANY, -math.inf, 1000.0), "cosh": (*ANY, 2000.0), "isnan": (1.0, math.nan),
    "isinf": (1.0, -math.inf), "isfinite": (1.0, math.nan, math.inf),
}  # fmt: skip
ONE = (
    "acos acosh asin asinh atan atanh ceil cos cosh degrees erf exp expm1 fabs floor isfinite "
    "isinf isnan log log10 log1p log2 radians sin sinh sqrt tan tanh"
).split()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ONE)
def test_math_of_one_number(name: str) -> None:
    """E1: a Python number of the right type; outside of the domain the run raises as Python."""
    f = function_of(
        f"""
        def f(x, y):
            return math.{name}(x), y
    """,
        math=math,
    )
    values = [scalar(value) for value in VALUES.get(name, ANY)]
    assert_same(f, *[(value, X) for value in values])
    g = function_of(
        f"""
        def f(x, n):
            return x * math.{name}(float(n)) + math.{name}(1)
    """,
        math=math,
    )
    assert_same(g, (X, values[0]), (X, values[1]))


@pytest.mark.parametrize("name", ["atan2", "pow", "copysign", "fmod", "hypot", "isclose", "log"])
def test_math_of_two_numbers(name: str) -> None:
    """E1."""
    f = function_of(
        f"""
        def f(x, y):
            return math.{name}(x, y), math.{name}(x, 2.0), math.{name}(3, y)
    """,
        math=math,
    )
    pairs = [(2.0, 3.0), (7.5, 2.0), (1.0, 0.5), (0.25, -2.0), (-7.5, 2.0), (5.0, 0.0), (2.0, 1.0)]
    assert_same(f, *[(scalar(a), scalar(b)) for a, b in pairs], grad=False)


def test_math_of_numbers_of_the_run() -> None:
    """E1: ints, alternatives of a branch, options, the functions' own names."""
    sqrt = math.sqrt

    def f(x):
        k = 4 if x.sum() > 0 else 9.0
        n = int(x[0] * 3)
        rounded = math.floor(n), math.trunc(n / 2), math.ceil(k)
        near = math.isclose(x[0], 1.05, rel_tol=0.1)
        return x * math.sqrt(k), sqrt(abs(n)), rounded, near, math.hypot(x[0], x[1], x[2]), sqrt(2)

    def g(x):
        return math.trunc(x[0])

    assert_same(f, X, -X, X * 1.5)
    assert_same(g, X)


def test_math_has_no_gradient() -> None:
    """E1: ``float(t)`` has none; what uses the tensor itself has."""

    def f(x):
        return x * math.exp(x[0]) + math.sin(x[1])

    assert_same(f, X, -X)


def test_math_inside_branches_and_loops() -> None:
    """E1, F1: a number outside of the domain raises only where it is computed."""

    def f(x, n):
        y = x
        if x[0] > 0:
            y = y * math.sqrt(x[0])
        for i in range(n):
            y = y + math.log(x[1] + i)
        return y

    assert_same(f, *[(x, scalar(n)) for x in (X, -X, X * 0) for n in (0, 1, 3)])


def test_a_domain_error_that_is_caught_is_refused() -> None:
    """E1, F1: the handler is over when the run raises."""

    def f(x):
        try:
            return math.sqrt(x)
        except ValueError:
            return 0.0

    with pytest.raises(UnsupportedInGraphError, match="D2S205"):
        d2s.to_static(f)(scalar(4.0))


# -- round, divmod, abs, operator ----------------------------------------------------------------


def test_round() -> None:
    """E1: to even at a tie, correctly to decimals; tensors have none."""

    def f(x):
        v = float(x)
        return round(v), round(v, 2), round(v, 0), round(v, 5), round(int(x)), round(int(x), 1)

    def g(x):
        return round(x)

    ties = [0.5, 1.5, 2.5, -0.5, -1.5, 2.675, 1.005, 0.125, 0.375, -2.345, 1e17, 123456.785, 0.0]
    values = [paddle.to_tensor(value, dtype="float64") for value in ties]
    assert_same(f, *values, grad=False, rtol=1e-15, atol=0)
    assert_same(g, scalar(1.5))
    h = function_of("""
        def f(x):
            return round(float(x))
    """)
    assert_same(h, scalar(math.nan), scalar(math.inf), scalar(1.0), grad=False)


def test_divmod_and_abs() -> None:
    """E1: of numbers that the run decides; a zero divisor raises; tensors have no divmod."""

    def f(x, y):
        return divmod(int(x), int(y)), divmod(float(x), 0.75), abs(int(x)), abs(2 if x > 0 else -3)

    def g(x, y):
        return divmod(x, 2)

    pairs = [(7, 2), (-7, 2), (7, -3), (1, 0)]
    assert_same(f, *[(scalar(float(a)), scalar(float(b))) for a, b in pairs], grad=False)
    assert_same(g, (X, X))


def test_functions_of_operator() -> None:
    """E1: what asks for truth or looks something up."""

    def f(x, i):
        rows = [x, x * 2, x * 3]
        y = operator.getitem(rows, i)
        if operator.not_(x.sum() > 0):
            y = operator.neg(y)
        known = operator.truth(x[0] > 0), operator.contains([1, 2], i), operator.is_(x, x)
        return operator.add(y, x), known

    assert_same(f, *[(x, scalar(i)) for x in (X, -X) for i in (0, 2)])


def test_callbacks() -> None:
    """E1, E2: reduce, accumulate and starmap convert what they call."""

    def larger(a, b):
        if a.sum() > b.sum():
            return a
        return b

    def f(x, y):
        parts = [x, y, x * y]
        best = functools.reduce(larger, parts, x * 0)
        running = list(itertools.accumulate(parts, larger))
        more = list(itertools.accumulate(parts, larger, initial=x))
        stars = list(itertools.starmap(larger, [(x, y), (y, x * 2)]))
        return best, running, more, stars, list(itertools.accumulate([x, y]))

    assert_same(f, (X, -X), (-X, X), (X, X * 2))


# -- text ----------------------------------------------------------------------------------------


def test_text_of_tensors_is_printed(capfd: Any) -> None:
    """E1, F1: str, repr, format, join and str.format, letter for letter."""

    def f(x):
        n = int(x[0] * 4)
        print("value " + str(x.sum()))
        if x.sum() > 0:
            print(repr(x), ascii(n), sep="|")
        print(format(x[0], ".2f"), format(n, "04d"))
        print("; ".join([str(x[0]), "b", f"{n}"]), "-".join(["a", "b"]))
        print("{} and {:.1f} or {name!r:>{width}}".format(n, x[1], name=x[2], width=60))
        print(str([x[0], n]), "{0}{0}".format("a"), str(3))
        return x

    converted = d2s.to_static(f)
    for x in (X, -X, X * 2):
        f(x)
        want = capfd.readouterr().out
        for _ in range(2):
            converted(x)
            assert capfd.readouterr().out == want
        assert "Tensor" in want


def test_text_of_what_a_branch_chose() -> None:
    """E1: constants have their text at once, so it may be returned."""

    def f(x):
        k = 3 if x.sum() > 0 else 1.5
        return str(k), repr(k), format(k, "05.1f")

    assert_same(f, X, -X, grad=False)


def test_text_of_a_tensor_is_returned_and_not_joined() -> None:
    """E1, F1."""

    def f(x):
        return str(x)

    def g(x):
        return ",".join([x])

    assert_same(f, X, grad=False)
    with pytest.raises(TypeError, match="sequence item 0: expected str instance, Tensor found"):
        d2s.to_static(g)(X)


# -- outside of a capture ------------------------------------------------------------------------


def test_outside_of_a_capture_python_stays() -> None:
    """A1: the built-ins themselves, except those whose callback is converted."""
    for function in [*OPERATORS, *KEYED]:
        if function is not sorted:
            assert call(function) is function
    for kind, name in METHODS:
        made = (_ for _ in ()) if kind is types.GeneratorType else kind()
        method = getattr(made, name)
        assert call(method) is method
    assert call(sorted)([2, 1], key=lambda n: -n, reverse=True) == [1, 2]
    with pytest.raises(TypeError, match="sorted expected 1 argument, got 0"):
        call(sorted)()
    assert call(functools.reduce)(operator.add, [1, 2], 4) == 7
    assert list(call(itertools.accumulate)([1, 2], initial=4)) == [4, 5, 7]


def test_keys_of_different_types() -> None:
    """E1: what only some paths can sort: the others raise what dygraph raises."""

    def f(x):
        key = "a" if x.sum() > 0 else 2
        return sorted([key, key])

    def g(x):
        return max([(x[0], "a"), (x[1], 1)])

    assert_same(f, X, -X)
    assert_same(g, X, -X, X * 0, grad=False)
