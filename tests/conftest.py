"""Options and fixtures of the tests; the root ``conftest.py`` has what doctests need as well."""

from __future__ import annotations

import collections
import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from tests.sampling import sample

# Paddle and d2s are imported where they are used: xdist has a process that only hands out tests.

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


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of a matrix that is marked ``sampled(n)``, the quick suite runs one case in ``n``.

    It has each value of each axis in some case, and the cases that ``also`` names; the night runs
    all.
    """
    whole = not any("::" in argument for argument in config.args)
    matrices = collections.defaultdict(list)
    for item in items:
        if item.get_closest_marker("sampled") is not None:
            matrices[item.nodeid.partition("[")[0]].append(item)
    for cases in matrices.values():
        marker = cases[0].get_closest_marker("sampled")
        quick = sample([case.callspec.indices for case in cases], *marker.args)
        names = {case.callspec.id: number for number, case in enumerate(cases)}
        also = marker.kwargs.get("also", ())
        unknown = [name for name in also if name not in names]
        if whole and unknown:
            raise pytest.UsageError(f"{cases[0].nodeid}: no case has the name {unknown[0]!r}")
        quick |= {names[name] for name in also if name in names}
        for number, case in enumerate(cases):
            if number not in quick:
                case.add_marker("slow")


MORE_THREADS = 1000
"""Each program that Paddle has prepared has some threads, and a machine 32,768 mostly.

Where there are thousands, Paddle adds up what each has allocated whenever it allocates: a loop of a
program took twenty times as long.
"""

threads_left = 0


def pytest_configure(config: pytest.Config) -> None:
    """Let d2s end what Paddle has prepared for programs that are gone, in a worker of xdist too.

    It does so where no other thread may run a program; that of xdist only waits for messages.
    """
    if hasattr(config, "workerinput"):
        from d2s.paddle_bridge.running import prepared

        known = len(sys._current_frames())
        prepared._has_threads = lambda: len(sys._current_frames()) > known


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """Let go of the programs of earlier tests, which wait for a rare collection of old objects.

    Where a test has run a program of Paddle's own, d2s ends nothing any more.  Between tests it
    may, once none of those is alive.
    """
    from d2s.paddle_bridge.running import prepared

    global threads_left
    if _threads() > threads_left + MORE_THREADS:
        gc.collect()
        if prepared._others._have_run:
            prepared._others = prepared._Others()
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
    import paddle

    paddle.seed(2024)


@pytest.fixture(autouse=True)
def _dygraph() -> Iterator[None]:
    """A test that leaves Paddle in static mode fails itself, not its successor."""
    import paddle

    yield
    stayed = not paddle.in_dynamic_mode()
    if stayed:
        paddle.disable_static()
    assert not stayed, "the test left Paddle in static mode"


@pytest.fixture(autouse=True)
def _parameters() -> Iterator[None]:
    """Paddle keeps no parameter of a program that is gone: the next one at its address gets it."""
    from d2s.paddle_bridge import names

    yield
    left = dict(names._global_parameter_recorder.params_dict)
    names._global_parameter_recorder.params_dict.clear()
    names._global_parameter_recorder.tensor2value.clear()
    assert not left, "the parameters of a capture that is over are still known"


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether expected files are written instead of compared."""
    return bool(request.config.getoption("--update-golden"))
