"""Values of the program inside of objects that only Python looks into.

A generator, an iterator or a function that leaves the converted function with tensors of the
program in it would be used when the program is gone.
"""

from __future__ import annotations

import gc
import types
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import ContainerInGraphError, UnsupportedInGraphError
from d2s.program.capture.captured import Build, Run
from d2s.program.state.records import is_symbol
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.lists.items.fixed import owner_of_view, place_of_view
from d2s.runtime.python.kinds import type_

_ATOMS: Final = (int, float, complex, str, bytes, type(None), type, types.ModuleType, np.ndarray)

_MOST: Final = 1000
"""How many objects are looked at for values of the program."""


def refuse_hidden(thing: object, is_state: Callable[[Any], bool]) -> None:
    """Refuse an object that Python keeps, and that has values of the program in it.

    Args:
        thing: it.
        is_state: tells what was there before: each run writes into it what it holds then.

    Raises:
        UnsupportedInGraphError: (D2S205) a generator, an iterator, a function that is called later.
    """
    if any(map(is_symbol, reached(thing, is_state))):
        raise _left(thing)


def _left(thing: object) -> UnsupportedInGraphError:
    return UnsupportedInGraphError(
        f"an object of type {type_(thing).__name__!r} that has tensors of the program in it "
        "leaves the function, and would be used when the program is gone",
        cure="return the tensors themselves, or a list of them, and make the rest outside "
        "of the converted function",
    )


def refuse_ours(thing: object) -> None:
    """Refuse an iterator that is in Python for the capture, in the place of another one.

    Raises:
        UnsupportedInGraphError: (D2S205).
    """
    if hasattr(type(thing), "d2s_stands_for"):
        raise _left(thing)


def in_its_list(
    thing: Any, fresh: Build, made: dict[int, Build], output: Callable[[Any], int]
) -> Build | None:
    """How a run finds a list or dict that is an item of one of the run.

    Args:
        thing: it.
        fresh: makes one like it, for a run that does not make the list around it.
        made: how a run finds what it has made, by id.
        output: gives a value a position among the outputs.

    Returns:
        ``None`` where it is inside of an item, or the list has changed since.
    """
    owner, position = owner_of_view(thing), place_of_view(thing)
    if type(owner) is not DynamicList or position is None:
        return None
    where = output(position)

    def build(run: Run) -> Any:
        whole = made.get(id(owner))
        return fresh(run) if whole is None else whole(run)[int(run.outputs[where])]

    return build


def refuse_item(thing: Any, made: dict[int, Build], pools: Any, outside: Build | None) -> None:
    """Refuse a list or dict of which only a copy is given, where what it is in is given, too.

    Args:
        thing: the list or dict.
        made: how a run finds what it has made, by id.
        pools: the objects that are known by numbers, by class.
        outside: how a run finds the list that it is in, where that was there before.

    Raises:
        ContainerInGraphError: (D2S207) the two would not be one object.
    """
    owner = owner_of_view(thing)
    of_object = id(pools) in made and any(owner is pool.rows for pool in pools.values())
    if owner is not None and (of_object or id(owner) in made or outside is not None):
        word = type_(thing).__name__
        raise ContainerInGraphError(
            f"a {word} that is a part of {owner.name!r}, whose length a tensor decides, is given "
            "back or kept together with it, and a change of one would not be seen in the other",
            cure=f"give back a copy: copy.deepcopy() of the {word}",
        )


def reached(thing: object, is_state: Callable[[Any], bool] = lambda part: False) -> Iterator[Any]:
    """``thing``, and what can be reached from it, but not through what ``is_state``."""
    waiting = [thing]
    seen: set[int] = set()
    while waiting and len(seen) < _MOST:
        found = waiting.pop()
        if isinstance(found, _ATOMS) or id(found) in seen:
            continue
        seen.add(id(found))
        if is_state(found):
            continue
        yield found
        waiting.extend(_inside(found))


def _inside(thing: object) -> list[Any]:
    """What ``thing``, of a type that the program knows nothing of, holds."""
    if isinstance(thing, types.FunctionType):  # and not its globals
        cells = [cell for cell in thing.__closure__ or () if not _is_empty(cell)]
        return [*cells, thing.__defaults__, thing.__kwdefaults__]
    if isinstance(thing, types.GeneratorType):
        return [] if thing.gi_frame is None else list(thing.gi_frame.f_locals.values())
    if isinstance(thing, paddle.nn.Layer) or bridge.is_eager(thing):
        return []
    return gc.get_referents(thing)


def _is_empty(cell: types.CellType) -> bool:
    return not gc.get_referents(cell)
