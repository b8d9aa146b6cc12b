"""pandas: a DataFrame has rows and columns, a Series has rows; as arrays they have two axes and one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from shapelint.domain.dims import Dim, anonymous, as_dim
from shapelint.domain.values import (
    FALSE,
    NONE,
    Const,
    Dict,
    Int,
    Layer,
    Many,
    Slice,
    Tensor,
    Tuple,
    Unknown,
    Value,
    shape_of,
)
from shapelint.ops.dtypes import unknown_dtype
from shapelint.ops.op import Op, Result, Unknowable, flag, is_none
from shapelint.ops.results import CONSTANT

TABLE, COLUMN = "pandas.DataFrame", "pandas.Series"
NAMES = frozenset({TABLE, COLUMN})
PLACES = {"loc": "pandas.DataFrame.loc", "iloc": "pandas.DataFrame.iloc"}


def table(rows: Dim | None = None, columns: Dim | None = None) -> Layer:
    """A DataFrame."""
    return Layer(TABLE, {"rows": Int(rows or anonymous(object())), "columns": Int(columns or anonymous(object()))})


def column(rows: Dim | None = None, dtype: str | None = None) -> Layer:
    """A Series."""
    return Layer(COLUMN, {"rows": Int(rows or anonymous(object())), "dtype": Const(dtype)})


def rows(value: Value) -> Dim | None:
    """How many rows a DataFrame or Series has."""
    match value:
        case Layer(name=name, config={"rows": Int(dim=dim)}) if name in NAMES:
            return dim
    return None


def with_rows(value: Value, count: Dim) -> Value | None:
    """A part or another order of the rows; None where it is neither a DataFrame nor a Series."""
    if isinstance(value, Layer) and value.name in NAMES:
        return Layer(value.name, {**value.config, "rows": Int(count)})
    return None


def as_array(value: Layer) -> Tensor:
    """What `values` gives: (rows, columns), or (rows,)."""
    sizes = [value.config[name] for name in ("rows", "columns") if name in value.config]
    dtype = value.config.get("dtype")
    known = dtype.value if isinstance(dtype, Const) and isinstance(dtype.value, str) else None
    return Tensor(shape_of(*(size.dim for size in sizes if isinstance(size, Int))), known, "numpy", CONSTANT)


def attribute(layer: Layer, name: str) -> Value | None:
    """`df.values`, `df.shape`, `df.iloc`; None for methods, and for columns that are reached by their name."""
    match name:
        case "values":
            return as_array(layer)
        case "shape":
            return Tuple(tuple(Int(size) for size in as_array(layer).shape.sizes), "size")
        case "loc" | "iloc" if layer.name == TABLE:
            return Layer(PLACES[name], layer.config)
    return None


def picked(layer: Layer, index: Value) -> Value | None:
    """`df["price"]` is a Series, `df[["price", "size"]]` a DataFrame; None where it can be one or the other."""
    if layer.name == TABLE:
        return _columns(index, rows(layer))
    if layer.name == PLACES["iloc"]:
        return _by_place(layer, index)
    if layer.name == PLACES["loc"]:
        return _by_label(layer, index)
    if layer.name == COLUMN and isinstance(index, Slice):
        return with_rows(layer, anonymous(object()))
    return None


def _columns(index: Value, count: Dim | None) -> Value | None:
    match index:
        case Const(value=str()) | Int():
            return column(count)
        case Tuple(kind="list", items=items) if items and all(map(_is_label, items)):
            return table(count, as_dim(len(items)))
    return None  # a slice of rows, a condition on them, or a name that is not known


def _is_label(value: Value) -> bool:
    return isinstance(value, Int) or (isinstance(value, Const) and isinstance(value.value, str))


def _by_place(layer: Layer, index: Value) -> Value | None:
    """`df.iloc[rows, columns]`: an integer takes its axis away, a slice or a list keeps it."""
    first, second = index.items if isinstance(index, Tuple) and len(index.items) == 2 else (index, NONE)
    kept = [_keeps(first), True if is_none(second) else _keeps(second)]
    if None in kept or (isinstance(index, Tuple) and len(index.items) != 2 and index.kind != "list"):
        return None
    count = layer.config["rows"] if first == EVERYTHING else None
    dim = count.dim if isinstance(count, Int) else None
    match kept:
        case [True, True]:
            return table(dim, _number_of(second, layer))
        case [True, False]:
            return column(dim)
        case [False, True]:
            return column()
    return None


def _by_label(layer: Layer, index: Value) -> Value | None:
    """`df.loc[rows, "price"]`; a condition or slice on the rows keeps them an axis."""
    match index:
        case Tuple(items=(Slice() as part, which)):
            count = layer.config["rows"] if part == EVERYTHING else None
            dim = count.dim if isinstance(count, Int) else None
            return _columns(which, dim) if not isinstance(which, Slice) else table(dim)
    return None


EVERYTHING = Slice(NONE, NONE, NONE)


def _number_of(index: Value, layer: Layer) -> Dim | None:
    """How many columns an index keeps, where that is certain."""
    match index:
        case Slice() if index == EVERYTHING:
            size = layer.config["columns"]
            return size.dim if isinstance(size, Int) else None
        case Const(value=None):
            size = layer.config["columns"]
            return size.dim if isinstance(size, Int) else None
        case Tuple(kind="list", items=items):
            return as_dim(len(items))
    return None


def _keeps(index: Value) -> bool | None:
    match index:
        case Slice() | Tuple(kind="list") | Many(kind="list" | "range") | Tensor():
            return True
        case Int():
            return False
    return None


def read(chunksize: Value = NONE, iterator: Value = FALSE, squeeze: Value = FALSE, header: Value = NONE) -> Result:
    """read_csv and its like: a DataFrame; several rows of names make columns that one name does not tell apart."""
    if not is_none(chunksize) or flag(iterator) or flag(squeeze) or isinstance(header, Tuple | Many | Unknown):
        raise Unknowable("in parts, one column, or with names of several levels")
    return table()


def frame(x: Value = NONE, columns: Value = NONE) -> Result:
    """pd.DataFrame(data): the rows of an array, or of the columns in a dict."""
    match x:
        case Tensor(shape=shape) if shape.rank == 2:
            return table(*shape.sizes)
        case Layer() if rows(x) is not None and x.name == TABLE and is_none(columns):
            return Layer(TABLE, x.config)
        case Dict(items=items, other=None) if is_none(columns) and items:
            return table(None, as_dim(len(items)))
    width = as_dim(len(columns.items)) if isinstance(columns, Tuple) else None
    return table(None, width)


def series(x: Value = NONE) -> Result:
    match x:
        case Tensor(shape=shape) if shape.rank == 1:
            return column(shape.sizes[0])
        case Tuple(items=items, kind="list"):
            return column(as_dim(len(items)))
    return column()


def same(receiver: Value, inplace: Value = FALSE) -> Result:
    """The same rows and columns; nothing is given back where they are changed in place."""
    if flag(inplace):
        return NONE
    return Layer(receiver.name, receiver.config) if isinstance(receiver, Layer) else receiver


def fewer(receiver: Value, inplace: Value = FALSE) -> Result:
    """Some rows, or some columns, are left away; nothing is given back where that happens in place."""
    if flag(inplace):
        return NONE
    if isinstance(receiver, Layer):
        return table() if receiver.name == TABLE else column()
    raise Unknowable("not known to be a DataFrame")


def converted(receiver: Value) -> Result:
    """to_numpy()"""
    if isinstance(receiver, Layer):
        return as_array(receiver)
    raise Unknowable("not known to be a DataFrame")


def encoded(x: Value = NONE) -> Result:
    """get_dummies: a column for each value."""
    return table(rows(x))


def resized(layer: Layer) -> Layer | None:
    """A DataFrame or Series after something was done to it in place; None for other objects."""
    match layer.name:
        case "pandas.DataFrame":
            return table()
        case "pandas.Series":
            return column()
    return None


LIKEWISE = ("copy", "astype", "abs", "round", "clip", "fillna", "replace", "sort_values", "sort_index", "rename")
FEWER = ("head", "tail", "sample", "dropna", "drop", "drop_duplicates")
OF_ELEMENTS = ("map", "isin", "isna", "isnull", "notna", "notnull")
READERS = ("read_csv", "read_table", "read_excel", "read_parquet", "read_feather")
frame_op = partial(Op, dtype=unknown_dtype)


def methods(function: Callable[..., Result], names: tuple[str, ...], *owners: str) -> Op:
    arguments = "first, second, third, *, inplace"
    return frame_op("frame", function, tuple(f"{owner}.{name}({arguments})" for owner in owners for name in names))


OPS: tuple[Op, ...] = (
    frame_op(
        "read_data", read, tuple(f"pandas.{name}(file, *, chunksize, iterator, squeeze, header)" for name in READERS)
    ),
    frame_op("frame", frame, ("pandas.DataFrame(data, index, columns, dtype, copy)",)),
    frame_op("frame", series, ("pandas.Series(data, index, dtype)",)),
    frame_op("frame", encoded, ("pandas.get_dummies(data)",)),
    methods(same, LIKEWISE, TABLE, COLUMN),
    methods(same, OF_ELEMENTS, COLUMN),
    methods(fewer, FEWER, TABLE, COLUMN),
    frame_op("as_array", converted, (f"{TABLE}.to_numpy(dtype, copy)", f"{COLUMN}.to_numpy(dtype, copy)")),
)
ALIASES: Mapping[str, str] = {
    "pandas.core.frame.DataFrame": TABLE,
    "pandas.core.series.Series": COLUMN,
    "pandas.io.parsers.read_csv": "pandas.read_csv",
}
