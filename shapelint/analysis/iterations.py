"""Rounds of loops and comprehensions: what happens in them, and whether one needs what another left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

from shapelint.analysis import syntax
from shapelint.analysis.evidence import identity
from shapelint.analysis.index import places_of
from shapelint.analysis.uses import evaluation_of
from shapelint.domain.record import record
from shapelint.domain.values import (
    Function,
    Instance,
    Library,
    Method,
    Tuple,
    Unknown,
    Value,
    maker_of,
)
from shapelint.events import (
    Branch,
    Call,
    Carried,
    Comprehension,
    Ends,
    Entered,
    Event,
    Input,
    Kind,
    Left,
    Loop,
    Operation,
    Stored,
)

ACCUMULATING = frozenset({"add", "sub", "maximum", "minimum", "cat", "concatenate", "setitem"})
TRAINING = frozenset({"backward", "step", "zero_grad", "grad"})
CALLED = frozenset({"forward", "predict", "__call__"})
JOINING = frozenset({"stack", "cat", "concatenate", "vstack", "hstack", "tensor", "asarray"})
HARMLESS = CALLED | {"eval", "train", "to", "cuda", "cpu", "parameters", "named_parameters", "state_dict", "modules"}


@record(eq=False)
class Round:
    """The last round of a loop that is analysed: what happens in it, without loops and functions inside of it."""

    loop: Loop
    events: tuple[Event, ...]
    everything: tuple[Event, ...]  # also inside of loops and functions
    all_rounds: tuple[Event, ...]  # of the rounds before, too
    is_comprehension: bool = False
    after: tuple[Event, ...] = ()  # what is done with all that a comprehension gave

    @property
    def is_joined(self) -> bool:
        """`torch.stack([model(x) for x in xs])`: all elements have one shape."""
        joining = (e for e in self.after if isinstance(e, Operation) and e.name in JOINING)
        return any(syntax.stands_in(self.loop.site, e.site) for e in joining)


def last_rounds(events: Sequence[Event]) -> Iterator[Round]:
    """The last round of each loop over unknown items that the analysis went through twice, or once inside of others."""
    begun: list[tuple[Loop, int, int]] = []
    for place in sorted((*places_of(events, Loop), *places_of(events, Comprehension))):
        event = _as_loop(events[place])
        first = place
        if begun and begun[-1][0].site.node is event.site.node:
            loop, start, first = begun.pop()
            if event.round is None:
                inside, whole = tuple(events[start + 1 : place]), tuple(events[first + 1 : place])
                is_element = isinstance(events[place], Comprehension)
                after = tuple(events[place + 1 : place + 2]) if is_element else ()
                yield Round(loop, tuple(_own(inside)), inside, whole, is_element, after)
        if event.round is not None:
            begun.append((event, place, first))


def _as_loop(event: Event) -> Loop:
    if isinstance(event, Comprehension):
        return Loop(event.site, 0 if event.begins else None, event.target, event.iterable)
    assert isinstance(event, Loop)
    return event


def _opens(event: Event) -> bool:
    return type(event) is Entered or (type(event) in {Loop, Comprehension} and _as_loop(event).round == 0)


def _closes(event: Event) -> bool:
    return type(event) is Left or (type(event) in {Loop, Comprehension} and _as_loop(event).round is None)


def _own(events: Sequence[Event]) -> Iterator[Event]:
    depth = 0
    for event in events:
        if _closes(event):
            depth -= 1
        elif depth == 0 and type(event) not in {Entered, Loop, Comprehension}:
            yield event
        if _opens(event):
            depth += 1


def variables(loop: Loop) -> frozenset[str]:
    """The names that each round of a for loop binds anew."""
    return syntax.names(loop.target) if loop.target is not None else frozenset()


def is_independent(found: Round) -> bool:
    """Whether no round uses what an earlier one left, trains, or ends the loop."""
    before = [event.before for event in found.everything if type(event) is Carried]
    carried = {identity(part) for value in before for part in (value.items if isinstance(value, Tuple) else (value,))}
    carried |= {identity(value) for value in before}
    for event in found.everything:
        match event:
            case Stored(method=method) if method != "__init__":
                return False
            case Operation(name=name) | Call(callee=Method(name=name)) if name in TRAINING:
                return False
            case Call(callee=Library(name=name)) if name.rpartition(".")[2] in TRAINING:
                return False
            case Operation(name=name) if name in ACCUMULATING:
                continue
            case Operation() | Call() if any(_is_of(value, carried) for value in _given(event)):
                return False
    return not any(type(event) is Ends and event.how in {"break", "return"} for event in found.events)


def calls_itself(events: Sequence[Event], call: Operation | Call) -> bool:
    """Whether a function takes an array apart for itself: `return stack([self.forward(row) for row in x])`."""
    callee = call.callee if isinstance(call, Call) else None
    function = callee.function if isinstance(callee, Method) else callee
    evaluation = evaluation_of(events, call) if isinstance(function, Function) else None
    if evaluation is None or not isinstance(function, Function):
        return False
    return evaluation.entered.function.node is function.node


def is_fallback(events: Sequence[Event], found: Round, called: str) -> bool:
    """Whether all rows at once were tried before, and one by one is for what that cannot do: `except MemoryError:`."""
    tries: list[tuple[str, int | None]] = []
    for event in takewhile(lambda other: other is not found.loop, events):
        if isinstance(event, Branch):
            if event.way != 0:
                tries.pop()
            if event.way is not None:
                tries.append((event.site.text, event.way))
    return any(way and "try: " in text and text.count(f"{called}(") > 1 for text, way in tries)


def _given(event: Operation | Call) -> tuple[Value, ...]:
    """What a call takes; what it gives may be what an equal call gave in the round before."""
    if isinstance(event, Operation):
        return event.values
    return (*event.args, *(value for _, value in event.kwargs), event.callee)


def is_changed(found: Round, call: Operation | Call) -> bool:
    """Whether the round does something else to what is called, or hands it to somebody: it may learn."""
    match call:
        case Call(callee=Method(receiver=model)) | Call(callee=(Unknown() | Instance()) as model):
            models = {identity(model)}
        case Operation(kind=Kind.CONTRACTION):
            models = {identity(value) for value in call.operands}
        case _:
            models = set()
    for event in (event for event in found.events if event is not call):
        match event:
            case Call(callee=Method(receiver=receiver, name=name)) if identity(receiver) in models:
                if name not in HARMLESS:
                    return True
            case Call(callee=Unknown() | Function() | Method(), args=args):
                if any(identity(value) in models for value in args):
                    return True
    return False


def _is_of(value: Value, carried: set[object]) -> bool:
    """Whether a value is one of these, a part of one, or has one among its parts."""
    if identity(value) in carried:
        return True
    if isinstance(value, Tuple):
        return any(_is_of(item, carried) for item in value.items)
    maker = maker_of(value)
    return isinstance(maker, Input) and maker.source is not None and _is_of(maker.source, carried)
