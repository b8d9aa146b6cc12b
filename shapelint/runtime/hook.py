"""The import hook: the functions of the named packages are compiled with their checks."""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import decode_source
from types import CodeType, ModuleType, TracebackType
from typing import Any

from shapelint.runtime.extras import require

CHECKED, LOCAL = "__shapelint_checked__", "__shapelint_local__"
# Decorators that read the source or the bytecode of what they decorate: a wrapper is not what they can read.
READ_SOURCE = ("numba", "triton", "torch.jit", "cupyx.jit")
LEFT_ALONE = {"overload", "no_type_check", "njit", "script_method", "guvectorize"}
OUTSIDE = {"torch.compile"}  # traces what it decorates; the check stands around it


class Transformer(ast.NodeTransformer):
    """Adds the checking decorator to every function and class, and wraps annotated values in function bodies."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}  # what the module imported, by the name it uses
        self.in_function = False

    def visit_Import(self, node: ast.Import) -> ast.AST:
        for alias in node.names:
            self.names[alias.asname or alias.name.partition(".")[0]] = (
                alias.name if alias.asname else alias.name.partition(".")[0]
            )
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        for alias in node.names:
            self.names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        outer, self.in_function = self.in_function, False
        self.generic_visit(node)
        self.in_function = outer
        if not any(self._name(d).endswith("no_type_check") for d in node.decorator_list):
            node.decorator_list.insert(0, _reference(CHECKED, node))
        return node

    def visit_FunctionDef(self, node: Any) -> ast.AST:
        names = [self._name(decorator) for decorator in node.decorator_list]
        if any(name.rpartition(".")[2] in LEFT_ALONE or name.startswith(READ_SOURCE) for name in names):
            return node  # type: ignore[no-any-return]
        outer, self.in_function = self.in_function, not (isinstance(node, ast.AsyncFunctionDef) or _yields(node))
        node.body = [self.visit(statement) for statement in node.body]
        self.in_function = outer
        decorator = _reference(CHECKED, node)
        if any(name in OUTSIDE for name in names):
            node.decorator_list.insert(0, decorator)
        else:
            node.decorator_list.append(decorator)
        return node  # type: ignore[no-any-return]

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        self.generic_visit(node)
        if self.in_function and node.value is not None:
            nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
            annotation = ast.Lambda(nothing, node.annotation)
            name = ast.Constant(ast.unparse(node.target))
            call = ast.Call(_reference(LOCAL, node.value), [node.value, annotation, name], [])
            node.value = ast.fix_missing_locations(ast.copy_location(call, node.value))
        return node

    def _name(self, decorator: ast.expr) -> str:
        """The full dotted name of a decorator, called or not."""
        while isinstance(decorator, ast.Call):
            decorator = decorator.func
        first, _, rest = ast.unparse(decorator).partition(".")
        return ".".join(filter(None, (self.names.get(first, first), rest)))


def _reference(name: str, at: ast.AST) -> ast.expr:
    return ast.copy_location(ast.Name(name, ast.Load()), at)


def _yields(function: ast.AST) -> bool:
    """Whether the function itself is a generator: its body runs when its arguments are no longer bound."""
    waiting = list(ast.iter_child_nodes(function))
    for node in waiting:
        if isinstance(node, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            waiting.extend(ast.iter_child_nodes(node))
    return False


class Loader(SourceFileLoader):
    """Compiles from source, with checks; bytecode caches are neither read nor written."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)

    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> CodeType:  # type: ignore[override]
        tree = Transformer().visit(ast.parse(decode_source(data), path))
        code: CodeType = compile(tree, path, "exec", dont_inherit=True, optimize=_optimize)
        return code

    def exec_module(self, module: ModuleType) -> None:
        from shapelint.runtime import checking

        vars(module)[CHECKED], vars(module)[LOCAL] = checking.checked, checking.local
        super().exec_module(module)


class Finder(MetaPathFinder):
    def __init__(self, packages: Sequence[str]) -> None:
        self.packages = packages

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not any(fullname == package or fullname.startswith(f"{package}.") for package in self.packages):
            return None
        for finder in sys.meta_path:  # editable installs and others have finders of their own
            find = getattr(finder, "find_spec", None)
            spec = None if isinstance(finder, Finder) or find is None else find(fullname, path, target)
            if spec is not None:
                break
        else:
            spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or not isinstance(spec.loader, SourceFileLoader):
            return spec
        spec.loader = Loader(spec.loader.name, spec.loader.path)
        spec.cached = None
        return spec


class Checked:
    """Packages under check; `uninstall()`, or the end of a `with` block, ends it for modules imported later."""

    def __init__(self, finder: Finder) -> None:
        self._finder = finder

    def uninstall(self) -> None:
        if self._finder in sys.meta_path:
            sys.meta_path.remove(self._finder)

    def __enter__(self) -> Checked:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.uninstall()


def check(*packages: str) -> Checked:
    """Check every annotated function, method, dataclass and annotated local of these packages, at each call.

    An axis name has one size in the arguments, the annotated locals and the result of a call. Raises ImportError
    where jaxtyping or beartype are missing, ValueError for no package or one that is already imported, whose
    functions could no longer be reached.
    """
    if not packages:
        raise ValueError('name the packages to check: shapelint.runtime.check("my_package")')
    require("jaxtyping", "beartype")
    late = [package for package in packages if package in sys.modules]
    if late:
        raise ValueError(f"{', '.join(late)} is already imported: call shapelint.runtime.check before that")
    finder = Finder(packages)
    sys.meta_path.insert(0, finder)
    return Checked(finder)
