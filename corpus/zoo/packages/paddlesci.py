"""Networks of PaddleScience: operators, embeddings, and models of physics."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

import paddle

from corpus.zoo.model import Inputs, Model, Package, words

Settings = dict[str, Any]
IN, OUT = ("x",), ("u",)
KEYS: Settings = {"input_keys": IN, "output_keys": OUT}
FLOW: Settings = {"input_keys": ("t", "x"), "output_keys": ("u", "v")}
BRANCHES: Settings = {
    "num_features": 8,
    "branch_num_layers": 2,
    "trunk_num_layers": 2,
    "branch_hidden_size": 16,
    "trunk_hidden_size": 16,
}
FNO: Settings = {
    **KEYS,
    "hidden_channels": 8,
    "in_channels": 2,
    "out_channels": 1,
    "lifting_channels": 8,
    "projection_channels": 8,
    "n_layers": 2,
}
CVIT: Settings = {
    "input_keys": ("u", "y"),
    "output_keys": ("s",),
    "in_dim": 1,
    "latent_dim": 16,
    "emb_dim": 16,
    "depth": 2,
    "num_heads": 2,
    "dec_emb_dim": 16,
    "dec_num_heads": 2,
}
CUBOIDS: Settings = {
    **KEYS,
    "input_shape": (4, 16, 16, 1),
    "target_shape": (2, 16, 16, 1),
    "base_units": 16,
    "num_heads": 2,
    "enc_depth": (1, 1),
    "dec_depth": (1, 1),
    "enc_cuboid_size": ((2, 2, 2), (2, 2, 2)),
    "enc_cuboid_strategy": (("l", "l", "l"), ("d", "d", "d")),
    "enc_shift_size": ((0, 0, 0), (0, 0, 0)),
    "dec_self_cuboid_size": ((2, 2, 2), (2, 2, 2)),
    "dec_self_shift_size": ((0, 0, 0), (0, 0, 0)),
    "dec_cross_cuboid_hw": ((2, 2), (2, 2)),
    "num_global_vectors": 2,
    "enc_attn_patterns": ["axial"] * 2,
    "dec_self_attn_patterns": ["axial"] * 2,
    "dec_cross_attn_patterns": ["cross_1x1"] * 2,
    "ffn_activation": "gelu",
    "initial_downsample_activation": "leaky_relu",
    "checkpoint_level": 0,
}
GAN_BLOCKS = ((2, 4, 4), (4, 4, 4), (2, 1, 1))

NETWORKS: dict[str, tuple[str, Settings, Mapping[str, list[int]]]] = {
    "MLP": (
        "MLP",
        {**FLOW, "num_layers": 3, "hidden_size": 16},
        {"t": [5, 1], "x": [5, 1]},
    ),
    "MLP_skip_weight_norm": (
        "MLP",
        {
            **FLOW,
            "num_layers": 4,
            "hidden_size": 16,
            "skip_connection": True,
            "weight_norm": True,
            "activation": "swish",
        },
        {"t": [5, 1], "x": [5, 1]},
    ),
    "MLP_periods_fourier": (
        "MLP",
        {
            **FLOW,
            "num_layers": 3,
            "hidden_size": 16,
            "periods": {"x": (2.0, True)},
            "fourier": {"dim": 8, "scale": 1.0},
        },
        {"t": [5, 1], "x": [5, 1]},
    ),
    "ModifiedMLP": (
        "ModifiedMLP",
        {**FLOW, "num_layers": 3, "hidden_size": 16},
        {"t": [5, 1], "x": [5, 1]},
    ),
    "PirateNet": (
        "PirateNet",
        {**FLOW, "num_blocks": 2, "hidden_size": 16, "fourier": {"dim": 16, "scale": 1.0}},
        {"t": [5, 1], "x": [5, 1]},
    ),
    "SPINN": (
        "SPINN",
        {
            "input_keys": ("x", "y"),
            "output_keys": ("u", "v"),
            "r": 4,
            "num_layers": 2,
            "hidden_size": 8,
        },
        {"x": [3, 1], "y": [4, 1]},
    ),
    "DeepONet": (
        "DeepONet",
        {"u_key": "u", "y_key": "y", "G_key": "G", "num_loc": 10, **BRANCHES},
        {"u": [6, 10], "y": [6, 1]},
    ),
    "HEDeepONets": (
        "HEDeepONets",
        {
            "heat_input_keys": ("qm_h",),
            "cold_input_keys": ("qm_c",),
            "trunk_input_keys": ("x", "t"),
            "output_keys": ("T_h", "T_c", "T_w"),
            "heat_num_loc": 1,
            "cold_num_loc": 1,
            **BRANCHES,
        },
        {"qm_h": [5, 1], "qm_c": [5, 1], "x": [5, 1], "t": [5, 1]},
    ),
    "AutoEncoder": (
        "AutoEncoder",
        {
            **KEYS,
            "output_keys": ("mu", "sigma", "z"),
            "input_dim": 20,
            "latent_dim": 4,
            "hidden_dim": 8,
        },
        {"x": [6, 20]},
    ),
    "AFNONet": (
        "AFNONet",
        {
            **KEYS,
            "img_size": (16, 16),
            "patch_size": (4, 4),
            "in_channels": 2,
            "out_channels": 2,
            "embed_dim": 16,
            "depth": 2,
            "num_blocks": 4,
        },
        {"x": [2, 2, 16, 16]},
    ),
    "CVit1D": (
        "CVit1D",
        {**CVIT, "coords_dim": 1, "spatial_dims": 16, "grid_size": (20,)},
        {"u": [2, 16, 1], "y": [7, 1]},
    ),
    "CVit": (
        "CVit",
        {
            **CVIT,
            "coords_dim": 2,
            "spatial_dims": (2, 8, 8),
            "patch_size": (1, 4, 4),
            "grid_size": (8, 8),
        },
        {"u": [2, 2, 8, 8, 1], "y": [9, 2]},
    ),
    "CuboidTransformer": ("CuboidTransformer", CUBOIDS, {"x": [2, 4, 16, 16, 1]}),
    "LorenzEmbedding": (
        "LorenzEmbedding",
        {
            "input_keys": ("x", "y"),
            "output_keys": ("u", "v", "w"),
            "input_size": 3,
            "hidden_size": 16,
            "embed_size": 8,
        },
        {"x": [4, 5, 2], "y": [4, 5, 1]},
    ),
    "RosslerEmbedding": (
        "RosslerEmbedding",
        {
            "input_keys": ("x", "y"),
            "output_keys": ("u", "v", "w"),
            "input_size": 3,
            "hidden_size": 16,
            "embed_size": 8,
        },
        {"x": [4, 5, 2], "y": [4, 5, 1]},
    ),
    "CylinderEmbedding": (
        "CylinderEmbedding",
        {
            "input_keys": ("states", "visc"),
            "output_keys": ("u", "v"),
            "embed_size": 16,
            "encoder_channels": (4, 4, 4, 4, 4),
            "decoder_channels": (4, 4, 4),
        },
        {"states": [2, 3, 3, 64, 128], "visc": [2, 1]},
    ),
    "PhysformerGPT2": (
        "PhysformerGPT2",
        {**KEYS, "num_layers": 2, "num_ctx": 8, "embed_size": 16, "num_heads": 4},
        {"x": [2, 8, 16]},
    ),
    "NowcastNet": (
        "NowcastNet",
        {
            **KEYS,
            "input_length": 4,
            "total_length": 7,
            "image_height": 32,
            "image_width": 32,
            "ngf": 4,
        },
        {"x": [1, 4, 32, 32, 2]},
    ),
    "SFNONet": ("SFNONet", {**FNO, "n_modes": (8, 8)}, {"x": [2, 2, 16, 16]}),
    "TFNO2dNet": (
        "TFNO2dNet",
        {**FNO, "n_modes_height": 8, "n_modes_width": 8},
        {"x": [2, 2, 16, 16]},
    ),
    "TFNO2dNet_group_norm": (
        "TFNO2dNet",
        {
            **FNO,
            "n_modes_height": 8,
            "n_modes_width": 8,
            "norm": "group_norm",
            "domain_padding": 0.25,
            "use_mlp": True,
            "mlp": {"expansion": 0.5, "dropout": 0.0},
        },
        {"x": [2, 2, 16, 16]},
    ),
    "UNONet": (
        "UNONet",
        {
            **FNO,
            "n_layers": 3,
            "uno_out_channels": (8, 8, 8),
            "uno_n_modes": ((4, 4), (4, 4), (4, 4)),
            "uno_scalings": ((1.0, 1.0), (0.5, 0.5), (2.0, 2.0)),
        },
        {"x": [2, 2, 16, 16]},
    ),
    "FNO1d": (
        "FNO1d",
        {"input_key": IN, "output_key": OUT, "modes": 4, "width": 8, "padding": 4, "output_np": 21},
        {"x": [2, 21, 2]},
    ),
    "UNetEx": (
        "UNetEx",
        {
            "input_key": "x",
            "output_key": "u",
            "in_channel": 3,
            "out_channel": 2,
            "filters": (4, 8),
            "weight_norm": False,
        },
        {"x": [2, 3, 16, 16]},
    ),
    "USCNN": (
        "USCNN",
        {
            "input_keys": ("coords",),
            "output_keys": OUT,
            "hidden_size": (4, 8, 4),
            "h": 0.1,
            "nx": 9,
            "ny": 9,
        },
        {"coords": [1, 1, 9, 9]},
    ),
    "VelocityDiscriminator": (
        "VelocityDiscriminator",
        {**KEYS, "dim1": 4, "dim2": 4, "dim3": 8, "dim4": 8},
        {"x": [2, 1, 70, 70]},
    ),
    "Generator": (
        "Generator",
        {
            **KEYS,
            "in_channel": 1,
            "out_channels_tuple": GAN_BLOCKS,
            "kernel_sizes_tuple": (((5, 5), (5, 5), (1, 1)),) * 3,
            "strides_tuple": ((1, 1, 1),) * 3,
            "use_bns_tuple": ((True, True, True), (True, True, True), (False, False, False)),
            "acts_tuple": (("relu", None, None),) * 3,
        },
        {"x": [2, 1, 16, 16]},
    ),
    "Discriminator": (
        "Discriminator",
        {
            "input_keys": ("a", "b"),
            "output_keys": ("u", "v"),
            "in_channel": 2,
            "out_channels": (4, 4, 4, 4),
            "fc_channel": 64,
            "kernel_sizes": ((4, 4),) * 4,
            "strides": (2, 2, 2, 1),
            "use_bns": (False, True, True, True),
            "acts": ("leaky_relu",) * 4 + (None,),
        },
        {"a": [2, 2, 32, 32], "b": [2, 2, 32, 32]},
    ),
    "Epnn": (
        "Epnn",
        {
            "input_keys": ("x",),
            "output_keys": ("out_x", "out_a"),
            "node_sizes": (1, 8, 8, 1),
            "activations": ("tanh", "tanh"),
            "drop_p": 0.0,
        },
        {"x": [5, 1]},
    ),
    "DeepPhyLSTM2": (
        "DeepPhyLSTM",
        {"input_size": 3, "output_size": 4, "hidden_size": 8, "model_type": 2},
        {"ag": [2, 6, 3], "lift": [2, 6, 4], "phi": [2, 6, 6]},
    ),
    "DeepPhyLSTM3": (
        "DeepPhyLSTM",
        {"input_size": 3, "output_size": 4, "hidden_size": 8, "model_type": 3},
        {"ag": [2, 6, 3], "ag_c": [2, 6, 3], "lift": [2, 6, 4], "phi": [2, 6, 6]},
    ),
    "IFMMLP": (
        "IFMMLP",
        {
            **KEYS,
            "hidden_units": [16, 16, 16],
            "embed_name": "None",
            "inputs": 6,
            "outputs": 2,
            "d_out": 2,
            "sigma": 1.0,
            "dp_ratio": 0.0,
            "reg": True,
            "first_omega_0": 3.0,
            "hidden_omega_0": 3.0,
        },
        {"x": [5, 6]},
    ),
}
"""Name -> class, settings, and the shapes of the inputs; a network takes a dict of them."""


def _builder(name: str, settings: Settings) -> Callable[[], Any]:
    def build() -> Any:
        return getattr(importlib.import_module("ppsci.arch"), name)(**settings)

    return build


def _inputs(shapes: Mapping[str, list[int]]) -> Inputs:
    return lambda: ({key: paddle.rand(shape) for key, shape in shapes.items()},)


def models() -> list[Model]:
    """Small ones of each kind."""
    return [
        Model(name, _builder(kind, settings), _inputs(shapes))
        for name, (kind, settings, shapes) in NETWORKS.items()
    ]


PACKAGE = Package(
    name="paddlesci",
    pins=("paddlesci==1.4.0",),
    roots=("paddlesci",),
    modules=("ppsci.arch",),
    absent=words("imageio meshio pyevtk skopt h5py visualdl wandb tensorboardX pymesh open3d"),
    models=models,
)
