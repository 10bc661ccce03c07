"""``d2s.debug_on_run``: breakpoints stop while a program runs, not while it is captured."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from d2s import config


@contextmanager
def debug_on_run() -> Iterator[None]:
    """Let ``breakpoint()`` and ``pdb.set_trace()`` in converted functions stop on each run.

    The debugger opens at the user's line, with the variables as they are on that run, in branches
    and loops as well. ``D2S_DEBUG_ON_RUN=1`` switches it on for a whole process.

    Examples:
        >>> import sys, paddle, d2s
        >>> @d2s.to_static
        ... def f(x):
        ...     y = x * 2
        ...     breakpoint()
        ...     return y
        >>> hook = sys.breakpointhook
        >>> sys.breakpointhook = lambda: print(sys._getframe(1).f_locals["y"].tolist())
        >>> with debug_on_run():
        ...     _ = f(paddle.to_tensor([1.0, 2.0]))
        [2.0, 4.0]
        >>> sys.breakpointhook = hook
    """
    with config.options(debug_on_run=True):
        yield
