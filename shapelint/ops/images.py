"""Pictures: what PIL opens, and what torchvision's transforms make of them, up to a tensor of channels and pixels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from shapelint.domain.dims import ONE, Dim, anonymous, as_dim
from shapelint.domain.values import (
    FALSE,
    NONE,
    UNKNOWN,
    Axis,
    Const,
    Int,
    Layer,
    Shape,
    Tensor,
    Tuple,
    Unknown,
    Value,
    shape_of,
)
from shapelint.ops.dtypes import named, unknown_dtype
from shapelint.ops.op import Op, Unknowable, flag, is_none, size_or_any
from shapelint.ops.results import CONSTANT

PICTURE = "PIL.Image.Image"
HOME = "torchvision.transforms"
# Letters for each pixel that a mode of PIL has.
CHANNELS: Mapping[str, int] = {"L": 1, "1": 1, "P": 1, "I": 1, "F": 1, "RGB": 3, "HSV": 3, "YCbCr": 3, "RGBA": 4}


def picture(
    channels: Dim | int | None = None, height: Dim | int | None = None, width: Dim | int | None = None
) -> Layer:
    """An image of PIL; what is not known of it is a size of its own, or no number of channels at all.

    Of several channels each is a byte.
    """
    sizes: dict[str, Value] = {
        "dtype": Const("uint8") if channels is not None and as_dim(channels).value in {3, 4} else UNKNOWN,
        "height": Int(anonymous(object()) if height is None else as_dim(height)),
        "width": Int(anonymous(object()) if width is None else as_dim(width)),
        "channels": UNKNOWN if channels is None else Int(as_dim(channels)),
    }
    return Layer(PICTURE, sizes)


def is_picture(value: Value) -> bool:
    return isinstance(value, Layer) and value.name == PICTURE


def _size(image: Layer, name: str) -> Dim | None:
    value = image.config[name]
    return value.dim if isinstance(value, Int) else None


def pixels(image: Value) -> Shape:
    """np.array(image): (height, width), or (height, width, channels)."""
    channels = _size(image, "channels") if isinstance(image, Layer) else None
    if channels is None or not isinstance(image, Layer):
        raise Unknowable("of one channel or several")
    area = _size(image, "height"), _size(image, "width")
    return shape_of(*(size for size in area if size is not None), *(() if channels == ONE else (channels,)))


def attribute(image: Layer, name: str) -> Value | None:
    """`image.size` is (width, height)."""
    match name:
        case "size":
            return Tuple((image.config["width"], image.config["height"]))
        case "width" | "height":
            return image.config[name]
    return None


# How PIL makes images of one another.


def opened() -> Value:
    return picture()


def from_array(x: Value) -> Value:
    """Image.fromarray: (height, width), or (height, width, channels)"""
    match x:
        case Tensor(shape=Shape(run=None, head=(rows, columns, *rest))) if len(rest) < 2:
            return picture(rest[0].size if rest else 1, rows.size, columns.size)
    return picture()


def blank(mode: Value, size: Value) -> Value:
    match size:
        case Tuple(items=(width, height)):
            return picture(_channels(mode), size_or_any(height), size_or_any(width))
    return picture(_channels(mode))


def _channels(mode: Value) -> int | None:
    return CHANNELS.get(mode.value) if isinstance(mode, Const) and isinstance(mode.value, str) else None


def converted(receiver: Value, mode: Value = NONE) -> Value:
    if not isinstance(receiver, Layer):
        raise Unknowable("no image")
    made = picture(_channels(mode), _size(receiver, "height"), _size(receiver, "width"))
    return replace(made, config={**made.config, "dtype": Const("uint8")}) if mode == Const("L") else made


def scaled(receiver: Value, size: Value) -> Value:
    """image.resize((width, height))"""
    if not isinstance(receiver, Layer):
        raise Unknowable("no image")
    match size:
        case Tuple(items=(width, height)):
            return picture(_size(receiver, "channels"), size_or_any(height), size_or_any(width))
    return picture(_size(receiver, "channels"))


def cropped(receiver: Value) -> Value:
    return picture(_size(receiver, "channels")) if isinstance(receiver, Layer) else picture()


def same_picture(receiver: Value) -> Value:
    return Layer(receiver.name, receiver.config) if isinstance(receiver, Layer) else picture()


# What transforms do. An image is one of PIL, or a tensor whose last axes are channels, height and width.


def to_tensor(img: Value, dtype: str | None = "float32") -> Value:
    """(channels, height, width) of an image, or of an array (height, width, channels)."""
    match img:
        case Layer() if is_picture(img):
            sizes = (_size(img, name) for name in ("channels", "height", "width"))
            return _tensor(*(anonymous(object()) if size is None else size for size in sizes), dtype=dtype)
        case Tensor(library="numpy", shape=Shape(run=None, head=(rows, columns))):
            return _tensor(1, rows.size, columns.size, dtype=dtype if img.dtype == "uint8" else img.dtype)
        case Tensor(library="numpy", shape=Shape(run=None, head=(rows, columns, channels))):
            known = dtype if img.dtype == "uint8" else img.dtype
            return _tensor(channels.size, rows.size, columns.size, dtype=known)
        case Tensor(library="torch"):
            raise Unknowable("refused")
    return _tensor(*(anonymous(object()) for _ in range(3)))  # it takes nothing that gives another rank


def _tensor(*sizes: Dim | int, dtype: str | None = None) -> Tensor:
    return Tensor(shape_of(*sizes), dtype, "torch", CONSTANT)


def _of_area(img: Value, height: Dim | None, width: Dim | None) -> Value:
    """The image in another size; None stands for one that is not known."""
    if isinstance(img, Layer) and is_picture(img):
        return picture(_size(img, "channels"), height, width)
    if not isinstance(img, Tensor):
        raise Unknowable("an image or a tensor")
    axes = tuple(Axis(anonymous(object()) if size is None else size) for size in (height, width))
    shape = img.shape
    if shape.run is None:
        if len(shape.head) < 2:
            raise Unknowable("no height and width")
        return Tensor(Shape((*shape.head[:-2], *axes)), img.dtype, img.library, img.graph)
    return Tensor(Shape(shape.head, shape.run, (*shape.tail[:-2], *axes)), img.dtype, img.library, img.graph)


def resized(img: Value, size: Value) -> Value:
    """(height, width), or the shorter edge: with it alone the other one follows the image's."""
    match size:
        case Tuple(items=(height, width)):
            return _of_area(img, size_or_any(height), size_or_any(width))
        case Int(dim=edge) if _is_square(img):
            return _of_area(img, edge, edge)
    return _of_area(img, None, None)


def _is_square(img: Value) -> bool:
    match img:
        case Layer() if is_picture(img):
            return _size(img, "height") == _size(img, "width")
        case Tensor(shape=Shape(run=None, head=(*_, height, width))):
            return height.size == width.size
    return False


def cut(img: Value, size: Value) -> Value:
    """A crop: (size, size), or (height, width)."""
    match size:
        case Tuple(items=(height, width)):
            return _of_area(img, size_or_any(height), size_or_any(width))
        case Int(dim=edge):
            return _of_area(img, edge, edge)
    return _of_area(img, None, None)


def padded(img: Value, padding: Value) -> Value:
    match img, padding:
        case Layer(), Int(dim=edge) if is_picture(img):
            height, width = _size(img, "height"), _size(img, "width")
            if height is not None and width is not None:
                return _of_area(img, height + 2 * edge, width + 2 * edge)
        case Tensor(shape=Shape(run=None, head=(*_, rows, columns))), Int(dim=edge):
            return _of_area(img, rows.size + 2 * edge, columns.size + 2 * edge)
    return _of_area(img, None, None)


def rotated(img: Value, expand: Value = FALSE) -> Value:
    return _of_area(img, None, None) if flag(expand) else unchanged(img)


def unchanged(img: Value) -> Value:
    """Flips, colours, noise: the same shape."""
    if isinstance(img, Unknown):
        raise Unknowable("an image or a tensor")
    return img


def normalized(img: Value) -> Value:
    """Of a tensor alone."""
    return unchanged(img)


def grey(img: Value, channels: Value = NONE) -> Value:
    count = ONE if is_none(channels) else size_or_any(channels)
    match img:
        case Layer() if is_picture(img):
            return picture(count, _size(img, "height"), _size(img, "width"))
        case Tensor(shape=Shape(run=None, head=(*lead, _, rows, columns))):
            return Tensor(Shape((*lead, Axis(count), rows, columns)), img.dtype, img.library, img.graph)
    raise Unknowable("an image or a tensor")


def to_picture(img: Value) -> Value:
    match img:
        case Tensor(library="torch", shape=Shape(run=None, head=(channels, rows, columns))):
            return picture(channels.size, rows.size, columns.size)
    return from_array(img)


def of_dtype(img: Value, dtype: Value = NONE) -> Value:
    if not isinstance(img, Tensor):
        raise Unknowable("a tensor")
    return Tensor(img.shape, named(dtype, "torch"), img.library, img.graph)


def composed(img: Value, transforms: Value) -> Value:
    """One after the other; of what a function of one's own does nothing is known."""
    if not isinstance(transforms, Tuple):
        raise Unknowable("transforms that are not known")
    for transform in transforms.items:
        img = through(transform, img)
    return img


def perhaps(img: Value, transforms: Value) -> Value:
    """RandomApply: the same image, where the transforms keep its shape."""
    after = composed(img, transforms)
    if after == img or (isinstance(after, Tensor) and isinstance(img, Tensor) and after.shape == img.shape):
        return img
    raise Unknowable("of one size or the other")


def through(transform: Value, img: Value) -> Value:
    """What a transform makes of an image; Unknown where it is not modelled."""
    if isinstance(transform, Layer):
        function = TRANSFORMS.get(ALIASES.get(transform.name, transform.name).removeprefix(f"{HOME}."))
        if function is not None:
            shape, parameters = function
            given = {name: transform.config[name] for name in parameters if name in transform.config}
            try:
                return shape(img, **given)
            except (Unknowable, TypeError):
                return UNKNOWN
    if isinstance(transform, Tuple) and transform.kind == "Sequential":
        return composed(img, transform)
    return UNKNOWN


Transform = tuple[Callable[..., Value], tuple[str, ...]]
KEEPING = (
    *("RandomHorizontalFlip", "RandomVerticalFlip", "ColorJitter", "RandomAffine", "RandomPerspective", "GaussianBlur"),
    *("RandomErasing", "RandomInvert", "RandomPosterize", "RandomSolarize", "RandomAutocontrast", "RandomEqualize"),
    *("RandomAdjustSharpness", "RandomGrayscale", "AutoAugment", "RandAugment", "TrivialAugmentWide", "Normalize"),
)
TRANSFORMS: Mapping[str, Transform] = {
    "ToTensor": (to_tensor, ()),
    "PILToTensor": (partial(to_tensor, dtype="uint8"), ()),
    "v2.ToImage": (partial(to_tensor, dtype="uint8"), ()),
    "ToPILImage": (to_picture, ()),
    "ConvertImageDtype": (of_dtype, ("dtype",)),
    "v2.ToDtype": (of_dtype, ("dtype",)),
    "Resize": (resized, ("size",)),
    **dict.fromkeys(("CenterCrop", "RandomCrop", "RandomResizedCrop"), (cut, ("size",))),
    "Pad": (padded, ("padding",)),
    "RandomRotation": (rotated, ("expand",)),
    "Grayscale": (grey, ("channels",)),
    "Compose": (composed, ("transforms",)),
    "RandomApply": (perhaps, ("transforms",)),
    **dict.fromkeys(KEEPING, (unchanged, ())),
}
CONSTRUCTORS: Mapping[str, str] = {
    "Grayscale": "num_output_channels: channels",
    "RandomRotation": "degrees, interpolation, expand",
}
ALIASES: Mapping[str, str] = {
    **{f"{HOME}.v2.{name}": f"{HOME}.{name}" for name in TRANSFORMS if not name.startswith("v2.")},
    f"{HOME}.Scale": f"{HOME}.Resize",
    f"{HOME}.RandomSizedCrop": f"{HOME}.RandomResizedCrop",
    f"{HOME}.v2.functional.to_tensor": f"{HOME}.functional.to_tensor",
}
FUNCTIONAL: Mapping[str, tuple[Callable[..., Value], str]] = {
    "to_tensor": (to_tensor, "pic: img"),
    "pil_to_tensor": (partial(to_tensor, dtype="uint8"), "pic: img"),
    "to_pil_image": (to_picture, "pic: img"),
    "resize": (resized, "img, size"),
    "center_crop": (cut, "img, output_size: size"),
    "normalize": (normalized, "tensor: img"),
    **dict.fromkeys(("hflip", "vflip", "adjust_brightness", "adjust_contrast"), (unchanged, "img")),
}


def transform(name: str, function: Callable[..., Value], parameters: tuple[str, ...]) -> Op:
    arguments = CONSTRUCTORS.get(name, ", ".join(parameters))
    return Op("transform", function, (f"{HOME}.{name}({arguments}, *options)",), dtype=unknown_dtype, inputs="img")


plain = partial(Op, dtype=unknown_dtype)

OPS: tuple[Op, ...] = (
    *(transform(name, *row) for name, row in TRANSFORMS.items()),
    *(
        plain("transform", function, (f"{HOME}.functional.{name}({arguments})",))
        for name, (function, arguments) in FUNCTIONAL.items()
    ),
    plain("picture", opened, ("PIL.Image.open(fp, mode)",)),
    plain("picture", from_array, ("PIL.Image.fromarray(obj: x, mode)",)),
    plain("picture", blank, ("PIL.Image.new(mode, size, color)",)),
    plain("picture", converted, (f"{PICTURE}.convert(mode)",)),
    plain("picture", scaled, (f"{PICTURE}.resize(size)",)),
    plain("picture", cropped, (f"{PICTURE}.crop(box)", f"{PICTURE}.rotate(angle)")),
    plain("picture", same_picture, (f"{PICTURE}.copy()", f"{PICTURE}.filter(filter)")),
)
