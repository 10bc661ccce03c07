"""One model under one converter, stage by stage, beside dygraph.

The stages are:

- ``eval``: three calls in evaluation mode, without gradients;
- ``gradients``: two calls in training mode, each with a loss and its ``backward()``;
- ``step``: three whole training steps: forward, loss, ``backward()``, ``step()``, ``clear_grad()``.
  d2s converts the function with all of it; Paddle's converters take the layer alone;
- ``saved``: what is loaded from the file that was saved, in evaluation mode; only one program is.

Dropout is switched off: Paddle draws other numbers in a program than in dygraph. Where a model is
random nevertheless, only structures, dtypes and shapes are compared.
"""

from __future__ import annotations

import random
import re
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import paddle
from paddle.static import InputSpec

from corpus.facts import array_of, children
from corpus.zoo.compare import GRADIENTS, Distance, Fact, apart, difference, facts
from corpus.zoo.model import Model
from corpus.zoo.standins import ROOT
from corpus.zoo.training import objective, training_step

HERE = ROOT.parents[1]
SEED = 7
STAGES = ("eval", "gradients", "step", "saved")
CALLS = {"eval": 3, "gradients": 2, "step": 3, "saved": 1}
LEARNING_RATE = 1e-3
CONVERTERS = ("d2s", "islands", "ast", "sot")
"""d2s as one program and by default (several, with Python between them), and Paddle's two."""

OURS = {"d2s": True, "islands": None}
"""The ``full_graph`` of those that are d2s."""

Say = Callable[[dict[str, Any]], None]
State = dict[str, np.ndarray]


@dataclass
class Seen:
    """Everything seen of one call."""

    result: list[Fact]
    arrays: dict[str, np.ndarray | None] = field(default_factory=dict)
    what: str = ""
    seconds: float = 0.0


class Side:
    """A model as one side runs it: plain, or converted."""

    def __init__(self, model: Model, converter: str | None, *, by_key: bool) -> None:
        self.model = model
        self.converter = converter
        self.by_key = by_key  # Paddle puts the tensors of a dict into a file in the order of keys
        self.start: State | None = None
        self.random: dict[str, bool] = {}
        self._converted: Any = None
        self._plain: Any = None

    def plain(self) -> Any:
        """The layer as it was built, with the state that it had then."""
        if self._plain is None:
            self._plain = self._built()
        return self._restored(self._plain)

    def converted(self) -> Any:
        """The layer with its ``forward`` converted."""
        if self.converter is None:
            return self.plain()
        if self._converted is None:
            self._converted = _convert(self._built(), self.converter)
        return self._restored(self._converted)

    def with_spec(self, spec: list[Any]) -> Any:
        """Another one, converted for arguments that are known."""
        return self._restored(_convert(self._built(), str(self.converter), input_spec=spec))

    def renew(self) -> None:
        """Go on with layers that have not been called: numbers of Python are not restored."""
        self._plain = self._converted = None

    def _built(self) -> Any:
        seed(SEED)
        with paddle.utils.unique_name.guard():  # some name their parameters, and are built again
            layer = self.model.build()
        quiet(layer)
        return layer

    def _restored(self, layer: Any) -> Any:
        if self.start is None:
            self.start = state(layer)
        with paddle.no_grad():
            for name, tensor in named_tensors(layer):
                if name in self.start and tuple(tensor.shape) == self.start[name].shape:
                    tensor.set_value(paddle.to_tensor(self.start[name], dtype=tensor.dtype))
                if tensor.grad is not None:
                    tensor.clear_gradient(False)
        return layer


def seed(number: int) -> None:
    """Begin every source of random numbers anew."""
    paddle.seed(number)
    random.seed(number)
    np.random.seed(number)  # what the packages draw from


def named_tensors(layer: Any) -> Iterator[tuple[str, paddle.Tensor]]:
    """Parameters and buffers; some buffers have the names of tensors, which are new each time."""
    yield from layer.named_parameters()
    for index, buffer in enumerate(layer.buffers()):
        if isinstance(buffer, paddle.Tensor):
            yield f"buffer {index}", buffer


def state(layer: Any) -> State:
    """A copy of all parameters and buffers."""
    return {name: array_of(tensor) for name, tensor in named_tensors(layer)}


def quiet(layer: Any) -> None:
    """Set every probability of dropping something to zero."""
    for part in layer.sublayers(include_self=True):
        for name, value in list(vars(part).items()):
            dropping = re.search(r"drop", name) or ("Drop" in type(part).__name__ and name == "p")
            if dropping and isinstance(value, float):
                setattr(part, name, 0.0)


def _convert(layer: Any, converter: str, **options: Any) -> Any:
    if converter in OURS:
        import d2s  # only here: it repairs parts of Paddle, which the other converters must not see

        return d2s.to_static(layer, full_graph=OURS[converter], **options)
    return paddle.jit.to_static(layer, full_graph=converter == "ast", **options)


# -- calls ---------------------------------------------------------------------------------------


def arguments(model: Model, index: int, mode: str) -> tuple[Any, ...]:
    """The arguments of call ``index``."""
    seed(SEED + index)
    given = model.inputs()
    if mode == "eval" and model.labels:
        (only,) = given
        return ({key: value for key, value in only.items() if key not in model.labels},)
    return given


def mode_of(stage: str) -> str:
    """Whether a stage trains."""
    return "train" if stage in ("gradients", "step") else "eval"


def calls(side: Side, stage: str, folder: Path) -> Iterator[Seen]:
    """What the calls of a stage show."""
    model = side.model
    run = {"eval": _evaluation, "gradients": _gradients, "step": _steps, "saved": _saved}[stage]
    runner = run(side, folder)
    for index in range(CALLS[stage]):
        given = arguments(model, index, mode_of(stage))
        seed(SEED + index)
        start = time.perf_counter()
        seen = runner(given)
        if not seen.seconds:
            seen.seconds = time.perf_counter() - start
        yield seen


def _evaluation(side: Side, _: Path) -> Callable[[tuple[Any, ...]], Seen]:
    layer = side.converted()
    layer.eval()

    def call(given: tuple[Any, ...]) -> Seen:
        with paddle.no_grad():
            start = time.perf_counter()
            result = layer(*given)
            seconds = time.perf_counter() - start
        return Seen(list(facts("result", result)), seconds=seconds)

    return call


def _gradients(side: Side, _: Path) -> Callable[[tuple[Any, ...]], Seen]:
    layer = side.converted()
    layer.train()

    def call(given: tuple[Any, ...]) -> Seen:
        start = time.perf_counter()
        result = layer(*given)
        loss = objective(result)
        loss.backward()
        seconds = time.perf_counter() - start
        found = {
            name: None if tensor.grad is None else array_of(tensor.grad)
            for name, tensor in layer.named_parameters()
        }
        for tensor in layer.parameters():
            if tensor.grad is not None:
                tensor.clear_gradient(False)
        observed = [*facts("result", result), *facts("buffers", list(layer.buffers()))]
        return Seen(observed, found, "gradient of", seconds)

    return call


def _steps(side: Side, _: Path) -> Callable[[tuple[Any, ...]], Seen]:
    ours = side.converter in OURS
    side.renew()
    layer = side.plain() if ours or side.converter is None else side.converted()
    layer.train()
    trained = [each for each in layer.parameters() if not each.stop_gradient]
    optimizer = paddle.optimizer.Momentum(LEARNING_RATE, parameters=trained)
    step = training_step(layer, optimizer)
    if ours:
        import d2s

        step = d2s.to_static(step, full_graph=OURS[str(side.converter)])

    def call(given: tuple[Any, ...]) -> Seen:
        start = time.perf_counter()
        loss = step(*given)
        seconds = time.perf_counter() - start
        return Seen(list(facts("loss", loss)), dict(state(layer)), "after the step,", seconds)

    return call


def _saved(side: Side, folder: Path) -> Callable[[tuple[Any, ...]], Seen]:
    if side.converter is None:
        again = side.plain()
    else:
        path = str(folder / "model")
        layer = side.with_spec([_spec(each) for each in arguments(side.model, 0, "eval")])
        layer.eval()
        if side.converter == "d2s":
            import d2s

            d2s.save(layer, path)
            again = d2s.load(path)
        else:
            paddle.jit.save(layer, path)
            again = paddle.jit.load(path)
    again.eval()

    def call(given: tuple[Any, ...]) -> Seen:
        with paddle.no_grad():
            result = again(*_tensors(given, side.by_key)) if side.converter else again(*given)
        found = _tensors(result, side.by_key)
        return Seen([each for i, out in enumerate(found) for each in facts(f"output {i}", out)])

    return call


def _spec(value: Any) -> Any:
    if isinstance(value, paddle.Tensor):
        return InputSpec(list(value.shape), str(value.dtype).removeprefix("paddle."))
    if isinstance(value, dict):
        return {key: _spec(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_spec(part) for part in value)
    return value


def _tensors(value: Any, by_key: bool) -> list[paddle.Tensor]:
    """The tensors in ``value``: a file holds no containers, objects, layers and Python values."""
    if isinstance(value, paddle.Tensor):
        return [value]
    if isinstance(value, paddle.nn.Layer):
        return []
    if isinstance(value, dict):
        value = [value[key] for key in (sorted(value) if by_key else value)]
    parts = children(value)
    if parts is None and not isinstance(value, type):
        parts = list(getattr(value, "__dict__", {}).items())
    return [leaf for _, part in parts or () for leaf in _tensors(part, by_key)]


# -- verdicts ------------------------------------------------------------------------------------


def judge(model: Model, converter: str, say: Say, stages: Sequence[str] = STAGES) -> None:
    """Run ``model`` and ``say`` the verdict on each stage, as soon as it is known."""
    by_key = converter not in OURS
    plain, other = Side(model, None, by_key=by_key), Side(model, converter, by_key=by_key)
    with tempfile.TemporaryDirectory() as name:
        for stage in stages:
            mode = mode_of(stage)
            if mode not in model.modes or (stage == "saved" and converter == "islands"):
                continue
            say({"stage": stage, "begins": True})
            say({"stage": stage, **_stage(plain, other, stage, mode, Path(name))})


def _stage(plain: Side, other: Side, stage: str, mode: str, folder: Path) -> dict[str, Any]:
    try:
        random_ = _random(plain, mode)
        expected = list(calls(plain, stage, folder))
        if other.start is None:
            other.start = plain.start
    except Exception as error:
        return {"verdict": f"dygraph {said(error)}", "trace": trace(error)}
    times = {"dygraph": min(each.seconds for each in expected)}
    total = Distance()
    seconds = []
    try:
        for index, (want, got) in enumerate(
            zip(expected, calls(other, stage, folder), strict=True)
        ):
            seconds.append(got.seconds)
            times |= {"first": seconds[0], "warm": min(seconds[1:] or seconds)}
            far = difference(want.result, got.result, numbers=not random_)
            if not random_:
                times_ = GRADIENTS if stage in ("gradients", "step") else 1.0
                far = far.and_(apart(want.arrays, got.arrays, want.what, times_))
            if far.text:
                return {"verdict": f"{far} (call {index + 1})", **times}
            total = total.and_(far)
    except Exception as error:
        return {"verdict": said(error), "trace": trace(error), **times}
    verdict = "right structures, random numbers" if random_ else str(total)
    return {"verdict": verdict, **times}


def _random(plain: Side, mode: str) -> bool:
    """Whether dygraph gives something else under another seed."""
    if mode in plain.random:
        return plain.random[mode]
    given = arguments(plain.model, 0, mode)
    another = Side(plain.model, None, by_key=plain.by_key)  # a call may leave numbers of Python
    results = []
    for number in (1, 2):
        layer = another.plain()
        getattr(layer, mode)()
        seed(number)
        with paddle.no_grad():
            results.append(list(facts("result", layer(*given))))
    plain.random[mode] = difference(*results).text is not None
    return plain.random[mode]


def said(error: BaseException) -> str:
    """``refused CODE`` or ``failed``, with the message and the line that it came from."""
    code = getattr(error, "code", None)
    text = " ".join(str(error).split()).replace(f"{ROOT}/", "").replace(f"{HERE}/", "")
    place = _place(error)
    if isinstance(code, str) and code.startswith("D2S"):
        return f"refused {code} {text[:400]}{place}"
    return f"failed {type(error).__name__}: {_headline(str(error))[:300]}{place}"


def _headline(text: str) -> str:
    quoted = re.findall(r"^\s*[\w.]+(?:Error|Exception): (.*)$", text, re.MULTILINE)
    return (quoted[-1] if quoted else " ".join(text.split())) or ""


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [each for each in frames if "/.cache/zoo/" in each.filename]
    if not theirs:
        return ""
    last = theirs[-1]
    name = last.filename.split("/.cache/zoo/")[1]
    return f" [{name}:{last.lineno}: {last.line}]"


def trace(error: BaseException) -> str:
    """The end of the traceback."""
    return "".join(traceback.format_exception(error))[-6000:]
