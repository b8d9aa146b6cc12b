"""Library callables that take or wrap callables: modules of modules, jit, decorators, contexts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import takewhile

import libcst as cst

from shapelint.domain.regions import SWITCHES
from shapelint.domain.values import (
    FALSE,
    TRUE,
    UNKNOWN,
    Class,
    Dict,
    Function,
    Instance,
    Int,
    Layer,
    Library,
    Many,
    Method,
    Partial,
    Tuple,
    Unknown,
    Value,
)
from shapelint.interpreter import containers, expressions
from shapelint.interpreter.frame import Frame
from shapelint.interpreter.libraries import casting
from shapelint.interpreter.operations import Arguments, operate

TRANSPARENT = frozenset(
    [
        "jax.jit",
        "jax.checkpoint",
        "jax.remat",
        "jax.named_call",
        "jax.named_scope",
        "equinox.filter_checkpoint",
        "typing_extensions.override",
        "typing_extensions.final",
        "torch.compiler.disable",
        "typeguard.typechecked",
        "numba.jit",
        "numba.njit",
        "torch.compile",
        "torch.jit.script",
        "torch.jit.ignore",
        "torch.jit.export",
        "torch.jit.unused",
        "jaxtyping.jaxtyped",
        "beartype.beartype",
        "functools.lru_cache",
        "functools.cache",
        "functools.wraps",
        "equinox.filter_jit",
        "flax.linen.compact",
        "flax.linen.jit",
        "flax.linen.nowrap",
        "flax.linen.remat",
        "torch.no_grad",
        "torch.autograd.no_grad",
        "torch.inference_mode",
        "torch.autograd.inference_mode",
        "torch.enable_grad",
        "abc.abstractmethod",
        "typing.no_type_check",
        "torch.autocast",
        "torch.cuda.amp.autocast",
        "torch.amp.autocast",
        "typing.overload",
        "typing.override",
        "typing.final",
        "torch.nn.utils.weight_norm",
        "torch.nn.utils.spectral_norm",
        "torch.nn.utils.parametrizations.spectral_norm",
        "torch.nn.utils.parametrizations.weight_norm",
        "torch.nn.DataParallel",
        "contextlib.suppress",
    ]
)  # they give back a callable of the same shapes

CALLABLES = (Function, Class, Method, Partial, Tuple)


def call(frame: Frame, name: str, arguments: Arguments, node: cst.Call) -> Value | None:
    if name in TRANSPARENT:
        subject = arguments.args[0] if arguments.args else None
        if isinstance(subject, (*CALLABLES, Instance, Layer)) and name != "functools.wraps":
            return subject
        if name in casting.AUTOCASTS:
            return casting.context(name, arguments)
        if arguments.kwargs and name not in REGIONS:  # a decorator with options: jaxtyped(typechecker=beartype)
            return Partial(Library(name), (), tuple(arguments.kwargs.items()))
        return Library(name)
    if name in SWITCHES:
        from shapelint.interpreter import calls

        known = calls.opaque(frame, Library(name), arguments, node)
        mode = arguments.kwargs.get("mode", arguments.args[0] if arguments.args else None)
        if mode in (TRUE, FALSE):
            return Library("torch.enable_grad" if mode == TRUE else "torch.no_grad")
        return known
    if name in casting.SETTERS:
        casting.set_default(frame, arguments)
    container = CONTAINERS.get(name)
    return container(frame, arguments, node) if container is not None else None


def sequential(frame: Frame, arguments: Arguments, node: cst.Call) -> Value:
    """nn.Sequential(*layers) or of an ordered dict."""
    if not arguments.complete:
        match arguments.starred:
            case (Many() as layers,):
                return repeated(frame, layers, arguments.args, node)
        return UNKNOWN
    match arguments.args:
        case (Dict(items=items, other=None),):
            return Tuple(tuple(layer for _, layer in items), "Sequential")
        case (Tuple(kind="list" | "tuple", items=pairs),) if all(
            isinstance(pair, Tuple) and len(pair.items) == 2 for pair in pairs
        ):
            return Tuple(tuple(pair.items[1] for pair in pairs if isinstance(pair, Tuple)), "Sequential")
    return Tuple(arguments.args, "Sequential")


def repeated(frame: Frame, layers: Many, others: tuple[Value, ...], node: cst.Call) -> Many:
    """nn.Sequential(first, *layers, last): which layers, but not how many."""
    behind = sum(1 for _ in takewhile(lambda arg: not arg.star, reversed(node.args)))
    last = others[len(others) - behind :]
    item = expressions.joined([layers.item, *others], frame.place(node)) if others else layers.item
    return Many(item, None, "Sequential", containers.layers_at_end(layers, last))


def module_list(frame: Frame, arguments: Arguments, node: cst.Call) -> Value:
    match arguments.args:
        case ():
            return Tuple((), "ModuleList")
        case (Tuple(items=items),):
            return Tuple(items, "ModuleList")
        case (Many(item=item, length=length),):
            return Many(item, length, "ModuleList")
    return Many(UNKNOWN, None, "ModuleList")


def module_dict(frame: Frame, arguments: Arguments, node: cst.Call) -> Value:
    match arguments.args:
        case (Dict(items=items, other=other),):
            return Dict(items, other, "ModuleDict")
    return Dict((), None if not arguments.args else UNKNOWN, "ModuleDict")


def ordered_dict(frame: Frame, arguments: Arguments, node: cst.Call) -> Value:
    match arguments.args:
        case ():
            return Dict(tuple(arguments.kwargs.items()))
        case (Tuple(items=pairs),):
            known = [
                (expressions.key_of(p.items[0]), p.items[1])
                for p in pairs
                if isinstance(p, Tuple) and len(p.items) == 2
            ]
            if len(known) == len(pairs) and all(key is not None for key, _ in known):
                return Dict(tuple(known))
    return UNKNOWN


def linear(frame: Frame, arguments: Arguments, node: cst.Call) -> Value | None:
    """`nn.Linear(*shape, width)`: the star stands for one size, there is no room for more."""
    match arguments.args:
        case ((Int() | Unknown()) as width,) if len(arguments.starred) == 1 and node.args[0].star == "*":
            spread = replace(arguments, args=(UNKNOWN, width), arg_nodes=(None, *arguments.arg_nodes), complete=True)
            return operate(frame, "torch.nn.Linear", spread, node)
    return None


CONTAINERS: Mapping[str, Callable[[Frame, Arguments, cst.Call], Value | None]] = {
    "torch.nn.Linear": linear,
    "torch.nn.Sequential": sequential,
    "torch.nn.ModuleList": module_list,
    "torch.nn.ParameterList": module_list,
    "torch.nn.ModuleDict": module_dict,
    "torch.nn.ParameterDict": module_dict,
    "collections.OrderedDict": ordered_dict,
}

# Contexts that change what operations do to the graph or to dtypes.
REGIONS: Mapping[str, str] = {
    "torch.no_grad": "no_grad",
    "torch.autograd.no_grad": "no_grad",
    "torch.inference_mode": "inference_mode",
    "torch.autograd.inference_mode": "inference_mode",
    "torch.enable_grad": "enable_grad",
    "torch.autocast": "autocast",
    "torch.cuda.amp.autocast": "autocast",
    "torch.amp.autocast": "autocast",
    "pytest.raises": "raises",
}
RAISING = frozenset({"assertRaises", "assertRaisesRegex"})  # methods of unittest.TestCase
