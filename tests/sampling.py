"""Which cases of a matrix the quick suite runs: those of ``@pytest.mark.sampled(n)``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def sample(places: Sequence[Mapping[str, int]], every: int) -> set[int]:
    """Which cases of a matrix are run: one in ``every``, on diagonals, and each value of each axis.

    Args:
        places: where each case stands on each axis; arguments that are given together are one.
        every: of so many cases one.
    """
    axes = dict.fromkeys(tuple(place[name] for place in places) for name in places[0])
    rows = list(zip(*axes, strict=True))
    found = {number for number, row in enumerate(rows) if sum(row) % every == 0}
    # Where all cases stand on one axis, each is new: they are counted only.
    shared = [at for at, axis in enumerate(axes) if len(set(axis)) < len(rows)]
    seen = {(at, rows[number][at]) for number in found for at in shared}
    for least in range(len(shared), 0, -1):  # a case with many new values spares others
        for number, row in enumerate(rows):
            new = {(at, row[at]) for at in shared} - seen
            if len(new) >= least:
                found.add(number)
                seen |= new
    return found
