"""What a tensor has chosen, inside of lists, patterns, comprehensions and texts (B2, B7, F1)."""

from __future__ import annotations

import collections
import itertools

import paddle
import pytest

import d2s
from d2s.errors import AmbiguousValueError, NotStaticError
from tests.helpers import assert_same, scalar

PLUS, MINUS = scalar(2.0), scalar(-3.0)


def test_a_pattern_looks_for_none_in_a_list() -> None:
    """B7: ``None`` on one path only."""

    def f(x):
        k = None if x > 0 else x
        match [k, 1]:
            case [None, v]:
                return x * v
            case [w, v]:
                return w * v * 10

    assert_same(f, PLUS, MINUS)


def test_a_list_in_a_list_that_a_tensor_has_chosen_is_no_subject() -> None:
    """B7: Python's own match would see neither of them."""

    def f(x):
        k = [x, 1] if x > 0 else [x]
        match [k, 1]:
            case [[a, b], v]:
                return a * v
            case [w, v]:
                return x * v * 10

    with pytest.raises(AmbiguousValueError) as caught:
        d2s.to_static(f)(PLUS)
    assert caught.value.code == "D2S203"


def test_none_behind_a_name_of_any_kind() -> None:
    """B2: an item, a captured name, the variable of a comprehension, a parameter."""

    def f(x):
        k = x
        if x > 0:
            k = None
        q = [k, 1]

        def is_none(thing):
            return thing is None

        found = [item is None for item in q]
        match q:
            case [first, _]:
                captured = first is None
        return (
            1 * (q[0] is None)
            + 2 * found[0]
            + 4 * is_none(k)
            + 8 * (lambda thing: thing is None)(q[0])
            + 16 * captured
        )

    assert_same(f, PLUS, MINUS, grad=False)


def test_percent_with_a_template_in_a_variable(capsys) -> None:
    """F1: a tuple behind the ``%`` says that it is text."""

    def f(x, template):
        text = template % (x, 3)
        print(text)
        return text

    assert_same(f, (PLUS, "%.2f of %s"), (MINUS, "%s, %d"), grad=False)


def test_percent_of_a_tensor_alone_is_refused() -> None:
    """F1: it would say ``Value(...)`` on every run."""

    def f(x, template):
        return template % x

    with pytest.raises(NotStaticError) as caught:
        d2s.to_static(f)(PLUS, "%s")
    assert caught.value.code == "D2S208"

    def g(x, number):
        return number % x, x % number, number % (x + 1)

    assert_same(g, (PLUS, 7), (MINUS, 7), grad=False)


def test_percent_of_a_class_of_the_users() -> None:
    """A1: ``%`` with a tuple may be anything."""

    class Total:
        def __mod__(self, things):
            return sum(things)

    def f(x):
        return Total() % (x, 2)

    assert_same(f, PLUS)
    assert paddle.is_tensor(d2s.to_static(f)(PLUS))


@pytest.mark.slow
def test_lists_in_dicts_that_a_tensor_has_chosen_stay_theirs() -> None:
    """B4: what is appended to an item of one of several dicts is in the dict, however many."""

    def by_factory(a, b, c, d):
        table = collections.defaultdict(list)
        for x in (a, b, c, d):
            if (x != 0).any():
                table[1].append(x)
        return [found * 1 for found in table[1]], len(table[1])

    def by_default(a, b, c, d):
        table = {}
        for x in (a, b, c, d):
            if (x != 0).any():
                table.setdefault(1, []).append(x)
        return len(table.get(1, [])), sum(table.get(1, [])) + a

    zero = scalar(0.0)
    for keep in itertools.product((False, True), repeat=4):
        given = [scalar(2.0**k) if here else zero for k, here in enumerate(keep)]
        for f in (by_factory, by_default):
            want, got = f(*given), d2s.to_static(f)(*given)
            assert repr(got) == repr(want)
