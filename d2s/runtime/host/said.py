"""What a run has printed before it failed: who repeats the call in dygraph prints it no more."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterable, Iterator
from typing import Any

from d2s.runtime.values.callbacks import note_said


class _Heard:
    """A stream that keeps what it is given, and hands it on.

    Args:
        stream: where it goes.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.texts: list[str] = []

    def write(self, text: str) -> Any:
        """Write ``text``."""
        self.texts.append(text)
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def say(*things: object, **options: Any) -> None:
    """``print`` to the console, as a program that runs."""
    stream = options.pop("file", None) or sys.stdout
    if stream is None:
        return  # a process without a console
    heard = _Heard(stream)
    try:
        print(*things, file=heard, **options)
    finally:
        note_said("stderr" if stream is sys.stderr else "stdout", "".join(heard.texts))


class _Quiet:
    """A stream that leaves out the text which it has been given already.

    Args:
        stream: where all other text goes.
        text: what is there.
    """

    def __init__(self, stream: Any, text: str) -> None:
        self._stream = stream
        self._left = text
        self._thread = threading.get_ident()

    def write(self, text: str) -> Any:
        """Write ``text``, if it is not there."""
        if self._left and threading.get_ident() == self._thread:
            if self._left.startswith(text):
                self._left = self._left[len(text) :]
                return len(text)
            self._left = ""
        return self._stream.write(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write one after the other."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextlib.contextmanager
def not_again(said: list[tuple[str, str]] | None) -> Iterator[None]:
    """While a call is repeated that has ``said`` something before: that is not printed again."""
    before: dict[str, Any] = {}
    said = said or []
    for name in dict(said):
        before[name] = getattr(sys, name)
        text = "".join(part for stream, part in said if stream == name)
        setattr(sys, name, _Quiet(before[name], text))
    try:
        yield
    finally:
        for name, stream in before.items():
            setattr(sys, name, stream)
