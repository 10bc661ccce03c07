"""A captured program, how it is called, and one run of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from d2s import config
from d2s import paddle_bridge as bridge
from d2s.diagnostics.notes import Notes
from d2s.errors import UnsupportedInGraphError
from d2s.program.capture.draws import Draw
from d2s.program.capture.steps import StepsOfRun
from d2s.program.keys.call_key import TensorLeaf
from d2s.program.state.guards import Guard
from d2s.program.state.lifted import Lifted
from d2s.program.state.places import Place
from d2s.program.state.records import Change
from d2s.program.state.shared_arguments import Apart


@dataclass(slots=True)
class Run:
    """One run of a program, as the builders of its results see it.

    Attributes:
        outputs: the tensors that the program gave.
        inputs: the tensors that it was given.
        containers: the caller's lists, dicts and so on among the arguments.
        made: objects of this run that several results share.
        drawn: how many of its random numbers are drawn where an exception leaves the program.
        acted: Python has been called that may have changed something.
        said: what it has printed, the stream and the text of each.
    """

    outputs: list[Any]
    inputs: list[Any]
    containers: list[Any]
    made: dict[int, Any] = field(default_factory=dict)
    drawn: int | None = None
    acted: bool = False
    said: list[tuple[str, str]] | None = None


Build = Callable[[Run], Any]
"""From a run to a part of its result."""


@dataclass(frozen=True, slots=True)
class Output:
    """The part that is one tensor of the program, as most functions return it.

    Attributes:
        position: which of the outputs.
    """

    position: int

    def __call__(self, run: Run) -> Any:
        return run.outputs[self.position]


Write = Callable[[Run, Any], None]
"""Makes a change of state on a run, with the value that the run has for it."""


@dataclass
class Captured:
    """A captured program and how to call it.

    Attributes:
        program: the Paddle program.
        inputs: its input values, in the order of the call's tensors, of ``lifted``, of ``draws``.
        outputs: its output values, each once.
        parameters: dygraph tensors that it reads, and the values that stand for them.
        build: the result of a run.
        writes: what each run changes of the state outside, with the builder of the new value.
        updates: inputs that the function changes in place, with the position of the new value.
        hosts: host functions, kept alive.
        has_loop: gradients go through a ``while`` of it, so they need the joint program.
        has_random: an operation draws random numbers.
        returned: so many outputs are parts of the result; the others are of the state alone.
        leaves: what the key says of each input.
        ambiguous: names of values whose structure depends on a tensor.
        texts: the result holds text that the host formats.
        guards: what the program relies on besides its arguments.
        homes: for parameters whose places are known, index and place: each run reads them anew.
        lifted: what is an input of the state outside.
        counters: numbers of the state that it changes, and tensors whose sizes it changes.
        overwritten: indexes of parameters that it writes into.
        rewritten: indexes of parameters that get new contents after each run.
        drawn: generators of Python and NumPy that it draws from while it runs.
        draws: calls for random numbers of Python or NumPy, whose results are the last inputs.
        apart: what must be different objects on each call.
        steps: gradients and optimizer steps that are part of it.
        straight: for inputs where it relies on that, whether their elements lie beside each other.
        flags: what it says of the ``stop_gradient`` of arguments, by their index.
        outer_flags: tensors outside of it of which it says that, too.
        stops: outputs that stop gradients on some runs, and the outputs that say on which.
        asked: tensors outside of it whose gradients ``paddle.grad`` gives.
        only_static: it does what dygraph does not.
        notes: what became of constructs while it was captured.
        callers: a run needs the caller's own containers, or those that Python makes of a call.
        takes: a run takes items of iterators that were there before.
    """

    program: Any
    inputs: list[Any]
    outputs: list[Any]
    parameters: tuple[list[Any], list[Any]]
    build: Build
    writes: list[tuple[Write, Build]]
    updates: list[tuple[int, int]]
    hosts: list[Any]
    has_loop: bool
    has_random: bool
    returned: int
    leaves: list[TensorLeaf] = field(default_factory=list)
    ambiguous: list[str] = field(default_factory=list)
    texts: bool = False
    guards: list[Guard] = field(default_factory=list)
    homes: list[tuple[int, Place]] = field(default_factory=list)
    lifted: tuple[Lifted, ...] = ()
    counters: list[Change] = field(default_factory=list)
    overwritten: list[int] = field(default_factory=list)
    drawn: list[Any] = field(default_factory=list)
    draws: list[Draw] = field(default_factory=list)
    rewritten: list[int] = field(default_factory=list)
    apart: Apart = field(default_factory=Apart)
    steps: StepsOfRun | None = None
    straight: dict[int, bool] = field(default_factory=dict)
    flags: dict[int, bool] = field(default_factory=dict)
    outer_flags: list[tuple[Any, bool]] = field(default_factory=list)
    stops: list[tuple[int, int]] = field(default_factory=list)
    asked: list[Any] = field(default_factory=list)
    only_static: bool = False
    notes: Notes = field(default_factory=Notes)
    callers: bool = False
    takes: bool = False

    @property
    def opens(self) -> bool:
        """Whether it takes several sizes of a tensor of the state."""
        return any(each.is_tensor for each in self.lifted)


_READY: Final = 1e-7
"""So many seconds of Paddle's, about, for each pair of operations of a program."""


def check_size(made: Captured) -> Captured:
    """``made``, if Paddle makes it ready in the time that a capture may take.

    That takes longer for a larger program than in proportion: a minute for 25,000 operations.

    Raises:
        UnsupportedInGraphError: (D2S205) there are too many operations.
    """
    seconds = config.get().capture_seconds
    count = sum(1 for _ in bridge.operations(made.program))
    if seconds and count * count * _READY > seconds:
        raise UnsupportedInGraphError(
            f"the program would have {count} operations, and Paddle would need more than "
            "D2S_CAPTURE_SECONDS to make it ready",
            cure="let its loops be static ones (over a tensor, or until a tensor says so), or give "
            "it more time, d2s.options(capture_seconds=...)",
        )
    return made
