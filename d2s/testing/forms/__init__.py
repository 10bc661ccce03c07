"""The constructs of generated programs, by what they are about; importing it registers them all."""

from d2s.testing.forms import (
    branches,
    containers,
    effects,
    expressions,
    functions,
    inplace,
    loops,
    objects,
    stateful,
)
from d2s.testing.grammar import constructs, rows

__all__ = [
    "branches",
    "constructs",
    "containers",
    "effects",
    "expressions",
    "functions",
    "inplace",
    "loops",
    "objects",
    "rows",
    "stateful",
]
