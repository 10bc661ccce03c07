"""Which operands of an expression wait while a frame is in a call: asked of its bytecode.

In ``two(rows, grow(rows))`` the list that ``rows`` is bound to lies on Python's own stack while
``grow`` runs.  Nothing can put another one in its place there, as is done for variables.  The code
is followed from its beginning, with what each instruction leaves on the stack, to the instruction
that the frame has come to.
"""

from __future__ import annotations

import dis
import functools
import re
import sys
import types
from typing import Final

from d2s.syntax.bytecode import ENDS, steps_in

UNKNOWN: Final = "?"
"""An operand of which the code does not tell what it is."""

_NOTHING: Final = ""
"""What no operand is: a constant, an iterator of a ``for``, what ends a ``with``."""

_Stack = tuple[str, ...]


def operands(frame: types.FrameType) -> list[str]:
    """What waits on the stack of ``frame`` for the instruction that is under way.

    Args:
        frame: one that calls something.

    Returns:
        The paths of variables and attributes, as ``rows`` or ``self.rows``, and :data:`UNKNOWN`.
    """
    return [each for each in _waiting(frame.f_code, frame.f_lasti) if each != _NOTHING]


@functools.lru_cache(maxsize=4096)
def _waiting(code: types.CodeType, last: int) -> _Stack:
    stacks, steps = _stacks(code)
    at = max((number for number, step in enumerate(steps) if step.offset <= last), default=0)
    stack = stacks.get(at, ())
    return stack[: len(stack) - _taken(steps[at])]


@functools.lru_cache(maxsize=256)
def _stacks(code: types.CodeType) -> tuple[dict[int, _Stack], tuple[dis.Instruction, ...]]:
    """What is on the stack before each instruction of ``code``, by its number."""
    steps = steps_in(code)
    index = {step.offset: number for number, step in enumerate(steps)}
    handlers = list(getattr(dis.Bytecode(code), "exception_entries", ()))
    stacks: dict[int, _Stack] = {0: ()}
    queue = [0]
    while queue:
        number = queue.pop()
        step, stack = steps[number], stacks[number]
        follow = []
        if not step.opname.startswith(ENDS):
            follow.append((number + 1, _after(step, stack, jump=False)))
        if step.opcode in dis.hasjrel or step.opcode in dis.hasjabs:
            follow.append((index[step.argval], _after(step, stack, jump=True)))
        for entry in handlers:
            if entry.start <= step.offset < entry.end:
                kept = stack[: entry.depth] + (_NOTHING,) * (1 + entry.lasti)
                follow.append((index[entry.target], kept))
        for where, found in follow:
            if where < len(steps) and where not in stacks:
                stacks[where] = found
                queue.append(where)
    return stacks, steps


_EMPTY: Final = frozenset(
    (
        *("LOAD_CONST", "PUSH_NULL", "GET_ITER", "BUILD_STRING", "FORMAT_VALUE", "FORMAT_SIMPLE"),
        *("FORMAT_WITH_SPEC", "CONVERT_VALUE", "COMPARE_OP", "IS_OP", "CONTAINS_OP", "UNARY_NOT"),
        *("MAKE_FUNCTION", "LOAD_CLOSURE", "LOAD_FAST_AND_CLEAR", "LOAD_ASSERTION_ERROR"),
    )
)
"""They leave what holds no list, dict or tensor."""

_MAKES: Final = (
    "BINARY_",
    "BUILD_",
    "CALL",
    "GET_",
    "IMPORT_",
    "INPLACE_",
    "LOAD_",
    "SEND",
    "UNARY_",
)
"""They take something, and leave one thing."""


def _taken(step: dis.Instruction) -> int:
    """How much ``step`` takes from the stack."""
    name, argument = step.opname, step.arg or 0
    if name == "CALL" or name == "CALL_METHOD":
        return argument + 2
    if name == "CALL_FUNCTION":
        return argument + 1
    if name == "CALL_FUNCTION_KW":
        return argument + 2
    if name == "CALL_KW":
        return argument + 3
    made = 1 if name.startswith(_MAKES) or name in _EMPTY else 0
    return max(0, made - dis.stack_effect(step.opcode, step.arg, jump=False))


def _after(step: dis.Instruction, stack: _Stack, *, jump: bool) -> _Stack:
    """What is on the stack behind ``step``."""
    name, argument = step.opname, step.arg or 0
    if name in ("BEFORE_WITH", "SETUP_WITH"):
        effect = dis.stack_effect(step.opcode, step.arg, jump=jump)
        return (*stack[:-1], *[_NOTHING] * (1 + effect))
    if name in ("PRECALL", "KW_NAMES"):  # of Python 3.11: the call itself takes what there is
        return stack
    if name in ("COPY", "DUP_TOP"):
        return (*stack, stack[-(argument or 1)])
    if name in ("SWAP", "ROT_TWO"):
        depth = argument or 2
        return (*stack[:-depth], stack[-1], *stack[1 - depth : -1], stack[-depth])
    if name.startswith("ROT_"):
        depth = {"ROT_THREE": 3, "ROT_FOUR": 4}.get(name, argument)
        return (*stack[:-depth], stack[-1], *stack[-depth:-1])
    if name.startswith(("LOAD_FAST", "LOAD_DEREF", "LOAD_GLOBAL", "LOAD_NAME", "STORE_FAST")):
        found = _variables(step, stack)
        if found is not None:
            return found
    if name in ("LOAD_ATTR", "LOAD_METHOD"):
        return _attribute(step, stack)
    if name.startswith("CALL") and name != "CALL_INTRINSIC_1":
        left = stack[: len(stack) - _taken(step)]
        return (*left, _callee(stack[len(left) :]))
    effect = dis.stack_effect(step.opcode, step.arg, jump=jump)
    taken = min(_taken(step), len(stack))
    left = stack[: len(stack) - taken]
    more = effect + taken
    if more < 0:
        return left[:more]
    made = _NOTHING if name in _EMPTY or not name.startswith(_MAKES) else UNKNOWN
    if name.startswith("BUILD_") and all(each == _NOTHING for each in stack[len(left) :]):
        made = _NOTHING
    return (*left, *[made] * more)


def _variables(step: dis.Instruction, stack: _Stack) -> _Stack | None:
    """Behind what reads or binds variables; some instructions of Python 3.13 do two at once."""
    if step.opname in _EMPTY:
        return None
    names = step.argval if isinstance(step.argval, tuple) else (step.argval,)
    for kind, name in zip(re.findall("LOAD|STORE", step.opname), names, strict=False):
        stack = (*stack, _named(str(name))) if kind == "LOAD" else stack[:-1]
    effect = dis.stack_effect(step.opcode, step.arg, jump=False)
    if step.opname == "LOAD_GLOBAL" and effect == 2:  # with what comes before a function to call
        stack = (*stack[:-1], _NOTHING, stack[-1]) if _FIRST else (*stack, _NOTHING)
    return stack


_FIRST: Final = sys.version_info < (3, 13)
"""Before Python 3.13 it lies below the function."""


def _named(name: str) -> str:
    return _NOTHING if name.startswith(".") else name  # what a comprehension goes over


def _attribute(step: dis.Instruction, stack: _Stack) -> _Stack:
    base = stack[-1]
    path = f"{base}.{step.argval}" if base not in (_NOTHING, UNKNOWN) else base
    twice = dis.stack_effect(step.opcode, step.arg, jump=False) == 1
    return (*stack[:-1], path, _NOTHING) if twice else (*stack[:-1], path)


def _callee(taken: _Stack) -> str:
    """What a call gives: what an operator of ours makes of a function stands for the function."""
    named = [each for each in taken if each != _NOTHING]
    if len(named) == 2 and named[0].endswith(".call"):
        return named[1]
    return UNKNOWN
