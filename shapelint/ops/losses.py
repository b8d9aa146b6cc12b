"""Losses: an elementwise comparison or a classification, then a mean. Arguments are `x` (the input) and `target`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial

from shapelint.domain.dims import as_dim
from shapelint.domain.shapes import line_up, never_equal
from shapelint.domain.values import NONE, Const, Int, Shape, Value
from shapelint.events import Kind
from shapelint.ops.op import Op, Result, ShapeError, Unknowable, integer, is_none, tensor
from shapelint.ops.results import check_fits
from shapelint.ops.runs import ends

MEAN = Const("mean")
LAST = Int(as_dim(-1))


def reduced(
    shape: Callable[..., Shape],
    *operands: Value,
    reduction: Value = MEAN,
    size_average: Value = NONE,
    reduce: Value = NONE,
) -> Shape:
    """() for a mean or sum, the shape of the operands' losses for "none"."""
    if not is_none(reduce) or not is_none(size_average):
        raise Unknowable("deprecated ways to say `reduction`")
    match reduction:
        case Const(value="none"):
            return shape(*operands)
        case Const(value="mean" | "sum" | "batchmean"):
            with suppress(Unknowable):
                shape(*operands)  # raises where they can never meet
            return Shape()
    raise Unknowable("reduction not known")


def broadcast(*operands: Value) -> Shape:
    result = tensor(operands[0]).shape
    for operand in operands[1:]:
        lined_up = line_up(result, tensor(operand).shape)
        if lined_up.conflict is not None:
            raise ShapeError(f"{result} and {tensor(operand)} do not broadcast")
        result = lined_up.shape
    return result


def equal(x: Value, target: Value) -> Shape:
    shape, other = tensor(x).shape, tensor(target).shape
    known, open_ended = (shape, other) if shape.rank is not None else (other, shape)
    unequal = open_ended.rank is not None and any(never_equal(a, b) for a, b in zip(shape.sizes, other.sizes))
    if known.rank is not None and (
        unequal or open_ended.least_rank > known.rank or (open_ended.rank or known.rank) != known.rank
    ):
        raise ShapeError(f"the target {other} must be of the input's shape {shape}")
    return known


def classified(x: Value, target: Value, probabilities: bool = True) -> Shape:
    """(n, c, …) with class indices (n, …), or with probabilities (n, c, …) -> (n, …)"""
    shape, classes = tensor(x).shape, tensor(target).shape
    if shape.rank is None or classes.rank is None:
        raise Unknowable("rank not known")
    if shape.rank == 0:
        raise ShapeError("the input has no class axis")
    without = Shape((*shape.head[:1], *shape.head[2:]) if shape.rank > 1 else ())
    if probabilities and classes.rank == shape.rank:
        equal(x, target)
        return without
    if classes.rank != without.rank or any(never_equal(a, b) for a, b in zip(without.sizes, classes.sizes)):
        raise ShapeError(f"an input {shape} takes class indices {without}, the target is {classes}")
    return classes


def stretched(x: Value, target: Value) -> Shape:
    """A target that broadcasts to the input's shape."""
    shape = tensor(x).shape
    check_fits(broadcast(x, target), shape)
    return shape


def per_sample(x: Value, target: Value) -> Shape:
    """(n, c) with class indices (n,), or (c,) -> (n,) or (); a scalar counts as (1,)"""
    if tensor(x).shape.rank == 0:
        return Shape()
    return ends(tensor(x).shape, 0, 1)[1]


def along_last(*operands: Value) -> Shape:
    """Vectors along the last axis are compared: (…, d) -> (…)"""
    return ends(broadcast(*operands), 0, 1)[1]


def elementwise(
    x: Value, target: Value, reduction: Value = MEAN, size_average: Value = NONE, reduce: Value = NONE
) -> Shape:
    """(…), (…) -> (): they broadcast, and torch only warns."""
    return reduced(broadcast, x, target, reduction=reduction, size_average=size_average, reduce=reduce)


def strict(x: Value, target: Value, reduction: Value = MEAN, size_average: Value = NONE, reduce: Value = NONE) -> Shape:
    """(…), (…) -> (): the shapes must be the same."""
    return reduced(equal, x, target, reduction=reduction, size_average=size_average, reduce=reduce)


def soft_margin(
    x: Value, target: Value, reduction: Value = MEAN, size_average: Value = NONE, reduce: Value = NONE
) -> Shape:
    """(…), (…) -> (): the target may stretch, the input may not."""
    return reduced(stretched, x, target, reduction=reduction, size_average=size_average, reduce=reduce)


def cross_entropy(
    x: Value, target: Value, reduction: Value = MEAN, size_average: Value = NONE, reduce: Value = NONE
) -> Shape:
    """(n, c, …) with class indices (n, …) or probabilities (n, c, …) -> ()"""
    return reduced(classified, x, target, reduction=reduction, size_average=size_average, reduce=reduce)


def nll(x: Value, target: Value, reduction: Value = MEAN, size_average: Value = NONE, reduce: Value = NONE) -> Shape:
    """(n, c, …) with class indices (n, …) -> ()"""
    by_class = partial(classified, probabilities=False)
    return reduced(by_class, x, target, reduction=reduction, size_average=size_average, reduce=reduce)


def margin(x: Value, target: Value, reduction: Value = MEAN, size_average: Value = NONE, reduce: Value = NONE) -> Shape:
    """(n, c) -> (): one loss for each sample."""
    return reduced(per_sample, x, target, reduction=reduction, size_average=size_average, reduce=reduce)


def ranking(
    x: Value, y: Value, target: Value, reduction: Value = MEAN, size_average: Value = NONE, reduce: Value = NONE
) -> Shape:
    """(…), (…), (…) -> ()"""
    return reduced(broadcast, x, y, target, reduction=reduction, size_average=size_average, reduce=reduce)


def cosine_embedding(
    x: Value, y: Value, target: Value, reduction: Value = MEAN, size_average: Value = NONE, reduce: Value = NONE
) -> Shape:
    """(n, d), (n, d), (n,) -> ()"""

    def each(x: Value, y: Value, target: Value) -> Shape:
        known = tensor(target).shape
        if known.rank is None:
            raise Unknowable("rank not known")
        if known.rank > 1:
            raise ShapeError(f"one number for each pair, (n,), is taken for the target, not {known}")
        return known

    return reduced(each, x, y, target, reduction=reduction, size_average=size_average, reduce=reduce)


def triplet(
    x: Value,
    positive: Value,
    negative: Value,
    reduction: Value = MEAN,
    size_average: Value = NONE,
    reduce: Value = NONE,
) -> Shape:
    """Three of (…, d) -> ()"""
    return reduced(along_last, x, positive, negative, reduction=reduction, size_average=size_average, reduce=reduce)


def gaussian_nll(x: Value, target: Value, var: Value, reduction: Value = MEAN) -> Shape:
    """(…), (…), variances (…) or (…, 1) -> ()"""
    return reduced(lambda a, b, _: broadcast(a, b), x, target, var, reduction=reduction)


def ctc(x: Value, target: Value, reduction: Value = MEAN) -> Shape:
    """(t, n, c) -> (), or (n,)"""

    def each(x: Value) -> Shape:
        shape = tensor(x).shape
        if shape.rank is None:
            raise Unknowable("rank not known")
        return Shape(shape.head[1:-1])

    return reduced(each, x, reduction=reduction)


def optax_elementwise(x: Value, target: Value = NONE) -> Shape:
    """(…), (…) -> (…): optax does not reduce; without targets the input is the error."""
    return tensor(x).shape if is_none(target) else broadcast(x, target)


def optax_along(x: Value, target: Value, dim: Value = LAST) -> Shape:
    """(…, c), (…, c) -> (…)"""
    shape = broadcast(x, target)
    if integer(dim) != -1:
        raise Unknowable("another axis")
    return ends(shape, 0, 1)[1]


def optax_classes(x: Value, target: Value, dim: Value = LAST) -> Shape:
    """(…, c), class indices (…) -> (…)"""
    if integer(dim) != -1:
        raise Unknowable("another axis")
    _, lead, _ = ends(tensor(x).shape, 0, 1)
    classes = tensor(target).shape
    lined_up = line_up(lead, classes)
    if lined_up.conflict is not None:
        raise ShapeError(f"logits {tensor(x)} take class indices {lead}, the labels are {classes}")
    return lined_up.shape


F = "torch.nn.functional"
OLD = "size_average, reduce, reduction"

# (op name, shape function, functional spelling, module spelling, parameters of the module's call)
TORCH: tuple[tuple[str, Callable[..., Result], str, str, str], ...] = (
    ("mse_loss", elementwise, f"mse_loss(input, target, {OLD}, weight)", f"MSELoss({OLD})", ""),
    ("l1_loss", elementwise, f"l1_loss(input, target, {OLD}, weight)", f"L1Loss({OLD})", ""),
    (
        "smooth_l1_loss",
        elementwise,
        f"smooth_l1_loss(input, target, {OLD}, beta)",
        f"SmoothL1Loss({OLD}, beta)",
        "",
    ),
    (
        "huber_loss",
        elementwise,
        "huber_loss(input, target, reduction, delta, weight)",
        "HuberLoss(reduction, delta)",
        "",
    ),
    ("bce", strict, f"binary_cross_entropy(input, target, weight, {OLD})", f"BCELoss(weight, {OLD})", ""),
    (
        "bce_with_logits",
        strict,
        f"binary_cross_entropy_with_logits(input, target, weight, {OLD}, pos_weight)",
        f"BCEWithLogitsLoss(weight, {OLD}, pos_weight)",
        "",
    ),
    (
        "cross_entropy",
        cross_entropy,
        "cross_entropy(input, target, weight, size_average, ignore_index, reduce, reduction, label_smoothing)",
        "CrossEntropyLoss(weight, size_average, ignore_index, reduce, reduction, label_smoothing)",
        "",
    ),
    (
        "nll_loss",
        nll,
        "nll_loss(input, target, weight, size_average, ignore_index, reduce, reduction)",
        "NLLLoss(weight, size_average, ignore_index, reduce, reduction)",
        "",
    ),
    ("kl_div", elementwise, f"kl_div(input, target, {OLD}, log_target)", f"KLDivLoss({OLD}, log_target)", ""),
    (
        "poisson_nll_loss",
        elementwise,
        "poisson_nll_loss(input, target, log_input, full, size_average, eps, reduce, reduction)",
        "PoissonNLLLoss(log_input, full, size_average, eps, reduce, reduction)",
        "",
    ),
    (
        "gaussian_nll_loss",
        gaussian_nll,
        "gaussian_nll_loss(input, target, var, full, eps, reduction)",
        "GaussianNLLLoss(*, full, eps, reduction)",
        "input, target, var",
    ),
    ("soft_margin_loss", soft_margin, f"soft_margin_loss(input, target, {OLD})", f"SoftMarginLoss({OLD})", ""),
    (
        "hinge_embedding_loss",
        elementwise,
        f"hinge_embedding_loss(input, target, margin, {OLD})",
        f"HingeEmbeddingLoss(margin, {OLD})",
        "",
    ),
    (
        "multi_margin_loss",
        margin,
        f"multi_margin_loss(input, target, p, margin, weight, {OLD})",
        f"MultiMarginLoss(p, margin, weight, {OLD})",
        "",
    ),
    (
        "multilabel_margin_loss",
        margin,
        f"multilabel_margin_loss(input, target, {OLD})",
        f"MultiLabelMarginLoss({OLD})",
        "",
    ),
    (
        "multilabel_soft_margin_loss",
        margin,
        f"multilabel_soft_margin_loss(input, target, weight, {OLD})",
        f"MultiLabelSoftMarginLoss(weight, {OLD})",
        "",
    ),
    (
        "margin_ranking_loss",
        ranking,
        f"margin_ranking_loss(input1: x, input2: y, target, margin, {OLD})",
        f"MarginRankingLoss(margin, {OLD})",
        "input1: x, input2: y, target",
    ),
    (
        "cosine_embedding_loss",
        cosine_embedding,
        f"cosine_embedding_loss(input1: x, input2: y, target, margin, {OLD})",
        f"CosineEmbeddingLoss(margin, {OLD})",
        "input1: x, input2: y, target",
    ),
    (
        "triplet",
        triplet,
        f"triplet_margin_loss(anchor: x, positive, negative, margin, p, eps, swap, {OLD})",
        f"TripletMarginLoss(margin, p, eps, swap, {OLD})",
        "anchor: x, positive, negative",
    ),
    (
        "triplet",
        triplet,
        "triplet_margin_with_distance_loss(anchor: x, positive, negative, *, margin, swap, reduction)",
        "TripletMarginWithDistanceLoss(*, distance_function, margin, swap, reduction)",
        "anchor: x, positive, negative",
    ),
    (
        "ctc",
        ctc,
        "ctc_loss(log_probs: x, targets: target, input_lengths, target_lengths, blank, reduction, zero_infinity)",
        "CTCLoss(blank, reduction, zero_infinity)",
        "log_probs: x, targets: target, input_lengths, target_lengths",
    ),
)

# These give a float of whole numbers too.
FLOATS = frozenset({"poisson_nll_loss", "margin_ranking_loss", "cosine_embedding_loss", "triplet"})

# optax: (op name, shape function, its home in optax.losses, signature); each is also optax.<name>
OPTAX: tuple[tuple[str, Callable[..., Result], str, str], ...] = (
    ("l2_loss", optax_elementwise, "_regression", "l2_loss(predictions: x, targets: target)"),
    ("mse_loss", optax_elementwise, "_regression", "squared_error(predictions: x, targets: target)"),
    ("l1_loss", optax_elementwise, "_regression", "absolute_error(predictions: x, targets: target)"),
    ("huber_loss", optax_elementwise, "_regression", "huber_loss(predictions: x, targets: target, delta)"),
    ("log_cosh", optax_elementwise, "_regression", "log_cosh(predictions: x, targets: target)"),
    ("cosine_similarity", optax_along, "_regression", "cosine_similarity(predictions: x, targets: target, epsilon)"),
    ("cosine_distance", optax_along, "_regression", "cosine_distance(predictions: x, targets: target, epsilon)"),
    ("bce_with_logits", optax_elementwise, "_classification", "sigmoid_binary_cross_entropy(logits, labels: target)"),
    (
        "bce_with_logits",
        optax_elementwise,
        "_classification",
        "sigmoid_focal_loss(logits, labels: target, alpha, gamma)",
    ),
    ("hinge_loss", optax_elementwise, "_classification", "hinge_loss(predictor_outputs: x, targets: target)"),
    ("cross_entropy", optax_along, "_classification", "softmax_cross_entropy(logits, labels: target, axis)"),
    (
        "cross_entropy",
        optax_classes,
        "_classification",
        "softmax_cross_entropy_with_integer_labels(logits, labels: target, axis)",
    ),
    ("kl_div", optax_along, "_classification", "kl_divergence(log_predictions: x, targets: target)"),
)


def _rows() -> tuple[Op, ...]:
    found: list[Op] = []
    for name, shape, function, module, inputs in TORCH:
        dtype = "float" if name in FLOATS else "same"
        found.append(Op(name, shape, (f"{F}.{function}",), Kind.LOSS, dtype))
        found.append(Op(name, shape, (f"torch.nn.{module}",), Kind.LOSS, dtype, inputs=inputs or "input, target"))
    for name, shape, home, signature in OPTAX:
        places = ("optax", "optax.losses", f"optax.losses.{home}")
        found.append(Op(name, shape, tuple(f"{place}.{signature}" for place in places), Kind.LOSS, "float"))
    return tuple(found)


OPS: tuple[Op, ...] = _rows()
