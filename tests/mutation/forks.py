"""One mutant, one process: a fork of a server that has imported all that is slow and not d2s.

Nothing of Paddle is run before the fork, because its threads do not live on in a child; d2s is
imported in the child, the changed module from memory.  No file is written but a log.
"""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import resource
import select
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Final

import pytest

MEMORY: Final = 16 << 30
"""Bytes of address space for a child: a mutant may grow a list for ever."""

QUIET: Final = {  # d2s is imported before ``conftest.py``, which sets what the tests need
    "GLOG_minloglevel": "3",
    "OMP_NUM_THREADS": "1",
    "D2S_VERIFY": "1",
    "D2S_FULL_GRAPH": "1",
    "D2S_TRY_DYGRAPH": "0",
    "PY_COLORS": "0",
}


@dataclass(frozen=True)
class Outcome:
    """What became of the tests in a child.

    Attributes:
        killed: whether one of them failed, or the child died.
        by: the test that failed; or ``time``, ``import``, ``crash``.
        ran: the tests that were run, in order.
        seconds: how long it took.
    """

    killed: bool
    by: str = ""
    ran: tuple[str, ...] = ()
    seconds: float = 0.0


def warm_up() -> None:
    """Import what every child needs; d2s is not among it."""
    os.environ.update(QUIET)
    sys.setswitchinterval(0.005)
    for name in ("paddle", "hypothesis", "hypothesis.strategies", "rich", "typer", "gast"):
        importlib.import_module(name)
    early = sorted(name for name in sys.modules if name.split(".")[0] == "d2s")
    assert not early, f"{early} would not be the mutant's"


def run(
    tests: Sequence[str], root: Path, limit: float, change: tuple[str, ast.Module] | None = None
) -> Outcome:
    """Run ``tests`` in this order, up to the first that fails.

    Args:
        tests: their names, as pytest gives them.
        root: the repository.
        limit: seconds.
        change: the file, from the root, that has another tree, and this tree.
    """
    reader, writer = os.pipe()
    start = time.monotonic()
    child = os.fork()
    if child == 0:
        os.close(reader)
        status = 1
        try:
            os.setsid()  # what a test starts ends with it
            with tempfile.TemporaryFile() as log:
                for number in (1, 2):
                    os.dup2(log.fileno(), number)
                os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
                found = _in_child(tests, root, change)
                os.write(writer, json.dumps(found).encode())
                status = 0
        finally:
            os._exit(status)
    os.close(writer)
    said = _listen(reader, start + limit)
    os.close(reader)
    try:
        os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    seconds = round(time.monotonic() - start, 2)
    if said is None:
        return Outcome(True, "time", seconds=seconds)
    if not said:
        return Outcome(True, "crash", seconds=seconds)
    found = json.loads(said)
    by = found["by"]
    return Outcome(by is not None, by or "", tuple(found["ran"]), seconds)


def _listen(reader: int, end: float) -> bytes | None:
    """What the child writes before it ends; ``None`` when it does not end in time."""
    said = b""
    while True:
        ready, _, _ = select.select([reader], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            return None
        part = os.read(reader, 1 << 16)
        if not part:
            return said
        said += part


@dataclass(eq=False)
class _Chosen:
    """The pytest plugin of a child: only ``tests``, in their order."""

    tests: Sequence[str]
    ran: list[str] = field(default_factory=list)
    failed: str | None = None

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        order = {name: position for position, name in enumerate(self.tests)}
        items[:] = sorted(
            (item for item in items if item.nodeid in order), key=lambda item: order[item.nodeid]
        )

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.ran.append(nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed = self.failed or report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.failed = self.failed or "import"


def _in_child(
    tests: Sequence[str], root: Path, change: tuple[str, ast.Module] | None
) -> dict[str, Any]:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.chdir(root)
    os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = tempfile.mkdtemp(prefix="d2s-mutation-")
    if change is not None:
        file, tree = change
        name = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        sys.meta_path.insert(0, _Changed(name, root / file, tree))
        try:
            importlib.import_module(name)
        except BaseException:
            return {"by": "import", "ran": []}
    files = list(dict.fromkeys(name.partition("::")[0] for name in tests))
    doctests = ["--doctest-modules"] if any(name.startswith("d2s/") for name in files) else []
    chosen = _Chosen(tests)
    options = ["-x", "-q", "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist", *doctests]
    status = pytest.main([*options, *files], plugins=[chosen])
    by = chosen.failed
    if by is None and status not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        by = "import"
    return {"by": by, "ran": chosen.ran}


class _Changed(importlib.abc.MetaPathFinder, importlib.machinery.SourceFileLoader):
    """Finds one module, and compiles it from the tree of the mutant."""

    def __init__(self, name: str, path: Path, tree: ast.Module) -> None:
        super().__init__(name, str(path))
        self.tree = tree

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self.name:
            return None
        return importlib.util.spec_from_file_location(fullname, self.path, loader=self)

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.tree, self.path, "exec", dont_inherit=True)
