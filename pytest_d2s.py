"""The pytest plugin of d2s: a fixture ``assert_equivalent``, and a marker with its options.

It stands outside of the package, because pytest loads it in every run, and importing d2s imports
Paddle: that is left to the tests that ask for the fixture.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

_MARKER = "d2s(grad, rtol, atol, seed, input_spec): options of the fixture assert_equivalent"


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", _MARKER)


@pytest.fixture
def assert_equivalent(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """``d2s.testing.assert_equivalent`` with the options of the nearest ``d2s`` markers."""
    from d2s import testing

    known = set(inspect.signature(testing.assert_equivalent).parameters) - {"fn", "inputs"}
    options: dict[str, Any] = {}
    for marker in reversed(list(request.node.iter_markers("d2s"))):  # the nearest comes last
        wrong = sorted(set(marker.kwargs) - known)
        if wrong or marker.args:
            raise pytest.UsageError(
                f"{request.node.nodeid}: the marker d2s takes the options "
                f"{', '.join(sorted(known))}; not {', '.join([*map(repr, marker.args), *wrong])}"
            )
        options |= marker.kwargs

    def check(fn: Any, inputs: Any, **changes: Any) -> Any:
        __tracebackhide__ = True
        return testing.assert_equivalent(fn, inputs, **{**options, **changes})

    return check
