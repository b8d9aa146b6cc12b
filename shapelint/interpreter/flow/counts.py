"""Who is given as a number of rounds, of steps or of elements is a number: `for i in range(n): x = x / n`.

Nothing else may say so of a parameter or an attribute, and what an array is divided by could be another array.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from shapelint.domain.dims import Dim, as_dim
from shapelint.domain.values import Instance, Int, Tuple, Unknown, Value
from shapelint.interpreter.frame import Frame
from shapelint.interpreter.operations import Arguments
from shapelint.ops import lookup

NUMBERS = frozenset({"n", "m", "steps", "num_classes"})
SIZES = frozenset({"zeros", "ones", "empty", "full", "rand", "randn", "randint"})  # one tuple, or in torch several
PLACES = frozenset({"view", "reshape", "expand", "tile"})  # methods that take as many sizes
COUNTING = frozenset({"range", "linspace", "eye", "randperm", "one_hot", *SIZES, *PLACES})


def note(frame: Frame, callee: str, arguments: Arguments) -> None:
    """After a call of a library's function or method: those arguments that can only be integers are."""
    if any(is_open(value) for value in (*arguments.args, *arguments.kwargs.values())):
        for value in counted(callee, arguments):
            if isinstance(value, Unknown) and value.dim is not None:
                are_numbers(frame, value.dim)


def is_open(value: Value) -> bool:
    """Whether it, or an item of it, may be a number for all that is known."""
    if type(value) is Tuple:
        return any(type(item) is Unknown for item in value.items)
    return type(value) is Unknown


def counted(callee: str, arguments: Arguments) -> Iterator[Value]:
    """Those arguments that are integers, or the call fails."""
    library, _, name = callee.rpartition(".")
    values = arguments.args
    if name == "range":
        yield from values
    elif name in SIZES:
        yield from in_tuples((*values[:1], *(v for key, v in arguments.kwargs.items() if key in {"size", "shape"})))
        if len(values) > 1 and ((library == "torch" and name != "full") or library == "numpy.random"):
            yield from values if name != "randint" else ()
    elif name in PLACES:
        yield from in_tuples(values[1:2])
        yield from values[1:] if len(values) > 2 and library.endswith(("Tensor", "ndarray", "Array")) else ()
    else:
        spelling = lookup(callee)
        named = zip(spelling.positional, values) if spelling is not None else ()
        yield from (value for key, value in (*named, *arguments.kwargs.items()) if key in NUMBERS)


def in_tuples(values: Iterable[Value]) -> Iterator[Value]:
    for value in values:
        if type(value) is Tuple:
            yield from value.items


def are_numbers(frame: Frame, dim: Dim) -> None:
    """Whatever is so large is an integer; and with n + 1, n is one."""
    found = {dim, *(size for symbol in islice(dim.symbols(), 1) if (dim - (size := as_dim(symbol))).value is not None)}
    places = [frame.scope.names, *([frame.owner.attributes] if isinstance(frame.owner, Instance) else [])]
    for names in places:
        for name, value in names.items():
            if type(value) is Unknown and value.dim in found:
                names[name] = Int(value.dim, value.graph, value.made_by)
