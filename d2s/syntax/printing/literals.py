"""Constants and f-strings, as Python reads them back: what astor gets wrong.

Strings stand in the quotes that ``repr`` takes.  An f-string is tried in one kind of quotes after
the other; where no quotes do, it is shown as a call of ``str.format``.
"""

from __future__ import annotations

import ast
import math
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from d2s.errors import SyntaxNotSupportedError

with warnings.catch_warnings():
    # astor 0.8.1 looks up ``ast.Num`` while it is imported, and Python 3.12 warns about that.
    warnings.simplefilter("ignore", DeprecationWarning)
    from astor.code_gen import SourceGenerator
    from astor.code_gen import set_precedence as set_precedence
    from astor.op_util import Precedence as Precedence

INDENT = "    "

# Since Python 3.12 an f-string may reuse its own quotes and hold backslashes inside ``{}``.
_FREE_FIELDS = sys.version_info >= (3, 12)

_QUOTES = ("'", '"', "'''", '"""')


def refuse(node: ast.AST) -> NoReturn:
    """Raise that ``node`` cannot be printed.

    Raises:
        SyntaxNotSupportedError: always.
    """
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
class Literals(SourceGenerator):  # type: ignore[misc]
    """The part of the generator that prints constants and f-strings."""

    def __init__(self) -> None:
        super().__init__(INDENT)
        # Quotes of the f-strings around the expression being printed. Empty where nesting is
        # free, which it is since Python 3.12.
        self._around: tuple[str, ...] = ()

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
            refuse(node)

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
                refuse(value)
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
                    refuse(value)
                elif not in_spec:
                    yield value.value.replace("{", "{{").replace("}", "}}")
                elif "{" in value.value or "}" in value.value:
                    refuse(node)  # str.format cannot escape a brace there
                else:
                    yield value.value

        text = ast.Constant("".join(template(node.values, in_spec=False)))
        method = ast.Attribute(text, "format", ast.Load())
        return ast.Call(method, arguments, [])


def docstring(value: str) -> str:
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
