"""The graph of every step is kept: memory grows, or the next backward() runs into the last one.

Reports sums, lists and records that live longer than a step of training and are fed attached tensors
(`total += loss`, `losses.append(loss)`, `history.append(value.clone())`), a state that a loop or a module carries
from one step to the next without detach, and predictions that are collected in evaluation without no_grad. What is
itself back-propagated, begun anew in each step, detached, or turned into a number is left alone.

Why: an attached tensor holds all that it was computed from. A sum of losses holds a step's graph for each step of the
epoch, and a carried state makes backward() go through all earlier steps: "Trying to backward a second time".

Bad:
    import torch.nn.functional as F

    def epoch(model, optimizer, batches):
        total = 0.0
        for x, y in batches:
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss  # expect: SHP306
        return total / len(batches)

Good:
    import torch.nn.functional as F

    def epoch(model, optimizer, batches):
        total = 0.0
        for x, y in batches:
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        return total / len(batches)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shapelint.analysis.gradients.retained_graphs import Kept, retained
from shapelint.events import Event, Grown
from shapelint.fixes.proposals import detached
from shapelint.rule import Clue, Report

MESSAGES = {
    "grows": "{name} grows by a tensor with its graph in each step, and so keeps the graphs of all steps. "
    "Add a number (.item()) or a detached tensor (.detach())",
    "evaluation": "{name} collects tensors with their graphs: eval() does not switch gradients off, so the activations "
    "of every batch are kept. Wrap the loop in torch.no_grad()",
    "carried": "{name} goes on into the next step with its graph: the next backward() goes back through all earlier "
    "steps. Write {name}.detach() in between",
    "state": "{name} keeps its graph from one call to the next: the next backward() goes back through all earlier "
    "calls. Store {name} detached",
}


def check(events: Sequence[Event]) -> Iterator[Report]:
    for kept in retained(events):
        trace = (Clue("computed here", kept.source.site),) if kept.source not in (None, kept.event) else ()
        fix = detached(kept.event.site) if isinstance(kept.event, Grown) and kept.how == "grows" else ()
        yield Report(kept.event, message(kept), trace, fix=fix, fix_message="Keep the value without its graph")


def message(kept: Kept) -> str:
    return MESSAGES[kept.how].format(name=f"`{kept.name}`")
