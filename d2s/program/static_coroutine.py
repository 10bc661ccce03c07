"""Coroutine functions that are converted."""

from __future__ import annotations

import inspect
from typing import Any

import paddle

from d2s.program.static_function import StaticFunction


class StaticCoroutine(StaticFunction):
    """A coroutine function whose coroutines run as captured programs."""

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """A coroutine, which runs the program when it is awaited."""
        if self._program_trans.enable_to_static and paddle.in_dynamic_mode():
            return self._awaited(args, kwargs)
        return super().__call__(*args, **kwargs)

    async def _awaited(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        result = super().__call__(*args, **kwargs)
        return await result if inspect.iscoroutine(result) else result
