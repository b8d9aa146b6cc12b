"""Nothing checks a jaxtyping annotation at run time.

Reports, in a file that checks its functions with `@jaxtyped(typechecker=...)`, a function that was left out and a
checked function that returns a tensor without saying which. Selected by its code it reports every annotated function
without a checker, and the annotations of local variables, which jaxtyping never looks at.

Why: jaxtyping alone is documentation. A shape that the annotation rules out passes, broadcasts and trains.

Bad:
    from beartype import beartype
    from jaxtyping import Float, jaxtyped
    from torch import Tensor

    @jaxtyped(typechecker=beartype)
    def weigh(x: Float[Tensor, "n d"], w: Float[Tensor, "n"]):  # expect: SHP601
        return x * w[:, None]

    def centre(x: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:  # expect: SHP601
        return x - x.mean(0)

Good:
    from beartype import beartype
    from jaxtyping import Float, jaxtyped
    from torch import Tensor

    @jaxtyped(typechecker=beartype)
    def weigh(x: Float[Tensor, "n d"], w: Float[Tensor, "n"]) -> Float[Tensor, "n d"]:
        return x * w[:, None]

    @jaxtyped(typechecker=beartype)
    def centre(x: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        return x - x.mean(0)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shapelint.analysis.inert_annotations import IMPORT_HOOKS, JAXTYPED, is_checked
from shapelint.domain.values import Function, Library, Method, Tensor
from shapelint.events import Call, Declared, Event, Returned
from shapelint.rule import Replacement, Report

IMPORTS = ("from beartype import beartype", "from jaxtyping import jaxtyped")
DECORATOR = "@jaxtyped(typechecker=beartype)"
WITHOUT_BODY = frozenset({"typing.overload", "typing_extensions.overload", "abc.abstractmethod"})
UNCHECKING = (
    "torch.",
    "jax.",
    "functools.",
    "builtins.",
    "equinox.",
    "flax.",
    "numpy.",
    "typing.",
    "contextlib.",
    "numba.",
)


def check(events: Sequence[Event]) -> Iterator[Report]:
    functions = [e for e in events if isinstance(e, Declared) and e.kind in {"function", "method"} and e.annotations]
    if not functions or any(_is_hook(event) for event in events):
        return
    is_the_custom = any(map(is_checked, functions))
    elsewhere = set(_methods_of_inert_classes(events))
    returned = {id(e.function.node): e.value for e in events if isinstance(e, Returned) and isinstance(e.value, Tensor)}
    for function in functions:
        places = {annotation.place for annotation in function.annotations}
        if is_checked(function):
            value = returned.get(id(function.site.node))
            if "parameter" in places and value is not None and not function.has_return:
                yield Report(
                    function,
                    f"`{function.name}` returns a tensor {value} that nothing checks: only its arguments are annotated",
                )
            yield from _variables(function)
        elif places != {"variable"} and not _may_be_checked(function) and id(function.site.node) not in elsewhere:
            message = f"nothing checks the annotations of `{function.name}` at run time; write {DECORATOR} over it"
            fix = (Replacement(function.site, DECORATOR, "above"),)
            yield Report(
                function,
                message,
                fix=fix,
                fix_message=f"Add {DECORATOR}",
                fix_imports=IMPORTS,
                on_request=not is_the_custom,
            )


def _is_hook(event: Event) -> bool:
    """The file installs an import hook, or wraps its functions by hand."""
    return isinstance(event, Call) and isinstance(event.callee, Library) and event.callee.name in IMPORT_HOOKS


def _may_be_checked(function: Declared) -> bool:
    """Under a decorator that is not known, or one that SHP602 speaks of; an overload has nothing to check."""
    return any(d.name in WITHOUT_BODY or not d.name.startswith(UNCHECKING) for d in function.decorators)


def _methods_of_inert_classes(events: Sequence[Event]) -> Iterator[int]:
    """Of classes under a decorator that checks no method: SHP602 says so."""
    for event in events:
        if isinstance(event, Declared) and event.cls is not None and any(d.name == JAXTYPED for d in event.decorators):
            for value in event.cls.attributes.values():
                method = value.function if isinstance(value, Method) else value
                if isinstance(method, Function):
                    yield id(method.node)


def _variables(function: Declared) -> Iterator[Report]:
    for annotation in function.annotations:
        if annotation.place == "variable":
            message = (
                f'"{annotation.text}" on {annotation.name} is never checked: {annotation.name} is a variable of '
                f'{function.name}. Write assert isinstance({annotation.name}, ...[..., "{annotation.text}"])'
            )
            yield Report(function, message, site=annotation.site, on_request=True)
