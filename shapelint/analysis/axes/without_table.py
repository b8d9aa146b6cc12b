"""How to come to the same numbers without the table of all pairs, in the author's words."""

from __future__ import annotations

from collections.abc import Sequence, Set

from shapelint.analysis.axes.outer import COMPARISONS, Chain, insertion
from shapelint.analysis.evidence import name_of, shortened
from shapelint.analysis.uses import made, uses
from shapelint.domain.dims import ONE, as_dim
from shapelint.domain.values import Float, Int, Tensor
from shapelint.events import Event, Kind, Operation

MOST_PAIRS = 256


def is_read_as_small(events: Sequence[Event], chain: Chain) -> bool:
    """Whether a later reshape says how few numbers come of it: `distances.view(1, 5, 5)`."""
    result = made(chain.reduction)
    later = [use.event for use in uses(events, result, 0)] if result is not None else []
    read = [event.result for event in later if event.kind is Kind.RESHAPE]
    counts = [shape.shape.numel() for shape in read if isinstance(shape, Tensor)]
    return any(count is not None and count.value is not None and count.value <= MOST_PAIRS for count in counts)


def source_of(event: Operation, operand: Tensor) -> str:
    """The author's words for what was stretched, before it was."""
    inserted = insertion(operand)
    if inserted is not None and "x" in inserted.sites:
        return f"`{shortened(inserted.sites['x'].text)}`"
    return name_of(event, operand, "an operand")


def is_plain(operand: Tensor) -> bool:
    """Whether `source_of` has the words for what has no axes of one element."""
    inserted = insertion(operand)
    return (inserted is not None and "x" in inserted.sites) or ONE not in operand.shape.sizes


def remedy(chain: Chain) -> str:
    """What gives the same numbers without the table."""
    names = {chain.reduction.name, *(step.name for step in chain.steps)}
    if "cosine_similarity" in names:
        return "normalise both and take their matrix product: no table"
    if chain.base.name == "mul":
        return "a matrix product or einsum gives the same without the table"
    if chain.base.name in COMPARISONS:
        return "of codes of 0 and 1 a matrix product counts the same without the table"
    if chain.library == "jax" or (chain.library == "numpy" and chain.least_rank > 3):
        return "|x|^2 + |y|^2 - 2 x @ y.T gives the squares without the table"
    return of_distances(chain, names)


def of_distances(chain: Chain, names: Set[str]) -> str:
    """`cdist` in the author's names, where it gives the same as it is called."""
    call = "scipy.spatial.distance.cdist" if chain.library == "numpy" else "torch.cdist"
    if not chain.is_last and not chain.is_of_rows:
        return f"`{call}` gives the same without the table, once the axis that is summed stands last"
    if chain.is_weighted:
        return f"`{call}` gives the same without the table, with the factors' square roots in both"
    if not chain.is_of_rows:
        return f"`{call}` gives the same without the table, once the two axes that meet stand before the last"
    if not all(map(is_plain, chain.operands)):
        return f"`{call}` gives the same without the table, from the two as they were without the new axes"
    both = ", ".join(source_of(chain.base, operand).strip("`") for operand in chain.in_order)
    same = "gives the same without the table" + (", but for the factor" if chain.factors else "")
    if names & {"norm", "pairwise_distance"}:
        return f"`{call}({both})` {same}"
    if any(step.name == "pow" and step.arguments.get("y") not in (Int(as_dim(2)), Float(2.0)) for step in chain.steps):
        return f"`{call}` with that power {same}"
    if names & {"pow", "square", "mul", "einsum"}:
        mean = f" / {both.partition(',')[0]}.shape[-1]" if chain.reduction.name == "mean" else ""
        return f"`{call}({both}) ** 2{mean}` {same}"
    metric = "'cityblock'" if chain.library == "numpy" else "p=1"
    return f"`{call}({both}, {metric})` {same}"
