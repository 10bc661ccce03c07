"""Gradient hooks that the user's code sets on results of programs.

Paddle calls those of all results of a node before it runs the node, with ``None`` where other
results alone have gradients; dygraph does not call them then.  Of a ``PyLayer`` it ignores what
they return (Paddle 3.3.1), so those are called by the ``PyLayer`` itself.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable
from typing import Any, Final

from d2s.paddle_bridge.names import EagerTensor, hook_gradient

_HOOKS: Final = "d2s_hooks"
_LAST: Final = "d2s_last_hook"
_APPLIED: Final = "d2s_applied_hooks"

_numbers: Final = itertools.count(1 << 62)
"""For hooks that Paddle has none for."""

Hook = Callable[[Any], Any]


class ResultHooks:
    """The hooks on one result of a ``PyLayer``.

    Args:
        tensor: the result.
    """

    def __init__(self, tensor: Any) -> None:
        self._hooks: dict[int, Hook] = {}
        setattr(tensor, _APPLIED, self)

    def add(self, hook: Hook) -> int:
        """Call ``hook``, too; the number to remove it by."""
        number = next(_numbers)
        self._hooks[number] = hook
        return number

    def remove(self, number: int) -> bool:
        """Call it no more; whether it was there."""
        return self._hooks.pop(number, None) is not None

    def applied(self, gradient: Any) -> Any:
        """What the hooks make of a gradient."""
        for hook in [*self._hooks.values()]:
            made = None if gradient is None else hook(gradient)
            gradient = gradient if made is None else made
        return gradient


def _counting_hooks() -> None:
    """Let tensors know how many gradient hooks they have, which Paddle does not tell."""
    register, remove = EagerTensor._register_grad_hook, EagerTensor._remove_grad_hook

    def noting_register(self: Any, hook: Hook) -> Any:
        applied, last = getattr(self, _APPLIED, None), getattr(self, _LAST, None)
        if applied is not None:
            known = applied.add(hook)
        elif last is not None:
            remove(self, last[0])
            known = register(self, _of_gradients(hook))
            setattr(self, _LAST, (register(self, last[1]), last[1]))
        else:
            known = register(self, hook)
        with contextlib.suppress(AttributeError):
            setattr(self, _HOOKS, getattr(self, _HOOKS, frozenset()) | {known})
        return known

    def noting_remove(self: Any, known: Any) -> Any:
        with contextlib.suppress(AttributeError):
            setattr(self, _HOOKS, getattr(self, _HOOKS, frozenset()) - {known})
        applied = getattr(self, _APPLIED, None)
        return remove(self, known) if applied is None else applied.remove(known)

    EagerTensor._register_grad_hook = noting_register
    EagerTensor._remove_grad_hook = noting_remove


_counting_hooks()


def hook_last(tensor: Any, hook: Hook) -> None:
    """Set a gradient hook on the result of a program that is called behind those of the user's."""
    setattr(tensor, _LAST, (hook_gradient(tensor, hook), hook))


def _of_gradients(hook: Hook) -> Hook:
    """``hook``, called with gradients alone."""
    return lambda gradient: None if gradient is None else hook(gradient)


def has_hooks(tensor: Any) -> bool:
    """Whether a dygraph tensor has gradient hooks that were set since d2s was imported."""
    return bool(getattr(tensor, _HOOKS, ()))
