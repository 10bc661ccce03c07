"""Take the guards out of ``match``, so that a tensor may decide them (rule B7).

Patterns stay Python's; a case with a guard becomes a ``match`` of its own with an ``if`` inside,
and what follows runs when nothing has matched yet.

>>> show(PASS, '''
... def f(kind, x):
...     match kind:
...         case "leaky" if x.min() < 0:
...             return x * 0.1
...         case _:
...             return x
... ''')
def f(kind, x):
    matched = False
    subject = kind
    match subject:
        case 'leaky':
            if x.min() < 0:
                matched = True
                return x * 0.1
    if not matched:
        match subject:
            case _:
                return x
"""

from __future__ import annotations

from typing import Any

import gast

from d2s.passes.base import (
    Context,
    Pass,
    ScopeTransformer,
    assign,
    constant,
    each_function,
    if_,
    load,
    negated,
)
from d2s.syntax.positions import Span, header, place


class _Matches(ScopeTransformer):
    def visit_Match(self, node: Any) -> Any:
        self.generic_visit(node)
        if all(case.guard is None for case in node.cases):
            return node
        at = header(node)
        matched, subject = self.ctx.names.fresh("matched"), self.ctx.names.fresh("subject")
        return [
            assign(matched, constant(False, at), at),
            assign(subject, node.subject, at),
            *self.cases(node.cases, matched, subject, at),
        ]

    def cases(self, cases: list[Any], matched: str, subject: str, at: Span) -> list[Any]:
        """The statements for ``cases``; each group ends with a case that has a guard."""
        count = next((i for i, case in enumerate(cases) if case.guard is not None), len(cases) - 1)
        group, rest = cases[: count + 1], cases[count + 1 :]
        last = group[-1]
        for case in group[:-1]:
            if rest:
                case.body.insert(0, assign(matched, constant(True, at), at))
        if last.guard is not None:
            where = header(last.guard)
            flag = [assign(matched, constant(True, where), where)] if rest else []
            last.body = [if_(last.guard, [*flag, *last.body], [], where)]
            last.guard = None
        statements = [place(gast.Match(load(subject, at), group), at)]
        if rest:
            others = self.cases(rest, matched, subject, at)
            test = negated(load(matched, at), at)
            statements.append(if_(test, others, [], at))
        return statements


def _lower(function: Any, ctx: Context) -> None:
    function.body = _Matches(ctx).block(function.body)


PASS = Pass("matches", each_function(_lower))
