"""The page on versions says what the matrix has found, and the project promises no more."""

from __future__ import annotations

import re
import sys

import pytest

from corpus.language import LANGUAGES, Language, page_in
from d2s.paddle_bridge.versions import TRIED
from tests.matrix.page import PAGE, ROOT, rendered, results

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_is_up_to_date(language: Language) -> None:
    text = page_in(language, PAGE).read_text("utf-8")
    assert rendered(text, results(), language) == text, "run python -m tests.matrix"


def test_what_is_called_tried_has_run() -> None:
    ran = {result["paddle"] for result in results() if result["passed"]}
    assert ran == set(TRIED)


def test_why_what_failed_fails_is_told() -> None:
    """Nothing fails on the newest Paddle; of the rest each test has its cause on the page."""
    _, told = PAGE.read_text().split("Why the others fail:")
    failed = {name.partition("[")[0] for each in results() for name in each["failed"]}
    assert [name for name in sorted(failed) if f"`{name}`" not in told] == []
    assert [each for each in results() if each["failed"] and each["paddle"] == TRIED[-1]] == []
    assert set(re.findall(r"`(test_\w+)`", told)) == failed


def test_pip_installs_no_paddle_that_is_refused() -> None:
    """The least version of the range is the oldest one that was tried, for conda, too."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    recipe = (ROOT / "conda" / "recipe.yaml").read_text()
    for name, extra in (("paddlepaddle", "cpu"), ("paddlepaddle-gpu", "gpu")):
        assert extras[extra] == [f"{name}>={TRIED[0]},<4"]
        assert f"- {name} >={TRIED[0]},<4" in recipe
    assert [each["paddle"] for each in results() if "D2S104" in each["note"]] == []
