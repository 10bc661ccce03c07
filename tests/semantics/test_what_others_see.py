"""What is seen through another name, in another order, or as another object (A1, B1, C7)."""

from __future__ import annotations

import collections
import contextlib
import functools
from fractions import Fraction
from typing import Any

import numpy as np
import paddle
import pytest

import d2s
from d2s.errors import ContainerInGraphError, InplaceError
from tests.helpers import assert_same, function_of, scalar, tensor

X = tensor(1.0, 2.0, 3.0)


PARTS = {
    "bounded by a tensor": lambda x, n: x[:n],
    "part of such a part": lambda x, n: x[:n][0],
    "of another shape": lambda x, n: x.reshape([12])[n:],
    "from unbind": lambda x, n: x.unbind()[1],
    "diagonal": lambda x, n: paddle.diagonal(x),
}


@pytest.mark.parametrize("name", PARTS)
def test_a_part_of_an_argument_is_refused_where_it_is_not_known_which(name: str) -> None:
    """C7: the caller would not see the change."""
    part = PARTS[name]

    def f(x, n):
        y = part(x, n)
        y.scale_(2.0)
        return y

    x = paddle.arange(12, dtype="float32").reshape([4, 3])
    with pytest.raises(InplaceError, match="a part of an argument") as caught:
        d2s.to_static(f)(x, scalar(2))
    assert caught.value.line == f.__code__.co_firstlineno + 2
    assert paddle.equal_all(x, paddle.arange(12, dtype="float32").reshape([4, 3])).item()


@pytest.mark.parametrize("name", PARTS)
def test_a_part_of_what_was_computed_is_changed(name: str) -> None:
    """C7: nobody else sees it."""
    part = PARTS[name]

    def f(x, n):
        y = part(x * 1, n)
        y.scale_(2.0)
        return y

    x = paddle.arange(12, dtype="float32").reshape([4, 3])
    assert_same(f, [(x, scalar(2)), (x, scalar(3))], grad=False)


def test_a_diagonal_is_a_view() -> None:
    """C7: rather a code than the old contents."""

    @d2s.to_static
    def f(x):
        y = x * 1
        d = paddle.diagonal(y)
        d.scale_(2.0)
        return y

    with pytest.raises(InplaceError):
        f(paddle.ones([2, 2]))


def test_a_side_that_hands_nothing_on_beside_an_item_assignment() -> None:
    """C7: an index that only the run can make of a number."""

    def f(x, s):
        i = int(s) + 1
        y = x[i : i + 1] * 1
        y[0] = 7.0
        return y

    assert_same(f, [(X, scalar(1.0)), (X, scalar(0.0))], grad=False)


class Weighted:
    def __init__(self, kind: int, weight: float) -> None:
        self.kind = kind
        self.weight = weight

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Weighted) and self.kind == other.kind

    __hash__ = None  # type: ignore[assignment]


LIGHT, HEAVY = Weighted(1, 2.0), Weighted(1, 5.0)


def test_two_objects_that_compare_equal_are_two() -> None:
    """B1: a branch chooses one of them."""

    def f(x, s):
        chosen = LIGHT if s > 0 else HEAVY
        if s > 1:
            chosen = HEAVY
        return x * chosen.weight

    assert_same(f, [(X, scalar(1.0)), (X, scalar(-1.0)), (X, scalar(2.0))])


@pytest.mark.parametrize(
    "pair",
    [
        (np.array([1]), np.array([1.0])),
        (np.float32(0.0), np.float32(-0.0)),
        (frozenset([1]), frozenset([True])),
        ((1, 0.0), (1, -0.0)),
    ],
    ids=repr,
)
def test_equal_things_that_can_be_told_apart(pair: tuple[Any, Any]) -> None:
    """B1: they are no constant."""
    one, two = pair

    def f(x, s):
        chosen = one if s > 0 else two
        return x, repr(chosen)

    assert_same(f, [(X, scalar(1.0)), (X, scalar(-1.0))], grad=False)


def test_what_cannot_be_told_apart_is_a_constant() -> None:
    """B1: it can be computed with while the program is captured."""

    def f(x, s):
        dtype = np.dtype("float64") if s > 0 else np.dtype("f8")
        third = Fraction(1, 3) if s > 0 else Fraction(2, 6)
        return x.astype(str(dtype)) * third.denominator

    assert_same(f, [(X, scalar(1.0)), (X, scalar(-1.0))])


@contextlib.contextmanager
def counting(x, out):
    n = x
    yield x * 2
    if x.sum() > 0:
        n = n * 5
        m = x
    else:
        m = x * 3
    out.append(n + m)


def test_a_branch_behind_the_yield_of_a_manager() -> None:
    """B1, E4: what it assigns is there behind it."""

    def f(x, s):
        out = []
        with counting(x, out) as y:
            if s > 1:
                raise KeyError("k")
        return y, out[0]

    assert_same(f, [(X, scalar(0.0)), (-X, scalar(0.0)), (X, scalar(2.0))])


def test_the_else_of_a_stop_at_the_end_of_a_loop_that_stays_python() -> None:
    """C4: it is not left out."""

    def f(items, stop):
        n = 0
        for _ in items:
            yield n
            if stop:
                break
            else:
                n += 1

    for stop in (False, True):
        assert list(d2s.convert(f)([1, 2, 3], stop)) == list(f([1, 2, 3], stop))


TABLE = [1, 2, 3]
PLACE = 0


def move() -> int:
    global TABLE, PLACE
    TABLE, PLACE = [0, 0], 1
    return 5


def test_an_item_is_looked_up_before_the_value_is_made() -> None:
    """A1: ``a[i] += f()`` where ``f`` binds ``a`` or ``i`` anew."""

    def inner(a, i):
        def bump():
            nonlocal i
            i += 1
            return 10

        a[i] += bump()
        return a, i

    def walrus(a, i):
        a[i] += (i := 1) + 4
        return a, i

    def container(a, i):
        b = a
        a[0] += (a := [5, 5])[0]
        return a, b

    def other(a, i):
        def replace():
            nonlocal a
            a = [7, 7]
            return 1

        b = a
        a[i] += replace()
        return a, b

    for function in (inner, walrus, container, other):
        assert d2s.convert(function)([1, 2, 3], 0) == function([1, 2, 3], 0)


def test_an_item_of_a_global_is_looked_up_first() -> None:
    """A1: the same for globals."""

    def f():
        held = TABLE
        TABLE[PLACE] += move()
        return held, TABLE, PLACE

    found = []
    for function in (f, d2s.convert(f)):
        globals().update(TABLE=[1, 2, 3], PLACE=0)
        found.append(function())
    assert found[0] == found[1] == ([6, 2, 3], [0, 0], 1)


class Private:
    def keywords(self, **given):
        return dict(__x=1), dict(**given, __y=2)

    def imports(self):
        import posixpath as __q
        from os import path as __p

        return __p is __q

    def patterns(self, value):
        match value:
            case {"k": 1, **__rest}:
                return __rest
            case [__first, *__others]:
                return __first, __others
            case int() as __number:
                return __number


def test_private_names_are_mangled_where_python_does_it() -> None:
    """A2: not in the keywords of a call; in patterns and imports."""
    thing = Private()
    assert d2s.convert(Private.keywords)(thing, z=3) == thing.keywords(z=3)
    assert d2s.convert(Private.imports)(thing) is True
    for value in ({"k": 1, "z": 2}, [1, 2, 3], 3):
        assert d2s.convert(Private.patterns)(thing, value) == thing.patterns(value)


CHANGES = {
    "add_": lambda y, x: y.add_(x),
    "scale_": lambda y, x: y.scale_(2.0),
    "zero_": lambda y, x: y.zero_(),
    "clip_": lambda y, x: y.clip_(0.0, 1.0),
    "relu_": lambda y, x: paddle.nn.functional.relu_(y),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_under_no_grad_leaves_the_gradient(name: str) -> None:
    """C7: dygraph records nothing, so that the gradient is that of the old contents."""
    change = CHANGES[name]

    def f(x):
        y = x * 2
        with paddle.no_grad():
            change(y, x)
        return y * 3

    assert_same(f, [X, -X])


def test_changes_under_no_grad_in_branches_and_loops() -> None:
    """C7: the same there, for items and for what has two names."""

    def f(x, n):
        y = x * 2
        z = y
        if x.sum() > 0:
            with paddle.no_grad():
                z.add_(x)
        for _ in range(n):
            with paddle.no_grad():
                y.scale_(2.0)
        with paddle.no_grad():
            y[0] = 5.0
        return y * x, z

    assert_same(f, [(X, scalar(2)), (-X, scalar(0))])


def test_another_shape_under_no_grad_is_refused() -> None:
    """C7: rather a code than an error of Paddle's in the backward."""

    @d2s.to_static
    def f(x):
        y = x * 2
        with paddle.no_grad():
            y.reshape_([3, 1])
        return y

    x = tensor(1.0, 2.0, 3.0)
    x.stop_gradient = False
    with pytest.raises(InplaceError, match="under no_grad"):
        f(x)


class Held:
    pass


def test_an_attribute_that_some_path_lacks_is_returned() -> None:
    """B2: the run raises what Python raises, by itself and in a tuple or list."""

    def deleted(x):
        thing = Held()
        thing.b = x
        if x.sum() > 0:
            del thing.b
        return thing.b

    def made(x):
        thing = Held()
        if x.sum() > 0:
            thing.b = x
        return [1, (thing.b, 2)]

    assert_same(deleted, [X, -X])
    assert_same(made, [X, -X])


def test_a_set_that_a_loop_changes_is_refused() -> None:
    """C7: its length would stay what it was."""

    def f(x, n):
        seen = {1, 2}
        for _ in range(n):
            x = x + len(seen)
            seen.add(3)
        return x

    def reading(x, n):
        seen = {1, 2}
        for _ in range(n):
            x = x + len(seen)
        return x, seen

    with pytest.raises(ContainerInGraphError, match="changes the set 'seen'"):
        d2s.to_static(f)(X, scalar(2))
    assert_same(reading, [(X, scalar(2)), (X, scalar(0))])


def test_a_number_of_the_run_as_a_key() -> None:
    """D2: the dict gets another key, or another value of one that it has."""

    def f(x):
        table = {0: x, 1: x}
        table[int(x.sum())] = x * 2
        return table

    assert_same(f, tensor(3.0), tensor(1.0))


@functools.singledispatch
def kind_of(thing):
    return "something else"


@kind_of.register
def _(thing: int):
    return "int"


@kind_of.register
def _(thing: list):
    return "list"


@kind_of.register
def _(thing: str):
    return "str"


@kind_of.register
def _(thing: paddle.Tensor):
    return "tensor"


def grown(x):
    items, i = [], x.sum() * 0
    while i < 3:
        items.append(i * 1)
        i = i + 1
    return items


def test_what_stands_for_something_is_dispatched_as_that() -> None:
    """E1: numbers of the run, lists that grow, and choices between things."""

    def f(x):
        chosen = 1 if x.sum() > 0 else "a"
        return x, kind_of(int(x.sum())), kind_of(grown(x)), kind_of(x), kind_of(chosen)

    assert_same(f, [X, -X])


def test_bounds_and_kinds_of_a_list_that_has_grown() -> None:
    """D1: a single bound is a start; a tuple of it is a tuple."""

    def f(x):
        items = grown(x)
        places = [items.index(2.0, 1), items.index(1.0, -2), items.index(0.0, 0, 2)]
        fixed = tuple(items)
        kinds = [isinstance(fixed, tuple), isinstance(fixed, list), isinstance(items, tuple)]
        return places, kinds, type(fixed) is tuple, hasattr(fixed, "append")

    assert_same(f, [X])


def test_what_a_helper_changes_in_the_trips_of_a_loop_that_is_tried_again() -> None:
    """C2: a list that begins to grow there makes the loop begin anew, as all was."""

    def f(x, n):
        total = x

        def good(v):
            nonlocal total
            total = total + v
            return total.sum() > 8

        items = []
        for i in range(n):
            if good(i):
                items.append(i)
        return items, total

    def g(x, n):
        held = Held()
        held.total = x

        def good(v):
            held.total = held.total + v
            return held.total.sum() > 8

        return [i for i in range(n) if good(i)], held.total

    for function in (f, g):
        assert_same(function, [(X, scalar(3)), (X, scalar(0))], grad=False)


def test_a_range_takes_a_flag_of_the_run() -> None:
    """C1: as 0 or 1, as dygraph does."""

    def f(x):
        for _ in range(x.sum() > 0):
            x = x + 1
        return x

    assert_same(f, [X, -X])


def test_a_function_of_no_module() -> None:
    """E1: one that ``exec`` has made in a scope without a name."""
    scope: dict[str, Any] = {"__name__": None}
    exec("def double(x):\n    return x * 2", scope)  # its source is nowhere: it is called as it is
    double = scope["double"]

    def f(x):
        return double(x) if x.sum() > 0 else x

    assert_same(f, [X, -X])


class Doubled(paddle.autograd.PyLayer):
    @classmethod
    def forward(cls, ctx, x):
        return x * 2

    @classmethod
    def backward(cls, ctx, gradient):
        return gradient * 2


def test_a_py_layer_of_class_methods() -> None:
    """E5: Paddle's class has no module, which is asked for."""

    @d2s.to_static
    def f(x):
        return Doubled.apply(x) * 3

    x = tensor(1.0, 2.0)
    x.stop_gradient = False
    y = f(x)
    y.sum().backward()
    assert y.tolist() == [6.0, 12.0]
    assert x.grad.tolist() == [6.0, 6.0]


def test_a_loop_takes_no_object_for_another_that_compares_equal() -> None:
    """C2: what a trip leaves is there in the next one and behind the loop."""

    def behind(x, n):
        chosen = LIGHT
        for _ in range(n):
            chosen = HEAVY
        return x * chosen.weight

    def inside(x, n):
        chosen = LIGHT
        for _ in range(n):
            x = x + chosen.weight
            chosen = HEAVY
        return x

    for function in (behind, inside):
        assert_same(function, [(X, scalar(2)), (X, scalar(0)), (X, scalar(1))])


Two = collections.namedtuple("Two", "first second")


def test_a_missing_attribute_in_a_named_tuple() -> None:
    """B2: as in a plain one."""

    def f(x):
        thing = Held()
        if x.sum() > 0:
            thing.b = x
        return Two(thing.b, 1)

    assert_same(f, [X, -X])


@pytest.mark.parametrize(
    ("begin", "trip", "other"),
    [
        ("a = [x]", "a.append(x + i); a = a[1:]", "'b'"),
        ("a = []", "a.append(x + i); a = a + [x]", "'b'"),
        ("a = {'k': x}", "a['k'] = x + i; a = dict(a)", "'b'"),
        ("a = collections.deque([x])", "a[0] = x + i; a = a.copy()", "'b'"),
        ("a = given", "a.append(x + i); a = a + [x]", "'b'"),
        ("b = x", "a[0] = x + i; a = [a[0] * 2]", "an argument"),
        ("b = x", "a.append(x + i); a = a + [x]", "an argument"),
    ],
)
def test_a_list_that_a_loop_changes_and_replaces(begin: str, trip: str, other: str) -> None:
    """C4, D1: another name of the first list did not see the change, in silence."""
    f = function_of(f"""
        import collections

        def f(x, n, {"a" if other == "an argument" else "given"}):
            {begin}
            {"b = a" if "'" in other else ""}
            for i in range(n):
                {trip}
            return a, b
    """)
    with pytest.raises(d2s.D2SError) as caught:
        d2s.to_static(f)(X, scalar(2), [X])
    assert caught.value.code == "D2S207"
    assert other in str(caught.value)


@pytest.mark.parametrize(
    ("begin", "trip"),
    [
        ("a = [x]", "a.append(x + i); a = a[1:]"),
        ("a = []", "a.append(x + i); a = a + [x]"),
        ("a = [x, x]", "a = [a[1], x + i]"),
        ("a = list(given)", "a[0] = x + i; a = [a[0] * 2]"),
    ],
)
def test_a_list_of_one_name_that_a_loop_changes_and_replaces(begin: str, trip: str) -> None:
    """C4, D1: with one name only it is right, and a copy is a list of its own."""
    f = function_of(f"""
        def f(x, n, given):
            {begin}
            for i in range(n):
                {trip}
            return a, given
    """)
    assert_same(f, (X, scalar(2), [X]), (X, scalar(0), [X]), (X, scalar(3), [X]))
