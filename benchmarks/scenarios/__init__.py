"""The scenarios, one file for each family: functions as users write them, each in a factory.

A factory makes a new function object for each peer.  Sizes are small, so that the figures show what
a call and an operation cost, not how fast a kernel is.
"""

from __future__ import annotations

from benchmarks.scenario import Scenario
from benchmarks.scenarios import (
    branches,
    generation,
    layers,
    loops,
    models,
    once,
    operations,
    steps,
)

FAMILIES = (operations, branches, loops, layers, steps, models, generation, once)

SCENARIOS: dict[str, Scenario] = {
    scenario.name: scenario for family in FAMILIES for scenario in family.SCENARIOS
}
