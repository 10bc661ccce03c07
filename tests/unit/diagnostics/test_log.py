"""The log: topics, levels, one structured line for each event, and nothing on a warm call."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import paddle
import pytest

import d2s
from d2s import config
from d2s.diagnostics import log
from d2s.errors import ArgumentsError
from tests.helpers import tensor
from tests.processes import python

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    """No test leaves a level or a handler behind."""
    loggers = [log.LOGGER, *log.TOPICS.values()]
    before = [(each, each.level, list(each.handlers)) for each in loggers]
    propagate = log.LOGGER.propagate
    yield
    log.LOGGER.propagate = propagate
    for each, level, handlers in before:
        each.setLevel(level)
        each.handlers[:] = handlers


def branchy(x, k=1):
    if x.sum() > 0:
        return x * k
    return x - k


def events(caplog: pytest.LogCaptureFixture, topic: str) -> list[dict[str, Any]]:
    """What was told on a topic."""
    told = [record.d2s for record in caplog.records if hasattr(record, "d2s")]
    return [one for one in told if one["topic"] == topic]


def test_topics_are_told_apart(caplog: pytest.LogCaptureFixture) -> None:
    with d2s.options(log="capture"):
        d2s.to_static(branchy)(tensor(1.0, 2.0))
    assert [one["event"] for one in events(caplog, "capture")] == ["captured"]
    assert events(caplog, "passes") == []
    (captured,) = events(caplog, "capture")
    assert captured["function"] == "branchy"
    assert captured["file"] == __file__
    assert captured["line"] == branchy.__code__.co_firstlineno
    assert captured["operations"] > 0
    assert captured["reason"] == "first call"
    assert captured["inputs"] == ["x: float32[2]"]


def test_passes_are_named_with_those_that_had_something_to_do(
    caplog: pytest.LogCaptureFixture,
) -> None:
    d2s.set_log_level("info", "passes")

    def f(x):
        return x if x.sum() > 0 else -x

    d2s.to_static(f)(tensor(1.0))
    (one,) = [one for one in events(caplog, "passes") if one["function"].endswith("f")]
    assert "ternary" in one["passes"]
    assert "loops" not in one["passes"]


def test_a_warm_call_tells_nothing(caplog: pytest.LogCaptureFixture) -> None:
    static = d2s.to_static(branchy)
    with d2s.options(log="capture:debug,passes:debug,guards:debug,islands:debug"):
        static(tensor(1.0, 2.0))
        caplog.clear()
        for _ in range(4):
            static(tensor(3.0, 4.0))
    assert caplog.records == []


def test_a_reason_that_comes_back_is_told_of_once(caplog: pytest.LogCaptureFixture) -> None:
    """A number in the key: each value captures; the sizes of a tensor do not come back."""
    static = d2s.to_static(branchy)
    d2s.set_log_level("info", "guards")
    for k in (1, 2, 3):
        static(tensor(1.0, 2.0), k)
    static(tensor(1.0, 2.0, 3.0), 3)
    told = events(caplog, "guards")
    assert [one["event"] for one in told] == ["differs", "returns", "differs", "differs"]
    assert told[1]["subject"] == "k"
    assert told[1]["reason"] == "k is 2, was 1"
    assert "tensor" in told[1]["cure"]
    assert told[3]["differs"] == ["x has shape [3], had [2]"]
    assert told[3]["programs"] == 3


class Scale:
    def __init__(self) -> None:
        self.mode, self.step = "sum", 0


def test_a_guard_is_named_as_the_user_writes_it(caplog: pytest.LogCaptureFixture) -> None:
    """State that the function reads returns; a counter that becomes an input does not."""
    scale = Scale()

    def f(x):
        return x.sum() if scale.mode == "sum" else x.mean()

    static = d2s.to_static(f)
    d2s.set_log_level("info", "guards")
    static(tensor(1.0, 2.0))
    scale.mode = "mean"
    static(tensor(1.0, 2.0))
    assert [one.get("subject") for one in events(caplog, "guards")] == [None, "scale.mode"]
    caplog.clear()

    def counting(x):
        scale.step += 1
        return x * scale.step

    static = d2s.to_static(counting)
    for expected in (1.0, 2.0, 3.0, 4.0):
        assert float(static(tensor(1.0)).sum()) == expected
    assert "returns" not in [one["event"] for one in events(caplog, "guards")]


def test_a_capture_that_fails_says_so(caplog: pytest.LogCaptureFixture) -> None:
    d2s.set_log_level("debug", "capture")

    def f(x):
        return hash(x.sum().item())

    with pytest.raises(d2s.D2SError) as raised:
        d2s.to_static(f)(tensor(1.0))
    told = events(caplog, "capture")
    assert [one["event"] for one in told][:2] == ["begins", "fails"]
    assert told[-1]["error"] == raised.value.code


def test_islands(caplog: pytest.LogCaptureFixture) -> None:
    d2s.set_log_level("info", "islands")

    def f(x):
        y = x * 2
        if y.sum() > 0:
            y = y + 1
        table = hash(y.sum().item()) % 7
        return y * table

    with pytest.warns(d2s.errors.BreakWarning):
        d2s.to_static(f, full_graph=False)(tensor(1.0))
    told = events(caplog, "islands")
    assert [one["event"] for one in told] == ["break", "divided"]
    assert told[0]["at"] == f.__code__.co_firstlineno + 4
    assert told[0]["error"].startswith("D2S")
    assert told[1]["lines"]


def test_a_level_of_the_topics_own_wins(caplog: pytest.LogCaptureFixture) -> None:
    """What the program says is stronger than what the environment says."""
    d2s.set_log_level("off", "capture")
    with d2s.options(log=1):
        d2s.to_static(branchy)(tensor(1.0, 2.0))
    assert events(caplog, "capture") == []
    assert events(caplog, "passes") == [] or events(caplog, "passes")[0]["event"] == "converted"


def test_logging_can_be_disabled_altogether(caplog: pytest.LogCaptureFixture) -> None:
    logging.disable(logging.CRITICAL)
    try:
        with d2s.options(log=1):
            d2s.to_static(branchy)(tensor(1.0, 2.0))
    finally:
        logging.disable(logging.NOTSET)
    assert caplog.records == []


def test_a_level_or_topic_that_there_is_not() -> None:
    with pytest.raises(ArgumentsError, match="no log level 'loud'"):
        d2s.set_log_level("loud")
    with pytest.raises(ArgumentsError, match="no topic 'captures'"):
        d2s.set_log_level("info", "captures")
    assert log.unknown_topics("capture,guard,islands:loud,all:debug") == ["guard", "islands:loud"]
    assert log.unknown_topics("1") == []


def test_what_the_environment_may_say() -> None:
    assert config.from_environment({"D2S_LOG": "capture,guards"}).log == "capture,guards"
    assert config.from_environment({"D2S_LOG": " "}).log == 0
    assert config.from_environment({"D2S_LOG_JSON": "1"}).log_json is True


SCRIPT = """
import logging, sys
import paddle
import d2s

if "basic" in sys.argv:
    logging.basicConfig(level=logging.WARNING, stream=sys.stdout)

@d2s.to_static
def net(x):
    return x if x.sum() > 0 else -x

net(paddle.ones([2]))
net(paddle.ones([2]))
"""


def told_by(folder: Path, *arguments: str, **env: str) -> list[str]:
    """What a script with the variables writes to stderr."""
    script = folder / "net.py"
    script.write_text(SCRIPT, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "GLOG_minloglevel": "3", **env}
    done = python(str(script), *arguments, env=environment)
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    return [line for line in lines if line.startswith(("d2s", "{"))]


def test_one_line_of_json_for_each_event(tmp_path: Path) -> None:
    """Also in a program that has set up logging of its own."""
    lines = told_by(tmp_path, "basic", D2S_LOG="passes,capture", D2S_LOG_JSON="1")
    told = [json.loads(line) for line in lines]
    assert {one["topic"] for one in told} == {"passes", "capture"}
    (captured,) = [one for one in told if one["event"] == "captured"]
    assert captured["function"] == "net"
    assert captured["line"] == 9
    assert captured["level"] == "info"
    assert captured["time"].endswith("Z")


def test_a_topic_with_a_slip_of_the_pen_is_told_of(tmp_path: Path) -> None:
    lines = told_by(tmp_path, D2S_LOG="captures,guards")
    assert lines == [
        "d2s: D2S_LOG: there is no topic 'captures'; they are passes, capture, guards, islands, "
        "each alone or as in capture:debug"
    ]


def test_silent_unless_asked(tmp_path: Path) -> None:
    assert told_by(tmp_path) == []
    assert paddle.in_dynamic_mode()
