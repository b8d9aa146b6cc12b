"""Data sets and loaders, optimizers and grad scalers: objects that are built, and what iterating over one gives."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from shapelint.domain.dims import ONE, Dim, as_dim
from shapelint.domain.values import (
    NONE,
    UNKNOWN,
    Axis,
    Const,
    Dict,
    Float,
    Graph,
    GraphState,
    Int,
    Layer,
    Maker,
    Many,
    Shape,
    Tensor,
    Tuple,
    Value,
)
from shapelint.events import Kind
from shapelint.ops import vision
from shapelint.ops.layer_axes import unknown_axis
from shapelint.ops.op import Op, Result, Unknowable, is_none, prepend, tensor
from shapelint.ops.runs import ends

DATASET = "torch.utils.data.TensorDataset"
LOADER = "torch.utils.data.DataLoader"
SUBSET = "torch.utils.data.Subset"
PARTS = frozenset({SUBSET, "torch.utils.data.ConcatDataset"})


def iterate(layer: Layer) -> Value | None:
    """The item of `for item in layer`, where that is known: a sample of a data set, a batch of a loader."""
    if layer.name != LOADER:
        return sample(layer)
    dataset = layer.config.get("dataset")
    if not isinstance(dataset, Layer) or _collates_itself(layer.config):
        return None
    if dataset.name == DATASET:
        return samples(dataset.config.get("tensors", NONE), unknown_axis() if _is_batched(layer.config) else None)
    item = sample(dataset)
    return None if item is None else collated(layer, item)


def sample(dataset: Layer) -> Value | None:
    """`dataset[i]` of a data set of torch or torchvision."""
    if dataset.name == DATASET:
        return samples(dataset.config.get("tensors", NONE), None)
    if dataset.name in PARTS:
        inner = whole(dataset)
        return sample(inner) if isinstance(inner, Layer) and inner is not dataset else None
    return vision.sample(dataset) if vision.is_dataset(dataset) else None


def whole(dataset: Value) -> Value:
    """What a Subset is taken from, a part of random_split, or the first of what is put together."""
    while isinstance(dataset, Layer) and dataset.name in PARTS:
        inner = dataset.config.get("dataset", UNKNOWN)
        dataset = inner.items[0] if isinstance(inner, Tuple) and inner.items else inner
    return dataset


def count(dataset: Layer) -> Dim | None:
    """len(dataset)"""
    if dataset.name == DATASET:
        tensors = dataset.config.get("tensors")
        first = tensors.items[0] if isinstance(tensors, Tuple) and tensors.items else None
        axis = first.shape.axis(0) if isinstance(first, Tensor) else None
        return axis.size if axis is not None else None
    if dataset.name == SUBSET and "count" in dataset.config:
        known = dataset.config["count"]
        return known.dim if isinstance(known, Int) else None
    number = vision.count(dataset) if vision.is_dataset(dataset) else None
    return as_dim(number) if number is not None else None


def split(dataset: Value, lengths: Value) -> Result:
    """random_split: a part for each length; shares of one are no numbers of samples."""
    if not isinstance(lengths, Tuple):
        return Many(Layer(SUBSET, {"dataset": dataset}), None, "list")
    parts = (Layer(SUBSET, {"dataset": dataset, "count": length}) for length in lengths.items)
    return Tuple(tuple(parts), "list")


def _is_batched(config: Mapping[str, Value]) -> bool:
    return not ("batch_size" in config and is_none(config["batch_size"]))


def _collates_itself(config: Mapping[str, Value]) -> bool:
    return not is_none(config.get("collate_fn", NONE)) or "batch_sampler" in config


def collated(loader: Layer, sample: Value) -> Value | None:
    """The batch that a DataLoader makes of items like `sample`; None where it has a way of its own."""
    if loader.name != LOADER or _collates_itself(loader.config):
        return None
    if not _is_batched(loader.config):
        return sample
    return _stacked(sample, Axis(unknown_axis().size, maker=Maker.DATASET))


def _stacked(sample: Value, batch: Axis) -> Value:
    match sample:
        case Tensor(shape=shape):
            lead, run, tail = (tuple(map(_of_dataset, shape.head)), shape.run, tuple(map(_of_dataset, shape.tail)))
            return Tensor(prepend(batch, Shape(lead, run, tail)), sample.dtype, "torch", Graph(GraphState.CONST))
        case Int() | Float() | Const(value=bool()):
            dtype = "int64" if isinstance(sample, Int) else "float64" if isinstance(sample, Float) else "bool"
            return Tensor(Shape((batch,)), dtype, "torch", Graph(GraphState.CONST))
        case Tuple(items=items):
            return Tuple(tuple(_stacked(item, batch) for item in items), "list")
        case Dict(items=entries, other=None):
            return Dict(tuple((key, _stacked(item, batch)) for key, item in entries))
    return UNKNOWN


def _of_dataset(axis: Axis) -> Axis:
    return Axis(axis.size, axis.factors, Maker.DATASET) if axis.size == ONE else axis


def samples(tensors: Value, batch: Axis | None) -> Value | None:
    """Each tensor without its first axis, or with a batch in its place: the last one may be smaller."""
    if not isinstance(tensors, Tuple):
        return None
    return Tuple(tuple(_sample(item, batch) for item in tensors.items), "tuple" if batch is None else "list")


def _sample(value: Value, batch: Axis | None) -> Value:
    source = tensor(value)
    _, rest, _ = ends(source.shape, 1, 0)
    return Tensor(rest if batch is None else prepend(batch, rest), source.dtype, "torch", Graph(GraphState.CONST))


def opaque() -> Result:
    raise Unknowable("an object that is not called")


OPTIMIZERS = (
    "SGD", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "Adagrad", "Adadelta", "RMSprop", "Rprop", "LBFGS", "ASGD",
    "SparseAdam", "Adafactor", "Muon",
)  # fmt: skip
SCHEDULERS = {
    "LambdaLR": "lr_lambda", "MultiplicativeLR": "lr_lambda", "StepLR": "step_size, gamma", "MultiStepLR": "milestones",
    "ConstantLR": "factor, total_iters", "LinearLR": "start_factor, end_factor, total_iters", "ExponentialLR": "gamma",
    "CosineAnnealingLR": "T_max, eta_min", "ChainedScheduler": "", "SequentialLR": "schedulers, milestones",
    "ReduceLROnPlateau": "mode, factor, patience", "CyclicLR": "base_lr, max_lr", "OneCycleLR": "max_lr, total_steps",
    "CosineAnnealingWarmRestarts": "T_0, T_mult, eta_min", "PolynomialLR": "total_iters, power",
}  # fmt: skip
SCALER = "init_scale, growth_factor, backoff_factor, growth_interval, enabled"
OBJECT = partial(Op, shape=opaque, kind=Kind.OTHER, inputs="*args")

OPS: tuple[Op, ...] = (
    OBJECT("optimizer", spellings=tuple(f"torch.optim.{name}(params, lr, *options)" for name in OPTIMIZERS)),
    OBJECT(
        "scheduler",
        spellings=tuple(f"torch.optim.lr_scheduler.{name}(optimizer, {args})" for name, args in SCHEDULERS.items()),
    ),
    OBJECT(
        "grad_scaler",
        spellings=(
            f"torch.amp.GradScaler(device, {SCALER})",
            f"torch.cuda.amp.GradScaler({SCALER})",
            f"torch.cpu.amp.GradScaler({SCALER})",
        ),
    ),
    OBJECT("dataset", spellings=(f"{DATASET}(*tensors)",)),
    OBJECT("dataset", spellings=(f"{SUBSET}(dataset, indices)", "torch.utils.data.ConcatDataset(datasets: dataset)")),
    Op("random_split", split, ("torch.utils.data.random_split(dataset, lengths, generator)",)),
    OBJECT(
        "data_loader",
        spellings=(
            f"{LOADER}(dataset, batch_size, shuffle, sampler, batch_sampler, num_workers, collate_fn, pin_memory,"
            " drop_last)",
        ),
    ),
)

ALIASES = {
    "torch.utils.data.dataset.TensorDataset": DATASET,
    "torch.utils.data.dataset.Subset": SUBSET,
    "torch.utils.data.dataset.random_split": "torch.utils.data.random_split",
    "torch.utils.data.dataloader.DataLoader": LOADER,
    "torch.amp.grad_scaler.GradScaler": "torch.amp.GradScaler",
    "torch.cuda.amp.grad_scaler.GradScaler": "torch.cuda.amp.GradScaler",
    **{f"torch.optim.{name.lower()}.{name}": f"torch.optim.{name}" for name in OPTIMIZERS},
}
