"""torchvision's data sets, which give an image and a label, and grids of images."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from shapelint.domain.dims import ONE, anonymous, as_dim, data_dependent
from shapelint.domain.values import (
    FALSE,
    NONE,
    TRUE,
    UNKNOWN,
    Int,
    Layer,
    Many,
    Tensor,
    Tuple,
    Value,
    shape_of,
)
from shapelint.ops import images
from shapelint.ops.dtypes import unknown_dtype
from shapelint.ops.op import Op, Result, Unknowable, is_none
from shapelint.ops.results import CONSTANT

HOME = "torchvision.datasets"
Sizes = tuple[int | None, int | None, int | None]
# By data set: channels, height and width of an image; how many there are to train and to test with.
FIXED: Mapping[str, tuple[Sizes, tuple[int, int] | None]] = {
    "MNIST": ((1, 28, 28), (60_000, 10_000)),
    "FashionMNIST": ((1, 28, 28), (60_000, 10_000)),
    "KMNIST": ((1, 28, 28), (60_000, 10_000)),
    "EMNIST": ((1, 28, 28), None),
    "USPS": ((1, 16, 16), (7_291, 2_007)),
    "CIFAR10": ((3, 32, 32), (50_000, 10_000)),
    "CIFAR100": ((3, 32, 32), (50_000, 10_000)),
    "SVHN": ((3, 32, 32), None),
    "STL10": ((3, 96, 96), None),
    "CelebA": ((3, 218, 178), None),
    "ImageFolder": ((3, None, None), None),
    "ImageNet": ((3, None, None), None),
    "Food101": ((3, None, None), None),
    "Flowers102": ((3, None, None), None),
}
SIGNATURES: Mapping[str, str] = {
    "EMNIST": "root, split, *, train, transform, target_transform, download",
    "SVHN": "root, split, transform, target_transform, download",
    "STL10": "root, split, folds, transform, target_transform, download",
    "CelebA": "root, split, target_type, transform, target_transform, download",
    "ImageFolder": "root, transform, target_transform, loader, is_valid_file",
    "ImageNet": "root, split, *, transform, target_transform, loader",
    "Food101": "root, split, transform, target_transform, download",
    "Flowers102": "root, split, transform, target_transform, download",
}
USUAL = "root, train, transform, target_transform, download"


def is_dataset(layer: Layer) -> bool:
    return layer.name.startswith(f"{HOME}.")


def sample(dataset: Layer) -> Value:
    """`dataset[i]`: an image, as its transform leaves it, and a label."""
    name = dataset.name.removeprefix(f"{HOME}.")
    image: Value = images.picture(*FIXED[name][0])
    transform = dataset.config.get("transform", NONE)
    if not is_none(dataset.config.get("loader", NONE)):
        image = UNKNOWN
    if not is_none(transform):
        image = images.through(transform, image)
    return Tuple((image, _label(name, dataset.config)))


def _label(name: str, config: Mapping[str, Value]) -> Value:
    if not is_none(config.get("target_transform", NONE)):
        return UNKNOWN
    if name == "CelebA":
        return Tensor(shape_of(40), "int64", "torch", CONSTANT) if "target_type" not in config else UNKNOWN
    return Int(data_dependent(object(), "label"))


def count(dataset: Layer) -> int | None:
    """How many samples there are, where the data set is told which part it is."""
    known = FIXED[dataset.name.removeprefix(f"{HOME}.")][1]
    train = dataset.config.get("train", TRUE)
    return None if known is None or train not in (TRUE, FALSE) else known[train == FALSE]


def attribute(dataset: Layer, name: str) -> Value | None:
    """`mnist.data` (n, 28, 28), `mnist.targets` (n,); CIFAR keeps an array (n, 32, 32, 3) and a list."""
    own = dataset.name.removeprefix(f"{HOME}.")
    (_, height, width), sizes = FIXED[own]
    known = count(dataset)
    rows = anonymous(object()) if known is None else as_dim(known)
    if sizes is None or height is None or width is None:
        return None
    match name, own.startswith("CIFAR"):
        case (("data" | "train_data" | "test_data"), False) if own != "USPS":
            return Tensor(shape_of(rows, height, width), "uint8", "torch", CONSTANT)
        case (("targets" | "train_labels" | "test_labels"), False) if own != "USPS":
            return Tensor(shape_of(rows), "int64", "torch", CONSTANT)
        case "data", True:
            return Tensor(shape_of(rows, height, width, 3), "uint8", "numpy", CONSTANT)
        case "targets", True:
            return Many(Int(data_dependent(object(), "label")), rows, "list")
    return None


def grid(x: Value) -> Result:
    """make_grid: images side by side in one (channels, height, width); grey ones become three channels."""
    match x:
        case Tensor(shape=shape):
            channels = shape.head[1].size if shape.rank == 4 else None
            first = 3 if channels is not None and channels == ONE else channels or anonymous(object())
            return Tensor(shape_of(first, anonymous(object()), anonymous(object())), x.dtype, "torch", x.graph)
    return Tensor(shape_of(*(anonymous(object()) for _ in range(3))), None, "torch")


def unused() -> Result:
    raise Unknowable("an object that is not called")


plain = partial(Op, dtype=unknown_dtype)

OPS: tuple[Op, ...] = (
    *(plain("dataset", unused, (f"{HOME}.{name}({SIGNATURES.get(name, USUAL)})",), inputs="index") for name in FIXED),
    plain("make_grid", grid, ("torchvision.utils.make_grid(tensor: x, nrow)",)),
)
