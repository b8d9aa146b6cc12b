"""Settings of a program: what the options of a command line are, by their types and defaults."""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from shapelint.domain.dims import size
from shapelint.domain.values import (
    EITHER,
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
    Tuple,
    Union,
    Value,
    number,
)
from shapelint.events import Input
from shapelint.interpreter.frame import Frame
from shapelint.interpreter.functions import fields
from shapelint.interpreter.numbers import Builtin
from shapelint.interpreter.operations import Arguments

PARSER = "argparse.ArgumentParser"
OPTION = "--"  # marks the options among a parser's attributes
SWITCHES = frozenset({"store_true", "store_false", "argparse.BooleanOptionalAction"})
METHODS = frozenset({
    "add_argument", "set_defaults", "parse_args", "parse_intermixed_args", "parse_known_args",
    # The same parser again, as far as its options go.
    "add_argument_group", "add_mutually_exclusive_group", "add_subparsers", "add_parser",
})  # fmt: skip


def parser(frame: Frame, arguments: Arguments, node: cst.Call) -> Value:
    """ArgumentParser(): an object that collects its options."""
    inherited = arguments.kwargs.get("parents", NONE)
    parents = inherited.items if isinstance(inherited, Tuple) else ()
    given = {k: v for part in parents if isinstance(part, Instance) for k, v in part.attributes.items()}
    return Instance(Class("ArgumentParser", (Library(PARSER),), {}), given)


def call(frame: Frame, method: Method, arguments: Arguments, node: cst.Call) -> Value | None:
    """A method of a parser that concerns its options; None of any other object."""
    owner = method.receiver
    if not isinstance(owner, Instance) or not owner.cls.is_a(PARSER):
        return None
    match method.name:
        case "add_argument":
            dest = destination(arguments)
            known = option(frame, dest, arguments, node)
            if known is not None:
                owner.attributes[OPTION + dest] = known
            return UNKNOWN
        case "set_defaults":
            owner.attributes.update((OPTION + key, value) for key, value in arguments.kwargs.items())
            return NONE
        case "parse_args" | "parse_intermixed_args":
            return namespace(owner)
        case "parse_known_args":
            return Tuple((namespace(owner), Many(UNKNOWN)))
    return owner


def namespace(owner: Instance) -> Instance:
    found = {name[len(OPTION) :]: v for name, v in owner.attributes.items() if name.startswith(OPTION)}
    return Instance(Class("Namespace", (), {}), found)


def destination(arguments: Arguments) -> str:
    """The attribute that an option becomes: `--batch-size` is batch_size; empty where that is not known."""
    texts = [a.value for a in (arguments.kwargs.get("dest"), *arguments.args) if isinstance(a, Const)]
    flags = [text for text in texts if isinstance(text, str)]
    long = (flag for flag in flags if flag.startswith("--") or not flag.startswith("-"))
    return next(long, flags[0] if flags else "").lstrip("-").replace("-", "_")


def option(frame: Frame, name: str, arguments: Arguments, node: cst.Call) -> Value | None:
    """An option's value, where its type or default says what kind it is of."""
    kwargs = arguments.kwargs
    default, action = kwargs.get("default", NONE), kwargs.get("action", NONE)
    event = Input(name, frame.site(node), kind="option")
    if spelled(action) in SWITCHES:
        return EITHER
    if action != NONE and spelled(action) not in {"store", "count"}:
        return None
    is_given = default != NONE or kwargs.get("required") == TRUE or is_positional(arguments)
    one = typed(name, kwargs.get("type", NONE), default, event)
    if one is None:
        return None
    value = one if kwargs.get("nargs", NONE) in (NONE, Const("?")) else Many(one)
    return value if is_given else Union((value, NONE))


def typed(name: str, kind: Value, default: Value, event: Input) -> Value | None:
    if isinstance(default, Tuple) and default.items:
        default = default.items[0]
    value = number(default)
    match spelled(kind):
        case "builtins.int":
            return Int(size(name, id(event.site.node), value if isinstance(value, int) else None), made_by=event)
        case "builtins.float":
            return Float(made_by=event, default=None if value is None else float(value))
        case "builtins.bool":
            return EITHER
    if default in (TRUE, FALSE) and (kind == NONE or isinstance(kind, Function)):
        return EITHER
    if kind != NONE:
        return None
    match default:
        case Int():
            return Int(size(name, id(event.site.node), value if isinstance(value, int) else None), made_by=event)
        case Float():
            return Float(made_by=event, default=value)
    return None


def spelled(value: Value) -> str:
    match value:
        case Library(name=name):
            return name
        case Const(value=str() as text):
            return text
    return ""


def is_positional(arguments: Arguments) -> bool:
    match arguments.args:
        case (Const(value=str() as text), *_):
            return not text.startswith("-")
    return False


def of_class(frame: Frame, arguments: Arguments, node: cst.Call) -> Value:
    """tyro.cli(Settings): an object of the class, with whatever values its fields may have."""
    match arguments.args:
        case (Class() as cls, *_):
            return fields.entering(frame, cls, ("settings", id(node)))
    return UNKNOWN


def variables(frame: Frame, arguments: Arguments, node: cst.Call) -> Value:
    """vars(args)"""
    match arguments.args:
        case (Instance(attributes=attributes),):
            return Dict(tuple(attributes.items()), UNKNOWN)
    return UNKNOWN


TABLE: Mapping[str, Builtin] = {
    PARSER: parser,
    "builtins.vars": variables,
    **dict.fromkeys(("tyro.cli", "simple_parsing.parse", "draccus.parse", "pyrallis.parse"), of_class),
}
