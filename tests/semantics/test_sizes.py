"""E4: the sizes of a tensor are Paddle's own list, also in parts, sums and multiples of them."""

# ruff: noqa: RUF005
from __future__ import annotations

import paddle
import pytest

import d2s
from tests.helpers import shown as shown_of

SIZES = (2, 3, 5)
"""The second one opens the dimension."""


def parts(x):
    s = x.shape
    return s[1:], s[:1], s[::-1], s[-1], s[:]


def sums(x):
    s = x.shape
    return s + [1], [2] + s, s[1:] + s, s + (7,), s * 2, 2 * s[:1], s[:0]


def plain_lists(x):
    s = x.shape
    return list(s), s.copy(), sorted(s), tuple(s[:1]), [*s[1:], 0]


def shown(x):
    s = x.shape
    print(s[:1], f"{s[:-1]} {s[:1]!r}", str(s[:1] + [1]), [s[:1]], (s[1:],))
    if x.sum() > 0:
        print("in", s[:1], repr(s[::-1]))
    return x


def counted(x):
    return x.shape[:1].numel() * x.shape.numel(), type(x.shape[:1]) is type(paddle.ones([1]).shape)


def with_others(x):
    return x.shape[:1] + [None, "a", 2.5], x.shape[:1] == [3], x.shape[:1] != (3,), x.shape < [9]


def used(x):
    y = x.reshape(x.shape[1:] + [-1]) + 1
    if y.max() > 0:
        y = paddle.zeros(x.shape[:1] + y.shape[:1])
    return y, [size for size in x.shape[:-1]]


def kinds(found):
    """The types of what a function gives, all the way down."""
    inner = [kinds(each) for each in found] if isinstance(found, list | tuple) else []
    return type(found).__name__, inner


@pytest.mark.parametrize(
    "function",
    [parts, sums, plain_lists, shown, counted, with_others, used],
    ids=lambda f: f.__name__,
)
def test_sizes_are_what_dygraph_has(function, capsys):
    static = d2s.to_static(function)
    for size in SIZES:
        x = paddle.ones([size, 4])
        wanted = function(x)
        printed = capsys.readouterr().out
        found = static(x)
        assert capsys.readouterr().out == printed
        assert shown_of(found) == shown_of(wanted)
        assert kinds(found) == kinds(wanted)
