"""The order of the passes, and the loop that runs them.

``PIPELINE`` is the whole transformation.  When tests ask for it, what comes of it is checked by
``syntax.verify``; a ``Trace`` keeps the tree after each pass for ``dump``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
    operands,
    shapes,
    supers,
    ternary,
    texts,
    walrus,
)
from d2s.passes.names import annotated, declarations, privates, probes, rests, unbound
from d2s.passes.statements import (
    asserts,
    conditional,
    generators,
    jumps,
    loops,
    managers,
    matches,
    raises,
    returns,
    steps,
    subscripts,
    tries,
    unpacking,
)
from d2s.syntax.source import FunctionSource
from d2s.syntax.trees import copied
from d2s.syntax.verify import verify

PIPELINE: Final[tuple[Pass, ...]] = (
    privates.PASS,
    supers.PASS,
    annotated.PASS,
    unpacking.PASS,
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
    rests.PASS,
)


_FIRST: Final = PIPELINE.index(annotated.PASS) + 1

PROBED: Final[tuple[Pass, ...]] = (*PIPELINE[:_FIRST], probes.PASS, *PIPELINE[_FIRST:])
"""The pipeline for the self-check: each statement shows what it has bound."""

WATCHED: Final[tuple[Pass, ...]] = (*PIPELINE[:_FIRST], probes.PASS, calls.PASS)
"""The user's own code with probes, and nothing else: what the self-check compares with."""


CUT: Final[tuple[Pass, ...]] = (*PIPELINE[:_FIRST], managers.PASS, *PIPELINE[_FIRST:])
"""The pipeline for a generator under ``contextlib.contextmanager``, cut at its ``yield``."""

HANDED: Final[tuple[Pass, ...]] = (*PIPELINE[:_FIRST], generators.PASS, *PIPELINE[_FIRST:])
"""The pipeline for a generator that hands its items to a function."""

STEPPED: Final[tuple[Pass, ...]] = (*PIPELINE[:_FIRST], steps.PASS, *PIPELINE[_FIRST:])
"""The pipeline for a generator as steps, each of which goes on to its next ``yield``."""


def _bound(passes: tuple[Pass, ...]) -> tuple[Pass, ...]:
    """``passes``, and operands that wait for a call are bound to variables."""
    at = passes.index(walrus.PASS) + 1
    return (*passes[:at], operands.PASS, *passes[at:])


BOUND: Final = _bound(PIPELINE)
"""The pipeline for a capture in which a tensor is changed while an operand shows it."""

CUT_BOUND: Final = _bound(CUT)
"""The same for a generator under ``contextlib.contextmanager``."""

HANDED_BOUND: Final = _bound(HANDED)
"""The same for a generator that hands its items to a function."""

STEPPED_BOUND: Final = _bound(STEPPED)
"""The same for a generator in steps."""


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


def _trees(
    ctx: Context, tree: Any, passes: tuple[Pass, ...], *, whole: bool = False
) -> Iterator[tuple[Pass, bool, Any]]:
    """Each pass, whether it has something to do, and the tree after it.

    Args:
        ctx: that of the function; it learns what the passes make.
        tree: the function, which is changed.
        passes: the passes, in their order.
        whole: also run those that are said to have nothing to do.
    """
    for step in passes:
        concerned = ctx.concerns(step)
        if concerned or whole:
            tree = step.run(tree, ctx)
        if concerned:
            ctx.marks.update(step.makes)
            ctx.forget(flow=not step.keeps_flow)
        yield step, concerned, tree


def _check(
    source: FunctionSource, resolve: Callable[[str], Any], passes: tuple[Pass, ...], made: Any
) -> None:
    """Hold the tree ``made`` against the rules, and against what all passes together make.

    Raises:
        PassError: (D2S901) it names the pass, for which the passes are run once more.
    """

    def again() -> Iterator[tuple[Pass, bool, Any]]:
        return _trees(Context.of(source, resolve), copied(source.tree), passes, whole=True)

    whole = [source.tree, *(tree for _, _, tree in again())][-1]
    problems = verify(made, free=source.free, complete=declarations.PASS in passes)
    if not problems and (_is_same(whole, made) or _text(whole) == _text(made)):
        return
    declared, before = False, _text(source.tree)
    for step, concerned, tree in again():
        declared = declared or step is declarations.PASS
        after = _text(tree)
        if not concerned and after != before:
            raise PassError(
                f"the pass {step.name!r} is about more than its ``about`` says, or a pass before "
                "it makes more than its ``makes`` says",
                file=source.file,
                line=source.first_line,
            )
        problems = verify(tree, free=source.free, complete=declared)
        if problems:
            raise PassError(
                f"the pass {step.name!r} left a broken tree: {problems[0].message}",
                file=source.file,
                line=problems[0].line,
            )
        before = after


def _is_same(one: Any, other: Any) -> bool:
    """Whether the trees agree in each field: then they have the same text, which takes longer."""
    stack = [(one, other)]
    while stack:
        left, right = stack.pop()
        kind = type(left)
        if kind is not type(right):
            return False
        if kind is list:
            if len(left) != len(right):
                return False
            stack += zip(left, right, strict=True)
        elif isinstance(left, gast.AST):
            for name in (*left._fields, *left._attributes):
                stack.append((getattr(left, name, None), getattr(right, name, None)))
        elif left is not right and repr(left) != repr(right):
            return False
    return True


def _text(tree: Any) -> str:
    return str(gast.dump(tree, include_attributes=True))


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
        check: verify the tree; the option ``verify`` unless given.
        passes: the passes, in an order that their ``after`` allows.

    Raises:
        PassError: (D2S901) with ``check``, when the passes leave a broken tree.
    """
    check = config.get().verify if check is None else check
    tree = copied(source.tree)
    ctx = Context.of(source, resolve)
    steps = [Step("source", copied(tree))] if keep_steps else []
    ran: list[str] = []
    for step, concerned, made in _trees(ctx, tree, passes):
        tree = made
        if concerned:
            ran.append(step.name)
        if keep_steps:
            steps.append(Step(step.name, copied(tree)))
    if check:
        _check(source, resolve, passes, tree)
    return Trace(source, tuple(steps), tree, ctx.namespace, ctx.generated_names, tuple(ran))
