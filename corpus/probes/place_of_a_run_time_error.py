"""An operation inside a branch fails on the run; the error has to name the line of the program."""

import traceback
from pathlib import Path

import paddle


def looked_up(table, at):
    if at.sum() > 0:
        row = paddle.gather(table, at)
        return row * 2
    return table


def probe(convert):
    converted = convert(looked_up)
    table = paddle.ones([3, 2])
    converted(table, paddle.to_tensor([1]))
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    line = 1 + next(at for at, text in enumerate(lines) if "paddle.gather(table" in text)
    try:
        converted(table, paddle.to_tensor([7]))
    except Exception as error:
        # What a user reads: the traceback, and the text that Paddle has put into the message.
        text = "".join(traceback.format_exception(error))
        named = f'{Path(__file__).name}", line {line}' in text
        if named or f"{Path(__file__).name}:{line}" in text:
            return "right"
        return f"failed {type(error).__name__}: the text does not name the line"
    return "WRONG returned, should raise"
