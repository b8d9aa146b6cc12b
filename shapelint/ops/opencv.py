"""OpenCV: pictures that are read as bytes, (height, width, 3), and what turns them into pictures of another kind."""

from __future__ import annotations

from shapelint.domain.dims import anonymous, as_dim
from shapelint.domain.values import Axis, Int, Library, Shape, Tensor, Tuple, Value, shape_of
from shapelint.events import Kind
from shapelint.ops.op import Op, Unknowable, size_or_any, tensor
from shapelint.ops.results import CONSTANT

COLOUR = Int(as_dim(1))
COLOURS = frozenset({"BGR", "RGB", "HSV", "HLS", "LAB", "Lab", "LUV", "Luv", "YUV", "XYZ", "YCrCb", "YCR_CB"})


def read(flags: Value = COLOUR) -> Tensor:
    """imread: (height, width, 3) bytes, or (height, width) where grey is asked for."""
    match flags:
        case Int(dim=dim) if dim.value in {0, 1}:
            channels = (3,) if dim.value else ()
        case Library(name="cv2.IMREAD_COLOR" | "cv2.IMREAD_GRAYSCALE" as name):
            channels = (3,) if name.endswith("COLOR") else ()
        case _:
            raise Unknowable("as the file has it")
    return Tensor(shape_of(anonymous(object()), anonymous(object()), *channels), "uint8", "numpy", CONSTANT)


def converted(x: Value, code: Value) -> Shape:
    """cvtColor(x, cv2.COLOR_BGR2GRAY): the last axis follows from the code."""
    target = code.name.rpartition("2")[2] if isinstance(code, Library) and code.name.startswith("cv2.COLOR_") else ""
    shape = _picture(x)
    if target == "GRAY":
        return Shape(shape.head[:2])
    if target not in COLOURS:
        raise Unknowable("a code that is not known")
    return Shape((*shape.head[:2], Axis(as_dim(3))))


def resized(x: Value, dsize: Value) -> Shape:
    """resize(x, (width, height))"""
    match dsize:
        case Tuple(items=(width, height)):
            return Shape((Axis(size_or_any(height)), Axis(size_or_any(width)), *kept(x).head[2:]))
    raise Unknowable("by a factor")


def kept(x: Value) -> Shape:
    """Blurs and flips; of one channel the axis is left out."""
    shape = _picture(x)
    if any(axis.size.value in {None, 1} for axis in shape.head[2:]):
        raise Unknowable("one channel, or several")
    return shape


def _picture(x: Value) -> Shape:
    shape = tensor(x).shape
    if shape.rank not in {2, 3}:
        raise Unknowable("no picture, or of unknown rank")
    return shape


OPS: tuple[Op, ...] = (
    Op("imread", read, ("cv2.imread(filename, flags)", "cv2.imdecode(buf, flags)"), Kind.CREATION),
    Op("convert_colour", converted, ("cv2.cvtColor(src: x, code, dst, dstCn)",), Kind.RESHAPE, "same"),
    Op("resize", resized, ("cv2.resize(src: x, dsize, dst, fx, fy, interpolation)",), Kind.RESHAPE, "same"),
    Op(
        "blur",
        kept,
        (
            "cv2.GaussianBlur(src: x, ksize, sigmaX, dst, sigmaY, borderType)",
            "cv2.medianBlur(src: x, ksize, dst)",
            "cv2.blur(src: x, ksize, dst, anchor, borderType)",
            "cv2.flip(src: x, flipCode, dst)",
        ),
        Kind.RESHAPE,
        "same",
    ),
)
