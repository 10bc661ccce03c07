"""State around a call: noted before it, put back after it, and seen as facts in between.

What counts is what the function can reach by name: the object that it is a method of, the cells of
its closure, the globals that its code names, and the same of the user's functions and classes
among them.  From there on lists, dicts, sets, objects of user classes, layers, tensors and NumPy
arrays are followed.  Random generators are part of it.
"""

from __future__ import annotations

import collections
import functools
import inspect
import io
import operator
import types
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import numpy as np
import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import NotCheckableError
from d2s.runtime.calls.callables import call_method
from d2s.runtime.host.generators import GENERATORS, set_state, state_of
from d2s.runtime.values.objects import is_library, is_user_class
from d2s.runtime.values.tree import is_dataclass_instance, is_tuple, parts, refill
from d2s.selfcheck.generators import random_states, set_random_states
from d2s.selfcheck.iterators import Copies
from d2s.selfcheck.values import Fact, array_of, facts, fields_of, tensors_in

_ABSENT: Final = object()

_CONTAINERS: Final = (list, dict, set, collections.deque)

_TOOLS: Final = frozenset({"pytest", "_pytest", "pluggy", "hypothesis", "coverage", "IPython"})
"""Packages that run what is checked: what they keep changes by itself, and there is much of it."""

_PLAIN: Final = (bool, int, float, complex, str, bytes, type(None))

Undo = Callable[[], None]


def _constant(thing: Any) -> Callable[[], Any]:
    return lambda: thing


class Snapshot:
    """What there was before a call.

    Args:
        function: the user's function, method or callable object.
        arguments: the arguments of the call by name; what is copied of them is no state.
    """

    def __init__(self, function: Any, arguments: dict[str, Any]) -> None:
        self.tensors: dict[int, Any] = {}
        self._roots: dict[str, Callable[[], Any]] = {}
        self._undo: list[Undo] = []
        self._seen: dict[int, Any] = {}
        self._numbers: dict[int, Any] = {}
        self._functions: set[int] = set()
        self._iterators = Copies()
        self._named: set[tuple[int, str]] = set()
        self._globals: dict[str, Any] = getattr(plain_of(function), "__globals__", {})
        self._callable(function)
        self._arguments = arguments
        self._random = random_states()
        for name, value in arguments.items():
            self._objects(name, value)

    # -- before ----------------------------------------------------------------------------------

    def holds(self, thing: Any) -> bool:
        """Whether ``thing`` is part of the state, and so not to be copied."""
        return id(thing) in self._seen

    def _root(self, path: str, get: Callable[[], Any]) -> None:
        thing = get()
        while path in self._roots:
            if self._roots[path]() is thing:
                return
            path += "'"
        self._roots[path] = get
        self._visit(path, thing)

    def _objects(self, path: str, thing: Any) -> None:
        """Objects among the arguments: they are not copied, so they are state."""
        held = parts(thing) if not is_dataclass_instance(thing) else None
        if held is not None:
            for step, item in held[0]:
                self._objects(path + step, item)
        elif bridge.is_eager(thing):
            if _is_parameter(thing):
                self._root(path, lambda: thing)
        elif not isinstance(thing, np.ndarray):
            if _is_function(thing):
                self._callable(thing)
            elif is_user_class(type(thing)) or isinstance(thing, paddle.nn.Layer):
                self._root(path, lambda: thing)

    def _callable(self, function: Any) -> None:
        """What a function of the user's, or one that wraps it, can reach."""
        plain = plain_of(function)
        owner = getattr(function, "__self__", None)
        if isinstance(function, paddle.nn.Layer) or (
            call_method(function) is plain and plain is not None
        ):
            owner = function  # an object with __call__
        if owner is not None and not isinstance(owner, types.ModuleType):
            self._root(owner.__name__ if isinstance(owner, type) else "self", _constant(owner))
        if isinstance(function, functools.partial):
            for index, item in enumerate((*function.args, *function.keywords.values())):
                self._root(f"argument {index} of the partial", _constant(item))
            self._callable(function.func)
        elif plain is not None:
            self._function(plain)

    def _function(self, function: types.FunctionType) -> None:
        code = function.__code__
        if id(function) in self._functions or is_library(code.co_filename) or _is_tools(function):
            return
        self._functions.add(id(function))
        self._seen[id(function)] = function
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            self._cell(name, cell)
        wrapped = getattr(function, "__wrapped__", None)
        if wrapped is not None:
            self._visit("", wrapped)
        names = frozenset(_names(code))
        for name in sorted(names):
            self._global(function.__globals__, name, names)
        for item in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            if not isinstance(item, _PLAIN):
                self._root(f"a default of {function.__name__}", _constant(item))

    def _cell(self, name: str, cell: Any) -> None:
        if id(cell) in self._seen:
            return
        self._seen[id(cell)] = cell

        def get() -> Any:
            try:
                return cell.cell_contents
            except ValueError:
                return _ABSENT

        before = get()

        def undo() -> None:
            now = get()
            if now is before:
                return
            if before is _ABSENT:
                del cell.cell_contents
            else:
                cell.cell_contents = before

        self._undo.append(undo)
        self._iterators.add(before, partial(setattr, cell, "cell_contents"))
        self._root(name, get)

    def _global(self, scope: dict[str, Any], name: str, names: frozenset[str]) -> None:
        """A global that code names; of a module those of ``names`` that it has."""
        before = scope.get(name, _ABSENT)
        if isinstance(before, types.ModuleType):
            file = getattr(before, "__file__", None)
            if file is not None and not is_library(file) and not _is_tools(before):
                for key in sorted(names & vars(before).keys()):
                    if not isinstance(vars(before)[key], types.ModuleType):
                        self._global(vars(before), key, names)
            return
        if (id(scope), name) in self._named:
            return
        self._named.add((id(scope), name))

        def undo() -> None:
            if scope.get(name, _ABSENT) is before:
                return
            if before is _ABSENT:
                scope.pop(name, None)
            else:
                scope[name] = before

        self._undo.append(undo)
        self._iterators.add(before, partial(operator.setitem, scope, name))
        path = name if scope is self._globals else f"{scope.get('__name__')}.{name}"
        self._root(path, lambda: scope.get(name, _ABSENT))

    def _visit(self, path: str, thing: Any) -> None:
        """Note ``thing`` and what it holds."""
        if isinstance(thing, _PLAIN) or id(thing) in self._seen or thing is _ABSENT:
            return
        if _is_function(thing):
            self._callable(thing)
            return
        if isinstance(thing, type):
            if _is_users(thing):
                self._seen[id(thing)] = thing
                self._class(thing)
            return
        if isinstance(thing, types.ModuleType | types.CodeType):
            return
        self._seen[id(thing)] = thing
        if bridge.is_eager(thing):
            self._tensor(thing)
        elif isinstance(thing, np.ndarray):
            self._array(thing)
        elif isinstance(thing, GENERATORS):
            self._generator(thing)
        elif isinstance(thing, _CONTAINERS) and not is_user_class(type(thing)):
            self._container(thing)
        elif is_tuple(thing) or isinstance(thing, frozenset):
            for item in thing:
                self._visit(path, item)
        elif isinstance(thing, paddle.nn.Layer):
            self._layer(path, thing)
        elif is_user_class(type(thing)):
            self._object(path, thing)

    def _container(self, thing: Any) -> None:
        before: Any = dict(thing) if isinstance(thing, dict) else list(thing)

        def undo() -> None:
            if isinstance(thing, dict):
                same = list(thing) == list(before) and all(
                    thing[key] is item for key, item in before.items()
                )
            else:
                same = len(thing) == len(before) and all(
                    one is other for one, other in zip(thing, before, strict=True)
                )
            if not same:
                refill(thing, before)

        self._undo.append(undo)
        self._iterators.add_items(thing)
        for item in before.values() if isinstance(before, dict) else before:
            self._visit("", item)

    def _fields(self, table: dict[str, Any]) -> None:
        if id(table) not in self._seen:
            self._seen[id(table)] = table
            self._container(table)

    def _object(self, path: str, thing: Any) -> None:
        own = getattr(thing, "__dict__", None)
        if isinstance(own, dict):
            self._fields(own)
        before = {name: item for name, item in fields_of(thing).items() if name not in (own or {})}

        def undo() -> None:
            for name, item in before.items():
                if getattr(thing, name, _ABSENT) is not item:
                    object.__setattr__(thing, name, item)

        if before:
            self._undo.append(undo)
            for item in before.values():
                self._visit(path, item)
        if isinstance(thing, _CONTAINERS):
            self._container(thing)
        self._visit("", type(thing))

    def _layer(self, path: str, layer: Any) -> None:
        self._fields(layer.__dict__)
        self._visit("", type(layer))

    def _class(self, kind: type) -> None:
        """Class attributes, and what the methods can reach."""
        for owner in kind.__mro__:
            if not _is_users(owner):
                continue
            for name, item in list(vars(owner).items()):
                item = getattr(item, "__func__", item)
                for function in (item.fget, item.fset) if isinstance(item, property) else (item,):
                    if isinstance(function, types.FunctionType):
                        self._function(function)
                    elif _is_function(function):
                        self._callable(function)
                if name.startswith("__") or callable(item) or isinstance(item, property):
                    continue
                if hasattr(type(item), "__get__"):
                    continue
                self._attribute(owner, name, item)

    def _attribute(self, owner: type, name: str, before: Any) -> None:
        def undo() -> None:
            if vars(owner).get(name, _ABSENT) is not before:
                setattr(owner, name, before)

        self._undo.append(undo)
        path = f"{owner.__name__}.{name}"
        self._root(path, lambda: vars(owner).get(name, _ABSENT))

    def _tensor(self, tensor: Any) -> None:
        try:
            numbers = array_of(tensor)
            with paddle.no_grad():
                copy = tensor.detach().clone()
        except Exception:  # it has no numbers yet
            return
        self.tensors[id(tensor)] = tensor
        self._numbers[id(tensor)] = numbers
        stop, leaf = tensor.stop_gradient, tensor.is_leaf
        gradient = tensor.grad if leaf and not stop else None
        before = None if gradient is None else gradient.clone()

        def undo() -> None:
            if not _equal(tensor, copy):
                if leaf and not tensor.is_leaf:
                    tensor.detach_()
                with paddle.no_grad():
                    tensor.set_value(copy)
            if tensor.stop_gradient != stop:
                tensor.stop_gradient = stop
            if leaf and not stop and tensor.grad is not gradient:
                _put_gradient(tensor, before)

        self._undo.append(undo)

    def _array(self, array: Any) -> None:
        before = array.copy()

        def undo() -> None:
            if array.flags.writeable and not np.array_equal(array, before):
                array[...] = before

        self._undo.append(undo)

    def _generator(self, generator: Any) -> None:
        state = state_of(generator)
        self._undo.append(lambda: set_state(generator, state))

    # -- after -----------------------------------------------------------------------------------

    def copies(self) -> dict[str, Any]:
        """The arguments for one call: fresh tensors and containers, objects as they are.

        Raises:
            NotCheckableError: (D2S602) one of them is used up by a call.
        """
        made: dict[int, Any] = {}
        self._iterators.put()
        return {name: self._copy(name, value, made) for name, value in self._arguments.items()}

    def _copy(self, path: str, thing: Any, made: dict[int, Any]) -> Any:
        if isinstance(thing, _PLAIN) or self.holds(thing) or isinstance(thing, types.ModuleType):
            return thing
        if id(thing) in made:
            return made[id(thing)]
        if inspect.isgenerator(thing) or (
            isinstance(thing, collections.abc.Iterator | io.IOBase) and not bridge.is_eager(thing)
        ):
            raise NotCheckableError(
                f"the argument {path} is a {type(thing).__name__}, which one call uses up; the "
                "check has to call the function several times",
                cure="pass a list, or check a function that makes it",
            )
        if bridge.is_eager(thing):
            fresh: Any = _fresh(thing)
        elif isinstance(thing, np.ndarray):
            fresh = thing.copy()
        else:
            held = None if is_dataclass_instance(thing) else parts(thing)
            if held is None:
                return thing
            fresh = held[1]([self._copy(path + step, item, made) for step, item in held[0]])
        made[id(thing)] = fresh
        return fresh

    def facts(self) -> list[Fact]:
        """What is there now."""
        found: list[Fact] = []
        seen: dict[int, str] = {}
        for path, get in self._roots.items():
            thing = get()
            if thing is not _ABSENT and not _is_function(thing) and not isinstance(thing, type):
                found.extend(facts(path, thing, seen, self._known))
        return found

    def _known(self, tensor: Any) -> Any:
        numbers = array_of(tensor)
        before = self._numbers.get(id(tensor)) if id(tensor) in self.tensors else None
        same = before is not None and np.array_equal(before, numbers)
        return before if same else numbers

    def names(self) -> dict[int, str]:
        """How the tensors of the state are reached, by their ids."""
        seen: set[int] = set()
        return {
            id(tensor): name
            for path, get in self._roots.items()
            for name, tensor in tensors_in(path, get(), seen)
        }

    def restart(self) -> None:
        """Put everything back, the random generators too."""
        self.restore()
        set_random_states(self._random)

    def restore(self) -> None:
        """Put everything back but the random generators that all share."""
        for undo in self._undo:
            undo()


def _names(code: types.CodeType) -> Iterator[str]:
    """The globals (and attributes) that ``code`` and the functions in it name.

    Not ``@pytest_ar`` and its like, which nobody can write: they are of a tool that has changed the
    code, as pytest does with ``assert``, and lead to all that the tool keeps.
    """
    yield from filter(str.isidentifier, code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _is_function(thing: Any) -> bool:
    return isinstance(
        thing,
        types.FunctionType
        | types.MethodType
        | types.BuiltinFunctionType
        | functools.partial
        | staticmethod
        | classmethod
        | bridge.PaddlesFunction,
    )


def plain_of(function: Any) -> types.FunctionType | None:
    """The plain function in a method, partial, converted function or callable object."""
    for _ in range(32):
        if isinstance(function, types.FunctionType):
            return function
        original = getattr(function, "d2s_original", None)
        if isinstance(function, types.MethodType | staticmethod | classmethod):
            function = function.__func__
        elif isinstance(function, functools.partial):
            function = function.func
        elif original is not None:
            function = original
        elif isinstance(function, bridge.PaddlesFunction):
            function = function.dygraph_function
        elif isinstance(function, paddle.nn.Layer):
            function = type(function).forward
        else:
            function = call_method(function)
    return None


def _fresh(tensor: Any) -> Any:
    """A leaf with the same contents."""
    with paddle.no_grad():
        copy = tensor.detach().clone()
    copy.stop_gradient = tensor.stop_gradient
    return copy


def _is_users(kind: type) -> bool:
    """Whether a class is the user's; one that C++ has made may lack a module."""
    home = getattr(kind, "__module__", None)
    return isinstance(home, str) and is_user_class(kind) and not _is_tools(kind)


def _is_tools(thing: Any) -> bool:
    """Whether a module, function or class is of what runs the program, such as pytest."""
    home = thing.__name__ if isinstance(thing, types.ModuleType) else thing.__module__
    return str(home).partition(".")[0] in _TOOLS


def _is_parameter(tensor: Any) -> bool:
    """Whether it is a parameter, which is one by being that very object."""
    return hasattr(tensor, "optimize_attr")


def _equal(tensor: Any, copy: Any) -> bool:
    return (
        tensor.dtype == copy.dtype
        and tensor.shape == copy.shape
        and np.array_equal(
            array_of(tensor), array_of(copy), equal_nan=paddle.is_floating_point(tensor)
        )
    )


def _put_gradient(tensor: Any, gradient: Any) -> None:
    now = tensor.grad
    if now is None and gradient is None:
        return
    if now is not None and gradient is not None and _equal(now, gradient):
        return
    tensor.clear_gradient(False)
    if gradient is not None:
        tensor.grad = gradient
