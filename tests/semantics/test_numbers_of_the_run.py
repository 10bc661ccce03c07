"""Python numbers that a branch, a loop or a tensor decides, wherever such a number may stand (E1).

Each expression is tried with a number of a conditional, one that ``int()`` makes of a tensor, and
one that a loop has counted.
"""

from __future__ import annotations

import math
from typing import Any

import paddle
import pytest

import d2s
from d2s.errors import NotStaticError
from tests.helpers import assert_same, function_of, scalar, tensor

X = tensor(1.0, 2.0, 3.0)

SOURCES: dict[str, tuple[str, list[Any]]] = {
    "a branch": ("k = 1 if t > 0 else 2", [(X, scalar(1)), (X, scalar(-1))]),
    "int()": ("k = int(t)", [(X, scalar(1)), (X, scalar(2))]),
    "a loop": (
        "k = 0\n    for v in x:\n        if v > t:\n            k += 1",
        [(X, scalar(2)), (X, scalar(1))],
    ),
}

EXPRESSIONS = [
    "x[k], x[:k], x[k:], x[:k, None], x[-k:], x[k - 1:k + 1], x[[0, k]]",
    "y[0, k], y[k - 1, k], y[:, :k]",
    "[10, 20, 30][k], [1, 2, 3][-k], (1, 2, 3)[-k], 'abc'[k], range(5)[k], range(9, 0, -2)[-k]",
    "[1, 2, 3][k:], [1, 2, 3][:-k], (1, 2, 3)[:k], 'abc'[:k] + '|', 'abcdef'[k:-1] + '|'",
    "[x, 2.0, None][:k], (x, 'a', 1)[k:], [x, x * 2][-k:], [][:k], sum((1, 2, 3)[:k])",
    "[v * 2 for v in [1, 2, 3][:k]], len((1, 2, 3)[:k])",
    "[0] * k, k * [0], (1,) * k, [x] * k, len([0] * k), [] * k, [0] * k + [1] * (3 - k)",
    "'ab' * k + '|', k * 'x' + '|'",
    "[[0] * k for _ in range(2)]",
    "paddle.zeros([k]), paddle.zeros(shape=[k, 2]), paddle.ones(k), paddle.full([2], k)",
    "paddle.arange(6.0).reshape([k, -1]), x.expand([k, 3]), paddle.arange(k), x ** k",
    "paddle.tile(x, k), x.tile(k), x.tile(repeat_times=[k]), paddle.tile(x, [k, 1])",
    "paddle.concat([y, y], k - 1), y.sum(k - 1), paddle.squeeze(y.unsqueeze(k - 1), k - 1)",
    "paddle.roll(y, k), paddle.topk(x, k)[0], y.max(k - 1), y.mean(k - 1, keepdim=True)",
    "bin(k), hex(k + 9), oct(-k), chr(96 + k), bin(k > 1), bin(k)[2:].zfill(4), hex(3)",
    "f'{k:04d}.', str(k) + '.', '%03d' % k + '.', '{:>6}'.format(k) + '.'",
    "d[k], d.get(k), d.get(k, 'none'), d.get(k + 9), d.get(k + 9, 1.5), k in d, {1: x, 2: x}[k]",
    "divmod(7, k), divmod(k, 3), divmod(k, -3), k % -3, -k // 3, k // 2, k / 2, -k, +k",
    "k << 1, 1 << k, k >> 1, k & 1, k | 4, k ^ 1, ~k, k << k, (k > 1) & True, True & k",
    "math.gcd(k, 4), math.lcm(k, 6), math.isqrt(k * 1000003), math.factorial(k), math.gcd(k, 4, 6)",
    "math.comb(5, k), math.perm(5, k), math.comb(k + 3, 2), math.fsum([k, 0.5]), math.fsum([])",
    "math.dist([k], [3]), math.dist((k, 2.0), [0.5, k]), math.fsum(k / 2 for _ in range(2))",
    "math.modf(-k / 4), math.frexp(k / 4), math.ldexp(0.75, k), math.remainder(x[k].item(), 2)",
    "math.gamma(k / 2), math.lgamma(k + 0.5), math.lgamma(x.max()), math.nextafter(k, 9)",
    "math.ulp(k), math.gamma(x[k]), math.fsum([x[k], k, 1])",
    "float(k).is_integer(), (k / 2).is_integer(), round(k / 3, 1), min(k, 2), max(k, 1.5)",
    "[1, 2, 3].index(k), (1, 2, 1).count(k), [3, k, 1].index(1), sorted([3, k, 1])",
    "list(enumerate([x, x], k)), list(zip(range(k), [1, 2, 3])), list(reversed(range(k)))",
    "x[k].item() + k, k + x[k].item(), k * x.shape[0]",
    "k == 1, 0 < k < 2, k is None, isinstance(k, int), not k - 1, k - 1 or 5, k in (1, 3)",
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES.keys())
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_a_number_in_an_expression(expression: str, source: tuple[str, list[Any]]) -> None:
    """E1: the result is that of the number itself."""
    text, calls = source
    f = function_of(
        f"""
def f(x, t):
    y = paddle.arange(6.0).reshape([2, 3])
    d = {{1: "one", 2: "two"}}
    {text}
    return {expression}
""",
        math=math,
    )
    assert_same(f, *calls, grad=False)


RANGES = """
    r[-1], r[0], r[k - 1], r[:2], r[-2:], r[1:], list(r[:k]), len(r[1:]), r[1:][-1], list(r)
    k in r, 3 in r, 2.0 in r, 2.5 in r, True in r, 'a' in r, None in r, (1 if t > 2 else 9) in r
    bool(r), not r, r and 1, r or 2, (3 if r else 4), len(r), sum(r), max(r, default=-1)
    r == range(3), r != range(3), r == range(k), r == [0, 1, 2], range(k, 9, 2) == range(k, 10, 2)
    isinstance(r, range), type(r) is range, type(r).__name__, isinstance(r, list), r.__class__
    r.start, r.stop, r.step, range(k, 9, 2).start, range(9, k, -2).stop, range(9, k, -2).step
    r.index(2), r.index(k - 1), r.count(2), r.count(k), range(9, k, -2).index(7), r.count('a')
    range(9, k, -2)[0], range(9, k, -2)[-1], range(2, k + 3)[1], range(k, 9, 2)[1:][0]
    r, [r], {'r': r[1:]}, f'{r}', str([r]), repr(range(9, k, -2)), list(enumerate(r)), tuple(r)
"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("expression", RANGES.strip().splitlines())
@pytest.mark.parametrize("full_graph", [True, False])
def test_a_range_of_the_run(expression: str, *, full_graph: bool) -> None:
    """C5, E1: it is a range in all that Python's does."""
    f = function_of(f"def f(t):\n    k = int(t)\n    r = range(k)\n    return {expression}")
    static = d2s.to_static(f, full_graph=full_graph)
    for number in (3, 5, 4):
        got, want = static(scalar(number)), f(scalar(number))
        assert repr(got) == repr(want)


@pytest.mark.parametrize("expression", ["r[0]", "r[9]", "r.index(k)", "r['a']", "r.nothing"])
def test_what_a_range_of_the_run_raises(expression: str) -> None:
    """E1: what Python raises, as ``range(0)`` does."""
    f = function_of(f"def f(t):\n    k = int(t)\n    r = range(k - 3)\n    return {expression}")
    static = d2s.to_static(f)
    with pytest.raises((IndexError, ValueError, TypeError, AttributeError)) as expected:
        f(scalar(3))
    with pytest.raises(type(expected.value)):
        static(scalar(3))


@pytest.mark.parametrize(
    "expression",
    [
        "[1, 2][k]",
        "(1, 2)[k]",
        "'ab'[k]",
        "range(2)[k]",
        "1 << -k",
        "math.isqrt(-k)",
        "{}[k]",
        "math.comb(-k, 2)",
        "math.gamma(-k)",
        "math.ldexp(1.0, k * 1000)",
        "math.modf(x=k)",
    ],
)
def test_what_python_raises(expression: str) -> None:
    """E1: the run raises it, in Python's words."""
    f = function_of(f"def f(t):\n    k = int(t)\n    return {expression}", math=math)
    assert_same(f, (scalar(5),), grad=False)


def test_an_item_of_a_dict_under_a_number() -> None:
    """D2: each key that is there may be meant; in loops of Python's and of the program."""
    f = function_of("""
    def f(ids, n, x):
        counts = {1: 0, 2: 0}
        for i in ids:
            counts[int(i)] += 1
        last = {1: x, 2: x * 2}
        for i in range(n):
            last[int(ids[i])] = last[int(ids[i])] * 2
            counts[int(ids[i])] = counts[int(ids[i])] + i
        return counts, last
    """)
    ids = paddle.to_tensor([1, 2, 2, 1, 1])
    assert_same(f, *((ids, scalar(n), X) for n in (4, 0, 5)))


@pytest.mark.parametrize("table", ["{1: 0}", "{}", "{'a': 0}"])
def test_a_new_key_that_only_the_run_knows(table: str) -> None:
    """D2: the dict has it, behind those that were there."""
    f = function_of(f"def f(t):\n    d = {table}\n    d[int(t)] = 5\n    return d")
    assert_same(f, scalar(7), scalar(1))


def test_a_default_that_only_the_run_knows_to_be_missing() -> None:
    """D2: a ``defaultdict`` would make the key."""
    from collections import defaultdict

    f = function_of("def f(t, d):\n    return d[int(t)]")
    plain, given = (defaultdict(int, {1: 5}) for _ in range(2))
    static = d2s.to_static(f)
    for key in (1, 7, 7, 8):
        assert static(scalar(key), given) == f(scalar(key), plain)
        assert dict(given) == dict(plain)


@pytest.mark.parametrize("use", ["{k}", "{k: 1}", "s.add(k)", "len({1, k})", "set([k])"])
def test_a_number_in_a_set_or_dict(use: str) -> None:
    """E1, D2: items that are equal are one."""
    f = function_of(f"def f(t):\n    k = int(t)\n    s = {{1}}\n    {use}\n    return len(s)")
    assert_same(f, scalar(1), scalar(2))


def test_a_number_that_is_hashed() -> None:
    """E1: refused, as only the run knows it."""
    f = function_of("def f(t):\n    return hash(int(t))")
    with pytest.raises(NotStaticError, match="hashed"):
        d2s.to_static(f)(scalar(1))


@pytest.mark.parametrize("make", ["bool(x[{}] > 0)", "True if x[{}] > 0 else False"])
def test_truth_values_are_numbers(make: str) -> None:
    """E1: ``True + True`` was ``True``, ``-True`` was ``True``, and ``True - True`` was refused."""
    f = function_of(
        f"def f(x):\n    a = {make.format(0)}\n    b = {make.format(1)}\n"
        "    return a + b, a - b, a * b, b - True, True + a, -a, ~a, a + b + True, a & b"
        ", a / (b + 1), a // (b + 1), a % (b + 1), a ** b, a << b, a < b"
    )
    given = [tensor(*values) for values in ((1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0))]
    assert_same(f, *given, static=d2s.to_static(f, full_graph=True))


@pytest.mark.parametrize(
    "text",
    [
        "{-k} {-float(x[1])} {-(k * 1.0)} {-(k + 0.0):.1f}",
        "{round(-k, 2)} {round(x[1].item() * 0.001, 2)} {round(x[1].item() * 0.001 - k, 1):.1f}",
        "{[-v for v in x.tolist()]} {-x.sum().item()}",
    ],
)
def test_the_sign_of_zero(text: str) -> None:
    """E1, F1: Python's ``-0.0`` is what is printed and returned."""
    function = function_of(f"def f(x):\n    k = float(x[0])\n    return f'{text}', -k")
    static = d2s.to_static(function, full_graph=True)
    for x in (tensor(0.0, -1.0), tensor(-0.0, 1.0), tensor(2.0, -3.0)):
        assert repr(static(x)) == repr(function(x))
