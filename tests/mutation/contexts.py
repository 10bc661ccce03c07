"""The pytest plugin that notes which test runs which line, and how long it takes.

``python -m tests.mutation record`` runs the suite under coverage with it.  Coverage's own
``dynamic_context`` knows test functions only, not their parameters.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import coverage
import pytest

TIMES = "D2S_MUTATION_TIMES"
"""The variable that says where the times go."""

_times: dict[str, dict[str, Any]] = {}


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    measuring = coverage.Coverage.current()
    assert measuring is not None, "run it under `coverage run`"
    measuring.switch_context(item.nodeid)
    start = time.perf_counter()
    try:
        return (yield)
    finally:
        _times.setdefault(item.nodeid, {})["seconds"] = round(time.perf_counter() - start, 4)
        measuring.switch_context("")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call" or report.outcome != "passed":
        _times.setdefault(report.nodeid, {})["outcome"] = report.outcome


def pytest_sessionfinish() -> None:
    Path(os.environ[TIMES]).write_text(json.dumps(_times), "utf-8")
