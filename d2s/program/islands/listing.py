"""A converted function to read: its generated code beside the user's lines."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from typing import Any

from d2s.conversion import trace_of
from d2s.markup.code import code_page
from d2s.markup.listing import Generated, generated, listing
from d2s.markup.page import framed
from d2s.markup.plain import readable
from d2s.program.islands.driver import Driver
from d2s.program.keys.callables import written
from d2s.syntax.source import source_of


def rewritten(function: types.FunctionType, driver: Driver | None) -> Iterator[Generated]:
    """The generated code to read, with links to the user's lines; of several programs, each."""
    file = written(function).__code__.co_filename
    if driver is None:
        yield generated("", readable(trace_of(written(function)).tree), file)
        return
    yield generated("Python, between the programs", readable(driver.tree), file)
    for island in driver.islands:
        first, last = island.tree.lines
        title = f"lines {first} to {last}, a function of its own"
        yield generated(title, readable(trace_of(island.function).tree), file)


def pieces_of(driver: Driver) -> list[tuple[str, Any]]:
    """What a driver is, and what each of its islands is converted to: a title and a tree."""
    pieces = [("Python, between the programs", driver.tree)]
    for island in (*driver.islands, *driver.left):
        first, last = island.tree.lines
        where = f"line {first}" if first == last else f"lines {first} to {last}"
        runs = "as a program" if island.rests is None else f"in dygraph: {island.rests}"
        pieces.append((f"{where}, {runs}", trace_of(island.function).tree))
    return pieces


def place_of(function: Callable[..., object]) -> str:
    """File and line."""
    code = getattr(written(function), "__code__", None)
    return "?" if code is None else f"{code.co_filename}:{code.co_firstlineno}"


def page_of(
    function: Callable[..., object], name: str, driver: Driver | None, programs: list[str]
) -> str:
    """Source, generated code and programs, as a page for a notebook."""
    plain = written(function)
    source = source_of(plain)
    parts = rewritten(plain, driver)
    shown = listing(source.name, source.file, source.text, source.first_line, parts)
    return framed(code_page(name, place_of(function), shown, programs))
