"""A part of the model or of the loss is computed without gradients, and never trains.

Reports `no_grad`, `inference_mode` and `set_grad_enabled(False)`, as a context or a decorator, where what is computed
under it is a whole term of a loss, or goes on into a layer that trains, while modules that should train are run there
and nowhere else; and the statement `torch.set_grad_enabled(False)` that nothing switches back on. Frozen, averaged
and loaded modules, targets, weights, indices and whatever also runs with gradients are left alone.

Why: no_grad looks like a matter of memory, but it takes away the gradient of all that runs inside, also that of the
input. The loss falls by its other terms, and nothing tells that these modules stay as they were initialised.

Bad:
    import torch
    import torch.nn as nn

    class Captioner(nn.Module):
        def __init__(self, pixels, words):
            super().__init__()
            self.vision = nn.Linear(pixels, 32)
            self.head = nn.Linear(32, words)

        @torch.no_grad()  # expect: SHP303
        def features(self, x):
            return torch.relu(self.vision(x))

        def forward(self, x):
            return self.head(self.features(x))

Good:
    import torch
    import torch.nn as nn

    class Captioner(nn.Module):
        def __init__(self, pixels, words):
            super().__init__()
            self.vision = nn.Linear(pixels, 32)
            self.head = nn.Linear(32, words)

        def features(self, x):
            return torch.relu(self.vision(x))

        def forward(self, x):
            return self.head(self.features(x))
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shapelint.analysis.gradients.dead_terms import dead_terms
from shapelint.analysis.gradients.detached_activations import detached_activations, frozen_inputs, left_off
from shapelint.analysis.gradients.seemingly_trained import beside_frozen, compared_without
from shapelint.analysis.gradients.wording import quoted, words_for
from shapelint.analysis.index import events_of
from shapelint.analysis.training.misdirected_losses import misdirected_terms
from shapelint.analysis.training.starved import starved
from shapelint.events import Event, Region
from shapelint.rule import Clue, Report


def check(events: Sequence[Event]) -> Iterator[Report]:
    for call in left_off(events):
        yield Report(
            call,
            "Gradients stay switched off after this, for all that runs later: nothing trains any more. "
            "Write it as a context: `with torch.no_grad():`",
        )
    if next(events_of(events, Region), None) is None:
        return
    for dead in dead_terms(events):
        if isinstance(dead.cut.event, Region):
            yield Report(
                dead.cut.event,
                f"This term of the loss trains nothing: it is computed without gradients, so {words_for(dead.cut)} "
                "gets none from it. Compute it outside, and freeze modules with requires_grad_(False)",
                (Clue("part of the loss here", dead.loss.site),),
            )
    for term in misdirected_terms(events):
        if isinstance(term.cut.event, Region):
            yield Report(
                term.cut.event,
                "This term of the loss trains nothing that its optimizer holds: it is computed without gradients, so "
                f"{words_for(term.cut)} gets none from it. Compute it outside",
                (Clue("part of the loss here", term.loss.site),),
            )
    for cut, place in (*detached_activations(events), *starved(events)):
        if isinstance(cut.event, Region):
            yield Report(
                cut.event,
                f"{words_for(cut)} runs only without gradients, so it is never trained, though its result goes on into "
                f"{quoted(place.site)}. Run it with gradients, or freeze it with requires_grad_(False)",
                (Clue("goes on here", place.site),),
            )
    for cut in frozen_inputs(events):
        yield Report(
            cut.event,
            "The weights of this module are frozen, so that only its input could get a gradient, and here it loses it: "
            "a loss on the result trains nothing. Compute this with gradients; requires_grad_(False) is enough",
        )
    for cut in beside_frozen(events):
        yield Report(
            cut.event,
            f"{words_for(cut)} runs without gradients together with a frozen module, though nobody froze it: it is "
            "never trained. Compute it outside",
        )
    for cut in compared_without(events):
        yield Report(
            cut.event,
            "The weights of this module are frozen, so that only what it is given could get a gradient, and both sides "
            "of the loss lose it here: the loss trains nothing. Compute the prediction's side with gradients",
        )
