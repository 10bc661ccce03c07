"""``and``, ``or``, ``not``, ``in``, ``is`` and chained comparisons (rule B5).

On Python values they are Python's own: operands are returned, the right side waits.  With a
tensor of a program on the left, the right side is captured into one side of an ``if``, so it runs
only when it must.
"""

from __future__ import annotations

from collections.abc import Callable, ItemsView, KeysView, Set
from typing import Any, Final

import paddle

from d2s import paddle_bridge as bridge
from d2s.diagnostics.location import is_ours
from d2s.errors import UnsupportedInGraphError
from d2s.runtime.aliasing.identities import as_stored, is_same_tensor
from d2s.runtime.aliasing.snapshots import is_double, kind_in_words
from d2s.runtime.control_flow.cond import choose, select
from d2s.runtime.control_flow.unbound import as_local
from d2s.runtime.host.asking import is_in_text
from d2s.runtime.host.text import HostText
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.lists.items.views import is_view, same_object
from d2s.runtime.lists.iteration import moving
from d2s.runtime.lists.lending import check_among, check_identity
from d2s.runtime.lists.positions import Indexed, RunRange
from d2s.runtime.python.comparing import COMPARISONS, eq
from d2s.runtime.python.keys import is_undecided
from d2s.runtime.trace import current, error_here
from d2s.runtime.values.choice import Choice, each, possible
from d2s.runtime.values.constants import holds_tensors
from d2s.runtime.values.tensors import (
    as_one_tensor,
    condition,
    decided,
    is_tensor,
    mark_number,
    number_kind,
    special_method,
)
from d2s.runtime.values.tree import is_mapping, is_sequence
from d2s.runtime.values.unbound import UNBOUND

Thunk = Callable[[], Any]


def _kept(operand: object) -> Thunk:
    return lambda: operand


def _rest(operator_: Callable[..., Any], thunks: tuple[Thunk, ...]) -> Thunk:
    """The part of an ``and`` or ``or`` that waits: its operands are evaluated one by one."""
    return lambda: operator_(thunks[0](), *thunks[1:])


def and_(left: object, *thunks: Thunk) -> Any:
    """``left and thunk() and ...``: the first operand that is false, else the last."""
    for position, thunk in enumerate(thunks):
        test = decided(left)
        if bridge.is_value(test):
            return _chosen(test, _rest(and_, thunks[position:]), _kept(left), thunks[position:])
        if not test:
            return left
        left = _operand(thunk)
    return left


def or_(left: object, *thunks: Thunk) -> Any:
    """``left or thunk() or ...``: the first operand that is true, else the last."""
    for position, thunk in enumerate(thunks):
        test = decided(left)
        if bridge.is_value(test):
            return _chosen(test, _kept(left), _rest(or_, thunks[position:]), thunks[position:])
        if test:
            return left
        left = _operand(thunk)
    return left


def _operand(thunk: Thunk) -> Any:
    try:
        return thunk()
    except NameError as error:
        raise as_local(error)  # noqa: B904 - mostly the same one


def _chosen(test: object, body: Thunk, orelse: Thunk, thunks: tuple[Thunk, ...]) -> Any:
    """One of two sides; ``thunks`` may be the user's code, and change what they reach."""
    if all(is_ours(thunk.__code__.co_filename) for thunk in thunks):
        return select(test, body, orelse)
    return choose(test, body, orelse, thunks)


def not_(operand: object, /) -> Any:
    """``not operand``."""
    test = condition(operand)
    if bridge.is_value(test):
        return mark_number(paddle.logical_not(test), bool)
    return not test


def is_(left: object, right: object, /) -> Any:
    """``left is right``; where a tensor decides what one of them is, a bool that the run knows."""
    left, right = possible(left), possible(right)
    answer = _each_of(left, lambda one: _each_of(right, lambda other: _is_one(one, other)))
    return mark_number(answer, bool) if bridge.is_value(answer) else answer


def _each_of(thing: object, test: Callable[[Any], Any]) -> Any:
    return thing.holds(test) if isinstance(thing, Choice) else test(thing)


def _is_one(left: object, right: object) -> Any:
    """The answer for one alternative of each; a bool of the run where both are truth values."""
    left, right = as_one_tensor(left, right)
    if left is right:
        return True
    same = is_same_tensor(left, right)
    if same is not None:
        return same
    if is_view(left) and is_view(right):
        return same_object(left, right)
    check_identity(left, right)
    of_the_run = bridge.is_value(left) or bridge.is_value(right)
    kinds = number_kind(left), number_kind(right)
    cure = "compare a flag that is set in the same places instead"
    if is_double(left) and is_double(right) and type(left) is type(right):
        what = f"a {kind_in_words(left)} that has come out of a static loop with another one"
    elif kinds == (bool, bool):
        same = eq(left, right)  # each of the two truth values is one object
        return paddle.assign(same) if bridge.is_value(same) else same
    elif of_the_run and kinds[0] is not None and kinds[0] is kinds[1]:
        what, cure = "two numbers", "compare them with '=='"
    elif not (bridge.is_value(left) and bridge.is_value(right)) or None not in kinds:
        return False
    elif bridge.is_chosen(left) or bridge.is_chosen(right):
        what = "a tensor that a branch or loop has chosen"
    else:
        return False
    raise error_here(
        UnsupportedInGraphError,
        f"'is' compares {what}, and which one it is only the run knows",
        cure,
    )


def is_not(left: object, right: object, /) -> Any:
    """``left is not right``."""
    return not_(is_(left, right))


def in_(item: Any, container: Any) -> Any:
    """``item in container``: one comparison for each item, as Python does it."""
    if isinstance(container, Choice):
        return each(lambda found: in_(item, found), container, plainly=True)
    if current() is None:
        return item in container
    if is_tensor(container):
        value = bridge.as_value(container) if bridge.is_eager(container) else container
        return mark_number(value.equal(item).any(), bool)
    if isinstance(item, HostText) and isinstance(container, str):
        return is_in_text(item, container)
    if isinstance(container, Indexed):
        container = container.items()
    if isinstance(container, DynamicList | RunRange):
        if isinstance(item, Choice) and isinstance(container, RunRange):
            return each(container.contains, item, none=True, plainly=True)
        return container.contains(item)
    asked = special_method(container, "__contains__")
    if asked is not None:
        holds = condition(asked(container, item))
        return mark_number(paddle.assign(holds), bool) if bridge.is_value(holds) else bool(holds)
    moving(container)
    looked_up = isinstance(container, Set) and not isinstance(container, ItemsView)
    hashed = looked_up or is_mapping(container)
    if not (hashed or is_sequence(container) or isinstance(container, list | range)):
        return each(lambda found: found in container, item, none=True, exact=True)
    asks = is_undecided if hashed else holds_tensors
    among = () if is_mapping(container) or isinstance(container, KeysView | range) else container
    check_among(item, among)
    if not (asks(item) or isinstance(item, Choice | HostText) or any(map(asks, among))):
        return _is_bound_in(container, as_stored(item, container) if hashed else item)
    found: Any = None
    for other in container:
        same = True if other is item else condition(eq(item, other))
        if bridge.is_value(same):
            found = same if found is None else found | same
        elif same:
            return True
    return False if found is None else mark_number(paddle.assign(found), bool)


def _is_bound_in(container: Any, item: object) -> Any:
    """``item in container``, where a tensor is found if it is the same one.

    In what ``vars`` gives may be an attribute that some paths have not bound.
    """
    held = container.get(item) if type(container) is dict else None
    if not isinstance(held, Choice):
        return item in container
    holds = held.holds(lambda side: side is not UNBOUND)
    return holds if isinstance(holds, bool) else mark_number(paddle.assign(holds), bool)


def not_in(item: object, container: object) -> Any:
    """``item not in container``."""
    return not_(in_(item, container))


_OPERATORS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    **COMPARISONS,
    "in": in_,
    "not in": not_in,
    "is": is_,
    "is not": is_not,
}


def compare(left: object, *pairs: tuple[str, Thunk]) -> Any:
    """``left < thunk() < ...``: each operand is evaluated once, and only if it must be."""
    (symbol, thunk), rest = pairs[0], pairs[1:]
    middle = _operand(thunk)
    holds = _OPERATORS[symbol](left, middle)
    if not rest:
        return holds
    return and_(holds, lambda: compare(middle, *rest))
