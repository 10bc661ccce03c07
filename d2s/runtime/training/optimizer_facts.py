"""What a captured step relies on of its optimizer, which each run holds against it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import paddle
from paddle.optimizer import Optimizer

SCALARS: Final = (bool, int, float, str, type(None))


@dataclass
class Facts:
    """What a captured step relies on of its optimizer."""

    optimizer: Optimizer
    keys: tuple[str, ...]
    scalars: tuple[Any, ...]
    parts: tuple[tuple[object, dict[str, Any]], ...]
    parameters: tuple[tuple[paddle.Tensor, bool], ...]
    accumulators: tuple[tuple[dict[str, paddle.Tensor], str, paddle.Tensor], ...]

    def hold(self) -> bool:
        """Whether it is all as it was."""
        # Plain loops: this is part of every call.
        fields = vars(self.optimizer)
        if tuple(map(fields.get, self.keys)) != self.scalars:
            return False
        parts = _parts(self.optimizer)
        if len(parts) != len(self.parts):
            return False
        for now, (part, before) in zip(parts, self.parts, strict=True):
            if now is not part or _plain_fields(part) != before:
                return False
        parameters = _parameters(self.optimizer)
        if len(parameters) != len(self.parameters):
            return False
        for now, (tensor, flag) in zip(parameters, self.parameters, strict=True):
            if now is not tensor or tensor.stop_gradient != flag:
                return False
        for table, name, kept in self.accumulators:  # noqa: SIM110 - a generator costs more
            if table.get(name) is not kept:
                return False
        return True


_CHANGING: Final = frozenset(("_learning_rate", "_need_refuse", "_fuse_buffer_version"))
"""Fields of an optimizer that steps change, or that each run asks for."""


def facts_of(optimizer: Optimizer, before: dict[int, paddle.Tensor]) -> Facts:
    """The facts of ``optimizer``; ``before`` are the accumulators by their identity."""
    fields = {
        key: value
        for key, value in vars(optimizer).items()
        if isinstance(value, SCALARS) and key not in _CHANGING
    }
    return Facts(
        optimizer,
        tuple(fields),
        tuple(fields.values()),
        tuple((part, _plain_fields(part)) for part in _parts(optimizer)),
        tuple((tensor, tensor.stop_gradient) for tensor in _parameters(optimizer)),
        tuple(
            (table, name, tensor)
            for table in optimizer._accumulators.values()
            for name, tensor in table.items()
            if id(tensor) in before
        ),
    )


def _parts(optimizer: Optimizer) -> list[object]:
    """The objects that say how ``optimizer`` clips and decays, and its groups."""
    found = [optimizer._grad_clip, optimizer.regularization]
    groups = optimizer._param_groups
    for group in groups if isinstance(groups[0], dict) else ():
        found += [group, group.get("grad_clip"), group.get("weight_decay")]
    return [part for part in found if part is not None and not isinstance(part, SCALARS)]


def _plain_fields(part: object) -> dict[str, Any]:
    fields = part if isinstance(part, dict) else vars(part)
    return {key: value for key, value in fields.items() if isinstance(value, SCALARS)}


def _parameters(optimizer: Optimizer) -> list[paddle.Tensor]:
    groups: list[Any] = optimizer._param_groups
    if not isinstance(groups[0], dict):
        return groups
    return [tensor for group in groups for tensor in group["params"]]
