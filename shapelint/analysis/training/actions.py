"""What happens to gradients: optimizers, grad scalers and schedulers, and what is done with them.

What an object is follows from its constructor or from what is called on it (`scaler.scale(loss).backward()`,
`scaler.step(optimizer)`, `zero_grad()` beside `step()`), never from its name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from shapelint.analysis.control_flow import Act
from shapelint.analysis.gradients.effects import is_zeros
from shapelint.analysis.gradients.frozen import modules_of
from shapelint.analysis.index import events_of, once_per_file, places_of
from shapelint.analysis.training.scaled_gradients import READS, flat, gradient_behind
from shapelint.domain.values import (
    FALSE,
    NONE,
    UNKNOWN,
    Const,
    Function,
    Instance,
    Layer,
    Library,
    Many,
    Method,
    Tensor,
    Tuple,
    Union,
    Unknown,
    Value,
    maker_of,
    options,
)
from shapelint.events import Call, Comprehension, Entered, Event, Grown, Input, Item, Joined, Operation, Region, Written
from shapelint.provenance import ancestors, parts

MARKS = frozenset({"zero_grad", "unscale_", "step"})  # a file without them trains nothing
TELLING = MARKS | {"scale", "update", "get_last_lr", "get_lr"}  # calls that say what their receiver is
CLIPS = frozenset({
    "clip_grad_norm_", "clip_grad_value_", "clip_grad_norm", "clip_grads_with_norm_", "dispatch_clip_grad",
})  # fmt: skip
# What an optimizer or a scaler is asked for, without a change of gradients or of what comes next.
HARMLESS = frozenset({
    "state_dict", "load_state_dict", "add_param_group", "get_scale", "is_enabled", "scale", "get_last_lr", "get_lr",
    "train", "eval", "parameters", "named_parameters", "log", "log_dict", "optimizers", "lr_schedulers", "prepare",
    "toggle_optimizer", "untoggle_optimizer", "to", "register_step_post_hook", "register_step_pre_hook", "print",
    "modules", "children", "named_modules", "add_scalar", "watch", "append", "save",
})  # fmt: skip
LOGS = frozenset({"add_histogram", "add_scalar"})

Key = object
Names = Mapping[int, Value]
NO_NAMES: Names = {}


def key(value: Value, names: Names = NO_NAMES, depth: int = 0) -> Key:
    """Equal for values that are one object; `names` says what the parameters of a function stand for."""
    maker = maker_of(value)
    match maker:
        case None if isinstance(value, Union):
            return frozenset(key(option, names, depth) for option in value.options if option != NONE)
        case None:
            return object() if value == UNKNOWN or isinstance(value, Const) else id(value)
        case Input(kind="item", name=name, source=source) if (item := _item(source, name, names)) is not None:
            return key(item, names, depth)
        case Input(kind="attribute" | "item" | "iteration" as kind, name=name, source=source) if source is not None:
            return kind, name, key(source, names, depth)
        case Item(of=event, index=index):
            return id(event), index
        case Joined(options=ways) if depth <= 8:  # after `if scaler is None:` it is what it was, or None
            found = {key(way, names, depth + 1) for way in ways if way != NONE}
            if len(found) == 1:
                return found.pop()
    given = names.get(id(maker))
    if given is None or maker_of(given) is maker or depth > 8:
        return id(maker)
    return key(given, names, depth + 1)


def _item(source: Value | None, name: str, names: Names) -> Value | None:
    """What `g, d = optimizers` or `optimizers[1]` stands for where the parameter was given a tuple or list."""
    given = names.get(id(maker_of(source))) if source is not None else None
    if not isinstance(given, Tuple) or not name.isdecimal() or int(name) >= len(given.items):
        return None
    return given.items[int(name)]


def varies(found: Key) -> bool:
    """Whether each round of a loop may mean another object by it: `for optimizer in optimizers`, `optimizers[i]`."""
    match found:
        case ("iteration", _, _):
            return True
        case ("item", str() as name, source):
            is_constant = name.startswith(("'", '"')) or name.lstrip("-").isdecimal()
            return not is_constant or varies(source)
        case (str(), _, source):
            return varies(source)
    return False


def is_layer(value: Value, prefix: str) -> bool:
    return any(isinstance(option, Layer) and option.name.startswith(prefix) for option in options(value))


def is_scheduler_object(value: Value) -> bool:
    return is_layer(value, "torch.optim.lr_scheduler.")


def is_optimizer_object(value: Value) -> bool:
    return is_layer(value, "torch.optim.") and not is_scheduler_object(value)


def is_scaler_object(value: Value) -> bool:
    return is_layer(value, ("torch.amp.", "torch.cuda.amp.", "torch.cpu.amp."))  # type: ignore[arg-type]


def is_disabled(value: Value) -> bool:
    """GradScaler(enabled=False) scales nothing."""
    return isinstance(value, Layer) and value.config.get("enabled") == FALSE


@dataclass(slots=True)
class Roles:
    """Who is an optimizer, a scaler or a scheduler in a file, and which events happen under float16 autocast."""

    optimizers: set[Key] = field(default_factory=set)
    scalers: set[Key] = field(default_factory=set)
    schedulers: set[Key] = field(default_factory=set)
    half: set[int] = field(default_factory=set)
    seen: set[int] = field(default_factory=set)  # functions whose bodies are among the events
    listed: set[Key] = field(default_factory=set)  # optimizers that a loop or comprehension puts into a list
    stepped: set[Key] = field(default_factory=set)  # whatever has a method `step`: no loss has

    def is_optimizer(self, value: Value) -> bool:
        return is_optimizer_object(value) or key(value) in self.optimizers

    def is_scaler(self, value: Value) -> bool:
        return is_scaler_object(value) or key(value) in self.scalers

    def is_scheduler(self, value: Value) -> bool:
        return is_scheduler_object(value) or key(value) in self.schedulers

    def matters(self, value: Value) -> bool:
        match value:
            case Tuple() | Many():
                return any(map(self.matters, flat((value,))))
            case Layer() | Unknown() | Union():
                return self.is_optimizer(value) or self.is_scaler(value)
        return False

    def scaler_of(self, value: Value) -> Value | None:
        """The scaler that a value was multiplied by the scale of, at least on one path.

        What a project's own kind of scaler computes is followed to the call that works on it, whatever its method.
        """
        maker = maker_of(value)
        for event in (maker, *ancestors(maker, 400)) if maker is not None else ():
            match event:
                case Call(callee=Method(name="scale" | "get_scale", receiver=receiver)) if self.is_scaler(receiver):
                    return receiver
                case Call() if own := next(filter(self._is_own_scaler, parts(event.values)), None):
                    return own
        return None

    def _is_own_scaler(self, value: Value) -> bool:
        return isinstance(value, Instance) and key(value) in self.scalers

    def backward(self, event: Event, loss: Value, *given: Value) -> Act:
        """A backward, "maybe" a scaled one where only some of the paths to it scaled the loss.

        What is `given` to it is scaled where it is no loss: `features.backward(scaler.scale(gradient))`.
        """
        loss = next((value for value in given if self.scaler_of(value) is not None), loss)
        scaler = self.scaler_of(loss)
        maker = maker_of(loss)
        if scaler is None and isinstance(maker, Call) and getattr(maker.callee, "name", "") == "scale":
            return Act("managed", event, loss)  # by what is not known to be a scaler
        is_joined = scaler is not None and any(self.scaler_of(v) is None for v in _ways(loss))
        return Act("maybe scaled" if is_joined else "backward", event, loss, scaler)


@once_per_file
def _roles(events: Sequence[Event]) -> Iterator[Roles]:
    if not any(type(call.callee) is Method and call.callee.name in MARKS for call in events_of(events, Call)):
        return
    receivers: dict[str, set[Key]] = {}
    arguments: dict[str, set[Key]] = {}
    for event in events_of(events, Call):
        if isinstance(event.callee, Method) and event.callee.name in TELLING:
            name, receiver = event.callee.name, key(event.callee.receiver)
            given = event.args and name in {"step", "unscale_", "scale"}
            receivers.setdefault(f"{name}(x)" if given else name, set()).add(receiver)
            if event.args and name == "unscale_":
                arguments.setdefault(name, set()).add(key(event.args[0]))
    none = set[Key]()
    zeroed = receivers.get("zero_grad", none)
    scalers = receivers.get("scale(x)", none) & (receivers.get("step(x)", none) | receivers.get("unscale_(x)", none))
    for event in events_of(events, Call):
        match event:
            case Call(callee=Method(name="step", receiver=receiver), args=(optimizer,)):
                is_updated = key(receiver) in receivers.get("update", none)
                if is_updated and (is_optimizer_object(optimizer) or key(optimizer) in zeroed):
                    scalers.add(key(receiver))
    found = Roles(
        zeroed & (receivers.get("step", none) | receivers.get("step(x)", none) - scalers),
        scalers,
        receivers.get("get_last_lr", none) | receivers.get("get_lr", none),
    )
    for event in events_of(events, Call):
        match event:
            case Call(callee=Method(name="step" | "unscale_", receiver=receiver), args=(optimizer, *_)):
                if found.is_scaler(receiver):
                    found.optimizers.add(key(optimizer))
    found.stepped = receivers.get("step", none) | receivers.get("step(x)", none)
    found.half = set(_half(events))
    found.seen = {id(event.function.node) for event in events_of(events, Entered)}
    found.listed = set(_listed(events))
    yield found


def _listed(events: Sequence[Event]) -> Iterator[Key]:
    """`[Adam(m.parameters()) for m in models]`: what is one to the analysis are several."""
    yield from (
        key(event.value) for event in events_of(events, Grown) if event.loops and is_optimizer_object(event.value)
    )
    inside = 0
    for place in sorted((*places_of(events, Comprehension), *places_of(events, "optimizer"))):
        match events[place]:
            case Comprehension(begins=begins):
                inside += 1 if begins else -1
            case Operation() as made if inside:
                yield id(made)


def roles_of(events: Sequence[Event]) -> Roles | None:
    """None where nothing in the file is stepped, scaled or zeroed."""
    found = _roles(events)
    return found[0] if found else None


def _half(events: Sequence[Event]) -> Iterator[int]:
    """The identities of events inside of float16 autocast."""
    if not any(event.name == "autocast" for event in events_of(events, Region)):
        return
    stack: list[bool] = []
    for event in events:
        if type(event) is Region and event.name == "autocast":
            if event.entered:
                stack.append(is_half(event.arguments))
            elif stack:
                stack.pop()
        elif stack and stack[-1]:
            yield id(event)


def is_half(arguments: Mapping[str, Value]) -> bool:
    """Whether autocast, given these arguments, certainly computes in float16 where it is switched on."""
    dtype, device = arguments.get("dtype", NONE), arguments.get("device_type", NONE)
    if arguments.get("enabled") == FALSE or "*" in arguments:
        return False
    if isinstance(dtype, Library):
        return dtype.name in {"torch.float16", "torch.half"}
    return dtype == NONE and device == Const("cuda")


def act_of(event: Event, roles: Roles) -> Act | None:
    """What an event does to gradients, or to those who work on them."""
    match event:
        case Operation():
            return _of_operation(event, roles)
        case Call(callee=Method(receiver=receiver, name=name)):
            return _of_method(event, receiver, name, roles)
        case Call(callee=Library(name=name)):
            last = name.rpartition(".")[2]
            if last in CLIPS:
                return Act("clip", event, event.args[0] if event.args else UNKNOWN)
            if last == "get_total_norm" and event.args and any(map(gradient_behind, flat(event.args))):
                return Act("read", event, event.args[0])
            if name == "torch.autograd.backward" and event.args:
                return roles.backward(event, *event.args)
            return None if name.startswith(("torch.", "builtins.")) else _unclear(event, roles)
        case Call():
            return _unclear(event, roles)
        case Written(attribute="grad", value=value):
            return Act("cleared" if value == NONE or is_zeros(value) else "written", event, event.owner)
    return None


def _of_operation(event: Operation, roles: Roles) -> Act | None:
    if event.name == "backward":
        receiver = event.values[0]
        is_engine = isinstance(maker_of(receiver), Input) or key(receiver) in roles.stepped
        if "gradient" in event.arguments and is_engine:
            return Act("managed", event, receiver)  # engine.backward(loss)
        return roles.backward(event, *event.values)
    if event.name in {"optimizer", "grad_scaler"}:
        return Act("made", event, event.result)
    first = event.values[0] if event.values else None
    if first is None or not (event.in_place or event.name in READS or event.name in {"zero_", "copy_", "fill_"}):
        return None
    if event.in_place or event.name in {"zero_", "copy_", "fill_"}:
        if gradient_behind(first) is None:
            return None
        if event.callee.endswith((".zero_", ".fill_")):
            return Act("cleared", event, first)
        others = [value for value in event.values[1:] if isinstance(value, Tensor | Unknown)]
        is_mixed = event.name in {"add", "sub"} and any(gradient_behind(value) is None for value in others)
        if event.name in {"clamp", "clip"}:
            return Act("clip", event, first)
        return Act("read" if is_mixed else "written", event, first)
    found = next((v for v in flat(event.values) if gradient_behind(v) is not None), None)
    return None if found is None else Act("read", event, found)


def _of_method(event: Call, receiver: Value, name: str, roles: Roles) -> Act | None:
    match name, event.args:
        case "zero_grad", _:
            return Act("zero", event, receiver)
        case "backward", () if not isinstance(receiver, Instance):
            return roles.backward(event, receiver)
        case (("backward" | "manual_backward"), _):
            return Act("managed", event, receiver)
        case "unscale_", (optimizer, *_):
            return Act("unscale", event, optimizer, receiver)
        case "step", (optimizer, *_) if roles.is_scaler(receiver):
            return Act("step", event, optimizer, receiver)
        case "step", _ if roles.is_scheduler(receiver):
            return Act("schedule", event, receiver)
        case "step", () if not event.kwargs:
            return Act("step", event, receiver)
        case "update", _ if roles.is_scaler(receiver):
            return Act("update", event, receiver)
        case (("clamp_" | "clip_"), _) if gradient_behind(receiver) is not None:
            return Act("clip", event, receiver)
        case (("zero_" | "fill_"), _) if gradient_behind(receiver) is not None:
            return Act("cleared", event, receiver)
        case _, (_, value, *_) if name in LOGS and gradient_behind(value) is not None:
            return Act("read", event, value)
    if name in HARMLESS or is_part(receiver, name):
        return None
    if roles.matters(receiver) or isinstance(receiver, Instance):
        return Act("unclear", event, receiver)
    return _unclear(event, roles)


def is_part(receiver: Value, name: str) -> bool:
    """Whether what looks like a method is a layer that __init__ gave to a module: nn.Module has few that train."""
    if not isinstance(receiver, Instance) or receiver.cls.lookup(name) is not None:
        return False
    libraries = {base.name for base in receiver.cls.ancestry() if isinstance(base, Library)}
    return libraries == {"torch.nn.Module"} and all(not isinstance(base, Unknown) for base in receiver.cls.ancestry())


def _unclear(event: Call, roles: Roles) -> Act | None:
    """A call of something unknown that is given an optimizer or a scaler may do anything with it."""
    given = next((v for v in (*event.args, *(v for _, v in event.kwargs)) if roles.matters(v)), None)
    if given is None:
        return None
    if isinstance(event.callee, Function):  # `zero_grads(optimizer)` of another file, not `save(path, optimizer)`
        is_seen = id(event.callee.node) in roles.seen
        may_step = all(map(roles.matters, event.args)) or any(map(roles.is_scaler, event.args))
        return None if is_seen or not may_step else Act("unclear", event, given)
    return Act("unclear", event, given)


def _ways(value: Value) -> tuple[Value, ...]:
    """What a value is on each path, through plain operations on it."""
    maker = maker_of(value)
    while isinstance(maker, Operation) and len(maker.operands) == 1 and maker.name != "backward":
        maker = maker_of(maker.operands[0])
    return maker.options if isinstance(maker, Joined) else (value,)


def optimizers(acts: Iterable[Act], roles: Roles) -> Iterator[Key]:
    for act in acts:
        if act.kind in {"step", "unscale", "zero"} and roles.is_optimizer(act.subject):
            yield key(act.subject)


def unproven(acts: Sequence[Act]) -> Iterator[Key]:
    """What is stepped where nothing is zeroed and no other optimizer is known: it may be one."""
    if not any(act.kind in {"zero", "cleared", "managed", "unclear"} for act in acts):
        yield from (key(act.subject) for act in acts if act.kind == "step")


def given(acts: Sequence[Act]) -> Iterator[tuple[Key, frozenset[Key]]]:
    """The modules whose parameters each optimizer was built with, as far as they are known."""
    for act in acts:
        if act.kind == "step" and isinstance(act.subject, Layer) and "params" in act.subject.config:
            yield key(act.subject), frozenset(map(key, modules_of(act.subject.config["params"])[0]))
