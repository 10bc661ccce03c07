"""What callables run: the function of a method, of a ``partial``, of an object that is called."""

from __future__ import annotations

import contextlib
import functools
import inspect
import types
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from typing import Any, Final

import paddle

from d2s import paddle_bridge as bridge
from d2s.diagnostics.location import is_ours
from d2s.runtime.calls.converter import converter
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.python.generators import Take, hands
from d2s.runtime.trace import current
from d2s.runtime.values.cases import BY_NAME
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.objects import owner_of, stays
from d2s.runtime.values.tree import any_leaf


class Callables:
    """What to call in place of callables; what becomes of a Python function, a subclass says."""

    def of(self, callee: Any) -> Any:
        """What to call in place of ``callee``: itself, or what runs another function."""
        callee = _as_operator(callee)
        if type(callee) is types.FunctionType:
            return self.function(callee)
        if type(callee) is types.MethodType:
            return self.method(callee)
        if isinstance(callee, functools.partial):
            return functools.partial(self.of(callee.func), *callee.args, **callee.keywords)
        if isinstance(callee, paddle.nn.Layer):
            return self.layer(callee)
        if isinstance(callee, type | types.BuiltinFunctionType | types.BuiltinMethodType):
            return self.builtin(callee)
        implementation = call_method(callee)
        if isinstance(implementation, types.FunctionType):
            found = self.function(implementation, callee)
            if found is not implementation:
                return types.MethodType(found, callee)
        return self.other(callee)

    def function(self, function: types.FunctionType, owner: object = None) -> Any:
        """In place of a Python function, which is a method of ``owner``."""
        raise NotImplementedError

    def method(self, method: types.MethodType) -> Any:
        """In place of a bound method."""
        found = self.of(method.__func__)
        return method if found is method.__func__ else types.MethodType(found, method.__self__)

    def layer(self, layer: paddle.nn.Layer) -> Any:
        """In place of a layer."""
        raise NotImplementedError

    def builtin(self, callee: Callable[..., Any]) -> Any:
        """In place of a class, or of a function that is written in C."""
        return self.other(callee)

    def other(self, callee: Callable[..., Any]) -> Any:
        """In place of what runs no Python function that is known."""
        return callee


_CONTAINERS: Final = frozenset(
    (
        *(dict, frozenset, list, range, set, str, tuple),
        *(Counter, OrderedDict, defaultdict, deque),
    )
)


def _as_operator(callee: object) -> Any:
    """``operator.getitem`` of a container for its method ``__getitem__``, and the like."""
    owner = None if current() is None else owner_of(callee)
    use = None if owner is None else BY_NAME.get(getattr(callee, "__name__", ""))
    if use is None or not (type(owner) in _CONTAINERS or isinstance(owner, Choice | DynamicList)):
        return callee
    code = getattr(getattr(callee, "__func__", None), "__code__", None)
    users = code is not None and not is_ours(code.co_filename)
    return callee if users else functools.partial(use, owner)


def handing_on(
    function: types.FunctionType, converted: Any, watch: Callable[[Any, Any], None]
) -> Any:
    """``converted``; where it makes generators, these can hand their items on.

    Args:
        function: the user's.
        converted: what is called in its place.
        watch: told of what runs, and of the user's.
    """
    code = getattr(converted, "__code__", None)
    capture = current()
    if capture is None or code is None or not code.co_flags & inspect.CO_GENERATOR:
        return converted
    if is_ours(function.__code__.co_filename) or stays(function):
        return converted
    handing = converter().ended(function, "handed")
    make = (converter().ended(function, "stepped") if capture.stepping else None) or converted
    if handing is None:
        return make

    def begin(*arguments: object, **options: object) -> Any:
        def run(take: Take) -> None:
            watch(function, handing)
            handing(take, *arguments, **options)

        return hands(make(*arguments, **options), run)

    return begin


def call_method(callee: object) -> Any:
    """The ``__call__`` that the class of ``callee`` defines, or ``None``."""
    for owner in type(callee).__mro__:
        if "__call__" in vars(owner):
            return vars(owner)["__call__"]
    return None


def is_outside(held: object) -> bool:
    """Whether no tensor of the program is in ``held``, as far as its containers go."""
    return not any_leaf(_is_inside, held)


def _is_inside(held: object) -> bool:
    return bridge.is_value(held) or isinstance(held, Choice | DynamicList)


_ABSENT: Final = object()


@contextlib.contextmanager
def swapped(table: dict[Any, Any], values: dict[Any, Any]) -> Iterator[None]:
    """``table`` with other values under some keys, for a while."""
    before = {key: table.get(key, _ABSENT) for key in values}
    table.update(values)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is _ABSENT:
                table.pop(key, None)
            else:
                table[key] = value
