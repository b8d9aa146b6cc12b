"""NumPy and JAX under guard: operators in functions of the user's own modules are compiled to look at their operands.

Arrays stay plain arrays, so that nothing else sees a difference; libraries are not touched. A function gets its own
code back when the guard ends.
"""

from __future__ import annotations

import ast
import contextlib
import gc
import operator
import sys
import sysconfig
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from shapelint.runtime.extras import words
from shapelint.runtime.guarding import state, watch
from shapelint.runtime.hook import Loader, Transformer
from shapelint.runtime.places import LIBRARIES

BINARY, CALL = "__shapelint_binary__", "__shapelint_call__"
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add, "Sub": operator.sub, "Mult": operator.mul, "Div": operator.truediv,
    "FloorDiv": operator.floordiv, "Mod": operator.mod, "Pow": operator.pow, "BitAnd": operator.and_,
    "BitOr": operator.or_, "BitXor": operator.xor, "Eq": operator.eq, "NotEq": operator.ne, "Lt": operator.lt,
    "LtE": operator.le, "Gt": operator.gt, "GtE": operator.ge,
}  # fmt: skip
FUNCTIONS = words(
    "add subtract multiply divide true_divide floor_divide power mod remainder maximum minimum fmax fmin where clip "
    "equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor arctan2 hypot isclose "
    "allclose broadcast_arrays"
)


def binary(name: str, left: Any, right: Any) -> Any:
    __tracebackhide__ = True
    if state.on and is_array(left) and is_array(right) and left.ndim != right.ndim:
        watch(name.lower(), (left.shape, right.shape))
    return OPERATORS[name](left, right)


def is_array(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return True
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(value, jax.Array)


def call(function: Any, *args: Any, **kwargs: Any) -> Any:
    module = getattr(function, "__module__", None) or type(getattr(function, "__self__", None)).__module__
    if state.on and (isinstance(function, np.ufunc) or module.partition(".")[0] in ("numpy", "jax")):
        owner = getattr(function, "__self__", None)
        values = [*([owner] if is_array(owner) else []), *args]
        watch(function.__name__, [value.shape if is_array(value) else () for value in values])
    return function(*args, **kwargs)


class Instrument(ast.NodeTransformer):
    """`a - b` becomes a call that looks at a and b first; so do numpy's elementwise functions."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        return self._binary(node, node.op, node.left, node.right)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        match node:
            case ast.Compare(ops=[op], comparators=[right]):
                return self._binary(node, op, node.left, right)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr in FUNCTIONS:
            node.args.insert(0, node.func)
            node.func = ast.copy_location(ast.Name(CALL, ast.Load()), node.func)
        return node

    def _binary(self, node: ast.expr, op: ast.AST, left: ast.expr, right: ast.expr) -> ast.AST:
        name = type(op).__name__
        if name not in OPERATORS or isinstance(left, ast.Constant) or isinstance(right, ast.Constant):
            return node
        call = ast.Call(ast.Name(BINARY, ast.Load()), [ast.Constant(name), left, right], [])
        return ast.fix_missing_locations(ast.copy_location(call, node))


Swap = tuple[FunctionType, CodeType, CodeType]
_swaps: list[Swap] = []
_seen: set[ModuleType] = set()
_depth = 0


@contextlib.contextmanager
def numpy_guard() -> Iterator[None]:
    """The functions of the user's modules run under guard within it, those that are imported by now."""
    global _depth
    new = [module for module in list(sys.modules.values()) if module not in _seen]
    _seen.update(new)
    _swaps.extend(_swaps_of([module for module in new if _is_own(module)]))
    for function, _, instrumented in _swaps:
        function.__code__ = instrumented
    _depth += 1
    try:
        yield
    finally:
        _depth -= 1
        if _depth == 0:
            for function, original, _ in _swaps:
                function.__code__ = original


def _is_own(module: ModuleType) -> bool:
    """A module of the user's that uses numpy or jax.numpy."""
    filename = getattr(module, "__file__", None)
    if not isinstance(module, ModuleType) or not filename or not filename.endswith(".py"):
        return False
    if module.__name__.partition(".")[0] in LIBRARIES or module.__name__.startswith("shapelint"):
        return False
    return not filename.startswith(_installed()) and any(_is_library(value) for value in vars(module).values())


def _is_library(value: object) -> bool:
    return isinstance(value, ModuleType) and value.__name__ in ("numpy", "jax", "jax.numpy")


def _installed() -> tuple[str, ...]:
    """Where libraries live."""
    return tuple({sysconfig.get_paths()[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")})


def _swaps_of(modules: list[ModuleType]) -> Iterator[Swap]:
    codes: dict[tuple[str, str, int], tuple[CodeType, CodeType]] = {}
    for module in modules:
        codes |= _codes(module)
    if not codes:
        return
    for function in gc.get_objects():
        if type(function) is FunctionType:
            code = function.__code__
            pair = codes.get((code.co_filename, code.co_qualname, code.co_firstlineno))
            if pair is not None and pair[0].co_code == code.co_code and pair[1].co_freevars == code.co_freevars:
                function.__globals__.update({BINARY: binary, CALL: call})
                yield function, code, pair[1]


def _codes(module: ModuleType) -> dict[tuple[str, str, int], tuple[CodeType, CodeType]]:
    """By file, name and first line: the code of each function as it is, and instrumented.

    Only a function that still has the code of its source is replaced: not one that pytest rewrote, or coverage.
    """
    filename = str(module.__file__)
    loader = getattr(module, "__loader__", None)
    try:
        with open(filename, "rb") as file:
            source = file.read()
        trees = [ast.parse(source, filename) for _ in range(2)]
    except (OSError, SyntaxError, ValueError):
        return {}
    if isinstance(loader, Loader):
        trees = [Transformer().visit(tree) for tree in trees]
    plain = dict(_functions(compile(trees[0], filename, "exec", dont_inherit=True)))
    instrumented = dict(_functions(compile(Instrument().visit(trees[1]), filename, "exec", dont_inherit=True)))
    changed = {key for key in plain.keys() & instrumented.keys() if plain[key].co_code != instrumented[key].co_code}
    return {key: (plain[key], instrumented[key]) for key in changed if plain[key].co_name != "<lambda>"}


def _functions(code: CodeType) -> Iterator[tuple[tuple[str, str, int], CodeType]]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield (constant.co_filename, constant.co_qualname, constant.co_firstlineno), constant
            yield from _functions(constant)
