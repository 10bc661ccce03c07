"""Loops under tensors: the program is what dygraph does (rules C1 to C7, D1 to D3)."""

# ruff: noqa: B007, B905, F821 - the functions are written as users write

from __future__ import annotations

import paddle
import pytest

import d2s
from d2s.errors import LoopMismatchError
from tests.helpers import assert_same, function_of, scalar, tensor

X = tensor(1.0, 2.0, 3.0)
N = [scalar(n) for n in (0, 1, 3)]


def counts(*others: object) -> list[tuple[object, ...]]:
    """The inputs ``(X, n)`` for none, one and three trips."""
    return [(X, n, *others) for n in N]


def test_while_on_a_tensor() -> None:
    """C1, C7: no trip, one, many."""

    def f(x, limit):
        while x.sum() < limit:
            x = x * 2
        return x

    static = assert_same(f, *[(X, scalar(v)) for v in (1.0, 7.0, 50.0)])
    assert len(static.programs) == 1


def test_while_with_a_counter() -> None:
    """C1: a Python counter becomes a tensor."""

    def f(x, n):
        i = 0
        s = x * 0
        while i < n:
            s = s + x * i
            i += 1
        return s, i

    assert_same(f, *counts())


def test_for_range_of_a_tensor() -> None:
    """C1, C5."""

    def f(x, n):
        s = paddle.zeros([3])
        for i in range(n):
            s = s + x * i
        return s

    assert_same(f, *counts())


@pytest.mark.parametrize("bounds", [(0, 6, 2), (5, 0, -1), (5, 0, -2), (3, 3, 1), (2, 9, 5)])
def test_ranges_of_three(bounds: tuple[int, int, int]) -> None:
    """C5: one to three arguments, negative steps, tensors among them."""

    def f(x, start, stop, step):
        s = x * 0
        for i in range(start, stop, step):
            s = s * 2 + i
        return s

    assert_same(f, (X, *bounds), (X, *[scalar(b) for b in bounds]))


def test_for_over_a_tensor() -> None:
    """C1, C5: rows of a known and of an open dimension."""

    def f(x):
        s = x[0] * 0
        for row in x:
            s = s * 0.5 + row
        return s

    rows = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert_same(f, rows, rows[:1])
    static = d2s.to_static(f, input_spec=[paddle.static.InputSpec([None, 2], "float32")])
    assert_same(f, rows, rows[:1], static=static)
    assert len(static.programs) == 1


def test_enumerate_and_zip() -> None:
    """C5: over tensors of open length."""

    def f(x, y):
        s = x[0] * 0
        for i, row in enumerate(x):
            s = s + row * i
        for a, b in zip(x, y):
            s = s + a * b
        for i, (a, b) in enumerate(zip(x, y), 1):
            s = s + a / (b * b + i)
        return s

    rows = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])
    assert_same(f, (rows, rows * 2))
    spec = paddle.static.InputSpec([None, 2], "float32")
    static = d2s.to_static(f, input_spec=[spec, spec])
    assert_same(f, (rows, rows * 2), (rows[:1], rows), static=static)


def test_reversed_and_nested_iterables() -> None:
    """C5."""

    def f(x):
        s = x[0] * 0
        for row in reversed(x):
            s = s * 0.5 + row
        for name, part in {"a": x, "b": x * 2}.items():
            s = s + part.sum() * len(name)
        for part in (x[0], x[-1]):
            s = s - part
        return s

    assert_same(f, paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]]))


def test_break_and_continue() -> None:
    """C1: under tensor conditions in a static loop."""

    def f(x, n):
        s = x * 0
        for i in range(n):
            if i == 1:
                continue
            if s.sum() > 20:
                break
            s = s + x * (i + 1)
        return s

    assert_same(f, *[(X, scalar(n)) for n in (0, 1, 2, 4, 9)])


def test_break_in_an_unrolled_loop() -> None:
    """C1: a loop over Python values, a tensor decides to leave."""

    def f(x):
        for i in range(5):
            if x.sum() > 20:
                break
            x = x * 2
        return x

    assert_same(f, X, X * 100, X * 0)


def test_else_of_loops() -> None:
    """C1: ``else`` runs when nothing broke."""

    def f(x, n):
        y = x * 0
        for i in range(n):
            if x[0] + i > 2:
                y = y + 10
                break
            y = y + 1
        else:
            y = y - 100
        while y.sum() < 0:
            y = y + 50
            if y.max() > 1000:
                break
        else:
            y = y * 2
        return y

    assert_same(f, *[(X, scalar(n)) for n in (0, 1, 2, 5)])


def test_return_in_loops() -> None:
    """B6: out of a static loop and out of two."""

    def f(x, n):
        for i in range(n):
            x = x + 1
            for j in range(n):
                if x.sum() + j > 14:
                    return x * 100
                x = x + 0.5
        return x

    assert_same(f, *[(X, scalar(n)) for n in (0, 1, 2, 4)], grad=False)


def test_return_of_different_things_in_a_loop() -> None:
    """B6: None when nothing is found."""

    def f(x, limit):
        for row in x:
            if row > limit:
                return row
        return None

    assert_same(f, (X, scalar(0.0)), (X, scalar(1.5)), (X, scalar(9.0)))


def test_an_inner_loop_is_entered_again() -> None:
    """C1: the flag of an inner ``break`` starts anew."""

    def f(x, n):
        s = x * 0
        for i in range(n):
            j = i * 0
            while j < n:
                if j > i:
                    break
                s = s + x * j
                j = j + 1
            s = s + 1
        return s

    assert_same(f, *counts(), grad=False)


def test_while_true() -> None:
    """C1: an endless loop that a tensor leaves."""

    def f(x):
        while True:
            x = x * 2
            if x.sum() > 30:
                break
        return x

    assert_same(f, X, X * 100)


def test_compound_condition() -> None:
    """C1, B5."""

    def f(x, n):
        i = paddle.zeros([], "int64")
        while i < n and x.sum() < 40 and not x.max() > 30:
            x = x * 2
            i = i + 1
        return x, i

    assert_same(f, *[(X, scalar(n)) for n in (0, 2, 9)])


def test_walrus_in_the_condition() -> None:
    """C1."""

    def f(x, n):
        i = scalar(0)
        while (i := i + 1) < n:
            x = x + i
        return x, i

    assert_same(f, *counts())


def test_walrus_in_the_condition_of_a_loop_that_a_tensor_leaves() -> None:
    """C1, C3: the condition binds its name on every trip, though a break may come before it."""

    def by_break(x, n):
        i = 0
        while (norm := x.norm()) > n:
            x = x / 2
            i += 1
            if norm > 9:
                break
        return x, i, norm

    def by_return(x, n):
        while not (small := x.norm() < n):
            if x.max() > 3:
                return x, small
            x = x * 0.75
        return x * 2, small

    def numbers(x, n):
        i = 0
        while (i := i + 1) < 6:
            x = x / 2
            if x.norm() < n:
                break
        else:
            x = x + 10
        return x, i

    def nested(x, n):
        while (outer := x.norm()) > n:
            while (inner := x.norm() - outer / 2) > 0:
                x = x * 0.75
                if inner < 0.5:
                    break
            if x.min() < 0.1:
                break
        return x, outer

    for f in (by_break, by_return, numbers, nested):
        assert_same(f, (X, scalar(1.0)), (X * 4, scalar(0.5)), (X / 9, scalar(2.0)))


def test_a_value_bound_in_the_body_and_read_afterwards() -> None:
    """C3: right after one trip; zero trips raise as dygraph does."""

    def f(x, n):
        for i in range(n):
            last = x * i
        return last + 1

    assert_same(f, *counts())


def test_the_loop_variable_is_read_afterwards() -> None:
    """C3."""

    def f(x, n):
        i = -1
        for i in range(n):
            x = x + i
        return x * i

    assert_same(f, *counts())


def test_a_value_bound_in_one_trip_and_read_in_the_next() -> None:
    """C3."""

    def f(x, n):
        s = x * 0
        for i in range(n):
            if i > 0:
                s = s + previous
            previous = x * (i + 1)
        return s

    assert_same(f, *counts())


def test_a_number_that_becomes_a_tensor() -> None:
    """C4: promoted before the loop."""

    def f(x, n):
        total = 0
        for i in range(n):
            total = total + x.sum()
        return total + x * 0

    assert_same(f, *counts())


def test_a_number_that_becomes_a_float() -> None:
    """C4, B3."""

    def f(x, n):
        k = 1
        for i in range(n):
            k = k * 0.5
        return x * k

    assert_same(f, *counts())


@pytest.mark.sampled(3)
@pytest.mark.row(7)
@pytest.mark.parametrize(
    "trip",
    [
        'y = y.astype("float64") + x',
        "y = y * 0.5 + (x > 1).astype('int64')",
        "y = (y > i).astype('int64') + 1",
        "y = y / 2 if i == 1 else y + 1",
        "y = y.reshape([-1]).unsqueeze(0)",
        "y = y + x",
        "y = paddle.exp(-x * y) + paddle.sum(y * y) + x.unsqueeze(0)",
        "y = paddle.concat([y.reshape([-1]).astype('float32'), x]).unsqueeze(0)",
    ],
)
@pytest.mark.parametrize("begin", ["x", "x.sum()", "paddle.to_tensor([1, 2, 3])", "None"])
def test_a_tensor_of_another_dtype_or_rank(begin: str, trip: str) -> None:
    """C4: what the trips change counts from the trip on; the first one sees what was before."""
    first = "if y is None:\n                y = x + i\n            " if begin == "None" else ""
    f = function_of(f"""
    def f(x, n):
        y = {begin}
        for i in range(n):
            {first}{trip}
        return y, 1 if y is None else y.sum()
    """)
    assert_same(f, *counts())


@pytest.mark.parametrize("trip", ["y.unsqueeze(0)", "y.unsqueeze(0) if i == 0 else y + x"])
def test_a_tensor_that_gets_one_more_dimension_in_each_trip_is_refused(trip: str) -> None:
    """C4: a coded error with the line; what ``//`` makes of a scalar is one in the trips, alone."""
    f = function_of(f"""
    def f(x, n):
        y = x.sum()
        for i in range(n):
            y = {trip}
        return y
    """)
    with pytest.raises(LoopMismatchError, match="'y'") as caught:
        d2s.to_static(f)(X, N[2])
    assert caught.value.line == 3


@pytest.mark.parametrize(
    "use", ["paddle.exp(y)", "paddle.is_tensor(y)", "len(y.shape)", "y.sum() + 1"]
)
def test_a_tensor_that_changes_its_rank_is_used_as_it_is(use: str) -> None:
    """C4: functions that are called as they are get one of the forms, too."""
    f = function_of(f"""
    def f(x, n):
        y = x.sum()
        found = {use}
        for i in range(n):
            y = y + x
            found = {use}
        return found, {use}
    """)
    assert_same(f, *counts())


def test_a_shape_that_grows() -> None:
    """C4: relaxed to -1."""

    def f(x, n):
        y = x
        for i in range(n):
            y = paddle.concat([y, x * i])
        return y

    assert_same(f, *counts())


def test_nothing_else_is_carried() -> None:
    """C2: unread temporaries may change their type."""

    def f(x, n):
        t = "text"
        for i in range(n):
            t = x * i
            x = x + t
            t = None
        return x

    assert_same(f, *counts())


def test_swap_in_a_loop() -> None:
    """C2, C7: Fibonacci."""

    def f(x, n):
        a, b = x * 0, x
        for _ in range(n):
            a, b = b, a + b
        return a, b

    assert_same(f, *counts())


def test_fan_out_in_a_loop() -> None:
    """C7: a value used inside and carried."""

    def f(x, n):
        a = x
        b = x
        for _ in range(n):
            a = a * x
            b = a + b
        return a * b

    assert_same(f, *counts())


def test_a_sum_that_starts_at_a_constant_has_a_gradient() -> None:
    """C7: the initial value has none, the result has."""

    def f(x, n):
        s = paddle.zeros([3])
        for i in range(n):
            s = s + x * 2
        return s

    assert_same(f, *counts())


@pytest.mark.row(116)
def test_nested_static_loops() -> None:
    """C1, C7."""

    def f(x, n):
        s = x * 0
        for i in range(n):
            for j in range(i, n):
                s = s + x * x * j
            while s.sum() > 50:
                s = s / 2
        return s

    assert_same(f, *counts())


@pytest.mark.parametrize("inner", ["for j in range(n):", "while x.sum() > 1:"])
@pytest.mark.row(115)
def test_gradients_of_nested_static_loops(inner: str) -> None:
    """C7: trips of the inner loop belong to one trip of the outer one each."""
    f = function_of(f"""
        def f(x, n):
            for i in range(n):
                x = x * x
                {inner}
                    x = x * 0.5
            return x
    """)
    assert_same(f, *counts())


@pytest.mark.row(76)
def test_popping_from_a_growing_list_has_a_gradient() -> None:
    """D1, C7: what is popped gets its gradient, what stays gets its own."""

    def f(x, n):
        stack = [x]
        for i in range(n):
            stack.extend([x + i, x - i])
            x = x + stack.pop() * 0.5
        return x

    assert_same(f, *counts())


@pytest.mark.row(116)
def test_if_in_a_loop_in_an_if() -> None:
    """B1, C1, C7."""

    def f(x, n):
        if x.sum() > 0:
            for i in range(n):
                if i % 2 == 0:
                    x = x * 2
                else:
                    x = x + i
        else:
            x = -x
        return x

    assert_same(f, *counts(), *[(-X, n) for n in N])


def test_append_and_stack() -> None:
    """D1: a list that grows in a static loop, with gradients."""

    def f(x, n):
        outs = []
        for i in range(n):
            x = x * 2
            outs.append(x + i)
        return paddle.stack(outs)

    assert_same(f, *[(X, scalar(n)) for n in (1, 3)])


def test_a_list_that_started_with_something() -> None:
    """D1: index, length and iteration after the loop."""

    def f(x, n):
        outs = [x]
        for i in range(n):
            outs.append(outs[-1] * 2)
        s = x * 0
        for out in outs:
            s = s + out
        return s, outs[0], outs[-1], len(outs)

    assert_same(f, *counts())


def test_the_list_itself_is_returned() -> None:
    """D1: a list to the reader."""

    def f(x, n):
        outs = []
        for i in range(n):
            outs.append(x * i)
        return outs

    assert_same(f, *counts())


def test_append_under_a_condition() -> None:
    """D1, B4."""

    def f(x, n):
        outs = []
        for i in range(n):
            if i % 2 == 0:
                outs.append(x * i)
        return len(outs), paddle.concat([x, *outs]) if isinstance(outs, str) else x

    assert_same(f, *counts())


def test_item_assignment_in_a_list() -> None:
    """D1."""

    def f(x, n):
        outs = [x, x * 2]
        for i in range(n):
            outs[0] = outs[1] + i
            outs[1] = outs[0] * x
        return outs[0] - outs[1]

    assert_same(f, *counts())


def test_pop_and_extend() -> None:
    """D1."""

    def f(x, n):
        stack = [x]
        for i in range(n):
            stack.append(x * i)
            stack.extend([x + i, x - i])
            top = stack.pop()
            x = x + top * 0.5
        return x, len(stack)

    assert_same(f, *counts(), grad=False)


def test_a_dict_value_that_changes() -> None:
    """D2: loop variables by key."""

    def f(x, n):
        state = {"h": x, "c": x * 0}
        for i in range(n):
            state["h"] = state["h"] * 2
            state["c"] = state["c"] + state["h"]
        return state["c"] - state["h"]

    assert_same(f, *counts())


@pytest.mark.row(80, refused="D2S207")
def test_a_dict_whose_keys_change_in_every_trip_is_refused() -> None:
    """D2: a coded error."""

    def f(x, n):
        state = {}
        for i in range(n):
            state[len(state)] = x
        return state

    with pytest.raises(d2s.D2SError) as caught:
        d2s.to_static(f)(X, N[2])
    assert caught.value.cure


def test_lists_of_lists() -> None:
    """D3: a fixed structure of lists that grow."""

    def f(x, n):
        pair = ([], [])
        for i in range(n):
            pair[0].append(x * i)
            pair[1].append(x + i)
        return paddle.stack(pair[0]) - paddle.stack(pair[1])

    assert_same(f, (X, N[2]))


def test_item_assignment_to_a_tensor() -> None:
    """C2: ``x[i] = ...`` in a static loop."""

    def f(x, n):
        y = x * 1
        for i in range(n):
            y[i] = y[i] * 10 + i
        return y

    assert_same(f, *counts())


def test_comprehensions() -> None:
    """C6: tensor parts, Python iterable; tensors of known length."""

    def f(x, k):
        parts = [x * i for i in range(k) if i != 1]
        table = {i: x + i for i in range(k)}
        return sum(parts) + table[0] + sum(row for row in x)

    assert_same(f, (X, 3), (X, 1))


def test_layer_lists() -> None:
    """C5: LayerList, ParameterList, Sequential."""

    class Net(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            self.layers = paddle.nn.LayerList([paddle.nn.Linear(3, 3) for _ in range(2)])
            self.weights = paddle.nn.ParameterList(
                [paddle.create_parameter([3], "float32") for _ in range(2)]
            )
            self.tail = paddle.nn.Sequential(paddle.nn.Linear(3, 3), paddle.nn.ReLU())

        def forward(self, x, n):
            for _ in range(n):
                for layer, weight in zip(self.layers, self.weights):
                    if x.sum() > 0:
                        x = layer(x) * weight
            for layer in self.tail:
                x = layer(x)
            return x

    net = Net()
    assert_same(net.forward, *counts(), rtol=1e-4)


def test_python_generators() -> None:
    """C5: a generator is consumed at capture."""

    def parts(x):
        for i in range(3):
            yield x * i

    def f(x):
        s = x * 0
        for i, part in enumerate(parts(x)):
            if s.sum() > 100:
                break
            s = s + part * i
        return s

    assert_same(f, X, X * 100)


def test_many_trips() -> None:
    """C1: no unrolling."""

    def f(x, n):
        for i in range(n):
            x = x * 0.999 + i
        return x

    static = assert_same(f, (X, scalar(200)), rtol=1e-4)
    assert static.programs[0].operations < 100


def test_a_static_loop_in_no_grad() -> None:
    """C7: grad mode."""

    def f(x, n):
        with paddle.no_grad():
            for i in range(n):
                x = x * 2
        return x

    assert_same(f, *counts())


@pytest.mark.row(122)
def test_closure_reads_a_loop_variable() -> None:
    """A4."""

    def f(x, n):
        def scaled():
            return x * k

        k = x.sum() * 0
        for i in range(n):
            k = k + i
            x = x + scaled()
        return scaled()

    assert_same(f, *counts())


def test_assignment_in_try_in_a_loop() -> None:
    """A1: ``try`` in the body."""

    def f(x, n):
        for i in range(n):
            try:
                x = x * 2
            finally:
                x = x + 1
        return x

    assert_same(f, *counts())


@pytest.mark.parametrize(
    "body",
    [
        "s = 0\n    for i in range(n): s = s + x * i\n    return s",
        "s = 0.0\n    i = paddle.zeros([], 'int64')\n    while i < n:\n        s += x\n"
        "        i = i + 1\n    return s * 2, i",
        "s = 0\n    for row in x:\n        for j in range(n): s = s + row\n    return s",
        "s, p = 0, 1\n    for i in range(n):\n        if x.sum() > i: s = s + x\n"
        "        p = p * x\n    return s, p",
    ],
)
def test_a_number_that_a_tensor_of_any_rank_is_added_to(body: str) -> None:
    """C4: ``total = 0`` stays a Python number when there is no trip."""
    x = tensor(1.0, 2.0, 3.0, 1.0).reshape([2, 2])
    f = function_of(f"def f(x, n):\n    {body}")
    assert_same(f, *((x, scalar(trips)) for trips in (3, 1, 0, 2)))
