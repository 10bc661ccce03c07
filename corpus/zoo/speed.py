"""``python -m corpus.zoo.speed``: what calls of the models take, beside dygraph.

A model is called on the same arguments all the time, in evaluation mode without gradients, and in
training mode with a loss and its ``backward()``, which stay outside of what is converted. Calls of
both sides take turns, and the seconds are those of the processor, so that other work on the machine
counts as little as it can. What :mod:`corpus.zoo.judge` finds right is what is worth timing here.
"""

# ruff: noqa: E402 - what follows a setting must follow it

from __future__ import annotations

import os

os.environ.setdefault("GLOG_minloglevel", "3")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import datetime
import gc
import json
import math
import statistics
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

warnings.filterwarnings("ignore")

import paddle
import typer

from corpus.zoo.judge import CONVERTERS, Say, Side, arguments, said, seed
from corpus.zoo.model import Model, every_package
from corpus.zoo.runner import timed
from corpus.zoo.standins import missing
from corpus.zoo.training import objective

MODES = ("eval", "train")
FILE = Path(__file__).with_name("speed.json")
WARM = {"islands": (120, 6.0)}
"""So many calls, or so many seconds, before the rounds begin; the default times its first calls."""
ROUNDS, SECONDS = 40, 1.0
"""So many rounds at most, and no more after so many seconds."""
FEWEST = 5

Call = Callable[[], float]


def measure(model: Model, converter: str, say: Say) -> None:
    """Time ``model`` under ``converter`` beside dygraph, and ``say`` the figures of each mode."""
    for mode in MODES:
        if mode not in model.modes:
            continue
        say({"stage": mode, "begins": True})
        try:
            say({"stage": mode, "times": _figures(model, converter, mode)})
        except Exception as error:
            say({"stage": mode, "verdict": said(error)})


def _figures(model: Model, converter: str, mode: str) -> list[float]:
    """Milliseconds of dygraph, of the first, second and a warm call; warm beside dygraph."""
    by_key = False
    plain = _call(Side(model, None, by_key=by_key), mode)
    other = _call(Side(model, converter, by_key=by_key), mode)
    plain()
    first, second = other(), other()
    calls, seconds = WARM.get(converter, (3, 1.0))
    _repeat(lambda: (plain(), other()), calls, seconds)
    pairs: list[tuple[float, float]] = []
    gc.collect()
    gc.disable()
    _repeat(lambda: pairs.append(_pair(plain, other, len(pairs))), ROUNDS, SECONDS, FEWEST)
    gc.enable()
    ratio = statistics.median(warm / dygraph for dygraph, warm in pairs)
    dygraph, warm = (min(each) for each in zip(*pairs, strict=True))
    return [round(1000 * each, 3) for each in (dygraph, first, second, warm)] + [round(ratio, 3)]


def _pair(plain: Call, other: Call, index: int) -> tuple[float, float]:
    """A call of each, by turns this one and that one first."""
    if index % 2:
        warm = other()
        return plain(), warm
    dygraph = plain()
    return dygraph, other()


def _repeat(work: Callable[[], object], most: int, seconds: float, fewest: int = 1) -> None:
    end = time.perf_counter() + seconds
    for done in range(most):
        if done >= fewest and time.perf_counter() > end:
            return
        work()


def _call(side: Side, mode: str) -> Call:
    """A function that calls the model once and gives the seconds that this took."""
    layer = side.converted()
    getattr(layer, mode)()
    given = arguments(side.model, 0, mode)

    def evaluation() -> float:
        seed(0)
        with paddle.no_grad():
            start = time.process_time()
            layer(*given)
            return time.process_time() - start

    def training() -> float:
        seed(0)
        start = time.process_time()
        objective(layer(*given)).backward()
        seconds = time.process_time() - start
        for tensor in layer.parameters():
            tensor.clear_gradient(False)
        return seconds

    return evaluation if mode == "eval" else training


# -- the command ---------------------------------------------------------------------------------


def main(
    name: Annotated[list[str] | None, typer.Argument(help="Models; all if none is given.")] = None,
    package_: Annotated[
        list[str] | None, typer.Option("--package", help="Only models of this package.")
    ] = None,
    converter: Annotated[
        list[str] | None, typer.Option(help=f"Of {', '.join(CONVERTERS)}; the first if none is.")
    ] = None,
    json_: Annotated[
        Path | None, typer.Option("--json", help="Put the figures into this file as well.")
    ] = None,
    limit: Annotated[
        float, typer.Option(help="Seconds of a processor until a model is given up.")
    ] = 240.0,
    new: Annotated[bool, typer.Option("--new", help="Only models that the file has not.")] = False,
    show: Annotated[bool, typer.Option("--show", help="Only print what the file says.")] = False,
) -> None:
    """Time the models of the zoo beside dygraph."""
    record = read(json_)
    for each in () if show else every_package():
        if (package_ and each.name not in package_) or missing(each):
            continue
        models = [model.name for model in each.models() if not name or model.name in name]
        for way in converter or CONVERTERS[:1]:
            before = record.get(each.name, {})
            todo = [model for model in models if not new or way not in before.get(model, {})]
            for model, answer in timed(each, todo, way, limit=limit):
                print(f"{way:8s} {each.name:12s} {model:36s} {_line(answer)}", flush=True)
                answer["date"] = datetime.date.today().isoformat()
                record.setdefault(each.name, {}).setdefault(model, {})[way] = answer
                if json_:
                    json_.write_text(text_of(record), encoding="utf-8")
    for way in converter or CONVERTERS[:1]:
        for mode in MODES:
            print(f"{way} {mode}: {said_of(figures(record, way, mode))}")


def _line(answer: Mapping[str, Any]) -> str:
    return "  ".join(
        f"{mode} " + (f"{value[0]:.2f} ms x {value[4]:.2f}" if isinstance(value, list) else value)
        for mode, value in answer.items()
    )


def read(file: Path | None) -> dict[str, Any]:
    """The figures in ``file``, by package, model and converter."""
    if file is None or not file.exists():
        return {}
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def text_of(record: Mapping[str, Any]) -> str:
    """All figures, a line for each model and converter."""
    packages = []
    for of, models in sorted(record.items()):
        rows = [
            f"  {json.dumps(name)}: {json.dumps(ways)}" for name, ways in sorted(models.items())
        ]
        packages.append(f" {json.dumps(of)}: {{\n" + ",\n".join(rows) + "\n }")
    return "{\n" + ",\n".join(packages) + "\n}\n"


def figures(
    record: Mapping[str, Any], converter: str, mode: str, packages: Iterable[str] | None = None
) -> dict[str, Sequence[float]]:
    """The figures of the models that ran, by name."""
    return {
        model: ways[converter][mode]
        for of, models in record.items()
        if packages is None or of in packages
        for model, ways in models.items()
        if isinstance(ways.get(converter, {}).get(mode), list)
    }


def geomean(found: Mapping[str, Sequence[float]]) -> float:
    """The geometric mean of the times beside dygraph."""
    return math.exp(statistics.fmean(math.log(each[4]) for each in found.values()))


def slower(found: Mapping[str, Sequence[float]]) -> dict[str, Sequence[float]]:
    """Those of over a millisecond that take over 1.05 times as long as in dygraph."""
    return {
        name: each
        for name, each in sorted(found.items(), key=lambda item: -item[1][4])
        if each[4] > 1.05 and each[0] > 1
    }


def said_of(found: Mapping[str, Sequence[float]]) -> str:
    """A line for a person."""
    if not found:
        return "none"
    worse = ", ".join(f"{name} {each[4]:.2f}" for name, each in slower(found).items())
    return f"{len(found)} models, geometric mean {geomean(found):.3f}; slower: {worse or 'none'}"


if __name__ == "__main__":
    typer.run(main)
