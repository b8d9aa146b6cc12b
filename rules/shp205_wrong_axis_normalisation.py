"""Something is normalised, chosen or joined along another axis than the one it is used along.

Reports softmax without `dim`; softmax, `normalize` and `cosine_similarity` along an axis that contradicts what follows
(a choice, a sum or a product along another one); BatchNorm and LayerNorm whose features stand elsewhere; cross_entropy
on (samples, steps, classes); argmax of a whole table, or along the samples, compared with labels; copies joined along
the batch that were to be channels.

Why: every axis can be normalised, so nothing fails. The rows do not sum to 1, and samples of one batch change the
results of each other.

Bad:
    import torch

    def predict(logits):
        probabilities = torch.softmax(logits, dim=0)  # expect: SHP205
        return probabilities.argmax(dim=1)

Good:
    import torch

    def predict(logits):
        probabilities = torch.softmax(logits, dim=1)
        return probabilities.argmax(dim=1)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shapelint.analysis.axes import normalised_axis, sample_axis, unit_length
from shapelint.analysis.axes.normalised_axis import place
from shapelint.analysis.evidence import name_of, shortened
from shapelint.analysis.index import operations
from shapelint.domain.values import NONE, Tensor, Value
from shapelint.events import Event, Kind, Operation
from shapelint.fixes.proposals import along
from shapelint.rule import Clue, Report


def check(events: Sequence[Event]) -> Iterator[Report]:
    yield from without_axis(events)
    for found in (*normalised_axis.softmaxes(events), *unit_length.normals(events)):
        message = f"{found.event.name} along axis {found.axis}, but {found.used} in `{shortened(found.use.site.text)}`"
        yield Report(found.event, message, (Clue("used here", found.use.site),), place(events, found.event))
    for event, x, axis in normalised_axis.of_one(events):
        message = f"{event.name} along axis {axis} of {x.shape}, which has size 1: all become"
        yield Report(event, f"{message} {0 if event.name == 'log_softmax' else 1}", site=place(events, event))
    for event in operations(events, {"cosine_similarity", "normalize"}):
        for axis in unit_length.features_last(event):
            message = f"{event.name} works along axis {axis}, but a layer has put the features last: write dim=-1"
            yield Report(event, message, fix=along(event, -1), fix_message="Write dim=-1", fix_is_safe=False)
    for event, axis in unit_length.divided_by_length(events):
        message = f"{event.name} is taken along axis {axis}, but a layer has put the features last: write dim=-1"
        yield Report(event, message, fix=along(event, -1), fix_message="Write dim=-1", fix_is_safe=False)
    for event, why in normalised_axis.norms(events):
        yield Report(event, f"{why}; move the axis with transpose(1, 2), and back")
    for event, use in sample_axis.picks_of_all(events):
        text = shortened(use.site.text)
        message = f"{event.name} without dim gives one index into the whole table, and `{text}` compares it with labels"
        yield Report(
            event,
            f"{message}; write dim=1",
            (Clue("compared here", use.site),),
            fix=along(event, 1),
            fix_message="Choose in each row",
            fix_is_safe=False,
        )
    for event, loss in sample_axis.picks_of_samples(events):
        text = loss.name if loss.kind is Kind.LOSS else shortened(loss.site.text)
        message = f"{event.name} along axis 0 chooses among samples: the classes are axis 1 in `{text}`"
        yield Report(event, message, (Clue("the classes are axis 1 here", loss.site),))
    for event, x in sample_axis.classes_last(events):
        message = (
            f"{event.name} takes axis 1 of {name_of(event, x)} {x.shape} for the classes, but they are the last axis"
        )
        yield Report(event, f"{message}; write transpose(1, 2), or flatten both")
    for event, use, count in sample_axis.copies_as_samples(events):
        message = f"`{shortened(event.site.text)}` makes {count} times as many samples, beside a tensor with {count} "
        yield Report(use, f"{message}channels; join along dim=1", (Clue("joined along axis 0", event.site),))


def without_axis(events: Sequence[Event]) -> Iterator[Report]:
    for event in operations(events, normalised_axis.SOFTMAXES):
        x = event.arguments.get("x")
        is_layer = event.layer is not None and event.layer.name.endswith("2d")
        if x is None or is_layer or not event.callee.startswith("torch") or event.arguments.get("dim", NONE) != NONE:
            continue
        if is_method(event) and not (isinstance(x, Tensor) and x.shape.rank is not None):
            continue  # the method of torch raises without dim: another library's may do without
        chosen = default_of(x) if event.callee.startswith("torch.nn.") else "raises: it has no default"
        message = f"{event.name} without dim {chosen}: write the axis"
        # What torch chooses for a table is what is written there; for more axes it is hardly what was meant.
        is_table = isinstance(x, Tensor) and x.shape.rank in {1, 2}
        yield Report(
            event,
            message,
            site=place(events, event),
            fix=along(event, -1),
            fix_message="Write dim=-1",
            fix_is_safe=is_table,
            stands_alone=True,
        )


def is_method(event: Operation) -> bool:
    return "x" in event.sites and event.site.text.startswith(f"{event.sites['x'].text}.")


def default_of(x: Value) -> str:
    """What torch chooses in place of the author."""
    if not isinstance(x, Tensor) or x.shape.rank is None:
        return "works along axis 0 of 1-D and 3-D input, else along axis 1"
    return f"works along axis {0 if x.shape.rank in {0, 1, 3} else 1} of {x.shape}"
