"""Every case of the corpus, converted: values, gradients, state, text, exceptions.

At night each case runs in a process of its own, as ``python -m corpus`` does it: a crash or an
endless loop is a verdict too, and no case sees what another one has left in Paddle.  The quick
suite runs many cases in one process, and only where they are not as they should be each by itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pytest

from corpus import record
from corpus.case import names, paths
from tests.processes import python

REFUSED: dict[str, tuple[str, str]] = {
    "is_after_branch": ("D2S205", "only the run knows which tensor object a branch has chosen"),
    "list_mutated_while_iterated_by_tensor": (
        "D2S207",
        "a tensor decides how often a Python loop runs",
    ),
    "list_varying_shapes": ("D2S207", "items of several shapes have no array in a program"),
    "property_setter": (
        "D2S205",
        "Paddle makes a buffer of what is assigned to a property of a layer",
    ),
    "pylayer_in_loop": ("D2S205", "Paddle cannot differentiate a PyLayer in a static loop"),
    "recursion_on_tensor_condition": (
        "D2S206",
        "a tensor decides how deep the recursion goes (rule E3)",
    ),
    "return_in_finally": ("D2S205", "a return that leaves a finally stays Python"),
    "truth_of_vector": (
        "D2S204",
        "the truth of several elements: dygraph raises as well, without a code",
    ),
}
"""Refused on purpose: name -> (code, reason). A case leaves the table when it runs."""

RECORDED = record.read("d2s").cases
CHUNK = 40
"""So many cases make one test, which a worker runs alone."""


def chunks() -> Iterator[tuple[str, list[str]]]:
    """The cases of each group in pieces, with a name for each piece."""
    known = paths()
    by_group = sorted(known, key=lambda name: (known[name].parent.name, name))
    for group, found in groupby(by_group, key=lambda name: known[name].parent.name):
        cases = list(found)
        for start in range(0, len(cases), CHUNK):
            yield f"{group}-{start // CHUNK + 1}", cases[start : start + CHUNK]


CHUNKS = [pytest.param(cases, id=title) for title, cases in chunks()]


@pytest.mark.parametrize("cases", CHUNKS)
def test_cases(cases: list[str], tmp_path: Path) -> None:
    """The rows that the cases name in their docstrings; the support table says the same."""
    problems = judged(cases, tmp_path, "--together") and judged(cases, tmp_path)
    assert not problems, "\n".join(problems)


@pytest.mark.slow
@pytest.mark.parametrize("cases", CHUNKS)
def test_cases_apart(cases: list[str], tmp_path: Path) -> None:
    """The same, each by itself."""
    problems = judged(cases, tmp_path)
    assert not problems, "\n".join(problems)


def judged(cases: list[str], folder: Path, *options: str) -> list[str]:
    """What is wrong with the verdicts on these cases."""
    file = folder / "verdicts.json"
    file.unlink(missing_ok=True)
    done = python("-m", "corpus", *cases, "--json", str(file), *options)
    if not file.exists():
        return [f"no verdicts: {done.stderr}"]
    results = json.loads(file.read_text(encoding="utf-8"))["results"]
    assert [result["name"] for result in results] == cases
    return [text for result in results if (text := problem(result["name"], result["verdict"]))]


def problem(name: str, verdict: str) -> str | None:
    """What is wrong with a verdict, or ``None``."""
    if verdict.startswith("refused "):
        if name not in REFUSED:
            return f"{name}: {verdict}, but a refusal has its reason in REFUSED"
        if verdict != f"refused {REFUSED[name][0]}":
            return f"{name}: {verdict}, REFUSED says {REFUSED[name][0]}"
    elif verdict != "right":
        return f"{name}: {verdict}"
    elif name in REFUSED:
        return f"{name}: it runs now, take it out of REFUSED"
    # tests/unit/corpus/test_support.py names the cases that have no record.
    if name in RECORDED and record.tidy(verdict) != RECORDED[name].verdict:
        return f"{name}: {verdict}, recorded is {RECORDED[name].verdict}: run `make support`"
    return None


@pytest.mark.parametrize(
    ("name", "verdict", "says"),
    [
        ("newton", "right", None),
        ("newton", "failed ValueError: no", "newton: failed ValueError: no"),
        ("newton", "WRONG result is 1, should be 2", "WRONG result"),
        ("newton", "refused D2S205", "has its reason in REFUSED"),
        ("truth_of_vector", "refused D2S205", "REFUSED says D2S204"),
        ("truth_of_vector", "right", "it runs now"),
    ],
)
def test_a_bad_verdict_is_found(name: str, verdict: str, says: str | None) -> None:
    found = problem(name, verdict)
    assert (found is None) if says is None else (found is not None and says in found)


def test_every_refusal_is_of_a_case_and_has_a_reason() -> None:
    assert REFUSED.keys() <= set(names())
    assert all(reason for _, reason in REFUSED.values())
