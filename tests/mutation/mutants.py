"""The mutants of a file: small changes of its tree, each of which a good suite notices.

A mutant keeps every line where it is, because d2s speaks of lines, and is compiled from the tree.
Left alone are what no run can tell apart or what is no behaviour: annotations, docstrings, the
sentences of messages (the golden files hold those), decorators, ``assert`` and the ``strict`` of a
``zip``, ``__all__``, types.
"""

from __future__ import annotations

import ast
import copy
import difflib
import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

COMPARISONS: Final[dict[type, type]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}
OPERATORS: Final[dict[type, type]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
NEGATIONS: Final = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)
"""Comparisons whose swap is their negation: a condition that is one is not negated again."""


@dataclass(frozen=True)
class Mutant:
    """One change of one file.

    Attributes:
        file: the path from the root of the repository.
        line: where the change is.
        span: the first and the last line that are run when the change may matter.
        scope: the lines of the function around it; from 0 to the end for what an import runs.
        where: the name of that function.
        kind: what was done.
        before, after: the changed expression or statement.
        number: which of the changes of its file it is, in the order of :func:`changes`.
        key: the same as long as the text of the change and its function are.
    """

    file: str
    line: int
    span: tuple[int, int]
    scope: tuple[int, int]
    where: str
    kind: str
    before: str
    after: str
    number: int
    key: str


@dataclass
class _Change:
    """A change that ``apply`` makes in the tree: ``new`` in the place of ``node``."""

    kind: str
    node: ast.AST
    new: ast.AST
    apply: Callable[[], None]
    statement: ast.stmt | None = None
    path: tuple[ast.AST, ...] = ()


def mutants_of(path: Path, root: Path) -> list[Mutant]:
    """All mutants of the file ``path``."""
    text = path.read_text("utf-8")
    file = path.relative_to(root).as_posix()
    seen: Counter[tuple[str, ...]] = Counter()
    found = []
    for number, change in enumerate(changes(ast.parse(text))):
        where = ".".join(node.name for node in change.path)  # type: ignore[attr-defined]
        before, after = ast.unparse(change.node), ast.unparse(change.new)
        words = (file, where, change.kind, before, after)
        seen[words] += 1
        digest = hashlib.sha1("\0".join([*words, str(seen[words])]).encode()).hexdigest()[:12]
        functions = [node for node in change.path if not isinstance(node, ast.ClassDef)]
        scope = (0, text.count("\n") + 1)
        if functions and not _run_by_import(change, functions[-1]):
            scope = _lines(functions[-1])
        found.append(
            Mutant(
                file=file,
                line=change.node.lineno,  # type: ignore[attr-defined]
                span=_header(change.statement),
                scope=scope,
                where=where,
                kind=change.kind,
                before=before,
                after=after,
                number=number,
                key=digest,
            )
        )
    return found


def sample(mutants: list[Mutant], count: int, seed: int) -> list[Mutant]:
    """``count`` of ``mutants``, from each file in proportion; a larger sample holds the smaller.

    A mutant has its place by itself, so a change of the file leaves the others in the sample.
    """
    files: dict[str, list[Mutant]] = {}
    for mutant in mutants:
        files.setdefault(mutant.file, []).append(mutant)
    chosen = []
    for those in files.values():
        those.sort(key=lambda mutant: hashlib.sha1(f"{seed}:{mutant.key}".encode()).digest())
        chosen += those[: max(1, round(count * len(those) / len(mutants)))]
    return chosen


def mutated(mutant: Mutant, root: Path) -> ast.Module:
    """The tree of the file with the change made."""
    tree = ast.parse((root / mutant.file).read_text("utf-8"))
    for number, change in enumerate(changes(tree)):
        if number == mutant.number:
            change.apply()
            return ast.fix_missing_locations(tree)
    raise LookupError(f"{mutant.file} has no change {mutant.number}: it was edited since")


def diff_of(mutant: Mutant, root: Path) -> str:
    """The change as a person would have made it."""
    text = (root / mutant.file).read_text("utf-8")
    change = next(
        change for number, change in enumerate(changes(ast.parse(text))) if number == mutant.number
    )
    lines = text.splitlines(keepends=True)
    node: Any = change.node
    first, last = lines[node.lineno - 1].encode(), lines[node.end_lineno - 1].encode()
    changed = mutant.after.replace("\n", "\n" + " " * node.col_offset).encode()
    new = (first[: node.col_offset] + changed + last[node.end_col_offset :]).decode()
    after = [*lines[: node.lineno - 1], *new.splitlines(keepends=True), *lines[node.end_lineno :]]
    return "".join(difflib.unified_diff(lines, after, mutant.file, "mutant", n=1))


def changes(tree: ast.Module) -> Iterator[_Change]:
    """Every change of ``tree``, always in the same order."""
    yield from _Changes().visit_body(tree, "body")


class _Changes:
    """Walks a tree once; ``statement`` and ``path`` say where it is."""

    def __init__(self) -> None:
        self.statement: ast.stmt | None = None
        self.path: tuple[ast.AST, ...] = ()

    def change(
        self, kind: str, parent: Any, field: str, index: int | None, new: ast.AST
    ) -> _Change:
        """The change that puts ``new`` in the place ``parent.field[index]``."""
        place = getattr(parent, field)
        old = place if index is None else place[index]

        def apply() -> None:
            for node in ast.walk(new):
                if not hasattr(node, "lineno"):
                    ast.copy_location(node, old)
            if index is None:
                setattr(parent, field, new)
            else:
                place[index] = new

        return _Change(kind, old, new, apply, self.statement, self.path)

    def visit_body(self, parent: Any, field: str) -> Iterator[_Change]:
        """The statements in ``parent.field``."""
        for index, node in enumerate(getattr(parent, field)):
            if _no_behaviour(node, parent):
                continue
            outer, self.statement = self.statement, node
            yield from self.statement_changes(parent, field, index, node)
            yield from self.children(node)
            self.statement = outer

    def children(self, node: Any) -> Iterator[_Change]:
        """What lies in ``node``: expressions, and the blocks of statements."""
        inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        if inside:
            self.path = (*self.path, node)
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns", "decorator_list", "bases", "ctx"):
                continue
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                yield from self.visit_body(node, field)
            elif isinstance(value, list):
                for index, item in enumerate(value):
                    if isinstance(item, ast.AST):
                        yield from self.visit(node, field, index, item)
            elif isinstance(value, ast.AST):
                yield from self.visit(node, field, None, value)
        if inside:
            self.path = self.path[:-1]

    def visit(self, parent: Any, field: str, index: int | None, node: Any) -> Iterator[_Change]:
        """An expression, or a part of a statement, and what lies in it."""
        if isinstance(node, ast.JoinedStr) or not _matters(node):
            return
        for kind, new in _expressions(node, parent, field):
            yield self.change(kind, parent, field, index, new)
        if isinstance(node, ast.ExceptHandler):
            if not isinstance(node.body[-1], ast.Raise) or len(node.body) > 1:
                new = copy.copy(node)
                new.body = [ast.Raise(None, None)]
                yield self.change("handler removed", parent, field, index, new)
        if _is_check(node):  # the types that it asks for: one of them is left out
            yield from self.visit(node, "args", 0, node.args[0])
            for new in _fewer(node.args[1]):
                yield self.change("alternative dropped", node, "args", 1, new)
            return
        yield from self.children(node)

    def statement_changes(
        self, parent: Any, field: str, index: int, node: Any
    ) -> Iterator[_Change]:
        if _is_removable(node):
            yield self.change("statement removed", parent, field, index, ast.Pass())
        elif isinstance(node, ast.Break):
            yield self.change("break is continue", parent, field, index, ast.Continue())
        elif isinstance(node, ast.Continue):
            yield self.change("continue removed", parent, field, index, ast.Pass())
        elif isinstance(node, ast.Return):
            # A false constant is as good as None to nearly every caller.
            if not (node.value is None or _is_false(node.value)):
                none = ast.Return(ast.Constant(None))
                yield self.change("returns None", parent, field, index, none)
            elif node.value is None:
                yield self.change("return removed", parent, field, index, ast.Pass())
        elif isinstance(node, ast.If):
            if not (len(node.body) == 1 and _is_removable(node.body[0])):
                new = copy.copy(node)
                new.body = [ast.Pass()]
                yield self.change("branch removed", parent, field, index, new)
            if node.orelse and not isinstance(node.orelse[0], ast.If):
                new = copy.copy(node)
                new.orelse = []
                yield self.change("else removed", parent, field, index, new)


def _expressions(node: Any, parent: Any, field: str) -> Iterator[tuple[str, Any]]:
    """What may stand in the place of the expression ``node``."""
    is_test = field == "test" or (field == "ifs" and isinstance(parent, ast.comprehension))
    swapped = isinstance(node, ast.Compare) and isinstance(node.ops[-1], NEGATIONS)
    if is_test and not swapped and not _is_not(node):
        yield "condition negated", ast.UnaryOp(ast.Not(), node)
    if _is_not(node):
        yield "condition negated", node.operand
    if isinstance(node, ast.Compare):
        for position, op in enumerate(node.ops):
            new = copy.copy(node)
            new.ops = [*node.ops]
            new.ops[position] = COMPARISONS[type(op)]()
            yield "comparison swapped", new
    elif isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield "and/or swapped", ast.BoolOp(other, node.values)
    elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        yield "operator swapped", ast.BinOp(node.left, OPERATORS[type(node.op)](), node.right)
    elif isinstance(node, ast.Constant):
        yield from (("constant changed", ast.Constant(new)) for new in _constants(node.value))
    elif isinstance(node, ast.Call):
        for keyword in filter(_matters, node.keywords):
            new = copy.copy(node)
            new.keywords = [item for item in node.keywords if item is not keyword]
            yield "argument dropped", new
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                new = copy.copy(node)
                new.args = [item for item in node.args if item is not argument]
                yield "argument dropped", new


def _constants(value: object) -> Iterator[object]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield value + 1
    elif isinstance(value, str) and value and " " not in value:  # others are sentences
        yield value + "_"


def _fewer(types: Any) -> Iterator[ast.expr]:
    """``A | B | C`` without one of its alternatives."""
    if isinstance(types, ast.BinOp) and isinstance(types.op, ast.BitOr):
        yield types.left
        for fewer in _fewer(types.left):
            yield ast.BinOp(fewer, ast.BitOr(), types.right)
        if not isinstance(types.left, ast.BinOp):
            yield types.right
    elif isinstance(types, ast.Tuple) and len(types.elts) > 1:
        for position in range(len(types.elts)):
            elts = types.elts[:position] + types.elts[position + 1 :]
            yield ast.Tuple(elts, ast.Load())


def _matters(node: Any) -> bool:
    """Whether ``node`` is more than ``strict=True`` of a ``zip``, which is an assertion."""
    return not (isinstance(node, ast.keyword) and node.arg == "strict")


def _is_check(node: Any) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("isinstance", "issubclass")
        and len(node.args) == 2
    )


def _is_not(node: Any) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)


def _is_false(node: Any) -> bool:
    return isinstance(node, ast.Constant) and not node.value


def _is_removable(node: Any) -> bool:
    """Whether ``node`` has an effect beyond a local variable."""
    if isinstance(node, ast.Assign):
        return all(isinstance(target, ast.Attribute | ast.Subscript) for target in node.targets)
    return isinstance(node, ast.Expr | ast.AugAssign | ast.Raise | ast.Delete)


def _no_behaviour(node: Any, parent: Any) -> bool:
    if isinstance(node, ast.Assert | ast.Import | ast.ImportFrom | ast.Global | ast.Nonlocal):
        return True
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True  # a docstring
    if not (isinstance(parent, ast.Module) and isinstance(node, ast.Assign)):
        return False
    names = [target.id for target in node.targets if isinstance(target, ast.Name)]
    # ``Body = Callable[..., None]``: a type for annotations.
    return names == ["__all__"] or isinstance(node.value, ast.Subscript)


def _run_by_import(change: _Change, function: Any) -> bool:
    """Whether the change lies in the header of ``function``: its defaults."""
    return change.statement is function


def _lines(node: Any) -> tuple[int, int]:
    return node.lineno, node.end_lineno


def _header(statement: Any) -> tuple[int, int]:
    """The lines of a simple statement, or those before the block of a compound one."""
    body = getattr(statement, "body", None) or getattr(statement, "cases", None)
    if not body:
        return _lines(statement)
    first = body[0].lineno if isinstance(body[0], ast.stmt) else body[0].pattern.lineno
    return statement.lineno, max(statement.lineno, first - 1)
