"""Print a tree as Python text, and say which original line each generated line came from.

The text is for people: it is what ``d2s dump`` shows and what messages quote; nothing is compiled
from it.  It still has to be exact: parsing it gives the tree back, for everything that the running
Python can parse.

>>> print(text_of(gast.parse("a if b else (c, *d)").body[0]))
a if b else (c, *d)

The work is done by astor's ``SourceGenerator``.  This module adds what astor 0.8.1 does not know
(``match``, ``except*``, type parameters, ``type X = ...``, starred subscripts), replaces what it
gets wrong (strings and f-strings, a handful of missing parentheses, the breaking of long lines),
and records where each statement starts.  A node that it does not know is refused with an error,
never dropped.

Reads trees and leaves them alone: astor takes notes on nodes, and takes them on a copy.  Imports
``d2s.errors`` only.
"""

from __future__ import annotations

import ast
import math
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NoReturn

import gast

from d2s.errors import SyntaxNotSupportedError

with warnings.catch_warnings():
    # astor 0.8.1 looks up ``ast.Num`` while it is imported, and Python 3.12 warns about that.
    warnings.simplefilter("ignore", DeprecationWarning)
    from astor.code_gen import SourceGenerator, set_precedence
    from astor.op_util import Precedence

MAX_LINE = 100
INDENT = "    "

# Since Python 3.12 an f-string may reuse its own quotes and hold backslashes inside ``{}``.
_FREE_FIELDS = sys.version_info >= (3, 12)
# Since Python 3.11 ``x[*i]`` needs no parentheses.
_STARRED_SUBSCRIPTS = sys.version_info >= (3, 11)

_QUOTES = ("'", '"', "'''", '"""')
_OPENING = frozenset("([{")
_CLOSING = frozenset(")]}")
# Where the content of a long bracket may be broken, best first: after commas, before the others.
_SEPARATORS = (
    frozenset({", "}),
    frozenset({" for ", " async for ", " if ", " else "}),
    frozenset({" or "}),
    frozenset({" and "}),
)

_ASSIGNMENTS = frozenset(
    f" {operator}= "
    for operator in ("", "+", "-", "*", "/", "//", "%", "@", "&", "|", "^", "<<", ">>", "**")
)


@dataclass(frozen=True)
class Printed:
    """Generated text and its line table.

    Attributes:
        text: The source, ending with a newline.
        lines: One entry for each line of ``text``: the original line number of the statement,
            decorator, ``elif``, ``except`` or ``case`` that starts there; None where nothing
            starts (blank lines, ``else:``, continuations) and where the tree does not know.
    """

    text: str
    lines: tuple[int | None, ...]


def to_source(tree: gast.AST) -> Printed:
    """Print a tree.

    Args:
        tree: A module, a statement or an expression.

    Returns:
        The text and the original line of each of its lines.

    Raises:
        SyntaxNotSupportedError: The tree holds a node that this printer, or the running Python,
            does not know, or is nested too deeply to be walked.
    """
    return _assemble(_generate(tree), MAX_LINE)


def text_of(tree: gast.AST) -> str:
    """Print an expression on one line, for a message. Of a statement, only the header is printed.

    Args:
        tree: An expression or a statement.

    Returns:
        One line without a newline.

    Raises:
        SyntaxNotSupportedError: As in ``to_source``.
    """
    if isinstance(tree, gast.Expr):
        tree = tree.value
    texts = ("".join(line.tokens) for line in _logical_lines(_generate(tree)))
    header = next((text for text in texts if not text.startswith("@")), "")
    return header.replace("\n", "\\n")


def _generate(tree: gast.AST) -> _Generator:
    _refuse_unknown(tree)
    generator = _Generator()
    try:
        copy = gast.gast_to_ast(tree)
        if isinstance(copy, ast.expr):
            set_precedence(Precedence.Comma, copy)
        generator.visit(copy)
    except RecursionError:
        raise SyntaxNotSupportedError(
            "this code is nested too deeply to be printed",
            cure="split the expression, or raise sys.setrecursionlimit",
            line=getattr(tree, "lineno", None),
        ) from None
    return generator


def _refuse_unknown(tree: gast.AST) -> None:
    """Refuse what gast would silently turn into nothing.

    These are foreign nodes, and nodes that the running Python does not have.
    """
    for node in ast.walk(tree):
        kind = type(node).__name__
        if getattr(gast, kind, None) is not type(node) or not hasattr(ast, kind):
            _refuse(node)


def _refuse(node: ast.AST) -> NoReturn:
    version = ".".join(map(str, sys.version_info[:2]))
    kind = f"{type(node).__module__}.{type(node).__name__}"
    line = getattr(node, "lineno", None)
    place = "" if line is None else f" (line {line})"
    raise SyntaxNotSupportedError(
        f"d2s cannot print a node of type {kind} on Python {version}{place}",
        cure="write this statement in an older form of the language",
        line=line,
    )


class _Unquotable(Exception):
    """Before Python 3.12: a field's text cannot stand between the quotes that are being tried."""


# astor carries no types, so mypy takes its class for ``Any``.
class _Generator(SourceGenerator):  # type: ignore[misc]
    """Astor's generator, completed.

    ``result`` is a list of tokens, as in astor: a run of newlines and an indentation begin each
    line, brackets are tokens of their own, so that ``_wrap`` can find them.

    Attributes:
        starts: Token index to original line number, one entry for each thing that starts a line.
    """

    def __init__(self) -> None:
        super().__init__(INDENT)
        self.starts: dict[int, int | None] = {}
        # Quotes of the f-strings around the expression being printed. Empty where nesting is
        # free, which it is since Python 3.12.
        self._around: tuple[str, ...] = ()
        # True until the first statement of a body is begun: no blank line before a function there.
        self._opening = True

    def visit(self, node: ast.AST) -> None:
        method = getattr(self, f"visit_{type(node).__name__}", None)
        if method is None:
            _refuse(node)
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
            self.write((value.kind or "") + _docstring(value.value))
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

    # Constants

    def visit_Constant(self, node: Any) -> None:
        value = node.value
        if isinstance(value, str):
            self.write((node.kind or "") + self._quoted(value))
        elif isinstance(value, bytes):
            self.write(self._quoted(value))
        elif value is None or isinstance(value, bool):
            self.write(repr(value))
        elif value is Ellipsis:
            self.write("...")
        elif isinstance(value, (int, float, complex)):
            text = _number(value)
            binds = Precedence.USub if text.startswith("-") else Precedence.Constant
            in_parens = binds < self.get__pp(node)
            self.write("(" if in_parens else "", text, ")" if in_parens else "")
        elif isinstance(value, tuple):
            constants = [ast.copy_location(ast.Constant(item), node) for item in value]
            self.write("(")
            self.comma_list(constants, trailing=len(constants) == 1)
            self.write(")")
        else:
            _refuse(node)

    def _quoted(self, value: str | bytes) -> str:
        """A literal for ``value`` that may stand inside the f-strings around it."""
        if not self._around:
            return repr(value)
        prefix, text = ("", value) if isinstance(value, str) else ("b", value.decode("latin-1"))
        if not all(char in "\t\n" or " " <= char <= "~" or char > "\x9f" for char in text):
            raise _Unquotable
        if prefix and not text.isascii():
            raise _Unquotable
        for quote in _QUOTES:
            literal = prefix + quote + text + quote
            broken = "\n" in text and len(quote) == 1
            fits = quote not in text and not text.endswith(quote[0]) and not broken
            if fits and self._fits_around(literal):
                return literal
        raise _Unquotable

    def _fits_around(self, text: str) -> bool:
        """Whether ``text`` may stand in a field of the f-strings around it (Python before 3.12)."""
        if "\\" in text or any("\ud800" <= char <= "\udfff" for char in text):
            return False
        return not any(
            quote in text or ("\n" in text and len(quote) == 1) for quote in self._around
        )

    # f-strings

    def visit_JoinedStr(self, node: Any) -> None:
        text = self._joined(node.values)
        if text is not None:
            self.write(text)
        elif self._around:
            raise _Unquotable
        else:
            self.write(self._format_call(node))

    def visit_FormattedValue(self, node: Any) -> None:
        self.visit_JoinedStr(ast.JoinedStr(values=[node]))

    def _joined(self, values: Sequence[ast.expr]) -> str | None:
        """The f-string in the first quotes that do, or None where no quotes do."""
        literals = "".join(
            value.value
            for value in values
            if isinstance(value, ast.Constant) and isinstance(value.value, str)
        )
        # As ``repr`` does it: double quotes if that saves escapes, single quotes otherwise.
        doubled = "'" in literals and '"' not in literals
        quotes = sorted(_QUOTES, key=lambda quote: (len(quote), (quote[0] == '"') != doubled))
        first: str | None = None
        for quote in quotes:
            try:
                body, fields = self._joined_body(values, quote, in_spec=False)
            except _Unquotable:
                continue
            text = f"f{quote}{body}{quote}"
            if _FREE_FIELDS:
                first = first or text
                if not any(quote in field for field in fields):
                    return text
            elif not self._around or self._fits_around(text):
                return text
        return first

    def _joined_body(
        self, values: Sequence[ast.expr], quote: str, *, in_spec: bool
    ) -> tuple[str, list[str]]:
        """What stands between the quotes, and the text of each expression in it."""
        parts: list[str] = []
        fields: list[str] = []
        for value in values:
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                parts.append(_escaped(value.value, quote, in_spec=in_spec))
            elif isinstance(value, ast.FormattedValue):
                field = self._field(value, quote)
                fields.append(field)
                conversion = f"!{chr(value.conversion)}" if value.conversion != -1 else ""
                spec = ""
                if value.format_spec is not None:
                    inner = getattr(value.format_spec, "values", [value.format_spec])
                    spec, more = self._joined_body(inner, quote, in_spec=True)
                    spec = ":" + spec
                    fields += more
                parts.append(f"{{{field}{conversion}{spec}}}")
            else:
                _refuse(value)
        return "".join(parts), fields

    def _field(self, value: ast.FormattedValue, quote: str) -> str:
        expression = value.value
        # A colon ends the expression, so a lambda needs parentheses, wherever it ends.
        has_lambda = any(isinstance(node, ast.Lambda) for node in ast.walk(expression))
        set_precedence(Precedence.Lambda + has_lambda, expression)
        around = self._around
        if not _FREE_FIELDS:
            self._around = (*around, quote)
        index = len(self.result)
        try:
            self.visit(expression)
            text = "".join(self.result[index:])
            if self._around and not self._fits_around(text):
                raise _Unquotable
        finally:
            del self.result[index:]
            self._around = around
        # ``{{`` would be a brace.
        return f" {text}" if text.startswith("{") else text

    def _format_call(self, node: ast.JoinedStr) -> ast.AST:
        """``str.format`` in place of an f-string.

        Before Python 3.12 no f-string can hold, say, a backslash in a field. No parsed code does,
        either; code that passes have made may, and is then shown like this.
        """
        arguments: list[ast.expr] = []

        def template(values: Sequence[ast.expr], *, in_spec: bool) -> Iterator[str]:
            for value in values:
                if isinstance(value, ast.FormattedValue):
                    arguments.append(value.value)
                    conversion = f"!{chr(value.conversion)}" if value.conversion != -1 else ""
                    inner = getattr(value.format_spec, "values", [])
                    spec = "".join(template(inner, in_spec=True))
                    yield f"{{{conversion}{':' if spec else ''}{spec}}}"
                elif not isinstance(value, ast.Constant) or not isinstance(value.value, str):
                    _refuse(value)
                elif not in_spec:
                    yield value.value.replace("{", "{{").replace("}", "}}")
                elif "{" in value.value or "}" in value.value:
                    _refuse(node)  # str.format cannot escape a brace there
                else:
                    yield value.value

        text = ast.Constant("".join(template(node.values, in_spec=False)))
        method = ast.Attribute(text, "format", ast.Load())
        return ast.Call(method, arguments, [])


def _docstring(value: str) -> str:
    """A string that stands alone: in triple quotes, with real line breaks."""
    body = value.replace("\\", "\\\\")
    if '"""' in body:
        body = body.replace('"', '\\"')
    elif body.endswith('"'):
        body = body[:-1] + '\\"'
    shown = (char if char == "\n" or char.isprintable() else _escape(char) for char in body)
    return '"""' + "".join(shown) + '"""'


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def _escaped(value: str, quote: str, *, in_spec: bool) -> str:
    """Literal text of an f-string; a format spec knows no doubled braces, so it gets escapes."""
    out = []
    for char in value:
        if char in "{}":
            out.append(f"\\x{ord(char):02x}" if in_spec else char * 2)
        elif char in ("\\", quote[0]):
            out.append("\\" + char)
        else:
            out.append(char if char.isprintable() else _escape(char))
    return "".join(out)


def _number(value: complex) -> str:
    if isinstance(value, int):
        try:
            return repr(value)
        except ValueError:  # more digits than Python converts to decimal
            return hex(value)
    if isinstance(value, float):
        if math.isnan(value):
            return "(1e1000 - 1e1000)"
        return repr(value).replace("inf", "1e1000")
    if value.real == 0 and not math.isnan(value.imag):
        return _imaginary(value.imag)
    return f"({_number(value.real)} + {_imaginary(value.imag)})".replace("+ -", "- ")


def _imaginary(value: float) -> str:
    if math.isnan(value):
        return "1e1000j - 1e1000j"
    return _number(value).removesuffix(".0") + "j"


@dataclass
class _Line:
    """One logical line: what the generator wrote between two line breaks."""

    blanks: int
    indent: str
    tokens: list[str]
    origin: int | None


def _assemble(generator: _Generator, width: int) -> Printed:
    text: list[str] = []
    lines: list[int | None] = []
    for line in _logical_lines(generator):
        if text:
            text += [""] * line.blanks
            lines += [None] * line.blanks
        physical = _wrap(_in_parentheses(line.tokens, line.indent, width), line.indent, width)
        text += physical
        lines += [line.origin, *[None] * (len(physical) - 1)]
    if not text:  # an empty module is one empty line
        return Printed("\n", (None,))
    return Printed("\n".join(text) + "\n", tuple(lines))


def _logical_lines(generator: _Generator) -> Iterator[_Line]:
    line = _Line(0, "", [], None)
    fresh = False  # the next token is an indentation
    for index, token in enumerate(generator.result):
        line.origin = generator.starts.get(index, line.origin)
        if fresh:
            line.indent, fresh = token, False
        elif token and not token.strip("\n"):
            if line.tokens:
                yield line
            line = _Line(len(token) - 1, "", [], None)
            fresh = True
        elif token:
            line.tokens.append(token)
    if line.tokens:
        yield line


class _Closed(str):
    """A closing bracket whose opening one stands on an earlier line."""


def _wrap(tokens: list[str], indent: str, width: int) -> list[str]:
    """Break a line that is too long inside its longest bracket, where a newline means nothing.

    Args:
        tokens: The tokens of one logical line.
        indent: Its indentation.
        width: How long a line should be at most. Without brackets to break, it stays longer.

    Returns:
        The physical lines: one, unless brackets were broken. A token with newlines of its own (a
        docstring) counts as many lines as it has.
    """
    text = "".join(tokens)
    if "\n" in text:
        return (indent + text).split("\n")
    if len(indent) + len(text) <= width:
        return [indent + text]
    groups = list(_groups(tokens))
    if not groups:
        return [indent + text]
    start, end = max(groups, key=lambda group: len("".join(tokens[group[0] : group[1]])))
    inner = tokens[start + 1 : end]
    out = [indent + "".join(tokens[: start + 1])]
    deeper = indent + INDENT
    if len(deeper) + len("".join(inner)) <= width:
        out.append(deeper + "".join(inner))
    else:
        for piece in _pieces(inner):
            out += _wrap(piece, deeper, width)
    out += _wrap([_Closed(tokens[end]), *tokens[end + 1 :]], indent, width)
    return [line.rstrip() for line in out]


def _in_parentheses(tokens: list[str], indent: str, width: int) -> list[str]:
    """Where a whole line is too long, put its bare tuple or chain of operators in parentheses."""
    text = "".join(tokens)
    if "\n" in text or len(indent) + len(text) <= width:
        return tokens
    depths = _depths(tokens)
    start, end = 0, len(tokens)
    if tokens[0] in ("if ", "elif ", "while "):
        start, end = 1, len(tokens) - 1
    elif tokens[:2] == ["return", " "]:
        start = 2
    else:
        for index, token in enumerate(tokens):
            if depths[index] == 0 and token in _ASSIGNMENTS:
                start = index + 1
    separators = frozenset().union(*_SEPARATORS)
    bare = any(depths[index] == 0 and tokens[index] in separators for index in range(start, end))
    if start == 0 or not bare:
        return tokens
    return [*tokens[:start], "(", *tokens[start:end], ")", *tokens[end:]]


def _depths(tokens: Sequence[str]) -> list[int]:
    """How many brackets are open around each token; a bracket itself stands outside."""
    depths: list[int] = []
    depth = 0
    for token in tokens:
        depth -= token in _CLOSING and not isinstance(token, _Closed)
        depths.append(depth)
        depth += token in _OPENING
    return depths


def _groups(tokens: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Where the outermost brackets with something in them open and close."""
    start = 0
    for index, (token, depth) in enumerate(zip(tokens, _depths(tokens), strict=True)):
        if depth == 0 and token in _OPENING:
            start = index
        elif depth == 0 and token in _CLOSING and start + 1 < index and tokens[start] in _OPENING:
            yield start, index


def _pieces(tokens: Sequence[str]) -> list[list[str]]:
    """Split the content of a bracket at its outermost separators of the best kind that it has."""
    depths = _depths(tokens)
    for separators in _SEPARATORS:
        places = [
            index
            for index, token in enumerate(tokens)
            if depths[index] == 0 and token in separators
        ]
        if places:
            # A comma ends its line, an operator begins the next.
            after = 1 if ", " in separators else 0
            bounds = [0, *(place + after for place in places), len(tokens)]
            pieces = [list(tokens[a:b]) for a, b in pairwise(bounds)]
            return [_trimmed(piece) for piece in pieces if piece]
    return [list(tokens)]


def _trimmed(piece: list[str]) -> list[str]:
    return [piece[0].lstrip(), *piece[1:]]
