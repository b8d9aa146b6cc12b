"""One function held against its annotations at each call, by jaxtyping and beartype."""

from __future__ import annotations

import functools
import inspect
import sys
import typing
import warnings
from collections.abc import Callable
from typing import Any

from shapelint.runtime.extras import require

require("jaxtyping", "beartype")

from beartype import BeartypeConf  # noqa: E402
from beartype.door import is_bearable  # noqa: E402
from jaxtyping import AbstractArray, TypeCheckError, _storage  # noqa: E402
from jaxtyping._storage import pop_shape_memo, push_shape_memo  # noqa: E402

from shapelint.runtime.places import place, source_line, user_frames  # noqa: E402

memo: Callable[[], Any] = _storage.get_shape_memo  # sizes by name, shapes by name, ..., arguments
CONFIG = BeartypeConf(is_pep484_tower=True)  # an int is welcome where a float is declared, as to every type checker
MARK = "__shapelint_checked__"
UNCHECKED = object()  # the annotation cannot be read, or there is none


class UncheckedAnnotation(UserWarning):
    """An annotation that cannot be read, and why."""


def checked(function: Any) -> Any:
    """The function, with each argument and the result held against its annotation.

    Classes that are dataclasses are checked when they are built; classmethod, staticmethod and property are
    looked through. What was decorated already, or with `typing.no_type_check`, is returned unchanged. The wrapper
    raises jaxtyping.TypeCheckError.
    """
    match function:
        case classmethod() | staticmethod():
            return type(function)(checked(function.__func__))
        case property():
            return property(*(f and checked(f) for f in (function.fget, function.fset, function.fdel)))
        case type():
            return _checked_class(function)
    if getattr(function, "__no_type_check__", False) or MARK in getattr(function, "__dict__", {}):
        return function
    return _wrapped(function, Signature(function))


def _checked_class(cls: type) -> type:
    if hasattr(cls, "__dataclass_fields__") and "__init__" in vars(cls) and not hasattr(cls, "__no_type_check__"):
        cls.__init__ = checked(cls.__init__)  # type: ignore[misc]
    return cls


def _wrapped(function: Callable[..., Any], signature: Signature) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def wrapper(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            signature.check_call(args, kwargs)
            result = await function(*args, **kwargs)
            signature.check_call(args, kwargs, result)
            return result

    elif inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            signature.check_call(args, kwargs)
            return function(*args, **kwargs)

    else:

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            if compiling():
                return function(*args, **kwargs)
            arguments = signature.bind(args, kwargs)
            push_shape_memo(arguments)
            try:
                signature.check_arguments(arguments, args, kwargs)
                result = function(*args, **kwargs)
                signature.check_result(result)
                return result
            finally:
                pop_shape_memo()

    setattr(wrapper, MARK, True)
    return wrapper


def _never() -> bool:
    return False


# torch.compile and torch.export trace the wrapper as well: there it is to be no more than the function.
compiling: Callable[[], bool] = _never


def notice_torch() -> None:
    global compiling
    torch = sys.modules.get("torch")
    if compiling is _never and hasattr(torch, "compiler"):
        compiling = typing.cast(Any, torch).compiler.is_compiling


class Signature:
    """What a function declares; annotations are read at the first call, when all names are defined."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.signature = inspect.signature(function)
        self.names = [
            (p.name, p.kind, p.annotation) for p in self.signature.parameters.values() if p.annotation is not p.empty
        ]
        self.hints: dict[str, Any] | None = None
        notice_torch()

    @property
    def name(self) -> str:
        return f"{self.function.__module__}.{self.function.__qualname__}"

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        if self.hints is None:
            self.hints = {name: self._read(name, annotation) for name, _, annotation in self.names}
            self.hints["return"] = self._read("return", self.signature.return_annotation)
        return bound.arguments

    def _read(self, name: str, annotation: Any) -> Any:
        if annotation is inspect.Signature.empty:
            return UNCHECKED
        holder = type("holder", (), {"__annotations__": {"it": annotation}})
        try:
            scope = getattr(inspect.unwrap(self.function), "__globals__", {})
            return typing.get_type_hints(holder, scope, dict(vars(typing)), include_extras=True)["it"]
        except Exception as error:
            if not isinstance(error, NameError) or "Float" in str(annotation):
                self._warn(name, annotation, error)
            return UNCHECKED

    def _warn(self, name: str, annotation: object, error: Exception) -> None:
        code = inspect.unwrap(self.function).__code__
        text = f"{self.name}: the annotation of {name}, {annotation!r}, is not checked: {error}"
        warnings.warn_explicit(text, UncheckedAnnotation, code.co_filename, code.co_firstlineno)

    def check_call(self, args: tuple[Any, ...], kwargs: dict[str, Any], *result: Any) -> None:
        """For functions whose body runs at another time: the arguments, and the result when it is there."""
        arguments = self.bind(args, kwargs)
        push_shape_memo(arguments)
        try:
            self.check_arguments(arguments, args, kwargs)
            for value in result:
                self.check_result(value)
        finally:
            pop_shape_memo()

    def check_arguments(self, arguments: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        assert self.hints is not None
        for name, kind, _ in self.names:
            value = arguments[name]
            default = self.signature.parameters[name].default
            if value is default or isinstance(default, _factories()):
                continue  # a default that contradicts its annotation is nobody's call
            if kind is inspect.Parameter.VAR_POSITIONAL:
                values = value
            elif kind is inspect.Parameter.VAR_KEYWORD:
                values = value.values()
            else:
                values = (value,)
            for each in values:
                if not self._fits(name, each):
                    raise TypeCheckError(self._message(f"`{name}`", each, self.hints[name], arguments))

    def check_result(self, value: Any) -> None:
        assert self.hints is not None
        if not self._fits("return", value):
            raise TypeCheckError(self._message("its result", value, self.hints["return"], memo()[3]))

    def _fits(self, name: str, value: Any) -> bool:
        assert self.hints is not None
        hint = self.hints[name]
        if hint is UNCHECKED or type(value).__module__.startswith("torch.fx"):
            return True
        try:
            return is_bearable(value, hint, conf=CONFIG)
        except Exception as error:  # beartype does not know this kind of hint, or jaxtyping not its names
            self.hints[name] = UNCHECKED
            self._warn(name, hint, error)
            return True

    def _message(self, what: str, value: Any, hint: Any, arguments: dict[str, Any]) -> str:
        code = inspect.unwrap(self.function).__code__
        lines = [f"{self.name}: {what} is {describe(value)}, not {spelled(hint)}{reason(value, hint)}"]
        frame = next(user_frames(), None)
        if frame is not None:
            filename, line = place(frame)
            lines.append(f"  called at {filename}:{line}: {source_line(filename, line)}")
        lines.append(f"  defined at {code.co_filename}:{code.co_firstlineno}")
        lines += [f"  {line}" for line in bindings(arguments, self.hints or {})]
        return "\n".join(lines)


@functools.cache
def _factories() -> tuple[type, ...]:
    import dataclasses

    return (type(dataclasses._HAS_DEFAULT_FACTORY),)  # type: ignore[attr-defined]


def local(value: Any, hint: Callable[[], Any], name: str) -> Any:
    """The value of an annotated assignment in a function's body, held against its annotation."""
    if compiling():
        return value
    found = _local_hint(hint.__code__, hint) if hint.__closure__ is None else _read_local(hint)
    if found is UNCHECKED or is_bearable(value, found, conf=CONFIG):
        return value
    frame = next(user_frames())
    filename, line = place(frame)
    lines = [
        f"{frame.f_code.co_qualname}: `{name}` is {describe(value)}, not {spelled(found)}{reason(value, found)}",
        f"  assigned at {filename}:{line}: {source_line(filename, line)}",
        *(f"  {line}" for line in bindings(memo()[3], {})),
    ]
    raise TypeCheckError("\n".join(lines))


_local_hints: dict[Any, Any] = {}


def _local_hint(code: Any, hint: Callable[[], Any]) -> Any:
    if code not in _local_hints:
        _local_hints[code] = _read_local(hint)
    return _local_hints[code]


def _read_local(hint: Callable[[], Any]) -> Any:
    """The annotation, if it speaks of shapes; names that only type checkers know are not there."""
    try:
        found = hint()
        if isinstance(found, str):
            found = eval(found, hint.__globals__)
    except Exception:
        return UNCHECKED
    return found if mentions_shape(found) else UNCHECKED


def mentions_shape(hint: Any) -> bool:
    if isinstance(hint, type) and issubclass(hint, AbstractArray):
        return True
    return any(mentions_shape(part) for part in typing.get_args(hint))


def describe(value: Any, depth: int = 2) -> str:
    """`float32 (64, 1)`, `(float32 (3,), int 2)`, `str 'abc'`."""
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return (
            f"{str(value.dtype).removeprefix('torch.')} {tuple(value.shape)} ({type(value).__module__.split('.')[0]})"
        )
    if isinstance(value, list | tuple) and depth:
        inner = ", ".join(describe(item, depth - 1) for item in value[:4])
        more = ", ..." if len(value) > 4 else ""
        return f"[{inner}{more}]" if isinstance(value, list) else f"({inner}{more})"
    if value is None:
        return "None"
    text = repr(value) if isinstance(value, int | float | str | bool) else ""
    return f"{type(value).__name__} {text[:60]}".strip()


def spelled(hint: Any) -> str:
    if isinstance(hint, type) and issubclass(hint, AbstractArray):
        array = getattr(hint.array_type, "__name__", "Any")
        return f'{hint.dtype.__name__}[{array}, "{hint.dim_str}"]'
    return hint.__name__ if isinstance(hint, type) else str(hint).replace("jaxtyping.", "").replace("typing.", "")


def reason(value: Any, hint: Any) -> str:
    """What jaxtyping says of the first thing that does not fit."""
    why = getattr(type(hint), "__instancecheck_str__", None)
    return f": {why(hint, value)}" if why is not None else ""


def bindings(arguments: dict[str, Any], hints: dict[str, Any]) -> list[str]:
    """`n = 3`, `*batch = (2, 4)`: every axis name that has a size by now, and the arrays that gave them."""
    single, variadic, *_ = memo()
    lines = [f"{name} = {size}" for name, size in single.items() if not name.startswith("~~")]
    lines += [f"*{name} = {shape}" for name, (_, shape) in variadic.items() if not name.startswith("~~")]
    for name, value in arguments.items():
        hint = hints.get(name)
        if hasattr(value, "shape") and isinstance(hint, type) and issubclass(hint, AbstractArray):
            lines.append(f"`{name}`: {spelled(hint)} is {describe(value)}")
    return lines
