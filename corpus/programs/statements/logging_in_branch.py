"""A layer that logs what it did.

exercises: logging calls with tensor arguments, in a branch; lazily formatted
rows: 62
"""

import io
import logging

import paddle

STREAM = io.StringIO()
logger = logging.getLogger("corpus.logging_in_branch")
logger.setLevel(logging.INFO)
logger.propagate = False
logger.addHandler(logging.StreamHandler(STREAM))
OBSERVED = lambda: STREAM.getvalue()  # noqa: E731


def BEFORE(index):  # noqa: N802
    STREAM.seek(0)
    STREAM.truncate()


def clipped(x, limit):
    norm = x.norm()
    if norm > limit:
        logger.info("clipped from %.2f", norm)
        x = x * limit / norm
    else:
        logger.debug("not seen")
        logger.warning("kept")
    return x


def build():
    return clipped


def inputs():
    limit = paddle.to_tensor(2.0)
    yield paddle.to_tensor([1.0, 2.0]), limit
    yield paddle.to_tensor([1.0, 0.5]), limit
