"""What no test runs has a reason, and the reasons speak of functions that there are."""

from __future__ import annotations

from typing import Any

from tests.uncovered.__main__ import missed_in, report
from tests.uncovered.left import Left, functions_of_d2s


def test_reasons_speak_of_functions_that_there_are() -> None:
    """A reason for what is gone would excuse what comes in its place."""
    reasons = Left.read().reasons
    assert sorted(reasons.keys() - functions_of_d2s()) == []
    assert [name for name, why in reasons.items() if len(why) < 15 or not why.endswith(".")] == []


def measured(percent: float, **functions: Any) -> dict[str, Any]:
    parts = {
        name: {"missing_lines": lines, "missing_branches": branches}
        for name, (lines, branches) in functions.items()
    }
    return {
        "files": {"d2s/some/__init__.py": {"functions": parts}},
        "totals": {"percent_covered": percent},
    }


def test_what_is_missed_without_a_reason_is_said(capsys) -> None:
    """Each line and branch once; whole functions are not named."""
    found = measured(96.0, whole=([], []), part=([7, 8], [[6, 7], [6, 9]]), known=([3], []))
    assert missed_in(found) == [("d2s.some:part", "7, 8, 6->9"), ("d2s.some:known", "3")]
    left = Left({"d2s.some:known": "A race.", "d2s.some:whole": "Not needed."})
    assert report(found, left, 95.0) == 1
    out = capsys.readouterr().out
    assert "no reason: d2s.some:part: 7, 8, 6->9" in out
    assert "not needed: d2s.some:whole" in out
    assert "2 functions not whole, 1 of them with a reason" in out


def test_too_little_is_not_enough(capsys) -> None:
    """Every reason is there, and the goal is missed."""
    found = measured(94.9, known=([3], []))
    left = Left({"d2s.some:known": "A race."})
    assert report(found, left, 95.0) == 1
    assert report(found, left, 94.0) == 0
