"""Scripts of ``examples/`` give what dygraph gives (rows G1, G3), and so do their files."""

from __future__ import annotations

import importlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import paddle
import pytest
from paddle.static import InputSpec
from typer.testing import CliRunner

import d2s
from d2s import cli
from examples.letters import LINES, numbers, text
from examples.tiny_decoder import Decoder
from tests.docs.test_commands import shown

ROOT = Path(__file__).resolve().parents[2]

SHORT: dict[str, dict[str, Any]] = {
    "cnn_training": {"batches": 20},
    "seq2seq_beam_search": {"steps": 20},
    "early_exit": {"steps": 10},
    "policy_gradient": {"episodes": 3},
    "adaptive_ode": {"steps": 2},
    "nms_postprocessing": {},
}
"""What each is given here, so that it takes seconds; without arguments each runs at night."""


def numbers_of(value: Any) -> list[float]:
    """All numbers in nested lists."""
    if isinstance(value, (list, tuple)):
        return [number for each in value for number in numbers_of(each)]
    return [float(value)]


@pytest.fixture
def dygraph_too() -> Iterator[Any]:
    """Runs a function in dygraph and converted; gives both results."""

    def both(function: Any, **options: Any) -> tuple[list[float], list[float]]:
        found = []
        for on in (False, True):
            paddle.jit.enable_to_static(on)
            found.append(numbers_of(function(**options)))
        return found[0], found[1]

    yield both
    paddle.jit.enable_to_static(True)


@pytest.mark.parametrize("name", SHORT)
def test_a_script_gives_what_dygraph_gives(name: str, dygraph_too: Any) -> None:
    module = importlib.import_module(f"examples.{name}")
    expected, found = dygraph_too(module.main, **SHORT[name])
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "name",
    [
        "shrink",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("data_parallel", *SHORT, "generate")
        ),
    ],
)
def test_a_script_runs_as_it_is(name: str) -> None:
    done = python("-m", f"examples.{name}")
    assert done.returncode == 0, done.stdout + done.stderr


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    """A new interpreter, in the repository."""
    settings = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    return subprocess.run(
        [sys.executable, "-W", "ignore", *arguments],
        cwd=ROOT,
        env=settings,
        text=True,
        capture_output=True,
        timeout=280,
        check=False,
    )


@pytest.mark.slow
def test_two_processes_train_as_in_dygraph(tmp_path: Path) -> None:
    script = tmp_path / "both.py"
    script.write_text(
        "import json\nimport paddle\nfrom examples import data_parallel\n"
        "if __name__ == '__main__':\n    print('FOUND', json.dumps(data_parallel.main(5)))\n"
    )
    found = []
    for enabled in ("1", "0"):
        settings = {**os.environ, "DATA_PARALLEL_CONVERTED": enabled}
        settings["PYTHONPATH"] = os.pathsep.join([str(ROOT), *sys.path])
        done = subprocess.run(
            [sys.executable, "-W", "ignore", str(script)],
            cwd=ROOT,
            env=settings,
            text=True,
            capture_output=True,
            timeout=280,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        (line,) = (each for each in done.stdout.splitlines() if each.startswith("FOUND"))
        found.append(json.loads(line.removeprefix("FOUND")))
    converted, original = found
    assert converted[0]["state"] == converted[1]["state"]
    for mine, theirs in zip(converted, original, strict=True):
        np.testing.assert_allclose(mine["losses"], theirs["losses"], rtol=1e-5)


def decoder() -> Decoder:
    """A decoder that ends its texts at different steps."""
    paddle.seed(3)
    model = Decoder()
    model.eval()
    return model


def test_generate_is_one_program_for_every_prompt() -> None:
    model = decoder()
    spec = [InputSpec([None, None], "int64", "ids"), 24]
    generate = d2s.to_static(model.generate, spec, full_graph=True)
    for shape in ([2, 5], [1, 1], [3, 7], [1, 4]):
        ids = paddle.randint(2, 96, shape)
        expected = model.generate(ids, 24)
        assert generate(ids, 24).tolist() == expected.tolist()
    assert len(generate.programs) == 1


def test_sampling_follows_the_seed_and_the_distribution() -> None:
    model = decoder()
    sample = d2s.to_static(model.sample, full_graph=True)
    ids = paddle.full([4000, 1], 7, "int64")
    drawn = []
    for seed in (1, 1, 2):
        paddle.seed(seed)
        drawn.append(sample(ids, 1).numpy()[:, -1])
    assert (drawn[0] == drawn[1]).all()
    assert (drawn[0] != drawn[2]).any()
    theirs = model.sample(ids, 1).numpy()[:, -1]
    parts = [np.bincount(each, minlength=96) / len(each) for each in (drawn[0], theirs)]
    assert 0.5 * np.abs(parts[0] - parts[1]).sum() < 0.06


@pytest.mark.parametrize("method", ["generate", "sample"])
def test_a_saved_loop_runs_without_d2s(method: str, tmp_path: Path) -> None:
    model = decoder()
    path = tmp_path / method
    d2s.save(getattr(model, method), str(path), input_spec=[InputSpec([None, None], "int64"), 12])
    ids = paddle.randint(2, 96, [3, 6])
    np.save(f"{path}.npy", ids.numpy())
    done = python("-m", "examples.served", str(path), f"{path}.npy", f"{path}.npz", "0.01")
    assert done.returncode == 0, done.stdout + done.stderr
    found = np.load(f"{path}.npz")["result"]
    if method == "generate":
        assert found.tolist() == model.generate(ids, 12).tolist()
    assert found[:, :6].tolist() == ids.tolist()
    assert found.shape[1] > 6
    assert ((found >= 0) & (found < 96)).all()


def test_letters_and_numbers() -> None:
    assert [text([*numbers(line), 1, 5]) for line in LINES] == list(LINES)


def test_the_engine_streams_what_it_generates(tmp_path: Path) -> None:
    from examples.letters import END, LETTERS
    from examples.serve_generation.engine import by_d2s

    paddle.seed(3)
    model = Decoder(words=len(LETTERS), end=END)
    paddle.save(model.state_dict(), f"{tmp_path}/file.pdparams")
    engine = by_d2s(f"{tmp_path}/file")
    prompts = [numbers("the"), numbers("a r"), numbers("practice")]
    whole = [engine.ask(prompt) for prompt in prompts]
    for prompt, future in zip(prompts, whole, strict=True):
        row = future.result(timeout=120).tolist()
        said = [*engine.words(prompt)]
        assert row[len(prompt) :][: len(said)] == said
        assert END in said or len(said) == 40


@pytest.mark.slow
def test_the_server_answers_many_clients() -> None:
    pytest.importorskip("fastapi", reason="the extra `examples` is not installed")
    pytest.importorskip("uvicorn", reason="the extra `examples` is not installed")
    from examples.serve_generation.__main__ import main

    figures, streamed = main(requests=32, clients=8, rounds=1)
    assert streamed
    assert {engine: (each["answered"], each["wrong"]) for engine, each in figures.items()} == {
        engine: (32, []) for engine in ("dygraph", "d2s", "inference")
    }


def test_the_readme_shows_the_file() -> None:
    (shown,) = re.findall(
        r"```python\n(import paddle\n.*?)```", (ROOT / "README.md").read_text(), re.S
    )
    file = (ROOT / "examples" / "shrink.py").read_text().partition('"""\n\n')[2]
    assert shown == file


def test_the_readme_s_command_agrees_with_dygraph(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    (line,) = re.findall(r"^(d2s test .*?) *#", (ROOT / "README.md").read_text("utf-8"), re.M)
    done = CliRunner().invoke(cli.app, [*shlex.split(line)[1:], "--examples", "5"])
    assert done.exit_code == 0, done.output
    assert "agree with dygraph" in done.output


@pytest.mark.slow
def test_the_commands_of_the_readme(tmp_path: Path) -> None:
    """As a reader types them, one after the other; the first says what the page shows."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    commands = [words for words in shown(ROOT / "README.md") if words[-1] != "src"]
    settings = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    for words in commands:
        done = subprocess.run(
            [sys.executable, "-m", "d2s", *words],
            cwd=tmp_path, env=settings, text=True, capture_output=True, timeout=280, check=False,
        )  # fmt: skip
        assert done.returncode == 0, (words, done.stdout + done.stderr)
        if words[0] == "test":
            assert done.stdout.strip() in (ROOT / "README.md").read_text("utf-8")
    assert {words[0] for words in commands} == {"test", "bench", "dump", "explain", "report"}
    assert "<html" in (tmp_path / "model.html").read_text("utf-8")
