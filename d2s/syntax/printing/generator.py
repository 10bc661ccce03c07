"""From a tree to tokens: astor's ``SourceGenerator``, completed.

Adds what astor 0.8.1 does not know (``match``, ``except*``, type parameters, ``type X = ...``,
starred subscripts), mends missing parentheses, and records where each statement starts.  A node
that it does not know is refused.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from typing import Any

from d2s.syntax.printing.literals import Literals, Precedence, docstring, refuse, set_precedence

# Since Python 3.11 ``x[*i]`` needs no parentheses.
_STARRED_SUBSCRIPTS = sys.version_info >= (3, 11)


class Generator(Literals):
    """Astor's generator, completed.

    ``result`` is a list of tokens, as in astor: a run of newlines and an indentation begin each
    line, brackets are tokens of their own, so that ``layout`` can find them.

    Attributes:
        starts: Token index to original line number, one entry for each thing that starts a line.
    """

    def __init__(self) -> None:
        super().__init__()
        self.starts: dict[int, int | None] = {}
        # True until the first statement of a body is begun: no blank line before a function there.
        self._opening = True

    def visit(self, node: ast.AST) -> None:
        method = getattr(self, f"visit_{type(node).__name__}", None)
        if method is None:
            refuse(node)
        method(node)

    # Lines

    def newline(self, node: ast.AST | None = None, extra: int = 0) -> None:
        self.new_lines: int = max(self.new_lines, 1 + extra)
        if node is not None:
            self._opening = False
            self.write("")  # flushes the newlines, so that the next token is the first of this line
            self.starts[len(self.result)] = getattr(node, "lineno", None)

    def clause(self, node: ast.AST | None, *tokens: Any) -> None:
        """Begin ``else:`` and its like: never a blank line before it."""
        self.new_lines = 1
        self.statement(node, *tokens)

    def body(self, statements: Sequence[ast.stmt]) -> None:
        self._opening = True
        super().body(statements)
        self._opening = False

    def else_body(self, elsewhat: Sequence[ast.stmt] | None) -> None:
        if elsewhat:
            self.clause(None, "else:")
            self.body(elsewhat)

    # Definitions

    def decorators(self, node: Any, extra: int) -> None:
        self.newline(extra=0 if self._opening else min(extra, 1 if self.indentation else 2))
        for decorator in node.decorator_list:
            set_precedence(Precedence.Comma, decorator)
            self.statement(decorator, "@", decorator)

    def visit_FunctionDef(self, node: Any, is_async: bool = False) -> None:
        self.decorators(node, 2)
        self.statement(node, "async def " if is_async else "def ", node.name)
        self._type_params(node)
        self.write("(")
        self.visit_arguments(node.args)
        self.write(")")
        set_precedence(Precedence.Comma, node.returns)
        self.conditional_write(" -> ", node.returns)
        self.write(":")
        self.body(node.body)
        self.newline(extra=1 if self.indentation else 2)

    def visit_ClassDef(self, node: Any) -> None:
        self.decorators(node, 2)
        self.statement(node, "class ", node.name)
        self._type_params(node)
        if node.bases or node.keywords:
            self.write("(")
            self._call_arguments(node.bases, node.keywords)
            self.write(")")
        self.write(":")
        self.body(node.body)
        self.newline(extra=1 if self.indentation else 2)

    def _type_params(self, node: Any) -> None:
        params = getattr(node, "type_params", None)
        if params:
            self.write("[")
            self.comma_list(params)
            self.write("]")

    def _type_param(self, prefix: str, node: Any) -> None:
        bound, default = getattr(node, "bound", None), getattr(node, "default_value", None)
        set_precedence(Precedence.Comma, bound, default)
        self.write(prefix, node.name)
        self.conditional_write(": ", bound)
        self.conditional_write(" = ", default)

    def visit_TypeVar(self, node: Any) -> None:
        self._type_param("", node)

    def visit_TypeVarTuple(self, node: Any) -> None:
        self._type_param("*", node)

    def visit_ParamSpec(self, node: Any) -> None:
        self._type_param("**", node)

    def visit_TypeAlias(self, node: Any) -> None:
        set_precedence(Precedence.Comma, node.value)
        self.statement(node, "type ", node.name)
        self._type_params(node)
        self.write(" = ", node.value)

    def visit_arguments(self, node: Any) -> None:
        positional = [*node.posonlyargs, *node.args]
        missing = [None] * (len(positional) - len(node.defaults))
        pieces = [
            self._parameter(arg, default)
            for arg, default in zip(positional, [*missing, *node.defaults], strict=True)
        ]
        if node.posonlyargs:
            pieces.insert(len(node.posonlyargs), ("/",))
        if node.vararg is not None:
            pieces.append(("*", node.vararg))
        elif node.kwonlyargs:
            pieces.append(("*",))
        pieces += [
            self._parameter(arg, default)
            for arg, default in zip(node.kwonlyargs, node.kw_defaults, strict=True)
        ]
        if node.kwarg is not None:
            pieces.append(("**", node.kwarg))
        for index, piece in enumerate(pieces):
            self.write(", " if index else "", *piece)

    @staticmethod
    def _parameter(arg: ast.arg, default: ast.expr | None) -> tuple[Any, ...]:
        if default is None:
            return (arg,)
        set_precedence(Precedence.Comma, default)
        return (arg, "=" if arg.annotation is None else " = ", default)

    def visit_arg(self, node: Any) -> None:
        set_precedence(Precedence.Comma, node.annotation)
        super().visit_arg(node)

    def visit_Lambda(self, node: Any) -> None:
        with self.delimit(node) as delimiters:
            set_precedence(delimiters.p, node.body)
            self.write("lambda")
            args = node.args
            if args.posonlyargs or args.args or args.vararg or args.kwonlyargs or args.kwarg:
                self.write(" ")
            self.visit_arguments(args)
            self.write(": ", node.body)

    # Statements

    def visit_Expr(self, node: Any) -> None:
        set_precedence(node, node.value)
        self.newline(node)
        value = node.value
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            self.write((value.kind or "") + docstring(value.value))
        else:
            self.write(value)

    def visit_AnnAssign(self, node: Any) -> None:
        set_precedence(Precedence.Comma, node.target, node.annotation, node.value)
        in_parens = isinstance(node.target, ast.Name) and not node.simple
        self.statement(node, *(("(", node.target, ")") if in_parens else (node.target,)))
        self.write(": ", node.annotation)
        self.conditional_write(" = ", node.value)

    def visit_If(self, node: Any) -> None:
        set_precedence(Precedence.Comma, node.test)
        self.statement(node, "if ", node.test, ":")
        self.body(node.body)
        while len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
            node = node.orelse[0]
            set_precedence(Precedence.Comma, node.test)
            self.clause(node, "elif ", node.test, ":")
            self.body(node.body)
        self.else_body(node.orelse)

    def visit_While(self, node: Any) -> None:
        set_precedence(Precedence.Comma, node.test)
        self.statement(node, "while ", node.test, ":")
        self.body_or_else(node)

    def visit_For(self, node: Any, is_async: bool = False) -> None:
        set_precedence(node, node.target)
        set_precedence(Precedence.Comma, node.iter)
        self.statement(node, "async for " if is_async else "for ", node.target, " in ", node.iter)
        self.write(":")
        self.body_or_else(node)

    def visit_With(self, node: Any, is_async: bool = False) -> None:
        self.statement(node, "async with " if is_async else "with ")
        # ``with (a, b):`` means two managers: one that is a tuple needs parentheses of its own.
        first = node.items[0]
        double = (
            len(node.items) == 1
            and first.optional_vars is None
            and isinstance(first.context_expr, ast.Tuple)
        )
        self.write("(" if double else "")
        self.comma_list(node.items)
        self.write(")" if double else "", ":")
        self.body(node.body)

    def visit_withitem(self, node: Any) -> None:
        set_precedence(Precedence.Comma, node.context_expr, node.optional_vars)
        super().visit_withitem(node)

    def visit_Raise(self, node: Any) -> None:
        set_precedence(Precedence.Comma, node.exc, node.cause)
        self.statement(node, "raise")
        self.conditional_write(" ", node.exc)
        self.conditional_write(" from ", node.cause)

    def visit_Try(self, node: Any, keyword: str = "except") -> None:
        self.statement(node, "try:")
        self.body(node.body)
        for handler in node.handlers:
            self.clause(handler, keyword)
            set_precedence(Precedence.Comma, handler.type)
            if self.conditional_write(" ", handler.type):
                self.conditional_write(" as ", handler.name)
            self.write(":")
            self.body(handler.body)
        self.else_body(node.orelse)
        if node.finalbody:
            self.clause(None, "finally:")
            self.body(node.finalbody)

    def visit_TryStar(self, node: Any) -> None:
        self.visit_Try(node, "except*")

    def visit_ImportFrom(self, node: Any) -> None:
        dots = "." * (node.level or 0)
        self.statement(node, "from ", dots, node.module or "", " import ")
        self.comma_list(node.names)

    # Patterns

    def visit_Match(self, node: Any) -> None:
        set_precedence(Precedence.Comma, node.subject)
        self.statement(node, "match ", node.subject, ":")
        self.body(node.cases)

    def visit_match_case(self, node: Any) -> None:
        set_precedence(Precedence.Comma, node.guard)
        self.clause(node.pattern, "case ", node.pattern)
        self.conditional_write(" if ", node.guard)
        self.write(":")
        self.body(node.body)

    def visit_MatchValue(self, node: Any) -> None:
        set_precedence(Precedence.Comma, node.value)
        self.write(node.value)

    def visit_MatchSingleton(self, node: Any) -> None:
        self.write(repr(node.value))

    def visit_MatchSequence(self, node: Any) -> None:
        self.write("[")
        self.comma_list(node.patterns)
        self.write("]")

    def visit_MatchStar(self, node: Any) -> None:
        self.write("*", node.name or "_")

    def visit_MatchMapping(self, node: Any) -> None:
        self.write("{")
        for index, (key, pattern) in enumerate(zip(node.keys, node.patterns, strict=True)):
            set_precedence(Precedence.Comma, key)
            self.write(", " if index else "", key, ": ", pattern)
        if node.rest is not None:
            self.write(", " if node.keys else "", "**", node.rest)
        self.write("}")

    def visit_MatchClass(self, node: Any) -> None:
        self.write(node.cls, "(")
        self.comma_list(node.patterns)
        for index, (name, pattern) in enumerate(
            zip(node.kwd_attrs, node.kwd_patterns, strict=True)
        ):
            self.write(", " if index or node.patterns else "", name, "=", pattern)
        self.write(")")

    def visit_MatchAs(self, node: Any) -> None:
        if node.pattern is None:
            self.write(node.name or "_")
        else:
            self._closed_pattern(node.pattern, (ast.MatchAs,))
            self.write(" as ", node.name)

    def visit_MatchOr(self, node: Any) -> None:
        for index, pattern in enumerate(node.patterns):
            self.write(" | " if index else "")
            self._closed_pattern(pattern, (ast.MatchAs, ast.MatchOr))

    def _closed_pattern(self, pattern: Any, loose: tuple[type[ast.pattern], ...]) -> None:
        """Write a pattern, in parentheses if it is of a loose type; a capture or ``_`` never is."""
        bare = isinstance(pattern, ast.MatchAs) and pattern.pattern is None
        if isinstance(pattern, loose) and not bare:
            self.write("(", pattern, ")")
        else:
            self.write(pattern)

    # Expressions

    def visit_Call(self, node: Any) -> None:
        self.write(node.func, "(")
        self._call_arguments(node.args, node.keywords)
        self.write(")")

    def _call_arguments(self, args: Sequence[ast.expr], keywords: Sequence[ast.keyword]) -> None:
        alone = len(args) == 1 and not keywords
        set_precedence(Precedence.call_one_arg if alone else Precedence.Comma, *args)
        for index, arg in enumerate(args):
            self.write(", " if index else "", arg)
        for index, keyword in enumerate(keywords):
            set_precedence(Precedence.Comma, keyword.value)
            self.write(", " if index or args else "")
            self.write(*((keyword.arg, "=") if keyword.arg else ("**",)), keyword.value)

    def visit_Starred(self, node: Any) -> None:
        set_precedence(Precedence.BitOr, node.value)
        self.write("*", node.value)

    def visit_Set(self, node: Any) -> None:
        self.write("{")
        if node.elts:
            self.comma_list(node.elts)
        else:
            self.write("*()")  # no parser gives an empty set; generated code may hold one
        self.write("}")

    def visit_Dict(self, node: Any) -> None:
        self.write("{")
        for index, (key, value) in enumerate(zip(node.keys, node.values, strict=True)):
            self.write(", " if index else "")
            if key is None:
                set_precedence(Precedence.BitOr, value)
                self.write("**", value)
            else:
                set_precedence(Precedence.Lambda + 1, key)
                set_precedence(Precedence.Comma, value)
                self.write(key, ": ", value)
        self.write("}")

    def visit_ListComp(self, node: Any) -> None:
        set_precedence(Precedence.Comma, node.elt)
        super().visit_ListComp(node)

    def visit_SetComp(self, node: Any) -> None:
        set_precedence(Precedence.Comma, node.elt)
        super().visit_SetComp(node)

    def visit_DictComp(self, node: Any) -> None:
        set_precedence(Precedence.Lambda + 1, node.key)
        set_precedence(Precedence.Comma, node.value)
        super().visit_DictComp(node)

    def visit_comprehension(self, node: Any) -> None:
        set_precedence(node, node.iter, *node.ifs)
        set_precedence(Precedence.comprehension_target, node.target)
        self.write(" async for " if node.is_async else " for ", node.target, " in ", node.iter)
        for test in node.ifs:
            self.write(" if ", test)

    def visit_Subscript(self, node: Any) -> None:
        index = node.slice
        self.write(node.value, "[")
        if isinstance(index, ast.Tuple) and index.elts and self._stands_bare(index):
            starred = isinstance(index.elts[0], ast.Starred)
            self.comma_list(index.elts, trailing=len(index.elts) == 1 and not starred)
        else:
            set_precedence(Precedence.Comma, index)
            self.write(index)
        self.write("]")

    @staticmethod
    def _stands_bare(index: ast.Tuple) -> bool:
        return _STARRED_SUBSCRIPTS or not any(isinstance(item, ast.Starred) for item in index.elts)

    def visit_Slice(self, node: Any) -> None:
        set_precedence(Precedence.Comma, node.lower, node.upper, node.step)
        self.conditional_write(node.lower)
        self.write(":")
        self.conditional_write(node.upper)
        self.conditional_write(":", node.step)

    def visit_YieldFrom(self, node: Any) -> None:
        set_precedence(Precedence.Comma, node.value)
        super().visit_YieldFrom(node)
