"""What is known of a model and of the package that it comes from."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import paddle

from corpus.language import Text
from corpus.zoo import packages

Build = Callable[[], Any]
Inputs = Callable[[], tuple[Any, ...]]


@dataclass(frozen=True)
class Model:
    """A model that can be built and called.

    Args:
        name: unique in its package.
        build: makes the layer, with random weights.
        inputs: the arguments of a call; drawn anew each time it is asked.
        modes: ``eval``, ``train`` or both; some models can only do one of them without labels.
        labels: keys of a dict that is the argument, which only training takes.
    """

    name: str
    build: Build
    inputs: Inputs
    modes: tuple[str, ...] = ("eval", "train")
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Package:
    """A package with models.

    Args:
        name: that of the distribution.
        pins: what pip installs into the package's own folder, without dependencies.
        roots: folders below the zoo's that are put on the path.
        modules: imported once, before the models are run.
        ready: called once, after the imports.
        absent: modules that are imported by the package and needed by none of its
            models; an empty one stands in.
        alone: needs nothing of what several packages import.
        models: what to run.
        left_out: names or groups of names that are not run, with the reason.
    """

    name: str
    pins: tuple[str, ...]
    roots: tuple[str, ...]
    modules: tuple[str, ...]
    models: Callable[[], list[Model]]
    ready: Callable[[], object] | None = None
    absent: tuple[str, ...] = ()
    alone: bool = False
    left_out: dict[str, Text] = field(default_factory=dict)


def words(text: str) -> tuple[str, ...]:
    """The words of a text: a short way to write a long list of names."""
    return tuple(text.split())


def package_names() -> list[str]:
    """The names of all packages."""
    return [info.name for info in pkgutil.iter_modules(packages.__path__)]


def package(name: str) -> Package:
    """The package of that name."""
    found: Package = importlib.import_module(f"corpus.zoo.packages.{name}").PACKAGE
    return found


def every_package() -> Iterator[Package]:
    """All packages, ``paddle.vision.models`` first."""
    for name in sorted(package_names(), key=lambda each: (each != "vision", each)):
        yield package(name)


# -- inputs --------------------------------------------------------------------------------------


def image(size: int = 64, *, batch: int = 2, channels: int = 3) -> Inputs:
    """A batch of square images of noise."""
    return lambda: (paddle.randn([batch, channels, size, size]),)


def noise(*shapes: list[int]) -> Inputs:
    """One array of noise for each shape."""
    return lambda: tuple(paddle.randn(shape) for shape in shapes)


def tokens(vocabulary: int = 100, *, batch: int = 2, length: int = 8) -> Inputs:
    """A batch of sentences of random words; no word is one of the first four, which are special."""
    return lambda: (paddle.randint(4, vocabulary, [batch, length]),)
