"""What a static loop may make of its variables, and what it refuses (rules C1 to C4, D1)."""

from __future__ import annotations

import pytest

import d2s
from d2s import paddle_bridge as bridge
from d2s.errors import ContainerInGraphError, LoopMismatchError
from tests.helpers import assert_same, function_of, scalar, tensor

X = tensor(1.0, 2.0)
N = [(X, scalar(n)) for n in (3, 1, 2)]
NONE = (X, scalar(0))


def test_a_tensor_that_becomes_an_object_is_refused() -> None:
    """C4: what is no tensor, number, text or structure cannot be a loop variable."""
    f = function_of("""
    def f(x, n):
        y = x
        for i in range(n):
            y = {1, 2}
        return y
    """)
    with pytest.raises(LoopMismatchError, match="changes 'y' from a float32 tensor") as caught:
        d2s.to_static(f)(*N[0])
    assert caught.value.cure == "keep 'y' a tensor in every trip"


@pytest.mark.parametrize(
    "body",
    [
        "y = x if y is None else paddle.concat([y, x])",
        "y = z\n            z = paddle.concat([z, x])",
        "y = x if i == 0 else x[:1]",
    ],
)
def test_the_shape_of_what_was_none_is_that_of_the_run(body: str) -> None:
    """C4, E4: a shape that differs between trips is open behind the loop, too."""
    f = function_of(f"""
    def f(x, n):
        y, z = None, x
        for i in range(n):
            {body}
        return y.shape[0] * 2, y.reshape([1, y.shape[0]])
    """)
    assert_same(f, *N)


@pytest.mark.parametrize("value", ["x[x > 1]", "x[x > 1] if n > 2 else paddle.ones([2, 3])"])
def test_the_shape_of_what_may_be_none(value: str) -> None:
    """E4: behind a branch an open dimension is the run's, and ``None`` has no shape."""
    f = function_of(f"""
    def f(x, n):
        y = None
        if n > 1:
            y = {value}
        return y.shape[0] * 2, len(y.shape)
    """)
    assert_same(f, *N)


def test_none_that_becomes_a_number_and_then_a_set_is_refused() -> None:
    """C3: what was absent has to stay a tensor once it is one."""
    f = function_of("""
    def f(x, n):
        y = None
        for i in range(n):
            if y is None:
                y = x
            else:
                y = {1}
        return y
    """)
    with pytest.raises(LoopMismatchError, match="'y'"):
        d2s.to_static(f)(*N[0])


def test_one_grown_list_takes_the_place_of_another() -> None:
    """C2, D1: the loop binds the name and changes neither list."""
    f = function_of("""
    def f(x, n):
        out, other = [x], [x * 5]
        for i in range(n):
            out.append(x * i)
            other.append(x + i)
        for i in range(n):
            out = other
        return paddle.stack(out), len(out), paddle.stack(other)
    """)
    assert_same(f, *N, NONE)


def test_a_loop_does_not_carry_a_list_that_it_only_reads() -> None:
    """C2: nothing but what the body changes is a loop variable."""
    f = function_of("""
    def f(x, n):
        out = [x]
        for i in range(n):
            out.append(x * i)
        y = x
        for i in range(n):
            y = y + out[0] + len(out)
        return y, out
    """)
    converted = assert_same(f, *N)
    loops = [
        operation
        for operation in bridge.operations(converted.programs[0].program)
        if operation.name() == "pd_op.while"
    ]
    assert len(loops) == 2
    assert len(loops[1].results()) == 2  # the counter, and y


def test_comparing_with_an_eq_that_fails_says_that_they_differ() -> None:
    """C2: two objects of a class whose ``__eq__`` raises are two objects."""
    f = function_of("""
    class Odd:
        def __init__(self, number):
            self.number = number

        def __eq__(self, other):
            raise RuntimeError("never compare me")

        __hash__ = None

    FIRST, SECOND = Odd(1), Odd(2)

    def f(x, n):
        y = FIRST
        for i in range(n):
            x = x + y.number
            y = SECOND
        return x
    """)
    assert_same(f, *N, NONE)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("[x]", "object()", "list of 1 "),
        ("{'a': x}", "object()", "dict of 'a'"),
    ],
)
def test_the_table_of_a_mismatch_shows_the_container(before: str, after: str, words: str) -> None:
    """The message says what there was before the loop, with its items."""
    f = function_of(f"""
    def f(x, n):
        y = {before}
        for i in range(n):
            y = {after}
        return y
    """)
    with pytest.raises(ContainerInGraphError) as caught:
        d2s.to_static(f)(*N[0])
    assert words in str(caught.value)


def test_tuples_of_two_lengths_in_one_grown_list() -> None:
    """D3: each item has its own structure."""
    f = function_of("""
    def f(x, n):
        out = []
        for i in range(n):
            out.append((x, x))
            out.append((x,))
        return out
    """)
    assert_same(f, *N)


@pytest.mark.parametrize("item", ["(y, x)", "(x, (y, i))"])
def test_a_part_of_an_item_that_is_a_constant_at_first(item: str) -> None:
    """D1, C7: gradients go through it, in whatever structure."""
    f = function_of(f"""
    def f(x, n):
        out, y = [], paddle.ones([2])
        for i in range(n):
            out.append({item})
            y = y * x
        return out[0], out[-1]
    """)
    assert_same(f, *N)


def test_a_list_that_each_trip_begins_anew_lets_gradients_through() -> None:
    """D1, C7: also where the trip has bound the name to an empty list."""
    f = function_of("""
    def f(x, n):
        out = [x]
        for i in range(n):
            out.append(x * 2)
        for i in range(n):
            out = []
        out.append(x * x)
        return paddle.stack(out)
    """)
    assert_same(f, *N, NONE)


CHANGES = (
    "out.append(x * 9)",
    "out[0] = x * 9",
    "out += [x, x]",
    "del out[0]",
    "other.append(x * 9)",
    "b[0] = x * 9",
    "for i in range(n): other.append(x)",
)


@pytest.mark.sampled(3, also=["out.append(x * 9)"])
@pytest.mark.parametrize("change", ["pass", *CHANGES])
def test_one_of_two_lists_of_the_run_keeps_its_names(change: str) -> None:
    """B4, D1: what is changed through one name is seen through each that is one with it."""
    f = function_of(f"""
    def f(x, n):
        a, b = [x], [x * 2]
        for i in range(n):
            a.append(x)
            b.append(x + i)
        other = a
        if x.sum() > 0:
            out = a
        else:
            out = b
        {change}
        return out, other, a, b, out is other
    """)
    other = [(-x, n) for x, n in (*N, NONE)]
    assert_same(f, *N, NONE, *other, static=d2s.to_static(f, full_graph=True))


@pytest.mark.parametrize("test", ["i < 4", "i < n"])
def test_the_trips_behind_a_break_that_the_run_decides(test: str) -> None:
    """C1: while the state holds Python objects, and Python or the run decides the condition."""
    f = function_of(f"""
    def f(x, n):
        out = {{'y': [x]}}
        i = 0
        while {test}:
            out['y'][0] = out['y'][0] * 2
            i = i + 1
            if x.sum() + i > n:
                break
            x = x - 1
        return out, x, i
    """)
    assert_same(f, *N, (X, scalar(40)), (X, scalar(5)), grad=False)


def test_the_trips_behind_a_break_that_carry_tensors_and_numbers() -> None:
    """C1: they go on in a static loop, once."""
    f = function_of("""
    def f(x, n):
        i = 0
        while i < 4:
            x = x * 2
            i = i + 1
            if x.sum() > n:
                break
        return x, i
    """)
    assert_same(f, *((X, scalar(n)) for n in (3, 10, 100)))


def test_one_of_two_constants_that_becomes_a_set_is_refused() -> None:
    """C4: the loop carries constants and structures of tensors."""
    f = function_of("""
    def f(x, n):
        y = 'up'
        for i in range(n):
            if i > 1:
                y = 'down' if y == 'up' else {1}
            else:
                y = 'down'
        return y
    """)
    with pytest.raises(LoopMismatchError, match="'y'"):
        d2s.to_static(f)(*N[0])


def test_the_table_of_a_mismatch_knows_a_list_of_open_length() -> None:
    """The message says what there was before the loop."""
    f = function_of("""
    def f(x, n):
        out = [x]
        for i in range(n):
            out.append(x)
        for i in range(n):
            out = {1}
        return out
    """)
    with pytest.raises(ContainerInGraphError, match="list of open length"):
        d2s.to_static(f)(*N[0])


@pytest.mark.parametrize("body", ["out = [v * x for v in out]", "y = out", "y = out[1:]"])
def test_a_list_that_takes_the_place_of_another_lets_gradients_through(body: str) -> None:
    """C7, D1: though it began with constants, or as a list of Python."""
    f = function_of(f"""
    def f(x, n):
        out, y = [paddle.ones([2])], [x]
        for i in range(n):
            out.append(paddle.ones([2]) * i)
        for i in range(n):
            {body}
        return out[0] + y[0], len(out), len(y)
    """)
    assert_same(f, *N, NONE)


def test_what_a_grown_list_is_not_asked() -> None:
    """D1: an index is no fraction, and items are sorted by one number each."""
    grown = "def f(x, n):\n    out = [x]\n    for i in range(n): out.append(x * i)\n    return "
    with pytest.raises(TypeError, match="list indices must be integers or slices, not float"):
        d2s.to_static(function_of(f"{grown}out[float(n)]"))(*N[0])
    with pytest.raises(ContainerInGraphError, match="number"):
        d2s.to_static(function_of(f"{grown}sorted(out, key=lambda v: v * 2)"))(*N[0])


@pytest.mark.sampled(2, also=["n.item(), 2"])
@pytest.mark.parametrize(
    "start", ["n", "n * 0.5, 2", "x, 2", "n.item(), 2", "0.5, 0.25", "3, -1", ""]
)
def test_a_count_from_a_tensor_gives_tensors(start: str) -> None:
    """C1: behind a ``break`` of the run they were ints in silence, or Paddle's ValueError."""
    f = function_of(f"""
        import itertools

        def f(x, n):
            total = x
            for i in itertools.count({start}):
                total = total + 2 * i
                if total.sum() > 20:
                    break
            return total, i, i * 2
    """)
    x = tensor(1.0, 2.0)
    assert_same(f, *[(x, scalar(number)) for number in (0, 1, 2)])
