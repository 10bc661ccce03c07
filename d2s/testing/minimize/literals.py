"""Values as somebody would write them in a program."""

from __future__ import annotations

from typing import Any

import numpy as np
import paddle

from d2s.errors import ArgumentsError


def literal(value: Any) -> str:
    """Python's text for a value: plain data, tensors, arrays, and containers of them.

    Raises:
        ArgumentsError: (D2S301) it is an object that has no such text.
    """
    if isinstance(value, paddle.Tensor):
        dtype = str(value.dtype).rsplit(".", 1)[-1]
        plain = value.astype("float32") if dtype == "bfloat16" else value
        gradient = "" if value.stop_gradient else ", stop_gradient=False"
        return f"paddle.to_tensor({_numbers(plain.tolist())}, dtype={dtype!r}{gradient})"
    if isinstance(value, np.ndarray):
        return f"np.array({_numbers(value.tolist())}, dtype={str(value.dtype)!r})"
    write = _WAYS.get(type(value))
    if write is None:
        raise ArgumentsError(
            f"an argument of type {type(value).__name__!r} cannot be written into a file",
            cure="write a function of tensors and plain values that makes it, and name that one",
        )
    return str(write(value))


def _items(values: Any) -> str:
    return ", ".join(map(literal, values))


def _numbers(value: Any) -> str:
    """Numbers as they are written, also those that have no literal."""
    if isinstance(value, list):
        return f"[{', '.join(map(_numbers, value))}]"
    text = repr(value)
    return f"float({text!r})" if text.strip("-") in ("nan", "inf") else text


_WAYS: dict[type, Any] = {
    **dict.fromkeys((int, float, complex), _numbers),
    **dict.fromkeys((bool, str, bytes, type(None), slice), repr),
    list: lambda value: f"[{_items(value)}]",
    tuple: lambda value: f"({_items(value)}{',' if len(value) == 1 else ''})",
    set: lambda value: f"{{{_items(value)}}}" if value else "set()",
    dict: lambda value: (
        f"{{{', '.join(f'{literal(key)}: {literal(item)}' for key, item in value.items())}}}"
    ),
}
