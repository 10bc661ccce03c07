"""Generators and discriminators of PaddleGAN: translation, super-resolution, video and faces."""

from __future__ import annotations

import importlib
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import paddle

from corpus.language import Text
from corpus.zoo.model import Inputs, Model, Package, image, noise, words

Settings = dict[str, Any]
Networks = dict[str, tuple[str, Settings, Inputs]]


def _of_two_classes(*shape: int) -> Inputs:
    return lambda: (paddle.randn(shape), paddle.randint(0, 2, [shape[0]]))


def _faces(size: int) -> tuple[Any, ...]:
    """Two faces, where their parts are, and masks of three of the parts."""
    parts = [paddle.randn([1, 136, size // 4, size // 4]) for _ in range(2)]
    masks = [paddle.randint(0, 2, [1, 3, size, size]).astype("float32") for _ in range(2)]
    return *(paddle.randn([1, 3, size, size]) for _ in range(2)), *parts, paddle.ones([1]), *masks


def _pyramid(*channels: int) -> dict[str, Any]:
    sizes = {"r11": 32, "r21": 16, "r31": 8, "r41": 4, "r51": 2}
    return {
        name: paddle.randn([1, wide, size, size])
        for (name, size), wide in zip(sizes.items(), channels, strict=True)
    }


GENERATORS: Networks = {
    "ResnetGenerator": (
        "resnet",
        {"input_nc": 3, "output_nc": 3, "ngf": 8, "n_blocks": 2},
        image(32),
    ),
    "MobileResnetGenerator": (
        "mobile_resnet",
        {"input_channel": 3, "output_nc": 3, "ngf": 8, "n_blocks": 2},
        image(32),
    ),
    "UnetGenerator": (
        "unet",
        {"input_nc": 3, "output_nc": 3, "num_downs": 5, "ngf": 8},
        image(32),
    ),
    "RRDBNet": ("rrdb_net", {"in_nc": 3, "out_nc": 3, "nf": 16, "nb": 2, "gc": 8}, image(16)),
    "DeepConvGenerator": (
        "deep_conv",
        {"latent_dim": 16, "output_nc": 3, "size": 16, "ngf": 8},
        noise([2, 16]),
    ),
    "ConditionalDeepConvGenerator": (
        "deep_conv",
        {"latent_dim": 16, "output_nc": 3, "n_class": 2, "size": 16, "ngf": 8},
        _of_two_classes(2, 16),
    ),
    "DCGenerator": (
        "dcgenerator",
        {"input_nz": 16, "input_nc": 3, "output_nc": 3, "ngf": 8},
        noise([2, 16, 1, 1]),
    ),
    "ResnetUGATITGenerator": (
        "resnet_ugatit",
        {"input_nc": 3, "output_nc": 3, "ngf": 8, "n_blocks": 2, "img_size": 32, "light": True},
        image(32),
    ),
    "ResnetUGATITP2CGenerator": (
        "resnet_ugatit_p2c",
        {"ngf": 4, "n_blocks": 4, "img_size": 32},
        image(32),
    ),
    "AnimeGenerator": ("generater_animegan", {}, image(32, batch=1)),
    "AnimeGeneratorLite": ("generater_animegan", {}, image(32, batch=1)),
    "LESRCNNGenerator": ("lesrcnn", {}, image(16, batch=1)),
    "LESRCNNGenerator_many_scales": (
        "lesrcnn",
        {"multi_scale": True},
        lambda: (paddle.randn([1, 3, 16, 16]), 2),
    ),
    "DRNGenerator": ("drn", {"scale": (2, 4), "n_blocks": 2, "n_feats": 8}, image(16)),
    "StarGANv2Mapping": ("generator_starganv2", {}, _of_two_classes(2, 16)),
    "StarGANv2Style": (
        "generator_starganv2",
        {"img_size": 64, "max_conv_dim": 32},
        _of_two_classes(2, 3, 64, 64),
    ),
    "EDVRNet": (
        "edvr",
        {"nf": 16, "nframes": 3, "groups": 2, "front_RBs": 1, "back_RBs": 1},
        noise([1, 3, 3, 16, 16]),
    ),
    "MSVSR": (
        "msvsr",
        {"mid_channels": 8, "num_init_blocks": 1, "num_blocks": 1, "num_reconstruction_blocks": 1},
        noise([1, 2, 3, 64, 64]),
    ),
    "MPRNet": (
        "mpr",
        {"n_feat": 8, "scale_unetfeats": 4, "scale_orsnetfeats": 4, "num_cab": 1},
        image(32, batch=1),
    ),
    "PAN": ("pan", {"in_nc": 3, "out_nc": 3, "nf": 8, "unf": 8, "nb": 2}, image(16)),
    "GeneratorPSGANAttention": (
        "makeup",
        {"conv_dim": 8, "repeat_num": 1},
        lambda: _faces(256),
    ),
    "LapStyleDecoder": (
        "generater_lapstyle",
        {},
        lambda: (_pyramid(64, 128, 256, 512, 512), _pyramid(64, 128, 256, 512, 512)),
    ),
    "RevisionNet": ("generater_lapstyle", {}, image(32, channels=6)),
    "SPADEGenerator": (
        "generater_photopen",
        {
            "ngf": 4,
            "num_upsampling_layers": "normal",
            "crop_size": 32,
            "aspect_ratio": 1.0,
            "norm_G": "spectralspadebatch3x3",
            "semantic_nc": 5,
            "use_vae": False,
            "nef": 4,
        },
        image(32, channels=5),
    ),
}
"""Name -> module, settings and inputs."""

DISCRIMINATORS: Networks = {
    "NLayerDiscriminator": ("nlayers", {"input_nc": 3, "ndf": 8}, image(32)),
    "NLayerDiscriminatorWithClassification": (
        "nlayers",
        {"input_nc": 3, "n_class": 2, "ndf": 8},
        _of_two_classes(2, 3, 32, 32),
    ),
    "VGGDiscriminator128": (
        "vgg_discriminator",
        {"in_channels": 3, "num_feat": 8},
        image(128, batch=2),
    ),
    "UGATITDiscriminator": (
        "discriminator_ugatit",
        {"input_nc": 3, "ndf": 8, "n_layers": 4},
        image(32),
    ),
    "DCDiscriminator": ("dcdiscriminator", {"input_nc": 3, "ndf": 8}, image(64)),
    "AnimeDiscriminator": ("discriminator_animegan", {"channel": 8, "nblocks": 2}, image(32)),
    "StarGANv2Discriminator": (
        "discriminator_starganv2",
        {"img_size": 64, "max_conv_dim": 32},
        _of_two_classes(2, 3, 64, 64),
    ),
    "LapStyleDiscriminator": ("discriminator_lapstyle", {}, image(32)),
    "MultiscaleDiscriminator": (
        "discriminator_photopen",
        {
            "ndf": 8,
            "num_D": 2,
            "crop_size": 32,
            "label_nc": 5,
            "output_nc": 3,
            "contain_dontcare_label": False,
            "no_instance": True,
            "n_layers_D": 3,
        },
        image(32, channels=8),
    ),
}

CLASSES = {
    "LapStyleDecoder": "DecoderNet",
    "LESRCNNGenerator_many_scales": "LESRCNNGenerator",
}


def _builder(name: str, module: str, settings: Settings) -> Callable[[], Any]:
    def build() -> Any:
        return getattr(importlib.import_module(module), CLASSES.get(name, name))(**settings)

    return build


def _without_weights() -> None:
    """Some networks load trained weights of a part of them when they are built; here nothing."""
    file = str(Path(tempfile.mkdtemp()) / "nothing.pdparams")
    paddle.save({}, file)
    for name, module in list(sys.modules.items()):
        if name.startswith("ppgan.") and hasattr(module, "get_path_from_url"):
            vars(module)["get_path_from_url"] = lambda *_, **__: file


def models() -> list[Model]:
    """Generators first."""
    places = (("generators", GENERATORS), ("discriminators", DISCRIMINATORS))
    return [
        Model(name, _builder(name, f"ppgan.models.{folder}.{module}", settings), inputs)
        for folder, networks in places
        for name, (module, settings, inputs) in networks.items()
    ]


PACKAGE = Package(
    name="ppgan",
    pins=("ppgan==2.1.0",),
    roots=("ppgan",),
    modules=("ppgan.models.generators", "ppgan.models.discriminators"),
    ready=_without_weights,
    absent=words("skimage imageio librosa numba munch natsort matplotlib paddle.fluid"),
    models=models,
    left_out={
        "FAN": Text("it is not built without its trained weights", "没有训练好的权重就不能构建"),
        "BasicVSRNet, BasicVSRPlusPlus, IconVSR": Text(
            "a call takes ten seconds and more", "一次调用需要十秒以上"
        ),
        "Wav2Lip and its discriminators, StyleGANv2, StarGANv2Generator, GPEN, LapStyle's Encoder, "
        "NetworkR": Text(
            "too many weights or channels for this page, whatever their settings",
            "无论怎样设置，权重或通道都太多，不适合本页",
        ),
    },
)
