"""What can be probed in a module: functions and methods with array annotations, and how each is called."""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from shapelint.runtime.drawing import Draw, NotProbed, arrays, names_of
from shapelint.runtime.examples import given


@dataclass
class Target:
    """A function of a module, or a method and the class that it is called on."""

    name: str
    function: Callable[..., Any]
    owner: type | None = None
    bound: bool = True  # the method takes an instance
    axes: list[str] = field(default_factory=list)
    widths: list[str] = field(default_factory=list)  # integers of the constructor: sizes that the author passes
    constants: set[int] = field(default_factory=set)
    optional: bool = False  # has arrays that can be left out

    def __post_init__(self) -> None:
        self.raw = inspect.unwrap(self.function)
        self.parameters = list(inspect.signature(self.raw).parameters.values())[1 if self.owner and self.bound else 0 :]
        try:
            self.hints = typing.get_type_hints(self.raw, include_extras=True)
            self.why = ""
        except Exception as error:
            self.hints, self.why = {}, f"annotations cannot be read: {error}"
        self.example = given(self.raw) | given(self.function)
        names, self.constants = names_of(self.hints.get(p.name) for p in self.parameters)
        self.widths = list(_required_integers(self.owner)) if self.owner and self.bound else []
        self.axes = [name for name in names if name not in self.widths]
        self.pins = {name: v for name, v in self.example.items() if name in names and isinstance(v, int)}

    @property
    def result_line(self) -> int:
        """The line of the return statement, or of the definition where there are several."""
        try:
            source, first = inspect.getsourcelines(self.raw)
            tree = ast.parse(textwrap.dedent("".join(source)))
        except (OSError, SyntaxError):
            return int(self.raw.__code__.co_firstlineno)
        returns = [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Return)]
        return first + returns[0] - 1 if len(returns) == 1 else first

    def literals(self) -> list[int]:
        """Sizes that are written down: defaults and examples, of the function and the constructor."""
        values = [*self.example.values(), *(given(self.owner).values() if self.owner else ())]
        for function in (self.raw, getattr(self.owner, "__init__", None)):
            if inspect.isfunction(function):
                values += [p.default for p in inspect.signature(function).parameters.values()]
        return sorted({value for value in values if type(value) is int and value > 1})

    def call(self, sizes: Mapping[str, int], seed: int, optional: bool) -> Any:
        """Raises NotProbed where an argument is not known; whatever the function raises goes through."""
        draw = Draw(sizes, seed)
        scope: dict[str, Any] = {}
        function = self.function
        if self.owner is not None and self.bound:
            scope["self"] = self._instance(sizes)
            function = getattr(scope["self"], self.raw.__name__)
            if self.raw.__name__ == "forward" and callable(scope["self"]):
                function = scope["self"]
        elif self.owner is not None:
            function = getattr(self.owner, self.raw.__name__)
        positional: list[Any] = []
        for parameter in self.parameters:
            value = self._argument(parameter, draw, scope, optional)
            if value is LEFT_OUT:
                continue
            scope[parameter.name] = value
            if parameter.kind is parameter.POSITIONAL_ONLY:
                positional.append(value)
        keywords = {
            p.name: scope[p.name] for p in self.parameters if p.name in scope and p.kind is not p.POSITIONAL_ONLY
        }
        return function(*positional, **keywords)

    def _argument(self, parameter: Any, draw: Draw, scope: Mapping[str, Any], optional: bool) -> Any:
        hint = self.hints.get(parameter.name, parameter.empty)
        if parameter.name in self.example:
            return _given(self.example[parameter.name], hint, draw.sizes)
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            return LEFT_OUT
        if parameter.default is not parameter.empty and not (optional and any(arrays(hint))):
            return LEFT_OUT
        return draw.value(parameter.name, hint, scope)

    def _instance(self, sizes: Mapping[str, int]) -> Any:
        assert self.owner is not None
        example = given(self.owner)
        arguments = {name: _given(value, None, sizes) for name, value in example.items()}
        for parameter in list(inspect.signature(self.owner).parameters.values()):
            if parameter.name in arguments or parameter.default is not parameter.empty:
                continue
            if parameter.name in sizes:
                arguments[parameter.name] = sizes[parameter.name]
            elif parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                raise NotProbed(
                    f"{self.owner.__name__} needs `{parameter.name}`; "
                    f"give it with @shapelint.runtime.example({parameter.name}=...) on the class"
                )
        try:
            instance = self.owner(**arguments)
        except Exception as error:
            raise NotProbed(f"{self.owner.__name__} cannot be built: {type(error).__name__}: {error}") from None
        if callable(getattr(instance, "eval", None)):
            instance.eval()  # statistics of a batch would tie its samples together
        return instance


LEFT_OUT = object()


def _given(value: Any, hint: Any, sizes: Mapping[str, int]) -> Any:
    """An example as it is; a function is asked with the sizes, unless a function is what is wanted."""
    wanted = typing.get_origin(hint) or hint
    if isinstance(value, types.FunctionType) and wanted is not typing.get_origin(typing.Callable[..., Any]):
        return value(**{name: size for name, size in sizes.items() if name.isidentifier()})
    return value


def _required_integers(owner: type) -> Iterator[str]:
    try:
        hints = typing.get_type_hints(getattr(owner, "__init__", None))
        parameters = inspect.signature(owner).parameters.values()
    except Exception:
        return
    for parameter in parameters:
        is_width = parameter.default is parameter.empty and hints.get(parameter.name) is int
        if is_width and parameter.name not in given(owner):
            yield parameter.name


def targets(module: ModuleType) -> Iterator[Target]:
    """The functions and methods that are defined in the module and have array annotations."""
    for name, value in list(vars(module).items()):
        if inspect.isclass(value) and value.__module__ == module.__name__ and "." not in value.__qualname__:
            for attribute, member in list(vars(value).items()):
                bound = not isinstance(member, staticmethod | classmethod)
                function = member if bound else member.__func__
                if isinstance(member, classmethod) or (attribute.startswith("__") and attribute != "__call__"):
                    continue
                if _is_annotated(function, module):
                    yield Target(f"{module.__name__}:{name}.{attribute}", function, value, bound)
        elif not inspect.isclass(value) and _is_annotated(value, module):
            yield Target(f"{module.__name__}:{name}", value)


def _is_annotated(function: Any, module: ModuleType) -> bool:
    raw = inspect.unwrap(function) if callable(function) else None
    if not inspect.isfunction(raw) or raw.__module__ != module.__name__:
        return False
    try:
        hints = typing.get_type_hints(raw, include_extras=True)
    except Exception:
        return any("[" in str(annotation) for annotation in raw.__annotations__.values())
    return any(True for hint in hints.values() for _ in arrays(hint))
