"""Views of objects that are known by a number: see ``pools``."""

from __future__ import annotations

import abc
import dataclasses
import sys
import weakref
from collections.abc import Callable, Iterable
from typing import Any, Final, cast

import paddle

from d2s.diagnostics.location import is_ours
from d2s.errors import ContainerInGraphError, UnsupportedInGraphError
from d2s.runtime.trace import current, error_here
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.fields import is_computed, set_attributes, slots_of
from d2s.runtime.values.objects import defines, is_user_class, on_class
from d2s.runtime.values.tensors import mark_number
from d2s.runtime.values.tree import any_leaf

_OWN: Final = (
    "__new__", "__init_subclass__", "__getattribute__", "__getattr__", "__setattr__", "__delattr__",
    "__iter__", "__getitem__", "__contains__", "__del__", "__copy__", "__deepcopy__", "__reduce__",
)  # fmt: skip
"""Methods of a class of the user's whose objects stay what they are."""

Numbered = tuple[Any, ...]
"""A view, as tuples see it."""


def pool_of(kind: type) -> Any:
    """The pool of a class, if its objects have one in the present capture."""
    capture = current()
    return None if capture is None else capture.pools.get(kind)


def can_be_pooled(kind: type) -> bool:
    """Whether the objects of a class can be known by a number."""
    if slots_of(kind) or type(kind) not in (type, abc.ABCMeta) or kind.__dictoffset__ == 0:
        return False
    if issubclass(kind, paddle.nn.Layer) or not is_user_class(kind):
        return False
    made = {"__setattr__", "__delattr__"} if is_frozen(kind) else set()
    return not any(defines(kind, name) for name in _OWN if name not in made)


def is_frozen(kind: type) -> Any:
    """Whether a class is a data class whose objects do not change."""
    params = getattr(kind, "__dataclass_params__", None)
    return params is not None and params.frozen


class View:
    """Behaviour of views; a class of views is derived of it, of the user's class and of tuple."""

    d2s_kind: type

    @classmethod
    def _make(cls, items: Iterable[Any]) -> Any:
        return tuple.__new__(cls, items)  # type: ignore[type-var]

    def __getattribute__(self, name: str) -> Any:
        kind = type(self).d2s_kind
        if name == "__class__":
            return kind
        pool = pool_of(kind)
        if pool is not None:
            if name in pool.names:
                return pool.read(self, name)
            if name == "__dict__":
                raise error_here(
                    ContainerInGraphError,
                    f"the attributes of a {kind.__name__}, which one it is a tensor decides, are "
                    "asked for as a dict",
                    "name the attributes",
                )
        return object.__getattribute__(self, name)

    def __setattr__(self, name: str, value: object) -> None:
        kind: Any = type(self).d2s_kind
        pool = pool_of(kind)
        if is_frozen(kind):
            kind.__setattr__(self, name, value)
        elif pool is None or is_computed(kind, name):
            object.__setattr__(self, name, value)
        else:
            pool.write(self, name, value)

    def __delattr__(self, name: str) -> None:
        raise error_here(
            ContainerInGraphError,
            f"an attribute of a {type(self).d2s_kind.__name__}, which one it is a tensor decides, "
            "is deleted",
            "assign None to it",
        )

    def __hash__(self) -> int:
        raise error_here(
            UnsupportedInGraphError,
            f"a {type(self).d2s_kind.__name__}, which one it is a tensor decides, is a key or in a "
            "set",
            "use a number or text that tells it from others",
        )


def _same(self: object, other: object) -> Any:
    if self is other:
        return True
    if not is_view(other):
        return NotImplemented
    return same_object(self, other)


def _differs(self: object, other: object) -> Any:
    same = _same(self, other)
    if isinstance(same, bool):
        return not same
    if same is NotImplemented:
        return same
    return mark_number(paddle.logical_not(same), bool)


def _no_order(self: object, other: object) -> Any:
    return NotImplemented


def _no_operand(self: object, other: object) -> Any:
    return NotImplemented


def _of_tuple(name: str, does: str) -> Callable[..., Any]:
    """What our own code asks of a tuple, and the user's code of an object that has it not."""

    def ask(self: object, *given: object) -> Any:
        if not is_ours(sys._getframe(1).f_code.co_filename):
            if name == "__len__" and defines(kind_of_view(self), name):
                return length_of(self)
            raise TypeError(does.format(kind_of_view(self).__name__))
        return getattr(tuple, name)(self, *given)

    return ask


_OF_TUPLES: Final = {
    "__iter__": "{!r} object is not iterable",
    "__len__": "object of type {!r} has no len()",
    "__getitem__": "{!r} object is not subscriptable",
    "__contains__": "argument of type {!r} is not iterable",
}
"""What a tuple has and an object has not, and what Python says then."""


def length_of(self: object) -> Any:
    """What the ``__len__`` of the user's gives for an object."""
    kind = kind_of_view(self)
    if not defines(kind, "__len__"):
        raise TypeError(f"object of type {kind.__name__!r} has no len()")
    return on_class(kind, "__len__")(self)


def _members(self: object) -> tuple[list[Any], Callable[[list[Any]], Any]]:
    """The attributes of an object that is shown, and what makes its like of others."""
    kind = kind_of_view(self)
    names = pool_of(kind).names
    held = [getattr(self, name) for name in names]
    if any_leaf(_holds_view, held):
        raise error_here(
            ContainerInGraphError,
            f"a {kind.__name__} is shown that holds other objects, which ones a tensor decides",
            "show its attributes",
        )
    return held, lambda found: set_attributes(
        object.__new__(kind), dict(zip(names, found, strict=True))
    )


def _holds_view(thing: object) -> bool:
    return is_view(thing) or (isinstance(thing, Choice) and any(map(is_view, thing.leaves())))


_views: weakref.WeakKeyDictionary[type, type] = weakref.WeakKeyDictionary()


def view_class(kind: type) -> Any:
    """The class of views of objects of ``kind``."""
    known = _views.get(kind)
    if known is None:
        own = {name: vars(View)[name] for name in (
            "_make", "__getattribute__", "__setattr__", "__delattr__",
        )}  # fmt: skip
        equality, order = (_fields_of(kind, name) for name in ("__eq__", "__lt__"))
        if equality == ():
            own |= {"__eq__": _same, "__ne__": _differs}
        elif not defines(kind, "__ne__"):
            own["__ne__"] = object.__ne__  # the opposite of its ``__eq__``; that of tuples is not
        for name in ("__lt__", "__le__", "__gt__", "__ge__"):
            if not defines(kind, name):
                own[name] = _no_order
        own |= dict.fromkeys(
            [name for name in ("__add__", "__mul__", "__rmul__") if not defines(kind, name)],
            _no_operand,
        )
        own |= {name: _of_tuple(name, does) for name, does in _OF_TUPLES.items()}
        if not defines(kind, "__bool__"):
            own["__bool__"] = length_of if defines(kind, "__len__") else lambda self: True
        own |= {
            "__hash__": vars(View)["__hash__"], "d2s_members": _members,
            "d2s_kind": kind, "d2s_equality": equality, "d2s_order": order, "__slots__": (),
            "__module__": kind.__module__, "__qualname__": kind.__qualname__,
        }  # fmt: skip
        known = _views[kind] = type(kind)(kind.__name__, (kind, tuple), own)
    return known


def is_view(thing: object) -> bool:
    """Whether ``thing`` is a view of an object."""
    return hasattr(type(thing), "d2s_kind")


def kind_of_view(view: object) -> type:
    """The class of the user's of whose objects ``view`` is one."""
    made: Any = type(view)
    kind: type = made.d2s_kind
    return kind


def same_object(one: object, other: object) -> Any:
    """Whether two views are of one object."""
    if type(one) is not type(other):
        return False
    mine, theirs = number_of(one), number_of(other)
    return True if mine is theirs else mark_number(mine == theirs, bool)


def number_of(view: object) -> Any:
    """The number of an object in its table."""
    return tuple.__getitem__(cast(Numbered, view), 0)


def _fields_of(kind: type, method: str) -> tuple[str, ...] | None:
    """The attributes that a method of comparison compares, as a data class has it.

    None of a class without it; ``None`` where the user has written it.
    """
    if not defines(kind, method):
        return ()
    found = on_class(kind, method)
    made = dataclasses.is_dataclass(kind) and found.__code__.co_filename == "<string>"
    return tuple(each.name for each in dataclasses.fields(kind) if each.compare) if made else None
