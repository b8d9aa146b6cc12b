"""Comments at the end of a line that state a shape, held against what the line binds."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence

import libcst as cst

from shapelint.annotations.comments import Claim, claims
from shapelint.domain.dims import ONE, Dim, Origin, Symbol, Truth, as_dim, compare, divide, meant_different
from shapelint.domain.values import UNKNOWN, Function, Instance, Int, Maker, Shape, Tensor, Tuple, Unknown, Value
from shapelint.events import Claimed
from shapelint.interpreter.frame import Frame
from shapelint.interpreter.knowledge import hypotheses
from shapelint.interpreter.knowledge.documents import OPERATORS, annotated_axis
from shapelint.interpreter.scopes import compare_numbers


def read(frame: Frame, node: cst.SimpleStatementLine, comment: cst.Comment) -> None:
    """Tell the rules where the comment can never be true of the value that the line binds."""
    for stated in claims(comment.value):
        if frame.run.supposing:
            hypotheses.bind(frame, node.body[-1], stated)
        hold(frame, node.body[-1], stated)


def hold(frame: Frame, statement: cst.BaseSmallStatement, stated: Claim) -> None:
    bound = [(n, v) for n, v in _bound(frame, statement) if isinstance(v, Tensor) and stated.name in {"", n}]
    if not bound:
        return
    meant = [_meaning(frame, axis) for axis in stated.axes]
    if any(isinstance(value, Tensor | Tuple | Function) for value in meant):
        return  # (pred, target): it lists values
    is_sure = stated.is_sure or any(isinstance(value, Int) for value in meant)
    sizes = [_sizes(frame, *pair) for pair in zip(stated.axes, meant)]
    reasons = [_contradiction(value.shape, stated, sizes, is_sure) for _, value in bound]
    if reasons[0] is not None and all(reasons):
        name, value = bound[0]
        frame.tell(Claimed(value, name, stated.text, reasons[0], frame.site(statement)))


def _bound(frame: Frame, statement: cst.BaseSmallStatement) -> Iterator[tuple[str, Value]]:
    """Names and values of what a statement binds; what it returns has no name."""
    match statement:
        case cst.Return(value=cst.BaseExpression()) if frame.returns:
            yield "", frame.known(frame.returns[-1])
        case (
            cst.Assign(targets=(cst.AssignTarget(target=target),))
            | cst.AugAssign(target=target)
            | cst.AnnAssign(target=target)
        ):
            parts = [element.value for element in target.elements] if isinstance(target, cst.Tuple) else [target]
            for part in parts:
                if isinstance(part, cst.Name):
                    yield part.value, frame.known(frame.scope.names.get(part.value, UNKNOWN))
                if isinstance(part, cst.Attribute) and isinstance(frame.owner, Instance) and _is_self(frame, part):
                    name = part.attr.value
                    yield f"self.{name}", frame.known(frame.owner.attributes.get(name, UNKNOWN))


def _is_self(frame: Frame, node: cst.Attribute) -> bool:
    return isinstance(node.value, cst.Name) and frame.scope.lookup(node.value.value) is frame.owner


def _meaning(frame: Frame, text: str) -> Value:
    """What the words for an axis stand for in this function; unknown unless they are a size of it."""
    try:
        return _evaluated(frame, ast.parse(text, mode="eval").body)
    except SyntaxError:
        return UNKNOWN


def _evaluated(frame: Frame, node: ast.expr) -> Value:
    match node:
        case ast.Constant(value=int() as number):
            return Int(as_dim(number))
        case ast.Name(id=name):
            found = frame.scope.lookup(name)
            if found is None and isinstance(frame.owner, Instance):
                found = frame.owner.attributes.get(name)
            if found is None:
                size = annotated_axis(frame, name)
                return UNKNOWN if size is None else Int(size)
            return frame.known(found)
        case ast.Attribute(value=ast.Name(id="self"), attr=name) if isinstance(frame.owner, Instance):
            return frame.known(frame.owner.attributes.get(name, UNKNOWN))
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in OPERATORS:
            a, b = _evaluated(frame, left), _evaluated(frame, right)
            if isinstance(a, Int) and isinstance(b, Int):
                return Int(OPERATORS[type(operator)](a.dim, b.dim))
    return UNKNOWN


def _sizes(frame: Frame, text: str, meaning: Value) -> tuple[Dim, ...]:
    """The size that an axis is said to have, and the one that self was built with under the same name."""
    size = meaning.dim if isinstance(meaning, Int | Unknown) else None
    built = frame.owner.attributes.get(text) if isinstance(frame.owner, Instance) else None
    if size is None or not isinstance(built, Int) or frame.known(built) != Int(size):
        return () if size is None else (size,)
    return size, built.dim


def _contradiction(shape: Shape, stated: Claim, sizes: Sequence[tuple[Dim, ...]], is_sure: bool) -> str | None:
    """Why the shape cannot be what is stated."""
    count, has_rest = len(stated.axes), stated.axes[0].startswith(("...", "*"))
    if any(axis.startswith(("...", "*", "#")) for axis in stated.axes[has_rest:]):
        return None
    last = shape.axis(-1)
    is_one = count == 1 and bool(sizes[0]) and sizes[0][0].value is None  # (B,) lists nothing
    if last is not None and last.size.value == count and shape.rank != count and not is_one:
        return None  # it may list what stands along the last axis: (x, y, w, h)
    if not _fits(shape, count, has_rest):
        return f"has {shape.least_rank} axes, not {count}" if is_sure else None
    wanted = list(zip(stated.axes, sizes))[has_rest:]
    lined_up = [*zip(reversed(shape.tail if shape.rank is None else shape.head), reversed(wanted))]
    if not has_rest and shape.rank is None:
        lined_up += zip(shape.head, wanted)
    words = {symbol for size in sizes for meaning in size for symbol in meaning.symbols()}
    is_synonym = words.isdisjoint(symbol for part in shape.axes for symbol in part.size.symbols())
    for part, (text, size) in lined_up[::-1]:
        if part is shape.axis(0) and part.size == ONE and part.maker in {None, Maker.INSERTED}:
            continue  # a batch of one is a batch
        if any(_differ(part.size, meaning) and not (is_synonym and _are_axes(part.size, meaning)) for meaning in size):
            meaning = f" ({size[0]})" if text.replace(" ", "") != str(size[0]).replace(" ", "") else ""
            return f"has {part.size} where the comment says {text}{meaning}"
    is_moved = _is_reordered(shape, sizes) or (not has_rest and _is_elsewhere(shape, sizes))
    return f"has the axes of {stated.text} in another order" if is_moved else None


def _is_reordered(shape: Shape, sizes: Sequence[tuple[Dim, ...]]) -> bool:
    """Whether the comment names the very sizes, each as often, and some in each other's place."""
    found = [part.size for part in shape.head]
    meant = [size[0] for size in sizes if size]
    return shape.run is None and meant != found and len(meant) == len(found) and Counter(meant) == Counter(found)


def _is_elsewhere(shape: Shape, sizes: Sequence[tuple[Dim, ...]]) -> bool:
    """Whether a size stands where the comment has a name of its own, and what is computed from it in its place."""
    found, meant = [part.size for part in shape.head], [size[0] if size else None for size in sizes]
    if shape.run is not None or len(found) != len(meant):
        return False
    for place, size in enumerate(meant):
        if size is None or size.symbol is None or meant.count(size) != 1 or found.count(size) != 1:
            continue
        is_made = found[place].symbol is None and size.symbol in _inside(found[place])  # (t - size) // step + 1
        if meant[found.index(size)] is None and is_made:
            return True
    return False


def _inside(size: Dim) -> Iterator[Symbol]:
    """The sizes that a size is computed from, also those that were divided."""
    for symbol in size.symbols():
        if symbol.derivation is None:
            yield symbol
        for operand in symbol.derivation.operands if symbol.derivation is not None else ():
            yield from _inside(operand)


def _fits(shape: Shape, count: int, has_rest: bool) -> bool:
    """Whether the shape may have as many axes, or more where the comment begins with dots."""
    if shape.rank is None:
        return has_rest or shape.least_rank <= count
    return shape.rank >= count - 1 if has_rest else shape.rank == count


def _differ(found: Dim, stated: Dim) -> bool:
    """Another number, or another name that its author gave to something else in the same place."""
    alike = {*found.symbols()} == {*stated.symbols()}  # of the same sizes, which are those of axes here
    if (compare if alike else compare_numbers)(found, stated) is Truth.DIFFERENT or meant_different(found, stated):
        return True
    a, b = found.symbol, stated.symbol
    if a is not None and b is not None and a.origin is b.origin is Origin.SIZE and a.derivation is b.derivation is None:
        return a.scope == b.scope and a.name != b.name
    return _is_named(divide(stated, found)) or (stated.value is None and _is_named(divide(found, stated)))


def _are_axes(found: Dim, stated: Dim) -> bool:
    """Whether both are names of axes: (batch_size, k) may be what the author calls (N, K) elsewhere."""
    return all(dim.symbol is not None and dim.symbol.origin is Origin.AXIS for dim in (found, stated))


def _is_named(quotient: Dim | None) -> bool:
    """A product of axes that have names: no author who names an axis says that it is 1."""
    symbols = [] if quotient is None else [*quotient.symbols()]
    return bool(symbols) and all(symbol.origin is Origin.AXIS for symbol in symbols)
