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
        key: which of the changes of this text in the function, if there are more than one.
    """

    file: str
    where: str
    kind: str
    before: str
    reason: str
    key: str = ""

    def speaks_of(self, mutant: Mutant) -> bool:
        return (self.file, self.where, self.kind, self.before) == (
            mutant.file,
            mutant.where,
            mutant.kind,
            mutant.before,
        ) and self.key in ("", mutant.key)


EXPLAINED: Final[tuple[Explained, ...]] = (
    Explained(
        "d2s/passes/statements/jumps.py",
        "_Loop.block",
        "branch removed",
        "if isinstance(node, gast.Return | gast.Raise):\n    return done",
        "What stands behind a return or raise is not come to, in the text or left out of it.",
    ),
    Explained(
        "d2s/passes/names/privates.py",
        "run",
        "constant changed",
        "'_'",
        "The characters that lstrip removes are the same, once or twice.",
    ),
    Explained(
        "d2s/passes/expressions/texts.py",
        "_is_constant",
        "alternative dropped",
        "gast.Constant | gast.Tuple | gast.Slice | gast.UnaryOp | gast.unaryop | gast.expr_context",
        "The walk comes to no context: one never has to be told apart.",
    ),
    Explained(
        "d2s/passes/expressions/walrus.py",
        "_Statements.is_steady",
        "returns None",
        "return isinstance(node, gast.Constant)",
        "A constant is then kept in a variable first, which holds the same constant.",
    ),
    Explained(
        "d2s/runtime/aliasing/slots.py",
        "Local.set",
        "comparison swapped",
        "sys.version_info < (3, 13)",
        "No Python has the version (3, 13) and nothing more.",
    ),
    Explained(
        "d2s/runtime/aliasing/reach.py",
        "Reach.add",
        "comparison swapped",
        "len(self._seen) < REACH",
        "A limit of effort: one more value is looked at before the search ends.",
    ),
    Explained(
        "d2s/passes/expressions/comprehensions.py",
        "_inner_walrus",
        "returns None",
        "return any((isinstance(inner, gast.NamedExpr) for inner in walk(node)))",
        "Left as it is or made a function, the comprehension binds the same variable.",
    ),
    Explained(
        "d2s/runtime/python/casts.py",
        "round_",
        "constant changed",
        "0.0",
        "It stands in for a number that is not finite, of which the run has raised by then.",
    ),
    Explained(
        "d2s/runtime/host/shipment.py",
        "_members",
        "and/or swapped",
        "isinstance(item, types.MemberDescriptorType | types.GetSetDescriptorType) and "
        "(not (name.startswith('__') or name == 'args'))",
        "It adds methods, and `__dict__` behind them, which drops them; the others are set again.",
    ),
    Explained(
        "d2s/runtime/aliasing/inplace.py",
        "",
        "constant changed",
        "'normal_'",
        "A tensor has no `normal` to be used in its place, so it is refused all the same.",
    ),
    Explained(
        "d2s/runtime/python/picking.py",
        "_are_stackable",
        "constant changed",
        "0",
        "Tensors without elements are then chosen one by one, and the item is the same.",
    ),
    Explained(
        "d2s/runtime/host/messages.py",
        "",
        "constant changed",
        "'skip_file_prefixes'",
        "Python before 3.12 has no such argument; on 3.12 a test of it fails.",
    ),
    Explained(
        "d2s/runtime/aliasing/views/branches.py",
        "relink",
        "continue removed",
        "continue",
        "A view that neither side has changed keeps the link that it has.",
    ),
    Explained(
        "d2s/runtime/values/tables.py",
        "not_reached",
        "constant changed",
        "0",
        "A side without a line comes first either way: no statement stands on a line before it.",
    ),
    Explained(
        "d2s/passes/names/declarations.py",
        "",
        "argument dropped",
        "Pass('declarations', run, after=('conditional', 'loops'), about=(gast.Nonlocal, gast.If, "
        "gast.While, gast.For, gast.ListComp, gast.GeneratorExp, gast.Try, gast.With))",
        "Less is asked by `after` of the one order that the passes have.",
    ),
    Explained(
        "d2s/passes/statements/returns.py",
        "_Returns.block",
        "branch removed",
        "if isinstance(node, gast.Raise):\n    return done",
        "What stands behind a raise is not come to, in the text or left out of it.",
    ),
    Explained(
        "d2s/runtime/calls/layers.py",
        "layer_call",
        "branch removed",
        "if id(layer) in capture.prepared:\n    return applied(functools.partial(original, "
        "layer), list(arguments), options)",
        "A layer that calls itself is then prepared once more, with the same forward and hooks.",
    ),
    Explained(
        "d2s/runtime/loops/comprehensions.py",
        "_filtered",
        "constant changed",
        "'bool'",
        "Paddle takes `bool_`, NumPy's name, for the same dtype.",
    ),
    Explained(
        "d2s/runtime/control_flow/effects.py",
        "_raise_on_run",
        "constant changed",
        "'bool'",
        "Paddle takes `bool_`, NumPy's name, for the same dtype.",
    ),
    Explained(
        "d2s/runtime/aliasing/inplace.py",
        "",
        "constant changed",
        "'random_'",
        "A tensor has no `random` to be used in its place, so it is refused all the same.",
    ),
    Explained(
        "d2s/runtime/aliasing/views/links.py",
        "",
        "constant changed",
        "'view_shape'",
        "Paddle puts a `reshape` into a program for `view`: none holds this operation.",
    ),
    Explained(
        "d2s/runtime/training/methods.py",
        "_classes",
        "and/or swapped",
        "issubclass(kind, base) and kind is not base",
        "No other class of the two modules has a method that is replaced.",
    ),
    Explained(
        "d2s/runtime/training/leaves.py",
        "Mark.__init__",
        "statement removed",
        "self.name = name",
        "Only a debugger shows the name.",
    ),
    Explained(
        "d2s/passes/expressions/walrus.py",
        "",
        "argument dropped",
        "Pass('walrus', each_function(_lower), after=('matches',), about=(gast.NamedExpr,), "
        "makes=(gast.If, gast.Not))",
        "A function without a walrus goes through the pass as it is, and is only spared the way.",
        "908973744155",
    ),
    Explained(
        "d2s/runtime/loops/carriers/constant.py",
        "Constant.split",
        "constant changed",
        "0",
        "It is then carried as one of the two things that it may be, which is the same choice.",
        "55bcfdf36811",
    ),
    Explained(
        "d2s/runtime/loops/carriers/structure.py",
        "Structure.split",
        "constant changed",
        "True",
        "The next capture of the loop finds the trip's list to be another, and plans for it then.",
        "b62043e0741d",
    ),
    Explained(
        "d2s/runtime/host/debuggers.py",
        "_is_within_ours",
        "constant changed",
        "True",
        "The debugger is at work in a process of its own; there `test_stepping_goes_over_d2s` "
        "fails.",
        "fd5479145388",
    ),
    Explained(
        "d2s/runtime/host/breakpoints.py",
        "_is_pdb",
        "comparison swapped",
        "pdb.set_trace is not _SET_TRACE",
        "pytest puts its own in the place of it; in a process of its own "
        "`test_stepping_goes_over_d2s` fails.",
    ),
    Explained(
        "d2s/runtime/host/breakpoints.py",
        "_stop_in_pdb",
        "statement removed",
        "show_users_code(debugger)",
        "The debugger is at work in a process of its own; there `test_stepping_goes_over_d2s` "
        "fails.",
    ),
    Explained(
        "d2s/runtime/control_flow/outputs.py",
        "Outputs._widened",
        "returns None",
        "return []",
        "No dimension of either side can be 0: that the result has elements is noted, and true.",
        "347e61a62696",
    ),
)
