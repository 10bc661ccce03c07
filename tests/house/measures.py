"""What the house is measured by: figures of the text of ``d2s``, each of which may only go down.

A figure has a name and the places that it counts: where to look for what can be lowered.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

CONTAINERS = frozenset(
    {"list", "dict", "tuple", "set", "frozenset", "deque", "OrderedDict", "defaultdict"}
)
TREE = "d2s.runtime.values.tree"
"""The module that knows what a container is, and may ask for its kind."""

TYPED = ("d2s.runtime", "d2s.program")
"""Rooms in which no import hides behind ``TYPE_CHECKING``."""

LINES, FILES, LENGTH = 500, 14, 60
"""The most lines of a module, files of a folder, lines of a function; ruff has other limits."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Figure:
    """One figure, and what it counts.

    Attributes:
        value: what is compared: the number of places, or a number of its own.
        places: ``module:name`` of each.
    """

    value: float
    places: tuple[str, ...] = ()


@dataclass(frozen=True)
class Module:
    """The text of one module.

    Attributes:
        name: its dotted name.
        text: what it contains.
        package: whether it is the ``__init__`` of one.
    """

    name: str
    text: str
    package: bool = False

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All that the text is made of."""
        return list(ast.walk(self.tree))

    @cached_property
    def functions(self) -> list[Function]:
        """All functions and methods, nested ones too."""
        return [x for x in self.nodes if isinstance(x, Function)]

    @cached_property
    def guarded(self) -> set[ast.AST]:
        """What stands under ``if TYPE_CHECKING``."""
        ifs = (x for x in self.nodes if isinstance(x, ast.If))
        typed = [x for x in ifs if "TYPE_CHECKING" in _names(x.test)]
        return {y for x in typed for statement in x.body for y in ast.walk(statement)}

    @property
    def folder(self) -> str:
        """The package that its file lies in."""
        return self.name if self.package else self.name.rpartition(".")[0]

    @property
    def code(self) -> int:
        """Lines on which something of the tree begins."""
        return len({x.lineno for x in self.nodes if hasattr(x, "lineno")})


@dataclass(frozen=True)
class House:
    """Modules, and what can be counted in them."""

    modules: list[Module]

    @classmethod
    def read(cls, root: Path) -> House:
        """The modules of a package, such as ``Path("d2s")``."""
        found = []
        for path in sorted(root.rglob("*.py")):
            name = ".".join(path.relative_to(root.parent).with_suffix("").parts)
            package = name.endswith(".__init__")
            found.append(Module(name.removesuffix(".__init__"), path.read_text("utf-8"), package))
        return cls(found)

    def branching(self) -> Iterator[str]:
        """Functions that ask for two or more kinds of containers."""
        for module in self.modules:
            for function in module.functions if module.name != TREE else ():
                if len(_kinds(function)) >= 2:
                    yield f"{module.name}:{function.name}"

    def cyclic(self) -> list[str]:
        """Modules that import themselves in the end, for their types alone or not."""
        edges = self.imports()
        return [module for module in edges if module in _reached(module, edges)]

    def imports(self) -> dict[str, set[str]]:
        """The modules that each module imports, by ``from d2s... import ...``."""
        known = {module.name for module in self.modules}
        edges: dict[str, set[str]] = defaultdict(set)
        for module in self.modules:
            for x in module.nodes:
                if isinstance(x, ast.ImportFrom) and x.module and x.module.split(".")[0] == "d2s":
                    inner = {f"{x.module}.{alias.name}" for alias in x.names}
                    edges[module.name] |= inner & known or {x.module}
        return dict(edges)

    def typed_only(self) -> Iterator[str]:
        """Imports of d2s that are made for types alone, in rooms that shall do without."""
        for module in self.modules:
            if module.name.startswith(TYPED):
                for x in module.guarded:
                    if isinstance(x, ast.ImportFrom) and (x.module or "").startswith("d2s"):
                        yield f"{module.name}:{x.module}"

    def injections(self) -> Iterator[str]:
        """Functions that keep an argument in a variable of their module: a cycle by hand."""
        for module in self.modules:
            for function in module.functions if module.name.startswith(TYPED) else ():
                outer = {n for x in function.body if isinstance(x, ast.Global) for n in x.names}
                given = {argument.arg for argument in _parameters(function)}
                kept = [
                    x
                    for x in function.body
                    if isinstance(x, ast.Assign) and _names(x.value) & given
                ]
                if any(outer & _names(target) for x in kept for target in x.targets):
                    yield f"{module.name}:{function.name}"

    def long_modules(self) -> Iterator[str]:
        """Modules of more than 500 lines."""
        for module in self.modules:
            if len(module.text.splitlines()) > LINES:
                yield module.name

    def full_folders(self) -> Iterator[str]:
        """Folders with more than 14 files."""
        files = Counter(module.folder for module in self.modules)
        return (folder for folder, number in files.items() if number > FILES)

    def long_functions(self) -> Iterator[str]:
        """Functions of more than 60 lines."""
        for module in self.modules:
            for x in module.functions:
                if (x.end_lineno or 0) - x.lineno > LENGTH:
                    yield f"{module.name}:{x.name}"

    def untyped(self) -> float:
        """How many of a hundred parameters of the runtime are ``Any``."""
        inside = [m for m in self.modules if m.name.startswith("d2s.runtime")]
        given = [a for m in inside for x in m.functions for a in _parameters(x)]
        free = [a for a in given if isinstance(a.annotation, ast.Name) and a.annotation.id == "Any"]
        return round(100 * len(free) / max(len(given), 1), 1)

    def figures(self) -> dict[str, Figure]:
        """What the text gives."""
        counted: dict[str, Iterable[str]] = {
            "functions that branch on several kinds of containers": self.branching(),
            "modules in import cycles, types included": self.cyclic(),
            "imports for types alone in runtime and program": self.typed_only(),
            "late injections in runtime and program": self.injections(),
            f"modules above {LINES} lines": self.long_modules(),
            f"folders above {FILES} files": self.full_folders(),
            f"functions above {LENGTH} lines": self.long_functions(),
        }
        found = {name: _counted(places) for name, places in counted.items()}
        found["parameters of the runtime that are Any, of 100"] = Figure(self.untyped())
        found["lines with code"] = Figure(sum(module.code for module in self.modules))
        return found


def figures(root: Path) -> dict[str, Figure]:
    """All figures of a package."""
    return House.read(root).figures()


def _counted(places: Iterable[str]) -> Figure:
    found = tuple(sorted(places))
    return Figure(len(found), found)


def _parameters(function: Function) -> list[ast.arg]:
    given = function.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    return [argument for argument in every if argument.arg not in ("self", "cls")]


def _names(node: ast.AST) -> set[str]:
    """The names and attributes in a piece of code."""
    nodes = list(ast.walk(node))
    names = {x.id for x in nodes if isinstance(x, ast.Name)}
    return names | {x.attr for x in nodes if isinstance(x, ast.Attribute)}


def _kinds(function: Function) -> set[str]:
    """The kinds of containers that ``isinstance(x, ...)`` and ``type(x) is ...`` ask for."""
    kinds: set[str] = set()
    for x in ast.walk(function):
        if isinstance(x, ast.Call) and _name_of(x) == "isinstance" and len(x.args) == 2:
            kinds |= _names(x.args[1])
        elif isinstance(x, ast.Compare) and _name_of(x.left) == "type":
            kinds = kinds.union(*(_names(right) for right in x.comparators))
    return kinds & CONTAINERS


def _name_of(call: ast.expr) -> str:
    """The name of the function that is called; nothing where it has none."""
    return call.func.id if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) else ""


def _reached(start: str, edges: dict[str, set[str]]) -> set[str]:
    """Where imports lead to from a module."""
    seen: set[str] = set()
    ahead = list(edges[start])
    while ahead:
        module = ahead.pop()
        if module not in seen:
            seen.add(module)
            ahead += edges.get(module, ())
    return seen
