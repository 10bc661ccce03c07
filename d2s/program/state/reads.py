"""What captured code may have read where no record is: modules, classes, functions (rule G2).

The code names globals, cells and attributes.  From the values that stand there the names are
followed: ``settings.rate`` through a module, ``self.rate`` to a class, a default argument to its
function.  Library code is not followed: what a library keeps is its own business.
"""

from __future__ import annotations

import contextvars
import dis
import functools
import itertools
import os
import types
import weakref
from collections.abc import Iterator
from typing import Any, Final

import paddle

from d2s.analysis.reads import ALIKE, COMPARING, OWN, computed_on, reads_in_tree
from d2s.errors import D2SError, UnsupportedInGraphError
from d2s.program.state.places import (
    ABSENT,
    CONTAINERS,
    EVERY,
    PLAIN,
    Member,
    Place,
    Reading,
    Slot,
    keys_of,
)
from d2s.program.state.probes import BUFFERING, WHOLE
from d2s.program.state.tracker import Watch
from d2s.runtime.values import tree
from d2s.runtime.values.objects import (
    WEAK,
    WEAK_CURE,
    dict_of,
    is_library,
    is_user_class,
    weak_cause,
)
from d2s.syntax.source import source_of

_ENVIRONMENT: Final = frozenset(("environ", "getenv", "environb"))

_CACHED: Final = type(functools.lru_cache(lambda: None))

_RUNS_ANOTHER: Final = (
    types.MethodType, types.BuiltinMethodType, types.MethodWrapperType, functools.partial, _CACHED,
)  # fmt: skip
"""Classes of callables that run another function."""

_TABLES: Final = ("_parameters", "_buffers", "_sub_layers")

_HOOKS: Final = ("_forward_pre_hooks", "_forward_post_hooks")

_COMPUTING: Final = frozenset(("__dict__", "getattr", "hasattr", "setattr", "vars"))
"""Names in code that may mean any attribute."""


def explore(watch: Watch) -> list[Place]:
    """Places that the code that ``watch`` has seen may have read; adds records to ``watch``."""
    found: list[Place] = []
    size = -1, -1
    while (len(watch.names), len(watch.whole)) != size:  # a property reads names of its own
        size = len(watch.names), len(watch.whole)
        found = list(_Explorer(watch).places())
    return found


def is_user_function(thing: Any) -> bool:
    """Whether ``thing`` is a Python function of the user's."""
    return isinstance(thing, types.FunctionType) and not is_library(thing.__code__.co_filename)


_LEADS: Final = (
    types.ModuleType, type, types.FunctionType, *_RUNS_ANOTHER, *WEAK,
    contextvars.ContextVar, types.MappingProxyType, paddle.nn.Layer,
)  # fmt: skip
"""Classes of values from which something else is read, besides classes of the user's."""


class _Explorer:
    """Follows names from value to value.

    Args:
        watch: what the capture has seen; its names grow, and its records.
    """

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.names = watch.names
        self.seen: set[int] = set()
        self.kept: list[Any] = []
        self.leading: dict[type, bool] = {}

    def places(self) -> Iterator[Place]:
        """Every place that counts, besides those of the records."""
        if self.names & _ENVIRONMENT:
            yield Reading(os.environ, _environment, "os.environ")
        for function in list(self.watch.called):
            yield from self.function(function, function.__name__)
        for bound, path in list(self.watch.bound):
            yield from self.visit(bound, path, None)
        for place in list(self.watch.opaque.upcoming):
            yield from self.at(place)
        done: set[int] = set()
        while True:
            records = [r for key, r in self.watch.records.items() if key not in done]
            if not records:
                return
            for record in records:
                done.add(id(record.scope))
                if record.object is not None:
                    yield from self.visit(record.object, record.path, None)
                if record.fields or not isinstance(record.scope, set):
                    values = record.before
                    for key, value in tree.pairs(values):
                        if self.leads(type(value)):
                            part = record.entry(key)
                            yield from self.visit(value, part.path, part)

    def leads(self, kind: type) -> bool:
        """Whether anything is read from values of ``kind``; not from numbers and tensors."""
        found = self.leading.get(kind)
        if found is None:
            found = self.leading[kind] = issubclass(kind, _LEADS) or is_user_class(kind)
        return found

    def visit(self, thing: Any, path: str, place: Place | None) -> Iterator[Place]:
        """What is read from ``thing``."""
        if id(thing) in self.seen or not self.leads(type(thing)):
            return
        if isinstance(thing, types.ModuleType):
            yield from self.module(thing, path)
        elif isinstance(thing, type) and is_user_class(thing):
            yield from self.kind(thing, path)
        elif is_user_function(thing):
            yield from self.function(thing, path)
        elif isinstance(thing, _RUNS_ANOTHER):
            yield from self.runs_another(thing, path)
        elif issubclass(type(thing), WEAK):
            self.weak(path, place)
        elif isinstance(thing, contextvars.ContextVar):
            yield from self.at(Reading(thing, _current, path))
        elif isinstance(thing, types.MappingProxyType):
            yield Reading(thing, _pairs, path)
        elif isinstance(thing, paddle.nn.Layer):
            yield from self.layer(thing, path)
        elif is_user_class(type(thing)):
            yield from self.instance(thing, path)

    def weak(self, path: str, place: Place | None) -> None:
        """Weak references that the code names.

        Raises:
            UnsupportedInGraphError: (D2S205) always, but for attributes that it does not name.
        """
        if place is not None and (not place.attribute or place.key in self.names):
            code = self.watch.called[0].__code__
            raise UnsupportedInGraphError(
                weak_cause(f"the weak references of {path!r}"),
                cure=WEAK_CURE,
                file=code.co_filename,
                line=code.co_firstlineno,
            )

    def runs_another(self, thing: Any, path: str) -> Iterator[Place]:
        """A method, a ``partial``, a function that remembers: what it runs, and with what."""
        if isinstance(thing, _CACHED):
            yield from self.native(thing.__wrapped__, path)
        elif isinstance(thing, functools.partial):
            self.note(thing)
            yield from self.visit(thing.func, path, None)
            for name in ("args", "keywords"):
                yield from self.at(Slot(thing, name, f"{path}.{name}"))
        else:
            if isinstance(thing, types.MethodType):
                yield from self.visit(thing.__func__, path, None)
            yield from self.receiver(thing, path)

    def receiver(self, method: Any, path: str) -> Iterator[Place]:
        """The object of a method; a list or dict there has no other name."""
        self.note(method)
        if isinstance(method.__self__, CONTAINERS):
            yield from self.at(Slot(method, "__self__", path))
        else:
            yield from self.new(method.__self__, path, None)

    def note(self, thing: Any) -> None:
        """``thing`` is not visited again; it lives as long as this object."""
        self.seen.add(id(thing))
        self.kept.append(thing)

    def at(self, place: Place) -> Iterator[Place]:
        """``place``, and what is read from the value there."""
        yield place
        yield from self.new(place.get(), place.path, place)

    def new(self, thing: Any, path: str, place: Place | None) -> Iterator[Place]:
        """What is read from a value that no record of the capture holds."""
        self.watch.add(thing, path, place)
        yield from self.visit(thing, path, place)

    def module(self, module: types.ModuleType, path: str) -> Iterator[Place]:
        """A module of the user's: the attributes that are named."""
        file = getattr(module, "__file__", None)
        if (file is not None and is_library(file)) or (file is None and _is_builtin(module)):
            return
        self.note(module)
        for name in sorted(self.names & vars(module).keys()):
            yield from self.at(Place(vars(module), name, f"{path}.{name}"))

    def kind(self, kind: type, path: str) -> Iterator[Place]:
        """A class: the attributes that are named, wherever they are inherited from."""
        self.note(kind)
        own: set[str] = set()
        for base in kind.__mro__:
            if is_user_class(base):
                own |= vars(base).keys()
        special = {name for name in own if name.startswith("__") and name not in _ORDINARY}
        if issubclass(kind, paddle.nn.Layer):
            special.discard("__init__")
        for name in sorted(own & self.names | special):
            place = Member(kind, name, f"{kind.__name__}.{name}")
            value = place.get()
            if name in special and not isinstance(value, types.FunctionType):
                continue
            yield place
            if isinstance(value, property):
                for part in (value.fget, value.fset):
                    yield from self.native(part, place.path, kind)
            elif isinstance(value, classmethod | staticmethod):
                yield from self.visit(value.__func__, place.path, None)
            elif hasattr(type(value), "__get__") and is_user_class(type(value)):
                yield from self.descriptor(value, place)
            elif name in special:
                yield from self.native(value, place.path, kind)
            else:
                yield from self.new(value, place.path, place)

    def descriptor(self, thing: Any, place: Place) -> Iterator[Place]:
        """A descriptor of the user's, whose methods Python calls for an attribute."""
        for base in type(thing).__mro__:
            for name in ("__get__", "__set__"):
                yield from self.native(vars(base).get(name), place.path)
        yield from self.new(thing, place.path, place)

    def instance(self, thing: Any, path: str) -> Iterator[Place]:
        """An object of the user's: its class, its slots, and what it does not have yet."""
        self.note(thing)
        kind = type(thing)
        yield from self.visit(kind, path, None)
        for base in kind.__mro__:
            slots = vars(base).get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                if name in self.names or self.watch.reads_all(thing):
                    yield from self.at(Slot(thing, name, f"{path}.{name}"))
        fields = dict_of(thing)
        if fields is not None:
            yield from self.fields(thing, fields, path)

    def layer(self, layer: Any, path: str) -> Iterator[Place]:
        """A layer: its class if it is the user's, and its hooks."""
        self.note(layer)
        fields = vars(layer)
        for name in _HOOKS:
            hooks = fields.get(name)
            if hooks is not None:
                yield Reading(hooks, keys_of, f"{path}.{name}")
                for hook in hooks.values():
                    yield from self.visit(hook, f"{path}.{name}", None)
        if is_user_class(type(layer)):
            yield from self.visit(type(layer), path, None)
            yield Member(type(layer), "forward", f"{type(layer).__name__}.forward")
            yield from self.fields(layer, fields, path)

    def fields(self, thing: Any, fields: dict[str, Any], path: str) -> Iterator[Place]:
        """Attributes that hide the class's when they are there, or that the code asks for."""
        every = self.watch.reads_all(thing) or hasattr(type(thing), "__getattr__")
        if every and not isinstance(thing, paddle.nn.Layer):
            yield Reading(fields, keys_of, path)
            for name in list(fields):
                yield from self.at(Place(fields, name, f"{path}.{name}"))
        for name in sorted(self.names - fields.keys()):
            if name in self.watch.asked or _hidden(type(thing), name):
                for table in _tables(thing, fields):
                    yield Place(table, name, f"{path}.{name}")

    def function(self, function: Any, path: str) -> Iterator[Place]:
        """A function: its code, its defaults, and its attributes that are named."""
        self.note(function)
        yield Slot(function, "__code__", path)
        for name in ("__defaults__", "__kwdefaults__"):
            if getattr(function, name) is not None:
                yield from self.at(Slot(function, name, f"{path}.{name}"))
            else:
                yield Slot(function, name, f"{path}.{name}")
        for name in sorted(self.names & vars(function).keys()):
            yield from self.at(Place(vars(function), name, f"{path}.{name}"))

    def native(self, function: Any, path: str, kind: type | None = None) -> Iterator[Place]:
        """A function that Python calls by itself, so that it is not converted.

        Args:
            function: it, or whatever stands where one may be.
            path: how a reader would write it.
            kind: the class of what it is called for.
        """
        if not is_user_function(function):
            return
        names = _named(function, kind)
        marks = frozenset(word for mark, word in _WORDS.items() if mark in names)
        if _RECEIVER in names:
            names.discard(_RECEIVER)
            if kind is None:
                names.add(EVERY)
            else:
                self.watch.whole.add(kind)
        if id(function) in self.seen:
            return
        yield from self.function(function, path)
        code = function.__code__
        if function.__name__ not in WHOLE:  # who copies an object that has these names it himself
            self.watch.said |= names & (WHOLE | BUFFERING)
            self.watch.probes.open(marks, kind or object)
        self.names.update(names)
        self.watch.used.update(names)
        self.watch.native |= names - _only_stored(code)
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            yield from self.at(Place(cell, "cell", name))
        for name in code.co_names:
            if name in function.__globals__:
                yield from self.at(Place(function.__globals__, name, name))


def _only_stored(code: types.CodeType) -> set[str]:
    """Names of attributes that code assigns, and names for nothing else."""
    known = _assigned.get(code)
    if known is None:
        known = _assigned[code] = _assigned_by(code)
    return known


def _assigned_by(code: types.CodeType) -> set[str]:
    steps = [(step.opname, step.argval) for step in dis.get_instructions(code)]
    stored = {name for operation, name in steps if operation == "STORE_ATTR"}
    return stored - {name for operation, name in steps if operation != "STORE_ATTR"}


def _named(function: types.FunctionType, kind: type | None) -> set[str]:
    """The names of attributes that a function mentions, with the marks of those that it computes.

    Args:
        function: any.
        kind: the class of what it is called for, if it is a method.
    """
    code = function.__code__
    names = set(code.co_names)
    if not _COMPUTING & names:
        return names
    known = _mentioned.get(code)
    if known is None:
        try:
            tree = source_of(function).tree
        except D2SError:
            return names | {EVERY}
        reads = reads_in_tree(tree)
        known = {*reads.attributes} - {EVERY}, computed_on(tree)
        _mentioned[code] = known
    attributes, computed = known
    names = (names - {EVERY, "__dict__"}) | attributes
    first, *others = code.co_varnames[: code.co_argcount] or ("",)
    alike = function.__name__ in COMPARING and not issubclass(kind or object, paddle.nn.Layer)
    for each in computed:
        names.add(_RECEIVER if each == first else PLAIN if alike and each in others else EVERY)
    return names


_assigned: Final[weakref.WeakKeyDictionary[types.CodeType, set[str]]] = weakref.WeakKeyDictionary()
"""What code assigns alone, for as long as somebody has the code; read often."""


_mentioned: Final[weakref.WeakKeyDictionary[types.CodeType, tuple[set[str], Any]]] = (
    weakref.WeakKeyDictionary()
)
"""The attributes that code mentions, and of what it computes the names of some; read often."""


_RECEIVER: Final = "*self"
"""Any attribute of the object that a method is called for."""

_WORDS: Final = {_RECEIVER: OWN, PLAIN: ALIKE, EVERY: "*"}
"""The marks of attributes whose names are computed, in the words of ``Reads.tables``."""

_ORDINARY: Final = frozenset(
    ("__module__", "__doc__", "__dict__", "__weakref__", "__slots__", "__annotations__")
)


def _is_builtin(module: types.ModuleType) -> bool:
    return getattr(module, "__spec__", None) is not None


def _hidden(kind: type, name: str) -> bool:
    """Whether an attribute of that name would hide one of a class of the user's."""
    for base in kind.__mro__:
        if name in vars(base):
            return is_user_class(base) and not hasattr(type(vars(base)[name]), "__set__")
    return False


def _tables(thing: Any, fields: dict[str, Any]) -> list[dict[str, Any]]:
    """Where an attribute may come to stand: Paddle keeps what a layer is given in one of four."""
    if not isinstance(thing, paddle.nn.Layer):
        return [fields]
    return [fields, *(fields[name] for name in _TABLES if name in fields)]


def _environment(environ: Any) -> Any:
    undecoded = getattr(environ, "_data", environ)
    return tuple(itertools.chain.from_iterable(sorted(undecoded.items())))


def _current(variable: Any) -> Any:
    return variable.get(ABSENT)


def _pairs(proxy: Any) -> Any:
    return tuple(proxy.items())
