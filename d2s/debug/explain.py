"""``d2s.explain`` and ``d2s.report``: what becomes of a function, line by line."""

from __future__ import annotations

import inspect
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from d2s.api import plain_function
from d2s.debug.facts.explanation import Explanation
from d2s.debug.facts.gathering import called, gathered, refusal
from d2s.debug.facts.measuring import Session, profiled
from d2s.diagnostics.location import looking_at
from d2s.program.keys.callables import written


def explain(function: Any, /, *args: Any, **kwargs: Any) -> Explanation:
    """What becomes of a function, line by line, and what of a call happens inside of programs.

    With arguments, the function is called with them as several programs where it cannot be one,
    by a conversion of its own: arguments, state and random generators are as before then (where it
    cannot be one program is remembered, and not warned of again). Without, a converted function is
    explained with the programs that it has.

    Args:
        function: a function, method or layer, converted or not.
        *args, **kwargs: the arguments of a call.

    Returns:
        The facts: ``print`` shows them as text, a notebook as a page, ``as_dict`` as plain values.

    Raises:
        NotAFunctionError: (D2S102) it is a class, a text, a C function or the like.
        NoSourceError: (D2S101) its text cannot be found.
        NotCheckableError: (D2S602) an argument is used up by a call.
        TypeError: the arguments do not fit the function.

    Examples:
        >>> import paddle
        >>> def f(x):
        ...     return x * 2 if x.sum() > 0 else -x
        >>> found = explain(f, paddle.to_tensor([1.0, 2.0]))
        >>> [str(fate) for fate in found.functions[0].lines[1].fates]
        ['cond: a tensor decides it: both sides are in the program']
    """
    return _explained(function, args, kwargs)[0]


def report(
    function: Any,
    /,
    *args: Any,
    html: str | os.PathLike[str] | None = None,
    profile: bool = False,
    **kwargs: Any,
) -> Explanation:
    """The same as ``d2s.explain``, with the self-check and with times beside dygraph.

    Args:
        function: a function, method or layer, converted or not.
        *args, **kwargs: the arguments of a call.
        html: where to write it as a page, which needs nothing else.
        profile: measure, too, what share of the programs' time each line has.

    Raises:
        OSError: the page cannot be written.

    Examples:
        >>> import paddle
        >>> def f(x):
        ...     return x * 2 if x.sum() > 0 else -x
        >>> report(f, paddle.to_tensor([1.0, 2.0])).check.ok
        True
    """
    found, session = _explained(function, args, kwargs)
    if session is not None and session.refused is None:
        found = replace(found, check=session.check())
        if session.raised is None:
            found = replace(found, timing=session.timing())
            measured = profiled(function, args, kwargs) if profile else None
            found = found if measured is None else found.profiled(measured)
    if html is not None:
        Path(html).write_text(found.html(), encoding="utf-8")
    return found


def _explained(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Explanation, Session | None]:
    file = written(plain_function(function)).__code__.co_filename
    with looking_at(file):  # it may be one of Paddle's
        return _found(function, args, kwargs)


def _found(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Explanation, Session | None]:
    if not (args or kwargs) and _needs_arguments(function):
        return gathered(function).explanation(), None
    session = Session(function, args, kwargs)
    found = called(function, session).explanation()
    if session.refused is not None:
        why = refusal(session.refused)
        return replace(found, refused=why, hints=(why, *found.hints)), session
    share = None if session.raised is not None else session.share()
    return replace(found, share=share, raised=session.raised), session


def _needs_arguments(function: Any) -> bool:
    """Whether a function cannot be called without arguments."""
    try:
        called = getattr(function, "forward", function)
        inspect.signature(getattr(called, "dygraph_function", called)).bind()
    except (TypeError, ValueError):
        return True
    return False
