"""One run of one suite, converted or as it is; a program of its own, started by ``runner``.

The functions of a package are converted where they are defined: a loader adds a decorator to each
``def`` and puts each ``lambda`` of the module and class level into a call, so that tables,
decorators and ``from x import f`` see the converted function only.  Nothing else of the module
changes; positions stay.  What d2s, Paddle and the test runner themselves use was imported before
and is left alone: the suite gets a second, fresh copy of the package.

    python worker.py '{"mode": "converted", ...}'
"""

from __future__ import annotations

import ast
import builtins
import cProfile
import importlib
import importlib.abc
import importlib.machinery
import json
import os
import random
import resource
import sys
import tempfile
import time
import types
import unittest
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import d2s
from d2s import conversion
from d2s.errors import D2SError

MEMORY = 6 << 30
"""Bytes that a run may use."""

TEXT = 5000
"""Characters that are kept of a failure: its end."""

HOOK = "__d2s_convert__"
"""The built-in that the loader's decorators name."""


def place_of(code: types.CodeType) -> str:
    """How both runs call one function; a converted one keeps file, line and name."""
    return f"{code.co_filename}:{code.co_firstlineno} {code.co_name}"


class Ledger:
    """What became of each function, and which of the converted ones were called."""

    def __init__(self) -> None:
        self.converted: set[str] = set()
        self.refused: set[tuple[str, str, str]] = set()
        self.on_demand: set[str] = set()
        self._at_definition = False

    def convert(self, function: Any) -> Any:
        """The decorator: ``function`` converted, or itself with a note of the reason."""
        if not isinstance(function, types.FunctionType):
            return function
        code = function.__code__
        place = place_of(code)
        self._at_definition = True
        try:
            converted = d2s.convert(function)
        except D2SError as error:
            self.refused.add((place, error.code, error.cause))
            return function
        except Exception as error:  # a defect of d2s; the table shows it
            self.refused.add((place, type(error).__name__, str(error)))
            return function
        finally:
            self._at_definition = False
        if converted.__code__ is code:
            self.refused.add((place, "unchanged", "convert returned the function itself"))
        else:
            self.converted.add(place)
        return converted

    def watch(self) -> None:
        """Note what ``d2s.call`` converts on its own."""
        compile_tree = conversion.compile_tree

        def noted(*args: Any, **options: Any) -> types.CodeType:
            code = compile_tree(*args, **options)
            if not self._at_definition:
                self.on_demand.add(place_of(code))
            return code

        conversion.compile_tree = noted


class Broken(Ledger):
    """Converts wrongly, to show that a run can fail: every second result is lost."""

    def convert(self, function: Any) -> Any:
        converted = super().convert(function)
        if not isinstance(function, types.FunctionType) or len(self.converted) % 2:
            return converted

        def wrong(*args: Any, **options: Any) -> None:
            converted(*args, **options)

        return wrong


class _Definitions(ast.NodeTransformer):
    """Puts the hook around every definition that is not inside another function."""

    def visit_FunctionDef(self, node: Any) -> Any:
        first = node.decorator_list[0] if node.decorator_list else node
        node.decorator_list = [self.visit(item) for item in node.decorator_list]
        self.visit(node.args)
        hook = ast.Name(HOOK, ast.Load())
        # On the line that the code object's first line already is.
        node.decorator_list.append(ast.copy_location(hook, first))
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: Any) -> Any:
        self.visit(node.args)
        hook = ast.copy_location(ast.Name(HOOK, ast.Load()), node)
        return ast.copy_location(ast.Call(hook, [node], []), node)


class _Loader(importlib.machinery.SourceFileLoader):
    def get_code(self, fullname: str) -> types.CodeType:
        path = self.get_filename(fullname)
        tree = _Definitions().visit(ast.parse(self.get_data(path), path))
        return compile(tree, path, "exec", dont_inherit=True)


def is_under(module: str, names: Sequence[str]) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in names)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the modules of the package; ``plain`` modules load as always (frozen ones too)."""

    def __init__(self, names: Sequence[str], leave: Sequence[str], *, convert: bool) -> None:
        self.names, self.leave, self.convert = names, leave, convert
        self.loaded: list[str] = []

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        if not is_under(fullname, self.names) or is_under(fullname, self.leave):
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            self.loaded.append(fullname)
            if self.convert:
                spec.loader = _Loader(fullname, spec.loader.path)
        return spec


# -- running tests --------------------------------------------------------------------------------

Outcomes = dict[str, tuple[str, str]]


class _Result(unittest.TestResult):
    """Outcome and message by test id."""

    def __init__(self) -> None:
        super().__init__()
        self.outcomes: Outcomes = {}

    def note(self, test: Any, outcome: str, text: str = "") -> None:
        name = test.id() if hasattr(test, "id") else str(test)
        if self.outcomes.get(name, ("passed", ""))[0] == "passed":
            self.outcomes[name] = (outcome, text)

    def addSuccess(self, test: Any) -> None:
        self.note(test, "passed")

    def addSkip(self, test: Any, reason: str) -> None:
        self.note(test, "skipped", reason)

    def addFailure(self, test: Any, err: Any) -> None:
        self.note(test, "failed", self._exc_info_to_string(err, test)[-TEXT:])

    def addError(self, test: Any, err: Any) -> None:
        self.addFailure(test, err)

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        if err is not None:
            text = f"{subtest}\n{self._exc_info_to_string(err, test)}"
            self.note(test, "failed", text[-TEXT:])

    def addExpectedFailure(self, test: Any, err: Any) -> None:
        self.note(test, "passed")

    def addUnexpectedSuccess(self, test: Any) -> None:
        self.note(test, "failed", "unexpected success")


def run_unittest(modules: Sequence[str]) -> Outcomes:
    result = _Result()
    for module in modules:
        random.seed(2024)
        suite = unittest.defaultTestLoader.loadTestsFromName(module)
        suite.run(result)
    return result.outcomes


class _Recorder:
    """A pytest plugin that keeps the worst outcome of each test."""

    def __init__(self) -> None:
        self.outcomes: Outcomes = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        name, outcome = report.nodeid, report.outcome
        if hasattr(report, "wasxfail"):
            outcome = "passed" if outcome == "skipped" else outcome
        text = report.longreprtext[-TEXT:] if outcome == "failed" else ""
        before = self.outcomes.get(name)
        if outcome == "failed" or before is None or (before[0] == "passed" == report.when):
            self.outcomes[name] = (outcome, text)
        elif outcome == "skipped" and before[0] == "passed":
            self.outcomes[name] = (outcome, text)

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.outcomes[f"collect {report.nodeid}"] = ("failed", report.longreprtext)


def run_pytest(arguments: Sequence[str]) -> Outcomes:
    import pytest

    recorder = _Recorder()
    random.seed(2024)
    here = str(Path.cwd())
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:cov", "--tb=short"]
    options += ["--continue-on-collection-errors", "--rootdir", here, "--confcutdir", here]
    with tempfile.NamedTemporaryFile("w", suffix=".ini") as settings:
        settings.write("[pytest]\n")  # neither the package's options (plugins, say) nor ours
        settings.flush()
        pytest.main([*options, "-c", settings.name, *arguments], plugins=[recorder])
    return recorder.outcomes


def main(text: str) -> None:
    order = json.loads(text)
    # A loop that does not end shall fail its test, not the machine.
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    import pytest  # noqa: F401 - before the purge: the runner keeps its own copies

    names, mode = order["modules"], order["mode"]
    for name in [name for name in sys.modules if is_under(name, names)]:
        if not is_under(name, order["leave"]):
            del sys.modules[name]
    sys.path[:0] = order["path"]
    ledger = Broken() if mode == "broken" else Ledger()
    if mode != "plain":
        ledger.watch()
        setattr(builtins, HOOK, ledger.convert)
    finder = _Finder(names, order["leave"], convert=mode != "plain")
    sys.meta_path.insert(0, finder)
    importlib.invalidate_caches()
    profile = cProfile.Profile(builtins=False, subcalls=False)
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(order.get("cwd") or folder)
        for name in order["imports"]:
            importlib.import_module(name)
        if mode == "plain":  # it slows down converted code more than conversion itself does
            profile.enable()
        try:
            run: Callable[[Sequence[str]], Outcomes]
            run = run_pytest if order["runner"] == "pytest" else run_unittest
            outcomes = run(order["tests"])
        finally:
            profile.disable()
            os.chdir("/")
    called = {
        place_of(entry.code)
        for entry in profile.getstats()
        if isinstance(entry.code, types.CodeType)
    }
    Path(order["out"]).write_text(
        json.dumps(
            {
                "outcomes": outcomes,
                "seconds": time.perf_counter() - started,
                "modules": sorted(set(finder.loaded)),
                "converted": sorted(ledger.converted),
                "called": sorted(called),
                "on_demand": len(ledger.on_demand),
                "refused": sorted(ledger.refused),
            }
        ),
        encoding="utf-8",
    )


if __name__ == "__main__":
    main(sys.argv[1])
