"""Samplers of PPDiffusers: the loop as its pages write it, and the pipelines."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import paddle
from paddle import nn
from paddle.static import InputSpec

from corpus.generation.model import Arguments, Loop
from corpus.zoo.judge import seed
from corpus.zoo.packages.ppdiffusers import NETWORKS

STEPS = 4
SCHEDULERS = {
    "ddpm": "DDPMScheduler",
    "ddim": "DDIMScheduler",
    "pndm": "PNDMScheduler",
    "lms": "LMSDiscreteScheduler",
    "euler": "EulerDiscreteScheduler",
    "euler ancestral": "EulerAncestralDiscreteScheduler",
    "heun": "HeunDiscreteScheduler",
    "dpm multistep": "DPMSolverMultistepScheduler",
    "dpm singlestep": "DPMSolverSinglestepScheduler",
    "unipc": "UniPCMultistepScheduler",
    "deis": "DEISMultistepScheduler",
    "kdpm2": "KDPM2DiscreteScheduler",
}
PIPELINES = {"ddpm pipeline": "DDPM", "ddim pipeline": "DDIM"}


def _made() -> tuple[Any, Any]:
    """The package, and a small network."""
    seed(7)
    kind, settings, _ = NETWORKS["UNet2DModel"]
    package = importlib.import_module("ppdiffusers")
    network = getattr(package, kind)(**settings)
    network.eval()
    return package, network


def _scheduler(kind: str) -> Any:
    module = importlib.import_module("ppdiffusers.schedulers")
    return getattr(module, kind)(num_train_timesteps=100)


class _Sampler(nn.Layer):  # type: ignore[misc]
    """The loop of the package's pages, as a layer, so that its parameters can be saved."""

    def __init__(self, network: Any, scheduler: Any) -> None:
        super().__init__()
        self.network, self.scheduler = network, scheduler

    def sample(self, noise: Any) -> Any:
        scheduler = self.scheduler
        scheduler.set_timesteps(STEPS)
        x = noise * scheduler.init_noise_sigma
        for t in scheduler.timesteps:
            given = scheduler.scale_model_input(x, t)
            x = scheduler.step(self.network(given, t).sample, t, x).prev_sample
        return x


class _Pipeline(nn.Layer):  # type: ignore[misc]
    def __init__(self, network: Any, pipeline: Any) -> None:
        super().__init__()
        self.network, self.pipeline = network, pipeline

    def sample(self, batch: int) -> Any:
        found = self.pipeline(batch_size=batch, num_inference_steps=STEPS, output_type="np")
        return found.images


def _sampler(kind: str) -> Callable[[], Callable[..., Any]]:
    def make() -> Callable[..., Any]:
        _, network = _made()
        return _Sampler(network, _scheduler(kind)).sample

    return make


def _pipeline(kind: str) -> Callable[[], Callable[..., Any]]:
    def make() -> Callable[..., Any]:
        package, network = _made()
        scheduler = _scheduler(f"{kind}Scheduler")
        pipeline = getattr(package, f"{kind}Pipeline")(unet=network, scheduler=scheduler)
        pipeline.set_progress_bar_config(disable=True)
        return _Pipeline(network, pipeline).sample

    return make


def _noise() -> list[Arguments]:
    """Two of one size, one of another."""
    paddle.seed(11)
    return [(paddle.randn([rows, 4, 16, 16]),) for rows in (2, 2, 3)]


def loops() -> list[Loop]:
    """Each scheduler, and the pipelines."""
    specs = tuple([InputSpec([rows, 4, 16, 16])] for rows in (None, 2))
    samplers = [Loop(name, _sampler(kind), _noise, specs) for name, kind in SCHEDULERS.items()]
    pipelines = [
        Loop(name, _pipeline(kind), lambda: [(2,), (2,), (2,)], ([2],))
        for name, kind in PIPELINES.items()
    ]
    return samplers + pipelines
