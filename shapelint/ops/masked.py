"""torch.masked: reductions and normalisations that leave out what a mask hides."""

from __future__ import annotations

from shapelint.domain.values import FALSE, NONE, Shape, Value
from shapelint.events import Kind
from shapelint.ops.elementwise import binary
from shapelint.ops.normalisation import along
from shapelint.ops.op import DtypeRule, GraphEffect, Op
from shapelint.ops.reductions import LAST, flat_argument, norm, several_axes, spread


def median(x: Value, dim: Value = LAST, keepdim: Value = FALSE) -> Shape:
    """(…, n, …) -> (…) along one axis; values without their indices."""
    return several_axes(x, dim, keepdim)


def ordered_norm(x: Value, ord: Value = NONE, dim: Value = NONE, keepdim: Value = FALSE) -> Shape:
    return norm(x, ord, dim, keepdim)


NO_GRAPH = GraphEffect.NO_GRAPH
OPTIONS = "*, keepdim, dtype, mask"


def row(
    name: str,
    function: object,
    parameters: str,
    dtype: DtypeRule,
    kind: Kind = Kind.REDUCTION,
    graph: GraphEffect = GraphEffect.DIFFERENTIABLE,
) -> Op:
    return Op(name, function, (f"torch.masked.{name}(input, {parameters})",), kind, dtype, graph)  # type: ignore[arg-type]


def normalisation(name: str, parameters: str, dtype: DtypeRule = "float") -> Op:
    return row(name, along, f"{parameters}, *, eps, dtype, mask", dtype, Kind.NORMALISATION)


OPS: tuple[Op, ...] = (
    *(row(name, several_axes, f"dim, {OPTIONS}", "total") for name in ("sum", "prod")),
    row("mean", several_axes, f"dim, {OPTIONS}", "float"),
    *(row(name, several_axes, f"dim, {OPTIONS}", "same") for name in ("amax", "amin")),
    *(row(name, flat_argument, f"dim, {OPTIONS}", "same", graph=NO_GRAPH) for name in ("argmax", "argmin")),
    row("logsumexp", several_axes, f"dim, {OPTIONS}", "same"),
    Op(
        "logaddexp",
        binary,
        ("torch.masked.logaddexp(x, y, *, dtype, input_mask, other_mask)",),
        Kind.ELEMENTWISE,
        "floats",
    ),
    row("median", median, f"dim, {OPTIONS}", "same"),
    row("norm", ordered_norm, f"ord, dim, {OPTIONS}", "float"),
    *(row(name, spread, f"dim, unbiased, {OPTIONS}", "float") for name in ("var", "std")),
    *(normalisation(name, "dim") for name in ("softmax", "log_softmax", "softmin")),
    normalisation("normalize", "ord, dim"),
    *(normalisation(name, "dim", "total") for name in ("cumsum", "cumprod")),
)
