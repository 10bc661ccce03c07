"""Save the loop, serve it in three ways, compare them under load; see the package."""

from __future__ import annotations

import contextlib
import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import quote

from examples.serve_generation.load import CLIENTS, get, play, wait_for

ROOT = Path(__file__).resolve().parents[2]
PROMPTS = ("the", "a r", "all", "practice", "look", "ever", "a", "t")
ENGINES = ("dygraph", "d2s", "inference")
REQUESTS, ROUNDS, SECONDS = 320, 4, 120.0


@contextlib.contextmanager
def serving(engine, path, seconds=SECONDS):
    """A server in a process of its own; gives its port."""
    command = [sys.executable, "-W", "ignore", "-m", "examples.serve_generation.server"]
    command += [engine, path, str(seconds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        try:
            yield int(process.stdout.readline())
        finally:
            process.terminate()


def prepare(folder):
    """Train, save; the path of the files, and what dygraph writes for each prompt."""
    import paddle

    import d2s
    from examples.letters import numbers, text
    from examples.proverbs import train
    from examples.serve_generation.engine import STEPS

    model, _ = train()
    path = str(Path(folder) / "generate")
    spec = [paddle.static.InputSpec([None, None], "int64", "ids"), STEPS]
    d2s.save(model.generate, path, input_spec=spec)
    paddle.save(model.state_dict(), f"{path}.pdparams")
    expected = {}
    for prompt in PROMPTS:
        (row,) = model.generate(paddle.to_tensor([numbers(prompt)]), STEPS).tolist()
        expected[prompt] = text(row)
    return path, expected


def main(requests=REQUESTS, clients=CLIENTS, rounds=ROUNDS):
    """Compare the three in turns: the best round of each, and whether streaming works."""
    missing = [each for each in ("fastapi", "uvicorn") if importlib.util.find_spec(each) is None]
    if missing:
        sys.exit(f"this example needs {' and '.join(missing)}: pip install '.[examples]'")
    figures = {}
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="d2s-"))
        path, expected = prepare(folder)
        ports = {engine: stack.enter_context(serving(engine, path)) for engine in ENGINES}
        for port in ports.values():
            for prompt in PROMPTS:
                wait_for(port, prompt)
            play(port, expected, 2 * clients, clients)  # until it is warm
        for _ in range(rounds):
            for engine, port in ports.items():
                found = play(port, expected, requests, clients)
                best = figures.setdefault(engine, found)
                found["wrong"] += best["wrong"]
                if found["tokens_s"] >= best["tokens_s"]:
                    figures[engine] = found
                best["wrong"] = found["wrong"]
        streamed = get(ports["d2s"], f"/stream?prompt={quote('practice')}")
    return figures, "practice" + streamed == expected["practice"]


def show(figures, right):
    """Print them; whether every answer was right."""
    title = f"{REQUESTS} requests of {CLIENTS} clients, best round"
    print(f"{title:<41} answers/s   tokens/s    median       p99")
    print("/stream: every letter by a callback of the program:", "ok" if right else "WRONG")
    for engine, found in figures.items():
        right &= not found["wrong"]
        print(
            f"{engine:<41} {found['requests_s']:>10.0f} {found['tokens_s']:>10,.0f} "
            f"{found['median_s'] * 1e3:>6.0f} ms {found['p99_s'] * 1e3:>6.0f} ms"
            + ("" if not found["wrong"] else f"  WRONG {found['wrong'][0]}")
        )
    return right


if __name__ == "__main__":
    sys.exit(not show(*main()))
