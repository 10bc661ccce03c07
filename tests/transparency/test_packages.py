"""Real packages pass their own tests when all of their functions are converted (rules A1 to A4)."""

from __future__ import annotations

import faulthandler
import os
from pathlib import Path
from typing import Any

import pytest

from tests.transparency.__main__ import main
from tests.transparency.catalogue import DEFECTS, EXCLUDED, SUITES, Suite
from tests.transparency.runner import (
    Report,
    TransparencyError,
    check,
    check_all,
    compare,
    fetch,
    run,
    table,
)

JOBS = min(2, os.cpu_count() or 1)
QUICK = [suite for suite in SUITES if suite.quick]


def explained(reports: list[Report]) -> None:
    """Fail with the table when anything differs."""
    print(table(reports))
    assert not any(report.failures or report.stale for report in reports), table(reports)


def test_small_modules() -> None:
    reports = check_all(QUICK, JOBS)
    explained(reports)
    for report in reports:
        assert not report.error, report.error
        assert report.tests > 20
        assert report.converted == report.called > 0
        assert not report.refused


@pytest.mark.slow
def test_all_packages() -> None:
    # The runs have a limit of their own; the one that pytest sets is for a single loop.
    faulthandler.cancel_dump_traceback_later()
    reports = check_all(SUITES, JOBS)
    explained(reports)
    offline = [report.error for report in reports if "[T1]" in report.error]
    assert [report.error for report in reports if report.error] == offline
    assert sum(report.tests for report in reports) >= 3000
    assert sum(report.called for report in reports) >= 1000
    if offline:
        pytest.skip(f"the rest passed, but {len(offline)} packages cannot be fetched")


# -- the harness itself ---------------------------------------------------------------------------

BISECT = next(suite for suite in SUITES if suite.name == "bisect")


def test_a_broken_conversion_is_noticed() -> None:
    """Every second function of ``bisect`` gives no result."""
    report = compare("bisect", run(BISECT, "plain"), run(BISECT, "broken"))
    assert len(report.failures) > 5
    assert "NEW FAILURE in bisect: test.test_bisect." in table([report])


def outcomes(**found: str) -> dict[str, Any]:
    return {
        "outcomes": {name: (outcome, f"{name} {outcome}") for name, outcome in found.items()},
        "converted": ["m.py:1 f", "m.py:9 g"],
        "called": ["m.py:1 f", "m.py:30 not_converted"],
        "on_demand": 0,
        "refused": [["m.py:20 h", "D2S103", "a reason"]],
        "seconds": 1.0,
    }


def test_compare() -> None:
    before = outcomes(a="passed", b="passed", c="failed", d="skipped", e="passed", f="passed")
    after = outcomes(a="passed", b="failed", c="failed", d="failed", e="skipped", g="failed")
    report = compare("m", before, after)
    assert sorted(report.failures) == ["b", "e", "f", "g"]  # skipped and missing tests count
    assert (report.tests, report.converted, report.called) == (4, 2, 1)
    assert report.refused == [("m.py:20 h", "D2S103", "a reason")]


def test_named_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EXCLUDED, "a", "recursion depth")
    monkeypatch.setitem(DEFECTS, "b", "a defect")
    monkeypatch.setitem(DEFECTS, "c", "a defect that is gone")
    before = outcomes(a="passed", b="passed", c="passed")
    report = compare("m", before, outcomes(a="failed", b="failed", c="passed"))
    assert (report.excluded, report.defects, report.stale) == (["a"], ["b"], ["c"])
    assert not report.failures


def test_every_difference_has_a_reason() -> None:
    assert all(len(reason) > 15 for reason in (*EXCLUDED.values(), *DEFECTS.values()))
    assert not EXCLUDED.keys() & DEFECTS.keys()


def test_no_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any) -> None:
    """T1: one line that says what can be done; the exit status tells it from a failure."""
    monkeypatch.setattr("tests.transparency.runner.CACHE", tmp_path)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    toolz = next(suite for suite in SUITES if suite.name == "toolz")
    with pytest.raises(TransparencyError, match="cannot be fetched") as caught:
        fetch(toolz)
    assert caught.value.code == "T1"
    assert main(["toolz"]) == 3
    assert "NO RESULT for toolz: toolz==1.0.0 cannot be fetched" in capsys.readouterr().out


def test_a_suite_without_tests() -> None:
    """T4: a suite that cannot be loaded is no suite without failures."""
    report = check(Suite("none", ("none",), ("test.test_none_such_module",)))
    assert "[T4]" in report.error
    assert "NO RESULT for none" in table([report])


def test_a_run_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """T3."""
    monkeypatch.setattr("tests.transparency.runner.LIMIT", 0.01)
    with pytest.raises(TransparencyError, match="no end") as caught:
        run(BISECT, "plain")
    assert caught.value.code == "T3"


def test_unknown_package(capsys: Any) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["nonesuch"])
    assert caught.value.code == 2
    assert "--list prints the names" in capsys.readouterr().err
