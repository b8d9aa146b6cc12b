"""scikit-learn's estimators: transformers keep the samples and change the features, predictors give each a value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from shapelint.domain.dims import ONE, Dim, Truth, anonymous, as_dim, compare
from shapelint.domain.values import (
    FALSE,
    NONE,
    UNKNOWN,
    Const,
    Float,
    Int,
    Layer,
    Shape,
    Tensor,
    Tuple,
    Unknown,
    Value,
    shape_of,
)
from shapelint.ops import frames
from shapelint.ops.dtypes import unknown_dtype
from shapelint.ops.op import Op, Result, Unknowable, is_none, tensor
from shapelint.ops.results import CONSTANT
from shapelint.ops.runs import with_rank

SPARSE = "scipy.sparse.csr_matrix"
NUMBER = Float(graph=CONSTANT)


def _data(*sizes: Dim | int, dtype: str | None = None) -> Tensor:
    return Tensor(shape_of(*sizes), dtype, "numpy", CONSTANT)


def _any() -> Dim:
    return anonymous(object())


def _shape(x: Value) -> Shape:
    """Of an array, of nested lists, or of a DataFrame."""
    match x:
        case Layer(name=name) if name in frames.NAMES:
            return frames.as_array(x).shape
        case Layer(name=name, config={"rows": Int(dim=rows), "columns": Int(dim=columns)}) if name == SPARSE:
            return shape_of(rows, columns)
    return tensor(x).shape


def _table(x: Value) -> tuple[Dim, Dim]:
    """How many samples and features; ShapeError where there is no second axis, as scikit-learn says so too."""
    rows, columns = with_rank(_shape(x), 2).sizes
    return rows, columns


def _real(x: Value) -> str | None:
    """Numbers are made float64, except for float32, which stays."""
    known = x.dtype if isinstance(x, Tensor) else None
    return "float32" if known == "float32" else "float64" if known in {"float64", "int64", "int32"} else None


def fitted(receiver: Value, y: Value = NONE) -> Result:
    """The estimator itself, which now knows its targets."""
    if not isinstance(receiver, Layer):
        raise Unknowable("no estimator")
    return Layer(receiver.name, {**receiver.config, "y": y})


def kept(x: Value) -> Result:
    """(n, f), as before"""
    return Tensor(with_rank(_shape(x), 2), _real(x), "numpy", CONSTANT)


def projected(x: Value, n_components: Value = NONE) -> Result:
    """(n, n_components); a share of the variance is no number of components."""
    return _data(_table(x)[0], n_components.dim if isinstance(n_components, Int) else _any(), dtype=_real(x))


def widened(x: Value) -> Result:
    """(n, as many as it takes)"""
    return _data(_table(x)[0], _any())


def labelled(x: Value, dtype: str | None = None) -> Result:
    """(n,)"""
    return _data(_first(x), dtype=dtype)


def binarized(x: Value) -> Result:
    """LabelBinarizer: (n, classes), (n, 1) for two of them"""
    return _data(_first(x), _any())


def _first(x: Value) -> Dim:
    shape = _shape(x)
    axis = shape.axis(0)
    return axis.size if axis is not None else _any()


def encoded(x: Value, sparse_output: Value = NONE, sparse: Value = NONE) -> Result:
    """OneHotEncoder: a sparse matrix, unless it is told otherwise."""
    rows = _table(x)[0]
    if FALSE in (sparse_output, sparse):
        return _data(rows, _any())
    if is_none(sparse_output) and is_none(sparse):
        return _sparse(rows)
    raise Unknowable("sparse or not")


def counted(x: Value) -> Result:
    """The vectorizers: one row for each text."""
    return _sparse(as_dim(len(x.items)) if isinstance(x, Tuple) else None)


def _sparse(rows: Dim | None) -> Layer:
    return Layer(SPARSE, {"rows": Int(rows or _any()), "columns": Int(_any())})


def dense(rows: Value, columns: Value) -> Result:
    """toarray()"""
    if isinstance(rows, Int) and isinstance(columns, Int):
        return _data(rows.dim, columns.dim)
    raise Unknowable("not known to be a sparse matrix")


def classified(x: Value, y: Value = NONE) -> Result:
    """One class for each sample, of a classifier that knows no more than one column of targets."""
    return _data(_table(x)[0], dtype=y.dtype if isinstance(y, Tensor) else None)


def predicted(x: Value, y: Value = NONE) -> Result:
    """One value for each sample, or as many as there were columns of targets."""
    rows = _table(x)[0]
    columns = _targets(y)
    if columns is None:
        return _data(rows)
    if compare(columns, ONE) is not Truth.DIFFERENT:
        raise Unknowable("a single column is taken for a vector by some")
    return _data(rows, columns)


def regressed(x: Value, y: Value = NONE) -> Result:
    """LinearRegression: (n,) for targets (n,), (n, t) for targets (n, t), a single column too."""
    columns = _targets(y)
    return _data(_table(x)[0], *(() if columns is None else (columns,)))


def _targets(y: Value) -> Dim | None:
    """How many columns the targets had that an estimator was fitted to; None for a vector."""
    if is_none(y) or isinstance(y, Unknown):
        raise Unknowable("fitted to targets that are not known")
    shape = _shape(y)
    if shape.rank not in {1, 2}:
        raise Unknowable("one target or several")
    return shape.sizes[1] if shape.rank == 2 else None


def probabilities(x: Value) -> Result:
    """(n, classes)"""
    return _data(_table(x)[0], _any(), dtype="float64")


def grouped(x: Value) -> Result:
    """A cluster for each sample."""
    return _data(_table(x)[0])


def number() -> Result:
    return NUMBER


def averaged(average: Value = NONE, multioutput: Value = NONE) -> Result:
    """A number, unless one is asked for for each class or each target."""
    named = [value for value in (average, multioutput) if value != NONE]
    if all(isinstance(value, Const) and value.value not in {None, "raw_values"} for value in named):
        return NUMBER
    raise Unknowable("a number or several")


def confusion() -> Result:
    """(classes, classes)"""
    classes = _any()
    return _data(classes, classes)


def curve() -> Result:
    """roc_curve: three vectors of one length"""
    size = _any()
    return _data(size), _data(size), _data(size)


def recall_curve() -> Result:
    """precision_recall_curve: there is one threshold less"""
    size = _any()
    return _data(size + 1), _data(size + 1), _data(size)


def pairwise(x: Value, y: Value = NONE) -> Result:
    """(n, m)"""
    rows = _table(x)[0]
    return _data(rows, rows if is_none(y) else _table(y)[0])


def last_step(steps: Value) -> Result:
    """make_pipeline(a, b, model) does what its model does with as many samples."""
    last = steps.items[-1] if isinstance(steps, Tuple) and steps.items else UNKNOWN
    if isinstance(last, Layer) and last.name.rpartition(".")[2] not in KEEPING["preprocessing"]:
        return last
    raise Unknowable("not known, or with the features of the step before")


def unused() -> Result:
    raise Unknowable("an object that is not called")


Classes = Mapping[str, tuple[str, ...]]
KEEPING: Classes = {
    "preprocessing": (
        *("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "Normalizer", "Binarizer"),
        *("QuantileTransformer", "PowerTransformer", "OrdinalEncoder"),
    ),
}
PROJECTING: Classes = {
    "decomposition": ("PCA", "IncrementalPCA", "KernelPCA", "SparsePCA", "TruncatedSVD", "FastICA", "NMF"),
    "manifold": ("TSNE",),
}
EMBEDDING: Classes = {"manifold": ("Isomap", "LocallyLinearEmbedding", "MDS", "SpectralEmbedding")}
WIDENING: Classes = {"preprocessing": ("PolynomialFeatures",), "impute": ("SimpleImputer", "KNNImputer")}
COUNTING: Classes = {"feature_extraction.text": ("CountVectorizer", "TfidfVectorizer", "HashingVectorizer")}
CLASSIFYING: Classes = {
    "linear_model": ("LogisticRegression", "LogisticRegressionCV", "SGDClassifier", "Perceptron"),
    "svm": ("SVC", "LinearSVC", "NuSVC"),
    "naive_bayes": ("GaussianNB", "MultinomialNB", "BernoulliNB", "ComplementNB"),
    "ensemble": ("AdaBoostClassifier", "GradientBoostingClassifier", "HistGradientBoostingClassifier"),
    "discriminant_analysis": ("LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"),
}
PREDICTING: Classes = {
    "linear_model": ("Ridge", "Lasso", "ElasticNet"),
    "neighbors": ("KNeighborsClassifier", "KNeighborsRegressor"),
    "tree": ("DecisionTreeClassifier", "DecisionTreeRegressor"),
    "ensemble": ("RandomForestClassifier", "RandomForestRegressor", "ExtraTreesClassifier", "ExtraTreesRegressor"),
    "neural_network": ("MLPClassifier", "MLPRegressor"),
}
REGRESSING: Classes = {"linear_model": ("LinearRegression",)}
VECTOR_REGRESSING: Classes = {
    "svm": ("SVR", "LinearSVR"),
    "linear_model": ("SGDRegressor", "HuberRegressor", "BayesianRidge"),
    "ensemble": ("GradientBoostingRegressor", "AdaBoostRegressor"),
}
CLUSTERING: Classes = {
    "cluster": ("KMeans", "MiniBatchKMeans", "DBSCAN", "AgglomerativeClustering", "SpectralClustering"),
    "mixture": ("GaussianMixture",),
}


def names(classes: Classes) -> tuple[str, ...]:
    return tuple(f"sklearn.{module}.{name}" for module, found in classes.items() for name in found)


GROUPS = (
    *(KEEPING, PROJECTING, EMBEDDING, WIDENING, COUNTING, CLASSIFYING, PREDICTING, REGRESSING, VECTOR_REGRESSING),
    CLUSTERING,
)
ONE_HOT, BINARIZER = "sklearn.preprocessing.OneHotEncoder", "sklearn.preprocessing.LabelBinarizer"
LABELS = "sklearn.preprocessing.LabelEncoder"
# Attributes of fitted estimators by how many axes they have.
ATTRIBUTES: Mapping[str, int] = {
    "cluster_centers_": 2, "labels_": 1, "components_": 2, "explained_variance_": 1, "explained_variance_ratio_": 1,
    "singular_values_": 1, "feature_importances_": 1, "support_vectors_": 2, "support_": 1,
}  # fmt: skip


def attribute(layer: Layer, name: str) -> Value | None:
    """What an estimator has learned, where every one of them has it in that form; None for methods."""
    if layer.name == SPARSE:
        return Tuple((layer.config["rows"], layer.config["columns"]), "size") if name == "shape" else None
    rank = ATTRIBUTES.get(name)
    return _data(*(_any() for _ in range(rank))) if rank is not None else None


estimator_op = partial(Op, dtype=unknown_dtype)


def methods(name: str, function: Callable[..., Result], classes: tuple[str, ...], *signatures: str) -> Op:
    return estimator_op(name, function, tuple(f"{owner}.{signature}" for owner in classes for signature in signatures))


def constructed(classes: tuple[str, ...], arguments: str) -> Op:
    return estimator_op("estimator", unused, tuple(f"{n}({arguments})" for n in classes), inputs="*options")


ALL = (*(name for group in GROUPS for name in names(group)), ONE_HOT, BINARIZER, LABELS)
BY_COMPONENTS = (*names(PROJECTING), *names(EMBEDDING))
VALUED = (*names(CLASSIFYING), *names(VECTOR_REGRESSING))
X_ONLY, X_AND_Y = "transform(X: x)", "fit_transform(X: x, y)"
METRICS = (
    *("accuracy_score", "balanced_accuracy_score", "log_loss", "matthews_corrcoef", "cohen_kappa_score"),
    *("silhouette_score", "adjusted_rand_score", "brier_score_loss"),
)
AVERAGED = (
    *("precision_score", "recall_score", "f1_score", "roc_auc_score", "mean_squared_error", "mean_absolute_error"),
    "r2_score",
)
PAIRWISE = ("euclidean_distances", "cosine_similarity", "rbf_kernel", "linear_kernel")

OPS: tuple[Op, ...] = (
    constructed(names(PROJECTING), "n_components"),
    constructed(tuple(name for name in ALL if name not in names(PROJECTING)), "*options, n_components"),
    methods("fit", fitted, ALL, "fit(X: x, y)"),
    methods("fit_transform", kept, names(KEEPING), X_AND_Y, X_ONLY, "inverse_transform(X: x)"),
    methods("fit_transform", projected, BY_COMPONENTS, X_AND_Y, X_ONLY),
    methods("fit_transform", widened, names(WIDENING), X_AND_Y, X_ONLY),
    methods("fit_transform", widened, ("sklearn.discriminant_analysis.LinearDiscriminantAnalysis",), X_AND_Y, X_ONLY),
    methods("fit_transform", counted, names(COUNTING), X_AND_Y, X_ONLY),
    methods("fit_transform", encoded, (ONE_HOT,), X_AND_Y, X_ONLY),
    methods("fit_transform", partial(labelled, dtype="int64"), (LABELS,), "fit_transform(y: x)", "transform(y: x)"),
    methods("inverse_transform", labelled, (LABELS,), "inverse_transform(y: x)"),
    methods("fit_transform", binarized, (BINARIZER,), "fit_transform(y: x)", "transform(y: x)"),
    methods("predict", classified, VALUED, "predict(X: x)"),
    methods("predict", predicted, names(PREDICTING), "predict(X: x)"),
    methods("predict", regressed, names(REGRESSING), "predict(X: x)"),
    methods("predict_proba", probabilities, names(CLASSIFYING), "predict_proba(X: x)", "predict_log_proba(X: x)"),
    methods("predict", grouped, names(CLUSTERING), "predict(X: x)", "fit_predict(X: x, y)"),
    methods("score", number, ALL, "score(X: x, y)"),
    estimator_op("dense", dense, (f"{SPARSE}.toarray()",)),
    estimator_op("pipeline", last_step, ("sklearn.pipeline.make_pipeline(*steps)",)),
    estimator_op("metric", number, tuple(f"sklearn.metrics.{name}(y_true, y_pred)" for name in METRICS)),
    estimator_op(
        "metric",
        averaged,
        tuple(f"sklearn.metrics.{name}(y_true, y_pred, *, average, multioutput)" for name in AVERAGED),
    ),
    estimator_op("confusion_matrix", confusion, ("sklearn.metrics.confusion_matrix(y_true, y_pred)",)),
    estimator_op("curve", curve, ("sklearn.metrics.roc_curve(y_true, y_score)",)),
    estimator_op("curve", recall_curve, ("sklearn.metrics.precision_recall_curve(y_true, y_score)",)),
    estimator_op("pairwise", pairwise, tuple(f"sklearn.metrics.pairwise.{name}(X: x, Y: y)" for name in PAIRWISE)),
)
ALIASES: Mapping[str, str] = {
    "sklearn.metrics.pairwise_distances": "sklearn.metrics.pairwise.euclidean_distances",
    "sklearn.lda.LDA": "sklearn.discriminant_analysis.LinearDiscriminantAnalysis",
}
