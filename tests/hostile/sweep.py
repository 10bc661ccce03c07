"""Every function of a module through conversion: source, passes, print, compile; nothing is run.

``python -m tests.hostile.sweep MODULE ...`` prints what was found, and the time per source line.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import signal
import sys
import time
import types
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import gast

from d2s import conversion
from d2s.errors import D2SError, NoSourceError
from d2s.syntax.printer import to_source
from d2s.syntax.source import source_of

PATIENCE = 60.0
"""Seconds after which the conversion of one function counts as endless."""


class EndlessError(BaseException):
    """A conversion has taken too long."""


@dataclass
class Swept:
    """What came of the functions of some modules.

    Attributes:
        problems: what is wrong, a line for each function.
        refused: functions that are refused with a code, and the message.
        sourceless: functions without a text, such as those that ``exec`` has made.
        seconds: how long each function took, with its name and number of lines.
    """

    problems: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    sourceless: int = 0
    seconds: list[tuple[float, str, int]] = field(default_factory=list)

    def per_line(self) -> float:
        """Milliseconds per source line, over all."""
        return 1e3 * sum(took for took, *_ in self.seconds) / max(1, self.lines())

    def lines(self) -> int:
        """How many source lines were converted."""
        return sum(lines for *_, lines in self.seconds)

    def slowest(self, count: int = 5) -> list[str]:
        """Functions of ten lines and more that took longest for a line."""
        longer = [(took / lines, name, lines) for took, name, lines in self.seconds if lines >= 10]
        return [
            f"{name}: {1e3 * each:.2f} ms a line ({lines} lines)"
            for each, name, lines in sorted(longer, reverse=True)[:count]
        ]


def functions_of(module: types.ModuleType) -> Iterator[types.FunctionType]:
    """The functions and methods that ``module`` defines, each code once."""
    seen: set[Any] = set()

    def of(owner: Any) -> Iterator[types.FunctionType]:
        for thing in list(vars(owner).values()):
            if isinstance(thing, type):
                if thing.__module__ == module.__name__ and thing not in seen:
                    seen.add(thing)
                    yield from of(thing)
                continue
            if isinstance(thing, staticmethod | classmethod):
                thing = thing.__func__
            parts = [thing.fget, thing.fset, thing.fdel] if type(thing) is property else [thing]
            for part in parts:
                made = isinstance(part, types.FunctionType)
                if made and part.__module__ == module.__name__ and part.__code__ not in seen:
                    seen.add(part.__code__)
                    yield part

    return of(module)


def modules_of(names: Iterable[str]) -> Iterator[types.ModuleType]:
    """The named modules, and all below those that are packages; what cannot be imported is not."""
    for name in names:
        found = _imported(name)
        if found is None:
            continue
        yield found
        for each in pkgutil.walk_packages(getattr(found, "__path__", ()), f"{name}.", _ignored):
            words = each.name.split(".")
            if not {"tests", "test", "testing", "__main__", "conftest"} & set(words):
                inner = _imported(each.name)
                if inner is not None:
                    yield inner


def _ignored(name: str) -> None:
    """What ``walk_packages`` does about a package that fails to be imported."""


def _imported(name: str) -> types.ModuleType | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return importlib.import_module(name)
        except BaseException:  # another system's, an option that is missing, sys.exit()
            return None


def sweep(modules: Iterable[types.ModuleType]) -> Swept:
    """Convert every function of ``modules``."""
    swept = Swept()
    for module in modules:
        for function in functions_of(module):
            name = f"{module.__name__}.{function.__qualname__}"
            try:
                with _limited():
                    seconds = check(function)
            except NoSourceError:
                swept.sourceless += 1
            except D2SError as error:
                swept.refused.append(f"{name}: {error}")
            except (Exception, EndlessError) as error:
                swept.problems.append(f"{name}: {type(error).__name__}: {error}")
            else:
                lines = len(source_of(function).text.splitlines())
                swept.seconds.append((seconds, name, lines))
    return swept


def check(function: types.FunctionType) -> float:
    """Convert ``function``; the seconds that the passes took.

    Raises:
        AssertionError: the printed code does not compile, or is not the tree.
    """
    began = time.perf_counter()
    trace = conversion.trace_of(function)
    seconds = time.perf_counter() - began
    conversion.convert_function(function)  # compiled from the tree
    check_text(to_source(trace.tree).text)
    return seconds


def check_text(text: str) -> None:
    """Printed code is valid, and printed again it is the same text."""
    compile(text, "<printed>", "exec", dont_inherit=True)
    again = to_source(gast.ast_to_gast(ast.parse(text))).text
    assert again == text, f"printed again, it is another text:\n{again}"


@contextmanager
def _limited() -> Iterator[None]:
    def ring(*_: Any) -> None:
        raise EndlessError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def main(names: list[str]) -> int:
    """Print what was found in the named modules."""
    swept = sweep(modules_of(names))
    print(
        f"{len(swept.seconds)} functions, {swept.lines()} lines, {swept.per_line():.2f} ms a line"
    )
    print(f"{swept.sourceless} without a text, {len(swept.refused)} refused with a code")
    print("\n".join([*swept.refused, *swept.slowest(), *(f"WRONG {p}" for p in swept.problems)]))
    return 1 if swept.problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
