"""Diffusion models of PPDiffusers; the settings are those of the package's own tests."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import paddle

from corpus.zoo.model import Inputs, Model, Package, image, words

Settings = dict[str, Any]
UNET: Settings = {
    "block_out_channels": (32, 64),
    "in_channels": 4,
    "out_channels": 4,
    "layers_per_block": 1,
    "sample_size": 16,
}
CONDITION: Settings = {**UNET, "cross_attention_dim": 32, "attention_head_dim": 8}
UNET_1D: Settings = {
    "in_channels": 14,
    "out_channels": 14,
    "use_timestep_embedding": True,
    "freq_shift": 1.0,
    "flip_sin_to_cos": False,
    "time_embedding_type": "positional",
    "down_block_types": ("DownResnetBlock1D", "DownResnetBlock1D"),
    "block_out_channels": (32, 64),
}
COMPRESSOR: Settings = {
    "in_channels": 3,
    "out_channels": 3,
    "block_out_channels": (32, 64),
    "down_block_types": ("DownEncoderBlock2D", "DownEncoderBlock2D"),
    "up_block_types": ("UpDecoderBlock2D", "UpDecoderBlock2D"),
}


def _noisy(*shape: int) -> Inputs:
    """A noisy picture and the step that it has come to."""
    return lambda: (paddle.randn(shape), paddle.to_tensor([10] * shape[0]))


def _with_text(*shape: int) -> Inputs:
    """The same, and the words that tell what it shows."""
    return lambda: (
        paddle.randn(shape),
        paddle.to_tensor([10]),
        paddle.randn([shape[0], 4, 32]),
    )


def _classes(*shape: int) -> Inputs:
    return lambda: (
        paddle.randn(shape),
        paddle.to_tensor([10] * shape[0]),
        paddle.randint(0, 10, [shape[0]]),
    )


NETWORKS: dict[str, tuple[str, Settings, Inputs]] = {
    "UNet1DModel": (
        "UNet1DModel",
        {
            **UNET_1D,
            "out_block_type": "OutConv1DBlock",
            "mid_block_type": "MidResTemporalBlock1D",
            "up_block_types": ("UpResnetBlock1D",),
            "act_fn": "swish",
        },
        _noisy(2, 14, 16),
    ),
    "UNet1DModel_value": (
        "UNet1DModel",
        {
            **UNET_1D,
            "up_block_types": (),
            "out_block_type": "ValueFunction",
            "mid_block_type": "ValueFunctionMidBlock1D",
            "layers_per_block": 1,
            "downsample_each_block": True,
            "act_fn": "mish",
        },
        _noisy(2, 14, 16),
    ),
    "UNet2DModel": (
        "UNet2DModel",
        {
            **UNET,
            "down_block_types": ("DownBlock2D", "AttnDownBlock2D"),
            "up_block_types": ("AttnUpBlock2D", "UpBlock2D"),
            "attention_head_dim": 8,
        },
        _noisy(2, 4, 16, 16),
    ),
    "UNet2DModel_skip": (
        "UNet2DModel",
        {
            **UNET,
            "time_embedding_type": "fourier",
            "norm_eps": 1e-6,
            "mid_block_scale_factor": 1.414,
            "norm_num_groups": None,
            "down_block_types": ("SkipDownBlock2D", "AttnSkipDownBlock2D"),
            "up_block_types": ("AttnSkipUpBlock2D", "SkipUpBlock2D"),
            "in_channels": 3,
            "out_channels": 3,
        },
        _noisy(2, 3, 16, 16),
    ),
    "UNet2DConditionModel": (
        "UNet2DConditionModel",
        {
            **CONDITION,
            "down_block_types": ("CrossAttnDownBlock2D", "DownBlock2D"),
            "up_block_types": ("UpBlock2D", "CrossAttnUpBlock2D"),
        },
        _with_text(2, 4, 16, 16),
    ),
    "UNet2DConditionModel_simple": (
        "UNet2DConditionModel",
        {
            **CONDITION,
            "down_block_types": ("SimpleCrossAttnDownBlock2D", "DownBlock2D"),
            "mid_block_type": "UNetMidBlock2DSimpleCrossAttn",
            "up_block_types": ("UpBlock2D", "SimpleCrossAttnUpBlock2D"),
        },
        _with_text(2, 4, 16, 16),
    ),
    "UNet3DConditionModel": (
        "UNet3DConditionModel",
        {
            **CONDITION,
            "down_block_types": ("CrossAttnDownBlock3D", "DownBlock3D"),
            "up_block_types": ("UpBlock3D", "CrossAttnUpBlock3D"),
        },
        _with_text(2, 4, 3, 16, 16),
    ),
    "UNetMotionModel": (
        "UNetMotionModel",
        {
            **UNET,
            "cross_attention_dim": 32,
            "num_attention_heads": 4,
            "down_block_types": ("CrossAttnDownBlockMotion", "DownBlockMotion"),
            "up_block_types": ("UpBlockMotion", "CrossAttnUpBlockMotion"),
        },
        _with_text(2, 4, 3, 16, 16),
    ),
    "AutoencoderKL": ("AutoencoderKL", {**COMPRESSOR, "latent_channels": 4}, image(16)),
    "AsymmetricAutoencoderKL": (
        "AsymmetricAutoencoderKL",
        {
            "in_channels": 3,
            "out_channels": 3,
            "down_block_types": ("DownEncoderBlock2D",) * 2,
            "down_block_out_channels": (32, 64),
            "layers_per_down_block": 1,
            "up_block_types": ("UpDecoderBlock2D",) * 2,
            "up_block_out_channels": (32, 64),
            "layers_per_up_block": 1,
            "latent_channels": 4,
            "sample_size": 16,
        },
        image(16),
    ),
    "AutoencoderTiny": (
        "AutoencoderTiny",
        {
            "encoder_block_out_channels": (32, 32),
            "decoder_block_out_channels": (32, 32),
            "num_encoder_blocks": (1, 1),
            "num_decoder_blocks": (1, 1),
        },
        image(16),
    ),
    "VQModel": (
        "VQModel",
        {**COMPRESSOR, "latent_channels": 3, "num_vq_embeddings": 16},
        image(16),
    ),
    "PriorTransformer": (
        "PriorTransformer",
        {
            "num_attention_heads": 2,
            "attention_head_dim": 4,
            "num_layers": 2,
            "embedding_dim": 8,
            "num_embeddings": 7,
            "additional_embeddings": 4,
        },
        lambda: (
            paddle.randn([2, 8]),
            paddle.to_tensor([10, 20]),
            paddle.randn([2, 8]),
            paddle.randn([2, 7, 8]),
        ),
    ),
    "Transformer2DModel": (
        "Transformer2DModel",
        {"num_attention_heads": 2, "attention_head_dim": 16, "in_channels": 32},
        lambda: (paddle.randn([2, 32, 8, 8]),),
    ),
    "Transformer2DModel_vectors": (
        "Transformer2DModel",
        {
            "num_attention_heads": 2,
            "attention_head_dim": 16,
            "sample_size": 4,
            "num_vector_embeds": 5,
        },
        lambda: (paddle.randint(0, 5, [2, 16]),),
    ),
    "TransformerTemporalModel": (
        "TransformerTemporalModel",
        {"num_attention_heads": 2, "attention_head_dim": 16, "in_channels": 32},
        lambda: (
            paddle.randn([6, 32, 4, 4]),
            None,
            None,
            None,
            3,
        ),
    ),
    "ControlNetModel": (
        "ControlNetModel",
        {
            "block_out_channels": (32, 64),
            "in_channels": 4,
            "layers_per_block": 1,
            "cross_attention_dim": 32,
            "attention_head_dim": 8,
            "down_block_types": ("CrossAttnDownBlock2D", "DownBlock2D"),
            "conditioning_embedding_out_channels": (16, 32),
        },
        lambda: (
            paddle.randn([2, 4, 16, 16]),
            paddle.to_tensor([10]),
            paddle.randn([2, 4, 32]),
            paddle.randn([2, 3, 32, 32]),
        ),
    ),
    "T5FilmDecoder": (
        "T5FilmDecoder",
        {
            "input_dims": 8,
            "targets_length": 6,
            "d_model": 16,
            "num_layers": 2,
            "num_heads": 2,
            "d_kv": 8,
            "d_ff": 16,
        },
        lambda: (
            [(paddle.randn([2, 5, 16]), paddle.ones([2, 5]))],
            paddle.randn([2, 6, 8]),
            paddle.to_tensor([0.1, 0.2]),
        ),
    ),
    "SD3Transformer2DModel": (
        "SD3Transformer2DModel",
        {
            "sample_size": 16,
            "patch_size": 1,
            "in_channels": 4,
            "num_layers": 2,
            "attention_head_dim": 8,
            "num_attention_heads": 4,
            "caption_projection_dim": 32,
            "joint_attention_dim": 32,
            "pooled_projection_dim": 64,
            "out_channels": 4,
        },
        lambda: (
            paddle.randn([2, 4, 8, 8]),
            paddle.randn([2, 7, 32]),
            paddle.randn([2, 64]),
            paddle.to_tensor([10, 20]),
        ),
    ),
    "DiT": (
        "Transformer2DModel",
        {
            "num_attention_heads": 2,
            "attention_head_dim": 16,
            "in_channels": 4,
            "out_channels": 8,
            "sample_size": 8,
            "patch_size": 2,
            "num_layers": 2,
            "num_embeds_ada_norm": 100,
            "norm_type": "ada_norm_zero",
            "norm_elementwise_affine": False,
            "activation_fn": "gelu-approximate",
            "attention_bias": True,
        },
        lambda: (
            paddle.randn([2, 4, 8, 8]),
            None,
            paddle.to_tensor([10, 20]),
            None,
            paddle.randint(0, 100, [2]),
        ),
    ),
    "DiTLLaMA2DModel": (
        "DiTLLaMA2DModel",
        {
            "sample_size": 8,
            "patch_size": 2,
            "in_channels": 4,
            "out_channels": 8,
            "num_layers": 2,
            "num_attention_heads": 4,
            "attention_head_dim": 8,
            "multiple_of": 16,
        },
        _classes(2, 4, 8, 8),
    ),
}
"""Name -> class, settings and inputs."""


def _builder(name: str, settings: Settings) -> Callable[[], Any]:
    def build() -> Any:
        return getattr(importlib.import_module("ppdiffusers.models"), name)(**settings)

    return build


def models() -> list[Model]:
    """Networks that take noise away, and those that make pictures small."""
    made = [
        Model(name, _builder(kind, settings), inputs)
        for name, (kind, settings, inputs) in NETWORKS.items()
    ]
    return sorted(made, key=lambda model: "UNet" in model.name)  # the large ones come last


PACKAGE = Package(
    name="ppdiffusers",
    pins=("ppdiffusers==0.29.0", "paddlenlp==3.0.0b4"),
    roots=("ppdiffusers",),
    modules=("ppdiffusers.models",),
    absent=words(
        "aistudio_sdk datasets jieba multiprocess sentencepiece seqeval visualdl tiktoken rouge "
        "paddle2onnx fastapi uvicorn decord librosa soundfile parameterized"
    ),
    models=models,
)
