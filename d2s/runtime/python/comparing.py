"""``==``, ``!=`` and ``<`` of lists, tuples, dicts and data classes that hold what the run decides.

Python compares them item by item, and asks each answer for its truth, which only the run knows::

    y.shape == z.shape                 ->   all sizes are equal, a bool of the run
    (cost, index) < (best, other)      ->   the first items that differ decide

Items that are one object are equal, as in Python; what holds no tensor is left to Python itself.
"""

from __future__ import annotations

import collections
import functools
import inspect
import operator
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any, Final

import paddle

from d2s import paddle_bridge as bridge
from d2s.runtime.control_flow.cond import select
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.lists.items.ordering import columns_of_order
from d2s.runtime.lists.lending import check_identity, is_itself_only
from d2s.runtime.trace import current
from d2s.runtime.values.choice import Choice, each
from d2s.runtime.values.constants import holds_tensors
from d2s.runtime.values.tables import Words
from d2s.runtime.values.tensors import SIZE, Sizes, condition, mark_number, number_kind
from d2s.runtime.values.tree import is_dataclass_instance, parts

Thunk = Callable[[], Any]

_ORDERS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip

_KINDS: Final[tuple[Any, ...]] = (list, tuple, dict, collections.deque)
_LIKE_TUPLES: Final = SIZE is not list
"""Whether sizes equal tuples, too; before Paddle 3.3 they are lists."""
_FIELDS_IN_TURN: Final = sys.version_info >= (3, 13)
"""Whether a data class says ``a.x == b.x and a.y == b.y``; its fields are a tuple before."""

_ITEM_BY_ITEM: Final = (SIZE.__eq__, *(kind.__eq__ for kind in _KINDS))
"""How classes compare that leave it to Python's containers."""


def eq(left: object, right: object, /) -> Any:
    """``left == right``."""
    if current() is None:
        return left == right
    if _has_containers(left) or _has_containers(right):
        return each(lambda mine: each(lambda other: eq(mine, other), right, none=True), left,
                    none=True)  # fmt: skip
    pairs = _pairs(left, right)
    if pairs is None:
        if is_itself_only(left):
            check_identity(left, right)
        return left == right
    in_turn = _FIELDS_IN_TURN and is_dataclass_instance(left) and left is not right
    return _one_by_one(pairs) if pairs and in_turn else _all_same(pairs)


def ne(left: object, right: object, /) -> Any:
    """``left != right``."""
    if current() is None:
        return left != right
    if not (_has_containers(left) or _has_containers(right) or _pairs(left, right) is not None):
        return _differ(left, right)
    return _opposite(eq(left, right))


def _differ(left: Any, right: Any) -> Any:
    """``left != right`` where a class may have an ``__eq__`` alone, whose truth Python asks for."""
    if not (_negates(type(left)) or _negates(type(right))):
        return left != right
    sides = [(left, right), (right, left)]
    if type(left) is not type(right) and issubclass(type(right), type(left)):
        sides.reverse()  # a subclass is asked first
    for one, other in sides:
        kind: Any = type(one)
        negates = _negates(kind)
        answer = kind.__eq__(one, other) if negates else kind.__ne__(one, other)
        if answer is not NotImplemented:
            return _opposite(answer) if negates else answer
    return left is not right


def _negates(kind: Any) -> bool:
    """Whether ``!=`` of a class is the opposite of an ``__eq__`` that somebody has written."""
    return kind.__ne__ is object.__ne__ and isinstance(kind.__eq__, types.FunctionType)


def _opposite(same: Any) -> Any:
    """``not same``."""
    same = condition(same)
    return mark_number(paddle.logical_not(same), bool) if bridge.is_value(same) else not same


def ordered(symbol: str, left: Any, right: Any) -> Any:
    """``left < right`` and its like: the first items that differ decide."""
    order = _ORDERS[symbol]
    if current() is None:
        return order(left, right)
    several = isinstance(left, Choice) or isinstance(right, Choice)
    grown = isinstance(left, DynamicList) or isinstance(right, DynamicList)
    if _has_containers(left) or _has_containers(right) or (several and grown):
        use = functools.partial(ordered, symbol)
        return each(lambda mine: each(lambda it: use(mine, it), right, none=True), left, none=True)
    name = f"__{order.__name__}__"  # a class of the user's may have an order of its own
    alike = any(
        all(isinstance(side, kind) for side in (left, right))
        and all(getattr(type(side), name) is getattr(kind, name) for side in (left, right))
        for kind in _KINDS[:2]
    )
    if not alike or not any(map(_is_decided_late, (left, right))):
        return _in_order(symbol, left, right)

    def at(place: int) -> Any:
        if place == min(len(left), len(right)):
            return order(len(left), len(right))
        same = _same(left[place], right[place])
        if bridge.is_value(same):
            return select(same, lambda: at(place + 1), lambda: here(place))
        return at(place + 1) if same else here(place)

    def here(place: int) -> Any:
        return ordered(symbol, left[place], right[place])

    return at(0)


def _is_decided_late(thing: Iterable[object]) -> bool:
    """Whether a tensor decides how a list or tuple compares."""
    return holds_tensors(thing) or any(isinstance(item, DynamicList) for item in thing)


def _in_order(symbol: str, left: object, right: object) -> Any:
    """What Python says, in its words where a side is a list or text of the run."""
    kinds = [_class_of(side) for side in (left, right)]
    if type(left) is DynamicList or type(right) is DynamicList:
        if kinds[0] is kinds[1] and kinds[0] in (list, tuple):
            return _of_grown(symbol, left, right)
    else:
        try:
            return _ORDERS[symbol](left, right)
        except TypeError:
            if kinds == [type(left), type(right)] or kinds[0] is kinds[1]:
                raise
    words = " and ".join(repr(kind.__name__) for kind in kinds)
    raise TypeError(f"{symbol!r} not supported between instances of {words}")


def _of_grown(symbol: str, left: object, right: object) -> Any:
    """``left < right`` of two lists or tuples, where a tensor decides the length of one."""
    pair = DynamicList.of([left, right], Words("a comparison"))
    less, same = paddle.full([], False, "bool"), paddle.full([], True, "bool")
    for column in columns_of_order(pair.element, pair.item_rows(), symbol):
        one, other = column[0], column[1]
        less, same = less | (same & (one < other)), same & (one == other)
    holds = {"<": less, "<=": less | same, ">": ~(less | same), ">=": ~less}[symbol]
    return mark_number(holds, bool)


def _operator(symbol: str) -> Callable[[Any, Any], Any]:
    def operate(self: object, other: object) -> Any:
        return ordered(symbol, self, other) if type(self) is DynamicList else NotImplemented

    return operate


for _symbol, _order in _ORDERS.items():  # what stands between two variables stays Python's
    setattr(DynamicList, f"__{_order.__name__}__", _operator(_symbol))


def _class_of(side: object) -> type:
    """The class of what a run makes of ``side``."""
    if isinstance(side, DynamicList):
        return side.d2s_type()
    plain: type = getattr(type(side), "d2s_plain", type(side))
    return plain


def is_late_key(key: object) -> bool:
    """Whether only the run knows a key of a dict: a number, or a tuple with such numbers."""
    if type(key) is tuple:
        return any(map(is_late_key, key))
    if isinstance(key, DynamicList):
        return key.frozen
    return bridge.is_value(key) and number_kind(key) is not None


def _has_containers(thing: object) -> bool:
    """Whether a tensor decides between things of which one is a container."""
    return isinstance(thing, Choice) and any(parts(leaf) is not None for leaf in thing.leaves())


def _pairs(left: Any, right: Any) -> list[tuple[Any, Any]] | None:
    """The parts that are to be equal; ``None`` where Python compares.  ``[(0, 1)]`` is never."""
    if not (holds_tensors(left) or holds_tensors(right)):
        return None
    if is_dataclass_instance(left):
        if type(left) is not type(right) or not _compares_fields(type(left)):
            return None
        return [
            (getattr(left, name), getattr(right, name))
            for name, field in type(left).__dataclass_fields__.items()
            if field.compare
        ]
    alike = any(isinstance(left, kind) and isinstance(right, kind) for kind in _KINDS)
    if _LIKE_TUPLES and any(isinstance(side, Sizes | SIZE) for side in (left, right)):
        alike = all(isinstance(side, _KINDS[:2]) for side in (left, right))
    if not alike or any(type(side).__eq__ not in _ITEM_BY_ITEM for side in (left, right)):
        return None
    if len(left) != len(right):
        return [(0, 1)]
    if isinstance(left, dict):
        if any(key not in right for key in left):
            return [(0, 1)]
        return [(value, right[key]) for key, value in left.items()]
    return list(zip(left, right, strict=True))


def _compares_fields(kind: Any) -> bool:
    """Whether ``@dataclass`` has written ``__eq__`` of this class."""
    code = getattr(inspect.unwrap(kind.__eq__), "__code__", None)
    return bool(kind.__dataclass_params__.eq) and getattr(code, "co_filename", "") == "<string>"


def _same(left: object, right: object) -> Any:
    """Whether two items are equal, as what decides a branch."""
    return True if left is right else condition(eq(left, right))


def _one_by_one(pairs: list[tuple[Any, Any]]) -> Any:
    """The first answer that is false, or the last one, as ``and`` gives it."""
    (left, right), *rest = pairs
    same = eq(left, right)
    if not rest:
        return same
    test = condition(same)
    if not bridge.is_value(test):
        return _one_by_one(rest) if test else same
    return select(test, lambda: _one_by_one(rest), lambda: same)


def _all_same(pairs: list[tuple[Any, Any]]) -> Any:
    """Whether the two of each pair are equal; a pair behind one that differs is not compared."""
    if not pairs:
        return True
    (left, right), *rest = pairs
    same = _same(left, right)
    if not bridge.is_value(same):
        return _all_same(rest) if same else False
    if any(number_kind(item) is None for pair in rest for item in pair):
        return select(same, lambda: _all_same(rest), lambda: False)
    for one, other in rest:  # numbers: to compare them costs nothing, and cannot fail
        also = _same(one, other)
        if bridge.is_value(also):
            same = same & also
        elif not also:
            return False
    return mark_number(paddle.assign(same), bool)


COMPARISONS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    **{symbol: functools.partial(ordered, symbol) for symbol in _ORDERS},
    "==": eq,
    "!=": ne,
}
"""What compares two things, by the operator."""
