"""What a ``for`` iterates when the run decides how long it is: things with a length and an index.

``range``, ``enumerate``, ``zip`` and ``reversed`` give Python's own objects on Python values, and
an :class:`Indexed` as soon as a tensor takes part (rule C5).
"""

from __future__ import annotations

import builtins
import functools
import itertools
from collections.abc import Callable, Iterator
from functools import partial
from operator import attrgetter
from typing import Any, Final

import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import UnsupportedInGraphError
from d2s.runtime.aliasing.holders import Holder, holders_of_alternative
from d2s.runtime.host.ahead import (
    check_ahead,
    counted,
    is_ahead,
    is_count,
    next_item,
    rest_of,
    rest_of_count,
)
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.lists.dynamic_set import DynamicSet
from d2s.runtime.lists.items.views import is_view, kind_of_view
from d2s.runtime.lists.positions import Indexed, RunRange, bound_of, stuck
from d2s.runtime.trace import Block, current, error_here
from d2s.runtime.values.callbacks import raise_when
from d2s.runtime.values.choice import Choice, each, possible
from d2s.runtime.values.fields import slot_fields, steps
from d2s.runtime.values.objects import KEEP_ELSEWHERE, changes
from d2s.runtime.values.tensors import (
    as_value,
    is_array,
    is_numeric,
    is_tensor,
    mark_number,
    number_kind,
    number_value,
)
from d2s.runtime.values.unbound import UNBOUND

UNROLLED: Final = 32
"""A loop over one of several ranges is unrolled for each up to so many trips in all."""


def range_(*bounds: Any) -> Any:
    """``range``: Python's, or an :class:`Indexed` when a bound is a tensor."""
    for position, bound in enumerate(bounds):
        if isinstance(bound, Choice) and bound.plain and _short(bound):
            before, after = bounds[:position], bounds[position + 1 :]
            return bound.spread(partial(_range_with, before, after))
    bounds = tuple(b.get(builtins.range) if isinstance(b, Choice) else b for b in bounds)
    bounds = tuple(b.d2s_index() if is_array(b) else b for b in bounds)
    if current() is None or not any(is_tensor(bound) for bound in bounds):
        return builtins.range(*bounds)
    for bound in bounds:
        if number_kind(bound) is float:
            raise TypeError("'float' object cannot be interpreted as an integer")
    start: Any = 0
    stop: Any = bounds[0]
    step: Any = 1
    if len(bounds) > 1:
        start, stop = bounds[0], bounds[1]
    if len(bounds) > 2:
        step = bounds[2]
    if type(start) is int and start == 0 and type(step) is int and step == 1:
        last = bound_of(stop)
        return RunRange(_no_less_than_0(last), lambda index: mark_number(index, int), 0, last, 1)
    first, last, by = bound_of(start), bound_of(stop), bound_of(step)
    if type(step) is int:
        if step == 0:
            raise ValueError("range() arg 3 must not be zero")
        distance = last - first if step > 0 else first - last
        length = distance if abs(step) == 1 else (distance + (abs(step) - 1)) // abs(step)
    else:
        raise_when(by == 0, ValueError("range() arg 3 must not be zero"))
        up = (last - first + by - 1) // by
        down = (first - last - by - 1) // (-by)
        length = paddle.where(by > 0, up, down)
    return RunRange(
        _no_less_than_0(length),
        lambda index: mark_number(first + index * by, int),
        *(first, last, by),
    )


def _no_less_than_0(length: object) -> Any:
    return mark_number(paddle.maximum(length, paddle.full([], 0, "int64")), int)


def _short(bound: Choice) -> bool:
    """Whether the loops over all alternatives are short enough to be unrolled side by side."""
    numbers = list(bound.leaves())
    return all(type(n) is int for n in numbers) and sum(map(abs, numbers)) <= UNROLLED


def _range_with(before: tuple[Any, ...], after: tuple[Any, ...], bound: int) -> Any:
    return range_(*before, bound, *after)


def indexed(thing: Any) -> Indexed | None:
    """``thing`` as an :class:`Indexed` when the run decides its length, else ``None``."""
    if isinstance(thing, Indexed):
        return thing
    if isinstance(thing, Choice):
        return indexed(thing.get(iter)) if thing.single else _one_range(thing)
    if hasattr(type(thing), "d2s_indexed"):
        return thing.d2s_indexed()  # type: ignore[no-any-return]
    if isinstance(thing, DynamicList):
        if not thing.carried:
            thing.need_rows()  # inside of the loop over them it would be too late
        if isinstance(thing, DynamicSet):
            whole = functools.cache(thing.iterated)
            return Indexed(lambda: whole().d2s_len(), lambda index: whole().at(index))
        return Indexed(thing.d2s_len, thing.at, (thing,) if thing.element.has_mutable else ())
    if current() is not None and is_tensor(thing) and list(thing.shape)[:1] == [-1]:
        length = mark_number(paddle.shape(thing)[0].astype("int64"), int)
        return Indexed(length, lambda index: thing[index])
    return None


def _one_range(thing: Choice) -> Indexed | None:
    """One of several ranges, as one whose bounds the run knows."""
    if not all(type(leaf) is range for leaf in thing.leaves()):
        return None
    parts = [thing.spread(attrgetter(name)).get() for name in ("start", "stop", "step")]
    return indexed(
        range_(*(parts[:2] if all(leaf.step == 1 for leaf in thing.leaves()) else parts))
    )


def items_of(thing: object) -> Any:
    """``thing`` as something that Python can iterate: the rows of a tensor of known length."""
    if is_ahead(thing):
        return rest_of(thing)
    if not is_count(thing):
        _let_be(thing)
    if is_view(thing):
        raise TypeError(f"{kind_of_view(thing).__name__!r} object is not iterable")
    if current() is not None and bridge.is_value(thing):
        if (kind := number_kind(thing)) is not None:
            raise TypeError(f"{kind.__name__!r} object is not iterable")
        if list(thing.shape)[:1] == [-1]:
            raise error_here(
                UnsupportedInGraphError,
                "a built-in function iterates a tensor whose length a tensor decides",
                "use a for statement, or a function of Paddle on the whole tensor",
            )
        return [thing[index] for index in builtins.range(_rows(thing))]
    if current() is not None and bridge.is_eager(thing):
        value = as_value(thing)
        return [value[index] for index in builtins.range(_rows(value))]
    if is_count(thing):
        return rest_of_count(thing)
    moving(thing)
    return thing


def parts(things: object, count: int) -> list[Any] | tuple[Any, ...]:
    """What ``a, b = things`` takes for ``count`` names.

    Raises:
        ValueError: there are not so many; of what has a length of the run, on the run.
    """
    if isinstance(things, Choice) and not things.single:
        found: tuple[Any, ...] = tuple(each(lambda one: tuple(parts(one, count)), things))
        return found
    of_run = indexed(things)
    if of_run is not None:
        return of_run.parts(count)
    taken = list(itertools.islice(items_of(things), count + 1))
    if len(taken) < count:
        raise ValueError(f"not enough values to unpack (expected {count}, got {len(taken)})")
    if len(taken) > count:
        raise ValueError(f"too many values to unpack (expected {count})")
    return taken


Choice.parts = staticmethod(parts)


def _let_be(thing: object) -> None:
    """Refuse to move an iterator that was there before: a run would not.

    Raises:
        UnsupportedInGraphError: (D2S205).
    """
    capture = current()
    if capture is not None and isinstance(thing, paddle.io.DataLoader):
        raise error_here(
            UnsupportedInGraphError,
            "the batches of a DataLoader are others on each call",
            "iterate it outside of the converted function, and convert what is done with a batch",
        )
    if capture is None or capture.outside is None or not isinstance(thing, Iterator):
        return
    path = None if steps(thing) else capture.outside(thing)
    if path is not None:
        path = next((each_.path for each_ in holders_of_alternative([thing])), path)
        raise error_here(UnsupportedInGraphError, changes(thing, path), KEEP_ELSEWHERE)


def _rows(value: Any) -> int:
    """How many items Python iterates: none of a 0-D tensor."""
    return int(value.shape[0]) if value.shape else 0


def paired(thing: object) -> Indexed:
    """A partner of something whose length the run decides."""
    found = indexed(thing)
    if found is not None:
        return found
    if is_tensor(thing):
        value = as_value(thing)
        return Indexed(number_value(value.shape[0]), lambda index: value[index])
    check_ahead(thing)
    items = list(items_of(thing))
    if items and all(is_numeric(item) for item in items):
        kinds = {number_kind(item) for item in items}
        stacked = paddle.stack([as_value(item) for item in items])
        (kind,) = kinds if len(kinds) == 1 else (None,)
        if kind is None:
            return Indexed(number_value(len(items)), lambda index: stacked[index])
        return Indexed(number_value(len(items)), lambda index: mark_number(stacked[index], kind))
    raise error_here(
        UnsupportedInGraphError,
        "a Python sequence of other things than tensors runs beside one whose length a tensor "
        "decides",
        "make it a tensor, or iterate over Python values only",
    )


def of_several(make: Callable[..., Any], *things: Any) -> Any:
    """What ``make`` gives; one of several iterators where one of several things is iterated.

    They are made at once, not in a branch for each: nothing is taken from them yet.

    Args:
        make: gives an iterator over things, and asks nothing of tensors.
        things: what it is called with.
    """
    things = tuple(map(possible, things))
    for position, several in enumerate(things):
        if isinstance(several, Choice) and not several.single:
            before, after = things[:position], things[position + 1 :]

            def over(found: Any) -> Any:
                return of_several(make, *before, found, *after)  # noqa: B023 - called at once

            absent = any(leaf is None or leaf is UNBOUND for leaf in several.leaves())
            return each(over, several) if absent else several.spread(over)
    return make(*map(items_of, things))


def iterator(kind: Callable[..., Any], *things: Any, **options: Any) -> Any:
    """One of the iterators of ``itertools``, over things that may each be one of several."""
    return of_several(partial(kind, **options), *things)


def tee(things: object, n: int = 2, /) -> Any:
    """``itertools.tee``."""
    return of_several(lambda found: itertools.tee(found, n), things)


def count(start: Any = 0, step: Any = 1) -> Any:
    """``itertools.count``: one that the captured code makes belongs to the call."""
    capture = current()
    of_run = capture is not None and any(map(is_tensor, (start, step)))
    if of_run and {number_kind(start), number_kind(step)} == {int}:
        made = itertools.count()
        slot_fields(made).update({"position": start, "step": step})
    else:
        made = itertools.count(start, step)
        slot_fields(made)
    if capture is not None:
        capture.born[id(made)] = made
    return made


def islice_(things: Any, /, *bounds: Any) -> Any:
    """``itertools.islice``."""
    return of_several(lambda found: itertools.islice(found, *bounds), things)


def enumerate_(iterable: Any, start: Any = 0) -> Any:
    """``enumerate``."""
    if isinstance(iterable, Choice) and not iterable.single and indexed(iterable) is None:
        return of_several(lambda found: enumerate_(found, start), iterable)
    if isinstance(start, Choice):
        start = start.get(builtins.range)
    found = indexed(iterable)
    if found is not None:
        found.begin()
    else:
        if is_tensor(start):
            return ((mark_number(start + k, int), v) for k, v in enumerate(items_of(iterable)))
        return builtins.enumerate(items_of(iterable), start)

    def item(index: Any) -> Any:
        return (mark_number(index + start, int) if start != 0 else index, found.item(index))

    return Indexed(lambda: found.length, item, found.lists, builtins.enumerate)


def zip_(*things: Any, strict: bool = False) -> Any:
    """``zip``."""
    if not any(indexed(thing) is not None for thing in things):
        return of_several(partial(builtins.zip, strict=strict), *things)
    pairs = [paired(thing) for thing in things]
    for pair in pairs:
        pair.begin()
    lists = tuple(each for pair in pairs for each in pair.lists)
    length = pairs[0].length
    for position, other in enumerate((pair.length for pair in pairs[1:]), start=2):
        if strict:
            first = "argument 1" if position == 2 else f"arguments 1-{position - 1}"
            for differs, word in ((other < length, "shorter"), (other > length, "longer")):
                raise_when(differs, ValueError(f"zip() argument {position} is {word} than {first}"))
        length = mark_number(paddle.minimum(length, other), int)
    item = partial(_joined, [pair.item for pair in pairs])
    return _noted(Indexed(length, item, lists, builtins.zip), things)


def _noted(made: Indexed, things: tuple[object, ...]) -> Indexed:
    """``made``, which knows how long ``things`` are now."""
    for thing in things:
        if isinstance(thing, DynamicList):
            thing.lookers.note(made)
    return made


def _joined(items: list[Callable[[Any], Any]], index: Any) -> tuple[Any, ...]:
    return tuple(item(index) for item in items)


def iterator_over(whole: object, kind: type) -> Any:
    """``whole`` as an iterator of Python's, if it is a list of the run, which nobody else has."""
    if not isinstance(whole, DynamicList):
        return whole
    lists = (whole,) if whole.element.has_mutable else ()
    return Indexed(whole.d2s_len, whole.at, lists, kind, whole)


def iter_(thing: object) -> Any:
    """``iter`` of what has a length of the run."""
    found = indexed(thing)
    assert found is not None
    if found.is_iterator:
        return found
    kind = type(builtins.iter(thing.made_of([]) if isinstance(thing, DynamicList) else []))
    whole = None
    if isinstance(thing, DynamicList) and type(thing) is DynamicList:
        whole = None if thing.element.has_mutable else thing.copy()
    made = Indexed(lambda: found.length, found.item, found.lists, kind, whole)
    return _noted(made, (thing,))


def next_(iterator: Any, /, *default: Any) -> Any:
    """``next``: an iterator of Python moves at capture, so no branch may move one from outside."""
    if isinstance(iterator, Choice):
        iterator = iterator.get(next)
    if is_count(iterator):
        return counted(iterator)
    if is_ahead(iterator):
        return next_item(iterator, *default)
    moving(iterator)
    return next(iterator, *default)


def resuming(name: str) -> Callable[..., Any]:
    """``generator.send`` or ``throw``: as :func:`next_`."""

    def resume(generator: object, /, *given: object) -> Any:
        moving(generator)
        return getattr(generator, name)(*given)

    return resume


def moving(iterator: object) -> None:
    """An item is taken from ``iterator``, or from what may be one.

    Raises:
        UnsupportedInGraphError: (D2S205) see :func:`going_on`.
    """
    if current() is not None and isinstance(iterator, Iterator) and not steps(iterator):
        _let_be(iterator)
        going_on(iterator, "takes an item from the iterator", "take the item")


def going_on(thing: object, does: str, cure: str) -> None:
    """Code that is captured once does something to an object of Python that goes on from there.

    Args:
        thing: an iterator, or a generator of random numbers.
        does: what is done, for messages.
        cure: the same, as a cure.

    Raises:
        UnsupportedInGraphError: (D2S205) that is done in a branch, and outside of it too, or in a
            static loop, whose trips go on where the last one left it.
    """
    capture = current()
    assert capture is not None
    blocks = tuple(capture.blocks)
    _, before = capture.moved.get(id(thing), (None, ()))
    left = _have_left(before, blocks)
    paths = [
        f" {holder.path!r}"
        for holder in (holders_of_alternative([thing]) if blocks or left else ())
        if left or any(_goes_on(holder, block) for block in holder.left)
    ]
    if left or paths:
        path = next(iter(paths), "")
        stuck(thing)
        raise error_here(
            UnsupportedInGraphError,
            f"a branch or loop {does}{path}, which is used outside of it too; how far it has come "
            "is known to the run only",
            f"{cure} before the branch, or keep a list and a position",
        )
    if blocks:
        capture.moved[id(thing)] = thing, blocks


def _have_left(before: tuple[Block, ...], now: tuple[Block, ...]) -> bool:
    """Whether a run that comes to ``now`` may not have come to all blocks of ``before``."""
    known = {number: truth for block in now for number, (_, truth) in block.known.items()}
    return any(
        block not in now
        and (
            not block.known
            or any(known.get(number) is not truth for number, (_, truth) in block.known.items())
        )
        for block in before
    )


def _goes_on(holder: Holder, block: Block) -> bool:
    """Whether what ``holder`` has is used again when ``block``, which it is outside of, is over."""
    if block.kind == "loop":
        return True
    return holder.live and holder.frame is None  # of a variable it is seen when it is used again


def reversed_(thing: object, /) -> Any:
    """``reversed``."""
    found = indexed(thing)
    if found is None:
        return of_several(builtins.reversed, thing)
    length = found.length
    made = Indexed(
        length,
        lambda index: found.item(mark_number(length - 1 - index, int)),
        found.lists,
        type(builtins.reversed([])),
    )
    return _noted(made, (thing,))
