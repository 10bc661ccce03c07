"""A value that may be one of several: what is done with it is dygraph's (rules B3, B5, C6, D1)."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import pytest

import d2s
from d2s.errors import (
    AmbiguousValueError,
    ContainerInGraphError,
)
from tests.helpers import assert_same, scalar, tensor

X = tensor(1.0, 2.0, 3.0)


SIGNS = [(X, scalar(1.0)), (X, scalar(-1.0)), (X, scalar(0.0))]


@dataclasses.dataclass
class Pair:
    a: Any
    b: Any


class Stubborn:
    """Raises when it is compared."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        raise ValueError("not comparable")

    __hash__ = None  # type: ignore[assignment]


STUBBORN = Stubborn(2.0), Stubborn(5.0)


class Slotted:
    __slots__ = ("h", "items")


def equal_constants(x: Any, s: Any) -> Any:
    if s > 0:
        text, number, count = "".join(["a", "b"]), float("2.5"), int("1000")
    else:
        text, number, count = "".join(["a", "b"]), float("2.5"), int("1000")
    return text, x * number, count


def not_comparable(x: Any, s: Any) -> Any:
    chosen = STUBBORN[0] if s > 0 else STUBBORN[1]
    return x * chosen.value, chosen is STUBBORN[1]


def number_or_tensor(x: Any, s: Any) -> Any:
    if s > 0:
        return 1
    return x.sum()


def object_or_nothing(x: Any, s: Any) -> Any:
    if s > 0:
        pair = Pair(x, [x * 2])
    else:
        pair = None
    if pair is not None:
        return pair.a, pair.b[0]
    return x


def object_or_raise(x: Any, s: Any) -> Any:
    if s > 0:
        pair = Pair(x * 3, [x * 2])
    else:
        raise ValueError("no pair")
    return pair.a, pair.b[0]


def objects_in_lists(x: Any, s: Any) -> Any:
    pairs = [Pair(x, x)]
    if s > 0:
        pairs = [Pair(x * 3, x * 2), 1]
    return pairs[0].a + pairs[0].b, len(pairs)


def objects_in_tuples(x: Any, s: Any) -> Any:
    pairs = (Pair(x, [x]),)
    if s > 0:
        pairs = (Pair(x * 3, [x * 2]), 1)
    return pairs[0].a + pairs[0].b[0], len(pairs)


def both_are_true(x: Any, s: Any) -> Any:
    text = "a" if s > 0 else "b"
    return x if text else x * 2


def some_pairs_raise(x: Any, s: Any) -> Any:
    one = 1 if s > 0 else "q"
    other = 2 if s >= 0 else 3
    return one + other


def divisions(x: Any, s: Any) -> Any:
    n = 7 if s > 0 else 9
    return divmod(n, 2), divmod(20, n), divmod(n, int(s) + 5), divmod(int(s) + 5, n)


def division_by_zero(x: Any, s: Any) -> Any:
    n = 7 if s > 0 else 0
    return x * divmod(30, n)[1]


def sum_of_one_of_two(x: Any, s: Any) -> Any:
    things = [x, x] if s > 0 else (x,)
    return sum(v * 2 for v in things)


def tensors_by_identity(x: Any, s: Any) -> Any:
    y = x + 1
    return y is x, x is y, x is x, x is s


def tensors_in_lists(x: Any, s: Any) -> Any:
    return s in [s, 1], s in [3, s], s in [None, 1], 1 in [s], None in [s, None]


def lengths_and_lists(x: Any, s: Any) -> Any:
    n = int(s) + 3
    pairs = list(zip(range(n), range(n + 1), strict=False))
    return len(range(n)), list(range(n)), list(enumerate(range(n))), pairs


def sizes_of_truths(x: Any, s: Any) -> Any:
    return abs(bool(s > 0)), (x > 1) + int(s), (x > 1) * 2


def division_by_a_constant_zero(x: Any, s: Any) -> Any:
    whole = x.detach().astype("int64")
    return x / 0, x / 0.0, whole / 0, whole / 0.0, x.astype("float64") / 0


def filter_of_numbers(x: Any, s: Any) -> Any:
    total = x
    for v in (w * x for w in [1, 2, 3] if w > 1):
        total = total + v * s
    return total


def deeper_than_is_looked(x: Any, s: Any) -> Any:
    nested = [x]
    for _ in range(25):
        nested = [nested]
    if s > 0:
        x = x * 2
        nested = (nested, 1)
    return x, len(nested)


def slots_through_a_helper(x: Any, s: Any) -> Any:
    thing = Slotted()
    thing.h, thing.items = x, [x]

    def put(v: Any) -> None:
        thing.h = thing.h + v
        thing.items.append(v)

    if s > 0:
        put(x * 2)
    k = 0
    while k < 2 + s:
        thing.h = thing.h * 2
        k = k + 1
    return thing.h, len(thing.items)


def a_list_with_two_names_in_a_call(x: Any, s: Any) -> Any:
    def put(items: Any) -> None:
        if s > 0:
            items.append(x * 2)

    first = [x]
    second = first
    if s >= 0:
        put(second)
    return len(first), len(second)


def a_list_of_a_loop_or_a_dict(x: Any, s: Any) -> Any:
    items = []
    k = s * 0
    while k < 3:
        items.append(x * k)
        k = k + 1
    things = items if s > 0 else {0: x}
    return len(things)


class Holder:
    """Has what a method, given on as a partial function, changes."""

    def __init__(self, h: Any) -> None:
        self.h = h

    def put(self, factor: Any, v: Any) -> None:
        self.h = self.h + factor * v


def through_a_partial_function(x: Any, s: Any) -> Any:
    holder = Holder(x)
    put = functools.partial(holder.put, 2)
    if s > 0:
        put(x)
    return holder.h


@pytest.mark.parametrize(
    "function",
    [
        equal_constants,
        not_comparable,
        number_or_tensor,
        object_or_nothing,
        object_or_raise,
        objects_in_lists,
        objects_in_tuples,
        both_are_true,
        some_pairs_raise,
        divisions,
        division_by_zero,
        sum_of_one_of_two,
        tensors_by_identity,
        tensors_in_lists,
        lengths_and_lists,
        sizes_of_truths,
        division_by_a_constant_zero,
        filter_of_numbers,
        deeper_than_is_looked,
        slots_through_a_helper,
        a_list_with_two_names_in_a_call,
        a_list_of_a_loop_or_a_dict,
        through_a_partial_function,
    ],
)
def test_it_is_what_dygraph_makes_of_it(function: Any) -> None:
    """B3: values, types, errors and gradients, for each side."""
    assert_same(function, *SIGNS)


FLAG, NONE_LEFT = scalar(True), scalar(0)


def test_a_tensor_of_the_module_decides() -> None:
    """B1: it is no argument, and a condition all the same."""

    def f(x, s):
        if FLAG:
            x = x * s
        while NONE_LEFT > 0:
            x = x * 2
        return x, (FLAG and s), not NONE_LEFT

    assert_same(f, *SIGNS)


def refused(function: Any, kind: type[Exception], words: str, line: int) -> None:
    with pytest.raises(kind, match=words) as error:
        d2s.to_static(function)(*SIGNS[0])
    assert error.value.line == function.__code__.co_firstlineno + line


def test_the_truth_of_one_of_two_texts_in_code_that_stays_python() -> None:
    """B5: only the run knows it."""

    def f(x, s):
        chosen = "a" if s > 0 else ""
        return len(list(filter(None, [chosen, "c"])))

    refused(f, AmbiguousValueError, "the truth of", 2)


def test_a_filter_of_a_generator_that_is_consumed_item_by_item() -> None:
    """C6: a tensor cannot decide whether a generator has another item."""

    def f(x, s):
        total = x
        for v in (w * 2 for w in [x, -x] if w.sum() > s):
            total = total + v
        return total

    refused(f, ContainerInGraphError, "filters the items of a generator", 2)


def test_the_length_of_one_of_two_lists_that_have_other_names() -> None:
    """B4: ``append`` reaches the one that is meant."""

    def f(x, s):
        first, second = [x], [x, x]
        chosen = first if s > 0 else second
        chosen.append(x * 2)
        return first, second, len(first), len(second), chosen

    assert_same(f, (X, scalar(1.0)), (X, scalar(-1.0)))
