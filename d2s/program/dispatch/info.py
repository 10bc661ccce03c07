"""What ``fn.programs`` shows of the programs of a function."""

from __future__ import annotations

from dataclasses import dataclass

from d2s import paddle_bridge as bridge
from d2s.program.dispatch.entry import Entry


@dataclass(frozen=True)
class ProgramInfo:
    """One program of a converted function, as ``fn.programs`` shows it.

    Attributes:
        reason: why it was captured.
        inputs: path, dtype and shape of each tensor it takes (-1 for an open dimension).
        operations: how many operations compute in it, those inside branches and loops included.
        runs: how often it has run.
        program: the Paddle program.
        lines: the first and the last line of the stretch that it is of, for one of several.
    """

    reason: str
    inputs: tuple[str, ...]
    operations: int
    runs: int
    program: object
    lines: tuple[int, int] | None = None

    def __repr__(self) -> str:
        inputs = ", ".join(self.inputs)
        where = "" if self.lines is None else f"lines {self.lines[0]} to {self.lines[1]}; "
        return (
            f"Program({where}{inputs}; {self.operations} operations, {self.runs} runs; "
            f"{self.reason})"
        )


def info_of(entry: Entry) -> ProgramInfo:
    """What there is to say of one program."""
    captured = entry.runner.captured
    return ProgramInfo(
        entry.reason.text,
        tuple(f"{leaf.path}: {leaf.dtype}{list(leaf.shape)}" for leaf in captured.leaves),
        bridge.size_of(captured.program),
        entry.runner.runs,
        captured.program,
    )
