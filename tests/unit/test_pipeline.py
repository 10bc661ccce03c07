"""Passes that have nothing to do are left out, and a pass that says so wrongly is found."""

from __future__ import annotations

import ast
import sys
from typing import Any

import gast
import pytest

from d2s.errors import PassError
from d2s.passes.base import Context, Pass
from d2s.pipeline import BOUND, CUT, HANDED, PIPELINE, PROBED, transform
from d2s.syntax.plain import to_gast
from d2s.syntax.source import FunctionSource

EVERYTHING = """
def f(self, x, n, *items):
    total: float = 0.0
    assert n > 0, "positive"
    for i in range(n):
        if x.sum() > i and not x.shape[0] == i:
            continue
        items[i] = f"{x}" if x is not None else "%s" % n
        while (y := x.max()) > 1:
            x = x / y
            if x.min() > 0:
                break
    match n:
        case 1:
            return super().forward(x)
        case _ if n > 2:
            raise ValueError(n)
    try:
        x = self.g(x)
    except KeyError:
        x = sum(item for item in [*items, n] if item > 0)
    return x
"""


def source_of(text: str) -> FunctionSource:
    return FunctionSource(text, to_gast(ast.parse(text).body[0]), "<text>", 2, "f")


def noting(step: Pass, ran: list[str]) -> Pass:
    def run(tree: Any, ctx: Context) -> Any:
        ran.append(step.name)
        return step.run(tree, ctx)

    return Pass(step.name, run, step.after, step.keeps_flow, step.about, step.makes)


def passes_run(text: str) -> list[str]:
    ran: list[str] = []
    transform(source_of(text), check=False, passes=tuple(noting(step, ran) for step in PIPELINE))
    return ran


def test_all_passes_run_where_there_is_work_for_all() -> None:
    assert passes_run(EVERYTHING) == [step.name for step in PIPELINE]


def test_passes_without_work_are_left_out() -> None:
    ran = passes_run("\ndef f(x):\n    y = x.mean() + 1\n    return y\n")
    left_out = {"matches", "walrus", "jumps", "loops", "comprehensions", "asserts", "items"}
    assert not left_out & set(ran)
    assert "calls" in ran


def test_what_a_pass_makes_is_work_for_the_next() -> None:
    """The branch stands nowhere in the text: ``match`` becomes one."""
    text = "\ndef f(x, n):\n    match n:\n        case 1:\n            x = x + 1\n    return x\n"
    ran = passes_run(text)
    assert ran.index("matches") < ran.index("conditional")


@pytest.mark.parametrize(
    "passes",
    [PIPELINE, PROBED, CUT, HANDED, BOUND],
    ids=["usual", "probed", "cut", "handed", "bound"],
)
def test_leaving_out_changes_nothing(passes: tuple[Pass, ...]) -> None:
    always = tuple(Pass(step.name, step.run, step.after, step.keeps_flow) for step in passes)
    some = transform(source_of(EVERYTHING), check=False, passes=passes)
    every = transform(source_of(EVERYTHING), check=False, passes=always)
    assert gast.dump(some.tree, include_attributes=True) == gast.dump(
        every.tree, include_attributes=True
    )


def test_a_pass_about_more_than_it_says_is_found() -> None:
    def run(tree: Any, ctx: Context) -> Any:
        tree.body.append(tree.body[-1])
        return tree

    wrong = Pass("wrong", run, about=(gast.Match,))
    with pytest.raises(PassError, match="'wrong' is about more"):
        transform(source_of("\ndef f(x):\n    return x\n"), check=True, passes=(wrong,))


@pytest.mark.parametrize("passes", [PIPELINE, PROBED, CUT, HANDED, BOUND])
def test_passes_are_named_as_their_modules(passes: tuple[Pass, ...]) -> None:
    """A5: ``dump --passes`` says where a step is to be found."""
    for step in passes:
        homes = [
            module
            for name, module in sys.modules.items()
            if name.startswith("d2s.passes.") and name.split(".")[-1] == step.name
        ]
        assert [home.PASS for home in homes] == [step]


@pytest.mark.parametrize("passes", [PIPELINE, PROBED, CUT, HANDED, BOUND])
def test_each_pass_comes_after_what_it_needs(passes: tuple[Pass, ...]) -> None:
    """A5: the order is one that every pass allows."""
    for position, step in enumerate(passes):
        assert set(step.after) <= {earlier.name for earlier in passes[:position]}
