"""Check one file, or many: from text to findings."""

from __future__ import annotations

import ast
import io
import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from d2s.analysis.scopes import own_nodes
from d2s.lint.findings import Finding
from d2s.lint.reading import modules
from d2s.lint.reading.follow import Follower
from d2s.lint.settings import Settings
from d2s.syntax.depth import deep

_IGNORED: Final = re.compile(r"#\s*d2s:\s*ignore(?:\[([^\]]*)\])?", re.IGNORECASE)


def check_text(
    text: str | bytes, file: str, settings: Settings | None = None, *, named: bool = False
) -> list[Finding]:
    """What there is to say about a file.

    Args:
        text: what is in it.
        file: its path, for the findings.
        settings: what to look for; everything when None.
        named: someone has named this very file: it is read even if nothing in it can be found, as
            it may be no Python.

    Returns:
        The findings, by place. A file that is not Python has one, D2S502.

    Example:
        >>> text = '''
        ... import d2s
        ... @d2s.to_static
        ... def f(x):
        ...     return x.sum().numpy()
        ... '''
        >>> [print(found) for found in check_text(text, "net.py")]
        net.py:5:12: D2S208 numpy() takes the values of a tensor out of the program
        [None]
    """
    settings = settings or Settings()
    source = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if not named and not modules.worth_reading(source, settings.converters):
        return []
    try:
        with warnings.catch_warnings(), deep():
            warnings.simplefilter("ignore")  # about the user's escapes
            found = list(_findings(text, file, settings))
    except (SyntaxError, ValueError, RecursionError) as error:
        return [_no_python(file, error)]
    lines = _lines(source.decode("utf-8", "replace"))
    chosen = [one for one in found if settings.wants(one.code) and not _ignored(one, lines)]
    return sorted(_in_characters(_with_edits(one, lines), lines) for one in chosen)


def _lines(text: str) -> list[str]:
    r"""The lines of a file with their ends, as Python counts them.

    >>> _lines("a\fb\r\nc\n")
    ['a\x0cb\r\n', 'c\n']
    """
    return list(io.StringIO(text, newline=""))


def _with_edits(found: Finding, lines: list[str]) -> Finding:
    """The same with those edits alone whose text is laid out as one writes it."""
    if all(edit.fits(lines) for edit in found.edits):
        return found
    return replace(found, edits=())


def _in_characters(found: Finding, lines: list[str]) -> Finding:
    """The same with columns in characters; ``ast`` counts bytes."""
    first, last = lines[found.line - 1], lines[found.end_line - 1]
    if first.isascii() and last.isascii():
        return found
    return replace(
        found,
        column=len(first.encode()[: found.column].decode("utf-8", "replace")),
        end_column=len(last.encode()[: found.end_column].decode("utf-8", "replace")),
    )


def _findings(text: str | bytes, file: str, settings: Settings) -> Iterator[Finding]:
    module = modules.read(text, settings.converters)
    if not module.roots:
        return
    follower = Follower(module, file)
    follower.module_body()
    roots = {id(root) for root in module.roots}
    names = {root.name for root in module.roots} | {
        module.owners[key].name for key in roots if key in module.owners
    }
    for function in _functions(module.tree.body):
        owner = module.owners.get(id(function))
        if function.name == "__init__" or (id(function) not in roots and _uses(function, names)):
            follower.outer(function, owner)
    for root in module.roots:
        follower.root(root, module.owners.get(id(root)))
    yield from follower.found.values()


def _functions(statements: Iterable[Any]) -> Iterator[Any]:
    """The functions of a file and the methods of its classes, those in functions included."""
    for statement in statements:
        if isinstance(statement, modules.Function):
            yield statement
        if hasattr(statement, "bases") or isinstance(statement, modules.Function):
            yield from _functions(statement.body)


def _uses(function: Any, names: set[str]) -> bool:
    """Whether one of some names is used, or defined, in a function."""
    return any(
        getattr(node, "id", getattr(node, "name", None)) in names
        for node in own_nodes(function.body)
    )


def _no_python(file: str, error: Exception) -> Finding:
    line, offset = getattr(error, "lineno", None), getattr(error, "offset", None)
    message = getattr(error, "msg", None) or str(error)
    return Finding(
        file,
        line or 1,
        max((offset or 1) - 1, 0),
        "D2S502",
        "error",
        f"this is not Python: {message}",
        "correct the line; Python itself reports the same",
    )


def _ignored(found: Finding, lines: list[str]) -> bool:
    """Whether a comment on one of its lines, ``# d2s: ignore[D2S205]``, wants it left out."""
    for line in lines[found.line - 1 : max(found.end_line, found.line)]:
        comment = _IGNORED.search(line)
        if comment is not None:
            codes = comment[1]
            if codes is None or found.code in codes.replace(" ", "").upper().split(","):
                return True
    return False


def files_in(paths: Iterable[Path], settings: Settings) -> Iterator[Path]:
    """The Python files that paths name, those in folders included, without hidden folders."""
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        for found in sorted(path.rglob("*.py")):
            inner = found.relative_to(path).parts
            hidden = any(part.startswith(".") or part == "__pycache__" for part in inner)
            if not hidden and found.is_file() and not settings.excludes(found):
                yield found


def fixed(text: str, findings: Iterable[Finding]) -> str:
    """A file with all rewrites that keep its meaning.

    >>> fixed("y = float(x.numpy())", [])
    'y = float(x.numpy())'
    """
    lines = _lines(text)
    edits = {edit for found in findings for edit in found.edits}
    for edit in sorted(edits, key=lambda edit: (edit.line, edit.end), reverse=True):
        edit.apply(lines)
    made = "".join(lines)
    ast.parse(made)  # a rewrite that breaks the file would be a defect of ours
    return made
