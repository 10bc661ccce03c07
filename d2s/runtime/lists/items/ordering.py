"""The order of the items of a list of the run: by their numbers and texts, from first to last.

:meth:`Heap.down` and :meth:`Heap.up` are ``_siftdown`` and ``_siftup`` of Python's ``heapq``, so
that a heap lies as Python's does, whatever looks into it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import ContainerInGraphError
from d2s.runtime.lists.items.elements import Element, Labels, Single
from d2s.runtime.lists.items.parts import Constant, flattened, one_of
from d2s.runtime.lists.items.pools import columns_of_attribute, wish_for
from d2s.runtime.lists.items.rows import as_numbers, relaxed
from d2s.runtime.lists.items.structures import Inner, OneOf, Structure, union
from d2s.runtime.trace import error_here


def columns_of_order(element: Element, rows: list[paddle.Tensor], name: str) -> list[paddle.Tensor]:
    """1-D tensors, the first ones that differ of which say which of two items is less."""
    found = _columns(element, iter(rows))
    if not found:
        wish_for(element)
        raise error_here(
            ContainerInGraphError,
            f"the items of {name!r}, whose length a tensor decides, are put in order by something "
            "else than numbers and texts of one kind",
            "give a key that is a number, or a tuple of numbers",
        )
    return found


def _columns(element: Element, rows: Iterator[Any]) -> list[Any] | None:
    mine = [next(rows) for _ in element.leaves]
    if isinstance(element, Single):
        single = all(size == 1 for size in element.leaf.shape)
        return [paddle.reshape(mine[0], [-1])] if single else None
    if isinstance(element, Labels) and all(type(each) is str for each in element.table):
        places = sorted(element.table)
        ranks = paddle.to_tensor([places.index(each) for each in element.table], dtype="int64")
        return [paddle.gather(ranks, mine[0])]
    if isinstance(element, OneOf) and element.of_numbers:
        return [as_numbers(mine)]
    if isinstance(element, OneOf):
        return _columns_of_tuples(element, mine)
    if isinstance(element, Inner):
        return _columns_of_lists(element, mine) if element.kind in (list, tuple) else None
    if not isinstance(element, Structure) or not issubclass(element.kind, tuple | list):
        return None
    kind: Any = element.kind
    if hasattr(kind, "d2s_kind"):
        return None if kind.d2s_order is None else _columns_of_objects(kind, mine[0])
    if not element.parts:
        return mine
    rest, found = iter(mine), list[Any]()
    counted = False
    for part in element.parts:
        columns = _columns(part, rest)
        if columns is None:
            return None
        if not counted and getattr(getattr(part, "kind", None), "d2s_order", None) == ():
            return None  # objects that are not ordered, behind what may be equal
        counted = isinstance(part, Single) and part.leaf.kind is int
        found += columns
    return found


def _columns_of_objects(kind: Any, numbers: Any) -> list[Any] | None:
    """Those of objects that are known by numbers."""
    found: list[Any] = []
    for name in kind.d2s_order:
        part, rows = columns_of_attribute(kind.d2s_kind, name)
        if isinstance(part, Constant):
            continue  # all have the same
        mine = _columns(part, iter([paddle.gather(row, numbers + 1) for row in rows]))
        if mine is None:
            return None
        found += mine
    return found


def _columns_of_tuples(element: OneOf, rows: list[Any]) -> list[Any] | None:
    """Those of tuples of several lengths, or lists: at each place whether there is a part, and it.

    ``None`` where other things are among them.
    """
    tag, rest = rows[0], iter(rows[1:])
    held: list[list[tuple[Element, list[Any]]]] = []
    for option in element.options:
        if not isinstance(option, Structure) or option.kind not in (tuple, list):
            return None
        held.append([(part, [next(rest) for _ in part.leaves]) for part in option.parts])
        if not option.parts:
            next(rest)
    if len({option.kind for option in element.options if isinstance(option, Structure)}) > 1:
        return None
    found = list[Any]()
    for place in range(max(map(len, held))):
        mine = [parts[place] if len(parts) > place else None for parts in held]
        there = paddle.gather(paddle.to_tensor([part is not None for part in mine]), tag)
        joint = functools.reduce(union, [part[0] for part in mine if part is not None])
        columns = _columns(joint, iter(one_of(joint, mine, tag)))
        if columns is None:
            return None
        found.append(paddle.cast(there, "int64"))
        found += [paddle.where(there, _sortable(column), 0) for column in columns]
    return found


def _columns_of_lists(element: Inner, rows: list[Any]) -> list[Any] | None:
    """One with the ranks of lists or tuples of any length; equal ones have the same rank.

    The ranks behind each position, from the last one on, become those from that position on.
    """
    length, *held = rows
    parts = None if element.element is None else _columns(element.element, map(flattened, held))
    if parts is None:
        return None if held else [length]
    sizes = [paddle.shape(held[0])[axis].astype("int64") for axis in (0, 1)]
    length = paddle.concat([paddle.zeros([1], "int64"), length])  # there is one item, at least
    tables = [paddle.reshape(_sortable(part), sizes) for part in parts]
    tables = [paddle.concat([paddle.zeros_like(table[:1]), table]) for table in tables]
    tables = [paddle.expand(table, [-1, sizes[1]]) for table in tables]

    def step(place: paddle.Tensor, ranks: paddle.Tensor) -> Any:
        there = length >= place
        mine = [paddle.where(there, table[:, place], 0) for table in tables]
        return place - 1, _ranks([paddle.cast(there, "int64"), *mine, ranks])

    nothing = relaxed(paddle.zeros_like(length), [-1])
    _, ranks = looped(lambda place, ranks: place > 0, step, sizes[1] - 1, nothing)
    return [ranks[1:]]


def _ranks(columns: list[paddle.Tensor]) -> paddle.Tensor:
    """How many different items are less than each."""
    order = places_in_order(columns, reverse=False)
    steps = paddle.cumsum(paddle.cast(~ties(columns, order), "int64"))
    return paddle.gather(paddle.concat([paddle.zeros([1], "int64"), steps]), paddle.argsort(order))


def places_in_order(columns: list[paddle.Tensor], reverse: bool) -> paddle.Tensor:
    """The positions of the items in order; equals stay as they are, also in reverse."""
    order: Any = None
    for column in reversed(columns):
        column = _sortable(column)
        mine = column if order is None else paddle.gather(column, order)
        places = paddle.argsort(mine, descending=reverse, stable=True)
        order = places if order is None else paddle.gather(order, places)
    return order


def ties(columns: list[paddle.Tensor], places: paddle.Tensor) -> paddle.Tensor:
    """Whether each item, in the order of ``places``, is neither less nor greater than the next."""
    ordered = [paddle.gather(_sortable(column), places) for column in columns]
    same = [column[1:] == column[:-1] for column in ordered]
    return functools.reduce(paddle.logical_and, same)


def _sortable(column: paddle.Tensor) -> paddle.Tensor:
    """``column`` as it can be put in order; no gradient goes through an order."""
    return paddle.cast(column, "int64") if column.dtype == paddle.bool else column.detach()


class Heap:
    """The positions of items that lie as a heap."""

    def __init__(
        self, columns: list[paddle.Tensor], places: paddle.Tensor, count: paddle.Tensor
    ) -> None:
        self._columns = [_sortable(column) for column in columns]
        self._count = count
        one = paddle.full([1], 0, "int64")  # behind all of them, so that there is one
        self._order = relaxed(paddle.concat([places, one]), [-1])

    @property
    def order(self) -> paddle.Tensor:
        """Which item lies at each place, a 1-D int64 value."""
        return self._order[: self._count]

    def _less(self, one: paddle.Tensor, other: paddle.Tensor) -> paddle.Tensor:
        """Whether one item, by its number, is less than another one."""
        result: Any = None
        for column in reversed(self._columns):
            mine, theirs = paddle.gather(column, one), paddle.gather(column, other)
            less = mine < theirs
            result = less if result is None else less | ((mine == theirs) & result)
        return paddle.reshape(result, [])

    def down(self, start: paddle.Tensor, place: paddle.Tensor) -> None:
        """The item at ``place`` goes towards the root as long as it is less than its parent."""
        new = _at(self._order, place)

        def goes_on(place: Any, order: Any) -> Any:
            parent = paddle.maximum((place - 1) // 2, paddle.zeros_like(place))
            return (place > start) & self._less(new, _at(order, parent))

        def step(place: Any, order: Any) -> Any:
            parent = (place - 1) // 2
            return parent, _with(order, place, _at(order, parent))

        place, order = looped(goes_on, step, place, self._order)
        self._order = _with(order, place, new)

    def up(self, start: paddle.Tensor) -> None:
        """The item at ``start`` goes down to a leaf, and from there to its place."""
        end, new = self._count, _at(self._order, start)

        def step(place: Any, order: Any) -> Any:
            left = 2 * place + 1
            right = paddle.minimum(left + 1, end)
            less = self._less(_at(order, left), _at(order, right))
            child = paddle.where((left + 1 < end) & ~less, right, left)
            return child, _with(order, place, _at(order, child))

        place, order = looped(lambda place, order: 2 * place + 1 < end, step, start, self._order)
        self._order = _with(order, place, new)
        self.down(start, place)

    def build(self) -> None:
        """Let the items lie as a heap."""

        def step(place: Any, order: Any) -> Any:
            self._order = order
            self.up(place)
            return place - 1, self._order

        first = self._count // 2 - 1
        _, self._order = looped(lambda place, order: place >= 0, step, first, self._order)


def looped(
    test: Callable[..., Any], step: Callable[..., Any], place: paddle.Tensor, order: paddle.Tensor
) -> tuple[paddle.Tensor, paddle.Tensor]:
    """A place and an order, changed by ``step`` as long as ``test`` holds."""
    inits = [paddle.assign(place), paddle.assign(order)]
    op = bridge.WhileOp(test(*inits), inits)
    with op.body() as arguments:
        place, order = step(*arguments)
        place, order = paddle.assign(place), relaxed(paddle.assign(order), [-1])
        op.finish(paddle.assign(test(place, order)), [place, order])
    place, order = op.results()
    return place, order


def _at(order: paddle.Tensor, place: paddle.Tensor) -> paddle.Tensor:
    return paddle.gather(order, paddle.reshape(place, [1]))


def _with(order: paddle.Tensor, place: paddle.Tensor, item: paddle.Tensor) -> paddle.Tensor:
    """``order`` with ``item`` at ``place``."""
    places = paddle.arange(0, paddle.shape(order)[0].astype("int64"), dtype="int64")
    here = paddle.cast(places == place, "int64")
    return relaxed(order * (1 - here) + item * here, [-1])
