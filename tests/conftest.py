"""Options and fixtures of the tests; the root ``conftest.py`` has what doctests need as well."""

from __future__ import annotations

import collections
import gc
import itertools
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import paddle
import pytest

from d2s.paddle_bridge import names
from d2s.paddle_bridge.running import prepared

PHASES = [phase for phase in hypothesis.Phase if phase is not hypothesis.Phase.explain]
hypothesis.settings.register_profile(
    "quick",
    phases=PHASES,  # an explanation takes longer than the search
    max_examples=40,
    deadline=None,
    derandomize=True,  # the quick suite says the same thing twice; chance is for the night
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.register_profile(
    "nightly",
    max_examples=2000,
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile(os.environ.get("D2S_HYPOTHESIS_PROFILE", "quick"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write the expected files under tests/golden again; read the diff before you commit",
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of a matrix that is marked ``sampled(n)``, the quick suite runs one case in ``n``.

    It has each value of each axis in some case; the night runs all.
    """
    matrices = collections.defaultdict(list)
    for item in items:
        if item.get_closest_marker("sampled") is not None:
            matrices[item.nodeid.partition("[")[0]].append(item)
    for cases in matrices.values():
        (every,) = cases[0].get_closest_marker("sampled").args
        places = [case.callspec.indices.items() for case in cases]
        sizes = collections.Counter(axis for axis, _ in set(itertools.chain(*places)))
        seen: set[tuple[str, int]] = set()
        for number, (case, place) in enumerate(zip(cases, places, strict=True)):
            # Where all cases stand on one axis, each is new: they are counted only.
            new = {(axis, at) for axis, at in place if sizes[axis] < len(cases)} - seen
            seen |= new
            if not new and number % every:
                case.add_marker("slow")


MORE_THREADS = 2000
"""A machine has so many threads, 32,768 mostly, and each program that Paddle has prepared some."""

threads_left = 0


def pytest_configure(config: pytest.Config) -> None:
    """Let d2s end what Paddle has prepared for programs that are gone, in a worker of xdist too.

    It does so where no other thread may run a program; that of xdist only waits for messages.
    """
    if hasattr(config, "workerinput"):
        known = len(sys._current_frames())
        prepared._has_threads = lambda: len(sys._current_frames()) > known


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """Let go of the programs of earlier tests, which wait for a rare collection of old objects."""
    global threads_left
    if _threads() > threads_left + MORE_THREADS:
        gc.collect()
        prepared.end_unused()
        threads_left = _threads()


def _threads() -> int:
    """How many this process has; the folder of them has thousands of entries to be read."""
    status = Path("/proc/self/status")
    found = status.read_text() if status.exists() else ""
    return int(found.partition("Threads:")[2].split(maxsplit=1)[0]) if "Threads:" in found else 0


@pytest.fixture(autouse=True)
def _seed() -> None:
    """Each test draws the same random numbers, whatever ran before it."""
    paddle.seed(2024)


@pytest.fixture(autouse=True)
def _dygraph() -> Iterator[None]:
    """A test that leaves Paddle in static mode fails itself, not its successor."""
    yield
    stayed = not paddle.in_dynamic_mode()
    if stayed:
        paddle.disable_static()
    assert not stayed, "the test left Paddle in static mode"


@pytest.fixture(autouse=True)
def _parameters() -> Iterator[None]:
    """Paddle keeps no parameter of a program that is gone: the next one at its address gets it."""
    yield
    left = dict(names._global_parameter_recorder.params_dict)
    names._global_parameter_recorder.params_dict.clear()
    names._global_parameter_recorder.tensor2value.clear()
    assert not left, "the parameters of a capture that is over are still known"


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether expected files are written instead of compared."""
    return bool(request.config.getoption("--update-golden"))
