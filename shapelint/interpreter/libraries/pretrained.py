"""Models of torchvision, timm and transformers: what they are is not looked into, what comes out of them is known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shapelint.domain.dims import ONE, Dim, anonymous
from shapelint.domain.values import (
    UNKNOWN,
    Axis,
    Int,
    Layer,
    Library,
    Maker,
    Method,
    Shape,
    Tensor,
    Tuple,
    Unknown,
    Value,
    maker_of,
)
from shapelint.events import Call, Event, Input, Left, Written
from shapelint.interpreter.frame import Frame
from shapelint.interpreter.operations import Arguments

VISION = "torchvision.models."
FAMILIES = (
    "resnet", "resnext", "wide_resnet", "vgg", "alexnet", "densenet", "squeezenet", "mobilenet", "mnasnet",
    "shufflenet", "efficientnet", "regnet", "vit_", "convnext", "swin_", "maxvit",
)  # fmt: skip
HEADS = frozenset({"fc", "classifier", "head", "heads"})
KEEPING = frozenset({"to", "cuda", "cpu", "train", "eval", "float", "half", "double"})
POOLED = ("Bert", "Roberta", "Albert", "XLMRoberta", "Camembert", "Longformer", "Ernie", "MPNet")
UNPOOLED = ("DistilBert", "Electra", "Deberta", "DebertaV2")
LOGITS = {
    "SequenceClassification": 0,
    "TokenClassification": 1,
    "CausalLM": 1,
    "MaskedLM": 1,
}  # axes behind the samples


def output(frame: Frame, callee: Value, arguments: Arguments) -> Value:
    """What a model of a library returns; Unknown where it is none, or may have been changed."""
    built = constructed(callee)
    if built is None or not isinstance(built.callee, Library):
        return UNKNOWN
    name = built.callee.name
    if name.partition(".")[0] in frame.run.changed:
        return UNKNOWN
    if is_classifier(name, dict(built.kwargs)):
        classes = classes_of(frame.run.events, built)
        return rows(arguments, 0, classes) if classes is not None else UNKNOWN
    if name.startswith("transformers."):
        return of_tokens(built, name.split(".")[1], arguments)
    return UNKNOWN


def is_classifier(name: str, options: dict[str, Value]) -> bool:
    """Whether a function builds what tells (b, classes); timm's may give maps and lists of them."""
    if name == "timm.create_model":
        return "num_classes" in options and options.keys().isdisjoint({"features_only", "global_pool", "out_indices"})
    return name.startswith(VISION) and name.rpartition(".")[2].startswith(FAMILIES)


def constructed(model: Value) -> Call | None:
    """The call that built a model, past `.to(device)`."""
    maker = maker_of(model) if type(model) is Unknown else None
    while type(maker) is Call and type(maker.callee) is Method and maker.callee.name in KEEPING:
        maker = maker_of(maker.callee.receiver)
    return maker if type(maker) is Call else None


def classes_of(events: Sequence[Event], built: Call) -> Dim | None:
    """How many classes a model tells apart, by its last new head; None where others may have changed it."""
    for index in range(len(events) - 1, -1, -1):
        event = events[index]
        if event is built:
            return asked(built)
        match event:
            case Written(owner=owner, attribute="forward" | "_forward_impl" | "forward_head" | "forward_features"):
                if constructed(owner) is built:
                    return None
            case Written(owner=owner, attribute=attribute, value=value) if is_head(owner, attribute, built):
                return width(value) or anonymous(event)
            case Call(callee=Method(receiver=receiver, name="reset_classifier"), args=(value, *_)) if (
                constructed(receiver) is built
            ):
                return width(value)
            case Call(args=args, kwargs=kwargs) if not (index and was_followed(event, events[index - 1])):
                if any(constructed(value) is built for value in (*args, *(value for _, value in kwargs))):
                    return None
    return None


def was_followed(call: Call, before: Event) -> bool:
    """Whether the function that is called was executed: then it is known what it does to the model."""
    return type(before) is Left and before.function is call.callee


def asked(built: Call) -> Dim:
    known = width(dict(built.kwargs).get("num_classes", UNKNOWN))
    return known if known is not None and known.value != 0 else anonymous(built)


def is_head(owner: Value, attribute: str, built: Call) -> bool:
    """Whether what is written becomes the head of the model, or the last part of it."""
    path = [attribute, *attributes_of(owner)]
    root = owner
    while isinstance(maker := maker_of(root), Input) and maker.source is not None:
        root = maker.source
    return path[-1] in HEADS and constructed(root) is built


def attributes_of(value: Value) -> Iterator[str]:
    while isinstance(maker := maker_of(value), Input) and maker.source is not None:
        if maker.kind == "attribute":
            yield maker.name
        value = maker.source


def width(value: Value) -> Dim | None:
    """How many features come out of a new head; of a number: the number."""
    match value:
        case Int(dim=dim) | Unknown(dim=dim):
            return dim
        case Layer(name="torch.nn.Linear", config=config):
            return width(config.get("out_features", UNKNOWN))
        case Tuple(kind="Sequential", items=items):
            return next(filter(None, map(width, (i for i in reversed(items) if isinstance(i, Layer)))), None)
    return None


def rows(arguments: Arguments, kept: int, last: Dim) -> Tensor:
    """The first axis of the input, as many more as are `kept`, and the last one, which a layer made."""
    x = next(iter(arguments.values), UNKNOWN)
    known = x.shape.head if isinstance(x, Tensor) else ()
    leading = [known[i] if i < len(known) else Axis(anonymous(object())) for i in range(kept + 1)]
    return Tensor(Shape((*leading, Axis(last, maker=Maker.LAYER if last == ONE else None))), None, "torch")


def of_tokens(built: Call, name: str, arguments: Arguments) -> Value:
    """Hidden states (b, t, d) and the pooled (b, d) of an encoder; the logits of a classifier."""
    hidden = anonymous((built, "hidden"), "hidden")
    if name in {f"{family}Model" for family in POOLED + UNPOOLED}:
        states = rows(arguments, 1, hidden)
        is_pooled = name.removesuffix("Model") in POOLED
        other = rows(arguments, 0, hidden) if is_pooled else UNKNOWN
        return Tuple((states, other), "tuple", ("last_hidden_state", "pooler_output" if is_pooled else "..."))
    kept = next((kept for task, kept in LOGITS.items() if name.endswith(f"For{task}")), None)
    if kept is None:
        return UNKNOWN
    count = width(dict(built.kwargs).get("num_labels", UNKNOWN)) or anonymous((built, "labels"))
    logits, loss = rows(arguments, kept, count), Tensor(Shape(), None, "torch")
    if not arguments.complete:  # labels may be among them, and come first then
        return Tuple((UNKNOWN, UNKNOWN, loss, logits), "tuple", ("...", "....", "loss", "logits"))
    if "labels" in arguments.kwargs:
        return Tuple((loss, logits, UNKNOWN), "tuple", ("loss", "logits", "..."))
    return Tuple((logits, UNKNOWN), "tuple", ("logits", "..."))
