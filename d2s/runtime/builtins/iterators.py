"""``itertools`` on what the run decides the length of: lists in the place of iterators."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import paddle

from d2s.runtime.builtins import handed
from d2s.runtime.host.ahead import check_ahead
from d2s.runtime.lists.dynamic_list import DynamicList, of_columns
from d2s.runtime.lists.items.elements import Single
from d2s.runtime.lists.items.rows import Leaf
from d2s.runtime.lists.iteration import (
    count,
    indexed,
    islice_,
    iterator,
    iterator_over,
    paired,
    tee,
    zip_,
)
from d2s.runtime.lists.positions import Indexed
from d2s.runtime.loops.comprehensions import list_of
from d2s.runtime.trace import current
from d2s.runtime.values.cases import Operation
from d2s.runtime.values.choice import Choice, each
from d2s.runtime.values.tensors import mark_number, number_value


def _is_of_run(thing: object) -> bool:
    return current() is not None and indexed(thing) is not None


def chain(*things: Any) -> Any:
    """``itertools.chain``."""
    if not any(map(_is_of_run, things)):
        return iterator(itertools.chain, *things)
    for thing in things:
        check_ahead(thing)
    parts = [list_of(thing) for thing in things]
    return iterator_over(_joined([], parts), itertools.chain)


def _joined(before: Any, parts: list[Any]) -> Any:
    """One list of those of ``before`` and of ``parts``, each of which may be one of several."""
    for place, part in enumerate(parts):
        if isinstance(part, Choice):
            return each(lambda found: _joined(before, [found, *parts[place + 1 :]]), part)  # noqa: B023 - called at once
        before = before + part
    return before


def islice(things: Any, *bounds: Any) -> Any:
    """``itertools.islice``."""
    if not _is_of_run(things):
        return islice_(things, *bounds)
    return iterator_over(list_of(things)[slice(*bounds)], itertools.islice)


def pairwise(things: Any, /) -> Any:
    """``itertools.pairwise``."""
    if not _is_of_run(things):
        return iterator(itertools.pairwise, things)
    whole = list_of(things)
    made = zip_(whole, whole[1:])
    made.kind = itertools.pairwise
    return made


def product(*things: object, repeat: object = 1) -> Any:
    """``itertools.product``."""
    if not any(map(_is_of_run, things)) or type(repeat) is not int:
        return iterator(itertools.product, *things, repeat=repeat)
    pools = [_pool(thing) for thing in things] * repeat
    sizes = [pool.length for pool in pools]
    count = functools.reduce(operator.mul, sizes, number_value(1))

    def item(index: paddle.Tensor) -> tuple[Any, ...]:
        found, rest = list[Any](), index
        for pool, size in zip(reversed(pools), reversed(sizes), strict=True):
            found.append(pool.item(mark_number(rest % size, int)))
            rest = rest // size
        return tuple(reversed(found))

    return Indexed(mark_number(count, int), item, (), itertools.product)


def _pool(thing: object) -> Indexed:
    """The items of ``thing`` as they are now."""
    whole = list_of(thing)
    return Indexed(whole.length, whole.at) if isinstance(whole, DynamicList) else paired(whole)


def _choosing(kind: type[Any], fits: Operation) -> Callable[..., Any]:
    """``itertools.combinations`` or one of those like it.

    Args:
        kind: it.
        fits: whether the places of two items, of which one comes before the other, may be so.
    """

    def choose(iterable: object, *given: object, **named: object) -> Any:
        size = given[0] if given else named.get("r")
        if not _is_of_run(iterable) or type(size) is not int or size < 1:
            return iterator(partial(_of, kind, given, named), iterable)
        pool = _pool(iterable)
        length = pool.length
        numbers = paddle.arange(0, length**size, dtype="int64")
        divisor = paddle.maximum(length, paddle.full([], 1, "int64"))
        places = [numbers // divisor ** (size - 1 - at) % divisor for at in range(size)]
        holds = paddle.ones_like(numbers, "bool")
        for one, other in itertools.combinations(places, 2):
            holds = holds & fits(one, other)
        element = Single(Leaf(paddle.int64, (), int, True))
        columns = [of_columns(element, [row[holds]], kind.__name__) for row in places]

        def item(index: paddle.Tensor) -> tuple[Any, ...]:
            return tuple(pool.item(column.at(index)) for column in columns)

        return Indexed(columns[0].length, item, (), kind)

    return choose


def _of(
    kind: type[Any], given: tuple[object, ...], named: dict[str, object], things: object
) -> Any:
    return kind(things, *given, **named)


OPERATORS: Final[dict[Any, Callable[..., Any]]] = {
    itertools.chain: partial(handed.chain, chain),
    itertools.combinations: _choosing(itertools.combinations, operator.lt),
    itertools.combinations_with_replacement: _choosing(
        itertools.combinations_with_replacement, operator.le
    ),
    itertools.permutations: _choosing(itertools.permutations, operator.ne),
    itertools.product: product,
    itertools.count: count,
    itertools.islice: partial(handed.islice, islice),
    itertools.pairwise: pairwise,
    itertools.tee: tee,
}
"""Classes of ``itertools``."""
