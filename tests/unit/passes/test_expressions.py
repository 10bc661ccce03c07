"""Private names, starred items, chains, walruses, ``await`` (rules A1, A2, A6)."""

from __future__ import annotations

import asyncio
from typing import Any

import paddle
import pytest

import d2s
from d2s.errors import UnsupportedInGraphError
from tests.helpers import assert_same, function_of, tensor

PLUS, MINUS = tensor(1.0, 2.0), tensor(-1.0, -2.0)


def outcome(function: Any, *arguments: Any) -> str:
    """What a call gives or raises, a generator as the list of its items."""
    try:
        result = function(*arguments)
        return repr(list(result) if hasattr(result, "__next__") else result)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


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


class Base:
    def scaled(self, x, by):
        return x * by


class Heir(Base):
    def scaled(self, x, by):
        if x.sum() > 0:
            x = x + 1
        return paddle.add_n([super(Heir, self).scaled(x, k) for k in (by, 2.0)])


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
