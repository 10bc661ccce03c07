"""Code of the user's that runs without a call expression of a converted function.

A property, ``__iter__``, ``__enter__`` or ``__add__`` of a class of the user's, a layer that
``nn.Sequential`` calls, a hook: Python or Paddle calls these, not generated code.  While a program
is captured, the classes of the objects that take part hold forms of these methods that convert
themselves on the first call; they are put back when the capture ends.  Outside of a capture, in
another thread say, these forms call the original.
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import functools
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, Final

import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import (
    ContainerInGraphError,
    NoSourceError,
    SyntaxNotSupportedError,
    UnsupportedInGraphError,
)
from d2s.runtime.aliasing.holders import counted, holders_of, is_held
from d2s.runtime.builtins.handed import unwound
from d2s.runtime.builtins.stepping import (
    GeneratorInSteps,
    SequenceIterator,
    asked,
    expressed,
    has_item,
    has_next,
    item_at,
    items_left,
    next_in,
)
from d2s.runtime.calls.call import call
from d2s.runtime.calls.layers import layer_call
from d2s.runtime.control_flow.cond import if_
from d2s.runtime.control_flow.effects import looking_up
from d2s.runtime.host.text import OPEN, is_dynamic
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.lists.positions import SEQUENCES
from d2s.runtime.loops.while_ import while_
from d2s.runtime.python.comparing import COMPARISONS
from d2s.runtime.python.generators import Step, Take, hand_steps_by, hands, step_of
from d2s.runtime.trace import Capture, current, error_here
from d2s.runtime.values import tree
from d2s.runtime.values.choice import Choice, each
from d2s.runtime.values.fields import CONTAINERS, slot_fields, slots_of
from d2s.runtime.values.objects import (
    COMPARING,
    dict_of,
    is_library,
    is_standard_data,
    is_user_class,
    is_user_object,
    stays,
)
from d2s.runtime.values.tensors import is_tensor
from d2s.runtime.values.unbound import UNBOUND

_LEFT_ALONE: Final = frozenset(
    f"__{name}__"
    for name in [
        "del",
        "init_subclass",
        "set_name",
        "class_getitem",
        "instancecheck",
        "subclasscheck",
        "sizeof",
        "dir",
        "fspath",
    ]
)
"""Methods that no tensor decides, or that Python needs as they are."""

_OF_METACLASSES: Final = frozenset(
    f"__{name}__" for name in ("call", "getitem", "iter", "len", "contains")
)
"""What a class of classes does with its classes while a program is captured."""


class Adoption:
    """The classes whose methods are replaced for the time of one capture."""

    def __init__(self) -> None:
        self._seen: dict[int, type] = {}
        self._saved: list[tuple[type, str, Any]] = []

    def adopt(self, adopted: object) -> None:
        """The class of ``adopted``, or ``adopted`` itself if it is one, and what a layer holds."""
        kind = adopted if isinstance(adopted, type) else type(adopted)
        metaclass: type = type(kind)
        for owner in (*kind.__mro__, *metaclass.__mro__):
            self._class(owner)
        # One that is being made has no layers yet: its ``__init__`` is about to call Paddle's.
        if isinstance(adopted, paddle.nn.Layer) and "_sub_layers" in adopted.__dict__:
            for layer in adopted.sublayers():
                for owner in type(layer).__mro__:
                    self._class(owner)
        fields = dict_of(adopted)
        if fields is not None and not isinstance(adopted, type):
            for value in list(fields.values()):
                for owner in type(value).__mro__:
                    self._class(owner)

    def _class(self, owner: type) -> None:
        if id(owner) in self._seen:
            return
        self._seen[id(owner)] = owner
        if not _is_users(owner):
            return
        for name, member in list(vars(owner).items()):
            self._descriptor(type(member))
            if issubclass(owner, type) and name not in _OF_METACLASSES:
                continue
            replaced = _converting(name, member)
            if replaced is not member:
                self._replace(owner, name, member, replaced)

    def _descriptor(self, kind: type) -> None:
        """The class of what a class holds, if Python calls methods of it for the objects."""
        if hasattr(kind, "__get__") or hasattr(kind, "__set__"):
            for owner in kind.__mro__:
                self._class(owner)

    def _replace(self, owner: type, name: str, member: object, replaced: object) -> None:
        try:
            bridge.set_method(owner, name, replaced)
        except (AttributeError, TypeError):  # a class that lets nobody set anything
            return
        self._saved.append((owner, name, member))

    def give_back(self) -> None:
        """Put every method back."""
        while self._saved:
            owner, name, member = self._saved.pop()
            bridge.set_method(owner, name, member)


def _is_users(owner: type) -> bool:
    if owner is type or issubclass(owner, enum.Enum):
        return False
    home = getattr(owner, "__module__", "")  # Paddle's PyLayer has none
    module = sys.modules.get(home)
    file = getattr(module, "__file__", None)
    if module is None:  # made by ``exec``, say
        return any(
            isinstance(member, types.FunctionType) and not is_library(member.__code__.co_filename)
            for member in vars(owner).values()
        )
    if file is None:
        return home not in sys.builtin_module_names
    return not is_library(file) or is_standard_data(owner)


def _converting(name: str, member: object) -> Any:
    if isinstance(member, property):
        parts = [None if part is None else _lazily(part) for part in (member.fget, member.fset)]
        return property(parts[0], parts[1], member.fdel, member.__doc__)
    if isinstance(member, functools.cached_property):
        return _Cached(member, name)
    if name == "__new__" and isinstance(member, staticmethod):
        return staticmethod(_lazily(member.__func__))
    if isinstance(member, types.FunctionType) and name.startswith("__") and name.endswith("__"):
        if name == "__getitem__":
            return bridge.stand_in(member, _lazily)
        return member if name in _LEFT_ALONE else _lazily(member)
    return member


class _Cached(functools.cached_property[Any]):
    """A ``cached_property`` while a program is captured, where only some runs may have its value.

    Python's is asked only for objects without the attribute, and a branch that has read it on one
    side leaves an attribute that is not bound on the other one.
    """

    def __init__(self, member: functools.cached_property[Any], name: str) -> None:
        super().__init__(member.func)
        self.member = member
        self.name = name

    def __get__(self, owner: Any, kind: type | None = None) -> Any:  # type: ignore[override]
        if owner is None:
            return self.member
        value = owner.__dict__.get(self.name, UNBOUND)
        if isinstance(value, Choice) and any(leaf is UNBOUND for leaf in value.leaves()):
            known = value.spread(lambda leaf: self if leaf is UNBOUND else leaf)
            use = functools.partial(self._known_or_computed, owner)
            return each(use, known, none=True, changes=True)
        return self._known_or_computed(owner, self if value is UNBOUND else value)

    def _known_or_computed(self, owner: Any, value: object) -> Any:
        if value is self:
            compute = types.MethodType(self.member.func, owner)
            value = owner.__dict__[self.name] = (compute if current() is None else call(compute))()
        return value

    def __set__(self, owner: Any, value: object) -> None:
        owner.__dict__[self.name] = value

    def __delete__(self, owner: Any) -> None:
        if owner.__dict__.pop(self.name, UNBOUND) is UNBOUND:
            raise AttributeError(self.name)


def _is_new(made: object) -> bool:
    """Whether ``made``, whose ``__init__`` is called, has nothing in it yet."""
    held = is_user_object(made) or isinstance(made, paddle.nn.Layer)
    filled = isinstance(made, CONTAINERS) and is_user_class(type(made)) and not tree.size(made)
    if not (held or filled or slots_of(type(made))):
        return False
    return not dict_of(made) and not slot_fields(made)


def _is_begun(made: object) -> bool:
    """Whether the ``__init__`` of ``made`` is under way, which code that stays Python has called.

    It may be that of a class of which only a base is known here, by its ``__setattr__``.
    """
    code = getattr(type(made).__init__, "__code__", None)
    frame: types.FrameType | None = sys._getframe(2)
    for _ in range(_NEAR):
        if frame is None:
            return False
        if frame.f_code is code:
            return frame.f_locals.get(code.co_varnames[0]) is made
        frame = frame.f_back
    return False


_NEAR: Final = 8
"""So many frames may be between the ``__init__`` of an object and what it calls to fill it."""


def _lazily(function: object) -> Any:
    """``function``, converted when it is called during a capture."""
    if not isinstance(function, types.FunctionType) or stays(function):
        return function

    begins, makes = function.__name__ == "__init__", function.__name__ == "__new__"
    fills = function.__name__ in ("__setattr__", "__setitem__")
    looks = function.__name__ in ("__getattr__", "__getattribute__")
    takes = function.__name__ == "__next__"
    plain = function.__name__ in ("__format__", "__hash__", "__repr__", "__str__")

    def make(*arguments: object, **options: object) -> Any:
        capture = current()
        if capture is None or (looks and str(arguments[1]).startswith("__")):
            return function(*arguments, **options)
        if (begins or (fills and _is_begun(arguments[0]))) and _is_new(arguments[0]):
            capture.born[id(arguments[0])] = arguments[0]
        try:
            bound = types.MethodType(function, arguments[0])
            converted = functools.partial(call(function), arguments[0]) if makes else call(bound)
        except (NoSourceError, SyntaxNotSupportedError):  # made by exec, as for data classes
            symbol = COMPARING.get(function.__name__)
            if symbol is not None and dataclasses.is_dataclass(arguments[0]):
                return _by_fields(symbol, *arguments)
            return function(*arguments, **options)
        use = functools.partial(converted, *arguments[1:], **options)
        with looking_up() if looks else contextlib.nullcontext():
            return _begin(capture, arguments[0], use) if begins else use()

    @functools.wraps(function)
    def run(*arguments: object, **options: object) -> Any:
        if takes and current() is not None:
            return _next_in_python(arguments[0])
        found = make(*arguments, **options)
        if plain and current() is not None and is_dynamic(found):
            raise error_here(
                UnsupportedInGraphError,
                f"a tensor decides what {function.__name__} gives, which Python asks for while the "
                "program is captured",
                "give what the tensor decides by a method of another name",
            )
        return found

    if plain or takes:
        setattr(run, OPEN, make)
    return run


def _next_in_python(iterator: object) -> Any:
    """The next item for code that stays Python, which goes on until ``StopIteration``.

    Raises:
        UnsupportedInGraphError: (D2S205) a tensor decides whether there is one.
    """
    found, item = call(asked)(iterator)
    if found is True:
        return item
    if found is False:
        raise StopIteration
    raise error_here(
        UnsupportedInGraphError,
        "a tensor decides whether an iterator has another item, which code that stays Python asks "
        "for",
        "iterate in a for statement, a comprehension or list()",
    )


def _begin(capture: Capture, made: object, initialize: Callable[[], Any]) -> Any:
    """What ``__init__`` returns, and a note of what has taken the place of the container it fills.

    A branch or loop in it leaves another list, which nobody has a name for: Python's own code calls
    ``__init__`` and goes on with what it had.

    Raises:
        ContainerInGraphError: (D2S207) code that stays Python makes it.
    """
    if not isinstance(made, CONTAINERS):
        return initialize()
    expected, capture.making = capture.making is type(made), None
    result, became = _filled(made, initialize)
    if became is not made:
        capture.begun[id(made)] = made, became
        if not expected and not holders_of(became):
            raise error_here(
                ContainerInGraphError,
                f"a tensor decides what __init__ puts into a {type(made).__name__} that code that "
                "stays Python makes",
                f"call {type(made).__name__}() by itself in the converted function",
            )
    return result


@counted("the_new_one")
def _filled(the_new_one: object, initialize: Callable[[], Any]) -> tuple[Any, Any]:
    result = initialize()
    return result, the_new_one


def _by_fields(symbol: str, left: Any, right: Any) -> Any:
    """A comparison that ``dataclasses`` has made: of the fields, as tuples."""
    if type(left) is not type(right):
        return NotImplemented
    names = [field.name for field in dataclasses.fields(left) if field.compare]
    parts = [tuple(getattr(side, name) for name in names) for side in (left, right)]
    return COMPARISONS[symbol](*parts)


@contextlib.contextmanager
def methods(capture: Capture) -> Iterator[None]:
    """For the time of a capture: see the module's text."""
    adoption = Adoption()
    original: Callable[..., Any] = paddle.nn.Layer.__call__

    def layer(self: Any, *arguments: object, **options: object) -> Any:
        if current() is None:
            return original(self, *arguments, **options)
        return layer_call(self, call, original, arguments, options)

    capture.adopt = adoption.adopt
    paddle.nn.Layer.__call__ = layer
    try:
        yield
    finally:
        paddle.nn.Layer.__call__ = original
        capture.adopt = None
        adoption.give_back()


# -- generators in steps -------------------------------------------------------------------------


def stepped(go_on: Callable[..., Step], names: tuple[str, ...], returns: bool) -> Any:
    """A generator of which ``go_on`` goes on to the next ``yield``."""
    return call(GeneratorInSteps)(go_on, names, returns)


def begun(things: object) -> Any:
    """What a ``for`` statement of such a generator goes over: a sequence, or an iterator."""
    if type(things) in (enumerate, zip) and not is_held(things):
        things = unwound(call, things)
    return things if _are_sequences(things) else call(iter)(things)


def _are_sequences(things: object) -> bool:
    leaves = things.leaves() if isinstance(things, Choice) else [things]
    return all(
        type(leaf) in (*SEQUENCES, DynamicList) or (is_tensor(leaf) and list(leaf.shape))
        for leaf in leaves
    )


def next_asked(items: object, position: object = 0) -> tuple[Any, Callable[[], Any]]:
    """Whether there is another item, and what gives it.

    Args:
        items: a sequence, or an iterator.
        position: how many items of the sequence have been taken.
    """
    if _are_sequences(items):
        return call(has_item)(items, position), lambda: call(item_at)(items, position)
    if isinstance(items, GeneratorInSteps):
        step = step_of(items)
        return step.found, step.get
    if type(items) is SequenceIterator:
        return call(has_next)(items), lambda: call(next_in)(items)
    found, item = (None, None) if isinstance(items, Choice) else call(asked)(items)
    if type(found) is not bool:
        raise error_here(
            UnsupportedInGraphError,
            "a generator goes over an iterator of which a tensor decides what it is, or whether it "
            "has another item",
            "make a list of its items before",
        )
    return found, lambda: item


def _nothing() -> Iterator[object]:
    """A generator that stands for one whose items are handed on."""
    yield from ()


def _left_in(things: object) -> Any:
    """The items that are left of an iterator in Python, as a generator that hands them on."""
    if not isinstance(things, GeneratorInSteps):
        return call(items_left)(things)

    def run(take: Take) -> None:
        done: Any = False

        def trip() -> None:
            more, get = next_asked(things)

            def taken() -> None:
                nonlocal done
                done = take(get())

            def over() -> None:
                nonlocal done
                done = True

            if_(more, taken, over, ("done",))

        while_(lambda: True, trip, ("done",), lambda: done)

    return hands(iter(_nothing()), run)


hand_steps_by(_left_in, lambda *parts: call(expressed)(*parts))
