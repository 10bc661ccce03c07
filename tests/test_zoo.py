"""The runner of the zoo, on models of Paddle itself; and the page that shows its verdicts."""

from __future__ import annotations

import json

import numpy as np
import paddle
import pytest

from corpus.language import LANGUAGES, Language, page_in
from corpus.zoo import page, speed
from corpus.zoo.compare import apart, difference, facts
from corpus.zoo.model import Model, every_package, package
from corpus.zoo.runner import run, summary


@pytest.mark.parametrize(
    "name",
    [
        "LeNet",
        pytest.param("squeezenet1_1", marks=pytest.mark.slow),
        pytest.param("shufflenet_v2_x0_25", marks=pytest.mark.slow),
    ],
)
def test_models_of_paddle_are_right(name: str) -> None:
    """``make zooquick``, a part of CI, runs all three."""
    (found,) = dict(run(package("vision"), [name], "d2s", jobs=1, limit=120)).values()
    assert found["verdict"] == "right bit by bit"
    assert set(found["stages"]) == {"eval", "gradients", "step", "saved"}


def test_names_of_models_are_unique() -> None:
    for each in every_package():
        names = [model.name for model in each.models()]
        assert len(set(names)) == len(names), each.name


@pytest.mark.parametrize("language", LANGUAGES)
def test_page_is_made_of_the_results(language: Language) -> None:
    record = json.loads(page.RESULTS.read_text(encoding="utf-8"))
    found = page_in(language, page.PAGE).read_text(encoding="utf-8")
    assert found == page.text_of(record, language), "run python -m corpus.zoo --page"


def test_results_are_of_models_that_there_are() -> None:
    record = json.loads(page.RESULTS.read_text(encoding="utf-8"))
    for each in every_package():
        known = {model.name for model in each.models()}
        assert set(record["packages"].get(each.name, {})) <= known


@pytest.mark.parametrize(
    ("mine", "said"),
    [
        ({"a": [1.0, 2.0]}, "right bit by bit"),
        ({"a": [1.0, 2.00001]}, "right within 5e-06"),
        ({"a": [1.0, 2.1]}, "WRONG result['a'] is 2.0999999046325684 at [1], should be 2.0"),
        ({"b": [1.0, 2.0]}, "WRONG result['b'] is there, should be result['a']"),
        ({"a": [[1.0, 2.0]]}, "WRONG result['a'] is Tensor float32 [1, 2], should be "),
    ],
)
def test_results_are_compared(mine: dict[str, list[float]], said: str) -> None:
    want = list(facts("result", {"a": paddle.to_tensor([1.0, 2.0])}))
    got = list(facts("result", {name: paddle.to_tensor(each) for name, each in mine.items()}))
    assert str(difference(want, got)).startswith(said)


def test_numbers_of_random_models_do_not_count() -> None:
    want = list(facts("result", paddle.to_tensor([1.0, 2.0])))
    other = list(facts("result", paddle.to_tensor([3.0, 4.0])))
    assert difference(want, other).text is not None
    assert difference(want, other, numbers=False).text is None


def test_missing_gradients_are_zeros() -> None:
    some = {"a": np.ones(2, "float32"), "b": np.zeros(2, "float32")}
    assert apart(some, {"a": np.ones(2, "float32"), "b": None}, "gradient of", 1.0).text is None
    text = apart(some, {"a": None, "b": None}, "gradient of", 1.0).text
    assert str(text).startswith("gradient of a is 0.0")


def test_verdict_of_a_model_is_its_worst_stage() -> None:
    stages = {
        "eval": {"verdict": "right bit by bit"},
        "gradients": {"verdict": "refused D2S205 text"},
        "step": {"verdict": "WRONG loss"},
    }
    assert summary(stages)["verdict"] == "WRONG"
    del stages["step"]
    assert summary(stages)["verdict"] == "refused D2S205"
    assert summary({"eval": {"verdict": "dygraph failed X"}})["verdict"] == "left out"


def test_page_says_of_how_many_not_all_was_run() -> None:
    def verdict(*stages: str) -> dict[str, object]:
        return {"d2s": {"verdict": "right bit by bit", "stages": dict.fromkeys(stages, "right")}}

    found = {"vision": {"a": verdict("eval", "gradients", "step", "saved"), "b": verdict("eval")}}
    text = page._stages(found, "d2s", "en")
    assert text == "Of 1 of these models only the evaluation was run.\n"
    assert "1" in page._stages(found, "d2s", "zh")
    assert page._stages(found, "d2s", "zh") != text
    del found["vision"]["b"]
    assert page._stages(found, "d2s", "en") == ""


class _Looping(paddle.nn.Layer):
    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        while True:
            pass


def test_what_works_for_longer_than_the_limit_is_a_verdict() -> None:
    from corpus.zoo.runner import _one

    model = Model("looping", _Looping, lambda: (paddle.ones([2]),))
    assert _one(model, "d2s", 1.0, ["eval"])["verdict"] == "hang"


class _Ending(paddle.nn.Layer):
    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        import os

        os._exit(3)


def test_what_ends_its_process_is_a_verdict() -> None:
    from corpus.zoo.runner import _one

    model = Model("ending", _Ending, lambda: (paddle.ones([2]),))
    assert _one(model, "d2s", 60.0)["verdict"] == "crash"


def test_calls_are_timed_beside_dygraph() -> None:
    found = dict(speed.timed(package("vision"), ["LeNet"], "d2s", limit=120))
    for mode in speed.MODES:
        dygraph, first, _, warm, ratio = found["LeNet"][mode]
        assert first > warm > 0
        assert min(dygraph, ratio) > 0


def test_slower_models_are_those_above_a_millisecond() -> None:
    record = {
        "vision": {
            "small": {"d2s": {"eval": [0.5, 9.0, 1.0, 0.9, 1.8]}},
            "slow": {"d2s": {"eval": [2.0, 9.0, 3.0, 4.0, 2.0]}},
            "fast": {"d2s": {"eval": [2.0, 9.0, 3.0, 1.0, 0.5]}},
            "refused": {"d2s": {"eval": "refused D2S208"}},
        }
    }
    found = speed.figures(record, "d2s", "eval")
    assert set(found) == {"small", "slow", "fast"}
    assert list(speed.slower(found)) == ["slow"]
    assert speed.geomean({name: found[name] for name in ("slow", "fast")}) == pytest.approx(1.0)
    assert speed.said_of(found) == "3 models, geometric mean 1.216; slower: slow 2.00"
