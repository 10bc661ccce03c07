"""Lists, dicts and tensors that are an argument and state outside of the arguments at once.

A program keeps the two apart: arguments are what the caller passes in each call, state is found
in its place.  Where a call passes the very list that a global or an attribute holds, or a tensor
that shares its storage with another one, and the function changes it, the change would be seen
under one of the names only: the call is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from d2s import paddle_bridge as bridge
from d2s.errors import ContainerInGraphError, InplaceError
from d2s.program.state.places import CONTAINERS
from d2s.program.state.records import Record
from d2s.program.state.tracker import Watch


@dataclass
class Apart:
    """What must be different objects on each call.

    Attributes:
        arguments: positions of the arguments' containers that the program changes.
        records: containers of the state that it changes.
        others: the other containers of the state.
    """

    arguments: list[int] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    others: list[Record] = field(default_factory=list)

    def check(self, containers: list[Any]) -> None:
        """Refuse a call with ``containers`` among its arguments.

        Raises:
            ContainerInGraphError: (D2S207) one of them is state, and the program changes it.
        """
        if not (self.arguments or self.records):
            return
        changed = {id(containers[number]) for number in self.arguments}
        for record in self.records:
            _refuse({id(container) for container in containers}, record)
        for record in self.others if changed else ():
            _refuse(changed, record)


def apart(watch: Watch, changed: set[int], arguments: list[int]) -> Apart:
    """What the calls of a program must keep apart.

    Args:
        watch: the state.
        changed: identities of the containers of the state that the program changes.
        arguments: positions of the arguments' containers that it changes.
    """
    records = list(_containers(watch))
    return Apart(
        arguments,
        [record for record in records if id(record.scope) in changed],
        [record for record in records if id(record.scope) not in changed] if arguments else [],
    )


def _containers(watch: Watch) -> Iterator[Record]:
    for record in watch.records.values():
        if isinstance(record.scope, CONTAINERS) and not record.fields and record.names is None:
            yield record


def _refuse(containers: set[int], record: Record) -> None:
    now = record.holder()
    if id(now) in containers:
        raise ContainerInGraphError(
            f"a {type(now).__name__} that is an argument is {record.path!r} as well, and the "
            "function changes it",
            cure="read it under one name, or pass a copy",
        )


def check_tensors(
    inputs: list[Any], changed: list[int], parameters: list[Any], written: list[int]
) -> None:
    """Refuse a call in which what is changed in place is known to the program twice.

    Args:
        inputs: the tensors of the call; one tensor may stand there twice.
        changed: positions of those that are changed in place.
        parameters: the tensors of the state that the program reads.
        written: positions of those that are changed in place.

    Raises:
        InplaceError: (D2S304) another argument or tensor of the state shares its storage.
    """
    for index in changed:
        mine = inputs[index]
        others = [*(item for item in inputs if item is not mine), *parameters]
        if any(bridge.share_storage(mine, other) for other in others):
            raise _twice("an argument")
    for index in written:
        if any(bridge.share_storage(parameters[index], item) for item in inputs):
            raise _twice("a tensor of an object, a global or a closure")


def check_state(written: list[int], parameters: list[Any]) -> None:
    """Refuse a program that changes a tensor of the state in place and reads another one of it.

    Args:
        written: positions of those that are changed.
        parameters: the tensors of the state.

    Raises:
        InplaceError: (D2S304) the two share their storage.
    """
    for index in written:
        others = (item for place, item in enumerate(parameters) if place != index)
        if any(bridge.share_storage(parameters[index], other) for other in others):
            raise InplaceError(
                "a tensor of an object, a global or a closure is changed in place, and the "
                "function reads a view of it, or what it is a view of, under another name",
                cure="take the view anew in the function, or keep a .clone()",
            )


def _twice(what: str) -> InplaceError:
    return InplaceError(
        f"{what} is changed in place, and this call passes it, or a view of it, under another name",
        cure="read it under one name, or pass a .clone()",
    )
