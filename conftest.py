"""What the tests and the doctests of ``d2s`` share; loaded before anything imports Paddle."""

from __future__ import annotations

import ast
import gc
import itertools
import linecache
import os
import textwrap
from typing import Any

os.environ.setdefault("GLOG_minloglevel", "2")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("D2S_VERIFY", "1")
# What cannot be one program is refused here, so that a test sees what is one; islands have tests of
# their own.
os.environ.setdefault("D2S_FULL_GRAPH", "1")
# Which island pays is a matter of time; the tests of that ask for it.
os.environ.setdefault("D2S_TRY_DYGRAPH", "0")

# What another process has converted would be neither checked nor measured.
os.environ.setdefault("D2S_CACHE_DIR", "0")

import pytest

# While test modules are imported there is nothing to free; on again before the first test.
gc.disable()

_count = itertools.count(1)


def show(
    step: Any, text: str, class_name: str | None = None, resolve: dict[str, Any] | None = None
) -> None:
    """Print what one pass makes of a function, without the printer's blank lines.

    The examples in the docstrings of ``d2s.passes`` use it. No other pass runs before.

    Args:
        step: the ``Pass``.
        text: the text of one function.
        class_name: the class in which the function stands, for private names.
        resolve: what global names stand for.
    """
    import gast

    from d2s.pipeline import transform
    from d2s.syntax.printer import to_source
    from d2s.syntax.source import FunctionSource

    text = textwrap.dedent(text).strip() + "\n"
    file = f"<example {next(_count)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    tree = gast.ast_to_gast(ast.parse(text)).body[0]
    tree.decorator_list = []
    source = FunctionSource(text, tree, file, 1, tree.name, class_name, ())
    result = to_source(transform(source, resolve=(resolve or {}).get, passes=(step,)).tree).text
    print("\n".join(line for line in result.splitlines() if line.strip()))


@pytest.fixture(autouse=True, scope="session")
def _show_in_doctests(doctest_namespace: dict[str, Any]) -> None:
    """``show`` is a name of the examples in ``d2s.passes``."""
    doctest_namespace["show"] = show


def pytest_configure(config: pytest.Config) -> None:
    """Paddle warns about a compiler cache that no test needs."""
    config.addinivalue_line("filterwarnings", "ignore:No ccache found:UserWarning")


def pytest_collection_finish() -> None:
    """Paddle, d2s and the test modules stay: the collector need not go through them each time.

    They are a million objects, and a full collection took a third of a second.
    """
    gc.collect()
    gc.freeze()
    gc.enable()
