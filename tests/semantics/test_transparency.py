"""On Python values a converted function is the original (rules A1 to A6, and the parts of B and C
that speak of Python values).

Each case is a function; its first argument is a log that helper calls append to, so that order
and number of evaluations are compared beside result, exception, and what became of the arguments.

The assertions in these functions are part of what is compared: PYTEST_DONT_REWRITE.
"""

# ruff: noqa: B007, B012, B023, B905, RUF012 - the cases are written as users write

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import d2s
from tests.helpers import function_of

Function = Callable[..., Any]
CASES: list[Any] = []
COUNT = 0


def case(*inputs: tuple[Any, ...]) -> Callable[[Function], Function]:
    """Compare the decorated function, which gets a log and then each of ``inputs``."""

    def note(function: Function) -> Function:
        for number, arguments in enumerate(inputs):
            identifier = f"{function.__name__}-{number}"
            CASES.append(pytest.param(function, arguments, id=identifier))
        return function

    return note


@dataclasses.dataclass(frozen=True)
class Outcome:
    result: Any
    raised: Any
    log: list[Any]
    arguments: Any


def outcome(function: Function, arguments: tuple[Any, ...]) -> Outcome:
    global COUNT
    COUNT = 0
    log: list[Any] = []
    arguments = copy.deepcopy(arguments)
    result = raised = None
    try:
        result = function(log, *arguments)
    except Exception as error:
        context, cause = error.__context__, error.__cause__
        raised = (type(error), str(error), type(context), type(cause), error.__suppress_context__)
    return Outcome(_plain(result), raised, log, _plain(arguments))


def _plain(value: Any) -> Any:
    """``value`` with its exact types: ``True`` is not ``1``."""
    if isinstance(value, list | tuple):
        return (type(value).__name__, [_plain(item) for item in value])
    if isinstance(value, dict):
        return ("dict", [(key, _plain(item)) for key, item in value.items()])
    if isinstance(value, Box):
        return ("Box", _plain(vars(value)))
    return (type(value).__name__, value)


def t(log: list[Any], name: Any, value: Any = None) -> Any:
    """``value``, with a note that it was asked for."""
    log.append(name)
    return value


def fail(log: list[Any], name: Any) -> Any:
    log.append(name)
    raise KeyError(name)


class Box:
    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)


class Truth:
    """An object whose truth is asked for, once, in the log."""

    def __init__(self, log: list[Any], value: bool) -> None:
        self.log = log
        self.value = value

    def __bool__(self) -> bool:
        self.log.append("truth")
        return self.value


@pytest.mark.parametrize(("function", "arguments"), CASES)
def test_transparent(function: Function, arguments: tuple[Any, ...]) -> None:
    """A1: result, exception, order of evaluation and arguments are those of the original."""
    assert outcome(d2s.convert(function), arguments) == outcome(function, arguments)


# -- branches ------------------------------------------------------------------------------------


@case((1,), (0,), (-1,))
def elif_tests_run_in_order_and_once(log, x):
    if t(log, "first", x > 0):
        y = "positive"
    elif t(log, "second", x < 0):
        y = "negative"
    else:
        y = t(log, "else", "zero")
    return y


@case((1,), (0,))
def truth_is_asked_once(log, x):
    if Truth(log, x > 0):
        return "yes"
    return "no"


@case((1,), (0,))
def bound_on_one_side(log, x):
    if x:
        y = 1
    return y


@case((1,), (0,))
def bound_on_one_side_and_unread(log, x):
    if x:
        y = 1
        log.append(y)
    return x


@case((1,), (0,))
def deleted_on_one_side(log, x):
    y = 5
    if x:
        del y
    return y


@case((1,), (0,))
def rebound_after_deletion(log, x):
    y = 5
    if x:
        del y
        y = 6
    return y


@case((3, 1), (1, 3), (2, 2))
def nested_early_returns(log, a, b):
    if a > b:
        if t(log, "inner", a - b > 1):
            return "much"
        log.append("not much")
    elif a == b:
        return
    log.append("end")
    return "little"


@case((0,), (1,), (2,), (3,))
def return_none_and_fall_off(log, x):
    if x == 1:
        return 7
    if x == 2:
        return None
    for i in range(x):
        log.append(i)


@case((1,), (0,))
def branch_that_raises(log, x):
    y = 1
    if x:
        y = 2
        raise ValueError(f"bad {y}")
    return y


@case((1,), (0,))
def assignment_before_an_exception_in_a_branch_is_seen(log, x):
    y = 1
    try:
        if x:
            y = 2
            fail(log, "middle")
            y = 3
    except KeyError:
        log.append(("seen", y))
    return y


@case((1,), (0,))
def assignment_before_an_exception_is_seen_by_finally(log, x):
    y = 1
    try:
        if x:
            y = 2
            fail(log, "middle")
    finally:
        log.append(("finally", y))
    return y


@case((1,), (0,))
def constant_conditions(log, x):
    if True:
        y = x
    if 0:
        y = fail(log, "never")
    while False:
        y = fail(log, "never")
    return y


# -- loops ---------------------------------------------------------------------------------------


@case((0,), (1,), (4,))
def while_test_is_evaluated_once_per_trip(log, n):
    i = 0
    while t(log, ("test", i), i < n):
        i += 1
    return i


@case((0,), (3,), (9,))
def break_skips_else(log, n):
    for i in range(n):
        if i == 5:
            log.append("break")
            break
        log.append(i)
    else:
        log.append("else")
    return n


@case((0,), (3,), (9,))
def while_break_else(log, n):
    i = 0
    while i < n:
        i += 1
        if t(log, i, i == 4):
            break
        if i % 2:
            continue
        log.append("even")
    else:
        return "else"
    return i


@case((0,), (5,))
def loop_variable_after_the_loop(log, n):
    for i in range(n):
        pass
    return i


@case(([],), ([1],), ([1, 2, 3],))
def loop_variable_kept_when_there_is_no_trip(log, xs):
    i = "before"
    for i in xs:
        log.append(i)
    return i


@case((3,), (0,))
def bound_in_the_loop_only(log, n):
    for i in range(n):
        square = i * i
    return square


@case(([3, 1, 2],), ([],))
def assignment_before_an_exception_in_a_loop_is_seen(log, xs):
    total = 0
    try:
        for x in xs:
            total += x
            if x == 1:
                fail(log, x)
    except KeyError as error:
        log.append(("caught", total, str(error)))
    return total


@case((1,), (5,))
def return_from_nested_loops(log, n):
    for i in range(n):
        for j in range(n):
            log.append((i, j))
            if i * j == 2:
                return i, j
        else:
            log.append("else")
    return "none"


@case((2,), (4,))
def inner_break_does_not_end_the_outer(log, n):
    for i in range(n):
        for j in range(n):
            if j > i:
                break
            log.append((i, j))
        log.append("next")


@case((4,))
def continue_in_try_finally(log, n):
    for i in range(n):
        try:
            if i % 2:
                continue
            log.append(i)
        finally:
            log.append("finally")
    return i


@case((4,), (1,))
def break_in_try_finally(log, n):
    for i in range(n):
        try:
            if i == 2:
                break
        finally:
            log.append(("finally", i))
    else:
        log.append("else")
    return i


@case((4,), (1,))
def jump_out_of_finally_swallows(log, n):
    for i in range(n):
        try:
            fail(log, i)
        finally:
            if i:
                break
            continue
    return i


@case(([1, 2, 3],))
def the_list_grows_while_it_is_walked(log, xs):
    for x in xs:
        log.append(x)
        if len(xs) < 6:
            xs.append(x * 10)
    return xs


@case(({"a": 1, "b": 2},))
def a_dict_that_changes_size_raises(log, table):
    for key in table:
        log.append(key)
        table[key + key] = 0


@case(([(1, (2, 3)), (4, (5, 6))],), ([(1, 2)],))
def targets_are_unpacked(log, pairs):
    out = []
    for a, (b, *c) in pairs:
        out.append((a, b, c))
    return out


@case(([1, 2, 3, 4],))
def an_iterator_is_advanced_no_further_than_needed(log, xs):
    source = iter(xs)
    for x in source:
        if x == 2:
            break
    return x, list(source)


@case((3,))
def a_target_that_is_an_item(log, n):
    spots = [None, None]
    for spots[0] in range(n):
        log.append(spots[0])
    return spots


@case((3,))
def while_true_with_return(log, n):
    while True:
        n -= 1
        log.append(n)
        if n < 0:
            return "out"


@case((5,))
def walrus_in_while(log, n):
    while (n := n - 1) > 2:
        log.append(n)
    return n


@case((5,), (1,))
def walrus_in_if_and_comprehension(log, n):
    if (half := n // 2) > 1:
        log.append(half)
    found = [last := i for i in range(half)]
    return half, found, last


# -- operators -----------------------------------------------------------------------------------


@case((1, 2), (0, 2), ("", []), ([], 0))
def and_or_return_operands(log, a, b):
    return (a and b), (a or b), (not a), ((a and b) or "c")


@case((0,), (1,))
def right_operands_are_lazy(log, x):
    return (t(log, 1, x) and t(log, 2, x) and t(log, 3, "end")) or t(log, 4, "or")


@case((0, 1), (1, 1), (2, 1), (1, 0))
def chained_comparison_evaluates_the_middle_once(log, a, b):
    return t(log, "a", a) < t(log, "b", b + 1) < t(log, "c", 3)


@case((0,), (2,), (9,))
def chained_comparison_of_names(log, x):
    low, high = 1, 5
    if low < x <= high != 9:
        return "inside"
    return "outside"


@case((1, [1]), (2, [1]), (None, [None]))
def membership_and_identity(log, x, xs):
    y = x
    return x in xs, x not in xs, x is None, y is not None, y is x


@case((1,), (0,))
def ternaries_are_lazy(log, x):
    return t(log, "yes", 1) if t(log, "test", x) else t(log, "no", 2)


@case((1,), (0,))
def nested_ternaries(log, x):
    return "a" if x > 0 else "b" if x < 0 else t(log, "last", "c")


@case((5,), (0,))
def a_comparison_that_returns_no_bool(log, x):
    class Odd:
        def __lt__(self, other):
            return ("lt", other)

    return Odd() < x, (Odd() < x < 3)


# -- exceptions ----------------------------------------------------------------------------------


@case((1,), (0,))
def try_else_finally(log, x):
    try:
        log.append("try")
        1 / x
    except ZeroDivisionError as error:
        log.append(str(error))
    else:
        log.append("else")
    finally:
        log.append("finally")
    return "error" in dir()


@case((1,), (0,))
def return_in_try_runs_finally(log, x):
    try:
        if x:
            return t(log, "value", 1)
        log.append("rest")
    finally:
        log.append("finally")
    return 2


@case((1,), (0,))
def return_in_finally_swallows(log, x):
    try:
        fail(log, "lost")
    finally:
        if x:
            return "kept"


@case((1,), (0,))
def return_in_except(log, x):
    try:
        if x:
            fail(log, "k")
    except KeyError as error:
        return "caught", error.args
    finally:
        log.append("finally")
    return "end"


@case((1,), (0,))
def raise_from(log, x):
    try:
        fail(log, "inner")
    except KeyError as error:
        if x:
            raise ValueError("outer") from error
        raise ValueError("outer") from None


@case((1,), (0,))
def reraise(log, x):
    try:
        fail(log, "k")
    except KeyError:
        log.append("seen")
        if x:
            raise
    return "swallowed"


@case((1,), (0,))
def asserts(log, x):
    assert t(log, "test", x), t(log, "message", "no " + str(x))
    return "fine"


@case((1,), (0,))
def assert_without_message(log, x):
    assert x
    return "fine"


@case((0,), (1,), (2,))
def raise_class_and_instance(log, x):
    if x == 0:
        raise KeyError
    if x == 1:
        raise KeyError("k", 2)
    raise t(log, "made", ValueError)("late")


@case((1,))
def raise_what_is_no_exception(log, x):
    raise x


@case(("a",), ("b",))
def an_unknown_name_is_a_name_error(log, x):
    if x == "a":
        return unknown_name  # noqa: F821
    return x


# -- with, match, del ----------------------------------------------------------------------------


@contextlib.contextmanager
def manager(log, swallow=False):
    log.append("enter")
    try:
        yield "managed"
    except KeyError:
        log.append("error")
        if not swallow:
            raise
    finally:
        log.append("exit")


@case((0,), (1,), (2,))
def return_in_with(log, x):
    with manager(log) as text:
        if x == 1:
            return text
        log.append("body")
        if x == 2:
            fail(log, "k")
    return "end"


@case((0,), (1,))
def with_that_swallows(log, x):
    y = 1
    with manager(log, swallow=True), manager(log):
        y = 2
        if x:
            fail(log, "k")
        y = 3
    return y


@case((1,), ([1, 2],), ({"k": 1, "m": 2},), ("text",), (None,))
def match_patterns(log, x):
    match x:
        case int(n) if t(log, "guard", n > 0):
            kind = ("int", n)
        case [first, *rest]:
            kind = (first, rest)
        case {"k": value, **others}:
            kind = (value, others)
        case "text" | "other":
            return "early"
        case _:
            kind = "none of them"
    return kind


@case((3,))
def match_in_a_loop_with_jumps(log, n):
    for i in range(n):
        match i:
            case 0:
                continue
            case 2:
                break
        log.append(i)
    else:
        log.append("else")
    return i


@case(([1, 2, 3],))
def del_of_items(log, xs):
    if len(xs) > 2:
        del xs[0], xs[-1]
    return xs


@case(([1, 2, 3], 1), ([1, 2, 3], 9))
def stores_to_items(log, xs, i):
    xs[t(log, "key", i)] = t(log, "value", "new")
    xs[i] += "er"
    xs[:1] = ["slice"]
    return xs


@case(([1, 2, 3],))
def augmented_store_evaluates_its_key_once(log, xs):
    t(log, "container", xs)[t(log, "key", 0)] += t(log, "value", 5)
    xs[t(log, "other", 1)] *= t(log, "factor", 3)
    return xs


@case((Box(h=1, table={"k": [1]}),))
def stores_to_attributes(log, box):
    if box.h > 0:
        box.h = box.h + 1
        box.table["k"].append(2)
        box.new = "new"
    for i in range(2):
        box.h += i
    return box.h


@case(([1, 2],))
def chained_assignment_and_swap(log, xs):
    a = xs[0] = b = t(log, "once", 9)
    xs[0], xs[1] = xs[1], xs[0]
    return a, b, xs


# -- scopes --------------------------------------------------------------------------------------


@case((1,), (0,))
def closures_see_later_assignments(log, x):
    def read():
        return value

    value = "before"
    if x:
        value = "in the branch"
        log.append(read())
    for i in range(2):
        value = value + str(i)
        log.append(read())
    return read()


@case((3,))
def nonlocal_in_a_nested_function(log, n):
    count = 0

    def more():
        nonlocal count
        if n > 2:
            count += 1
        for _ in range(n):
            count += 10
        return count

    return more(), more(), count


@case((3,), (0,))
def globals_are_written(log, n):
    global COUNT
    for i in range(n):
        COUNT += i
        if i == 2:
            COUNT = COUNT * 10
    return COUNT


@case((3,))
def lambdas_bind_late(log, n):
    makers = []
    for i in range(n):
        if i % 2 == 0:
            makers.append(lambda: i)
        makers.append(lambda i=i: i * 10)
    return [make() for make in makers]


@case((4,))
def comprehension_scopes(log, n):
    i = "outer"
    squares = [i * i for i in range(n) if i % 2]
    table = {i: [j for j in range(i)] for i in range(n)}
    kept = {x for x in range(n) if (x > 1 and x != 3)}
    return i, squares, table, sorted(kept)


@case((3,))
def generators_are_lazy(log, n):
    source = (t(log, i, i) for i in range(n))
    log.append("made")
    first = next(source)
    log.append("first")
    return first, list(source)


@case((3,), (0,))
def inner_generator_function(log, n):
    def numbers():
        log.append("start")
        for i in range(n):
            if i == 1:
                log.append("one")
            yield i
        else:
            log.append("else")
        return "value"

    source = numbers()
    log.append("made")
    return list(source)


@case((5,), (1,))
def recursion_of_an_inner_function(log, n):
    def factorial(k):
        if k <= 1:
            return 1
        return k * factorial(k - 1)

    return factorial(n)


@case((2,))
def a_class_in_a_function(log, x):
    if x > 1:

        class Inner:
            label = x
            doubled = [x * 2 for _ in range(2)]

            def get(self):
                if self.label > 1:
                    return self.label
                return None

    return Inner().get(), Inner.doubled, Inner.__qualname__


@case((1,), (0,))
def an_import_in_a_branch(log, x):
    if x:
        import math as maths
        from os import path

        log.append(path.__name__ != "")
    return maths.floor(1.5)


@case((3,))
def annotations_and_docstring(log, n):
    """A docstring."""
    total: int = 0
    if n:
        total: int = n
    return total


@case((1,), (0,))
def names_that_the_generated_code_might_want(log, x):
    d2s = body = orelse = result = returned = test = item = broken = skipped = "mine"
    for body_2 in range(2):
        if x:
            continue
        if body_2:
            return d2s, body, orelse, result
    return returned, test, item, broken, skipped, body_2


@case((2,))
def locals_are_complete(log, x):
    y = x
    if x > 1:
        z = y
    return sorted(key for key in locals() if key in {"x", "y", "z", "log"})


@case(("text", 3.14159, [1]))
def f_strings(log, a, b, c):
    return f"{a!r:>10}|{b:.2f}|{b:{len(a)}.1f}|{c}|{{}}|{a=}|{t(log, 'once', b)}"


@case((2,), (9,))
def keyword_arguments_and_stars(log, n):
    def inner(*args, key=1, **rest):
        if key > 1:
            return args, key, rest
        return args

    return inner(*[1, n], key=n, **{"more": t(log, "kw", 1)}), inner(1)


@case((3,))
def builtins_keep_their_python_meaning(log, n):
    out = [len(range(n)), sum(range(n)), min(n, 2), max([n, 2]), abs(-n), int("5"), float(n)]
    out += [any([0, n]), all([n, 0]), sorted([n, 1], reverse=True), bool(n), isinstance(n, int)]
    out += list(map(str, range(n))), list(filter(None, [0, n])), list(zip([1], [n]))
    out += [list(enumerate("ab", 1)), list(reversed([1, n]))]
    return out


@case(([3, 1, 2],))
def callbacks_are_called_in_order(log, xs):
    return sorted(xs, key=lambda x: t(log, x, -x)), functools.reduce(lambda a, b: a * 10 + b, xs)


@case((2,), (-2,))
def identity_is_kept(log, x):
    box = Box(items=[])
    same = box
    if x > 0:
        chosen = box
    else:
        chosen = same
    items = chosen.items if x else None
    items.append(x)
    return chosen is box, items is box.items, box.items


@case((2,))
def floats_and_ints_stay_what_they_are(log, x):
    y = 0
    for i in range(3):
        y = y + (0.5 if i else 1)
    z = True
    while z:
        z = x - 2
    return y, z, x / 2, x // 2, -x % 3


# -- things that need more than one function -----------------------------------------------------


def generator(log, n):
    for i in range(n):
        if i % 2:
            log.append(("skip", i))
            continue
        received = yield i
        if received:
            log.append(received)
            return "done"
    yield "last"


def test_a_generator_is_lazy_and_takes_values() -> None:
    """A1, A6: a generator function stays one; nothing runs before it is asked."""

    def drive(function: Function) -> list[Any]:
        log: list[Any] = []
        source = function(log, 5)
        seen: list[Any] = [list(log), next(source), next(source), list(log)]
        try:
            source.send("stop")
        except StopIteration as stop:
            seen.append(stop.value)
        return seen + log

    assert drive(d2s.convert(generator)) == drive(generator)
    assert inspect.isgeneratorfunction(d2s.convert(generator))


async def coroutine(log, n):
    async def step(i):
        log.append(i)
        return i

    total = 0
    for i in range(n):
        if i == 1:
            continue
        total += await step(i)
    return total


@pytest.mark.row(120)
def test_a_coroutine_runs() -> None:
    """A6: ``await`` passes through as Python."""
    import asyncio

    log: list[Any] = []
    assert asyncio.run(d2s.convert(coroutine)(log, 4)) == 5
    assert log == [0, 2, 3]


def documented(a, b=2, *rest, key: int = 3, **others) -> str:
    """What it says."""
    if a:
        return f"{a} {b} {rest} {key} {others}"
    return ""


documented.mark = "kept"


def test_the_new_function_looks_like_the_old() -> None:
    """A2: names, documentation, defaults, annotations, attributes, globals."""
    new = d2s.convert(documented)
    for name in (
        "__name__ __qualname__ __doc__ __module__ __defaults__ __kwdefaults__ __annotations__ mark"
    ).split():
        assert getattr(new, name) == getattr(documented, name), name
    assert new.__globals__ is documented.__globals__
    assert inspect.signature(new) == inspect.signature(documented)
    assert new.__code__.co_filename == documented.__code__.co_filename
    assert new.__code__.co_firstlineno == documented.__code__.co_firstlineno
    assert new(1, key=4, z=1) == documented(1, key=4, z=1)


def test_defaults_are_the_same_objects() -> None:
    """A2: a mutable default is shared with the original."""

    def collect(x, into=[]):  # noqa: B006
        if x:
            into.append(x)
        return into

    assert d2s.convert(collect)(1) is collect(0)


def test_closure_cells_are_shared() -> None:
    """A2: ``nonlocal`` writes are seen by siblings of the original, both ways."""
    count = 0

    def more(n):
        nonlocal count
        if n > 0:
            count += n
        for _ in range(n):
            count += 10
        return count

    def read():
        return count

    assert d2s.convert(more)(2) == 22
    assert read() == 22
    count = 100
    assert d2s.convert(more)(0) == 100


def test_a_closure_variable_that_is_not_bound_yet() -> None:
    """A2: late binding holds; an empty cell raises as in the original."""

    def read(x):
        if x:
            return later
        return None

    converted = d2s.convert(read)
    with pytest.raises(NameError, match="later"):
        converted(True)
    later = "bound"
    assert converted(True) == "bound"


def test_two_closures_of_one_function_keep_their_own_cells() -> None:
    """A2: one code object, many functions."""

    def make(k):
        def scale(x):
            if x > 0:
                return x * k
            return -x

        return scale

    double, triple = d2s.convert(make(2)), d2s.convert(make(3))
    assert (double(5), triple(5)) == (10, 15)


def test_decorators_are_not_applied_twice() -> None:
    """A2."""
    calls = []

    def noted(function):
        @functools.wraps(function)
        def wrapper(*args):
            calls.append(args)
            return function(*args)

        return wrapper

    @noted
    def double(x):
        if x > 0:
            return x * 2
        return x

    assert d2s.convert(double)(3) == 6
    assert calls == [(3,)]


class Base:
    factor = 2

    def scale(self, x):
        if x > 0:
            return x * self.factor
        return 0

    @classmethod
    def make(cls, x):
        return cls.__name__, x


class Derived(Base):
    __secret = 5
    factor = 3

    def scale(self, x):
        if x > 1:
            for _ in range(2):
                x = super().scale(x)
            return x
        return super().scale(x) + self.__hidden(x)

    def __hidden(self, __y):
        return self.__secret + __y if __y else self.__secret

    def remember(self, **kwargs):
        self.__kept = kwargs
        for key in kwargs:
            if key.startswith("__"):
                self.__kept[key] = None
        return self.__dict__

    @classmethod
    def make(cls, x):
        if x:
            return super().make(x)
        return None

    @staticmethod
    def plain(x):
        return x if x else None

    @property
    def view(self):
        if self.factor:
            return self.scale(2)
        return None


@pytest.mark.parametrize("x", [0, 1, 2])
@pytest.mark.row(94, 95)
def test_super_and_private_names(x: int) -> None:
    """A2: zero-argument ``super()`` and ``self.__x`` in branches and loops."""
    assert d2s.convert(Derived.scale)(Derived(), x) == Derived().scale(x)
    assert d2s.convert(Derived().scale)(x) == Derived().scale(x)


@pytest.mark.row(95)
def test_private_names_in_stores_and_keywords() -> None:
    """A2: keys of a dict are no names."""
    assert d2s.convert(Derived().remember)(a=1, __b=2) == Derived().remember(a=1, __b=2)


@pytest.mark.parametrize("x", [0, 1])
def test_class_and_static_methods(x: int) -> None:
    """A2: ``super()`` in a class method; a static method has no instance."""
    assert d2s.convert(Derived.make)(x) == Derived.make(x)
    assert d2s.convert(Derived.plain)(x) == Derived.plain(x)
    assert d2s.convert(Derived().plain)(x) == Derived.plain(x)


def test_a_property_is_read_through_a_converted_method() -> None:
    """E2: properties work."""

    def read(thing):
        return thing.view if thing else None

    assert d2s.convert(read)(Derived()) == Derived().view


def test_a_partial_and_a_callable_object() -> None:
    """A2, E2."""

    def scale(x, k):
        return x * k if x > 0 else k

    class Adder:
        def __init__(self, k):
            self.k = k

        def __call__(self, x):
            if x > 0:
                return x + self.k
            return self.k

    assert d2s.convert(functools.partial(scale, k=3))(2) == 6
    assert d2s.convert(Adder(3))(2) == 5


def test_the_original_is_untouched() -> None:
    """A1: converting changes nothing of the function that was given."""

    def f(x):
        if x:
            return 1
        return 2

    code, before = f.__code__, dict(vars(f))
    converted = d2s.convert(f)
    assert converted is not f
    assert f.__code__ is code
    assert vars(f) == before
    assert d2s.convert(converted) is converted


def test_exceptions_of_a_caller_are_not_touched() -> None:
    """A1: identity of an exception that passes through."""
    error = ValueError("mine")

    def throw(x):
        for _ in range(2):
            if x:
                raise error

    with pytest.raises(ValueError, match="mine") as caught:
        d2s.convert(throw)(1)
    assert caught.value is error


@pytest.mark.skipif(sys.version_info < (3, 11), reason="except* came with Python 3.11")
@pytest.mark.row(121)
def test_exception_groups() -> None:
    """A1: ``except*``."""
    handle = function_of("""
        def handle(errors):
            seen = []
            try:
                if errors:
                    raise ExceptionGroup("many", errors)
            except* ValueError as group:
                seen.append(("value", len(group.exceptions)))
            except* KeyError:
                seen.append("key")
            return seen
    """)
    for errors in ([], [ValueError(1), KeyError(2), ValueError(3)]):
        assert d2s.convert(handle)(errors) == handle(errors)


def numbers_of(n: int) -> Iterator[int]:
    yield from range(n)


def test_stop_iteration_and_yield_from() -> None:
    """A6."""

    def chain(n):
        result = yield from numbers_of(n)
        if n > 1:
            yield "many"
        return result

    assert list(d2s.convert(chain)(3)) == list(chain(3))
