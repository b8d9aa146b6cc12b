"""Python's builtins and the few library callables that are about Python, not about arrays."""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from shapelint.domain.dims import as_dim, data_dependent, derive
from shapelint.domain.values import (
    FALSE,
    NONE,
    TRUE,
    UNKNOWN,
    Class,
    Const,
    Dict,
    Float,
    Function,
    Instance,
    Int,
    Library,
    Many,
    Method,
    Partial,
    Slice,
    Tensor,
    Tuple,
    Unknown,
    Value,
    maker_of,
)
from shapelint.events import Stored
from shapelint.interpreter import attributes, numbers
from shapelint.interpreter.flow import comprehensions, iterators
from shapelint.interpreter.frame import Frame
from shapelint.interpreter.libraries import copies, draws, settings, spaces, trainstates
from shapelint.interpreter.libraries.objects import seen_as
from shapelint.interpreter.numbers import Builtin
from shapelint.interpreter.operations import Arguments
from shapelint.ops import lookup


def call(frame: Frame, name: str, arguments: Arguments, node: cst.Call) -> Value | None:
    """The result of a builtin; None where `name` is none of them."""
    function = TABLE.get(name)
    if function is None:
        return UNKNOWN if name.startswith("builtins.") else None
    if not arguments.complete:
        return transposed(arguments) if name == "builtins.zip" else UNKNOWN
    if name in iterators.USING and arguments.args:
        iterators.used(frame, arguments.args[0], node, name)
    try:
        return function(frame, arguments, node)
    except IndexError:
        return UNKNOWN


def length(frame: Frame, arguments: Arguments, node: cst.Call) -> Value:
    from shapelint.interpreter import subscripts

    owner = subscripts.shape_owner(node.args[0].value)
    value = arguments.args[0]
    if owner is not None and isinstance(value, Tuple):
        return Int(as_dim(len(value.items)))
    if isinstance(value, Tensor):
        return subscripts.of_shape(frame, value, node.args[0].value, Int(as_dim(0)))
    known = comprehensions.length(value)
    if known is not None:
        return Int(known)
    if isinstance(value, Many):
        return Int(data_dependent(frame.place(node), "len"))
    if isinstance(value, Unknown) and value.dim is not None and value.dim.symbol is not None:
        from shapelint.domain.dims import anonymous

        symbol = value.dim.symbol
        return Int(anonymous((symbol.scope, symbol.name, "len"), f"len({symbol.name})"))
    return Int(data_dependent((maker_of(value) or frame.place(node), "len"), "len"))


def shape(frame: Frame, arguments: Arguments, node: cst.Call) -> Value:
    """np.shape(x): what it is asked of is an array, or counts as one."""
    match arguments.args[0]:
        case Tensor() as tensor:
            return attributes.shape_value(tensor)
        case Unknown() as unknown:
            return attributes.shape_value(attributes.as_tensor(frame, unknown, node.args[0].value))
    return UNKNOWN


def counts_items(frame: Frame, node: cst.Call) -> bool:
    """`range(len(sizes) - 1)` of a list whose items are known: as good as going through the list itself."""
    parts = [part for arg in node.args for part in (arg.value, getattr(arg.value, "left", None))]
    for part in parts:
        match part:
            case cst.Call(func=cst.Name(value="len"), args=(cst.Arg(value=cst.Name(value=name)),)):
                return isinstance(frame.scope.lookup(name), Tuple)
    return False


def ranged(frame: Frame, arguments: Arguments, node: cst.Call) -> Value:
    known = [value.dim for value in arguments.args if isinstance(value, Int | Unknown) and value.dim is not None]
    size = None
    if len(known) == len(arguments.args):
        match known:
            case [stop]:
                size = stop
            case [start, stop]:
                size = stop - start
            case [start, stop, step] if step.value is not None and step.value > 0:
                size = derive("//", stop - start + (step.value - 1), step) if step.value != 1 else stop - start
    is_short = size is not None and size.value is not None and size.value <= comprehensions.MOST_UNROLLED
    if (frame.run.is_exact or (is_short and counts_items(frame, node))) and all(dim.value is not None for dim in known):
        return Tuple(tuple(Int(as_dim(i)) for i in range(*(dim.value or 0 for dim in known))), "range")
    return Many(Int(data_dependent(frame.place(node), "i")), size, "range")


def zipped(frame: Frame, arguments: Arguments, node: cst.Call) -> Value:
    tuples = [value.items for value in arguments.args if isinstance(value, Tuple)]
    if tuples and len(tuples) == len(arguments.args):
        return Tuple(tuple(Tuple(group) for group in zip(*tuples)), "zip")
    parts = tuple(comprehensions.item(frame, value, node) for value in arguments.args)
    return Many(Tuple(parts), comprehensions.length(arguments.args[0]), "zip")


def transposed(arguments: Arguments) -> Value:
    """zip(*rows): the first items of all rows, the second ones ..."""
    match arguments.args, arguments.starred:
        case (), (Many(item=Tuple(items=items), length=count),):
            return Tuple(tuple(Many(item, count, "tuple") for item in items), "zip")
        case (), (Many(item=Many(item=item, length=width), length=count),):
            return Many(Many(item, count, "tuple"), width, "zip")
        case (), (Many(item=Unknown() as item, length=count),):
            return Many(Many(item, count, "tuple"), None, "zip")
    return UNKNOWN


def enumerated(frame: Frame, arguments: Arguments, node: cst.Call) -> Value:
    value = arguments.args[0]
    if isinstance(value, Tuple) and len(arguments.args) == 1 and not arguments.kwargs:
        return Tuple(tuple(Tuple((Int(as_dim(i)), item)) for i, item in enumerate(value.items)), "enumerate")
    pair = Tuple((Int(data_dependent(frame.place(node), "i")), comprehensions.item(frame, value, node)))
    return Many(pair, comprehensions.length(value), "enumerate")


def collected(kind: str) -> Builtin:
    def collect(frame: Frame, arguments: Arguments, node: cst.Call) -> Value:
        if not arguments.args:
            return Tuple((), kind)
        match arguments.args[0]:
            case Tuple(items=items):
                return Tuple(items, kind)
            case Many(item=item, length=size):
                return Many(item, size, kind)
            case Tensor() as tensor:
                return Many(comprehensions.item(frame, tensor, node), comprehensions.length(tensor), kind)
            case Unknown() as unknown:
                return Many(comprehensions.item(frame, unknown, node), None, kind)
        return Many(UNKNOWN, None, kind)

    return collect


def same_items(frame: Frame, arguments: Arguments, node: cst.Call) -> Value:
    """reversed, sorted, iter: items of the same kind."""
    match arguments.args[0]:
        case Tuple(items=items, kind=kind):
            return Tuple(items[::-1], kind) if same_function(node) == "reversed" else arguments.args[0]
        case Many() as many:
            return many
    return Many(comprehensions.item(frame, arguments.args[0], node))


def some_items(frame: Frame, arguments: Arguments, node: cst.Call) -> Value:
    """islice(items, ...): fewer of the same."""
    return Many(comprehensions.item(frame, arguments.args[0], node), None, "generator")


def combined(frame: Frame, arguments: Arguments, node: cst.Call) -> Value:
    """product(a, b): each of a with each of b."""
    if arguments.kwargs:
        return UNKNOWN
    return Many(Tuple(tuple(comprehensions.item(frame, value, node) for value in arguments.args)), None, "generator")


def filtered(frame: Frame, arguments: Arguments, node: cst.Call) -> Value:
    """filter(function, items): fewer of the same, one after the other and once."""
    item = comprehensions.item(frame, arguments.args[1], node)
    return iterators.made(frame, "builtins.filter", arguments.args, item, node)


NUMBERS = frozenset({"builtins.int", "builtins.float", "builtins.len"})


def mapped(frame: Frame, arguments: Arguments, node: cst.Call) -> Value:
    """map(function, items): what the function makes of each; one by one where the parts of rows are known."""
    from shapelint.interpreter.calls import dispatch

    function, *iterables = arguments.args
    if len(iterables) != 1 or not isinstance(function, Library | Function | Class):
        return iterators.made(frame, "builtins.map", arguments.args, UNKNOWN, node)
    if isinstance(iterables[0], Tuple):
        parts = iterables[0].items
        return Tuple(tuple(dispatch(frame, function, Arguments((part,), {}, (None,)), node) for part in parts), "map")
    item = comprehensions.item(frame, iterables[0], node)
    is_told = item != UNKNOWN or not isinstance(function, Library) or function.name in NUMBERS
    result = dispatch(frame, function, Arguments((item,), {}, (None,)), node) if is_told else UNKNOWN
    return iterators.made(frame, "builtins.map", arguments.args, result, node)


def same_function(node: cst.Call) -> str:
    return node.func.value if isinstance(node.func, cst.Name) else ""


def total(frame: Frame, arguments: Arguments, node: cst.Call) -> Value:
    """sum(iterable): the items are added one after the other."""
    from shapelint.interpreter import operators

    value = arguments.args[0]
    found = value.items if isinstance(value, Tuple) else (comprehensions.item(frame, value, node),) * 2
    if not found:
        return Int(as_dim(0))
    result = arguments.args[1] if len(arguments.args) > 1 else found[0]
    rest = found if len(arguments.args) > 1 else found[1:]
    operand = node.args[0].value
    for item in rest:
        result = operators.binary(frame, node, "Add", result, item, (operand, operand))
    if isinstance(result, Int) and not isinstance(value, Tuple):
        return UNKNOWN
    return result


def instance_check(frame: Frame, arguments: Arguments, node: cst.Call) -> Value:
    from shapelint.domain.values import options
    from shapelint.interpreter.flow.conditions import class_options, is_instance

    verdicts = {is_instance(option, class_options(arguments.args[1])) for option in options(arguments.args[0])}
    return Const(verdicts.pop()) if len(verdicts) == 1 and None not in verdicts else UNKNOWN


def get_attribute(frame: Frame, arguments: Arguments, node: cst.Call) -> Value:
    match arguments.args[1]:
        case Const(value=str() as name):
            attribute = cst.Attribute(node.args[0].value, cst.Name(name)) if name.isidentifier() else None
            if attribute is not None and len(arguments.args) == 2:
                return attributes.attribute_of(frame, arguments.args[0], name, attribute)
    return UNKNOWN


def has_attribute(frame: Frame, arguments: Arguments, node: cst.Call) -> Value:
    """hasattr(x, "item"): of arrays it is known what they have."""
    from shapelint.interpreter.calls import owners

    match arguments.args:
        case (Tensor() as array, Const(value=str() as name)):
            return TRUE if all(lookup(f"{owner}.{name}") for owner in owners(frame, array)) else UNKNOWN
    return UNKNOWN


def set_attribute(frame: Frame, arguments: Arguments, node: cst.Call) -> Value:
    match arguments.args:
        case (Instance() as owner, name, value):
            if isinstance(name, Const) and isinstance(name.value, str):
                owner.attributes[name.value] = value
            elif isinstance(value, Tensor | Unknown):  # any of those that hold arrays may be another one now
                owner.attributes = {n: v for n, v in owner.attributes.items() if not isinstance(v, Tensor)}
            inside = frame.function.name if frame.function is not None else ""
            frame.tell(Stored(owner, getattr(name, "value", None) or "", value, frame.site(node), None, inside))
    return NONE


def parent(frame: Frame, arguments: Arguments, node: cst.Call) -> Value:
    """super()"""
    match arguments.args:
        case (Class() as owner, receiver):
            return Method(receiver, "super", owner)
        case ():
            if frame.function is not None and frame.function.owner is not None and frame.owner is not None:
                return Method(frame.owner, "super", frame.function.owner)
    return UNKNOWN


def dictionary(frame: Frame, arguments: Arguments, node: cst.Call) -> Value:
    """dict(a=1), and `dict(module.named_parameters())`: pairs of which the values are known in common."""
    match arguments.args:
        case ():
            return Dict(tuple(arguments.kwargs.items()))
        case (Many(item=Tuple(items=(_, Tensor() as value))),) if not arguments.kwargs:
            return Dict((), value)
    return UNKNOWN


def partial(frame: Frame, arguments: Arguments, node: cst.Call) -> Value:
    return Partial(arguments.args[0], arguments.args[1:], tuple(arguments.kwargs.items()))


def wrapped(name: str) -> Builtin:
    def wrap(frame: Frame, arguments: Arguments, node: cst.Call) -> Value:
        return Method(NONE, name, arguments.args[0])

    return wrap


def check_callable(frame: Frame, arguments: Arguments, node: cst.Call) -> Value:
    return FALSE if isinstance(arguments.args[0], Tensor | Int | Float | Tuple) else UNKNOWN


def is_scalar(frame: Frame, arguments: Arguments, node: cst.Call) -> Value:
    """np.isscalar(x): True of numbers and texts, False of sequences, None and arrays with axes."""
    match arguments.args[0]:
        case Int() | Float() | Const(value=bool() | complex() | str() | bytes()):
            return TRUE
        case Tuple() | Many() | Dict() | Const(value=None):
            return FALSE
        case Tensor(shape=shape) if shape.least_rank:
            return FALSE
    return UNKNOWN


def sliced(frame: Frame, arguments: Arguments, node: cst.Call) -> Value:
    """slice(2, -2): as good as 2:-2 between the brackets."""
    bounds = arguments.args if len(arguments.args) > 1 else (NONE, *arguments.args)
    return Slice(*bounds, *(NONE,) * (3 - len(bounds))) if len(bounds) in {2, 3} else UNKNOWN


TABLE: Mapping[str, Builtin] = {
    **numbers.TABLE,
    **draws.TABLE,
    **settings.TABLE,
    **spaces.TABLE,
    **trainstates.TABLE,
    "builtins.len": length,
    "builtins.range": ranged,
    "builtins.slice": sliced,
    "builtins.zip": zipped,
    "builtins.enumerate": enumerated,
    "builtins.list": collected("list"),
    "builtins.tuple": collected("tuple"),
    "builtins.set": collected("set"),
    "builtins.reversed": same_items,
    "builtins.sorted": same_items,
    "builtins.iter": same_items,
    "builtins.filter": filtered,
    "builtins.map": mapped,
    "builtins.sum": total,
    "builtins.isinstance": instance_check,
    "builtins.getattr": get_attribute,
    "builtins.hasattr": has_attribute,
    "builtins.setattr": set_attribute,
    "builtins.super": parent,
    "builtins.dict": dictionary,
    "builtins.property": wrapped("property"),
    "builtins.staticmethod": wrapped("staticmethod"),
    "builtins.classmethod": wrapped("classmethod"),
    "builtins.callable": check_callable,
    "builtins.next": lambda frame, arguments, node: comprehensions.item(frame, arguments.args[0], node),
    "numpy.isscalar": is_scalar,
    "numpy.shape": shape,
    "jax.numpy.shape": shape,
    "functools.partial": partial,
    "typing.cast": seen_as,
    "itertools.islice": some_items,
    "itertools.product": combined,
    "rich.progress.track": same_items,
    "tqdm.tqdm": same_items,
    **{f"tqdm.{module}.tqdm": same_items for module in ("auto", "notebook", "std", "autonotebook")},
    "tqdm.tqdm_notebook": same_items,
    "copy.deepcopy": copies.duplicated,
    "copy.copy": lambda frame, arguments, node: arguments.args[0],
}
