"""The control flow of a program: what stands in which block, with lines and counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

from d2s import paddle_bridge as bridge
from d2s.debug.facts.evidence import HOST, IF, WHILE, Place, Places
from d2s.markup.flow import Flow

_MOST: Final = 150
"""So many parts are shown; beyond that, those of the inner blocks are counted only."""

Key = Callable[[Place], str]
"""From a line to its key on the page; empty if it is not shown."""


def flow_of(program: Any, places: Places, key: Key) -> tuple[Flow, ...]:
    """The parts of a program, in its order.

    Args:
        program: a Paddle program.
        places: finds the lines of operations.
        key: names them.
    """
    parts = tuple(_parts(program.global_block(), places, key))
    depth = 8
    while depth and sum(1 for part in parts for _ in part.walk()) > _MOST:
        depth -= 1
        parts = tuple(_cut(part, depth) for part in parts)
    return _joined(parts)


def _cut(part: Flow, depth: int) -> Flow:
    """A part without what is more than so many blocks deep."""
    if not part.blocks:
        return part
    if not depth:
        return replace(part, blocks=(), text=f"{part.operations} operations inside")
    blocks = ((name, tuple(_cut(each, depth - 1) for each in parts)) for name, parts in part.blocks)
    return replace(part, blocks=tuple(blocks))


def _joined(parts: tuple[Flow, ...]) -> tuple[Flow, ...]:
    """The first parts, where there are still too many, and one that counts the others."""
    if len(parts) <= _MOST:
        return parts
    rest = parts[_MOST - 1 :]
    lines = tuple(sorted({line for part in rest for line in part.lines}))
    count = sum(part.operations for part in rest)
    return (*parts[: _MOST - 1], Flow("operations", count, lines))


def _parts(block: Any, places: Places, key: Key) -> Iterator[Flow]:
    plain: list[Any] = []
    for operation in block.ops:
        kind = _kind(operation)
        if kind == "operations":
            plain += [operation] if bridge.computes(operation) else []
            continue
        yield from _run(plain, places, key)
        plain = []
        yield _special(kind, operation, places, key)
    yield from _run(plain, places, key)


def _kind(operation: Any) -> str:
    name = operation.name()
    return {IF: "if", WHILE: "while"}.get(name, "host" if name.startswith(HOST) else "operations")


def _run(operations: list[Any], places: Places, key: Key) -> Iterator[Flow]:
    """Operations between two that have blocks."""
    if operations:
        found = [place[-1] for each in operations if (place := places.of(each))]
        yield _placed(Flow("operations", len(operations)), found, key)


def _placed(part: Flow, found: list[Place], key: Key) -> Flow:
    keys = tuple(dict.fromkeys(filter(None, map(key, found))))
    return replace(part, lines=tuple(sorted({line for _, line in found})), keys=keys)


def _special(kind: str, operation: Any, places: Places, key: Key) -> Flow:
    names = ("true", "false") if kind == "if" else ("each trip",)
    blocks = tuple(
        (name, tuple(_parts(block, places, key)))
        for name, block in zip(names, bridge.blocks_of(operation), strict=False)
    )
    count = 1 + sum(part.operations for _, parts in blocks for part in parts)
    return _placed(Flow(kind, count, blocks=blocks), list(places.of(operation)[-1:]), key)
