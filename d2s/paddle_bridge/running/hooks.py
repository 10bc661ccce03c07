"""Gradient hooks that the user's code sets on results of programs.

Paddle calls those of all results of a node before it runs the node, with ``None`` where other
results alone have gradients; dygraph does not call them then.  Of a ``PyLayer`` it ignores what
they return (Paddle 3.3.1), so those are called by the ``PyLayer`` itself.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from d2s.paddle_bridge.names import EagerTensor, hook_gradient

_HOOKS: Final = "d2s_hooks"
_RESULT: Final = "d2s_result"

_numbers: Final = itertools.count(1 << 62)
"""For hooks that Paddle has none for."""

Hook = Callable[[Any], Any]
Refusal = Callable[[], Exception]


class _Result:
    """A result of a program, and whether somebody asks for its gradient.

    Args:
        tensor: the result.
        refusal: what is said where its gradient cannot be had.

    Attributes:
        refusal: the same.
        retains: the tensor is to keep its gradient.
        outer: of the tensor that the user's code has in its place.
    """

    def __init__(self, tensor: Any, refusal: Refusal) -> None:
        self._hooks: dict[Any, Hook] = {}
        self.refusal = refusal
        self.retains = False
        self.outer: _Result | None = None
        setattr(tensor, _RESULT, self)

    @property
    def is_watched(self) -> bool:
        """Whether somebody asks for the gradient of the result."""
        outside = self.outer is not None and self.outer.is_watched
        return outside or self.retains or bool(self._hooks)


class ResultHooks(_Result):
    """The hooks on one result of a ``PyLayer``."""

    def add(self, _: Any, hook: Hook) -> int:
        """Call ``hook``, too; the number to remove it by."""
        number = next(_numbers)
        self._hooks[number] = hook
        return number

    def remove(self, _: Any, number: int) -> bool:
        """Call it no more; whether it was there."""
        return self._hooks.pop(number, None) is not None

    def applied(self, gradient: Any) -> Any:
        """What the hooks make of a gradient."""
        for hook in [*self._hooks.values()]:
            made = None if gradient is None else hook(gradient)
            gradient = gradient if made is None else made
        return gradient


class LastHook(_Result):
    """A gradient hook on the result of a program, called behind those of the user's code.

    Args:
        tensor: the result.
        hook: called with its gradient, or ``None``.
        refusal: what is said where the gradient of the result cannot be had.
    """

    def __init__(self, tensor: Any, hook: Hook, refusal: Refusal) -> None:
        super().__init__(tensor, refusal)
        self._hook = hook
        self._known = hook_gradient(tensor, hook)

    def add(self, tensor: Any, hook: Hook) -> Any:
        """Call ``hook`` before, with gradients alone."""
        _remove(tensor, self._known)
        known = hook_gradient(tensor, lambda g: None if g is None else hook(g))
        self._known = hook_gradient(tensor, self._hook)
        self._hooks[known] = hook
        return known

    def remove(self, tensor: Any, known: Any) -> Any:
        """Call it no more."""
        self._hooks.pop(known, None)
        return _remove(tensor, known)


class WatchedResult:
    """A result of a call in dygraph of which it is to be known whether its gradient is asked for.

    Args:
        tensor: the result.
        told: called when it is.
    """

    def __init__(self, tensor: Any, told: Callable[[], object]) -> None:
        self.told = told
        setattr(tensor, _RESULT, self)

    @property
    def retains(self) -> bool:
        """Whether it is to keep its gradient."""
        return False

    @retains.setter
    def retains(self, _: bool) -> None:
        self.told()

    def add(self, tensor: Any, hook: Hook) -> Any:
        """Set a hook of the user's."""
        self.told()
        return hook_gradient(tensor, hook)

    def remove(self, tensor: Any, known: Any) -> Any:
        """Remove it."""
        return _remove(tensor, known)


def result_of(tensor: Any) -> ResultHooks | LastHook:
    """What knows the hooks on the result of a program."""
    found: ResultHooks | LastHook = getattr(tensor, _RESULT)
    return found


@contextlib.contextmanager
def asked_for(tensors: Iterable[Any]) -> Iterator[Refusal | None]:
    """While ``paddle.grad`` is asked for the gradients of ``tensors``; what to say if it fails."""
    results = [getattr(tensor, _RESULT, None) for tensor in tensors]
    before = [each.retains for each in results if each is not None]
    known = [each for each in results if each is not None]
    for each in known:
        each.retains = True
    try:
        yield next((each.refusal for each in known if not isinstance(each, WatchedResult)), None)
    finally:
        for each, retains in zip(known, before, strict=True):
            if not isinstance(each, WatchedResult):
                each.retains = retains


_remove: Final = EagerTensor._remove_grad_hook


def _counting_hooks() -> None:
    """Let tensors know how many gradient hooks they have, which Paddle does not tell."""
    retain = EagerTensor.retain_grads

    def noting_register(self: Any, hook: Hook) -> Any:
        result = getattr(self, _RESULT, None)
        known = hook_gradient(self, hook) if result is None else result.add(self, hook)
        with contextlib.suppress(AttributeError):
            setattr(self, _HOOKS, getattr(self, _HOOKS, frozenset()) | {known})
        return known

    def noting_remove(self: Any, known: Any) -> Any:
        with contextlib.suppress(AttributeError):
            setattr(self, _HOOKS, getattr(self, _HOOKS, frozenset()) - {known})
        result = getattr(self, _RESULT, None)
        return _remove(self, known) if result is None else result.remove(self, known)

    def noting_retain(self: Any) -> Any:
        result = getattr(self, _RESULT, None)
        if result is not None:
            result.retains = True
        return retain(self)

    EagerTensor._register_grad_hook = noting_register
    EagerTensor._remove_grad_hook = noting_remove
    EagerTensor.retain_grads = functools.wraps(retain)(noting_retain)


_counting_hooks()


def has_hooks(tensor: Any) -> bool:
    """Whether a dygraph tensor has gradient hooks that were set since d2s was imported."""
    return bool(getattr(tensor, _HOOKS, ()))
