"""Every spelling of a call: arguments by position, by name, by alias, ``out=``, too many of them.

What stands in for a function of Python or Paddle takes what the function takes (rule G1b).
"""

from __future__ import annotations

import inspect
import itertools
import operator
from typing import Any

import paddle
import pytest

import d2s
from d2s.errors import InplaceError
from d2s.runtime.calls.call import STAND_INS
from tests.helpers import assert_same, function_of, tensor

X = tensor(1.5, -2.0, 3.0)
WHOLE = tensor(3, 1, 2, dtype="int64")

OF_PYTHON = """
    abs(x[0]) | all(x > 0) | any([x[0] > 0, x[1] > 0]) | bool(x[0]) | bool()
    dict(enumerate(x)) | dict(enumerate(x, 1)) | dict(enumerate(iterable=x, start=2))
    divmod(int(x[0]), 2) | float(x[0]) | float() | format(x[0], ".2f") | format(1.0)
    getattr(x, "shape") | getattr(x, "no", 3) | hasattr(x, "no") | int(x[0]) | int() | int("11", 2)
    int("11", base=2) | isinstance(x, paddle.Tensor) | isinstance(x, (int, float)) | len(x)
    list(x) | list() | list(map(abs, x)) | list(filter(None, [x[0] > 0])) | tuple(reversed(list(x)))
    list(map(lambda a, b: a + b, x, [1, 2, 3])) | max(x[0], x[1]) | max([x[0], x[1]])
    max(x, key=lambda v: -v) | max([], default=x) | max(x[0], x[1], key=lambda v: v * v)
    min(list(x), default=0, key=abs) | min(x[0], 2) | next(iter([x])) | next(iter([]), x)
    pow(x, 2) | pow(base=x, exp=2) | pow(7, 2, mod=5) | list(range(int(x[2])))
    list(range(1, 5, 2))
    repr(1) | round(float(x[0])) | round(float(x[0]), 1) | round(number=float(x[0]), ndigits=1)
    sorted(list(x)) | sorted(list(x), key=lambda v: -v) | sorted(list(x), reverse=True)
    sorted(x, key=abs, reverse=True) | str(3) | str(object=3) | str() | str(b"a", "utf-8")
    sum(list(x)) | sum(list(x), x) | sum(list(x), start=x) | type(x) | tuple() | tuple(x)
    list(zip(x, list(x))) | list(zip(x, [1, 2, 3], strict=True)) | list(zip())
    list(itertools.accumulate(x)) | list(itertools.accumulate(x, operator.mul))
    list(itertools.accumulate(iterable=x, func=operator.add, initial=x[0]))
    list(itertools.starmap(operator.add, [(x, x)])) | functools.reduce(operator.add, list(x))
    functools.reduce(operator.add, list(x), x[0]) | math.isclose(x[0], x[1], rel_tol=0.5)
    math.isclose(a=x[0], b=x[1], abs_tol=9.0) | math.prod(list(x)) | math.prod(list(x), start=2)
    math.log(4.0, 2) | math.hypot(float(x[0]), 2.0) | operator.contains([1], 1)
    operator.getitem(x, 0) | operator.not_(x[0] > 0) | operator.truth(x[0])
"""

WRONG = """
    abs() | abs(x, x) | abs(thing=x) | all() | all(things=[x]) | bool(x, x) | enumerate()
    enumerate(thing=x) | divmod(x) | float(x, x) | format() | getattr(x) | hasattr(x)
    int(x, thing=2) | isinstance(x) | len() | len(x, x) | len(thing=x) | list(x, x) | list(things=x)
    map() | max() | max(x, wrong=1) | min() | next() | range() | repr() | repr(x, x) | reversed()
    round() | sorted() | sorted(x, abs) | sorted(x, keys=abs) | sum() | sum(things=[x])
    tuple(x, x)
    zip(x, stricter=True) | functools.reduce(operator.add) | itertools.starmap(operator.add)
    math.prod() | operator.not_() | [x].sort(abs) | "".join() | [x].sort(keys=abs)
"""

OF_PADDLE = """
    paddle.stack(x=[x, x]) | paddle.stack(tensors=[x, x], dim=1) | paddle.stack([x, x], axis=1)
    paddle.stack(axis=1, x=[x, x]) | paddle.stack([x, x], 1, None) | paddle.stack((x, x), name="s")
    paddle.concat(x=[x, x]) | paddle.concat(tensors=[x, x], dim=0) | paddle.concat([x, x], axis=-1)
    paddle.cat([x, x]) | paddle.cat(tensors=(x, x), dim=0) | paddle.concatenate(x=[x, x], axis=0)
    paddle.hstack(x=[x, x]) | paddle.vstack(x=[x, x]) | paddle.dstack([x, x], name="d")
    paddle.add_n(inputs=[x, x]) | paddle.add_n([x, x], name="n") | paddle.add_n(x)
    x.view(3, 1) | x.view(-1, 1) | x.view([1, 3]) | x.view(shape_or_dtype=[3, 1])
    x.view(size=[1, 3])
    paddle.view(x, 1, 3) | paddle.view(x=x, shape_or_dtype=[3, 1]) | x.view([3, 1], name="v")
    x.view_as(x) | x.view_as(other=x) | paddle.view_as(x=x, other=x) | x.view(x.shape[0], 1)
    paddle.unique(x) | paddle.unique(x=x, return_index=True) | x.unique(return_counts=True)
    paddle.assign(x=x) | paddle.assign(x, output=None) | paddle.to_tensor(data=x)
    paddle.to_tensor(x, "float64") | paddle.to_tensor(x, dtype="float64", stop_gradient=False)
    paddle.reshape(x, 3, 1) | x.reshape(3, 1) | x.reshape(shape=[3, 1]) | paddle.zeros(2, 3)
    paddle.zeros(size=[2]) | paddle.ones(2, dtype="float64") | x.tile(2, 1) | x.expand(2, 3)
    x.tile(2) | paddle.tile(x, repeat_times=2) | paddle.tile(x=x, dims=[2])
    x.unsqueeze(0).transpose(1, 0) | paddle.add(input=x, other=x) | paddle.sum(input=x, dim=0)
    x.sum(dim=0, keepdim=True) | paddle.max(x, axis=0) | x.clip(max=1.0) | x.clip(0.0)
    paddle.nn.functional.softmax(input=x, dim=0) | x.item(0) | x[0].item()
"""


def calls(table: str) -> list[str]:
    return [text.strip() for text in table.replace("\n", "|").split("|") if text.strip()]


def function_for(text: str) -> Any:
    scope = {"itertools": itertools, "operator": operator}
    return function_of(f"import functools, math\ndef f(x): return {text}", "f", **scope)


@pytest.mark.parametrize("text", calls(OF_PYTHON))
def test_pythons_functions(text: str) -> None:
    """G1b, E1: by position, by name, defaults left out."""
    assert_same(function_for(text), X)


@pytest.mark.parametrize("text", calls(WRONG))
def test_calls_that_python_refuses(text: str) -> None:
    """G1b, A1: in Python's own words, not in those of what stands in."""
    function = function_for(text)
    with pytest.raises(TypeError) as want:
        function(X)
    with pytest.raises(TypeError) as got:
        d2s.to_static(function)(X)
    assert str(got.value) == str(want.value)


@pytest.mark.parametrize("text", calls(OF_PADDLE))
def test_paddles_functions(text: str) -> None:
    """G1b: by position, by name, by each alias, several numbers in the place of a list."""
    assert_same(function_for(text), X)


def test_signatures_of_what_stands_in() -> None:
    """G1b: ``inspect`` sees the signature of the original; positional parameters stay so."""
    for function, operator_ in STAND_INS.functions.items():
        assert inspect.signature(operator_) == inspect.signature(function), function
    for function, operator_ in STAND_INS.builtins.items():
        try:
            parameters = inspect.signature(function).parameters.values()
        except ValueError:
            continue
        taken = inspect.signature(operator_).parameters
        open_ = {each.kind for each in taken.values()}
        named = [each for each in parameters if each.kind is each.KEYWORD_ONLY]
        for each in named:
            assert each.name in taken or inspect.Parameter.VAR_KEYWORD in open_, function


GROWN = """
    def grown(x):
        items = []
        while x.abs().max() > 1:
            x = x * 0.5
            items.append(x)
        return items
"""

JOINED = """
    paddle.stack(x=items) | paddle.stack(tensors=items, dim=1) | paddle.concat(tensors=items, dim=0)
    paddle.cat(items) | paddle.concatenate(items) | paddle.hstack(items) | paddle.vstack(x=items)
    paddle.dstack(items) | paddle.row_stack(items) | paddle.column_stack(items)
    paddle.add_n(inputs=items)
"""


@pytest.mark.sampled(
    3, also=["paddle.add_n(inputs=items)", "paddle.dstack(items)", "paddle.hstack(items)"]
)
@pytest.mark.parametrize("text", calls(JOINED))
def test_lists_that_grew_in_a_loop(text: str) -> None:
    """D1, G1b: they are joined by all functions that join, however these are called."""
    function = function_of(
        f"{GROWN}\n    def f(x):\n        items = grown(x)\n        return {text}"
    )
    assert_same(function, X, X.reshape([3, 1]), X.reshape([1, 3, 1]))
    if "concat" not in text and "cat(" not in text and "dim=1" not in text:
        assert_same(function, X[0] * 4)


# -- out= ----------------------------------------------------------------------------------------

OUT = """
    paddle.add(x, x, out=o) | paddle.multiply(input=x, other=y, out=o) | x.exp(out=o)
    paddle.stack([x, y], out=o) | paddle.concat(tensors=[x, y], out=o) | paddle.eq(x, y, out=o)
    paddle.sum(x, out=o) | paddle.topk(x, 2, out=(o, p)) | paddle.cumsum(x, **{"out": o})
    paddle.bitwise_and(k, k, o) | paddle.bitwise_not(k, o) | paddle.gather(x, k - 1, 0, None, o)
    paddle.arange(3, out=o) | paddle.zeros([2], out=o) | paddle.clip(x, 0.0, out=o)
"""


@pytest.mark.parametrize("text", calls(OUT))
def test_out(text: str) -> None:
    """G1b, F4: what is given as ``out`` is the result; a program of Paddle's ignores it."""
    function = function_of(f"""
        def f(x, y, k):
            o, p = paddle.zeros([1]), paddle.zeros([1], "int64")
            r = {text}
            return o * 2 if o.dtype != paddle.bool else o, p
    """)
    assert_same(function, (X, X + 1, WHOLE))


def test_out_is_an_argument() -> None:
    """F4: the caller's tensor and the layer's buffer have the result after the run."""

    def f(x, into):
        paddle.add(x, x, out=into)
        return into.sum()

    assert_same(f, (X, X * 0), grad=False)


def test_out_has_another_name() -> None:
    """F4: all names of one tensor show the result."""

    def f(x):
        o = paddle.zeros([3])
        held = [o]
        if x.sum() > 0:
            o = paddle.add(x, x, out=held[0])
        return o, held[0]

    assert_same(f, X)


def test_out_of_another_shape_is_refused_for_what_others_see() -> None:
    """F4: an argument cannot become a tensor of another shape."""

    def f(x, into):
        paddle.add(x, x, out=into)
        return into.sum()

    with pytest.raises(InplaceError, match="another dtype or shape"):
        d2s.to_static(f)(X, paddle.zeros([1]))
