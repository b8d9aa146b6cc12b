"""A table of differences or products is built only to be summed over its last axis.

Reports `((x[:, None] - y[None]) ** 2).sum(-1)` and its like: differences, products, norms and cosine similarities of
two operands that were stretched against each other, also by `unsqueeze` and `expand`, reduced over an axis that both
have. Silent where the table is used for something else as well, and where it is small for certain.

Why: (n, m, d) numbers are written and read again, and kept for the backward pass, where the result has (n, m). At
n = m = 4096 and d = 512 that is 32 GiB for 64 MiB. `cdist`, a matrix product or `einsum` never build the table.

Bad:
    import torch

    def kernel(x, y, gamma):
        squares = (x.unsqueeze(1) - y.unsqueeze(0)).pow(2).sum(-1)  # expect: SHP501
        return torch.exp(-gamma * squares)

Good:
    import torch

    def kernel(x, y, gamma):
        squares = torch.cdist(x, y).pow(2)
        return torch.exp(-gamma * squares)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shapelint.analysis.axes.outer import REDUCTIONS, SQUARES, Chain, chain_of, used_elsewhere
from shapelint.analysis.axes.without_table import is_read_as_small, remedy, source_of
from shapelint.analysis.evidence import clue
from shapelint.analysis.index import operations
from shapelint.domain.dims import Dim, Origin
from shapelint.domain.memory import dtype_of, memory, spelled
from shapelint.domain.values import Shape, Tensor
from shapelint.events import Event
from shapelint.rule import Report

AT_CALLS = True
SMALL = 2**20  # bytes
FEW = 2  # along an axis: twice the memory of an operand or of the result does no harm


def check(events: Sequence[Event]) -> Iterator[Report]:
    chains = [c for e in operations(events, REDUCTIONS) if (c := chain_of(e)) and is_replaceable(c)]
    chains = [chain for chain in chains if not is_small(chain) and not is_read_as_small(events, chain)]
    if not chains:
        return
    steps = [step for chain in chains for step in chain.steps]
    kept = used_elsewhere(events, steps, [*steps, *(chain.reduction for chain in chains)])
    for chain in chains:
        if not any(id(step) in kept for step in chain.steps):
            clues = tuple(clue(chain.base, operand) for operand in chain.operands)
            yield Report(chain.reduction, message(chain), clues, marks=(chain.base.site,))


def is_small(chain: Chain) -> bool:
    """Whether the table is small, or hardly larger than what it is made of or comes to; or an operand: a rotation."""
    size, limits = memory(chain.shape, dtype_of(chain.operands[0])), [(axis.size, FEW) for axis in chain.axes]
    return any(at_most(*limit) for limit in (*limits, *((n, 16) for n in chain.counts))) or (size or SMALL) < SMALL


def at_most(size: Dim, bound: int) -> bool:
    """Also of what `x[:2]` leaves of an unknown axis, and of `x[i : i + 16]`: the author works in pieces."""
    derivation = size.symbol.derivation if size.symbol is not None else None
    if derivation is not None and derivation.function == "min":
        return any(at_most(operand, bound) or len(operand.terms) > 1 for operand in derivation.operands)
    return size.value is not None and size.value <= bound


def is_replaceable(chain: Chain) -> bool:
    """jax has no distance but the Euclidean one."""
    return chain.library != "jax" or any(op.name in SQUARES for op in (*chain.steps, chain.reduction))


def message(chain: Chain) -> str:
    x, y = (source_of(chain.base, operand) for operand in chain.operands)
    built, result, dtype = chain.shape, chain.reduction.result, dtype_of(chain.operands[0])
    pairs = f"{x} and {y} broadcast" if x != y else f"every row of {x} meets every other"
    if not isinstance(result, Tensor) or built.rank is None or is_vague(built):
        return f"{pairs}: each pair takes a row of memory, only to be reduced to one number; {remedy(chain)}"
    built_size, result_size = (
        f" ({dtype}, {spelled(count)})" if (count := memory(shape, dtype)) is not None else ""
        for shape in (built, result.shape)
    )
    table = f"{pairs} to {built}{built_size}, only to be reduced to {result}{result_size}"
    return f"{table}; {remedy(chain)}"


def is_vague(shape: Shape) -> bool:
    symbols = [symbol for axis in shape.axes for symbol in axis.size.symbols()]
    return any(symbol.origin is Origin.ANONYMOUS or symbol.derivation is not None for symbol in symbols)
