"""Constants of Python: what the run does not decide, and when two of them are the same."""

from __future__ import annotations

from typing import Any, Final

from d2s.runtime.trace import tentatively
from d2s.runtime.values.cases import Cases
from d2s.runtime.values.objects import is_user_class
from d2s.runtime.values.tensors import is_numeric, is_tensor
from d2s.runtime.values.tree import parts

CONSTANTS: Final = (bool, int, float, str, bytes, type(None))
"""Types of values that hold no other."""


def runs_no_code(thing: object) -> bool:
    """Whether operators of ``thing``, or of whatever it may be, run no code of the user's."""
    leaves = thing.leaves() if isinstance(thing, Cases) else [thing]
    return all(is_numeric(leaf) or type(leaf) in CONSTANTS for leaf in leaves)


def same_constant(true: object, false: object) -> bool:
    """Whether two Python values are one constant: same type, equal, and not to be told apart.

    Two zeros may differ in their sign, two arrays in their dtype; two objects of the user's that
    compare equal are two objects.
    """
    if true is false:
        return True
    kind = type(true)
    if kind is not type(false) or holds_tensors(true) or holds_tensors(false):
        return False
    if is_user_class(kind) or hasattr(kind, "d2s_condition"):  # a text of the run says it there
        return False
    if kind is float and true != true and false != false:
        return True
    try:
        with tentatively():
            return bool(true == false) and repr(true) == repr(false)
    except Exception:  # an array of several numbers does not say "equal"
        return False


def holds_tensors(thing: Any, depth: int = 8) -> bool:
    """Whether ``thing`` is, or holds at some depth, what the run decides."""
    if type(thing) in CONSTANTS:
        return False
    held = parts(thing) if depth else None
    if held is not None:
        return any(holds_tensors(part, depth - 1) for _, part in held[0])
    return is_tensor(thing) or isinstance(thing, Cases)
