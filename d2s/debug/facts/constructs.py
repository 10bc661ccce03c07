"""What became of each construct of a function."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import gast

from d2s.analysis.walk import walk
from d2s.debug.facts.evidence import IF, WHILE, Evidence, LineEvidence
from d2s.markup.flow import counted
from d2s.markup.listing import Fate

_CHOICES: Final = (gast.If, gast.IfExp, gast.BoolOp, gast.Match)
_LOOPS: Final = (gast.For, gast.While)
_COMPREHENSIONS: Final = (gast.ListComp, gast.GeneratorExp, gast.SetComp, gast.DictComp)
_CONSTRUCTS: Final = (*_CHOICES, *_LOOPS, *_COMPREHENSIONS)

COND: Final = Fate("cond", "cond", "a tensor decides it: both sides are in the program")
LOOP: Final = Fate("while_loop", "while_loop", "a tensor decides how often it runs")
SKIPPED: Final = Fate("skipped", "not in the program", "Python decided against it at capture")


def fates_in(tree: Any, file: str, evidence: Evidence) -> dict[int, list[Fate]]:
    """What became of what stands on each line of a function.

    Args:
        tree: of the function, with the lines of the file.
        file: the user's file.
        evidence: what is known of its lines.
    """
    fates: dict[int, list[Fate]] = {}

    def add(line: int, fate: Fate) -> None:
        found = fates.setdefault(line, [])
        if fate not in found:
            found.append(fate)

    for node in walk(tree):
        if isinstance(node, _CONSTRUCTS):
            known = evidence.at(file, node.lineno)
            for fate in _of_construct(node, known):
                add(node.lineno, fate)
            for line in _left_out(node, known):
                add(line, SKIPPED)
    for line in range(tree.lineno, (tree.end_lineno or tree.lineno) + 1):
        for fate in _of_line(evidence.at(file, line)):
            add(line, fate)
    return fates


def _of_construct(node: Any, known: LineEvidence) -> Iterator[Fate]:
    """What became of one construct, as far as the evidence tells."""
    if isinstance(node, _CHOICES):
        if IF in known.makes:
            yield COND
        if "if" in known.notes:
            yield _decided(known.notes["if"].values)
        return
    if WHILE in known.makes:
        yield LOOP
    kind = {gast.For: "for", gast.While: "while"}.get(type(node), "comprehension")
    noted = known.notes.get(kind)
    if noted is not None and (WHILE not in known.makes or max(noted.values) > 1):
        yield unrolled(noted.values, noted.text or "its condition is no tensor")


def _decided(values: list[int]) -> Fate:
    both = len(set(map(bool, values))) > 1
    found = "True at times, False at others" if both else str(bool(values[0]))
    return Fate("python", "Python, at capture", f"the condition is no tensor, and was {found}")


def unrolled(values: list[int], why: str) -> Fate:
    """The fate of a loop whose trips stand one after the other."""
    first, last = min(values), max(values)
    what = f"unrolled {counted(last, 'time')}"
    if first != last:
        what = f"unrolled {first} to {counted(last, 'time')}"
    return Fate("unrolled", what, why)


def _left_out(node: Any, known: LineEvidence) -> Iterator[int]:
    """The lines of the side that Python has always decided against."""
    noted = known.notes.get("if")
    if noted is None or not isinstance(node, gast.If) or IF in known.makes:
        return
    truths = set(map(bool, noted.values))
    if len(truths) == 1:
        for statement in node.orelse if True in truths else node.body:
            yield from range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)


def _of_line(known: LineEvidence) -> Iterator[Fate]:
    """What became of something on a line that is no construct of Python's."""
    if "list" in known.notes:
        yield Fate("list", "list of the run", "the run decides how long it gets")
    if "host" in known.notes:
        yield Fate("host", "host operator", f"each run {known.notes['host'].text} here")
