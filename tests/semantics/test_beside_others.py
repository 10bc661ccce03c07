"""Tensors beside what is no number: comparisons, repetitions, copies, and bounds of draws.

``tensor == "text"`` and ``tensor in a_list`` stand in code that takes settings of several kinds.
"""

from __future__ import annotations

import contextlib
import copy
import decimal
import enum
import fractions
import io
import json
import operator
from types import SimpleNamespace

import numpy as np
import paddle
import pytest

import d2s
from tests.helpers import assert_same


class Mode(enum.Enum):
    ON = 1


class Same:
    """Equal to everything, from the right."""

    def __eq__(self, other):
        return "same"

    def __ne__(self, other):
        return "other"

    __hash__ = None


OTHERS = {
    "None": None,
    "list": [1.0, 2.0],
    "tuple": (1.0,),
    "dict": {},
    "set": {1},
    "bytes": b"a",
    "object": object(),
    "class": int,
    "ellipsis": ...,
    "enum": Mode.ON,
    "decimal": decimal.Decimal(1),
    "fraction": fractions.Fraction(1, 2),
    "slice": slice(1),
    "function": len,
    "range": range(2),
    "its own word": Same(),
}


@pytest.mark.parametrize("other", OTHERS)
def test_what_is_no_number_is_equal_to_none(other) -> None:
    """B3: a tensor equals nothing that is no number; what stands on the left says it itself."""
    thing = OTHERS[other]

    def compared(x):
        return x == thing, x != thing, thing == x, thing != x

    assert_same(compared, paddle.ones([2, 1]))


def test_a_tensor_among_things_of_all_kinds() -> None:
    """B3: ``in`` goes by equality, past what is no tensor."""

    def found(x):
        y = x
        return y in [None, ["a"], y], y in [None, (), {}], x * (2 if x is None or x == [] else 3)

    assert_same(found, paddle.ones([2, 1]))


@pytest.mark.parametrize("other", ["1", paddle.float32], ids=["text", "dtype"])
@pytest.mark.parametrize("symbol", [operator.eq, operator.ne, operator.lt, operator.add])
def test_what_paddle_takes_for_a_number(other, symbol) -> None:
    """B3: a text, which Paddle takes for zero, and a dtype beside a tensor are refused."""
    converted = d2s.to_static(lambda x: symbol(x, other), full_graph=True)
    with pytest.raises(d2s.errors.UnsupportedInGraphError) as caught:
        converted(paddle.ones([2]))
    assert caught.value.code == "D2S205"


@pytest.mark.parametrize("times", [2, -1, True, 2.5], ids=str)
def test_tensors_repeat_sequences(times) -> None:
    """B2: a 0-D tensor of any dtype says how often a list, tuple or text is repeated."""

    def repeated(t):
        return [1, 2] * t, t * (3,)

    def said(t):
        if t > 1:
            raise ValueError("ab" * t + t * "c")
        return t

    assert_same(repeated, paddle.to_tensor(times))
    assert_same(said, paddle.to_tensor(times))


@pytest.mark.parametrize("thing", [[1], (1,), "a"], ids=str)
@pytest.mark.parametrize("shape", [[2], [2, 1]], ids=str)
def test_larger_tensors_do_not(thing, shape) -> None:
    """B2: a tensor of several elements does not, with the exception of dygraph."""
    assert_same(lambda x: x * thing, paddle.ones(shape))
    assert_same(lambda x: thing * x, paddle.ones(shape))


TABLE = paddle.to_tensor([1.0, 2.0])
HELD = SimpleNamespace(table=TABLE, both=[TABLE, 1])


def test_deep_copies() -> None:
    """D2: a copy of a tensor that the function finds is a tensor of its own."""

    def copied(x):
        y = copy.deepcopy(TABLE)
        y[0] = 9.0
        held = copy.deepcopy(HELD)
        return y, TABLE, held.table + x, held.both[0] is held.table, copy.copy(HELD).table + x

    assert_same(copied, paddle.ones([2]))


def test_shallow_copies_of_tensors() -> None:
    """D2: another tensor of the same memory is refused; of a global it was the one of a call."""
    converted = d2s.to_static(lambda x: copy.copy(TABLE) + x, full_graph=True)
    with pytest.raises(d2s.errors.UnsupportedInGraphError, match="same memory"):
        converted(paddle.ones([2]))


def test_numpy_takes_tensors_for_sizes() -> None:
    """E5: a tensor is a size, or a shape, of what NumPy makes."""

    def made(n, shape):
        sizes = np.zeros(n), np.ones((n, 3)), np.zeros([n]), np.full((n, n), 2.0), np.eye(n)
        rows = np.arange(n), np.arange(1, n + 3), np.arange(0, 10, n), np.linspace(0, 1, n)
        return *sizes, *rows, np.zeros(shape), np.identity(n)

    assert_same(made, paddle.to_tensor(2), paddle.to_tensor([2, 3]))
    assert_same(made, paddle.to_tensor(4), paddle.to_tensor([1, 2]))


def test_bounds_of_drawn_integers() -> None:
    """G1: integers are drawn between bounds that the run decides, each of them as often."""

    def drawn(low, high):
        some = paddle.randint(low, high, [4000])
        return some, paddle.randint(high, shape=[2, 3], dtype="int32")

    converted = d2s.to_static(drawn, full_graph=True)
    paddle.seed(3)
    for low, high in ((0, 4), (-2, 3)):
        some, more = converted(paddle.to_tensor(low), paddle.to_tensor(high))
        assert some.dtype == paddle.int64
        values, counts = np.unique(some.numpy(), return_counts=True)
        assert values.tolist() == list(range(low, high))
        assert counts.min() > 0.8 * 4000 / (high - low)
        assert more.dtype == paddle.int32
        assert 0 <= int(more.min()) <= int(more.max()) < high


def test_tensors_that_are_filtered() -> None:
    """D1: ``filter`` over the rows of a tensor is a list whose length the run decides."""

    def positive(x):
        return [*filter(lambda row: row > 0, x)], len(list(filter(None, x)))

    assert_same(positive, paddle.to_tensor([1.0, -2.0, 0.0, 3.0]))


FILLED = paddle.to_tensor([1.0, -2.0, 0.0, 3.0])


def rows_and_more(x):
    return [*x, x[0]], (x[1], *x), (*x[:1], *x[1:], x[0])


def lists_that_grow(x):
    out = []
    for item in x:
        if item > 0:
            out = [*out, item * 2]
    more = (x[1],)
    return out, [x[0], *out], (*out, x[1]), [*out, *out], (x[0], *out), tuple(out) + more


def ranges_of_the_run(x):
    n = (x > 0).sum()
    return [*range(n)], [*range(0, 6, n)], (0, *range(n)), [*range(n), *range(2)]


def one_of_two(x):
    pair = (1, 2) if x.sum() > 0 else (3, 4, 5)
    return [*pair, 6], (0, *pair)


def of_other_kinds(x):
    return [*"ab", *{1: 2}, *(i for i in range(3))], {*[1, 2]}, x[(*[0],)], x.sum()


def in_a_static_loop(x):
    kept = []
    while len(kept) < 3 and x.max() > 0:
        kept = [*kept, x.max() - len(kept)]
    return paddle.stack(kept) if len(kept) else x


def of_no_items(x):
    return [x, *1]


def a_tuple_and_a_list(x):
    out = []
    for item in x:
        if item > 0:
            out.append(item)
    more = [x[0]]
    return tuple(out) + more


@pytest.mark.parametrize(
    "shown",
    [
        rows_and_more,
        lists_that_grow,
        ranges_of_the_run,
        one_of_two,
        of_other_kinds,
        in_a_static_loop,
        of_no_items,
        a_tuple_and_a_list,
    ],
)
def test_stars_in_lists_and_tuples(shown) -> None:
    """D1: what stands behind ``*`` may be as long as the run decides."""
    assert_same(shown, FILLED, -FILLED, FILLED * 2 - 1)


ROWS, SIZE, OTHER = paddle.to_tensor(1), paddle.to_tensor([2, 3]), paddle.ones([2], "float64")


def test_methods_take_tensors_that_are_found() -> None:
    """A1: a method of a tensor takes a global as it takes an argument."""

    def called(x):
        shaped = x.sum(ROWS), x.squeeze(ROWS), x.new_zeros(SIZE), x.new_ones(SIZE)
        return *shaped, x.to(OTHER), paddle.squeeze(x, ROWS)

    assert_same(called, paddle.to_tensor([[1.0], [2.0]]))


class Named:
    def __init__(self, name):
        self.name = name


def first_of_tensors(x):
    found = next((e for e in x if e > 5), x[0]), next((e * 2 for e in x if e > 0), None)
    return *found, next((k for k, e in enumerate(x) if e < 0), -1)


def first_of_objects(x):
    named = [Named("a"), Named("bc")]
    found = next(each for each in named if each.name == "bc")
    return x * len(found.name), next((each for each in named if each.name == "z"), None)


def no_more_than_needed(x):
    asked = []

    def asks(number):
        asked.append(number)
        return number > 1

    return x * next(number for number in range(9) if asks(number)), asked


def first_of_others(x):
    rest = iter([1, 2])
    return next((e for e in x if e is None), -1), next(rest), next(rest, 3), next(rest, 3), x.sum()


@pytest.mark.parametrize(
    "shown", [first_of_tensors, first_of_objects, no_more_than_needed, first_of_others]
)
def test_the_first_of_a_generator(shown) -> None:
    """D1: ``next`` takes the first item that a condition accepts, also one of tensors."""
    assert_same(shown, FILLED, -FILLED, FILLED - 9)


def test_places_and_numbers_of_numpy() -> None:
    """B1: a tensor is where it is; integers of NumPy index it."""

    def shown(x):
        y = x * 2
        rows = y[np.int64(1)], y[np.int32(0) : np.int64(2)], y[np.int64(1),]
        return *rows, y.place.is_cpu_place(), str(y.place)

    assert_same(shown, FILLED)


def written_to_a_buffer(x):
    text = io.StringIO()
    print("ab", file=text)
    text.write("c")
    return x * len(text.getvalue())


def test_buffers_of_the_function() -> None:
    """F1: what the function writes into a buffer of its own is there when it reads it."""
    assert_same(written_to_a_buffer, FILLED)


def tensor_in_a_buffer(x):
    text = io.StringIO()
    print(x, file=text)
    return len(text.getvalue())


def formatted_in_a_buffer(x):
    text = io.StringIO()
    text.write(f"{x}")
    return len(text.getvalue())


def branch_in_a_buffer(x):
    text = io.StringIO()
    if x.sum() > 0:
        print("a", file=text)
    return len(text.getvalue())


def redirected(x):
    with contextlib.redirect_stdout(io.StringIO()) as text:
        print("a")
    return x, text.getvalue()


def serialized(x):
    return json.dumps({"a": float(x[0])})


@pytest.mark.parametrize(
    ("refused", "code"),
    [
        (tensor_in_a_buffer, "D2S205"),
        (formatted_in_a_buffer, "D2S208"),
        (branch_in_a_buffer, "D2S205"),
        (redirected, "D2S205"),
        (serialized, "D2S208"),
    ],
)
def test_what_python_needs_before_the_run(refused, code) -> None:
    """F1: text that only the run can make is refused, and made by the default."""
    with pytest.raises(d2s.errors.D2SError) as caught:
        d2s.to_static(refused, full_graph=True)(FILLED)
    assert caught.value.code == code
    with pytest.warns(d2s.errors.BreakWarning):
        assert str(d2s.to_static(refused, full_graph=False)(FILLED)) == str(refused(FILLED))
