"""The pytest plugin, in runs of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[3]


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch):
    """Run a test file with the plugin, in a process of its own."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    def run(text: str) -> pytest.RunResult:
        pytester.makepyfile(text)
        options = ["-p", "pytest_d2s", "-p", "no:cacheprovider", "--strict-markers"]
        return pytester.runpytest_subprocess(*options)

    return run


FUNCTIONS = """
import paddle
import pytest

X = paddle.to_tensor([1.0, 2.0])

def good(x):
    return x * 2 if x.sum() > 0 else x

def bad(x):
    y = x * 2
    return y if paddle.in_dynamic_mode() else y + 1e-3
"""


def test_the_fixture_and_the_marker(run) -> None:
    """Options of the nearest marker win, and those of the call win over both."""
    result = run(
        FUNCTIONS
        + """
pytestmark = pytest.mark.d2s(atol=1e-6, grad=False)

def test_good(assert_equivalent):
    (report,) = assert_equivalent(good, X)
    assert "gradients" not in report.compared

def test_bad(assert_equivalent):
    assert_equivalent(bad, X)

@pytest.mark.d2s(atol=1e-2)
def test_marked(assert_equivalent):
    (report,) = assert_equivalent(bad, X)
    assert "gradients" not in report.compared

def test_called(assert_equivalent):
    (report,) = assert_equivalent(bad, X, atol=1e-2, grad=True)
    assert "gradients" in report.compared
"""
    )
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["E *CheckError: *the program of 'bad' differs from dygraph*"])


def test_an_option_that_there_is_not(run) -> None:
    result = run(
        FUNCTIONS
        + """
@pytest.mark.d2s(rtoll=1)
def test_good(assert_equivalent):
    assert_equivalent(good, X)
"""
    )
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*the marker d2s takes the options *rtol*; not rtoll*"])


def test_a_run_that_does_not_use_it_imports_no_paddle(run) -> None:
    result = run(
        """
import sys


def test_plain():
    assert "pytest_d2s" in sys.modules
    assert "d2s" not in sys.modules
    assert "paddle" not in sys.modules
"""
    )
    result.assert_outcomes(passed=1)
