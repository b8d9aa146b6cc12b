"""scikit-learn's data sets and how they are split: arrays of known rank, most of them of known size."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import ceil, floor

from shapelint.domain.dims import Dim, anonymous, as_dim
from shapelint.domain.values import (
    FALSE,
    NONE,
    UNKNOWN,
    Axis,
    Const,
    Dict,
    Float,
    Int,
    Many,
    Shape,
    Tensor,
    Tuple,
    Value,
    shape_of,
)
from shapelint.ops import frames
from shapelint.ops.dtypes import unknown_dtype
from shapelint.ops.op import Op, Result, Unknowable, flag, is_none, size_or_any, tensor
from shapelint.ops.results import CONSTANT
from shapelint.ops.runs import ends

HUNDRED, TWENTY, TEN, FIVE, TWO = (Int(as_dim(n)) for n in (100, 20, 10, 5, 2))
REAL, WHOLE = "float64", "int64"


def unknown_size() -> Dim:
    return anonymous(object())


def array(*sizes: Dim | int, dtype: str | None = REAL) -> Tensor:
    """NumPy data."""
    return Tensor(shape_of(*sizes), dtype, "numpy", CONSTANT)


def _handed_out(data: Value, target: Value, as_pair: Value, more: Mapping[str, Value]) -> Value:
    if flag(as_pair):
        return Tuple((data, target))
    return Dict((("data", data), ("target", target), *more.items()), UNKNOWN, "Bunch")


def stored(
    rows: int,
    columns: int,
    target: str,
    images: tuple[int, ...] = (),
    return_X_y: Value = FALSE,
    as_frame: Value = FALSE,
    n_class: Value = NONE,
) -> Result:
    """A data set that comes with the library: a Bunch of `data` (rows, columns) and `target` (rows,), or these two."""
    count = as_dim(rows) if is_none(n_class) else unknown_size()
    if flag(as_frame):
        table, column = frames.table(count, as_dim(columns)), frames.column(count, target)
        return _handed_out(table, column, return_X_y, {"frame": frames.table(count, as_dim(columns + 1))})
    more: dict[str, Value] = {"images": array(count, *images)} if images else {}
    more |= {"feature_names": UNKNOWN, "target_names": UNKNOWN}
    return _handed_out(array(count, columns), array(count, dtype=target), return_X_y, more)


# Of OpenML's data sets those whose size is known by their name; each has one column of targets.
OPENML: Mapping[str, tuple[int, int]] = {"mnist_784": (70000, 784), "Fashion-MNIST": (70000, 784)}


def openml(
    name: Value = NONE, as_frame: Value = NONE, return_X_y: Value = FALSE, target_column: Value = NONE
) -> Result:
    """A data set of OpenML; without a name that is known it may have several targets."""
    if is_none(as_frame) or not is_none(target_column):
        raise Unknowable("frames or arrays, by version; any number of targets")
    known = OPENML.get(name.value) if isinstance(name, Const) and isinstance(name.value, str) else None
    rows, columns = map(as_dim, known) if known else (unknown_size(), unknown_size())
    if flag(as_frame):
        target: Value = frames.column(rows) if known else UNKNOWN
        return _handed_out(frames.table(rows, columns), target, return_X_y, {})
    target = array(rows, dtype=None) if known else UNKNOWN
    return _handed_out(array(rows, columns, dtype=None), target, return_X_y, {})


def _count(n: Value) -> Dim:
    """`n_samples`: a number, or the numbers of several groups."""
    return n.dim if isinstance(n, Int) else unknown_size()


def classification(n: Value = HUNDRED, features: Value = TWENTY, return_X_y: Value = NONE) -> Result:
    if not is_none(return_X_y):
        raise Unknowable("a pair or a Bunch")
    rows = _count(n)
    return array(rows, size_or_any(features)), array(rows, dtype=WHOLE)


def regression(n: Value = HUNDRED, features: Value = HUNDRED, targets: Value = NONE, coef: Value = FALSE) -> Result:
    """(n, f) and (n,); (n, t) for several targets; their coefficients where they are asked for."""
    rows, columns = _count(n), size_or_any(features)
    several: tuple[Dim, ...] = ()
    if not is_none(targets):
        if not isinstance(targets, Int) or targets.dim.value is None:
            raise Unknowable("one target or several")
        several = () if targets.dim.value == 1 else (targets.dim,)
    pair = array(rows, columns), array(rows, *several)
    return (*pair, array(columns, *several)) if flag(coef) else pair


def blobs(n: Value = HUNDRED, features: Value = TWO, centers: Value = NONE, return_centers: Value = FALSE) -> Result:
    """(n, f) and (n,); centres that are given as points have their own number of features."""
    columns = size_or_any(features)
    if isinstance(centers, Tuple | Tensor):
        columns = ends(tensor(centers).shape, 1, 1)[2][0].size
    elif not is_none(centers) and not isinstance(centers, Int):
        columns = unknown_size()
    rows = _count(n)
    pair = array(rows, columns), array(rows, dtype=WHOLE)
    return (*pair, array(unknown_size(), columns)) if flag(return_centers) else pair


def points(columns: int, target: str, default: int = 100, n: Value = NONE) -> Result:
    """(n, columns) and (n,)"""
    rows = as_dim(default) if is_none(n) else _count(n)
    return array(rows, columns), array(rows, dtype=target)


def friedman(n: Value = HUNDRED, features: Value = TEN) -> Result:
    rows = _count(n)
    return array(rows, size_or_any(features)), array(rows)


def multilabel(
    n: Value = HUNDRED,
    features: Value = TWENTY,
    classes: Value = FIVE,
    sparse: Value = FALSE,
    indicator: Value = NONE,
    distributions: Value = FALSE,
) -> Result:
    """(n, f) and (n, c)"""
    if flag(sparse) or not is_none(indicator) or flag(distributions):
        raise Unknowable("in another form")
    rows = _count(n)
    return array(rows, size_or_any(features)), array(rows, size_or_any(classes), dtype=WHOLE)


def train_test_split(arrays: Value, test_size: Value = NONE, train_size: Value = NONE) -> Result:
    """For each array its training part and its test part; all training parts have one length, and all test parts."""
    if not isinstance(arrays, Tuple):
        return Tuple((UNKNOWN, UNKNOWN)) if not isinstance(arrays, Many) else Tuple((arrays, arrays), "list")
    given = arrays.items if arrays.kind == "tuple" else (arrays,)  # a single list is data
    parts = _parts(next((size for value in given if (size := _rows(value)) is not None), None), test_size, train_size)
    return Tuple(tuple(_with_rows(value, rows) for value in given for rows in parts), "list")


def _rows(value: Value) -> Dim | None:
    match value:
        case Tensor(shape=shape):
            first = shape.axis(0)
            return first.size if first is not None else None
        case Tuple(items=items):
            return as_dim(len(items))
    return frames.rows(value)


def _parts(rows: Dim | None, test_size: Value, train_size: Value) -> tuple[Dim, Dim]:
    """How many rows are for training and for testing: the test part is rounded up, the other one down."""
    total = rows.value if rows is not None else None
    test, train = _share(test_size, total, ceil), _share(train_size, total, floor)
    if is_none(test_size) and is_none(train_size) and total is not None:
        test = ceil(total / 4)
    if total is not None:
        if test is None and is_none(test_size) and train is not None:
            test = total - train
        elif train is None and is_none(train_size) and test is not None:
            train = total - test
    return (as_dim(train) if train else unknown_size()), (as_dim(test) if test else unknown_size())


def _share(size: Value, total: int | None, rounded: Callable[[float], int]) -> int | None:
    match size:
        case Int(dim=dim):
            return dim.value
        case Float(value=float() as share) if total is not None:
            return rounded(share * total)
    return None


def _with_rows(value: Value, rows: Dim) -> Value:
    """A part of data: the other axes stay."""
    match value:
        case Tensor(shape=shape):
            rest = ends(shape, 1, 0)[1]
            return Tensor(Shape((Axis(rows), *rest.head), rest.run, rest.tail), value.dtype, value.library, CONSTANT)
        case Tuple(items=items, kind="list") if items:
            return Many(items[0] if all(item == items[0] for item in items) else UNKNOWN, rows, "list")
        case Many(item=item, kind="list"):
            return Many(item, rows, "list")
    return frames.with_rows(value, rows) or UNKNOWN


def shuffled(arrays: Value) -> Result:
    """The same data in another order."""
    if not isinstance(arrays, Tuple) or arrays.kind != "tuple":
        raise Unknowable("one array or several")
    found = tuple(_with_rows(value, size) if (size := _rows(value)) is not None else UNKNOWN for value in arrays.items)
    return found[0] if len(found) == 1 else Tuple(found, "list")


def folds() -> Result:
    """Pairs of indices: of the rows for training, and for testing."""
    return Many(Tuple((array(unknown_size(), dtype=WHOLE), array(unknown_size(), dtype=WHOLE))), None, "generator")


def scores(cv: Value = NONE) -> Result:
    """cross_val_score: one number for each fold."""
    match cv:
        case Int(dim=dim):
            return array(dim)
    return array(5 if is_none(cv) else unknown_size())


def folding() -> Result:
    raise Unknowable("an object that is not called")


STORED: Mapping[str, tuple[int, int, str]] = {
    "load_iris": (150, 4, WHOLE),
    "load_wine": (178, 13, WHOLE),
    "load_breast_cancer": (569, 30, WHOLE),
    "load_diabetes": (442, 10, REAL),
    "load_boston": (506, 13, REAL),
    "fetch_california_housing": (20640, 8, REAL),
}
SPLITTERS = ("KFold", "StratifiedKFold", "ShuffleSplit", "StratifiedShuffleSplit", "RepeatedKFold", "TimeSeriesSplit")
HOME, MODELS = "sklearn.datasets", "sklearn.model_selection"
data_op = partial(Op, dtype=unknown_dtype)

OPS: tuple[Op, ...] = (
    *(
        data_op("load_data", partial(stored, *facts), (f"{HOME}.{name}(*, return_X_y, as_frame)",))
        for name, facts in STORED.items()
    ),
    data_op(
        "load_data",
        partial(stored, 1797, 64, WHOLE, (8, 8)),
        (f"{HOME}.load_digits(*, n_class, return_X_y, as_frame)",),
    ),
    data_op(
        "load_data",
        partial(stored, 400, 4096, WHOLE, (64, 64)),
        (f"{HOME}.fetch_olivetti_faces(*, data_home, shuffle, random_state, download_if_missing, return_X_y)",),
    ),
    data_op(
        "load_data",
        openml,
        (f"{HOME}.fetch_openml(name, *, version, data_id, data_home, target_column, cache, return_X_y, as_frame)",),
    ),
    data_op(
        "make_data",
        classification,
        (f"{HOME}.make_classification(n_samples: n, n_features: features, *, return_X_y)",),
    ),
    data_op(
        "make_data",
        regression,
        (f"{HOME}.make_regression(n_samples: n, n_features: features, *, n_targets: targets, coef)",),
    ),
    data_op(
        "make_data", blobs, (f"{HOME}.make_blobs(n_samples: n, n_features: features, *, centers, return_centers)",)
    ),
    data_op(
        "make_data",
        partial(points, 2, WHOLE),
        (f"{HOME}.make_moons(n_samples: n, *, shuffle)", f"{HOME}.make_circles(n_samples: n, *, shuffle)"),
    ),
    data_op(
        "make_data",
        partial(points, 3, REAL),
        (f"{HOME}.make_s_curve(n_samples: n)", f"{HOME}.make_swiss_roll(n_samples: n)"),
    ),
    data_op(
        "make_data",
        partial(points, 4, REAL),
        (f"{HOME}.make_friedman2(n_samples: n)", f"{HOME}.make_friedman3(n_samples: n)"),
    ),
    data_op("make_data", partial(points, 10, REAL, 12000), (f"{HOME}.make_hastie_10_2(n_samples: n)",)),
    data_op("make_data", friedman, (f"{HOME}.make_friedman1(n_samples: n, n_features: features)",)),
    data_op(
        "make_data",
        multilabel,
        (
            f"{HOME}.make_multilabel_classification(n_samples: n, n_features: features, *, n_classes: classes, sparse,"
            " return_indicator: indicator, return_distributions: distributions)",
        ),
    ),
    data_op(
        "split_data",
        train_test_split,
        (f"{MODELS}.train_test_split(*arrays, test_size, train_size, random_state, shuffle, stratify)",),
    ),
    data_op("shuffle_data", shuffled, ("sklearn.utils.shuffle(*arrays, random_state)",)),
    data_op(
        "cross_validate",
        scores,
        (f"{MODELS}.cross_val_score(estimator, X, y, *, groups, scoring, cv)",),
    ),
    *(data_op("folds", folding, (f"{MODELS}.{name}(*options)",), inputs="*options") for name in SPLITTERS),
    *(data_op("split_data", folds, (f"{MODELS}.{name}.split(X, y, groups)",)) for name in SPLITTERS),
)
ALIASES: Mapping[str, str] = {
    f"sklearn.cross_validation.{name}": f"{MODELS}.{name}" for name in ("train_test_split", "cross_val_score")
}
