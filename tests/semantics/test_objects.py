"""Objects of the user's classes that branches and loops make, replace and change (B4, C2, F3)."""

from __future__ import annotations

import copy
import dataclasses
import enum
from dataclasses import dataclass, field
from typing import Any

import paddle
import pytest

import d2s
from d2s.errors import D2SError
from tests.helpers import assert_same, function_of, tensor

CALLS = (tensor(1.0, 2.0), tensor(4.0, 5.0), tensor(1.0, 1.0), tensor(0.1, 0.1))


@dataclass
class State:
    """A data class."""

    x: Any
    n: Any = 0


@dataclass(frozen=True)
class Fixed:
    """A data class that cannot be changed."""

    x: Any
    n: Any = 0


class Plain:
    """An object with attributes."""

    def __init__(self, x: Any, n: Any = 0) -> None:
        self.x = x
        self.n = n


class Slots:
    """An object without a dictionary."""

    __slots__ = ("n", "x")

    def __init__(self, x: Any, n: Any = 0) -> None:
        self.x = x
        self.n = n


class Hostile(Plain):
    """An object that forbids nearly everything."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison")

    __hash__ = None

    def __bool__(self) -> bool:
        raise RuntimeError("no truth")

    def __len__(self) -> int:
        raise RuntimeError("no length")

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


CLASSES = [State, Plain, Slots, Hostile]


def changed_or_replaced(make, x):
    s = make(x)
    s = make(x + 1, s.n)
    if x.sum() > 5:
        s.n += 1
    else:
        s = make(s.x * 2, s.n)
    return s.x, s.n


def a_list_in_it(make, x):
    s = make(x, [])
    s = make(x + 1, s.n)
    if x.sum() > 5:
        s.n.append(x)
    else:
        s = make(s.x * 2, s.n)
    return s.x, s.n


def a_list_of_each(make, x):
    if x.sum() > 5:
        s = make(x * 2, [x])
    else:
        s = make(x * 3, [x + 1])
    s.x = s.x + 1
    s.n.append(x)
    return s.x, s.n


def replaced_on_one_side(make, x):
    s = make(x)
    if x.sum() > 5:
        s = make(s.x * 2, 7)
    s.x = s.x + 1
    return s.x, s.n


def replaced_in_a_loop(make, x):
    s = make(x, paddle.zeros([1]))
    i = paddle.zeros([1])
    while i.sum() < 4:
        s = make(s.x * 2, s.n + 1)
        i = i + 1
    return s.x, s.n


def both_in_a_loop(make, x):
    s = make(x, 0)
    i = paddle.zeros([1])
    while i.sum() < 4:
        if s.x.sum() + i.sum() > 6:
            s.n += 1
        else:
            s = make(s.x * 2, s.n)
        i = i + 1
    return s.x, s.n


def changed_in_a_loop(make, x):
    s = make(x, 1)
    t = s
    i = paddle.zeros([])
    while i < 3:
        s.x = s.x * 2
        i = i + 1
    return s.x, t.x


def two_names(make, x):
    s = make(x, 1)
    t = s
    if x.sum() > 4:
        s = make(x + 1, 2)
    s.x = s.x * 10
    t.n = 7
    return s.x, t.x, s.n, t.n


def two_names_inside(make, x):
    kept = []
    s = make(x, 1)
    if x.sum() > 4:
        s = make(x + 1, 2)
        kept.append(s)
    else:
        kept.append(make(x, 3))
    s.n += 10
    return s.n, kept[0].n, kept[0].x


def one_of_two(make, x):
    a, b = make(x, 1), make(x + 1, 2)
    chosen = a if x.sum() > 4 else b
    chosen.x = chosen.x + 10
    chosen.n += 1
    return a.x, b.x, a.n, b.n, chosen.n


def in_a_list(make, x):
    many = [make(x, 0), make(x + 1, 1)]
    if x.sum() > 4:
        many[0] = make(x * 2, 2)
    else:
        many[1].x = x * 3
    i = paddle.zeros([])
    while i < 2:
        many = [make(each.x + 1, each.n) for each in many]
        i = i + 1
    return [each.x for each in many], [each.n for each in many]


def none_before(make, x):
    best = None
    i = paddle.zeros([])
    while i < 4:
        y = x * i
        if y.sum() > 4 and (best is None or y.sum() > best.x.sum()):
            best = make(y, i)
        i = i + 1
    if best is None:
        return x
    return best.x + best.n


def made_by_the_first_trip(make, x):
    box, t = None, paddle.zeros([])
    while t < 3:
        t = t + 1
        if box is None:
            box = make(t * 2)
    return box.x + x


PROGRAMS = [
    changed_or_replaced, a_list_in_it, a_list_of_each, replaced_on_one_side, replaced_in_a_loop,
    both_in_a_loop, changed_in_a_loop, two_names, two_names_inside, one_of_two, in_a_list,
    none_before, made_by_the_first_trip,
]  # fmt: skip


@pytest.mark.sampled(9, also=["in_a_list-Slots", "made_by_the_first_trip-Hostile"])
@pytest.mark.parametrize("make", CLASSES)
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_is_what_dygraph_gives(function: Any, make: Any) -> None:
    """B4, C2: attributes of an object are merged and carried; a second name goes on to know it."""
    static = d2s.to_static(function)
    assert_same(lambda x: function(make, x), *CALLS, static=lambda x: static(make, x))


def frozen(x):
    s = Fixed(x)
    t = s
    i = paddle.zeros([])
    while i < 3:
        if s.x.sum() > 6:
            s = Fixed(s.x - 1, s.n + 1)
        else:
            s = Fixed(s.x * 2, s.n)
        i = i + 1
    return s.x, s.n, t.x


def copies(x):
    s = State(x, 1)
    if x.sum() > 4:
        s = dataclasses.replace(s, n=5)
    else:
        s = copy.copy(s)
    s.x = s.x + 1
    i = paddle.zeros([])
    while i < 2:
        s = dataclasses.replace(s, x=s.x * 2)
        i = i + 1
    return s.x, s.n


class Node:
    """A node of a tree that knows its parent."""

    def __init__(self, v: Any, parent: Any = None) -> None:
        self.v = v
        self.parent = parent
        self.kids: list[Any] = []
        if parent is not None:
            parent.kids.append(self)


def tree(x):
    root = Node(x)
    if x.sum() > 4:
        kid = Node(x * 2, root)
    else:
        kid = Node(x * 3, root)
        Node(x * 4, kid)
    return root.v, kid.v, len(root.kids), len(kid.kids), kid.parent is root


class Total:
    """An object with methods that change it."""

    def __init__(self) -> None:
        self.sum = 0.0
        self.items: list[Any] = []
        self.on = False

    def add(self, value: Any) -> Any:
        self.sum = self.sum + value.sum()
        self.items.append(value)
        self.on = True
        return self

    @property
    def mean(self) -> Any:
        return self.sum / len(self.items)


def method_of_one_of_two(x):
    a, b = Total(), Total()
    if x.sum() > 4:
        chosen = a
    else:
        chosen = b
    chosen.add(x)
    chosen.add(x + 1)
    return a.sum, b.sum, chosen.mean, len(a.items), len(b.items), a.on, b.on


def one_of_two_functions(x):
    log = Total()

    def up(v):
        log.on = True
        return v + 1

    def down(v):
        log.items.append(v)
        return v - 1

    g = up if x.sum() > 4 else down
    y = g(x)
    return y, log.on, len(log.items)


class Color(enum.Enum):
    """Two members, each of which is one object."""

    RED = 1
    BLUE = 2


def members(x):
    color = Color.RED if x.sum() > 4 else Color.BLUE
    return x * 2 if color is Color.RED else x


@dataclass
class Trust:
    """The state of a trust-region method."""

    point: Any
    radius: Any
    accepted: int = 0
    trail: list[Any] = field(default_factory=list)


def bowl(point):
    return ((point - 1.0) ** 2).sum()


def trust_step(state):
    slope = 2 * (state.point - 1.0)
    one = paddle.to_tensor(1.0)
    move = -slope * paddle.minimum(state.radius / (slope.norm() + 1e-6), one)
    gain = bowl(state.point) - bowl(state.point + move)
    if gain > 0:
        state = Trust(state.point + move, state.radius * 1.5, state.accepted + 1, state.trail)
        state.trail.append(gain)
    else:
        state.radius = state.radius * 0.5
    return state


def trust_region(x):
    state = Trust(x, paddle.to_tensor(0.5))
    for _ in range(3):
        state = trust_step(state)
    return state.point, state.radius, state.accepted, state.trail


@pytest.mark.parametrize(
    "function",
    [frozen, copies, tree, method_of_one_of_two, one_of_two_functions, members, trust_region],
    ids=lambda function: function.__name__,
)
def test_programs_with_objects(function: Any) -> None:
    """B4: methods and functions that a tensor chooses change only what they are called on."""
    assert_same(function, *CALLS, grad=function is not trust_region)


class Holder(paddle.nn.Layer):
    """A layer that holds an object."""

    def __init__(self, make: Any) -> None:
        super().__init__()
        self.make = make
        self.state = make(paddle.zeros([2]), 0)

    def forward(self, x: Any) -> Any:
        if x.sum() > 4:
            self.state = self.make(self.state.x + x, self.state.n + 1)
        else:
            self.state.n -= 1
            self.state.x = self.state.x * 2
        return self.state.x


@pytest.mark.parametrize("make", CLASSES)
def test_an_attribute_that_is_changed_or_replaced(make: Any) -> None:
    """F3: each run leaves the object that dygraph leaves; the replaced one stays as it was."""
    plain, layer = Holder(make), Holder(make)
    static = d2s.to_static(layer)
    for x in (*CALLS, *CALLS):
        before, other = plain.state, layer.state
        assert static(x).tolist() == plain(x).tolist()
        assert (layer.state is other) == (plain.state is before)
        assert (layer.state.n, other.n) == (plain.state.n, before.n)
        assert layer.state.x.tolist() == plain.state.x.tolist()
        assert other.x.tolist() == before.x.tolist()


def choose_argument(s, x):
    t = s
    if x.sum() > 4:
        t = type(s)(x, 5)
    t.n = t.n + 1
    return t.n


@pytest.mark.parametrize("make", CLASSES)
def test_an_argument_or_a_new_one(make: Any) -> None:
    """B4, F3: the caller's object is changed on the runs that mean it."""
    static = d2s.to_static(choose_argument)
    for x in CALLS:
        mine, other = make(x, 1), make(x, 1)
        assert static(mine, x) == choose_argument(other, x)
        assert mine.n == other.n


def walks(x):
    first = Plain(x)
    second = Plain(x + 1)
    s = first
    i = paddle.zeros([])
    while i < 3:
        s.x = s.x + 1
        s = second
        i = i + 1
    return first.x, second.x


def test_a_loop_that_binds_what_others_know_is_refused() -> None:
    """C2: which object is meant, only the run knows; rather an error than a copy."""
    with pytest.raises(D2SError):
        d2s.to_static(walks)(tensor(1.0))


@pytest.mark.parametrize("base", ["object", "list", "dict"])
def test_an_attribute_of_the_class_that_a_branch_gives_the_object(base: str) -> None:
    """B4: on the other runs it is the class's."""
    f = function_of(
        f"""
        class Counting({base}):
            count = 0
            def hit(self):
                self.count += 1

        def f(x):
            it = Counting()
            if x.sum() > 0:
                it.hit()
            first = it.count
            it.hit()
            return first, it.count, Counting.count
        """
    )
    assert_same(f, tensor(1.0, 2.0), tensor(-1.0, 0.5), grad=False)
