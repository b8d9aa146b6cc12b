"""Signals: Fourier transforms, short-time ones, windows, and convolutions of two lines of numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from shapelint.domain.dims import Dim, anonymous, as_dim, derive
from shapelint.domain.values import FALSE, NONE, TRUE, Axis, Const, Int, Maker, Shape, Tensor, Tuple, Value, shape_of
from shapelint.events import Kind
from shapelint.ops.axes import resized
from shapelint.ops.creation import TORCH, of_floats
from shapelint.ops.dtypes import (
    default_dtype,
    element_dtype,
    is_inexact,
    magnitude,
    promote,
    result_dtype,
    to_complex,
    to_real,
)
from shapelint.ops.op import (
    DtypeRule,
    GraphEffect,
    Op,
    Part,
    Result,
    Unknowable,
    axis_index,
    dimension,
    flag,
    integer,
    integers,
    is_none,
    size_or_any,
    tensor,
)
from shapelint.ops.runs import ends, joined

LAST = Int(as_dim(-1))
LAST_TWO = Tuple((Int(as_dim(-2)), LAST))
FULL, VALID = Const("full"), Const("valid")
LIBRARIES = ("torch.fft", "numpy.fft", "jax.numpy.fft")
Lengths = Callable[[Dim, bool], Dim]  # how long the last axis becomes, whether that length was asked for


def as_it_is(size: Dim, asked: bool) -> Dim:
    return size


def halved(size: Dim, asked: bool) -> Dim:
    """The spectrum of something real: its other half is the mirrored one."""
    return size // 2 + 1


def doubled(size: Dim, asked: bool) -> Dim:
    """Back from half a spectrum; an odd length has to be asked for."""
    return size if asked else 2 * (size - 1)


def _transformed(shape: Shape, axes: Sequence[int], lengths: Sequence[Value], last: Lengths) -> Shape:
    """Each axis as long as it was asked to be; the last one as the transform makes it."""
    if shape.rank is None and any(shape.axis(axis) is None for axis in axes):
        raise Unknowable("rank not known")
    for axis, length in zip(axes, lengths):
        known = shape.axis(axis)
        asked = not (is_none(length) or length == LAST)
        if shape.rank is not None:
            axis_index(axis, shape)
        assert known is not None
        size = size_or_any(length) if asked else known.size
        size = last(size, asked) if axis == axes[-1] else size
        shape = shape if size == known.size else resized(shape, axis, size)
    return shape


def _one(last: Lengths) -> Callable[..., Result]:
    def transform(x: Value, n: Value = NONE, dim: Value = LAST) -> Shape:
        """(…, n, …) along one axis."""
        return _transformed(tensor(x).shape, (integer(dim),), (n,), last)

    return transform


def _several(last: Lengths, default: Value) -> Callable[..., Result]:
    def transform(x: Value, s: Value = NONE, dim: Value = default) -> Shape:
        """(…, n, m) along several axes, the last one last."""
        shape = tensor(x).shape
        if is_none(dim) and is_none(s):
            if not shape.rank:
                raise Unknowable("rank not known, or no axes")
            axes: tuple[int, ...] = tuple(range(shape.rank))
        elif is_none(dim):
            axes = tuple(range(-len(_lengths(s)), 0))
        else:
            axes = integers(dim)
        if not axes:
            raise Unknowable("no axes: nothing is transformed, nor the dtype changed")
        lengths = (NONE,) * len(axes) if is_none(s) else _lengths(s)
        return _transformed(shape, axes, lengths, last)

    return transform


def _lengths(value: Value) -> tuple[Value, ...]:
    if isinstance(value, Tuple):
        return value.items
    if isinstance(value, Int):
        return (value,)
    raise Unknowable("lengths not known")


def real_spectrum(bound: Mapping[str, Value], library: str | None) -> str | None:
    """At least float32, and the default of the library for whole numbers."""
    name = magnitude(result_dtype("quotient", {"x": bound["x"]}, library))
    if name == "float16" and library == "numpy":
        return None  # some keep it, some do not
    return "float32" if name in {"float16", "bfloat16"} and library == "jax" else name


def complex_spectrum(bound: Mapping[str, Value], library: str | None) -> str | None:
    """Complex numbers of at least two float32."""
    if library == "numpy" and element_dtype(bound["x"], library) == "float16":
        return "complex64"
    return to_complex({"x": Tensor(dtype=real_spectrum(bound, library))}, library)


def frequencies(n: Value) -> Shape:
    """fftfreq: (n,)"""
    return shape_of(size_or_any(n))


def half_frequencies(n: Value) -> Shape:
    """rfftfreq: (n // 2 + 1,)"""
    return shape_of(size_or_any(n) // 2 + 1)


def stft(
    x: Value,
    n_fft: Value,
    hop_length: Value = NONE,
    window: Value = NONE,
    center: Value = TRUE,
    onesided: Value = NONE,
    return_complex: Value = NONE,
    align_to_window: Value = NONE,
) -> Result:
    """(…, length) -> (…, frequencies, frames), and (…, 2) for the parts of complex numbers."""
    signal = tensor(x)
    _, lead, (length,) = ends(signal.shape, 0, 1)
    size = dimension(n_fft)
    hop = size // 4 if is_none(hop_length) else dimension(hop_length)
    whole = _is_complex(signal, window)
    half = not whole if is_none(onesided) else flag(onesided)
    padded = length.size + 2 * (size // 2) if flag(center) else length.size
    if not is_none(align_to_window):
        raise Unknowable("frames of the window's length")
    axes = (Axis(size // 2 + 1 if half else size), Axis((padded - size) // hop + 1))
    if whole or flag(return_complex):
        return Part(joined((), lead, axes), to_complex)
    return Part(joined((), lead, (*axes, Axis(as_dim(2)))), "float")


def _is_complex(signal: Tensor, window: Value) -> bool:
    kinds = [signal.dtype, *([] if is_none(window) else [tensor(window).dtype])]
    if any(is_inexact(kind) is None or kind == "inexact" for kind in kinds):
        raise Unknowable("complex or not")
    return any(str(kind).startswith("complex") for kind in kinds)


def istft(
    x: Value,
    n_fft: Value,
    hop_length: Value = NONE,
    center: Value = TRUE,
    length: Value = NONE,
    return_complex: Value = FALSE,
) -> Part:
    """(…, frequencies, frames) -> (…, length)"""
    _, lead, (_, frames) = ends(tensor(x).shape, 0, 2)
    size = dimension(n_fft)
    hop = size // 4 if is_none(hop_length) else dimension(hop_length)
    total = size + hop * (frames.size - 1)
    if flag(center):
        total = total - 2 * (size // 2)
    found = total if is_none(length) else size_or_any(length)
    return Part(joined((), lead, (Axis(found),)), to_complex if flag(return_complex) else to_real)


def window(n: Value) -> Shape:
    """A window of that many samples."""
    return shape_of(size_or_any(n), maker=Maker.CREATED)


def _everywhere(name: str, function: object, parameters: str, dtype: DtypeRule) -> Op:
    spellings = tuple(f"{library}.{name}({parameters})" for library in LIBRARIES)
    return Op(name, function, spellings, Kind.OTHER, dtype)  # type: ignore[arg-type]


# The prefix of a transform, what it does to its last axis, and to the dtype.
TRANSFORMS: tuple[tuple[str, Lengths, DtypeRule], ...] = (
    ("fft", as_it_is, complex_spectrum),
    ("ifft", as_it_is, complex_spectrum),
    ("rfft", halved, complex_spectrum),
    ("irfft", doubled, real_spectrum),
    ("hfft", doubled, real_spectrum),
    ("ihfft", halved, complex_spectrum),
)


def convolved(x: Value, y: Value, mode: Value = FULL) -> Shape:
    """(n), (m) -> (n + m - 1), (max(n, m)) or (max(n, m) - min(n, m) + 1) by `mode`"""
    left, right = (tensor(value).shape for value in (x, y))
    if left.rank != 1 or right.rank != 1:
        raise Unknowable("lines of numbers")
    n, m = left.head[0].size, right.head[0].size
    match mode:
        case Const(value="full"):
            return shape_of(n + m - 1)
        case Const(value="same"):
            return shape_of(derive("max", n, m))
        case Const(value="valid"):
            return shape_of(derive("max", n, m) - derive("min", n, m) + 1)
    return shape_of(anonymous(object()))


def correlated(x: Value, y: Value, mode: Value = VALID) -> Shape:
    """As `convolved`, by default where both overlap for certain."""
    return convolved(x, y, mode)


def as_signals(bound: Mapping[str, Value], library: str | None) -> str | None:
    """Whole numbers stay whole in NumPy; jax makes floats of them first."""
    dtype = promote([tensor(bound["x"]), tensor(bound["y"])], library)
    return dtype if library == "numpy" or dtype is None or is_inexact(dtype) else default_dtype(library, "float")


FREQUENCIES = (("fftfreq", frequencies), ("rfftfreq", half_frequencies))
WINDOWS = "bartlett blackman cosine exponential gaussian general_cosine general_hamming hamming hann kaiser nuttall"
OLD_WINDOWS = "bartlett_window blackman_window hamming_window hann_window kaiser_window"
NUMPY_WINDOWS = "bartlett blackman hamming hanning kaiser"


def _windows() -> tuple[str, ...]:
    options = f"periodic, alpha, beta, {TORCH}"
    return (
        *(f"torch.signal.windows.{name}(M: n, *, sym, {TORCH[3:]})" for name in WINDOWS.split()),
        *(f"torch.{name}(window_length: n, {options})" for name in OLD_WINDOWS.split()),
        *(f"{library}.{name}(M: n, beta)" for library in ("numpy", "jax.numpy") for name in NUMPY_WINDOWS.split()),
    )


def _spelled(name: str) -> tuple[str, ...]:
    """Transforms along several axes; only torch has those of Hermitian symmetry."""
    libraries = LIBRARIES[:1] if "hfft" in name else LIBRARIES
    return tuple(f"{library}.{name}(input, s, dim, norm)" for library in libraries)


OPS: tuple[Op, ...] = (
    *(_everywhere(name, _one(last), "input, n, dim, norm", dtype) for name, last, dtype in TRANSFORMS),
    *(
        Op(f"{name}{axes}", _several(last, default), _spelled(f"{name}{axes}"), Kind.OTHER, dtype)
        for axes, default in (("2", LAST_TWO), ("n", NONE))
        for name, last, dtype in TRANSFORMS
    ),
    *(
        Op(name, shape, tuple(f"{lib}.{name}(n, d, {TORCH})" for lib in LIBRARIES), Kind.CREATION, of_floats,
           GraphEffect.CONSTANT)
        for name, shape in FREQUENCIES
    ),
    Op(
        "stft",
        stft,
        (
            "torch.stft(input, n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided, "
            "return_complex, align_to_window)",
            "torch.Tensor.stft(input, n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided, "
            "return_complex, align_to_window)",
        ),
    ),
    Op(
        "istft",
        istft,
        (
            "torch.istft(input, n_fft, hop_length, win_length, window, center, normalized, onesided, length, "
            "return_complex)",
        ),
    ),
    *(
        Op(name, shape, tuple(f"{lib}.{name}(a, v: y, mode)" for lib in ("numpy", "jax.numpy")), dtype=as_signals)
        for name, shape in (("convolve", convolved), ("correlate", correlated))
    ),
    Op("window", window, _windows(), Kind.CREATION, of_floats, GraphEffect.CONSTANT),
)  # fmt: skip
