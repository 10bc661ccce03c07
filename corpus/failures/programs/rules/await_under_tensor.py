"""A coroutine waits on one side of a branch that a tensor decides."""

import asyncio

import paddle

CODE = "D2S205"


async def fetch(x):
    return x * 2


async def maybe(x):
    if x.sum() > 0:  # <- fails
        x = await fetch(x)
    return x


def run(x):
    return asyncio.run(maybe(x))


def main(to_static):
    to_static(run)(paddle.ones([2]))
