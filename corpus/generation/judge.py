"""One decoding loop, stage by stage, beside dygraph.

The stages are:

- ``lasts``: as one program (``full_graph=True``) that serves every call, through one
  ``InputSpec``; where that is not to be had, through a narrower one, which serves the calls that
  it fits; and with it ``saved``: that one, saved, and run in Paddle Inference by a process without
  d2s;
- ``one``: as one program for each kind of call, as d2s finds them;
- ``default``: as ``@d2s.to_static`` runs it, with breaks if need be.

A loop that lasts is not run the other ways.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import paddle

from corpus.facts import Scalar, array_of, children
from corpus.generation.model import Arguments, Loop
from corpus.zoo.compare import TOLERANCE, Distance, Fact, deviation, difference, facts
from corpus.zoo.judge import HERE, SEED, said, seed, trace

STAGES = ("lasts", "one", "default")

Say = Callable[[dict[str, Any]], None]
Answer = dict[str, Any]


def judge(loop: Loop, say: Say, stages: Sequence[str] = STAGES) -> None:
    """Run ``loop`` and ``say`` the verdict on each stage, as soon as it is known."""
    say({"stage": "dygraph", "begins": True})
    try:
        plain = loop.make()
        calls = loop.calls()
        for each in calls[:1]:
            _called(plain, each)
        start = time.perf_counter()
        expected = [_called(plain, each) for each in calls]
        seconds = (time.perf_counter() - start) / len(calls)
    except Exception as error:
        say({"stage": "dygraph", "verdict": f"dygraph {said(error)}", "trace": trace(error)})
        return
    say({"stage": "dygraph", "verdict": "right", "warm": seconds})
    for stage in stages:
        say({"stage": stage, "begins": True})
        answer = STAGE[stage](loop, expected)
        saved = answer.pop("saved", None)
        say({"stage": stage, **answer})
        if saved is not None:
            say({"stage": "saved", **saved})
        if stage == "lasts" and answer["verdict"].startswith("right") and answer["last"] == 1:
            break


def _called(function: Callable[..., Any], given: Arguments) -> list[Fact]:
    seed(SEED)
    with paddle.no_grad():
        return list(facts("result", function(*given)))


def _convert(loop: Loop, **options: Any) -> Any:
    import d2s  # dygraph runs first, without what it repairs

    return d2s.to_static(loop.make(), **options)


def _compared(function: Any, calls: list[Arguments], expected: list[list[Fact]]) -> Answer:
    """The verdict on calls, with the number of programs and the times."""
    total, seconds = Distance(), []
    try:
        for index, (given, want) in enumerate(zip(calls, expected, strict=True)):
            start = time.perf_counter()
            got = _called(function, given)
            seconds.append(time.perf_counter() - start)
            far = difference(want, got)
            if far.text:
                return {"verdict": f"{far} (call {index + 1})"}
            total = total.and_(far)
    except Exception as error:
        return {"verdict": said(error), "trace": trace(error)}
    for given in calls:  # programs of states that the first calls leave
        _called(function, given)
    before = [each.runs for each in function.programs]
    start = time.perf_counter()
    for given in calls:
        _called(function, given)
    warm = (time.perf_counter() - start) / len(calls)
    programs = function.programs
    last = sum(each.runs > 0 for each in programs[len(before) :]) + sum(
        each.runs > runs for each, runs in zip(programs, before, strict=False)
    )
    times = {"first": seconds[0], "warm": warm}
    return {"verdict": str(total), "programs": len(programs), "last": last, **times}


def _one(loop: Loop, expected: list[list[Fact]]) -> Answer:
    return _compared(_convert(loop, full_graph=True), loop.calls(), expected)


def _default(loop: Loop, expected: list[list[Fact]]) -> Answer:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        function = _convert(loop, full_graph=False)
        answer = _compared(function, loop.calls(), expected)
    answer["breaks"] = len(function.breaks)
    return answer


def _fitting(spec: list[Any], calls: list[Arguments]) -> list[int]:
    """The calls that an ``InputSpec`` takes."""
    return [
        index
        for index, given in enumerate(calls)
        if all(
            not hasattr(wanted, "shape")
            or all(w in (-1, None, g) for w, g in zip(wanted.shape, value.shape, strict=True))
            for wanted, value in zip(spec, given, strict=True)
        )
    ]


def _lasts(loop: Loop, expected: list[list[Fact]]) -> Answer:
    """The widest of the specs that is right, and it saved; the verdict is on the first."""
    first: Answer = {}
    for number, spec in enumerate(loop.specs):
        calls = loop.calls()
        chosen = _fitting(spec, calls)
        calls, wanted = [calls[i] for i in chosen], [expected[i] for i in chosen]
        function = _convert(loop, full_graph=True, input_spec=spec)
        answer = _compared(function, calls, wanted)
        first = first or answer
        if answer["verdict"].startswith("right"):
            saved = _saved(function, calls, wanted)
            counts = {key: answer[key] for key in ("programs", "last")}
            return {**first, **counts, "serves": number, "saved": saved}
    return first


def _saved(function: Any, calls: list[Arguments], expected: list[list[Fact]]) -> Answer:
    import d2s

    with tempfile.TemporaryDirectory() as name:
        try:
            d2s.save(function, f"{name}/loop")
            got = _predicted(Path(name), calls)
        except Exception as error:
            return {"verdict": said(error), "trace": trace(error)}
    for call, (want, outputs) in enumerate(zip(expected, got, strict=True)):
        text = _apart(_arrays(want), outputs)
        if text:
            return {"verdict": f"WRONG {text} (call {call + 1})"}
    return {"verdict": "right"}


def _predicted(folder: Path, calls: list[Arguments]) -> list[list[np.ndarray]]:
    """What Paddle Inference gives, in a process that does not know d2s."""
    inputs = {f"{call}/": np.zeros(0) for call in range(len(calls))} | {
        f"{call}/{place}": array_of(value)
        for call, given in enumerate(calls)
        for place, value in enumerate(_tensors(given))
    }
    np.savez(folder / "inputs.npz", **inputs)
    ended = subprocess.run(
        [
            *(sys.executable, "-m", "corpus.predict"),
            *(str(folder / name) for name in ("loop", "inputs.npz", "outputs.npz")),
            str(SEED),
        ],
        capture_output=True,
        text=True,
        cwd=HERE,
        env={**os.environ, "PYTHONPATH": str(HERE)},
        check=False,
    )
    if ended.returncode:
        lines = [line for line in ended.stderr.splitlines() if line.strip()]
        raise RuntimeError(f"Paddle Inference: {lines[-1] if lines else ended.returncode}")
    with np.load(folder / "outputs.npz") as stored:
        found = dict(stored)
    return [
        [found[key] for key in found if key.startswith(f"inference/{call}/")]
        for call in range(len(calls))
    ]


def _tensors(value: Any) -> list[Any]:
    if isinstance(value, paddle.Tensor):
        return [value]
    return [leaf for _, part in children(value) or () for leaf in _tensors(part)]


def _arrays(found: list[Fact]) -> list[np.ndarray]:
    """What a file gives of a result: its tensors, or a list of numbers as one."""
    arrays = [fact.data for _, fact in found if hasattr(fact, "data")]
    numbers = [fact.value for _, fact in found if isinstance(fact, Scalar)]
    return arrays or [np.array(numbers)]


def _apart(want: list[np.ndarray], got: list[np.ndarray]) -> str:
    if len(want) == 1 and want[0].ndim == 1 and len(got) > 1:
        got = [np.concatenate([each.reshape(-1) for each in got])]
    if len(want) != len(got):
        return f"{len(got)} outputs, should be {len(want)}"
    for index, (right, mine) in enumerate(zip(want, got, strict=True)):
        if deviation(right, mine) > TOLERANCE.get(str(right.dtype), 0.0):
            return f"output {index} is apart"
    return ""


STAGE = {"lasts": _lasts, "one": _one, "default": _default}


def summary(found: dict[str, Answer]) -> Answer:
    """The verdict on a loop, from its stages."""
    verdicts = {stage: answer["verdict"] for stage, answer in found.items()}
    plain = verdicts.pop("dygraph", "dygraph failed")
    if plain != "right":
        return {"verdict": "left out", "detail": plain}
    out: Answer = {"verdict": _verdict(verdicts, found), "stages": verdicts}
    for stage in ("lasts", "saved", "one", "default"):
        if stage in found and not verdicts[stage].startswith("right"):
            out["detail"] = f"{stage}: {verdicts[stage]}"
            break
    for key in ("programs", "last", "serves", "breaks"):
        known = {stage: answer[key] for stage, answer in found.items() if key in answer}
        if known:
            out[key] = known
    out["ms"] = {
        stage: [round(1000 * answer[key]) for key in ("first", "warm") if key in answer]
        for stage, answer in found.items()
        if "warm" in answer
    }
    traces = "\n".join(f"{stage}\n{a['trace']}" for stage, a in found.items() if "trace" in a)
    return {**out, "trace": traces} if traces else out


def _verdict(verdicts: dict[str, str], found: dict[str, Answer]) -> str:
    kinds = {stage: text.split()[0] for stage, text in verdicts.items()}
    for bad in ("WRONG", "crash", "hang"):
        if bad in kinds.values():
            return bad
    if kinds.get("lasts") == "right" and found["lasts"]["last"] == 1:
        return "lasts" if kinds.get("saved", "right") == "right" else "lasts, not saved"
    for stage, name in (("one", "one program"), ("default", "breaks")):
        if kinds.get(stage) == "right":
            return name
    worst = next((verdicts[each] for each in ("default", "one", "lasts") if each in verdicts), "")
    if worst.startswith("right"):
        return "one program"
    return " ".join((worst or "failed").split()[: 2 if worst.startswith("refused") else 1])
