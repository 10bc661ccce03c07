"""The search: the smallest program that still shows what it is to show."""

from __future__ import annotations

import ast
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from d2s.testing.minimize.edits import PHASES, cost

_NEVER: Final = float("inf")


@dataclass
class Reduction:
    """A program that gets smaller.

    Attributes:
        shows: asks whether a text still shows it.
        tree: the smallest so far that does.
        seconds: how long to go on.
        told: called with each smaller one.
        tried: how many programs were asked about.
        complete: nothing smaller is left to be tried.
    """

    shows: Callable[[str], bool]
    tree: ast.Module
    seconds: float = _NEVER
    told: Callable[[Reduction], None] = lambda reduction: None
    tried: int = 0
    complete: bool = False
    _seen: set[str] = field(default_factory=set)

    @property
    def text(self) -> str:
        """The smallest so far."""
        return ast.unparse(ast.fix_missing_locations(self.tree)) + "\n"

    def run(self) -> None:
        """Make it smaller for as long as that goes, or there is time."""
        end = time.monotonic() + self.seconds
        smaller = True
        while smaller:
            smaller = False
            for phase in PHASES:
                at = 0
                while at < len(edits := phase(self.tree)):
                    if time.monotonic() > end:
                        return
                    if self._take(edits[at].on(self.tree)):
                        smaller = True
                    else:
                        at += 1
        self.complete = True

    def _take(self, made: ast.Module) -> bool:
        """Take a program in the place of the smallest, if it is smaller, and shows it."""
        if not cost(made) < cost(self.tree):
            return False
        text = _text_of(made)
        if text is None or text in self._seen:
            return False
        self._seen.add(text)
        self.tried += 1
        if not self.shows(text):
            return False
        self.tree = ast.parse(text)
        self.told(self)
        return True


def _text_of(tree: ast.Module) -> str | None:
    """The text of a tree, if it is Python: not with a ``break`` outside of a loop, say."""
    try:
        text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
        with warnings.catch_warnings():
            warnings.simplefilter("error", SyntaxWarning)
            compile(text, "<smaller>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, AttributeError, TypeError, RecursionError):
        return None
    return text
