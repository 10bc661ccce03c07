"""``d2s build``: a package with its modules converted ahead of time.

What a built module is, is in ``d2s.debug.build`` and ``d2s.built``.  Here the package is found and
imported, and the new one is written: all of it, or nothing.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import typer

from d2s.cli.targets.find import first_on_path, import_module
from d2s.cli.terminal.files import write
from d2s.cli.terminal.progress import importing, working
from d2s.debug.build import MARK, Built, built
from d2s.errors import D2SError, OutputFileError, TargetError

_CURE = "name a folder with Python files, a file, or a module that can be imported"


def build(package: str, *, output: Path, keep_source: bool, as_json: bool) -> None:
    """What the command does; ``d2s.cli.commands`` says what its options mean."""
    root = _root(package)
    goal = output / root.name
    _check_goal(goal)
    report = Report(root.stem, str(goal))
    with tempfile.TemporaryDirectory(prefix="d2s-build-") as folder, first_on_path(root.parent):
        new = Path(folder) / root.name
        for path in _files(root):
            _build_file(path, root, new.parent, report, keep_source)
        if root.is_dir():
            (new / MARK).write_text("Written by d2s build, which may write it anew.\n")
        _put(new.parent, output, root)
    if as_json:
        typer.echo(json.dumps(asdict(report), indent=2))
    else:
        typer.echo(report.text(), nl=False)


@dataclass
class Report:
    """What was built.

    Attributes:
        name: the package.
        output: where it lies.
        modules: how many modules were built.
        functions: how many functions were converted.
        left: functions and modules that were not, each with its file, line and reason.
    """

    name: str
    output: str
    modules: int = 0
    functions: int = 0
    left: list[dict[str, str | int]] = field(default_factory=list)

    def add(self, made: Built) -> None:
        """Count a module."""
        self.modules += 1
        self.functions += made.functions
        for each in made.left:
            self._note(made.file, each.name, each.line, each.code, each.reason)

    def leave(self, file: str, error: D2SError) -> None:
        """A module that is put there as it is."""
        self._note(file, "", error.line or 1, error.code, error.cause)

    def _note(self, file: str, name: str, line: int, code: str, reason: str) -> None:
        found: dict[str, str | int] = {"file": file, "line": line, "name": name}
        self.left.append({**found, "code": code, "reason": reason})

    def text(self) -> str:
        """The same in words."""
        counts = f"{_many(self.modules, 'module')}, {_many(self.functions, 'function')}"
        lines = [f"{self.name}: {counts} converted ahead of time, in {self.output}"]
        for each in self.left:
            what = each["name"] or "the module, which is left as it is"
            lines.append(
                f"  {each['file']}:{each['line']}: {what}: {each['reason']} [{each['code']}]"
            )
        return "\n".join(lines) + "\n"


def _many(count: int, what: str) -> str:
    return f"{count} {what}" + ("" if count == 1 else "s")


# -- what is built ---------------------------------------------------------------------------------


def _root(package: str) -> Path:
    """The folder or the file of what is to be built.

    Raises:
        TargetError: (D2S501) there is none, or no Python in it.
    """
    path = Path(package)
    if not path.exists():
        path = _found(package)
    path = path.resolve()
    if path.is_dir():
        if not any(path.rglob("*.py")):
            raise TargetError(f"there is no Python file in {package}", cure=_CURE)
        names = [path.name]
    else:
        if path.suffix != ".py":
            raise TargetError(f"{package} is not a Python file: its name does not end with .py")
        names = [path.stem]
    if not all(name.isidentifier() for name in names):
        raise TargetError(
            f"{names[0]!r} is no name that can be imported", cure="name the package in it"
        )
    return path


def _found(name: str) -> Path:
    """Where a module lies that can be imported."""
    spec = None
    if all(part.isidentifier() for part in name.split(".")) and "." not in name:
        with first_on_path(Path.cwd()), contextlib.suppress(ImportError, ValueError):
            spec = importlib.util.find_spec(name)
    origin = None if spec is None else spec.origin
    if origin is None or not origin.endswith(".py"):
        raise TargetError(f"there is no package, file or module {name!r}", cure=_CURE)
    file = Path(origin)
    return file.parent if file.name == "__init__.py" else file


def _files(root: Path) -> Iterator[Path]:
    """All files of a package, in the order of their names; what Python has made is none of it."""
    if root.is_file():
        yield root
        return
    for path in sorted(root.rglob("*")):
        parts = path.relative_to(root).parts
        hidden = any(part.startswith(".") or part == "__pycache__" for part in parts)
        if path.is_file() and not hidden and path.suffix != ".pyc":
            yield path


def _build_file(path: Path, root: Path, folder: Path, report: Report, keep: bool) -> None:
    """Build a module, or put a file that is none beside."""
    inside = path.relative_to(root.parent)
    goal = folder / inside
    goal.parent.mkdir(parents=True, exist_ok=True)
    file = inside.as_posix()
    parts = [*inside.parts[:-1], *([] if path.stem == "__init__" else [path.stem])]
    usable = all(part.isidentifier() for part in parts) and path.stem != "__main__"
    if path.suffix != ".py" or not usable:
        shutil.copyfile(path, goal)
        return
    try:
        made = _built(".".join(parts), path, file, keep)
    except D2SError as error:
        if path == root or (path.parent == root and path.stem == "__init__"):
            raise
        shutil.copyfile(path, goal)
        report.leave(file, error)
        return
    goal.write_text(made.module, encoding="utf-8")
    goal.with_name(f"{path.stem}.d2s.py").write_text(made.converted, encoding="utf-8")
    goal.with_name(f"{path.stem}.d2s.py.map").write_text(made.source_map, encoding="utf-8")
    report.add(made)


def _built(name: str, path: Path, file: str, keep: bool) -> Built:
    with importing(name), contextlib.redirect_stdout(sys.stderr):
        module = import_module(name)
    found = getattr(module, "__file__", None)
    if found is None or Path(found).resolve() != path:
        raise TargetError(
            f"{name!r} is another module here: {found or 'a part of Python'}",
            cure="give the file or package a name of its own",
            file=str(path),
            line=1,
        )
    with working(f"converting {name}"):
        return built(module, path, file, keep_source=keep)


# -- where it is put -------------------------------------------------------------------------------


def _check_goal(goal: Path) -> None:
    """Refuse to write over what ``d2s build`` has not written.

    Raises:
        OutputFileError: (D2S504) there is something else.
    """
    mine = (goal / MARK).exists() or (goal.is_file() and _is_built(goal))
    if goal.exists() and not mine:
        raise OutputFileError(
            f"{goal} exists, and was not written by d2s build",
            cure="name another folder with -o, or remove it",
        )
    if goal.parent.exists() and not goal.parent.is_dir():
        raise OutputFileError(f"{goal.parent} is a file", cure="name a folder with -o")


def _is_built(file: Path) -> bool:
    with file.open("rb") as stream:
        return stream.read(13) == b"# Built by d2"


def _put(made: Path, output: Path, root: Path) -> None:
    """Put what was built into its place: the old one is there until the new one is whole."""
    try:
        output.mkdir(parents=True, exist_ok=True)
        if root.is_file():
            for path in sorted(made.iterdir()):
                write(output / path.name, path.read_text(encoding="utf-8"))
            return
        beside = Path(tempfile.mkdtemp(prefix=f".{root.name}.", dir=output))
        try:
            shutil.copytree(made / root.name, beside / "new")
            goal = output / root.name
            if goal.exists():
                goal.replace(beside / "old")
            (beside / "new").replace(goal)
        finally:
            shutil.rmtree(beside, ignore_errors=True)
    except OSError as error:
        raise OutputFileError(
            f"{output} cannot be written: {error.strerror or error}",
            cure="name a folder that you may write to",
        ) from error
