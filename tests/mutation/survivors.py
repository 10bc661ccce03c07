"""Mutants that no test can tell from d2s, or that need not be told, each with its reason.

An entry speaks of a change by its file, its function and its text, not by its line; the tests hold
that there is such a change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tests.mutation.mutants import Mutant


@dataclass(frozen=True)
class Explained:
    """One change that may survive.

    Attributes:
        file: where it is.
        where: in which function.
        kind: what is done.
        before: the text that is changed.
        reason: why nobody can notice.
    """

    file: str
    where: str
    kind: str
    before: str
    reason: str

    def speaks_of(self, mutant: Mutant) -> bool:
        return (self.file, self.where, self.kind, self.before) == (
            mutant.file,
            mutant.where,
            mutant.kind,
            mutant.before,
        )


EXPLAINED: Final[tuple[Explained, ...]] = (
    Explained(
        "d2s/passes/jumps.py",
        "_Loop.block",
        "branch removed",
        "if isinstance(node, gast.Return | gast.Raise):\n    return done",
        "What stands behind a return or raise is not come to, in the text or left out of it.",
    ),
    Explained(
        "d2s/passes/privates.py",
        "run",
        "constant changed",
        "'_'",
        "The characters that lstrip removes are the same, once or twice.",
    ),
    Explained(
        "d2s/passes/texts.py",
        "_is_constant",
        "alternative dropped",
        "gast.Constant | gast.Tuple | gast.Slice | gast.UnaryOp | gast.unaryop | gast.expr_context",
        "The walk comes to no context: one never has to be told apart.",
    ),
    Explained(
        "d2s/passes/walrus.py",
        "_Statements.is_steady",
        "returns None",
        "return isinstance(node, gast.Constant)",
        "A constant is then kept in a variable first, which holds the same constant.",
    ),
    Explained(
        "d2s/operators/aliases.py",
        "_Local.set",
        "comparison swapped",
        "sys.version_info < (3, 13)",
        "No Python has the version (3, 13) and nothing more.",
    ),
    Explained(
        "d2s/operators/state.py",
        "_Reach.add",
        "comparison swapped",
        "len(self._seen) < REACH",
        "A limit of effort: one more value is looked at before the search ends.",
    ),
)
