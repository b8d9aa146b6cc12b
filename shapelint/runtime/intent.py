"""Whether an author laid out a broadcast on purpose: read off the expression, once something was caught."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import FrameType

from shapelint.runtime.extras import words
from shapelint.runtime.places import executing, is_users, scopes_at, tree_of

INSERTS = {"unsqueeze", "unsqueeze_", "expand_dims", "outer", "meshgrid", "ix_"}
RESHAPES = {"reshape", "view"}
# What keeps the axes of its operand, so that an axis inserted before it is still there.
KEEPS = words(
    "abs add alias asarray array astype bool clamp clamp_min clip clone contiguous copy cos cpu cuda detach div "
    "double eq exp expand expand_as float ge gt half int le log log1p long lt mul ne neg pow relu repeat rsqrt "
    "sigmoid sin sqrt square sub tanh to type type_as where"
)
DEPTH = 4


def operands(node: ast.AST) -> list[ast.expr]:
    """The expressions that an operation combines; a method's object is its first operand."""
    match node:
        case ast.BinOp(left=left, right=right):
            return [left, right]
        case ast.Compare(left=left, comparators=[right]):
            return [left, right]
        case ast.AugAssign(target=ast.Name() | ast.Attribute() | ast.Subscript() as target, value=value):
            return [target, value]
        case ast.Call(func=func, args=args, keywords=keywords):
            receiver = [func.value] if isinstance(func, ast.Attribute) else []
            return [*receiver, *args, *(keyword.value for keyword in keywords)]
    return []


class Reader:
    """Evidence in the expressions of one frame: what inserts an axis, and what reshapes to one."""

    def __init__(self, frame: FrameType) -> None:
        self.tree = tree_of(frame.f_code.co_filename)
        self.scopes = scopes_at(self.tree, frame) if self.tree is not None else []
        self.frame = frame

    def evidence(self, node: ast.expr, depth: int = DEPTH) -> Iterator[str]:
        """`inserted` for None, newaxis, unsqueeze; `reshaped` for reshape and view with a literal 1."""
        match node:
            case ast.Subscript(value=value, slice=index):
                items = index.elts if isinstance(index, ast.Tuple) else [index]
                if any(_is_none(item) for item in items):
                    yield "inserted"
                yield from self.evidence(value, depth)
            case ast.Call(func=func, args=args, keywords=keywords):
                yield from self._call(func, [*args, *(k.value for k in keywords)], depth)
            case ast.BinOp(left=a, right=b) | ast.Compare(left=a, comparators=[b]) | ast.IfExp(body=a, orelse=b):
                yield from self.evidence(a, depth)
                yield from self.evidence(b, depth)
            case ast.UnaryOp(operand=value) | ast.NamedExpr(value=value):
                yield from self.evidence(value, depth)
            case ast.Name() | ast.Attribute() if depth:
                if isinstance(node, ast.Attribute) and node.attr in ("T", "mT", "real", "data"):
                    yield from self.evidence(node.value, depth)
                for value in self._assigned(ast.unparse(node), isinstance(node, ast.Attribute)):
                    yield from self.evidence(value, depth - 1)
                if isinstance(node, ast.Name):
                    yield from self._from_caller(node.id, depth - 1)

    def _call(self, func: ast.expr, args: list[ast.expr], depth: int) -> Iterator[str]:
        name = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
        if name in INSERTS:
            yield "inserted"
        elif name in RESHAPES and any(isinstance(x, ast.Constant) and x.value == 1 for a in args for x in ast.walk(a)):
            yield "reshaped"
        elif name in ("rearrange", "repeat") and any(
            isinstance(a, ast.Constant) and isinstance(a.value, str) and "1" in a.value.rpartition("->")[2].split()
            for a in args
        ):
            yield "inserted"
        elif name in KEEPS:
            for value in [*([func.value] if isinstance(func, ast.Attribute) else []), *args]:
                yield from self.evidence(value, depth)

    def _assigned(self, text: str, anywhere: bool) -> Iterator[ast.expr]:
        """What is assigned to a name in the innermost scope that does, or to an attribute in this file."""
        if anywhere:
            yield from (v for node in ast.walk(self.scopes[-1]) for v in _values(node, text)) if self.scopes else ()
            return
        for scope in self.scopes:
            found = [value for node in _within(scope) for value in _values(node, text)]
            if found or (isinstance(scope, ast.FunctionDef) and text in _parameters(scope)):
                yield from found
                return

    def _from_caller(self, name: str, depth: int) -> Iterator[str]:
        """A parameter: what the caller wrote for it."""
        caller = self.frame.f_back
        scope = self.scopes[0] if self.scopes else None
        if depth < 1 or not isinstance(scope, ast.FunctionDef) or caller is None or not is_users(caller):
            return
        names = _parameters(scope)
        call = executing(caller) if name in names else None
        if isinstance(call, ast.Call):
            at = names.index(name) - (len(names) > 0 and names[0] in ("self", "cls"))
            given = [k.value for k in call.keywords if k.arg == name] + call.args[at : at + 1 if at >= 0 else 0]
            for value in given[:1]:
                yield from Reader(caller).evidence(value, depth)


def _within(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a scope without those of the functions and classes in it."""
    for node in ast.iter_child_nodes(scope):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node
            yield from _within(node)


def _parameters(function: ast.FunctionDef) -> list[str]:
    return [argument.arg for argument in function.args.posonlyargs + function.args.args]


def _values(node: ast.AST, text: str) -> Iterator[ast.expr]:
    """What the statement assigns to the target that is written so."""
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from _unpacked(target, value, text)
        case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.NamedExpr(target=target, value=value):
            yield from _unpacked(target, value, text)


def _unpacked(target: ast.expr, value: ast.expr, text: str) -> Iterator[ast.expr]:
    match target, value:
        case (ast.Tuple(elts=targets), ast.Tuple(elts=values)) if len(targets) == len(values):
            for one, other in zip(targets, values):
                yield from _unpacked(one, other, text)
        case _ if ast.unparse(target) == text:
            yield value


def _is_none(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=None):
            return True
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name == "newaxis"
    return False
