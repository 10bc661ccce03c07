"""The page on versions says what the matrix has found, and the project promises no more."""

from __future__ import annotations

import re
import sys

from d2s.paddle_bridge.versions import TRIED
from tests.matrix.page import PAGE, ROOT, rendered, results

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def test_the_page_is_up_to_date() -> None:
    text = PAGE.read_text()
    assert rendered(text, results()) == text, "run python -m tests.matrix"


def test_what_is_called_tried_has_run() -> None:
    ran = {result["paddle"] for result in results() if result["passed"]}
    assert ran == set(TRIED)


def test_what_failed_is_told_beside_what_the_version_lacks() -> None:
    """The newest Paddle has no failures; of the others the page tells, by their version."""
    failed = {each["paddle"].rpartition(".")[0] for each in results() if each["failed"]}
    told = next(line for line in PAGE.read_text().splitlines() if "tests that fail there" in line)
    assert TRIED[-1].rpartition(".")[0] not in failed
    assert [version for version in failed if f"({version})" not in told] == []


def test_pip_installs_no_paddle_that_is_refused() -> None:
    """The least version of the range is one that was tried."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    least = re.match(r"paddlepaddle>=(\d+\.\d+),<4", project["optional-dependencies"]["cpu"][0])
    assert least is not None
    assert TRIED[0].startswith(f"{least[1]}.")
    assert [each["paddle"] for each in results() if "D2S104" in each["note"]] == []
