"""The ``for`` statement."""

from __future__ import annotations

from collections.abc import Callable

from d2s.diagnostics.notes import note
from d2s.runtime.control_flow.unbound import as_local
from d2s.runtime.loops.for_sources import PythonValues, Trips, source_of


def for_(
    iter_: object,
    body: Callable[[object], object],
    names: tuple[str, ...],
    stop: Callable[[], object] | None = None,
) -> None:
    """A ``for`` statement.

    Args:
        iter_: what is iterated, evaluated.
        body: one trip, given the item.
        names: the state that the trips change and somebody reads.
        stop: whether a ``break`` has happened, asked after each trip.
    """
    try:
        source = source_of(iter_)
        source.run(Trips(body, names, stop))
        if isinstance(source, PythonValues):
            note("for", source.done, source.why())
    except NameError as error:
        raise as_local(error)  # noqa: B904 - mostly the same one
