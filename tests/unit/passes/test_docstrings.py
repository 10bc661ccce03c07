"""Each pass shows its before and after, and the example is true (a rule of ``design/style``)."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from typing import Any

import pytest

import d2s.passes
from d2s.passes.base import Pass
from d2s.pipeline import BOUND, CUT, HANDED, PIPELINE, PROBED, STEPPED

MODULES = sorted(
    info.name.removeprefix("d2s.passes.")
    for info in pkgutil.walk_packages(d2s.passes.__path__, "d2s.passes.")
    if not info.ispkg and info.name.count(".") == 3  # the others are what passes share
)


def module_of(name: str) -> Any:
    return importlib.import_module(f"d2s.passes.{name}")


def examples_of(name: str) -> doctest.DocTest | None:
    module = module_of(name)
    parsed = doctest.DocTestParser().get_doctest(
        module.__doc__ or "", dict(vars(module)), f"d2s.passes.{name}", module.__file__, 0
    )
    return parsed if parsed.examples else None


@pytest.mark.parametrize("name", MODULES)
def test_the_example_is_what_the_pass_does(name: str, doctest_namespace: dict[str, Any]) -> None:
    test = examples_of(name)
    assert test is not None, f"the docstring of d2s.passes.{name} has no example"
    assert any("show(PASS" in example.source for example in test.examples)
    test.globs.update(doctest_namespace)
    said: list[str] = []
    doctest.DocTestRunner(verbose=False, optionflags=doctest.REPORT_NDIFF).run(
        test, out=said.append
    )
    assert not said, "".join(said)


@pytest.mark.parametrize("name", MODULES)
def test_a_module_is_one_pass_of_the_pipeline(name: str) -> None:
    module = module_of(name)
    passes = [value for value in vars(module).values() if isinstance(value, Pass)]
    assert passes == [module.PASS]
    assert module.PASS.name == name.split(".")[-1]
    assert module.PASS in (*PIPELINE, *PROBED, *CUT, *HANDED, *STEPPED, *BOUND)


@pytest.mark.parametrize(
    "pipeline",
    [PIPELINE, PROBED, CUT, HANDED, STEPPED, BOUND],
    ids=["usual", "probed", "cut", "handed", "stepped", "bound"],
)
def test_the_pipeline_keeps_the_order_that_the_passes_ask_for(pipeline: tuple[Pass, ...]) -> None:
    done: set[str] = set()
    known = {step.name for step in pipeline}
    for step in pipeline:
        assert set(step.after) <= known, f"{step.name} waits for a pass that does not exist"
        assert set(step.after) <= done, f"{step.name} runs before {set(step.after) - done}"
        done.add(step.name)
