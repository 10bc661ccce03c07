"""Files and the console: what a program writes is written by each run, in order.

``log.write(f"{loss.item()}")`` writes when a run comes to it, as ``print`` does.  A file that the
function itself opens for writing is refused: it would be opened once, while the program is
captured.
"""

from __future__ import annotations

import builtins
import io
import sys
from collections.abc import Callable
from typing import Any, Final, NoReturn

from d2s.errors import UnsupportedInGraphError
from d2s.runtime.host.lowering import lowered
from d2s.runtime.host.shipment import Shipment
from d2s.runtime.host.text import HostText
from d2s.runtime.trace import current, error_here
from d2s.runtime.values.callbacks import host_call
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.objects import attribute, owner_of

_METHODS: Final = frozenset(("write", "writelines", "flush"))
_FILES: Final = (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom, io.RawIOBase)
_CONSOLE: Final = ("stdout", "stderr")


def writes(function: object) -> bool:
    """Whether ``function`` is a method that writes to a file or to the console."""
    if getattr(type(function), "__name__", "") not in ("builtin_function_or_method", "method"):
        return False
    if attribute(function, "__name__", "") not in _METHODS:
        return False
    owner = owner_of(function)
    return isinstance(owner, _FILES) or _of_console(owner) is not None


def _of_console(owner: object) -> str | None:
    """Under which name ``sys`` knows a stream."""
    return next((name for name in _CONSOLE if getattr(sys, name, None) is owner), None)


def write(method: Callable[..., Any], *things: object) -> int | None:
    """A method of a stream: on every run of a program.

    Returns:
        How many characters a text has that holds nothing of the run; else ``None``.
    """
    capture = current()
    if capture is None:
        written: int | None = method(*things)
        return written
    if capture.export:
        lowered(f"{method.__name__}() of a stream is left out")
        return None
    name, console = method.__name__, _of_console(owner_of(method))
    shipment = Shipment()
    arguments = shipment.pack(things)

    def host(*tensors: object) -> None:
        call = method if console is None else getattr(getattr(sys, console), name)
        call(*arguments(tensors))

    host_call(host, shipment.values)
    text = things[0] if len(things) == 1 else None
    return len(text) if name == "write" and isinstance(text, str | bytes) else None


def buffer(kind: type[io.IOBase], *arguments: Any, **options: Any) -> Any:
    """``io.StringIO``: one that the function makes is written while the program is captured."""
    made = kind(*arguments, **options)
    capture = current()
    if capture is not None:
        capture.born[id(made)] = made
    return made


def is_buffer(stream: object) -> bool:
    """Whether ``stream`` is a buffer that the captured function has made.

    Raises:
        UnsupportedInGraphError: (D2S205) a tensor decides whether it is written.
    """
    capture = current()
    if capture is None or stream is None or capture.born.get(id(stream)) is not stream:
        return False
    if capture.guarded:
        refuse_text("under a condition that a tensor decides")
    return True


def refuse_text(what: str) -> NoReturn:
    """Refuse what a buffer of the function cannot hold before the run.

    Raises:
        UnsupportedInGraphError: (D2S205) always.
    """
    raise error_here(
        UnsupportedInGraphError,
        f"a buffer that the function makes is written {what}, which only the run knows",
        "make the text with an f-string, or the buffer outside of the function",
    )


def redirection(kind: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """``contextlib.redirect_stdout``: what is printed in a program is printed when it runs.

    Raises:
        UnsupportedInGraphError: (D2S205) then nothing is redirected any more.
    """
    if current() is None:
        return kind(*arguments, **options)
    raise error_here(
        UnsupportedInGraphError,
        "the console is redirected in a converted function, and a program prints when it runs",
        "redirect it around the call of the function",
    )


def open_(file: Any, mode: Any = "r", *others: Any, **options: Any) -> Any:
    """``open``: files are read while the program is captured, and not written.

    Raises:
        UnsupportedInGraphError: (D2S205) the file is opened for writing, or a tensor decides which
            one it is.
    """
    if isinstance(file, HostText | Choice):
        raise error_here(
            UnsupportedInGraphError,
            "a tensor decides which file is opened, which happens while the program is captured",
            "read the files outside of the converted function, and pass what is in them",
        )
    if current() is not None and isinstance(mode, str) and set(mode) & set("wax+"):
        raise error_here(
            UnsupportedInGraphError,
            "a file is opened for writing, which would happen once, while the program is captured",
            "open it outside of the converted function, and write to it there",
        )
    return builtins.open(file, mode, *others, **options)  # noqa: PTH123
