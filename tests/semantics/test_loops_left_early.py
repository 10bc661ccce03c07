# ruff: noqa: B007 - a loop variable is read behind the loop
"""Loops over Python values that a tensor may leave early: one static loop (rule C1)."""

from __future__ import annotations

import enum
import importlib
import itertools
from typing import Any

import paddle
import pytest

import d2s
from d2s import paddle_bridge as bridge
from d2s.errors import InplaceError, UnsupportedInGraphError
from tests.helpers import assert_same, function_of, tensor

X = tensor(3.0, 4.0)
SMALL = tensor(0.5, 0.25)


def newton(x, trips=100):
    history = []
    for step in range(trips):
        new = 0.5 * (x + 2.0 / x)
        change = (new - x).abs().max()
        history.append(change)
        x = new
        if change < 1e-5:
            break
    return x, step, history, len(history)


def returns_from_within(x):
    for i in range(30):
        x = x + i
        if x.sum() > 50:
            return i, x
    return -1, x


def a_while_that_python_bounds(x):
    count, log = 0, []
    while count < 90:
        x = x * 0.9
        log.append(x.sum())
        if x.max() < 0.1:
            break
        count += 1
    else:
        count = -1
    return count, x, log


def an_else(x):
    for t in range(12):
        x = x * 1.1
        if x.max() > 8:
            break
    else:
        x = x - 1000
    return x, t


class Walker:
    def __init__(self):
        self.path = []
        self.steps = 0

    def run(self, x):
        for _ in range(50):
            self.steps += 1
            x = x * 0.7
            self.path.append(x.sum())
            if x.sum() < 0.5:
                break
        return x


def an_object_with_a_history(x):
    walker = Walker()
    y = walker.run(x)
    return y, walker.steps, walker.path


def one_in_another(x):
    total = 0
    for i in range(20):
        for j in range(20):
            x = x * 0.99
            total += 1
            if x.sum() < 5:
                break
        if x.sum() < 4:
            return x, i, j, total
    return x, -1, -1, total


def a_zip_of_numbers(x):
    out = None
    for a, b in zip([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], range(6), strict=False):
        x = x + a * b
        out = x if out is None else out + x
        if x.sum() > 30:
            break
    return x, a, b, out


def an_enumerate(x):
    best, where = None, None
    for k, w in enumerate([0.5, 0.25, 0.1, 0.3, 0.7, 0.9], start=2):
        y = (x * w).sum()
        if best is None or y < best:
            best, where = y, k
        if y < 0.4:
            break
    return best, where


def a_reversed_range(x):
    for k in reversed(range(0, 40, 3)):
        x = x + k
        if x.sum() > 90:
            break
    return x, k


def uneven_numbers(x):
    for k in (3, 1, 4, 1, 5, 9, 2, 6):
        x = x * k - k
        if x.sum() > 400:
            break
    return x, k


def pairs_of_a_product(x):
    for i, j in itertools.product(range(4), range(3)):
        x = x + i - j
        if x.sum() > 11:
            break
    return x, i, j


def a_dict_of_records(x):
    info = {"loss": [], "n": 0, "done": False}
    for _ in range(40):
        x = x / 2
        info["loss"].append(x.sum())
        info["n"] += 1
        if x.sum() < 0.1:
            info["done"] = True
            break
    return x, info


def the_number_decides(x):
    for i in range(20):
        if i % 3 == 0:
            x = x + 1
        elif i in (4, 7):
            x = x - 2
        else:
            x = x * 1.1
        if x.sum() > 40:
            break
    return x, i


def the_number_is_a_key(x):
    weights = {0: 1.5, 1: 2.5, 2: 0.5}
    for i in range(20):
        x = x + weights.get(i % 4, 0) + weights[i % 3]
        if x.sum() > 60:
            break
    return x, i


def the_number_is_an_index(x):
    acc = paddle.zeros([20])
    for i in range(20):
        acc[i] = x.sum() * i
        x = x + acc[: i + 1].mean()
        if x.sum() > 100:
            break
    return acc, x


def a_continue(x):
    n = 0
    for i in range(30):
        if (x * i).sum() > 20:
            continue
        n += 1
        x = x + 0.1
        if x.sum() > 4:
            break
    return x, n


def differentiable(x):
    y = x
    for _ in range(15):
        y = y * x
        if y.sum() > 50:
            break
    return y


def swaps_of_tensors(x):
    xs = [x, x * 2, x * 3, x * 4, x * 5, x * 6, x * 7]
    for i in range(7):
        for j in range(i, 7):
            if xs[j].sum() < 10:
                xs[i], xs[j] = xs[j] + 1, xs[i]
            if xs[j].sum() > 22:
                break
    return xs


def none_before_the_first_trip(x):
    last = None
    for i in range(50):
        x = x * 0.8
        if last is not None and (last - x).abs().max() < 1e-2:
            break
        last = x
    return x, last, i


def python_leaves_first(x):
    for i in range(50):
        if i < 4:
            x = x + 1
            continue
        x = x * 0.9
        if x.sum() < 3 or i == 30:
            break
    return x, i


def a_bracket_without_an_end(x):
    low, high, step = 0.0, None, 1.0
    for _ in range(12):
        y = (x * step).sum()
        if y > 60.0:
            high = step
        elif y < 50.0:
            low = step
        else:
            break
        step = 2.0 * low if high is None else 0.5 * (low + high)
    return step, y


ROLLED = [
    newton,
    returns_from_within,
    a_while_that_python_bounds,
    an_else,
    an_object_with_a_history,
    one_in_another,
    a_zip_of_numbers,
    an_enumerate,
    a_reversed_range,
    uneven_numbers,
    pairs_of_a_product,
    a_dict_of_records,
    the_number_decides,
    the_number_is_a_key,
    the_number_is_an_index,
    a_continue,
    differentiable,
    swaps_of_tensors,
    none_before_the_first_trip,
    python_leaves_first,
    a_bracket_without_an_end,
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("function", ROLLED, ids=lambda function: function.__name__)
def test_it_gives_what_dygraph_gives(function: Any) -> None:
    """C1: after the first trip the others are one static loop."""
    assert_same(function, (X,), (SMALL,), grad=True)


def whiles(program: Any) -> int:
    return sum(operation.name() == "pd_op.while" for operation in _operations(program))


def _operations(program: Any) -> Any:
    queue = [program.global_block()]
    while queue:
        for operation in queue.pop().ops:
            yield operation
            queue.extend(operation.blocks())


@pytest.mark.sampled(3)
@pytest.mark.parametrize("function", ROLLED, ids=lambda function: function.__name__)
def test_it_is_a_loop_of_the_program(function: Any) -> None:
    """C1: what the functions above show is no unrolled loop."""
    converted = d2s.to_static(function)
    converted(X)
    assert whiles(converted.programs[0].program)


def test_the_program_does_not_grow_with_the_number_of_trips() -> None:
    """C1: neither operations nor the time to capture them."""
    converted = d2s.to_static(newton)
    for trips in (10, 1000, 100_000):
        converted(X, trips)
    sizes = {info.operations for info in converted.programs}
    assert len(sizes) == 1


def rows(table, start):
    for row in table:
        start = start + row
        if start.sum() > 10:
            break
    return start


def test_rows_of_a_tensor() -> None:
    """C1: the rows are indexed, none is taken out before."""
    table = paddle.arange(24).astype("float32").reshape([8, 3])
    assert_same(rows, (table, tensor(1.0, 2.0, 3.0)), (-table, tensor(1.0, 2.0, 3.0)), grad=True)


# -- what wants the Python value is unrolled ------------------------------------------------------


def functions(x):
    for f in [paddle.sin, paddle.cos, paddle.tanh, paddle.abs, paddle.exp, paddle.square]:
        x = f(x)
        if x.sum() > 2:
            break
    return x


def names(x):
    for name in ["sin", "cos", "tanh", "abs", "exp", "square"]:
        x = getattr(paddle, name)(x)
        if x.sum() > 2:
            break
    return x, name


def functions_by_number(x):
    made = [paddle.sin, paddle.cos, paddle.tanh, paddle.abs, paddle.exp, paddle.square]
    for i in range(6):
        x = made[i](x)
        if x.sum() > 2:
            break
    return x, i


def shapes(x):
    for i in range(1, 8):
        y = x.expand([i, 2])
        if y.sum() > 30:
            break
    return y


def texts(x):
    log = []
    for i in range(10):
        x = x * 0.5
        log.append(f"step {i}: {x.sum():.3f}")
        if x.sum() < 1:
            break
    return log


def a_list_that_grows_meanwhile(x):
    todo, n = [x], 0
    for item in todo:
        n += 1
        if n < 8:
            todo.append(item * 0.5)
        if item.sum() < 0.1:
            break
    return n, item


def a_generator(x):
    def halves():
        w = 1.0
        for _ in range(9):
            w /= 2
            yield w

    for w in halves():
        x = x * w
        if x.sum() < 0.1:
            break
    return x, w


def enumerated_functions(x):
    for k, f in enumerate(
        [paddle.sin, paddle.cos, paddle.tanh, paddle.abs, paddle.exp, paddle.cos]
    ):
        x = f(x) + k
        if x.sum() > 9:
            break
    return x, k


def a_few_reversed(x):
    y = x * 0
    for v in reversed([x, x * 2, x * 3]):
        y = y + v
        if y.sum() > 5:
            break
    return y


def a_few_counted(x):
    for k, (a, b) in enumerate(zip((1.0, 2.0, 3.0), "abc", strict=True), start=1):
        x = x * a
        if x.sum() > 8:
            return k, b, x
    return None


class Stack(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.layers = paddle.nn.LayerList([paddle.nn.Linear(2, 2) for _ in range(7)])

    def forward(self, x):
        for depth, layer in enumerate(self.layers):
            x = layer(x)
            if x.abs().max() < 0.5:
                return x, depth
        return x, None


@pytest.mark.sampled(3, also=["a_generator", "texts", "a_list_that_grows_meanwhile"])
@pytest.mark.parametrize(
    "function",
    [
        functions,
        names,
        functions_by_number,
        enumerated_functions,
        a_few_reversed,
        a_few_counted,
        shapes,
        texts,
        a_list_that_grows_meanwhile,
        a_generator,
    ],
    ids=lambda function: function.__name__,
)
def test_what_wants_the_python_value_is_unrolled(function: Any) -> None:
    """C1: such a body is captured for each trip, and nothing of the attempt is left."""
    assert_same(function, (X,), (SMALL,), grad=True)


def test_layers_are_unrolled() -> None:
    """C1: each trip has a layer of its own."""
    paddle.seed(3)
    net = Stack()
    plain = [net(X), net(X * 20)]
    converted = d2s.to_static(net)
    for (value, depth), x in zip(plain, (X, X * 20), strict=True):
        got, at = converted(x)
        assert paddle.allclose(got, value)
        assert at == depth


def test_a_later_refusal_brings_the_unrolled_loop_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """C1: what a static loop leaves may be refused behind it where trips one by one are not."""
    module = importlib.import_module("d2s.program.capture.capture")
    check, programs = module.check_views, []

    def refuse_whiles(program, *rest):
        programs.append(program)
        if whiles(program):
            raise InplaceError("refused because of the loop", cure="unroll it")
        check(program, *rest)

    monkeypatch.setattr(module, "check_views", refuse_whiles)
    converted = d2s.to_static(an_else)
    for x in (X, SMALL):
        (got, trips), (want, steps) = converted(x), an_else(x)
        assert paddle.allclose(got, want)
        assert trips == steps
    assert len(programs) == 3  # the second one told views of writes, which did not help
    assert not whiles(converted.programs[0].program)


def endless(x):
    log, i = [], 0
    while i < 400:
        i += 1
        log.append("*".center(i))
        x = x + 1
        if x.sum() > 500:
            break
    return x, log


def test_the_reason_is_that_of_the_static_loop() -> None:
    """C1: a loop too long to be unrolled tells why it is no static one."""
    with pytest.raises(d2s.D2SError) as caught:
        d2s.to_static(endless)(X)
    assert caught.value.line == endless.__code__.co_firstlineno + 4


# -- dictionaries asked by a number of the run ---------------------------------------------------


def defaults(n):
    weights = {0: 1.5, 1: 2.5, 2: 0.5}
    total = 0.0
    for i in range(n):
        total = total + weights.get(i % 4, -1.0)
        total = total - weights.get(i % 3) + weights[i % 3]
    return total


def test_get_of_a_dict() -> None:
    """E1: ``dict.get`` looked a number of the run up by its hash, and gave the default."""
    assert_same(defaults, (paddle.to_tensor(2),), (paddle.to_tensor(9),))


class Diverged(ArithmeticError):
    def __init__(self, steps):
        self.steps = steps
        super().__init__(f"diverged after {steps} steps")


def diverging(x):
    for k in range(1, 7):
        x = x * 3
        if x.sum() > 1000:
            raise Diverged(k)
        if x.sum() < 1:
            return x, k
    return x, -1


def raised_again(x):
    try:
        try:
            x, steps = diverging(x)
        except Diverged:
            x = x + 1
            raise
    except Diverged as error:
        return x, str(error)
    return x, steps


def test_what_leaves_a_loop_into_two_tries() -> None:
    """F1: which of eight trips has raised is known on the way through the second ``try``."""
    assert_same(raised_again, tensor(9.0), tensor(0.1), tensor(100.0), tensor(2.0))


def _left_by_a_flag(x: Any, n: Any, careful: bool = False) -> Any:
    i = paddle.zeros([], "int64")
    while True:
        if careful:
            if x.sum() > 99:
                break
        x = x * 2
        i = i + 1
        if i > n:
            break
        x = x + 1
    return x, i


def test_a_trip_that_begins_has_not_left_the_loop() -> None:
    """C1: what an earlier ``break`` of the same trip guards is asked in that trip alone."""
    static = assert_same(
        _left_by_a_flag, *((tensor(1.0, 2.0), n) for n in map(paddle.to_tensor, (3, 0)))
    )
    (loop,) = (
        each
        for each in bridge.operations(static.programs[0].program)
        if each.name() == "pd_op.while"
    )
    (body,) = loop.blocks()
    assert [each.name() for each in body.ops].count("pd_op.if") == 1  # the second `break`
    assert_same(_left_by_a_flag, (tensor(1.0, 2.0), paddle.to_tensor(9), True))


def raises_at_last(x):
    trips = 0
    try:
        while True:
            trips += 1
            x = x + 1
            if x.sum() > 11:
                raise StopIteration
    except StopIteration:
        pass
    return x, trips


def raises_in_a_bounded_loop(x):
    trips = 0
    while trips < 70:
        trips += 1
        x = x + 0.01
        if x.sum() > 1100:
            raise ValueError("too large")
    return x, trips


def test_a_loop_that_only_an_exception_ends() -> None:
    """C1, E4: it is refused after some trips, and not captured for ever."""
    with pytest.raises(UnsupportedInGraphError, match="exception") as caught:
        d2s.to_static(raises_at_last, full_graph=True)(X)
    assert caught.value.code == "D2S205"
    assert_same(raises_at_last, X, static=d2s.to_static(raises_at_last, full_graph=False))


def test_a_bounded_loop_that_an_exception_may_end() -> None:
    """C1: what Python counts is captured to its end."""
    assert_same(raises_in_a_bounded_loop, X)


def searched_in_a_try(x):
    try:
        for k in range(100):
            x = x * 1.1
            if x.sum() > 50:
                return (x, k), "over"
            if x.sum() < -50:
                return (x - 1, k), "under"
    except ValueError:
        return (x, -1), "never"
    raise KeyError("not found")


def raised_in_a_try(x):
    steps = 0
    try:
        for k in range(6):
            x = x * 2
            steps = k
            if x.sum() > 50:
                raise ValueError(k)
            if x.sum() < -50:
                break
    except ValueError as error:
        return x, steps, str(error)
    return x, steps


@pytest.mark.parametrize("function", [searched_in_a_try, raised_in_a_try])
def test_loops_inside_of_a_try(function: Any) -> None:
    """C1, F1: results of a hundred trips are of one form; what a handler catches is caught."""
    assert_same(function, tensor(9.0), tensor(-3.0), tensor(40.0), tensor(1.0, 2.0))


def test_a_loop_inside_of_a_finally(capfd) -> None:
    """F1: an exception goes through the ``finally`` on its way out of a loop."""

    def f(x):
        steps = 0
        try:
            for k in range(12):
                x = x * 1.5
                steps = k
                if x.sum() > 50:
                    raise ValueError(k)
                if x.sum() < -50:
                    break
        finally:
            print("after", steps)
        return x, steps

    assert_same(f, tensor(9.0), tensor(-3.0), tensor(40.0))


class Light(enum.Enum):
    RED = 3
    GREEN = 2
    YELLOW = 1

    def following(self) -> Light:
        """What comes next."""
        order = list(Light)
        return order[(order.index(self) + 1) % 3]


def crossed(rows):
    light, clock, served = Light.RED, 0, paddle.zeros([])
    for row in rows:
        clock += 1
        if light is Light.GREEN:
            served = served + row
        if row > 2 or clock >= light.value:
            light, clock = light.following(), 0
    return light, light.name, served, clock


def test_states_that_come_again_and_again() -> None:
    """B2: what is one of three members after nine branches is one of three."""
    rows = [tensor(*range(9)), tensor(*[1.0] * 9), tensor(*[0.0, 5.0, 0.0] * 3)]
    assert_same(crossed, *rows)


KEPT_UNTIL_THE_RETURN = {
    "a list that grows": ("h = []", "h.append(x.sum())", "h"),
    "numbers": ("h = []", "h.append(int((x > 1).sum()))", "h"),
    "an item": ("h = [x, x]", "h[0] = h[0] + x", "h"),
    "a dict": ("h = {'a': x, 'n': 0}", "h['a'] = h['a'] + x\n        h['n'] += 1", "h"),
    "in another one": ("h = {'l': []}", "h['l'].append(x.sum())", "{'x': x, 'h': h}"),
}


@pytest.mark.parametrize("name", KEPT_UNTIL_THE_RETURN)
@pytest.mark.parametrize("loop", ["while True", "while x.max() > 0.01"])
def test_what_the_trips_change_is_returned_by_one_of_them(name: str, loop: str) -> None:
    """B6, D1: the trip that returns is the last one."""
    begin, change, held = KEPT_UNTIL_THE_RETURN[name]
    f = function_of(f"""
def f(x):
    {begin}
    n = 0
    {loop}:
        x = x / 2
        n = n + 1
        {change}
        if (x < 1).all():
            return x, {held}, n
    return x, h, n
""")
    assert_same(f, *((tensor(value),) for value in (5.0, 100.0, 0.1, 700.0)), grad=False)


def test_what_was_returned_by_a_trip_is_changed_behind_the_loop() -> None:
    """B4, D1: two names of one list that the run knows are one; refused, by default as dygraph."""
    f = function_of("""
def f(x):
    h = []

    def go(x):
        while True:
            x = x / 2
            h.append(x.sum())
            if (x < 1).all():
                return x, h

    y, found = go(x)
    h.append(y)
    return y, found, h
""")
    with pytest.raises(d2s.errors.ContainerInGraphError, match="a list is changed"):
        d2s.to_static(f, full_graph=True)(tensor(5.0))
    assert len(d2s.to_static(f, full_graph=False)(tensor(5.0))[1]) == 4


@pytest.mark.parametrize("raised", [True, False])
def test_what_a_trip_has_returned_goes_through_a_try(raised: bool) -> None:
    """F1, D1: a branch that only what is raised makes leaves the list what it is."""
    f = function_of(f"""
def follow(x):
    if {raised} and x.sum() > 50:
        raise ValueError("large")
    found = [x.sum()]
    while True:
        x = x / 2
        if (x < 1).all():
            return found
        found.append(x.sum())


def f(x):
    try:
        found = follow(x)
        if x.sum() > 30:
            raise ValueError("late")
    except ValueError as error:
        return [], str(error)
    return found, found[-1]
""")
    assert_same(f, *((tensor(value),) for value in (5.0, 100.0, 40.0, 0.5)), grad=False)


@pytest.mark.sampled(
    3,
    also=[
        "max([2 * d, 0.25], key=lambda v: abs(v - 1.5))-break",
        "sorted([('b', d), ('a', [d + 0.5]), ('b', 0.25)])[1][1] + 0.125-break",
    ],
)
@pytest.mark.parametrize("left", ["break", "return x, d"])
@pytest.mark.parametrize(
    "grown",
    [
        "max(2 * d, 0.25)",
        "min(d + 0.5, 1.25, 4.0 * k + 0.75)",
        "max([2 * d, 0.25], key=lambda v: abs(v - 1.5))",
        "sorted([d + 0.5, 0.25, 0.75], reverse=True)[1]",
        "max((2 * d, 1), (0.25, 2))[0]",
        "sorted([('b', d), ('a', [d + 0.5]), ('b', 0.25)])[1][1] + 0.125",
        "max(2 * d, x[0].item())",
    ],
)
def test_what_a_trip_has_left_is_put_in_order(left: str, grown: str) -> None:
    """C1, E1: a trip that runs knows that the trips before it have not left the loop."""
    f = function_of(f"""
def f(x):
    d = 0.0
    for k in range(3):
        if x.max() < 0.3:
            {left}
        d = {grown}
        x = x / 2
    return x, d
""")
    assert_same(f, X, SMALL, tensor(0.5, 2.0), tensor(0.0, -1.0), grad=False)
