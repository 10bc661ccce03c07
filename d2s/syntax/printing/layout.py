"""From tokens to lines: a line that is too long is broken inside of its brackets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from d2s.syntax.printing.generator import Generator
from d2s.syntax.printing.literals import INDENT

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


@dataclass
class Line:
    """One logical line: what the generator wrote between two line breaks."""

    blanks: int
    indent: str
    tokens: list[str]
    origin: int | None


def assemble(generator: Generator, width: int) -> Printed:
    """The text, with lines that are too long broken, and its line table."""
    text: list[str] = []
    lines: list[int | None] = []
    for line in logical_lines(generator):
        if text:
            text += [""] * line.blanks
            lines += [None] * line.blanks
        physical = _wrap(_in_parentheses(line.tokens, line.indent, width), line.indent, width)
        text += physical
        lines += [line.origin, *[None] * (len(physical) - 1)]
    if not text:  # an empty module is one empty line
        return Printed("\n", (None,))
    return Printed("\n".join(text) + "\n", tuple(lines))


def logical_lines(generator: Generator) -> Iterator[Line]:
    """What the generator wrote, line by line."""
    line = Line(0, "", [], None)
    fresh = False  # the next token is an indentation
    for index, token in enumerate(generator.result):
        line.origin = generator.starts.get(index, line.origin)
        if fresh:
            line.indent, fresh = token, False
        elif token and not token.strip("\n"):
            if line.tokens:
                yield line
            line = Line(len(token) - 1, "", [], None)
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
