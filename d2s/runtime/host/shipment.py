"""What the run takes out of a program: objects with its tensors in them, put together again."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable, Iterator
from typing import Any

import paddle

from d2s import paddle_bridge as bridge
from d2s.diagnostics.tracebacks import settled
from d2s.errors import NotStaticError
from d2s.runtime.host.text import (
    LISTED,
    PLAIN,
    HostObject,
    HostText,
    formatted_text,
    is_dynamic,
    is_growing,
    members,
)
from d2s.runtime.trace import error_here
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.objects import is_user_object
from d2s.runtime.values.tensors import is_tensor


def _members(error: BaseException) -> Iterator[tuple[str, Any]]:
    """What ``error`` keeps outside of its ``__dict__``: ``errno``, ``__slots__`` and the like."""
    for kind in type(error).__mro__:
        for name, item in vars(kind).items():
            if isinstance(item, types.MemberDescriptorType | types.GetSetDescriptorType) and not (
                name.startswith("__") or name == "args"
            ):
                value = getattr(error, name, None)
                if value is not None:
                    yield name, value


class Shipment:
    """Collects the tensors in some objects, and puts the run's tensors back in their place.

    Attributes:
        values: the tensors.
        kept: those of them that are more than a part of a text.
    """

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.kept: list[Any] = []
        self._around: set[int] = set()

    def pack(self, shown: Any) -> Callable[[tuple[Any, ...]], Any]:
        """A function from the run's tensors to ``shown`` with them in it."""
        if is_tensor(shown):
            if not bridge.is_value(shown):
                return lambda tensors: shown
            self.values.append(shown)
            self.kept.append(shown)
            position = len(self.values) - 1
            return lambda tensors: tensors[position]
        if isinstance(shown, HostObject):
            ((value, _, make),) = shown.parts
            inner = self.pack(value)
            return lambda tensors: make(inner(tensors))
        if isinstance(shown, HostText):
            before = list(self.kept)
            parts = [self.pack(part) for part in shown.parts]
            self.kept = before
            return lambda tensors: formatted_text(tuple(part(tensors) for part in parts))
        if isinstance(shown, Choice):
            flag = self.pack(shown.flag)
            true, false = self.pack(shown.true), self.pack(shown.false)
            return lambda tensors: (true if bool(flag(tensors)) else false)(tensors)
        if isinstance(shown, BaseException) and is_dynamic(shown):
            return self.pack_error(shown)
        if is_growing(shown):
            rows, put = shown.d2s_shown()
            stacks = [self.pack(row) for row in rows]

            def listed(tensors: tuple[Any, ...]) -> Any:
                with paddle.enable_grad():  # items show whether they have a gradient
                    return put([stack(tensors) for stack in stacks])

            return listed
        held = None if id(shown) in self._around else members(shown)
        if held is None:
            return self._whole(shown)
        inside, make = held
        if type(shown) not in LISTED and not is_dynamic(shown):
            return lambda tensors: shown
        self._around.add(id(shown))
        items = [self.pack(item) for item in inside]
        self._around.discard(id(shown))
        return lambda tensors: make([item(tensors) for item in items])

    def _whole(self, shown: object) -> Callable[[tuple[Any, ...]], Any]:
        """``shown`` as it is, if it shows no value of the program that the host cannot put in."""
        known = type(shown) in PLAIN or bridge.is_eager(shown) or is_user_object(shown)
        if not known and bridge.shows_value(repr(shown)):
            raise error_here(
                NotStaticError,
                f"a {type(shown).__name__} with a tensor in it is shown; d2s cannot look into it",
                "show the tensor itself, or put it into a list, a dict or an object of your own",
            )
        return lambda tensors: shown

    def pack_error(self, error: Any) -> Callable[[tuple[Any, ...]], BaseException]:
        """A function from the run's tensors to a fresh exception like ``error``.

        Its ``__init__`` is not called again: it may take other arguments than ``args``.
        """
        if isinstance(error, type):
            return lambda tensors: error()
        arguments = self.pack(tuple(error.args))
        fields = self.pack(dict(vars(error)))
        members = self.pack(dict(_members(error)))
        chain = [
            None if other is None or other is error else self.pack_error(other)
            for other in (error.__cause__, error.__context__)
        ]
        trace = settled(error.__traceback__)

        def rebuilt(tensors: tuple[Any, ...]) -> BaseException:
            base = next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins")
            fresh: BaseException = base.__new__(type(error), *error.args)
            for name, value in members(tensors).items():
                with contextlib.suppress(AttributeError, TypeError):  # read-only ones are there
                    object.__setattr__(fresh, name, value)
            object.__setattr__(fresh, "args", arguments(tensors))
            vars(fresh).update(fields(tensors))
            cause, context = (None if other is None else other(tensors) for other in chain)
            for name, value in (
                ("__cause__", cause),
                ("__context__", context),
                ("__suppress_context__", error.__suppress_context__),
            ):
                object.__setattr__(fresh, name, value)
            object.__setattr__(fresh, "__traceback__", trace)
            return fresh

        return rebuilt
