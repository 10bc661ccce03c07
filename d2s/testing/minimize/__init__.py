"""``d2s minimize``: the smallest program that still shows what is wrong, in one file to attach.

The file of the function is cut down, with the calls that are made of it: ``edits`` says how a
program can be made smaller, ``reduce`` tries one edit after the other, and ``judge`` runs each
program in a process of its own (``worker``), in dygraph and as a program of d2s.  What must stay
the same is the symptom: the code of the error, or the kind of the difference, and whether dygraph
raises.
"""

from __future__ import annotations

import ast
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import paddle

from d2s.testing.minimize.judge import Judge, Subject, Symptom
from d2s.testing.minimize.literals import literal
from d2s.testing.minimize.reduce import Reduction

CALLS: Final = "d2s_calls"
"""The function of a program that gives the calls to make."""

Told = Callable[[str], None]


@dataclass(frozen=True)
class Wanted:
    """What is looked for, and how long.

    Attributes:
        symptom: a code such as ``D2S204``, or the text of a symptom; empty: whatever is wrong.
        grad: compare gradients.
        limit: seconds that one program may take.
        seconds: how long to go on making it smaller.
        examples: how many groups of calls are made up, where none are given.
        seed: what these depend on.
    """

    symptom: str = ""
    grad: bool = True
    limit: float = 20.0
    seconds: float = 600.0
    examples: int = 50
    seed: int = 0


@dataclass(frozen=True)
class Minimized:
    """What came of it.

    Attributes:
        name: the function.
        symptom: what it shows.
        before, after: how many lines the program had, and has, its calls included.
        tried: how many programs were tried.
        complete: nothing smaller is left to be tried.
        interrupted: it was ended by Ctrl-C.
        text: the file, whole.
    """

    name: str
    symptom: str
    before: int
    after: int
    tried: int
    complete: bool
    interrupted: bool
    text: str


def minimize(
    subject: Subject,
    calls: str | None = None,
    wanted: Wanted | None = None,
    *,
    specs: Sequence[tuple[object, ...]] = (),
    told: Told = lambda text: None,
) -> Minimized | None:
    """Cut a program down to what still shows what is wrong.

    Ctrl-C ends it with the smallest program so far.

    Args:
        subject: the file, and the function in it.
        calls: Python's text for a list of calls, each a dict of arguments by name, or a tuple;
            they are made up unless given.
        wanted: what is looked for.
        specs: shape, dtype and name of each ``InputSpec``, for calls that are made up.
        told: is called with what is being done.

    Returns:
        The smallest program; ``None`` if nothing is wrong with the function.

    Raises:
        NoInputsError: (D2S604) no calls are given, and nothing says what a parameter takes.
    """
    wanted = wanted or Wanted()
    with Judge(subject, wanted.grad, wanted.limit) as judge:
        if calls is None:
            told(f"looking for calls of {subject.name} that show something")
            calls = judge.search(specs, wanted.symptom, wanted.examples, wanted.seed)
            if calls is None:
                return None
        tree = whole(subject.text, calls)
        text = ast.unparse(tree) + "\n"
        begin = time.monotonic()
        symptom = judge.symptom(text)
        if symptom is None or (wanted.symptom and symptom.static != wanted.symptom):
            return None
        judge.hurry(symptom, time.monotonic() - begin)
        before = text.count("\n")

        def tell(reduction: Reduction) -> None:
            lines = reduction.text.count("\n")
            told(f"{symptom.static}: {before} lines, now {lines}; {reduction.tried} tried")

        shows = _Shows(judge, symptom)
        reduction = Reduction(shows, tree, wanted.seconds, tell)
        interrupted = False
        try:
            reduction.run()
        except KeyboardInterrupt:
            interrupted = True
    found = Minimized(
        subject.name, symptom.static, before, reduction.text.count("\n"), reduction.tried,
        reduction.complete, interrupted, "",
    )  # fmt: skip
    return replace(found, text=_file(found, subject, reduction.text))


@dataclass(frozen=True)
class _Shows:
    """Whether a text shows the symptom."""

    judge: Judge
    symptom: Symptom

    def __call__(self, text: str) -> bool:
        return self.judge.symptom(text, self.symptom) == self.symptom


def whole(text: str, calls: str) -> ast.Module:
    """The program: a file, what it needs beside, and the calls to make."""
    tree = ast.parse(text)
    needed = "import paddle\npaddle.seed(0)\n"
    needed += "import numpy as np\n" if "np." in calls else ""
    made = ast.parse(f"{needed}\ndef {CALLS}():\n    return {calls}\n").body
    head = 0
    for statement in tree.body:
        is_future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
        is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if not (is_future or is_text):
            break
        head += 1
    tree.body = [*tree.body[:head], *made[:-1], *tree.body[head:], made[-1]]
    return ast.parse(ast.unparse(ast.fix_missing_locations(tree)))


_FILE: Final = '''\
"""{symptom}: {name}, cut down by d2s minimize{left}.

{versions}{beside}
"""

{text}

if __name__ == "__main__":
    from d2s.testing import assert_equivalent

    for report in assert_equivalent({target}, {calls}(){grad}):
        print(report)
'''


def _file(found: Minimized, subject: Subject, text: str) -> str:
    """The file to attach: a program that shows it when it is run."""
    from d2s import __version__

    python = platform.python_version()
    beside = ", ".join(_beside(text, Path(subject.folder)))
    return _FILE.format(
        symptom=found.symptom,
        name=found.name,
        target=f"{found.name}()" if subject.made else found.name,
        left="" if found.complete else " (it was ended before it was done)",
        versions=f"d2s {__version__}, paddle {paddle.__version__}, Python {python}",
        beside=f"\nNeeds beside it: {beside}" if beside else "",
        text=text.rstrip("\n"),
        calls=CALLS,
        grad="" if subject.grad else ", grad=False",
    )


def _beside(text: str, folder: Path) -> list[str]:
    """The modules of the user's own that a program imports."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names |= {each.name.partition(".")[0] for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add("." * node.level + (node.module or "").partition(".")[0])
    return sorted(
        name
        for name in names
        if name.startswith(".") or (folder / f"{name}.py").exists() or (folder / name).is_dir()
    )


__all__ = ["CALLS", "Minimized", "Subject", "Wanted", "literal", "minimize"]
