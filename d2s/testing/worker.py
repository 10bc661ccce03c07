"""A process that tries one property on one batch of generated programs; see ``campaign``.

Which programs there are depends on the seed alone, so that a batch can be entered anywhere, and a
program that is wrong can be met again to be made smaller.  Writes one line of JSON for each thing
that happens to the standard output that it was started with; whatever else prints goes to the
standard error.  A program that hangs or crashes takes this process with it, and nothing else.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Annotated, Any

import hypothesis
import typer

from d2s.testing.program import Program
from d2s.testing.properties import PROPERTIES, Property, Verdict, judge
from d2s.testing.strategies import programs

Say = Callable[[dict[str, Any]], None]


def property_named(name: str) -> Property:
    """The property of this name."""
    return next(item for item in PROPERTIES if item.name == name)


def batch(
    what: Property, seed: int, count: int, use: Callable[[int, Program], None], *, shrink: bool
) -> None:
    """Draw the programs of a batch, and ``use`` each with its number.

    Args:
        what: the property that they are for.
        seed: all that the programs depend on.
        count: how many there are.
        use: called with each; what it raises ends the batch.
        shrink: make the program for which it raised smaller, as long as it raises.
    """
    number = 0
    phases = [hypothesis.Phase.generate] + ([hypothesis.Phase.shrink] if shrink else [])

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=count,
        database=None,
        phases=phases,
        deadline=None,
        report_multiple_bugs=False,
        print_blob=False,
        suppress_health_check=list(hypothesis.HealthCheck),
        verbosity=hypothesis.Verbosity.quiet,
    )
    @hypothesis.given(programs(tensors=what.tensors, without=what.without, one_size=what.one_size))
    def each(program: Program) -> None:
        nonlocal number
        number += 1
        use(number, program)

    each()


def _work(what: Property, seed: int, count: int, skip: int, say: Say) -> None:
    """Try the programs behind the first ``skip``."""

    def use(number: int, program: Program) -> None:
        if number <= skip:
            return
        say({"start": number})
        verdict = judge(what, program)
        found: dict[str, Any] = {
            "done": number,
            "kind": verdict.kind,
            "cause": verdict.cause,
            "constructs": sorted(program.constructs),
        }
        if verdict.kind == "wrong":
            found |= {"text": verdict.text, "file": program.file}
        say(found)

    batch(what, seed, count, use, shrink=False)
    say({"end": count})


def _shrink(what: Property, seed: int, count: int, wanted: int, say: Say) -> None:
    """Make the program number ``wanted`` smaller, as long as it is wrong for the same cause."""
    cause: str | None = None

    def use(number: int, program: Program) -> None:
        nonlocal cause
        if number < wanted:
            return
        verdict: Verdict = judge(what, program)
        if cause is None:
            cause = verdict.cause
        if verdict.kind == "wrong" and verdict.cause == cause:
            say({"smaller": program.file, "text": verdict.text})
            raise AssertionError(verdict.text)

    try:
        batch(what, seed, count, use, shrink=True)
    except AssertionError:
        say({"end": wanted})


def _show(what: Property, seed: int, count: int, wanted: int, say: Say) -> None:
    """Give the program number ``wanted`` without trying it."""

    def use(number: int, program: Program) -> None:
        if number == wanted:
            say({"file": program.file})

    batch(what, seed, count, use, shrink=False)


def main(
    name: Annotated[str, typer.Option("--property")],
    seed: Annotated[int, typer.Option()],
    count: Annotated[int, typer.Option()],
    skip: Annotated[int, typer.Option()] = 0,
    shrink: Annotated[int, typer.Option()] = 0,
    show: Annotated[int, typer.Option()] = 0,
) -> None:
    """Try a batch; or, with --shrink or --show, one program of it."""
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        os.dup2(2, 1)  # what programs and Paddle print is no message
        sys.stdout = sys.stderr

        def say(message: dict[str, Any]) -> None:
            out.write(json.dumps(message) + "\n")
            out.flush()

        what = property_named(name)
        if shrink:
            _shrink(what, seed, count, shrink, say)
        elif show:
            _show(what, seed, count, show, say)
        else:
            _work(what, seed, count, skip, say)


if __name__ == "__main__":
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(main)
    app()
