"""The order of the passes, and the loop that runs them.

``PIPELINE`` is the whole transformation.  Between two passes the tree is checked by
``syntax.verify`` when tests ask for it; a ``Trace`` keeps the tree after each pass for ``dump``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import gast

from d2s import config
from d2s.errors import PassError
from d2s.passes.base import Context, Pass
from d2s.passes.expressions import (
    boolean,
    calls,
    comprehensions,
    displays,
    items,
    shapes,
    supers,
    ternary,
    texts,
    walrus,
)
from d2s.passes.names import annotated, declarations, privates, probes, unbound
from d2s.passes.statements import (
    asserts,
    conditional,
    jumps,
    loops,
    managers,
    matches,
    raises,
    returns,
    subscripts,
    tries,
)
from d2s.syntax.source import FunctionSource
from d2s.syntax.trees import copied
from d2s.syntax.verify import verify

PIPELINE: Final[tuple[Pass, ...]] = (
    privates.PASS,
    supers.PASS,
    annotated.PASS,
    subscripts.PASS,
    matches.PASS,
    walrus.PASS,
    returns.PASS,
    jumps.PASS,
    unbound.PASS,
    loops.PASS,
    tries.PASS,
    conditional.PASS,
    comprehensions.PASS,
    declarations.PASS,
    asserts.PASS,
    raises.PASS,
    shapes.PASS,
    items.PASS,
    ternary.PASS,
    texts.PASS,
    displays.PASS,
    boolean.PASS,
    calls.PASS,
)


_FIRST: Final = PIPELINE.index(annotated.PASS) + 1

PROBED: Final[tuple[Pass, ...]] = (*PIPELINE[:_FIRST], probes.PASS, *PIPELINE[_FIRST:])
"""The pipeline for the self-check: each statement shows what it has bound."""

WATCHED: Final[tuple[Pass, ...]] = (*PIPELINE[:_FIRST], probes.PASS, calls.PASS)
"""The user's own code with probes, and nothing else: what the self-check compares with."""


CUT: Final[tuple[Pass, ...]] = (*PIPELINE[:_FIRST], managers.PASS, *PIPELINE[_FIRST:])
"""The pipeline for a generator under ``contextlib.contextmanager``, cut at its ``yield``."""


@dataclass(frozen=True)
class Step:
    """The tree after one pass."""

    name: str
    tree: Any


@dataclass(frozen=True)
class Trace:
    """What the transformation made of a function.

    Attributes:
        source: the user's function.
        steps: the tree before the first pass (named ``source``) and after each pass; empty
            unless asked for.
        tree: the final tree.
        namespace: the name under which the generated code reaches the operators.
        generated: the names of the body functions.
        ran: the names of the passes that had something to do.
    """

    source: FunctionSource
    steps: tuple[Step, ...]
    tree: Any
    namespace: str
    generated: frozenset[str] = frozenset()
    ran: tuple[str, ...] = ()


def _nothing(name: str) -> Any:
    return None


def _without_effect(step: Pass, tree: Any, ctx: Context, before: str) -> Any:
    """``tree``, dumped as ``before``, after a pass that is to be left out of this conversion."""
    tree = step.run(tree, ctx)
    if gast.dump(tree, include_attributes=True) != before:
        raise PassError(
            f"the pass {step.name!r} is about more than its ``about`` says, or a pass before it "
            "makes more than its ``makes`` says",
            file=ctx.source.file,
            line=ctx.source.first_line,
        )
    return tree


def transform(
    source: FunctionSource,
    *,
    resolve: Callable[[str], Any] = _nothing,
    keep_steps: bool = False,
    check: bool | None = None,
    passes: tuple[Pass, ...] = PIPELINE,
) -> Trace:
    """Run ``passes`` over the tree of ``source`` (which is not changed).

    Args:
        source: the user's function.
        resolve: what a global or closure name stands for now.
        keep_steps: keep a copy of the tree after each pass.
        check: verify the tree after each pass; the option ``verify`` unless given.
        passes: the passes, in an order that their ``after`` allows.

    Raises:
        PassError: (D2S901) with ``check``, when a pass leaves a broken tree.
    """
    check = config.get().verify if check is None else check
    tree = copied(source.tree)
    ctx = Context.of(source, resolve)
    steps = [Step("source", copied(tree))] if keep_steps else []
    ran: list[str] = []
    declared = False
    text = ""
    for step in passes:
        concerned = ctx.concerns(step)
        if concerned:
            ran.append(step.name)
            tree = step.run(tree, ctx)
            text = ""
            ctx.marks.update(step.makes)
            ctx.forget(flow=not step.keeps_flow)
        elif check:
            text = text or gast.dump(tree, include_attributes=True)
            tree = _without_effect(step, tree, ctx, text)
        if keep_steps:
            steps.append(Step(step.name, copied(tree)))
        if check and (concerned or step is declarations.PASS):
            declared = declared or step is declarations.PASS
            problems = verify(tree, free=source.free, complete=declared)
            if problems:
                raise PassError(
                    f"the pass {step.name!r} left a broken tree: {problems[0].message}",
                    file=source.file,
                    line=problems[0].line,
                )
    return Trace(source, tuple(steps), tree, ctx.namespace, ctx.generated_names, tuple(ran))
