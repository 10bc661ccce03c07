"""What a command is doing, on the terminal, while it takes longer than a second."""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

INTERRUPTED: Final = 130
"""The exit status after Ctrl-C, as of a shell: 1 would say that something was found."""

_PATIENCE: Final = 1.0
"""Seconds in which nothing is said."""


@contextmanager
def working(what: str) -> Iterator[None]:
    """Say on stderr, if that is a terminal, what is being done; nothing if it is done in a second.

    Args:
        what: a phrase such as ``importing net.py``.
    """
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    speaker = threading.Thread(target=_speak, args=(what, done), daemon=True)
    speaker.start()
    try:
        yield
    finally:
        done.set()
        speaker.join()


@contextmanager
def importing(place: str) -> Iterator[None]:
    """Say that a module of the user's is being imported; after Ctrl-C, where that has stopped.

    Args:
        place: what the user calls it.
    """
    try:
        with working(f"importing {place}"):
            yield
    except KeyboardInterrupt as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        at = f"{frame.filename}:{frame.lineno}"
        print(f"importing {place} had not ended; it was at {at}", file=sys.__stderr__)
        raise


def _speak(what: str, done: threading.Event) -> None:
    if done.wait(_PATIENCE):
        return
    from rich.console import Console

    # Ours, not the one of the program: what user code redirects meanwhile is its own affair.
    console = Console(file=sys.__stderr__)
    with console.status(f"{what} …"):
        done.wait()
