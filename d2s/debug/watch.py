"""What converted functions do in a program: calls, programs with their reasons, and times."""

from __future__ import annotations

import inspect
import time
from dataclasses import asdict, dataclass, field
from typing import Any

import paddle

from d2s.api import to_static
from d2s.diagnostics.leaving import leave
from d2s.errors import D2SError
from d2s.program.static_function import StaticFunction


@dataclass
class Watched:
    """One converted function.

    Attributes:
        name: its name.
        place: where it is defined, ``file:line``.
        calls: how often it was called, from outside of converted functions.
        capture_s: seconds in calls that have captured a program, which they ran as well.
        run_s: seconds in the other calls.
        programs: the reason for each program, with its operations.
        refused: the first error of d2s, with its code.
    """

    name: str
    place: str
    calls: int = 0
    capture_s: float = 0.0
    run_s: float = 0.0
    programs: list[str] = field(default_factory=list)
    refused: str = ""


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
        self._start = time.perf_counter()
        self.seconds = 0.0

    def __enter__(self) -> Watch:
        self._wrap(StaticFunction, self._call)
        if self._layers:
            self._wrap(paddle.nn.Layer, self._layer)
        return self

    def __exit__(self, *error: object) -> None:
        while self._before:
            owner, function = self._before.pop()
            type.__setattr__(owner, "__call__", function)
        self.seconds = time.perf_counter() - self._start
        for function, watched in self._seen.values():
            watched.programs = [
                f"{program.reason}; {program.operations} operations, {_count(program.runs, 'run')}"
                for program in function.programs
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

    def _call(self, function: Any, this: Any, args: Any, kwargs: Any) -> Any:
        if not paddle.in_dynamic_mode():  # a part of another program
            return function(this, *args, **kwargs)
        key = id(this._programs)  # a method and what it is bound to have the same
        known = self._seen.get(key)
        watched = known[1] if known else _watched(this)
        self._seen[key] = this, watched
        before, start = this.get_traced_count(), time.perf_counter()
        try:
            return function(this, *args, **kwargs)
        except D2SError as error:
            watched.refused = watched.refused or str(error)
            leave(error)
            raise
        finally:
            took = time.perf_counter() - start
            watched.calls += 1
            if this.get_traced_count() > before or watched.refused:
                watched.capture_s += took
            else:
                watched.run_s += took

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
        return {"seconds": self.seconds, "functions": [asdict(one) for one in self.functions]}

    def text(self) -> str:
        """The same for people."""
        programs = sum(len(one.programs) for one in self.functions)
        capture = sum(one.capture_s for one in self.functions)
        runs = sum(one.run_s for one in self.functions)
        calls = sum(one.calls for one in self.functions)
        lines = [
            f"d2s: {_count(len(self.functions), 'function')}, {_count(programs, 'program')}, "
            f"{_count(calls, 'call')}; of {self.seconds:.2f} s, {capture:.2f} s in calls that "
            f"captured, {runs:.2f} s in the others"
        ]
        for one in self.functions:
            lines.append(
                f"  {one.name} ({one.place}): {_count(one.calls, 'call')}, "
                f"{one.capture_s:.2f} s and {one.run_s:.2f} s"
            )
            lines += [f"    {number}. {text}" for number, text in enumerate(one.programs, 1)]
            lines += [f"    refused: {line.strip()}" for line in one.refused.splitlines()[:1]]
        return "\n".join(lines) + "\n"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _watched(function: Any) -> Watched:
    original = inspect.unwrap(getattr(function.d2s_original, "__func__", function.d2s_original))
    code = getattr(original, "__code__", None)
    place = f"{code.co_filename}:{code.co_firstlineno}" if code else "?"
    return Watched(getattr(original, "__qualname__", type(original).__name__), place)
