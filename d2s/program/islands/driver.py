"""Drivers: functions that run in dygraph, with what can be programs as islands in them.

A driver is made of the breaks that are noted of its function (``breaks``), and made anew when there
are more.  Each island is a converted function, which may itself turn out to need a driver: for the
rest of that call it has one, and the next call of the function finds the break in its own.
"""

from __future__ import annotations

import contextlib
import dataclasses
import threading
import time
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any, Final

import paddle

from d2s import config
from d2s.conversion import driven, trace_of
from d2s.diagnostics.defects import as_defect
from d2s.errors import NoSourceError, SyntaxNotSupportedError
from d2s.program.dispatch import events
from d2s.program.dispatch.info import ProgramInfo
from d2s.program.islands.breaks import (
    Break,
    Breaks,
    Noted,
    belongs_to,
    breaks_of,
    broken_calls,
    changed,
    home_of,
    note_whole,
)
from d2s.program.islands.island import Converted, Island
from d2s.program.islands.paying import Comparison, Drawn
from d2s.program.running.once import creates_graph, retains_gradients
from d2s.runtime.calls.callables import Callables
from d2s.splitting import IslandTree
from d2s.syntax.printer import to_source
from d2s.syntax.source import source_of

_CLOSURES: Final = 8
"""Functions of so many closures made of one code have drivers; later ones run in dygraph."""


class Driver:
    """A function that runs in dygraph, with islands.

    Args:
        function: the user's function.
        converted: converts an island.
        part: it is a part of a function that changes tensors in place elsewhere.

    Attributes:
        islands: those of the present form.
        left: those that were, and that are faster in dygraph, or without a driver around them.
    """

    def __init__(
        self, function: types.FunctionType, converted: Converted, *, part: bool = False
    ) -> None:
        self.function = function
        self.part = part
        self.islands: tuple[Island, ...] = ()
        self.left: tuple[Island, ...] = ()
        self._converted = converted
        self._kept: dict[Any, Island] = {}
        self._version: tuple[object, ...] | None = None
        self._seen = -1
        self._made = function
        self._tree: Any = None
        self._comparison: Comparison | None = None
        self._slower = False
        self._lock = threading.Lock()

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run it."""
        if self._seen != Noted.count:
            self.current()
        if self._comparison is not None:
            return self._compared(self._comparison, args, kwargs)
        return self._made(*args, **kwargs)

    def _compared(
        self, comparison: Comparison, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Run it with its islands or without, to find out which way is faster."""
        made, version = self._made, self._version
        if comparison.waits(undecided=not all(island.tried for island in self.islands)):
            return made(*args, **kwargs)
        islands = comparison.way()
        drawn = Drawn.count
        start = time.perf_counter()
        result = made(*args, **kwargs) if islands else self.function(*args, **kwargs)
        comparison.note(time.perf_counter() - start, converted=islands, drawn=Drawn.count != drawn)
        if comparison.pays is not None and version == self._version:
            self._comparison = None
            if not comparison.pays:
                self._slower = True
                changed()
        return result

    def idle(self) -> int | None:
        """What ``Noted.count`` is as long as this is the user's function; ``None`` if it is not."""
        noted = Noted.count
        return noted if self.plain else None

    @property
    def plain(self) -> bool:
        """Whether it is the user's function, as nothing in it is worth a program."""
        if self._seen != Noted.count:
            self.current()
        return self._made is self.function

    def programs(self) -> list[ProgramInfo]:
        """Those of its islands, in the order of the lines."""
        return [
            dataclasses.replace(each, lines=island.tree.lines)
            for island in self.islands
            for part in island.programs()
            for each in part.programs
        ]

    def breaks(self) -> list[Break]:
        """What stands in the way of one program."""
        own, home = self._noted()
        lines = [] if home is None else [home.lines[line] for line in sorted(home.lines)]
        return [own.whole] if own is not None and own.whole is not None else lines

    def called(self) -> dict[types.CodeType, Driver | None]:
        """What has breaks and is called, at any depth, with its driver where it has one."""
        drivers = {function.__code__: driver for function, driver in list(_drivers.items())}
        return {code: drivers.get(code) for code in broken_calls(home_of(self.function.__code__))}

    @property
    def rests(self) -> bool:
        """Whether all of it runs in dygraph."""
        own, _ = self._noted()
        return own is not None and own.whole is not None

    @property
    def tree(self) -> Any:
        """The tree of its present form."""
        self.current()
        return source_of(self.function).tree if self._tree is None else self._tree

    def code(self) -> str:
        """The text of the driver, and of what its islands are converted to."""
        texts = [to_source(self.tree).text]
        for island in (*self.islands, *self.left):
            first, last = island.tree.lines
            head = f"# lines {first} to {last}"
            if island.rests is not None:
                head += f", in dygraph: {island.rests}"
            texts.append(f"{head}\n{to_source(trace_of(island.function).tree).text}")
        return "\n".join(texts)

    def current(self) -> types.FunctionType:
        """The driver for the breaks that are known now."""
        seen = Noted.count
        own, home = self._noted()
        version = (
            0 if own is None else own.version,
            0 if home is None else home.version,
            self._slower,
            sum(island.slower for island in self._kept.values()),
            frozenset() if home is None else home.driven(),
        )
        if version != self._version:
            with self._lock:
                if version != self._version:
                    self._make(version)
        self._seen = seen
        return self._made

    def _noted(self) -> tuple[Any, Any]:
        code = self.function.__code__
        return breaks_of(code), breaks_of(home_of(code))

    def _make(self, version: tuple[object, ...]) -> None:
        own, home = self._noted()
        self.islands, self.left, self._made, self._tree = (), (), self.function, None
        self._comparison = None
        if self._slower:
            self.left = tuple(self._kept.values())
        elif any(asks(self.function.__code__) for asks in (creates_graph, retains_gradients)):
            pass  # the gradients of an island have none, and stop gradients where they are kept
        elif home is not None and (own is None or own.whole is None):
            try:
                self._divide(frozenset(home.lines), home.driven())
            except (NoSourceError, SyntaxNotSupportedError):
                pass  # it has no text that could be divided
            except Exception as error:
                self.islands = ()
                note_whole(as_defect(error), self.function.__code__)
        self._version = version
        idle = self._made is self.function
        for noted in (own, home):
            if noted is not None and noted.idle is not idle:
                noted.idle = idle
                changed()

    def _divide(self, lines: frozenset[int], calls: frozenset[int]) -> None:
        left = [island for island in self._kept.values() if island.slower]
        stay = frozenset(island.tree.lines for island in left)
        least = config.get().least_island
        parts = driven(self.function, lines, calls=calls, least=least, stay=stay)
        self.islands = tuple(self._island(tree, made) for tree, made in parts.islands)
        self.left = tuple(left)
        if self.islands or parts.drives:
            self._made = parts.bind(_Words(self.islands, self._converted))
            self._tree = parts.tree
            self._comparison = Comparison() if config.get().try_dygraph else None
        stretches = [island.tree.lines for island in self.islands]
        events.divided(self.function.__qualname__, self.function.__code__, stretches)

    def _island(self, tree: IslandTree, function: types.FunctionType) -> Island:
        """The island, with the programs that it has had so far."""
        key = (tree.lines, tree.arguments, tree.results)
        known = self._kept.get(key)
        if known is None:
            belongs_to(function.__code__, self.function.__code__)
            mine = dataclasses.replace(tree, inplace=tree.inplace or self.part)
            known = self._kept[key] = Island(mine, function, self._converted)
        return known


class _Words:
    """What the code of a driver reaches under the name of d2s."""

    def __init__(self, islands: tuple[Island, ...], converted: Converted) -> None:
        for number, island in enumerate(islands):
            setattr(self, f"island_{number}", island)
        self.through = _Driven(converted).of


_drivers: Final[weakref.WeakKeyDictionary[types.FunctionType, Driver]] = weakref.WeakKeyDictionary()


def driver_of(
    function: types.FunctionType, breaks: Breaks, converted: Converted
) -> Callable[..., Any]:
    """The driver of a function that has ``breaks``, kept as long as the function."""
    known = _drivers.get(function)
    if known is not None:
        return known
    if function.__closure__ and breaks.drivers >= _CLOSURES:
        return function
    breaks.drivers += 1
    made = _drivers[function] = Driver(_twin(function), converted)
    return made


def _twin(function: types.FunctionType) -> types.FunctionType:
    """A function of the same closure: a driver that held the function itself would keep it."""
    if not function.__closure__:
        return function
    twin = types.FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    twin.__kwdefaults__, twin.__qualname__ = function.__kwdefaults__, function.__qualname__
    vars(twin).update(vars(function))
    return twin


class _Driven(Callables):
    """What a driver calls: functions that have breaks have drivers of their own."""

    def __init__(self, converted: Converted) -> None:
        self.converted = converted

    def function(self, function: types.FunctionType, owner: object = None) -> Callable[..., Any]:
        breaks = breaks_of(function.__code__)
        if breaks is None:
            return function
        made = driver_of(function, breaks, self.converted)
        return function if isinstance(made, Driver) and made.plain else made

    def layer(self, layer: paddle.nn.Layer) -> Any:
        """A layer, called with the driver of its ``forward``."""
        forward = layer.forward
        driven = self.of(forward) if type(forward) is types.MethodType else forward
        if driven is forward:
            return layer

        def run(*args: Any, **kwargs: Any) -> Any:
            with _forward(layer, driven):
                return layer(*args, **kwargs)

        return run


_lock: Final = threading.Lock()
_calls: Final[dict[int, int]] = {}


@contextlib.contextmanager
def _forward(layer: Any, forward: Any) -> Iterator[None]:
    """``layer`` with another ``forward`` while some thread is in it."""
    key = id(layer)
    with _lock:
        own = "forward" in layer.__dict__ and not _calls.get(key)
        if not own:
            _calls[key] = _calls.get(key, 0) + 1
            layer.__dict__["forward"] = forward
    try:
        yield
    finally:
        if not own:
            with _lock:
                _calls[key] -= 1
                if not _calls[key]:
                    del _calls[key]
                    layer.__dict__.pop("forward", None)
