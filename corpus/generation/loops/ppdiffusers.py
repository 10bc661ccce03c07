"""Samplers of PPDiffusers: the loop as its pages write it, and the pipelines."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import paddle
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


def _sampler(kind: str) -> Callable[[], Callable[..., Any]]:
    def make() -> Callable[..., Any]:
        _, network = _made()
        scheduler = _scheduler(kind)

        def sample(noise: Any) -> Any:
            scheduler.set_timesteps(STEPS)
            x = noise * scheduler.init_noise_sigma
            for t in scheduler.timesteps:
                given = scheduler.scale_model_input(x, t)
                x = scheduler.step(network(given, t).sample, t, x).prev_sample
            return x

        return sample

    return make


def _pipeline(kind: str) -> Callable[[], Callable[..., Any]]:
    def make() -> Callable[..., Any]:
        package, network = _made()
        scheduler = _scheduler(f"{kind}Scheduler")
        pipeline = getattr(package, f"{kind}Pipeline")(unet=network, scheduler=scheduler)
        pipeline.set_progress_bar_config(disable=True)

        def sample(batch: int) -> Any:
            found = pipeline(batch_size=batch, num_inference_steps=STEPS, output_type="np")
            return found.images

        return sample

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
