"""``d2s.patch_paddle``: an unchanged program, whose ``paddle.jit.to_static`` is that of d2s."""

from __future__ import annotations

import functools
import sys
from typing import Any, Final

import paddle

from d2s import api
from d2s.errors import ArgumentsError

_DROPPED: Final = ("build_strategy", "backend")
"""Options of Paddle's ``to_static`` that say how Paddle is to convert and compile."""


class Patch:
    """What ``patch_paddle`` has done; ends with ``undo``, or with its ``with`` statement.

    Attributes:
        left_out: the options of ``to_static`` that d2s has no use for and that were given, by name,
            with how often.
    """

    def __init__(self) -> None:
        self.left_out: dict[str, int] = {}
        self._before: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> Patch:
        return self

    def __exit__(self, *error: object) -> None:
        self.undo()

    def undo(self) -> None:
        """Give Paddle its own functions back. What was converted meanwhile stays converted."""
        while self._before:
            place, name, function = self._before.pop()
            setattr(place, name, function)

    def _to_static(
        self, function: Any = None, input_spec: Any = None, *rest: Any, **options: Any
    ) -> Any:
        """``d2s.to_static`` with the signature of Paddle's."""
        options |= dict(zip(("build_strategy", "backend"), rest, strict=False))
        if function is None:
            return functools.partial(self._to_static, input_spec=input_spec, **options)
        for name in _DROPPED:
            if options.pop(name, None) is not None:
                self._leave_out(name)
        if options.get("full_graph", True) is not True:
            try:
                return api.to_static(function, input_spec, **options)
            except ArgumentsError:  # this version captures functions whole
                del options["full_graph"]
                self._leave_out("full_graph")
        return api.to_static(function, input_spec, **options)

    def _leave_out(self, name: str) -> None:
        self.left_out[name] = self.left_out.get(name, 0) + 1

    def _replace(self, name: str, new: Any) -> None:
        """Put a function in the place of one of ``paddle.jit``, wherever it has been imported."""
        old = getattr(paddle.jit, name)
        self._set(paddle.jit, name, new)
        for module in list(sys.modules.values()):
            own = getattr(module, "__name__", "").partition(".")[0]
            if own in ("paddle", "d2s"):
                continue  # Paddle's own parts keep what they call
            for key, value in list(getattr(module, "__dict__", {}).items()):
                if value is old:
                    self._set(module, key, new)

    def _set(self, place: Any, name: str, new: Any) -> None:
        self._before.append((place, name, getattr(place, name)))
        setattr(place, name, new)


def patch_paddle() -> Patch:
    """Let d2s do what ``paddle.jit.to_static`` is asked for, from here on.

    ``paddle.jit.to_static``, ``not_to_static`` and ``ignore_module`` are replaced, in modules that
    have imported them already, too. Options that say how Paddle is to convert and compile
    (``backend``, ``build_strategy``) are left out. ``d2s run`` does this for a whole program.

    Returns:
        An object whose ``undo()`` ends it; in a ``with`` statement, that ends with it.

    Examples:
        >>> import paddle
        >>> with patch_paddle():
        ...
        ...     @paddle.jit.to_static
        ...     def halve(x):
        ...         while x.max() > 1:
        ...             x = x / 2
        ...         return x
        >>> type(halve).__module__.partition(".")[0], halve(paddle.to_tensor([4.0])).tolist()
        ('d2s', [1.0])
    """
    patch = Patch()
    ignore = paddle.jit.ignore_module

    def ignore_module(modules: Any) -> None:
        ignore(modules)
        api.ignore_module(modules)

    patch._replace("to_static", patch._to_static)
    patch._replace("not_to_static", api.not_to_static)
    patch._replace("ignore_module", ignore_module)
    return patch
