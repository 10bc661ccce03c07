"""``breakpoint()`` in a program: on the run, with the values of the run, when that is asked for.

Without ``d2s.debug_on_run`` it stops while the program is captured, as any code of the user's.
With it each run calls the debugger from a frame that stands at the user's line and has the user's
variables: the debugger sees what it sees in dygraph, but for the functions around.
"""

from __future__ import annotations

import functools
import itertools
import linecache
import os
import pdb
import re
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, Final

from d2s import config
from d2s import paddle_bridge as bridge
from d2s.diagnostics.location import Location
from d2s.diagnostics.tracebacks import code_at
from d2s.runtime.host.callers import name_of, parts
from d2s.runtime.host.debuggers import show_users_code
from d2s.runtime.host.lowering import lowered
from d2s.runtime.host.shipment import Shipment
from d2s.runtime.trace import current
from d2s.runtime.values.callbacks import host_call, places_here
from d2s.runtime.values.objects import attribute
from d2s.runtime.values.unbound import UNBOUND


def is_stop(function: object) -> bool:
    """Whether ``function`` stops in a debugger where it is called."""
    if function is breakpoint:
        return True
    name = attribute(function, "__name__", "")
    return bool(name == "set_trace" and attribute(function, "__module__", "") == "pdb")


def stop(function: Any) -> Any:
    """What to call in place of ``function``, which stops in a debugger."""
    capture = current()
    if capture is not None and capture.export:
        return lambda *arguments, **options: lowered("breakpoint() is left out")
    if _is_pdb(function):
        function = _stop_in_pdb
    if capture is not None and config.get().debug_on_run:
        return functools.partial(_stop_on_run, function)
    return function


_SET_TRACE: Final = pdb.set_trace
"""Python's own; a test runner or an IDE puts another in its place."""


def _is_pdb(function: object) -> bool:
    """Whether ``function`` is ``pdb.set_trace``, or a ``breakpoint`` that comes to it."""
    if function is not breakpoint or pdb.set_trace is not _SET_TRACE:
        return function is _SET_TRACE
    wanted = os.environ.get("PYTHONBREAKPOINT") or "pdb.set_trace"
    return sys.breakpointhook is sys.__breakpointhook__ and wanted == "pdb.set_trace"


def _stop_in_pdb(*, header: str | None = None, **options: object) -> None:
    debugger = pdb.Pdb()
    show_users_code(debugger)
    if header is not None:
        debugger.message(header)
    debugger.set_trace(sys._getframe(1), **options)


def _stop_on_run(function: Callable[..., Any], *arguments: object, **options: object) -> None:
    frame = sys._getframe(1)
    place = Location(frame.f_code.co_filename, frame.f_lineno, name_of(frame))
    code = code_at(f"{_STOP}()\npass", [place, place._replace(line=_next_line(frame))])
    scope = frame.f_globals
    shipment = Shipment()
    visible = shipment.pack(_variables(frame))

    def host(*tensors: object) -> None:
        variables = _Variables(visible(tensors))
        variables.hidden = functools.partial(function, *arguments, **options)
        exec(code, scope, variables)

    host_call(host, shipment.values, places_here()[:-1])  # the code is the last frame itself


class _Variables(dict[str, Any]):
    """The user's variables, and one name that only the code that stops looks up.

    Attributes:
        hidden: what that name means.
    """

    hidden: Any = None

    def __missing__(self, name: str) -> Any:
        if name == _STOP:
            return self.hidden
        raise KeyError(name)


_STOP: Final = "__d2s_stop__"


def _next_line(frame: types.FrameType) -> int:
    """The line of the user's that comes after the present one: behind a body, what it belongs to.

    It is another one, where there is one: debuggers stop where a line begins.
    """
    lines = {line for _, _, line in frame.f_code.co_lines() if line is not None}
    around = next(itertools.islice(parts(frame), 1, None), frame)
    return min((line for line in lines if line > frame.f_lineno), default=around.f_lineno)


def _variables(frame: types.FrameType) -> dict[str, Any]:
    """The variables of the user's that ``frame`` sees, those of the function around it too."""
    found: dict[str, Any] = {}
    for part in reversed(list(parts(frame))):
        names = _names_in(part.f_code)
        found.update(
            (name, value)
            for name, value in part.f_locals.items()
            if name in names and value is not UNBOUND and _is_there(value)
        )
    return found


def _is_there(value: object) -> bool:
    return not bridge.is_value(value) or bridge.is_visible(value)


def _names_in(code: types.CodeType) -> frozenset[str]:
    """The words of the user's text of ``code``: names that passes have made are none of them."""
    lines = [line for line in _lines(code) if line is not None]
    text = (linecache.getline(code.co_filename, n) for n in range(min(lines), max(lines) + 1))
    return frozenset(re.findall(r"\w+", "".join(text)))


def _lines(code: types.CodeType) -> Iterator[int | None]:
    yield code.co_firstlineno
    for _, _, line in code.co_lines():
        yield line
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _lines(constant)
