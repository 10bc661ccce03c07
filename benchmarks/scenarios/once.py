"""What is paid once: conversion, the first call, the import."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import paddle
from paddle.jit.dy2static.program_translator import convert_to_static

import d2s
from benchmarks.goals import Goal
from benchmarks.scenario import Scenario
from benchmarks.scenarios.inputs import ramp
from benchmarks.scenarios.layers import Encoder
from benchmarks.sources import BRANCHES_AND_LOOPS, define
from d2s.bench.work import CONVERTERS


def _per_line(convert: Callable[[Any], Any]) -> float:
    function = define(BRANCHES_AND_LOOPS)
    start = time.perf_counter()
    convert(function)
    return (time.perf_counter() - start) / len(BRANCHES_AND_LOOPS.splitlines())


def _first_call(peer: str, make: Callable[[], tuple[Any, ...]]) -> float:
    function, *arguments = make()
    with paddle.no_grad():
        start = time.perf_counter()
        CONVERTERS[peer](function)(*arguments)
        return time.perf_counter() - start


def _function() -> tuple[Any, ...]:
    return define(BRANCHES_AND_LOOPS), ramp(4, 4), paddle.to_tensor(3)


def _layer() -> tuple[Any, ...]:
    return Encoder(), ramp(4, 16, 64), ramp(4, 16, 64)


def _first_calls(make: Callable[[], tuple[Any, ...]]) -> dict[str, Callable[[], float]]:
    return {peer: functools.partial(_first_call, peer, make) for peer in CONVERTERS}


def _import(before: str, statement: str) -> float:
    """Seconds that ``statement`` takes in a new interpreter, after ``before``.

    Bytecode is kept, as it is where packages are installed: the first round compiles.
    """
    text = (
        f"import time; {before}; start = time.perf_counter(); {statement}; "
        "print(time.perf_counter() - start)"
    )
    command = [sys.executable, "-W", "ignore", "-c", text]
    settings = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=settings)
    return float(done.stdout.splitlines()[-1])


SCENARIOS = (
    Scenario(
        "conversion",
        "source to source, for each line",
        measures={
            "paddle-ast": functools.partial(_per_line, convert_to_static),
            "d2s": functools.partial(_per_line, d2s.convert),
        },
        goals=(Goal(0.2e-3),),
        unit="line",
    ),
    Scenario(
        "first-call",
        "first call of a function with branches and loops",
        measures=_first_calls(_function),
        goals=(Goal(0.6, "paddle-ast"),),
        unit="first call",
    ),
    Scenario(
        "first-call-layer",
        "first call of an encoder layer",
        measures=_first_calls(_layer),
        goals=(Goal(0.6, "paddle-ast"),),
        unit="first call",
    ),
    Scenario(
        "import",
        "import: paddle; d2s after it",
        measures={
            "dygraph": functools.partial(_import, "pass", "import paddle"),
            "d2s": functools.partial(_import, "import paddle", "import d2s"),
        },
        goals=(Goal(0.15),),
        unit="import",
    ),
)
