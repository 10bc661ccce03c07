"""Statements in forms that few functions have, each of which a pass treats apart (A1, B6, B7)."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import paddle
import pytest

import d2s
from d2s.errors import UnsupportedInGraphError
from tests.helpers import assert_same, function_of, scalar, tensor

PLUS, MINUS = tensor(1.0, 2.0), tensor(-1.0, -2.0)
TRIPS = [(PLUS, 3), (MINUS, 3), (PLUS, scalar(3)), (MINUS, scalar(3)), (PLUS, scalar(0))]


def outcome(function: Any, *arguments: Any) -> str:
    """What a call gives or raises, a generator as the list of its items."""
    try:
        result = function(*arguments)
        return repr(list(result) if hasattr(result, "__next__") else result)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


# -- jumps ---------------------------------------------------------------------------------------


def goes_on_in_the_else(x, n):
    for i in range(n):
        x = x + i
        if x.sum() > 3:
            x = x * 2
        else:
            continue
        x = x - 0.5
    return x


def breaks_in_the_else(x, n):
    for i in range(n):
        if x.sum() > 3:
            x = x * 2
        else:
            x = x + 1
            break
        x = x - i
    return x


def returns_in_the_else(x, n):
    if x.sum() > n:
        x = x + 1
    else:
        return x * 3
    x = x * 2
    return x


def raises_before_more(x, n):
    for _ in range(n):
        if x.sum() > 3:
            continue
        raise ValueError("too small")
        x = x + 1
    return x


def leaves_a_try_with_an_else(x, n):
    for i in range(n):
        try:
            x = x + i
            if x.sum() > 3:
                continue
            if x.sum() < -100:
                break
        except KeyError:
            x = x * 100
        else:
            x = x * 2
        x = x - 0.25
    return x


@pytest.mark.parametrize(
    "function",
    [
        goes_on_in_the_else,
        breaks_in_the_else,
        returns_in_the_else,
        leaves_a_try_with_an_else,
    ],
)
def test_the_side_that_leaves_comes_second(function) -> None:
    """C1, B6: ``else: continue`` and its like leave the rest of the block to the first side."""
    assert_same(function, *TRIPS)


def test_what_stands_behind_a_raise_does_not_run() -> None:
    """F1: the trip ends at the ``raise``, at its line."""
    for x, n in TRIPS:
        report = d2s.check(raises_before_more, x, n)
        assert report.ok, report
    assert_same(raises_before_more, *TRIPS[1:2])


def stops_behind_a_yield(xs, stop):
    count = 0
    for x in xs:
        yield x, count
        count += 1
        if stop:
            break


def stops_a_while_behind_a_yield(xs, stop):
    while xs:
        yield xs.pop()
        if stop:
            break


def test_a_loop_that_stays_python_keeps_the_break_at_its_end() -> None:
    """A6: a generator's loop is Python's, ``if stop: break`` included."""
    for function in (stops_behind_a_yield, stops_a_while_behind_a_yield):
        converted = d2s.convert(function)
        for stop in (False, True):
            want = outcome(function, [1, 2, 3], stop)
            assert outcome(converted, [1, 2, 3], stop) == want
            assert len(want) > 2


# -- match ---------------------------------------------------------------------------------------


class Point:
    __match_args__ = ("left", "right")

    def __init__(self, left: Any, right: Any = 0) -> None:
        self.left, self.right = left, right

    def __repr__(self) -> str:
        return f"Point({self.left}, {self.right})"


PAIRS = [(0, 1), (1, 0), (2, 3), (0, 0), (Point(1), 0), ((1, 2), 3)]
THINGS = [
    1, "a", 2.5, [3], [1, 2], ["a", 1], ["a", 2], [0, 3, 1], [3, 0, 1], (0, 0), Point(1),
    Point(3), [Point(1), 2], {"k": 0, "j": 1}, {"k": 0}, [1, ["b", 4]], [Point(2), [1, 2]],
]  # fmt: skip
MATCHES = {
    "the pair itself": ("v, w", PAIRS, ["(0, 1) as p: r = 1", "_: r = 2"]),
    "another part in each": ("v, w", PAIRS, ["(a, 0) | (0, a): r = 1", "_: r = 2"]),
    "other lengths": (
        "v, w", PAIRS, ["[a]: r = 1", "(a, b, p): r = 2", "{'a': 1}: r = 3", "(0, b): r = 4"],
    ),
    "structures in a pair": ("v, w", PAIRS, ["(0, [a]): r = 1", "(Point(a), b): r = 2"]),
    "positions of a class": ("v", THINGS, ["Point(a): r = 1", "int(b): r = 2"]),
    "a class of Python's": ("v", [1, "a"], ["Exception(a): r = 1", "int(b): r = 2"]),
    "no positions": ("v", [1, range(3)], ["range(a): r = 1", "int(b): r = 2"]),
    "inside of itself": ("v", THINGS, ["list([a]): r = 1", "int(b): r = 2"]),
    "named structures": (
        "v", THINGS,
        ["(Point(1) | Point(2)) as p: r = 1", "[(Point() | int()) as a, b]: r = 2",
         "[str() as a, (0 | 1)]: r = 3", "[[a, b] as p]: r = 4"],
    ),
    "places without a name": (
        "v", THINGS,
        ["[_, 0, b]: r = 1", "[0, _, b]: r = 2", "(0, *_): r = 3", "{'k': 0, 'j': _}: r = 4"],
    ),
    "classes before a structure": (
        "v", THINGS, ["[Point() | int(), [a, b]]: r = 1", "[int() | str(), _]: r = 2"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", MATCHES)
def test_patterns_that_stay_pythons(case: str) -> None:
    """B7, A1: what a pattern binds, and which case is taken, is Python's own."""
    subject, things, cases = MATCHES[case]
    lines = "".join(f"\n                case {line}" for line in cases)
    function = function_of(
        f"""
        def f(v, w):
            r = a = b = p = None
            match {subject}:{lines}
            return r, a, b, p
        """,
        Point=Point,
    )
    converted = d2s.convert(function)
    taken = set()
    for thing in things:
        v, w = thing if subject == "v, w" else (thing, None)
        want = outcome(function, v, w)
        assert outcome(converted, v, w) == want, thing
        taken.add(want[:3])
    assert len(taken) > 1


def returns_from_every_case(x, kind):
    match kind:
        case {"scale": scale}:
            return x * scale if x.sum() > 0 else x
        case [first, *_]:
            return x + first
        case _:
            return -x


def test_a_match_whose_cases_all_return() -> None:
    """B6: the last case fits whatever the subject is, so that nothing can follow."""
    kinds = [{"scale": 2.0}, [3.0, 1.0], None]
    assert_same(returns_from_every_case, *[(x, kind) for x in (PLUS, MINUS) for kind in kinds])


# -- names ---------------------------------------------------------------------------------------


class Private:
    __scale = 2.0

    def holds_a_class(self, x):
        class Inner:
            __offset = 3.0

            def value(self, y):
                return y + self.__offset

        inner = Inner()
        if x.sum() > 0:
            x = inner.value(x) * self.__scale
        return x, [name for name in vars(Inner) if "offset" in name]

    def declares(self, x):
        __count = 0

        def more():
            nonlocal __count
            if x.sum() > 0:
                __count += 1
            return __count

        more()
        return more(), __count


def test_private_names_of_inner_classes_and_declarations() -> None:
    """A2: a name is mangled with the class that it stands in; ``nonlocal`` names as well."""
    for method in (Private().holds_a_class, Private().declares):
        assert_same(method, PLUS, MINUS)


# -- expressions ---------------------------------------------------------------------------------


class Base:
    def scaled(self, x, by):
        return x * by


class Heir(Base):
    def scaled(self, x, by):
        if x.sum() > 0:
            x = x + 1
        return paddle.add_n([super(Heir, self).scaled(x, k) for k in (by, 2.0)])


def starred(x, n):
    axes = [0]
    if x.sum() > n:
        axes = [1]
    return paddle.stack([x, x * 2]).sum(*axes)


def steps_in_a_chain(x, n):
    if 0.0 < (low := x.sum()) < n + 2.0 < (high := low + n):
        x = x + high
    return x, low


def not_or_a_walrus(x, n):
    if not x.sum() > n or (low := x.min()) < 2.0:
        x = x * 2
    else:
        x = x + low
    return x


def axes_from_a_list(x, n):
    x = paddle.stack([x, x * n])
    axes = [0] if x.sum() > 0 else [1]
    return paddle.sum(x, *axes)


def texts_of_sums(x, n):
    print(("n = " + str(n) + ", x = %s") % x.sum())
    return x


def a_name_hides_slice(x, slice):
    items = [x, x + slice]
    if x.sum() > 0:
        items[0] = x * 2
    return items


@pytest.mark.parametrize(
    "function",
    [Heir().scaled, steps_in_a_chain, not_or_a_walrus, axes_from_a_list, a_name_hides_slice],
    ids=lambda function: function.__name__,
)
def test_expressions_that_few_write(function) -> None:
    """A1: ``super`` with arguments, a walrus in a chain or an ``or``, a variable ``slice``."""
    assert_same(function, (PLUS, 3.0), (MINUS, 3.0))


def test_a_sum_of_texts_is_a_text(capsys) -> None:
    """F1: ``%`` of such a sum formats what the run computes, as ``%`` of a literal does."""
    texts = []
    for function in (texts_of_sums, d2s.to_static(texts_of_sums)):
        for x in (PLUS, MINUS):
            function(x, 3)
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]
    assert "n = 3, x = Tensor(" in texts[0]


def test_an_item_of_a_tensor_in_a_function_with_its_own_slice_is_refused() -> None:
    """B4: the operator would need the built-in ``slice``, so the store stays Python's."""

    def function(x, slice):
        x[0] = slice
        return x

    with pytest.raises(UnsupportedInGraphError) as caught:
        d2s.to_static(function)(PLUS * 1, 3.0)
    assert caught.value.code == "D2S205"
    assert d2s.convert(function)(PLUS * 1, 3.0).tolist() == [3.0, 2.0]


def test_awaits_in_a_comprehension_stay_pythons() -> None:
    """A6: a comprehension with ``await`` keeps its frame, and its order."""
    seen: list[int] = []

    async def one(k):
        seen.append(k)
        return k * 2

    async def all_of(ks):
        return [await one(k) for k in ks if k]

    for function in (all_of, d2s.convert(all_of)):
        seen.clear()
        assert asyncio.run(function([1, 0, 2])) == [2, 4]
        assert seen == [1, 2]


def asserting() -> Any:
    """A function made anew: pytest adds to the messages of its own files."""
    return function_of(
        """
        def asserts_with_a_walrus(value, log):
            assert value, (text := f"no value, {len(log)}")
            return log
        """
    )


def raises_with_a_walrus(value, log):
    if value:
        raise ValueError(text := f"a value, {len(log)}")
    return log


def handles_by_a_walrus(value, log):
    try:
        log.append(1 // value)
    except (kind := ZeroDivisionError):  # noqa: B030
        return kind.__name__
    return log


@pytest.mark.parametrize(
    "made", [asserting, lambda: raises_with_a_walrus, lambda: handles_by_a_walrus]
)
def test_a_walrus_in_what_may_wait(made) -> None:
    """A1: the name is bound in the function itself, so that the expression cannot wait."""
    function = made()
    for value in (0, 1):
        assert outcome(d2s.convert(function), value, []) == outcome(function, value, [])


# -- context managers ----------------------------------------------------------------------------


class Counter:
    def __init__(self) -> None:
        self.depth = 0

    def __enter__(self) -> Counter:
        self.depth += 1
        return self

    def __exit__(self, kind, error, trace):
        self.depth -= 1


@contextlib.contextmanager
def one_of_two(x, twice):
    if twice:
        yield x * 2
        return
    yield x


@contextlib.contextmanager
def returns_first(x, log):
    if log is None:
        return
    yield x * 2
    log.append("left")


@contextlib.contextmanager
def works_in_its_try(x, log):
    try:
        log.append("entered")
        yield x * 2
    finally:
        log.append("left")


@contextlib.contextmanager
def takes_an_answer(x, log):
    answer = yield x * 2
    log.append(answer)


@contextlib.contextmanager
def counts_on(x, log):
    count = 1
    try:
        yield x * count
    except ValueError as error:
        count += 1
        log.append(str(error))
    log.append(count)


def under_a_generator(manager, x, fails):
    log: list[Any] = []
    y = x
    with manager(x, log) as scaled:
        if scaled.sum() > 0:
            y = scaled + 1
        if fails:
            raise ValueError("asked for")
    return y, log


@pytest.mark.parametrize(
    "manager", [one_of_two, returns_first, works_in_its_try, takes_an_answer, counts_on]
)
@pytest.mark.parametrize("fails", [False, True])
def test_generators_as_managers(manager, fails) -> None:
    """F3, A1: those that can be cut at their ``yield``, and those that cannot."""

    def function(x):
        return under_a_generator(manager, x, fails)

    assert_same(function, PLUS, MINUS)


def raises_on_the_run(x):
    log: list[Any] = []
    y = x
    with counts_on(x, log) as scaled:
        if scaled.sum() > 0:
            raise ValueError("on the run")
        y = x * 3
    return y, log


def test_a_variable_of_the_generator_goes_on_after_the_yield() -> None:
    """F3: what was bound before the ``yield`` is the same variable behind it."""
    assert_same(raises_on_the_run, PLUS, MINUS)


def chosen_managers(x, counters):
    with counters[0], (lambda: counters[1])():
        if x.sum() > 0:
            x = x * counters[1].depth
    return x, counters[0].depth + counters[1].depth


def test_managers_that_have_no_name() -> None:
    """F3: items and results of calls are entered and left once."""
    for x in (PLUS, MINUS):
        seen = []
        for function in (chosen_managers, d2s.to_static(chosen_managers)):
            counters = [Counter(), Counter()]
            result, depth = function(x, counters)
            seen.append((result.tolist(), depth, [counter.depth for counter in counters]))
        assert seen[0] == seen[1]
        assert seen[0][1:] == (0, [0, 0])
