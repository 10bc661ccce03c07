"""Print a tree as Python text, and say which original line each generated line came from.

The text is for people: it is what ``d2s dump`` shows and what messages quote; nothing is compiled
from it.  It still has to be exact: parsing it gives the tree back, for everything that the running
Python can parse.

>>> print(text_of(gast.parse("a if b else (c, *d)").body[0]))
a if b else (c, *d)

``printing.generator`` makes tokens of the tree, by astor's ``SourceGenerator``; strings and numbers
are done in ``printing.literals``; ``printing.layout`` makes lines of the tokens.  A node that none
of them knows is refused with an error, never dropped.

Reads trees and leaves them alone: astor takes notes on nodes, and takes them on a copy.  Imports
``d2s.errors`` only.
"""

from __future__ import annotations

import ast

import gast

from d2s.errors import SyntaxNotSupportedError
from d2s.syntax.printing.generator import Generator
from d2s.syntax.printing.layout import Printed, assemble, logical_lines
from d2s.syntax.printing.literals import Precedence, refuse, set_precedence

MAX_LINE = 100


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
    return assemble(_generate(tree), MAX_LINE)


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
    texts = ("".join(line.tokens) for line in logical_lines(_generate(tree)))
    header = next((text for text in texts if not text.startswith("@")), "")
    return header.replace("\n", "\\n")


def _generate(tree: gast.AST) -> Generator:
    _refuse_unknown(tree)
    generator = Generator()
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
            refuse(node)
