"""The whole way of a decoding loop: dygraph, one program, a file, a process without d2s.

    make generate          or: python -m examples.generate

``examples/tiny_decoder.py`` is a language model in plain dygraph style.  It learns a few proverbs;
its ``generate`` is converted and held against dygraph, then saved and run by Paddle Inference.
Ends with 0 if everything is equal, 1 if not.
"""

from __future__ import annotations

import inspect
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import paddle
from paddle.static import InputSpec

import d2s
from examples.letters import LINES, numbers, text
from examples.proverbs import train
from examples.tiny_decoder import Decoder

STEPS, DRAWS = 40, 2000
ROOT = Path(__file__).resolve().parents[1]
PROMPTS = ("the e", "a rol", "all t", "look ")


def encode(prompts):
    """Texts of one length as a tensor."""
    return paddle.to_tensor([numbers(prompt) for prompt in prompts])


def decode(ids):
    """The texts of a tensor or an array."""
    return [text(row) for row in ids.tolist()]


def same(found, expected):
    """Whether two results are the same words."""
    return list(found.shape) == list(expected.shape) and bool((found == expected).all())


def speed(generate, ids, seconds=1.0):
    """Tokens that ``generate`` writes in a second."""
    generate(ids, STEPS)
    tokens, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        out = generate(ids, STEPS)
        tokens += ids.shape[0] * (out.shape[1] - ids.shape[1])
    return tokens / (time.perf_counter() - start)


def second_letters(sample, draws=DRAWS):
    """How often each letter follows a letter that leaves a choice: a distribution."""
    ids = encode([" "] * draws)
    drawn = sample(ids, 1, 4.0)[:, -1].numpy()
    return np.bincount(drawn, minlength=32) / draws


def main():
    """Show it; the number of comparisons that failed."""
    began, failed = time.perf_counter(), 0

    def tell(text, good=None):
        nonlocal failed
        failed += good is False
        print("  " + text + ("" if good is None else "  ok" if good else "  WRONG"), flush=True)

    print(f"\nA decoder learns {len(LINES)} proverbs, letter by letter")
    model, loss = train()
    tell(f"loss {loss:.3f}")

    print("\nIts generate, and what d2s makes of it")
    print(d2s.code(inspect.unwrap(Decoder.generate)))

    print("Converted, beside dygraph")
    generate = d2s.to_static(model.generate, full_graph=True)
    start = time.perf_counter()
    generate(encode(PROMPTS), STEPS)
    tell(f"first call, which captures the program: {time.perf_counter() - start:.1f} s")
    for prompts in (PROMPTS, PROMPTS[:2], ["practice m"], ["e"]):
        ids = encode(prompts)
        found = generate(ids, STEPS)
        good = same(found, model.generate(ids, STEPS))
        tell(f"{', '.join(prompts)} -> {', '.join(decode(found))}", good)
    sample = d2s.to_static(model.sample, full_graph=True)
    paddle.seed(1)
    far = 0.5 * np.abs(second_letters(sample) - second_letters(model.sample)).sum()
    tell(f"sampled letters, {DRAWS} draws of each: {far:.1%} of them fell otherwise", far < 0.08)

    print("\nSaved, and run by Paddle Inference in a process without d2s")
    ids = encode(PROMPTS)
    expected = model.generate(ids, STEPS)
    with tempfile.TemporaryDirectory(prefix="d2s-") as folder:
        path = Path(folder) / "generate"
        spec = [InputSpec([None, None], "int64", "ids"), STEPS]
        d2s.save(model.generate, str(path), input_spec=spec)
        for file in sorted(Path(folder).iterdir()):
            tell(f"{file.name}, {file.stat().st_size:,} bytes")
        np.save(f"{path}.npy", ids.numpy())
        command = [sys.executable, "-W", "ignore", "-m", "examples.served"]
        command += [str(path), f"{path}.npy", f"{path}.npz"]
        subprocess.run(command, check=True, cwd=ROOT)
        with np.load(f"{path}.npz") as stored:
            result, rate = stored["result"], float(stored["calls_per_second"])
    tell(", ".join(decode(result)), same(result, expected.numpy()))

    print("\nTokens a second, a batch of four")
    tokens = ids.shape[0] * (expected.shape[1] - ids.shape[1])
    dygraph = speed(model.generate, ids)
    for name, found in (
        ("dygraph", dygraph),
        ("d2s, one program", speed(generate, ids)),
        ("the file in Paddle Inference", tokens * rate),
    ):
        tell(f"{name:<30} {found:>8,.0f}   {found / dygraph:.2f}x")
    verdict = f"{failed} comparisons FAILED" if failed else "all comparisons hold"
    print(f"\n{verdict}; {time.perf_counter() - began:.0f} s")
    return failed


if __name__ == "__main__":
    sys.exit(bool(main()))
