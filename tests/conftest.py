"""Options and fixtures of the tests; the root ``conftest.py`` has what doctests need as well."""

from __future__ import annotations

import collections
import itertools
import os
from collections.abc import Iterator

import hypothesis
import paddle
import pytest

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


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether expected files are written instead of compared."""
    return bool(request.config.getoption("--update-golden"))
