"""The runner of decoding loops, and the page that shows its verdicts."""

from __future__ import annotations

import json

import paddle
import pytest

from corpus.generation import page
from corpus.generation.judge import judge, summary
from corpus.generation.model import Loop, of_any_prompt, prompts
from corpus.language import LANGUAGES, Language, page_in
from tests.processes import python


@pytest.mark.parametrize("language", LANGUAGES)
def test_page_is_made_of_the_results(language: Language) -> None:
    made = page.text_of(page.read(page.FIRST), page.read(page.RESULTS), language)
    found = page_in(language, page.PAGE).read_text(encoding="utf-8")
    assert found == made, "run python -m corpus.generation --page"


def test_verdict_of_a_loop() -> None:
    right = {"verdict": "right bit by bit", "programs": 1, "last": 1}
    found = {"dygraph": {"verdict": "right"}, "one": {**right, "programs": 3}, "lasts": right}
    assert summary(found)["verdict"] == "lasts"
    found["saved"] = {"verdict": "refused D2S401 text"}
    assert summary(found)["verdict"] == "lasts, not saved"
    found["lasts"] = {"verdict": "refused D2S207 text"}
    assert summary(found)["verdict"] == "one program"
    found["one"] = {"verdict": "refused D2S202 text"}
    assert summary(found)["verdict"] == "refused D2S202"
    found["default"] = right
    assert summary(found)["verdict"] == "breaks"
    found["saved"] = {"verdict": "WRONG output 0 is apart"}
    assert summary(found)["verdict"] == "WRONG"
    assert summary({"dygraph": {"verdict": "dygraph failed X"}})["verdict"] == "left out"


def _counting(tokens: paddle.Tensor) -> tuple[paddle.Tensor, paddle.Tensor]:
    score = tokens.sum(axis=1)
    while (score < 2000).any():
        tokens = paddle.concat([tokens, tokens[:, -1:] + 1], axis=1)
        score = score + tokens[:, -1]
    return tokens, score


def test_a_loop_is_run_saved_and_compared() -> None:
    """In a process of its own, as the runner judges each loop."""
    made = python("-W", "ignore", "-m", "tests.test_generation_loops")
    assert made.returncode == 0, made.stderr
    assert summary(json.loads(made.stdout.splitlines()[-1]))["verdict"] == "lasts", made.stdout


def _judged() -> dict[str, dict[str, object]]:
    said: dict[str, dict[str, object]] = {}

    def say(answer: dict[str, object]) -> None:
        if "begins" not in answer:
            said[str(answer["stage"])] = answer

    judge(Loop("counting", lambda: _counting, prompts, of_any_prompt()), say)
    return said


if __name__ == "__main__":
    print(json.dumps(_judged(), default=str))
