"""What Paddle's converters get wrong, entry by entry: they still do, and d2s does not.

The quick tests hold the recorded verdicts against the list in ``corpus/defects.py``; the slow ones
run every program and probe of an entry again, with d2s and with the converters that fail.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Any

import paddle
import pytest

import d2s
from corpus import probes, record
from corpus.case import load, paths
from corpus.converters import run_apart
from corpus.defects import (
    DEFECTS,
    FACTS,
    NAMES,
    PAGE,
    PROBES,
    Defect,
    Shown,
    due,
    problems,
    render,
    verdicts,
    versions,
)
from corpus.language import LANGUAGES, Language, page_in
from corpus.record import CONVERTERS, Record, Verdict
from corpus.rows import NUMBERS
from corpus.support import BAD
from d2s.errors import BackwardTwiceError
from tests.processes import python

HOW = "run `make support`, and read the diff"


@functools.cache
def known() -> dict[str, dict[str, Verdict]]:
    return verdicts()


def entries() -> Iterator[Any]:
    """Each thing that shows a defect, with the mark of the defect."""
    for defect in DEFECTS:
        for shown in defect.shown:
            name = f"{defect.key}: {shown.name}".replace(" ", "-")
            yield pytest.param(defect, shown, id=name, marks=pytest.mark.defect(defect.key))


@pytest.mark.parametrize(("defect", "shown"), entries())
def test_recorded(defect: Defect, shown: Shown) -> None:
    """d2s is right where a converter of Paddle's is wrong, fails or hangs."""
    seen = {converter: known()[converter][shown.name] for converter in CONVERTERS}
    assert problems(shown, seen) == [], HOW


NO_REPAIR = ("failed the process ended", "failed no answer")
"""What is wrong in most runs, and in some kills the process or takes longer than we wait."""


@pytest.mark.slow
@pytest.mark.parametrize(("defect", "shown"), entries())
def test_live(defect: Defect, shown: Shown) -> None:
    """The same, run now."""
    seen = {name: Verdict("", live(shown.name, name)) for name in ("d2s", *shown.claims())}
    crashed = [
        f"{shown.name}: {name} is {each.verdict}"
        for name, each in seen.items()
        if name != "d2s" and each.verdict.startswith(NO_REPAIR)
    ]
    found = [text for text in problems(shown, seen) if not text.startswith(tuple(crashed))]
    assert found == [], (
        "Paddle has changed: where it is repaired, take the entry out of corpus/defects.py"
    )


def live(name: str, converter: str) -> str:
    timeout = 120.0 if converter == "d2s" else 20.0
    if name in probes.paths():
        return probes.run(name, converter, timeout)
    return run_apart(load(name), converter, timeout).verdict


@pytest.mark.parametrize("name", probes.paths())
def test_a_probe_is_right_in_dygraph_and_with_d2s(name: str) -> None:
    """Without a converter a probe must be right, or it would prove nothing."""
    for converter in ("none", "d2s"):
        done = python("-m", "corpus.probes", name, converter)
        assert done.stdout.splitlines()[-1:] == ["verdict: right"], done.stderr


def test_every_fact_and_row_is_shown() -> None:
    """Eleven facts were known, three were found; rows are of the table; each shows a wrong peer."""
    assert [each.key for each in FACTS] == [f"fact {number}" for number in range(1, 15)]
    keys = [each.key for each in DEFECTS]
    assert len(set(keys)) == len(keys)
    rows = {int(key.split()[1]) for key in keys if key.startswith("row ")}
    assert rows <= NUMBERS
    # What the feature matrix calls silently wrong, for one of Paddle's two converters.
    assert rows >= {1, 3, 4, 12, 14, 18, 33, 35, 36, 38, 60, 67, 68, 73, 75, 78, 81, 88, 97, 98}
    assert all(shown.claims() for each in DEFECTS for shown in each.shown)
    assert all(name in paths() or name in probes.paths() for name in NAMES)


@pytest.mark.parametrize("converter", CONVERTERS)
def test_each_probe_has_its_verdict(converter: str) -> None:
    assert record.stale(record.read(converter, PROBES), probes.paths()) == [], HOW


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_is_what_the_results_say(language: Language) -> None:
    made = render(known(), versions(), language)
    assert page_in(language, PAGE).read_text(encoding="utf-8") == made, HOW


def test_a_verdict_that_changes_makes_the_page_stale() -> None:
    name = "inner_break_of_numbers"
    changed = {converter: dict(cases) for converter, cases in known().items()}
    changed["paddle-ast"][name] = Verdict("", "right")
    assert render(changed, versions(), "en") != render(known(), versions(), "en")


@pytest.mark.parametrize(
    ("d2s", "ast", "sot", "says"),
    [
        ("right", "WRONG result is 1", "right", []),
        (
            "right",
            "failed KeyError: 1",
            "right",
            ["p: paddle-ast is failed KeyError: 1, the list "],
        ),
        ("right", "right", "right", ["p: paddle-ast is right, the list says WRONG"]),
        ("refused D2S205", "WRONG x", "right", ["p: d2s is refused D2S205"]),
        ("WRONG x", "WRONG x", "right", ["p: d2s is WRONG x"]),
    ],
)
def test_problems(d2s: str, ast: str, sot: str, says: list[str]) -> None:
    seen = {"d2s": Verdict("", d2s), "paddle-ast": Verdict("", ast), "paddle-sot": Verdict("", sot)}
    found = problems(Shown("p", "a part", ast="WRONG"), seen)
    assert len(found) == len(says)
    assert all(text.startswith(start) for text, start in zip(found, says, strict=True))


def test_chance_may_decide_how_a_peer_fails() -> None:
    for text in ("WRONG x", "failed x", "failed no answer in 9 s"):
        seen = {"d2s": Verdict("", "right"), "paddle-ast": Verdict("", text)}
        assert Verdict("", text).kind in BAD
        assert problems(Shown("p", "a part", ast="bad"), seen) == []


def test_which_probes_are_due() -> None:
    everything = list(probes.paths())
    mine = record.read("paddle-ast", PROBES)
    assert due(dataclasses.replace(mine, cases={})) == everything
    if mine.current:
        assert due(mine) == []
    assert due(dataclasses.replace(mine, paddle="2.6.0")) == everything
    assert due(Record("d2s")) == everything


def test_a_penalty_outside_of_the_program() -> None:
    """Paddle's own program gives the parameters no gradient of it, without a word."""

    def gradients(converted: Callable[[paddle.nn.Layer], Any]) -> list[Any]:
        paddle.seed(1)
        layer = paddle.nn.Sequential(
            paddle.nn.Linear(3, 4), paddle.nn.Tanh(), paddle.nn.Linear(4, 1, bias_attr=False)
        )
        x = paddle.rand([5, 3])
        x.stop_gradient = False
        (found,) = paddle.grad(converted(layer)(x).sum(), x, create_graph=True)
        (found.norm(axis=1) - 1).square().mean().backward()
        return [None if each.grad is None else each.grad.tolist() for each in layer.parameters()]

    want = gradients(lambda layer: layer)
    assert None not in want
    theirs = gradients(lambda layer: paddle.jit.to_static(layer, full_graph=True))
    assert theirs == [None] * len(want), "Paddle has changed: docs/guide/training-and-saving.md"
    assert gradients(lambda layer: d2s.to_static(layer, full_graph=False)) == want
    with pytest.raises(BackwardTwiceError):
        gradients(lambda layer: d2s.to_static(layer, full_graph=True))
