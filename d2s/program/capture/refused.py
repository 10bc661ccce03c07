"""What a program must not be; each of these checks comes behind the capture.

It must not read values of a block that it has left, and do more than choose.  Its results must not
be views, in dygraph, of what is known outside of it, too: a program gives tensors of their own, and
a change of one behind the call is not seen in the other::

    self.seen.append(self.age[1])      a later call writes into self.age
"""

from __future__ import annotations

from typing import Any, Final

from d2s import paddle_bridge as bridge
from d2s.diagnostics.location import user_line
from d2s.errors import AmbiguousValueError, ContainerInGraphError, InplaceError, LeakedValueError
from d2s.program.capture.results import Results
from d2s.program.capture.views import Analysis
from d2s.runtime.aliasing.chosen import may_be
from d2s.runtime.python.arrays.views import memory_of
from d2s.runtime.trace import Capture, ValueNotes
from d2s.runtime.values.tensors import is_array


def check_leaks(main: Any) -> None:
    """Refuse a program in which a value of a branch or loop body is used outside of it."""
    found = bridge.misplaced(main)
    if found is None:
        return
    file, line = user_line(bridge.callstack(found[0]))
    raise LeakedValueError(
        "a tensor that is made inside a branch or static loop is kept in an object and used "
        "outside of it",
        cure="hand it over through a local variable, or through an attribute or item that the "
        "branch or loop assigns by name",
        file=file,
        line=line,
    )


_CHOOSING: Final = frozenset(("pd_op.bitwise_and", "pd_op.bitwise_or", "pd_op.bitwise_not"))

_MOST_CHOICES: Final = 10_000
"""So many operations may say which of several values is meant; Paddle takes minutes to prepare
more of them.
"""


def check_choices(names: list[str]) -> None:
    """Refuse a program that does little but decide what its values are.

    Args:
        names: those of its operations.

    Raises:
        AmbiguousValueError: (D2S203).
    """
    choices = sum(name in _CHOOSING for name in names)
    if choices > max(_MOST_CHOICES, len(names) // 2):
        raise AmbiguousValueError(
            f"{choices} of the {len(names)} operations of the program say which of several values "
            "of Python's is meant, as many trips of a Python loop choose under a tensor condition",
            cure="keep what the loop chooses in a tensor, by paddle.where, or give the loop fewer "
            "trips",
        )


def check_results(program: Any, state: Capture, results: Results, others: list[Any]) -> None:
    """Refuse ``program`` when a result is a view, in dygraph, of what else is known outside of it.

    Args:
        program: the captured program, of a part of a function.
        state: of its capture.
        results: what it gives.
        others: the values that stand for arguments and for tensors of the state.

    Raises:
        InplaceError: (D2S304) a change of one would be seen through the other.
        ContainerInGraphError: (D2S207) the same of a list or dict, which a list of the run holds.
    """
    notes = state.notes
    _check_doubles(state, results)
    given = {value.id for value in (*results.given, *others)}
    for value in results.given:
        picked = value.id in notes.selected or value.id in notes.sharing
        chosen = picked or bridge.is_chosen(value)
        if chosen and not given.isdisjoint(_chosen_from(value, notes)):
            raise _apart("a tensor is the same one as another on some runs", ".clone()", value)
    known = Analysis(program, notes, ())
    seen = {known.storages.find(value.id) for value in others}
    for value in results.given:
        storage = known.storages.find(value.id)
        group = {storage, *known.linked.get(storage, ())}
        if not seen.isdisjoint(group):
            raise _apart("a tensor is a view of another one", ".clone()", value)
        seen |= group
    memories: set[int] = set()
    for array in filter(is_array, results.kept):
        memory = id(memory_of(array))
        if memory in memories:
            raise _apart("an array of NumPy is a view of another one", ".copy()", array.value)
        memories.add(memory)


def _check_doubles(state: Capture, results: Results) -> None:
    for thing in results.kept:
        was, place, _ = state.doubles.get(id(thing), (None, None, None))
        if was is not None and was.container is thing:
            raise ContainerInGraphError(
                f"a {type(thing).__name__} is given back, and a list whose length a tensor decides "
                "holds it, too, or another name on some runs",
                cure="put a copy into the list, or change it before it is put there",
                file=None if place is None else place.file,
                line=None if place is None else place.line,
            )


def check_stored(program: Any, notes: ValueNotes, results: Results) -> None:
    """Refuse ``program`` when it puts a view of a tensor that it changes in place into the state.

    Args:
        program, notes: as :func:`check_views` gets them.
        results: what it gives.

    Raises:
        InplaceError: (D2S304) what later calls write would be seen in it in dygraph.
    """
    if not (results.in_state and notes.written):
        return
    known = Analysis(program, notes, ())
    changed = {known.storages.find(value.id) for value in notes.written.values()}
    for value in results.in_state:
        storage = known.storages.find(value.id)
        if storage not in changed and not changed.isdisjoint(known.linked.get(storage, ())):
            raise _apart("a view of a tensor is kept for later calls", ".clone()", value)


def _chosen_from(value: Any, notes: ValueNotes) -> set[int]:
    """The ids of the values that are the same tensor as ``value`` in dygraph, on some runs."""
    found: set[int] = set()
    queue = [value]
    while queue:
        at = queue.pop()
        for other in (*may_be(at, notes), *notes.sharing.get(at.id, (at, ()))[1]):
            if other.id not in found:
                found.add(other.id)
                queue.append(other)
    return found - {value.id}


def _apart(what: str, cure: str, value: Any) -> InplaceError:
    operation = value.get_defining_op()
    file, line = user_line([] if operation is None else bridge.callstack(operation))
    return InplaceError(
        f"{what}, and the function may change it in place where no program sees both",
        cure=f"take the part with {cure}",
        file=file,
        line=line,
    )
