"""Which variables a function that is under way may still read: asked of its bytecode.

A variable that is bound anew before it is read, or read nowhere, is no name by which somebody
knows a list or tensor.  Compiled code is followed from the instruction that the frame has come to,
through jumps and the handlers of exceptions.
"""

from __future__ import annotations

import dis
import functools
import re
import types
from collections.abc import Iterator
from typing import Final


def is_read_later(frame: types.FrameType, name: str) -> bool:
    """Whether the code of ``frame``, or a function in it, may still read the variable ``name``."""
    code = frame.f_code
    if _is_kept(code, frame.f_lasti, name):
        return True
    return _is_reached(code, frame.f_lasti, name)


def unpacks_into(frame: types.FrameType) -> int | None:
    """Into how many parts ``frame`` takes something apart now, as ``a, b = pair`` does.

    ``None`` if it does something else, or one of the parts has a ``*``.
    """
    now = (step for step in steps_in(frame.f_code) if step.offset == frame.f_lasti)
    step = next(now, None)
    return step.arg if step is not None and step.opname == "UNPACK_SEQUENCE" else None


@functools.lru_cache(maxsize=4096)
def _is_kept(code: types.CodeType, last: int, name: str) -> bool:
    """Whether a function that reads ``name`` may have been made when ``last`` is come to."""
    if name not in code.co_cellvars or not any(_reads(inner, name) for inner in inner_codes(code)):
        return False
    steps = steps_in(code)
    goes_back = any(
        step.opcode in (*dis.hasjrel, *dis.hasjabs) and step.argval < step.offset for step in steps
    )
    made = (step.offset for step in steps if step.opname in _CLOSING and _names(step, name))
    return any(goes_back or offset < last for offset in made)


_CLOSING: Final = ("LOAD_CLOSURE", "LOAD_FAST")
"""Takes the cell of a variable for a function (from Python 3.13 on as if it were a variable)."""

_READS: Final = (
    "LOAD_CLOSURE",
    "LOAD_FAST",
    "LOAD_DEREF",
    "LOAD_CLASSDEREF",
    "LOAD_NAME",
    "LOAD_FROM_DICT_OR",
)
_BINDS: Final = ("STORE_FAST", "STORE_DEREF", "STORE_NAME", "DELETE_FAST", "DELETE_DEREF")
_SAVES: Final = "LOAD_FAST_AND_CLEAR"
"""Puts the variable aside for a comprehension that has one of the same name (Python 3.12)."""

ENDS: Final = ("RETURN_", "RAISE_", "RERAISE", "JUMP_FORWARD", "JUMP_ABSOLUTE", "JUMP_BACKWARD")
"""What is not followed by the next instruction."""


@functools.lru_cache(maxsize=256)
def steps_in(code: types.CodeType) -> tuple[dis.Instruction, ...]:
    """The instructions of ``code``."""
    return tuple(dis.get_instructions(code))


@functools.lru_cache(maxsize=4096)
def _is_reached(code: types.CodeType, last: int, name: str) -> bool:
    """Whether ``code`` may read ``name`` behind the instruction at ``last``, before it is bound."""
    steps = steps_in(code)
    index = {step.offset: number for number, step in enumerate(steps)}
    handlers = list(getattr(dis.Bytecode(code), "exception_entries", ()))
    queue = [number for number, step in enumerate(steps) if step.offset > last][:1]
    seen = set(queue)
    while queue:
        number = queue.pop()
        step = steps[number]
        if step.opname == _SAVES and name == step.argval:
            number = _restored(steps, number, name)
        else:
            use = _use(step, name)
            if use is not None:
                if use in _READS:
                    return True
                continue
        follow = [] if step.opname.startswith(ENDS) else [number + 1]
        if step.opcode in dis.hasjrel or step.opcode in dis.hasjabs:
            follow.append(index[step.argval])
        follow += [
            index[entry.target] for entry in handlers if entry.start <= step.offset < entry.end
        ]
        fresh = {each for each in follow if each < len(steps)} - seen
        seen |= fresh
        queue += fresh
    return False


def _restored(steps: tuple[dis.Instruction, ...], saved: int, name: str) -> int:
    """The number of the instruction that puts back what the one at ``saved`` has put aside."""
    for number in range(saved + 1, len(steps)):
        before, step = steps[number - 1], steps[number]
        if before.opname == "SWAP" and step.opname.startswith("STORE_FAST") and _names(step, name):
            return number
    return saved


def _use(step: dis.Instruction, name: str) -> str | None:
    """The first thing that an instruction does with the variable ``name``: a read, or not.

    Some instructions of Python 3.13 read or bind two variables at once.
    """
    if not _names(step, name):
        return None
    if step.opname == "LOAD_CONST":  # a text, or names of the state
        return None
    if isinstance(step.argval, tuple):
        kinds = re.findall("(?:LOAD|STORE)_FAST", step.opname)
        return str(kinds[step.argval.index(name)])
    found = (each for each in (*_READS, *_BINDS) if step.opname.startswith(each))
    return next(found, None)


def inner_codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """The code of the functions, lambdas and comprehensions in ``code``, at any depth."""
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from inner_codes(constant)


@functools.lru_cache(maxsize=4096)
def binds(code: types.CodeType, name: str) -> bool:
    """Whether ``code``, or a function in it, binds the variable ``name`` of one around it."""
    return any(
        step.argval == name
        and (step.opname == "STORE_GLOBAL" or (step.opname == "STORE_DEREF" and name in free))
        for each in (code, *inner_codes(code))
        for free in (each.co_freevars,)
        for step in dis.get_instructions(each)
    )


def _reads(code: types.CodeType, name: str) -> bool:
    return name in code.co_freevars and any(
        step.opname in ("LOAD_DEREF", "LOAD_CLASSDEREF") and step.argval == name
        for step in dis.get_instructions(code)
    )


def _names(step: dis.Instruction, name: str) -> bool:
    # Some instructions of Python 3.13 load two variables at once.
    return step.argval == name or (isinstance(step.argval, tuple) and name in step.argval)
