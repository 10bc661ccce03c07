"""The codes of what Paddle cannot differentiate.

RuntimeError: op 'pd_op.x' has no grad op    ->    LoopGradientError (D2S307)
"""

from __future__ import annotations

import contextlib
import logging
import re
import warnings
from collections.abc import Iterator
from typing import Final

from d2s.errors import D2SError, LoopGradientError

_WITHOUT: Final = re.compile(r"op 'pd_op\.(\w+)' has no grad op")


@contextlib.contextmanager
def coded_gradients() -> Iterator[None]:
    """Give Paddle's failures to differentiate a program a code.

    Raises:
        LoopGradientError: (D2S307) Paddle fails, with its first line as the reason.
    """
    root = logging.getLogger()
    root.addFilter(_says_something)
    try:
        with warnings.catch_warnings():
            # Paddle's own backward asks values for their place, and warns that they have none.
            warnings.filterwarnings("ignore", message="(Tensor|Value) do not have 'place'")
            yield
    except D2SError:
        raise
    except (RuntimeError, TypeError, ValueError) as error:
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        operation = _WITHOUT.match(reason)
        if operation is not None:
            raise LoopGradientError(
                f"a gradient goes through {operation[1]!r}, of which Paddle has no derivative in a "
                "program",
                cure="use another operation of the same meaning, call the function under "
                "paddle.no_grad(), or leave this part in dygraph",
            ) from error
        raise LoopGradientError(
            f"Paddle cannot differentiate the branches and loops of this program ({reason})",
            cure="call the function under paddle.no_grad(), or train it in dygraph; append to "
            "lists once in each trip and pop outside of the loop",
        ) from error
    finally:
        root.removeFilter(_says_something)


def _says_something(record: logging.LogRecord) -> bool:
    """Whether a record of Paddle's tells the user anything: inputs without a gradient do not."""
    return not record.getMessage().endswith("provided by inputs has no use")
