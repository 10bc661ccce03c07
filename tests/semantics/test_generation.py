"""Decoding loops as libraries write them: arguments in a dict, caches that grow, samplers.

What such a loop is made of is in the tests of each rule; here it stands together, one program for
prompts of any length.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import paddle
import pytest
from paddle.static import InputSpec

import d2s
from tests.helpers import function_of

MODEL = """
from collections import OrderedDict
from dataclasses import dataclass, fields
from typing import Any

class ModelOutput(OrderedDict):
    def __post_init__(self):
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None:
                self[field.name] = value

    def __getitem__(self, key):
        if isinstance(key, str):
            return dict(self.items())[key]
        return self.to_tuple()[key]

    def to_tuple(self):
        return tuple(self[key] for key in self.keys())

@dataclass
class Output(ModelOutput):
    logits: Any = None
    past_key_values: Any = None

class MinLength:
    def __init__(self, length, end):
        self.length, self.end = length, end

    def __call__(self, ids, logits):
        if ids.shape[-1] < self.length:
            logits = logits - 1e9 * paddle.nn.functional.one_hot(paddle.to_tensor(self.end), 7)
        return logits

class MaxLength:
    def __init__(self, length):
        self.length = length

    def __call__(self, ids):
        return ids.shape[-1] >= self.length

def model(ids, past_key_values=None, use_cache=True, as_output=False):
    hidden = paddle.cast(ids, "float32") * 0.37
    caches = []
    for layer in range(2):
        keys = hidden + layer
        if past_key_values is not None:
            keys = paddle.concat([past_key_values[layer][0], keys], axis=1)
        if list(keys.shape)[0] != ids.shape[0]:
            raise ValueError(f"should be {(ids.shape[0], keys.shape[1])}, but is {keys.shape}")
        hidden = hidden + paddle.sin(keys.sum(axis=1, keepdim=True) * 1.3 + layer)
        if use_cache:
            caches.append((keys, keys * 2))
    logits = paddle.cos(hidden.unsqueeze(-1) * paddle.arange(1, 8, dtype="float32")) * 3
    caches = tuple(caches) if use_cache else None
    if as_output:
        return Output(logits=logits, past_key_values=caches)
    return tuple(each for each in [logits, caches] if each is not None)

def inputs_of(ids, past_key_values=None, **kwargs):
    if past_key_values is not None:
        ids = ids[:, -1:]
    return {"ids": ids, "past_key_values": past_key_values, **kwargs}
"""

GREEDY = """
def generate(ids, **kwargs):
    start = ids.shape[-1]
    processors, criteria = [MinLength(start + 2, 3)], [MaxLength(start + 7)]
    kwargs["use_cache"] = kwargs.get("use_cache", True)
    unfinished = paddle.full([ids.shape[0], 1], True, dtype="bool")
    scores = paddle.zeros([ids.shape[0], 1])
    length, done = start, False
    while True:
        outputs = model(**inputs_of(ids, **kwargs))
        logits = outputs.logits if isinstance(outputs, ModelOutput) else outputs[0]
        logits = logits[:, -1, :]
        for processor in processors:
            logits = processor(ids, logits)
        new = NEXT
        new = paddle.where(unfinished, new, paddle.full_like(new, 0))
        score = paddle.index_sample(paddle.log(paddle.nn.functional.softmax(logits)), new)
        scores = paddle.where(unfinished, scores + score / (length - start + 1), scores)
        length += 1
        ids = paddle.concat([ids, new], axis=1)
        if any(criterion(ids) for criterion in criteria):
            done = True
        unfinished = paddle.logical_and(unfinished, new != 3)
        if not paddle.any(unfinished):
            done = True
        if done:
            break
        if isinstance(outputs, tuple) and len(outputs) > 1:
            kwargs["past_key_values"] = outputs[1]
        if isinstance(outputs, ModelOutput) and "past_key_values" in outputs:
            kwargs["past_key_values"] = outputs.past_key_values
    return ids[:, start:], scores
"""
NEXT = {
    "greedy": "paddle.argmax(logits, axis=-1).unsqueeze(-1)",
    "sampling": "paddle.multinomial(paddle.nn.functional.softmax(logits / 1.5))",
    "top-k": "paddle.multinomial(best_of(paddle.nn.functional.softmax(logits), 3))",
}
BEST = """
def best_of(probs, k):
    best, _ = paddle.topk(probs, k=paddle.minimum(paddle.to_tensor(k), paddle.to_tensor(7)))
    return paddle.where(probs >= best[:, -1:], probs, paddle.full_like(probs, 0.0))
"""
OPTIONS = ["", "use_cache=False", "as_output=True", "past_key_values=None"]


def _generating(choice: str, options: str = "") -> Any:
    text = MODEL + BEST + GREEDY.replace("NEXT", NEXT[choice])
    return function_of(text + f"\ndef f(ids):\n    return generate(ids, {options})\n")


def _prompts() -> list[paddle.Tensor]:
    paddle.seed(3)
    return [paddle.randint(0, 7, shape) for shape in ([2, 4], [2, 4], [3, 4], [3, 6], [1, 3])]


@pytest.mark.parametrize("options", OPTIONS)
def test_greedy_search_is_one_program_for_any_prompt(options: str) -> None:
    """C1, D2: the first trip has no cache; the dict of arguments has one from then on."""
    f = _generating("greedy", options)
    g = d2s.to_static(f, full_graph=True, input_spec=[InputSpec([None, None], "int64")])
    lengths = set()
    for prompt in _prompts():
        (tokens, scores), (mine, my_scores) = f(prompt), g(prompt)
        np.testing.assert_array_equal(mine.numpy(), tokens.numpy())
        np.testing.assert_allclose(my_scores.numpy(), scores.numpy(), rtol=1e-5)
        lengths.add(tokens.shape[1])
    assert len(g.programs) == 1
    assert len(lengths) > 1  # some ended before the others


def _counts(function: Any, prompt: paddle.Tensor, seeds: range) -> np.ndarray:
    """How often each token was drawn, at the first and at the second place."""
    found = np.zeros([2, 7])
    for seed in seeds:
        paddle.seed(seed)
        tokens = function(prompt)[0].numpy()
        for place in range(2):
            found[place] += np.bincount(tokens[:, place], minlength=7)
    return found


@pytest.mark.parametrize("choice", ["sampling", "top-k"])
def test_samples_follow_the_seed_and_the_distribution(choice: str, tmp_path: Path) -> None:
    """A run draws anew, the same under the same seed, and as dygraph does; so does a saved one."""
    f = _generating(choice)
    spec = [InputSpec([None, None], "int64")]
    g = d2s.to_static(f, full_graph=True, input_spec=spec)
    d2s.save(g, str(tmp_path / "loop"))
    again = paddle.jit.load(str(tmp_path / "loop"))
    prompt = paddle.tile(paddle.to_tensor([[1, 4, 2]]), [400, 1])
    want = _counts(f, prompt, range(5))
    for each in (g, again):
        paddle.seed(5)
        one, other = each(prompt)[0].numpy(), each(prompt)[0].numpy()
        assert one.shape != other.shape or (one != other).any()
        paddle.seed(5)
        np.testing.assert_array_equal(each(prompt)[0].numpy(), one)
        got = _counts(each, prompt, range(10, 15))
        for place in range(2):
            both = want[place] + got[place]
            assert ((want[place] == 0) == (got[place] == 0)).all() or both.min() < 20
            far = ((want[place] - got[place]) ** 2 / np.maximum(both, 1)).sum()
            assert far < 27.9, (choice, place, want, got)  # chi-square, 6 degrees: p = 1e-4


def test_a_list_of_names_is_left_behind_by_each_trip() -> None:
    """C2: what a trip calls its tensors is text, and the same when a loop is captured again."""
    f = function_of("""
    class Decoder:
        def __init__(self):
            self.names = []

        def __call__(self, x):
            self.names = []
            for _ in range(2):
                x = x * 0.5
                self.names.append(x.name)
            return x

    def f(x):
        decoder = Decoder()
        length = 0
        while True:
            x = decoder(x)
            length += 1
            if length >= 5:
                break
            if not paddle.any(x > 0.1):
                break
        return x, length, len(decoder.names)
    """)
    g = d2s.to_static(f, full_graph=True)
    for start in (0.01, 1.0, 50.0):
        x = paddle.to_tensor([start, start / 2])
        for mine, want in zip(g(x), f(x), strict=True):
            assert np.array_equal(mine, want)


def test_text_of_an_open_shape() -> None:
    """S1: a shape is shown as in dygraph, in a message and in an exception."""
    f = function_of("""
    def f(x):
        while x.shape[1] < 5:
            x = paddle.concat([x, x[:, :1]], 1)
        shown = f"now {x.shape} and {[*x.shape]}"
        if x.sum() > 100:
            raise ValueError(f"{shown}: {x.shape}")
        return x, shown
    """)
    g = d2s.to_static(f, full_graph=True, input_spec=[InputSpec([None, None])])
    for shape in ([2, 3], [3, 2], [2, 4]):
        x = paddle.ones(shape)
        assert str(g(x)[1]) == f(x)[1]
        with pytest.raises(ValueError, match="now") as mine:
            g(x * 1000)
        with pytest.raises(ValueError, match="now") as want:
            f(x * 1000)
        assert str(mine.value) == str(want.value)


class _Looked(paddle.nn.Layer):
    """Asks for an attribute whose name it computes; Paddle notes the first call of such a layer."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = 2.0

    def _build_once(self, *arguments: Any, **options: Any) -> None:
        pass

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        return x + 1

    def generate(self, x: paddle.Tensor) -> paddle.Tensor:
        return self(x) * getattr(self, "sca" + "le")

    def once(self, x: paddle.Tensor) -> paddle.Tensor:
        if self._built:
            return self.generate(x)
        self._built = True
        return x


def test_the_first_call_of_a_layer_is_paddles_business() -> None:
    """G2: a program stays good when Paddle notes that a layer was called; not if the user asks."""
    layer = _Looked()
    x = paddle.ones([2])
    f = d2s.to_static(layer.generate, full_graph=True)
    assert [f(x).tolist(), f(x).tolist()] == [[4.0, 4.0]] * 2
    assert len(f.programs) == 1
    layer.scale = 3.0
    assert f(x).tolist() == [6.0, 6.0]
    other = d2s.to_static(_Looked().once, full_graph=True)
    assert [other(x).tolist(), other(x).tolist()] == [[1.0, 1.0], [4.0, 4.0]]


COPIES = {
    "a deep copy": "copy.deepcopy(self.settings)",
    "a copy": "copy.copy(self.settings)",
    "a part of one": "copy.deepcopy({'a': [self.settings]})['a'][0]",
    "with a memo": "copy.deepcopy(self.settings, {})",
}


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES.keys())
def test_a_copy_of_an_object_belongs_to_the_call(copied: str) -> None:
    """F1, G2: what a call sets in its copy is no state; what it reads of the original is."""
    f = function_of(
        f"""
    import copy

    class Settings:
        def __init__(self):
            self.times, self.more = 1, 2

        def update(self, **given):
            for name, value in given.items():
                setattr(self, name, value)

    class Model:
        def __init__(self):
            self.settings = Settings()

        def generate(self, x, **given):
            settings = {copied}
            settings.update(**given)
            settings.last = x
            return settings.last * settings.times + settings.more

    model = Model()

    def f(x):
        return model.generate(x, times=5), model
    """,
        "f",
    )
    g = d2s.to_static(f, full_graph=True)
    x = paddle.ones([2])
    for more in (2, 2, 7):
        g(x)[1].settings.more = more
        assert g(x)[0].tolist() == f(x)[0].tolist()
    assert g(x)[1].settings.times == 1
    assert len(g.programs) <= 2  # at most another one for the number that the original holds


DEEP = """
def decode(x, layers, n):
    caches = [(x, x * 0.5) for _ in range(layers)]
    for step in range(n):
        fresh = []
        for k, v in caches:
            fresh.append((paddle.concat([k, k[:, -1:] * 0.5], 1), paddle.concat([v, x[:, :1]], 1)))
        caches = fresh
        if caches[-1][0].sum() > 40.0:
            break
    return [k.sum() + v.sum() for k, v in caches], caches[0][0].shape[1]
"""


@pytest.mark.parametrize("layers", [2, 9])
def test_all_growing_caches_are_widened_in_one_capture(layers: int) -> None:
    """C3: eighteen dimensions that a trip opens take no more captures of the loop than four."""
    function = function_of(DEEP, "decode")
    static = d2s.to_static(function, full_graph=True)
    for scale in (1.0, 3.0):
        x = paddle.full([2, 2], scale)
        got, want = static(x, layers, 40), function(x, layers, 40)
        assert [float(each) for each in got[0]] == [float(each) for each in want[0]]
        assert got[1] == want[1]
    assert len(static.programs) == 1
    operations = static.main_program.global_block().ops
    names = [each.name() for each in operations]
    assert names.count("pd_op.while") == 1
    assert names.count("pd_op.concat") <= 4 * layers  # unrolled, there are two in each trip


ROWS = """
def extend(x, n):
    rows = [[x] for _ in range(3)]
    for _ in range(n):
        kept = []
        for row in rows:
            if row[-1].sum() < 5.0:
                kept.append((row + [row[-1] * 2], 1.0))
        rows = [row for row, _ in kept]
    return len(rows)
"""


def test_lists_as_rows_of_a_list_of_the_run() -> None:
    """D1: lists that the run decides are the rows of another one.

    The loop was captured again with tensors of the capture that had been dropped.
    """
    function = function_of(ROWS, "extend")
    for scale in (1.0, 0.25, 4.0):
        x = paddle.full([2], scale)
        assert d2s.to_static(function, full_graph=True)(x, 4) == function(x, 4)
