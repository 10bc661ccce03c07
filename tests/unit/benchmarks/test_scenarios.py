"""Every scenario once: d2s and the programs by hand compute what dygraph does.  Not how fast."""

from __future__ import annotations

import inspect

import pytest

from benchmarks import sources
from benchmarks.growth import CURVES
from benchmarks.scenarios import FAMILIES, SCENARIOS
from d2s.bench.peers import measure
from d2s.bench.rounds import Settings

SETTINGS = Settings(rounds=1, round_s=0.001, limit_s=200.0)
PADDLES = ("paddle-ast", "paddle-sot")
"""Left out: whether they are right is not ours to test, and some need minutes."""

SHORT = ("two-ops",)
"""On every run; the others, which take seconds each, at night."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in SHORT else pytest.mark.slow) for name in SCENARIOS],
)
def test_a_scenario_runs_and_computes_what_dygraph_does(name: str) -> None:
    jobs = {peer: job for peer, job in SCENARIOS[name].jobs().items() if peer not in PADDLES}
    found = measure(jobs, SETTINGS)
    assert {peer: (each.status, each.detail) for peer, each in found.items()} == {
        peer: ("timed", each.detail if peer == "floor" else "") for peer, each in found.items()
    }
    assert found["d2s"].best_s > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", CURVES)
def test_the_smallest_size_of_a_curve_runs(name: str) -> None:
    curve = CURVES[name]
    jobs = {peer: curve.job(curve.sizes[0], peer) for peer in ("dygraph", "d2s")}
    found = measure(jobs, SETTINGS)
    assert {peer: (each.status, each.detail) for peer, each in found.items()} == {
        "dygraph": ("timed", ""),
        "d2s": ("timed", ""),
    }


def test_the_floor_says_in_which_mode_it_ran() -> None:
    jobs = SCENARIOS["two-ops"].jobs()
    found = measure({"dygraph": jobs["dygraph"], "floor": jobs["floor"]}, SETTINGS)
    mode, _, keeping = found["floor"].detail.removesuffix(" interpreter").partition(", ")
    assert mode in ("default", "serial", "trace")
    assert keeping in ("", "keeping")


def test_scenarios_have_names_of_their_own() -> None:
    assert len(SCENARIOS) == sum(len(family.SCENARIOS) for family in FAMILIES)
    assert not set(SCENARIOS) & {*CURVES, "memory"}


def test_every_scenario_asks_something_of_d2s() -> None:
    assert all(scenario.goals for scenario in SCENARIOS.values())


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_first_peer_is_the_one_to_compare_with(name: str) -> None:
    assert next(iter(SCENARIOS[name].jobs())) in ("dygraph", "paddle-ast")
    assert "d2s" in SCENARIOS[name].jobs()


@pytest.mark.parametrize("write", [sources.branches, sources.straight, sources.loop, sources.nest])
def test_written_functions_are_as_long_as_they_are_said_to_be(write) -> None:
    lines = [len(inspect.getsource(sources.define(write(size))).splitlines()) for size in (10, 20)]
    assert lines[1] - lines[0] in (10, 15, 40)


def test_a_written_function_is_a_new_one_each_time() -> None:
    first, second = (sources.define(sources.BRANCHES_AND_LOOPS) for _ in range(2))
    assert first.__code__ != second.__code__
    assert inspect.getsource(first) != inspect.getsource(second)
