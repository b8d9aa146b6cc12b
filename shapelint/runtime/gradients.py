"""The gradient audit: how large the gradient of each parameter was, after each backward."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any

from shapelint.runtime.extras import require

require("torch", extra="torch")

import torch  # noqa: E402
from torch.autograd.graph import register_multi_grad_hook  # noqa: E402

if TYPE_CHECKING:
    from torch import Tensor, nn

HISTORY = 1000


class GradientError(AssertionError):
    """Parameters that are to be trained got no gradient, or exactly zero, in every backward so far."""


class GradientAudit:
    """Holds the gradient norm of every parameter of a model after each backward; works by hooks, changes no result.

    With an optimizer it also names the parameters that the optimizer does not hold. `close()`, or the end of a
    `with` block, removes the hooks.
    """

    def __init__(self, model: nn.Module, optimizer: torch.optim.Optimizer | None = None) -> None:
        self.model, self.optimizer = model, optimizer
        self.parameters = dict(model.named_parameters())
        self.backwards = 0
        self._history: deque[dict[str, Tensor]] = deque(maxlen=HISTORY)
        self._largest: dict[str, Tensor] = {}
        trained = {name: p for name, p in self.parameters.items() if p.requires_grad}
        self._handles: list[Any] = []
        if trained:  # the hook that begins a row is registered first, so that it runs first
            self._handles.append(register_multi_grad_hook(list(trained.values()), self._begin, mode="any"))
        hooked: list[tuple[str, Any]] = list(trained.items())
        self._handles += [parameter.register_hook(partial(self._note, name)) for name, parameter in hooked]

    def _begin(self, _: Tensor) -> None:
        self.backwards += 1
        self._history.append({})

    def _note(self, name: str, gradient: Tensor) -> None:
        values = gradient.detach()
        if values.is_sparse:
            values = values.coalesce().values()
        norm = torch.linalg.vector_norm(values, dtype=torch.promote_types(values.dtype, torch.float32))
        self._history[-1][name] = norm
        known = self._largest.get(name)
        self._largest[name] = norm if known is None else torch.maximum(known, norm)  # NaN stays

    @property
    def last(self) -> dict[str, float | None]:
        """The gradient norm of each trained parameter in the last backward; None where none arrived."""
        return self._row(self._history[-1] if self._history else {})

    @property
    def history(self) -> list[dict[str, float | None]]:
        """The same for each of the last 1,000 backwards."""
        return [self._row(row) for row in self._history]

    def _row(self, row: dict[str, Tensor]) -> dict[str, float | None]:
        return {
            name: float(row[name]) if name in row else None for name, p in self.parameters.items() if p.requires_grad
        }

    def problems(self) -> Iterator[tuple[str, str]]:
        """Each parameter that does not train, and why."""
        now = dict(self.model.named_parameters())
        held = {id(p) for group in self.optimizer.param_groups for p in group["params"]} if self.optimizer else None
        for name, parameter in now.items():
            if not parameter.requires_grad:
                continue
            if self.parameters.get(name) is not parameter:
                yield name, "came into the model after the audit began"
            elif name not in self._largest:
                yield name, "no gradient" if self.backwards else "no backward reached the model"
            elif float(self._largest[name]) == 0.0:
                yield name, "gradient exactly zero"
            if held is not None and id(parameter) not in held:
                yield name, "not held by the optimizer"
        yield from ((name, "not registered: held in a plain container") for name in self._unregistered())

    def _unregistered(self) -> Iterator[str]:
        """Modules and parameters in plain lists, dicts and tuples on a module: `parameters()` does not know them."""
        known = {id(p) for p in self.model.parameters()} | {id(m) for m in self.model.modules()}
        for prefix, module in self.model.named_modules():
            for name, value in vars(module).items():
                if not name.startswith("_") and isinstance(value, list | tuple | dict):
                    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
                        trains = isinstance(item, torch.nn.Parameter) or (
                            isinstance(item, torch.nn.Module) and any(p.requires_grad for p in item.parameters())
                        )
                        if trains and id(item) not in known:
                            yield f"{prefix}.{name}[{key!r}]".removeprefix(".")

    def check(self) -> None:
        """Raises GradientError that names the parameters without a gradient, or with an exactly zero one."""
        problems = list(self.problems())
        if problems:
            lines = [f"  {name}: {why}" for name, why in problems]
            total = f"{self.backwards} backward{'s' * (self.backwards != 1)}"
            raise GradientError("\n".join([f"after {total} these do not train:", *lines]))

    def report(self, plot: str | None = None) -> str:
        """A table: parameter, shape, gradient norm in the last backward, largest so far. `plot` names an image file."""
        why: dict[str, str] = {}
        for name, problem in self.problems():
            why[name] = f"{why[name]}, {problem}" if name in why else problem
        rows = [("parameter", "shape", "last", "largest", "")]
        last = self.last
        for name, parameter in self.model.named_parameters():
            largest = self._largest.get(name)
            note = why.pop(name, "") if parameter.requires_grad else "frozen"
            rows.append((name, str(tuple(parameter.shape)), _size(last.get(name)), _size(largest), note))
        rows += [(name, "", "", "", problem) for name, problem in why.items()]
        if plot is not None:
            self._plot(plot)
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        return "\n".join(
            f"{name:{widths[0]}}  {shape:{widths[1]}}  {now:>{widths[2]}}  {most:>{widths[3]}}  {note}".rstrip()
            for name, shape, now, most, note in rows
        )

    def _plot(self, filename: str) -> None:
        """One line for each parameter over the backwards; raises ImportError without matplotlib."""
        require("matplotlib", extra="plot")
        from matplotlib.figure import Figure  # type: ignore[import-not-found, unused-ignore]

        figure = Figure(figsize=(10, 6), layout="constrained")
        axes = figure.add_subplot(xlabel="backward", ylabel="gradient norm", yscale="symlog")
        history = self.history
        for name in self.last:
            axes.plot([row[name] if row[name] is not None else float("nan") for row in history], label=name)
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize="small")
        figure.savefig(filename)

    def close(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def __enter__(self) -> GradientAudit:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _size(norm: Tensor | float | None) -> str:
    return "-" if norm is None else f"{float(norm):.3g}"
