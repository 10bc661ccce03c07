"""What a saved program cannot express, told before Paddle saves it."""

from __future__ import annotations

import types
from typing import Any

import paddle

from d2s import paddle_bridge as bridge
from d2s.analysis.exits import return_lines
from d2s.errors import SaveError
from d2s.program.capture.captured import Captured
from d2s.syntax.source import source_of


def check_saved(captured: Captured, function: types.FunctionType, name: str) -> None:
    """Refuse a program that cannot be saved.

    Args:
        captured: the program.
        function: what the user has written.
        name: its name, for messages.

    Raises:
        SaveError: (D2S401) it takes or returns what Paddle cannot save.
    """
    _check_result(captured, function, name)
    unused = [
        leaf.path
        for leaf, value in zip(captured.leaves, captured.inputs, strict=True)
        if value.use_empty()
    ]
    if unused:
        raise SaveError(
            f"the argument {unused[0]!r} of {name!r} has no part in the result, "
            "which a saved program cannot express",
            cure="save a function without it",
        )
    if not captured.outputs:
        raise SaveError(
            f"{name!r} returns no tensor, so there is nothing to save",
            cure="return at least one tensor",
        )


class SavedState:
    """The tensors that a program reads, for the file: Paddle saves those that a layer names.

    A plain attribute that holds a tensor has no name there, nor has what a function reads.
    """

    def __init__(self, captured: Captured, function: Any, owner: object) -> None:
        """Let Paddle find the tensors of ``captured`` when it saves ``function``, once."""
        self._layer = owner if isinstance(owner, paddle.nn.Layer) else None
        listed = [] if self._layer is None else [*self._layer.to_static_state_dict().values()]
        tensors, values = captured.parameters
        self.parameters = (
            bridge.named_for_saving(captured.inputs, tensors, values, listed),
            values,
        )
        if self._layer is not None:
            object.__setattr__(self._layer, "to_static_state_dict", self.to_static_state_dict)
        else:
            self._function, self._before = function, function._class_instance
            function._class_instance = lambda: self

    def to_static_state_dict(self, *arguments: Any, **options: Any) -> dict[str, Any]:
        """What Paddle asks of the layer whose method it saves; of one name it takes the last."""
        named: dict[str, Any] = {}
        if self._layer is not None:
            del self._layer.__dict__["to_static_state_dict"]
            named = self._layer.to_static_state_dict(*arguments, **options)
        else:
            self._function._class_instance = self._before
        tensors = self.parameters[0]
        read = {id(tensor) for tensor in tensors}
        others = {name: each for name, each in named.items() if id(each) not in read}
        return others | {f"d2s_read_{n}": each for n, each in enumerate(tensors)}


def _check_result(captured: Captured, function: types.FunctionType, name: str) -> None:
    """Raise SaveError (D2S401) if the result is none that a saved program can give."""
    if not (captured.ambiguous or captured.texts):
        return
    source = source_of(function)
    lines = return_lines(source.tree)
    if captured.texts:
        what = "text that is made of tensors, and a saved program gives tensors only"
        cure = "return the tensors, and make the text of what the loaded program gives"
    else:
        listed = " and ".join(map(str, lines))
        what = (
            f"a different structure on different paths (its returns stand on lines {listed}), "
            "which a saved program cannot express"
        )
        cure = "return the same structure of tensors on every path"
    raise SaveError(
        f"{name!r} returns {what}",
        cure=cure,
        file=source.file,
        line=lines[0] if lines else source.first_line,
    )
