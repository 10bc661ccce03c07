"""Real code through conversion: every function of libraries, without running it.

The quick suite takes some modules, the slow one the whole standard library and five packages.  A
function is converted or refused with a code; what is printed compiles, and is the same text when
it is parsed and printed again; and no conversion is endless.
"""

from __future__ import annotations

import sys

import pytest

from tests.hostile.sweep import Swept, modules_of, sweep

SOME = ("dataclasses", "difflib")

FIVE = ("networkx", "rich", "hypothesis", "numpy", "mkdocs")
"""Packages that the development tools need anyway."""

LEFT_OUT = frozenset({"antigravity", "this", "idlelib", "lib2to3", "test", "turtledemo"})
"""Modules that open a browser or print when they are imported, and those that are no library."""


def check(swept: Swept) -> None:
    assert swept.problems == []
    assert swept.refused == []
    print(
        f"{len(swept.seconds)} functions, {swept.lines()} lines, {swept.per_line():.2f} ms a line"
    )
    print("\n".join(swept.slowest()))


def test_modules_of_the_standard_library() -> None:
    """A5: converted or refused with a code; the printed code is valid and stable."""
    swept = sweep(modules_of(SOME))
    check(swept)
    assert len(swept.seconds) > 50


@pytest.mark.slow
def test_the_standard_library() -> None:
    """A5: all of it."""
    names = sorted(sys.stdlib_module_names - LEFT_OUT)
    swept = sweep(modules_of(name for name in names if not name.startswith("_")))
    check(swept)
    assert len(swept.seconds) > 8000


@pytest.mark.slow
@pytest.mark.parametrize("package", FIVE)
def test_a_package(package: str) -> None:
    """A5: all modules of it that can be imported here."""
    swept = sweep(modules_of([package]))
    check(swept)
    assert len(swept.seconds) > 100
