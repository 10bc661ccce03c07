"""What converted functions do in a program: calls, programs with their reasons, and times."""

from __future__ import annotations

import inspect
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import paddle

from d2s.api import to_static
from d2s.diagnostics.leaving import leave
from d2s.diagnostics.log import LISTENERS
from d2s.errors import D2SError
from d2s.markup.flow import counted
from d2s.program.static_function import StaticFunction


@dataclass
class Watched:
    """One converted function.

    Attributes:
        name: its name.
        place: where it is defined, ``file:line``.
        calls: how often it was called, from outside of converted functions.
        conversion_s: seconds of its calls in which code was rewritten, its own and what it calls.
        capture_s: seconds of its calls in which programs were captured.
        run_s: the other seconds of its calls.
        programs: the reason for each program, with its operations.
        breaks: why it is several programs, with the lines; empty where it is one.
        refused: the first error of d2s, with its code.
    """

    name: str
    place: str
    calls: int = 0
    conversion_s: float = 0.0
    capture_s: float = 0.0
    run_s: float = 0.0
    programs: list[str] = field(default_factory=list)
    breaks: list[str] = field(default_factory=list)
    refused: str = ""


class _Spent(threading.local):
    """What this thread has spent in the outermost call that goes on.

    Attributes:
        depth: how many calls of converted functions go on.
        conversion, capture: seconds.
    """

    depth = 0
    conversion = 0.0
    capture = 0.0


class Watch:
    """Watches every call of a converted function, within a ``with`` statement.

    Args:
        layers: convert each layer that is called from outside of other layers. One that d2s
            refuses runs as it is.
    """

    def __init__(self, *, layers: bool = False) -> None:
        self._layers = layers
        self._inside = 0
        self._seen: dict[int, tuple[Any, Watched]] = {}
        self._left: set[int] = set()
        self._kept: list[Any] = []
        self._before: list[tuple[type, Any]] = []
        self._spent = _Spent()
        self._start = time.perf_counter()
        self.seconds = 0.0
        self.conversion_s = 0.0

    def __enter__(self) -> Watch:
        LISTENERS.append(self._told)
        self._wrap(StaticFunction, self._call)
        if self._layers:
            self._wrap(paddle.nn.Layer, self._layer)
        return self

    def __exit__(self, *error: object) -> None:
        LISTENERS.remove(self._told)
        while self._before:
            owner, function = self._before.pop()
            type.__setattr__(owner, "__call__", function)
        self.seconds = time.perf_counter() - self._start
        for function, watched in self._seen.values():
            watched.programs = [
                f"{program.reason}; {program.operations} operations, {counted(program.runs, 'run')}"
                for program in function.programs
            ]
            watched.breaks = [
                f"line {each.line}: {each.cause} [{each.code}]" for each in function.breaks
            ]

    @property
    def functions(self) -> list[Watched]:
        """What was called, in the order of the first calls."""
        return [watched for _, watched in self._seen.values()]

    def _wrap(self, owner: type, around: Any) -> None:
        function = owner.__call__

        def called(this: Any, /, *args: Any, **kwargs: Any) -> Any:
            return around(function, this, args, kwargs)

        self._before.append((owner, function))
        type.__setattr__(owner, "__call__", called)

    def _told(self, topic: str, kind: str, fields: Mapping[str, Any]) -> None:
        """An event of the log: how long a conversion or a capture has taken."""
        seconds = fields.get("seconds", 0.0)
        if topic == "passes":
            self.conversion_s += seconds
            self._spent.conversion += seconds
        elif topic == "capture":
            self._spent.capture += seconds

    def _call(self, function: Any, this: Any, args: Any, kwargs: Any) -> Any:
        spent = self._spent
        if spent.depth or not paddle.in_dynamic_mode():  # a part of another call, or program
            return function(this, *args, **kwargs)
        key = id(this._programs)  # a method and what it is bound to have the same
        known = self._seen.get(key)
        watched = known[1] if known else _watched(this)
        self._seen[key] = this, watched
        spent.depth, spent.conversion, spent.capture = 1, 0.0, 0.0
        start = time.perf_counter()
        try:
            return function(this, *args, **kwargs)
        except D2SError as error:
            watched.refused = watched.refused or str(error)
            leave(error)
            raise
        finally:
            took = time.perf_counter() - start
            capture = max(spent.capture - spent.conversion, 0.0)  # it converts what it meets
            spent.depth = 0
            watched.calls += 1
            watched.conversion_s += spent.conversion
            watched.capture_s += capture
            watched.run_s += max(took - capture - spent.conversion, 0.0)

    def _layer(self, function: Any, this: Any, args: Any, kwargs: Any) -> Any:
        outermost = not self._inside and paddle.in_dynamic_mode() and id(this) not in self._left
        self._inside += 1
        try:
            if outermost and not isinstance(this.forward, StaticFunction):
                return self._converted(function, this, args, kwargs)
            return function(this, *args, **kwargs)
        finally:
            self._inside -= 1

    def _converted(self, function: Any, this: Any, args: Any, kwargs: Any) -> Any:
        """The first call of a layer: converted, and taken back where d2s refuses it."""
        try:
            to_static(this)
            return function(this, *args, **kwargs)
        except D2SError:
            self._left.add(id(this))
            self._kept.append(this)  # so that no other object gets its id
            if isinstance(this.forward, StaticFunction):
                this.forward.rollback()
            return function(this, *args, **kwargs)

    def as_dict(self) -> dict[str, Any]:
        """The same for other programs."""
        return {
            "seconds": self.seconds,
            "conversion_s": self.conversion_s,
            "functions": [asdict(one) for one in self.functions],
        }

    def text(self) -> str:
        """The same for people."""
        programs = sum(len(one.programs) for one in self.functions)
        calls = sum(one.calls for one in self.functions)
        lines = [
            f"d2s: {counted(len(self.functions), 'function')}, {counted(programs, 'program')}, "
            f"{counted(calls, 'call')}; of {self.seconds:.2f} s, {self.conversion_s:.2f} s "
            f"conversion, {sum(one.capture_s for one in self.functions):.2f} s capture, "
            f"{sum(one.run_s for one in self.functions):.2f} s runs"
        ]
        for one in self.functions:
            lines.append(
                f"  {one.name} ({one.place}): {counted(one.calls, 'call')}, "
                f"{one.conversion_s:.2f} + {one.capture_s:.2f} + {one.run_s:.2f} s"
            )
            lines += [f"    {number}. {text}" for number, text in enumerate(one.programs, 1)]
            lines += [f"    not one program: {text}" for text in one.breaks]
            lines += [f"    refused: {line.strip()}" for line in one.refused.splitlines()[:1]]
        return "\n".join(lines) + "\n"


def _watched(function: Any) -> Watched:
    original = inspect.unwrap(getattr(function.d2s_original, "__func__", function.d2s_original))
    code = getattr(original, "__code__", None)
    place = f"{code.co_filename}:{code.co_firstlineno}" if code else "?"
    return Watched(getattr(original, "__qualname__", type(original).__name__), place)
