"""Arrays that are read from files: their rank is what the call says of it, and what lines of text can hold."""

from __future__ import annotations

from collections.abc import Mapping

from shapelint.domain.dims import Dim, anonymous
from shapelint.domain.values import NONE, TRUE, Const, Int, Shape, Tensor, Union, Value, shape_of
from shapelint.events import Kind
from shapelint.ops.dtypes import named, unknown_dtype
from shapelint.ops.op import GraphEffect, Op, Result, Unknowable, integer, is_none, sizes
from shapelint.ops.results import CONSTANT

FLOAT = Const("float64")


def mapped(shape: Value = NONE) -> Shape:
    """np.memmap: of the shape that is asked for, else one long vector."""
    return shape_of(anonymous(object())) if is_none(shape) else sizes(shape)


def table(
    dtype: Value = FLOAT, usecols: Value = NONE, ndmin: Value = NONE, names: Value = NONE, unpack: Value = NONE
) -> Result:
    """loadtxt, genfromtxt: a table; a vector where it has one line or one column, a number where it has one of both."""
    if unpack == TRUE and not is_none(names):
        raise Unknowable("one array for each column")
    least = 0 if is_none(ndmin) else integer(ndmin)
    most = max(least, 1 if isinstance(usecols, Int) or not is_none(names) else 2)
    rows, columns, known = anonymous(object()), anonymous(object()), named(dtype, "numpy")
    choices = [_of_rank(rank, rows, columns, known) for rank in range(most, least - 1, -1)]
    return choices[0] if len(choices) == 1 else Union(tuple(choices))


def _of_rank(rank: int, rows: Dim, columns: Dim, dtype: str | None) -> Tensor:
    return Tensor(shape_of(*(rows, columns)[:rank]), dtype, "numpy", CONSTANT)


def read(count: Value = NONE) -> Shape:
    """np.fromstring, np.fromiter: (n,)"""
    known = isinstance(count, Int) and count.dim.value != -1
    return shape_of(count.dim if known and isinstance(count, Int) else anonymous(object()))


def bytes_by_default(bound: Mapping[str, Value], library: str | None) -> str | None:
    return "uint8"


def floats_by_default(bound: Mapping[str, Value], library: str | None) -> str | None:
    return "float64"


TEXT = "comments, delimiter, converters, skiprows, usecols, unpack, ndmin, encoding, max_rows"
FIELDS = "skip_header, skip_footer, converters, missing_values, filling_values, usecols, names"

OPS: tuple[Op, ...] = (
    Op(
        "memmap",
        mapped,
        ("numpy.memmap(filename, dtype, mode, offset, shape, order)",),
        Kind.CREATION,
        bytes_by_default,
        GraphEffect.CONSTANT,
    ),
    Op("read_table", table, (f"numpy.loadtxt(fname, dtype, {TEXT})",), Kind.CREATION, unknown_dtype),
    Op(
        "read_table",
        table,
        (f"numpy.genfromtxt(fname, dtype, comments, delimiter, {FIELDS}, *, unpack, ndmin)",),
        Kind.CREATION,
        unknown_dtype,
    ),
    Op(
        "frombuffer",
        read,
        ("numpy.fromstring(string, dtype, count, *, sep)", "numpy.fromiter(iter, dtype, count)"),
        Kind.CREATION,
        floats_by_default,
        GraphEffect.CONSTANT,
    ),
)
