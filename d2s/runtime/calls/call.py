"""``d2s.call(f)``: what to call in place of ``f`` (rule E2).

A Python function of the user's becomes its converted form, a built-in its operator, a layer one
whose ``forward`` is converted; Paddle, C functions, the standard library and what is named in
``ignore_module`` or ``not_to_static`` stay as they are.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import inspect
import logging
import operator
import sys
import types
from collections.abc import Callable
from typing import Any, Final

import paddle

from d2s import paddle_bridge as bridge
from d2s.diagnostics.location import is_ours
from d2s.diagnostics.notes import note_function
from d2s.errors import TensorRecursionError, UnsupportedInGraphError
from d2s.runtime.aliasing import inplace
from d2s.runtime.calls import layers, py_layers, random_numbers, tensor_methods
from d2s.runtime.calls.applying import plain
from d2s.runtime.calls.callables import Callables, handing_on, is_outside
from d2s.runtime.calls.converter import converter
from d2s.runtime.calls.spellings import rewrapped
from d2s.runtime.calls.stand_ins.calling_back import each_called
from d2s.runtime.calls.stand_ins.tables import StandIns
from d2s.runtime.host import breakpoints, messages, streams, world
from d2s.runtime.host.text import OPEN
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.lists.items.fixed import FixedDict, FixedList
from d2s.runtime.lists.items.pools import pooled
from d2s.runtime.lists.items.views import is_view
from d2s.runtime.python.items import is_looked_up, member_of
from d2s.runtime.python.kinds import type_
from d2s.runtime.trace import Capture, current, error_here
from d2s.runtime.values.choice import Choice, each
from d2s.runtime.values.fields import CONTAINERS, attributes_of, slots_of
from d2s.runtime.values.objects import (
    WEAK_CURE,
    attribute,
    is_library,
    is_user_class,
    is_user_object,
    is_weak,
    owner_of,
    stays,
    weak_cause,
)
from d2s.runtime.values.tensors import as_value, check_dense
from d2s.runtime.values.tree import any_leaf, is_dataclass_instance, is_mutable
from d2s.runtime.values.unbound import UNBOUND

SKIP: Final = "__d2s_not_to_static__"
"""The attribute that ``d2s.not_to_static`` sets on a function."""


RECURSION_LIMIT: Final = 60
"""How often a function may call itself under a tensor condition before it counts as endless."""


class _Converted(Callables):
    """What converted code calls."""

    def of(self, callee: object) -> Any:
        if type(callee) is types.FunctionType:
            return self.function(callee)
        found = None if is_view(callee) else _special(callee)
        return super().of(callee) if found is None else found

    def function(self, function: types.FunctionType, owner: object = None) -> Any:
        if hasattr(function, OPEN):  # called by name, it may give a text of the run
            return getattr(function, OPEN)
        return handing_on(function, _function(function, owner), _watch_recursion)

    def method(self, method: types.MethodType) -> Any:
        owner, function = method.__self__, method.__func__
        if isinstance(owner, DynamicList) and not _is_users(function):
            return STAND_INS.of_run(method)
        if isinstance(owner, FixedList | FixedDict) and not _is_users(function):
            return STAND_INS.of_view(method)
        if bridge.is_value(owner) or isinstance(owner, Choice):
            return _tensor_method(owner, method)
        if bridge.is_eager(owner) and current() is not None:
            check_dense(owner)
            name = function.__name__
            if inplace.is_inplace(name):
                return inplace.method(owner, name)
            if name in tensor_methods.OF_THE_RUN:
                return _tensor_method(owner, method)
            if tensor_methods.is_computed(function):
                return self.method(getattr(as_value(owner), name))
        if isinstance(owner, _STACKS) and function.__name__ in ("callback", "push"):
            return functools.partial(_at_exit, method)
        if isinstance(owner, logging.Logger) and function.__name__ in messages.LOG_METHODS:
            return messages.log_(method)
        if not isinstance(function, types.FunctionType):
            return types.MethodType(call(function), owner)
        if is_dataclass_instance(owner) and _is_written(function):
            return functools.partial(_written, method)
        converted = self.function(function, owner)
        return method if converted is function else types.MethodType(converted, owner)

    def layer(self, layer: paddle.nn.Layer) -> Any:
        # The class's __call__ converts while a program is captured.
        return layers.layer_outside(layer, call) if current() is None else layer

    def builtin(self, callee: Any) -> Any:
        capture = current()
        if capture is None:
            return self.other(callee)
        owner = owner_of(callee)
        if bridge.is_eager(owner) and inplace.is_inplace(callee.__name__):
            return inplace.method(owner, callee.__name__)  # one that is written in C
        if isinstance(owner, type) and issubclass(owner, paddle.autograd.PyLayer):
            return functools.partial(py_layers.apply, owner, call)
        if isinstance(callee, type) and capture.adopt is not None:
            capture.adopt(callee)
            if is_looked_up(callee):
                return functools.partial(member_of, callee)
            if issubclass(callee, paddle.distribution.Distribution):
                return functools.partial(_of_values, callee)
            if _makes_empty_objects(callee) and callee not in capture.pools:
                return functools.partial(_made, capture, callee)
            if issubclass(callee, CONTAINERS) and is_user_class(callee):
                return functools.partial(_filled, capture, callee)
        if callee in capture.pools:
            make = self.other(callee)
            return lambda *given, **options: pooled(make(*given, **options))
        return self.other(callee)

    def other(self, callee: object) -> Any:
        return plain(callee, call)


_STACKS: Final = (contextlib.ExitStack, contextlib.AsyncExitStack)


def _at_exit(
    method: Callable[..., Any], given: object, /, *arguments: object, **options: object
) -> Any:
    """``stack.callback(f)`` and ``stack.push(f)``, which Python itself calls when it leaves."""
    if hasattr(type(given), "__exit__"):  # Python asks the class for it
        return method(given, *arguments, **options)
    method(call(given), *arguments, **options)
    return given


def _named_method(caller: operator.methodcaller) -> Callable[[Any], Any]:
    """``operator.methodcaller("f", 1)``: ``lambda thing: thing.f(1)``."""
    made: Any = caller.__reduce__()
    held = functools.partial(made[0], *made[1])
    name, *arguments = held.args
    return lambda thing: call(getattr(thing, name))(*arguments, **held.keywords)


_CONVERTED: Final = _Converted()


def call(function: object) -> Any:
    """The function to call in place of ``function``."""
    return _CONVERTED.of(function)


def _special(callee: Any) -> Any:
    """What stands for ``callee`` whatever its kind is; ``None`` if nothing does."""
    capture = current()
    if callee is breakpoint or (capture is not None and breakpoints.is_stop(callee)):
        return breakpoints.stop(callee)
    if capture is not None and random_numbers.uses_generator(callee):
        return functools.partial(random_numbers.drawn, callee)
    if capture is not None and streams.writes(callee):
        return functools.partial(streams.write, callee)
    if capture is not None and random_numbers.makes_generator(callee):
        return functools.partial(random_numbers.seeded, callee)
    if capture is not None and _is_next(callee):
        return functools.partial(call(next), callee.__self__)
    reaches = None if capture is None else world.reached_by(callee)
    if reaches is not None:
        return reaches
    if capture is not None and is_weak(callee):
        return functools.partial(_weak, callee)
    if type(callee) is types.MethodType:
        return None
    if type(callee) is _CACHED and capture is not None:
        return functools.partial(_remembered, callee)
    if isinstance(callee, Choice):
        method = _method_of_lists(callee)
        if method is not None:
            return functools.partial(call(method), _owners(callee))
        return functools.partial(each_called, call, callee)
    if type(callee) is operator.methodcaller and capture is not None:
        return _named_method(callee)
    if isinstance(callee, bridge.PaddlesFunction):
        return STAND_INS.of(callee) or call(callee.dygraph_function)
    return STAND_INS.of(callee)


def _is_next(callee: object) -> bool:
    return type(callee) is types.MethodWrapperType and callee.__name__ == "__next__"


def _method_of_lists(callee: Choice) -> Any:
    """The one method of the user's, of one of several lists or dicts, that is to be called.

    It is called with the choice, which changes as a choice of them does in a function.
    """
    found = callee.leaves()
    method = getattr(found[0], "__func__", None)
    if type(method) is not types.FunctionType or "__class__" in method.__code__.co_freevars:
        return None
    same = all(type(each_) is types.MethodType and each_.__func__ is method for each_ in found)
    return method if same and all(is_mutable(each_.__self__) for each_ in found) else None


def _owners(callee: Any) -> Any:
    """What a method, or one of several, is bound to."""
    if isinstance(callee, Choice):
        return callee.like(_owners(callee.true), _owners(callee.false))
    return callee.__self__


_LOGGING: Final = frozenset(getattr(logging, name) for name in messages.LOG_METHODS)


def _makes_empty_objects(kind: type) -> bool:
    """Whether ``kind`` has no ``__init__`` of the user's that would tell of a new object."""
    if kind is types.SimpleNamespace:
        return True
    plain = vars(object)
    if all(getattr(kind, name) is plain[name] for name in ("__init__", "__new__")):
        return True
    holds = any(kind.__new__ is each.__new__ for each in _HOLDING) or hasattr(kind, "_make")
    own = type(attribute(kind, "__init__")) is types.FunctionType  # which tells by itself
    return holds and is_user_class(kind) and not own


_HOLDING: Final = (list, dict, set, frozenset, tuple, collections.deque)


def _of_values(kind: type, *arguments: object, **options: object) -> Any:
    """``kind(...)``, of a class that asks for tensors of the program by their type."""
    given = [as_value(each) if bridge.is_eager(each) else each for each in arguments]
    named = {key: as_value(it) if bridge.is_eager(it) else it for key, it in options.items()}
    return kind(*given, **named)


def _weak(callee: Any, *_: object, **__: object) -> Any:
    name = attribute(callee, "__qualname__") or type(callee).__qualname__
    raise error_here(UnsupportedInGraphError, weak_cause(f"weakref ({name}())"), WEAK_CURE)


def _is_users(function: object) -> bool:
    """Whether ``function`` is no method of ours, and none that a capture has given a class."""
    code = getattr(function, "__code__", None)
    return code is not None and not is_ours(code.co_filename)


def _is_written(function: types.FunctionType) -> bool:
    """Whether ``dataclasses`` has written ``function``, an ``__init__``: it has no source."""
    adopted = is_ours(function.__code__.co_filename)
    inner = getattr(function, "__wrapped__", function) if adopted else function
    return function.__name__ == "__init__" and inner.__code__.co_filename == "<string>"


def _written(method: types.MethodType, *arguments: object, **options: object) -> Any:
    """An ``__init__`` that ``dataclasses`` has written; the factories that it calls are converted.

    It has them from the function around it, under names such as ``_dflt_x``.
    """
    function = inspect.unwrap(method.__func__)
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    factories = [
        (cell, cell.cell_contents)
        for name, cell in cells
        if "dflt" in name and type(cell.cell_contents) in _FACTORIES
    ]
    for cell, make in factories:
        cell.cell_contents = call(make)
    try:
        return method(*arguments, **options)
    finally:
        for cell, make in factories:
            cell.cell_contents = make


_FACTORIES: Final = (
    *(types.FunctionType, types.MethodType, types.MethodWrapperType),
    functools.partial,
)
"""The types of what may do more than make an object."""


class Factories:
    """What a ``defaultdict`` from outside calls for a missing key, converted until :meth:`undo`."""

    def __init__(self) -> None:
        self._known: list[tuple[Any, Any]] = []

    def convert(self, table: object, path: str, add: Callable[[Any, str], None]) -> None:
        """Convert the factory of ``table``, if that is a dict with one, and no class.

        Args:
            table: a container.
            path: how a reader would write it.
            add: watches what it is given, and what can be reached from there.
        """
        if not isinstance(table, collections.defaultdict):
            return
        make: Any = table.default_factory
        if type(make) in _FACTORIES:
            self._known.append((table, make))
            table.default_factory = functools.partial(_converted, make)
            add(make, f"{path}.default_factory")

    def undo(self) -> None:
        """Give them back."""
        while self._known:
            table, make = self._known.pop()
            table.default_factory = make


def _converted(make: Callable[[], object]) -> object:
    return (make if current() is None else call(make))()


def _made(capture: Capture, kind: type, *arguments: object, **options: object) -> Any:
    fresh = kind(*arguments, **options)
    if is_user_object(fresh) or is_user_class(type(fresh)) or slots_of(type(fresh)):
        capture.born[id(fresh)] = fresh
    return fresh


def _filled(capture: Capture, kind: type, *arguments: object, **options: object) -> Any:
    """``kind(...)``, a container that a branch or loop in its ``__init__`` may have replaced."""
    capture.making = kind
    fresh = kind(*arguments, **options)
    return capture.begun.pop(id(fresh), (fresh, fresh))[1]


_CACHED: Final = type(functools.lru_cache(lambda: None))


def _remembered(function: Any, *arguments: object, **options: object) -> Any:
    """A function under ``functools.lru_cache``: what it remembers is made in dygraph.

    With tensors of the program, which are others on each call, nothing would be found again: what
    it gives for them is remembered while the program is captured.
    """
    inner, capture = function.__wrapped__, current()
    assert capture is not None
    if not (_reaches_program([arguments, options]) or _reaches_program(_cells(inner))):
        known = set(capture.born)
        with bridge.outside_of_capture():
            found = function(*arguments, **options)
        for made in capture.born.keys() - known:  # it is remembered for the calls to come
            del capture.born[made]
        return found
    if not is_outside([arguments, options]):
        return call(inner)(*arguments, **options)
    key = id(function), arguments, tuple(options.items())
    _, blocks, result = capture.remembered.get(key, (None, [], UNBOUND))
    if result is UNBOUND or blocks != capture.blocks[: len(blocks)]:
        result = call(inner)(*arguments, **options)
        capture.remembered[key] = function, list(capture.blocks), result
    return result


def _cells(function: object) -> list[Any]:
    """What a function has from the functions around it."""
    return [
        cell.cell_contents for cell in getattr(function, "__closure__", None) or () if _is_set(cell)
    ]


def _is_set(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is not UNBOUND
    except ValueError:
        return False


def _reaches_program(held: object, depth: int = 2) -> bool:
    """Whether a tensor of the program is in ``held``, or in attributes of objects in it."""
    if not is_outside(held):
        return True
    return depth > 0 and any_leaf(
        lambda leaf: (
            is_user_object(leaf) and _reaches_program(list(attributes_of(leaf).values()), depth - 1)
        ),
        held,
    )


def _function(function: types.FunctionType, owner: object = None) -> Any:
    special = STAND_INS.functions.get(function)
    if special is not None:
        return special
    if function in _LOGGING:
        return messages.log_(function)
    if breakpoints.is_stop(function):
        return breakpoints.stop(function)
    skipped = getattr(function, SKIP, False) or bridge.runs_as_it_is(function)
    if skipped or stays(function):
        if current() is not None and _changes_argument(function):
            return inplace.function(function)
        chooses = None if current() is None else _dispatch_of(function)
        if chooses is not None:
            return functools.partial(_dispatched, chooses)
        wrapped = _rewrapped(function, owner)
        if wrapped is not None:
            return wrapped
        return world.reached_by(function) or plain(function, call)
    converted = converter().convert(function)
    _watch_recursion(function, converted)
    capture = current()
    if capture is not None and capture.on_call is not None:
        note_function(function)
        capture.on_call(function, owner, converted)
        if owner is not None and capture.adopt is not None:
            capture.adopt(owner)
    return converted


def _rewrapped(function: types.FunctionType, owner: object) -> Any:
    """A library's wrapper of a user's function, as ``paddle.no_grad()`` makes it, converted."""
    inner = getattr(function, "__wrapped__", None)
    if not isinstance(inner, types.FunctionType) or is_library(inner.__code__.co_filename):
        return None
    return rewrapped(function, inner, _function(inner, owner))


def _changes_argument(function: types.FunctionType) -> bool:
    """Whether ``function`` is one of Paddle that changes its first argument, as ``relu_``."""
    home = getattr(function, "__module__", None) or ""
    return home.startswith("paddle") and inplace.is_inplace(function.__name__)


def _dispatch_of(function: types.FunctionType) -> Callable[[Any], Any] | None:
    """What chooses by type, for ``functools.singledispatch`` and ``singledispatchmethod``."""
    if hasattr(function, "dispatch") and hasattr(function, "registry"):
        chooses: Callable[[Any], Any] = function.dispatch
        return chooses
    code = function.__code__
    if code.co_filename != functools.__file__ or code.co_name != "_method":
        return None
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    held = {name: cell.cell_contents for name, cell in cells.items()}
    dispatch = held["dispatch"] if "dispatch" in held else held["self"].dispatcher.dispatch
    return lambda kind: dispatch(kind).__get__(held["obj"], held["cls"])


def _dispatched(
    chooses: Callable[[Any], Any], first: object, *arguments: object, **options: object
) -> Any:
    """A function that is chosen by the type of its argument: by what dygraph has there."""
    if isinstance(first, Choice):
        return each(lambda found: _dispatched(chooses, found, *arguments, **options), first)

    def chosen(kind: object) -> Any:
        return call(chooses(kind))(first, *arguments, **options)

    return each(chosen, type_(first))


def _tensor_method(owner: object, method: Any) -> Any:
    name = method.__name__
    if name in tensor_methods.STOOD_IN:
        stood_in = getattr(paddle, name, None) or getattr(paddle.Tensor, name)
        return functools.partial(STAND_INS.functions[stood_in], owner)
    return tensor_methods.tensor_method(owner, name, call) or plain(method, call)


def _watch_recursion(function: types.FunctionType, converted: types.FunctionType) -> None:
    """Refuse endless capture: a function that calls itself under a tensor condition (E3)."""
    capture = current()
    if capture is None or not capture.guarded:
        return
    code, count = converted.__code__, 0
    frame: types.FrameType | None = sys._getframe(2)
    while frame is not None:
        count += frame.f_code is code or frame.f_code == code
        if count > RECURSION_LIMIT:
            raise error_here(
                TensorRecursionError,
                f"{function.__name__!r} calls itself under a condition that only the run can "
                "decide",
                "write the recursion as a while loop",
            )
        frame = frame.f_back


STAND_INS: Final = StandIns(call)
