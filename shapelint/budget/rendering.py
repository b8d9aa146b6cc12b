"""A budget as a table for the terminal, as JSON, and as a page with bars."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import asdict
from html import escape

from shapelint.budget.summary import Budget, Intensity, Piles
from shapelint.domain.memory import spelled

PARTS = ("weights", "gradients", "optimizer_state", "activations")
COLOURS = ("#4269d0", "#efb118", "#ff725c", "#6cc5b0")
PREFIXES = ((10**12, "T"), (10**9, "G"), (10**6, "M"), (10**3, "k"))


def counted(number: float) -> str:
    """124,439,808 as 124.4 M."""
    for size, letter in PREFIXES:
        if number >= size:
            return f"{number / size:.1f} {letter}"
    return f"{number:g}"


def label(piles: Piles) -> str:
    return " ".join(part for part in (piles.purpose, piles.precision, piles.optimizer) if part)


def sentence(intensity: Intensity) -> str:
    return (
        f"batch {intensity.batch}: {counted(intensity.flops)}FLOP, {spelled(intensity.bytes)} moved, "
        f"{intensity.flops_per_byte:.1f} FLOP/byte: {intensity.bound} bound at a balance of {intensity.balance:g}"
    )


def title(budget: Budget) -> str:
    inputs = ", ".join(f"{name} {tuple(shape)} {dtype}" for name, shape, dtype in budget.inputs)
    at_least = "" if budget.knows_all_parameters else "at least "
    return f"{budget.name}({inputs}): {at_least}{budget.parameters:,} parameters"


def as_json(budget: Budget) -> str:
    data = asdict(budget)
    for piles, found in zip(data["piles"], budget.piles):
        piles["total"] = found.total
    for intensity, measured in zip(data["intensities"], budget.intensities):
        intensity |= {"flops_per_byte": round(measured.flops_per_byte, 3), "bound": measured.bound}
    return json.dumps(data, indent=2) + "\n"


def as_text(budget: Budget, width: int | None = None, colour: bool = False) -> str:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=io.StringIO(), width=width or 100, force_terminal=colour, highlight=False)
    console.print(Text(title(budget), style="bold"))

    def table(*columns: str) -> Table:
        made = Table(box=None, pad_edge=False, show_edge=False, padding=(0, 2))
        for number, column in enumerate(columns):
            made.add_column(column, justify="right" if number else "left", overflow="fold")
        return made

    modules = table("submodule", "parameters")
    for name, count in budget.submodules:
        modules.add_row(Text(name), f"{count:,}")
    piles = table("", "weights", "gradients", "optimizer", "activations", "total")
    for pile in budget.piles:
        parts = (spelled(getattr(pile, part)) if getattr(pile, part) else "-" for part in PARTS)
        piles.add_row(Text(label(pile)), *parts, spelled(pile.total))
    largest = table("largest tensors", "dtype", "bytes", "made by")
    for large in budget.largest:
        kept = " (kept)" if large.is_kept else ""
        times = f"{large.times} x " if large.times > 1 else ""
        largest.add_row(
            Text(f"{times}{large.shape}"), large.dtype, spelled(large.bytes), Text(f"{large.made_by[:40]}{kept}")
        )
    for part in (modules, piles, largest):
        console.print()
        console.print(part)
    console.print()
    for intensity in budget.intensities:
        console.print(Text(sentence(intensity)))
    console.print("\nNot counted:")
    for text in budget.left_out:
        console.print(Text(f"- {text}"))
    output = console.file
    assert isinstance(output, io.StringIO)
    return "\n".join(line.rstrip() for line in output.getvalue().splitlines()) + "\n"


STYLE = """body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem }
table { border-collapse: collapse; margin: 1rem 0 } td, th { padding: .15rem .8rem .15rem 0; text-align: left }
td.n { text-align: right; font-variant-numeric: tabular-nums } .bar { display: flex; height: 1.1rem; width: 26rem }
.key span { display: inline-block; width: .8rem; height: .8rem; margin: 0 .3rem 0 1rem }
@media (prefers-color-scheme: dark) { body { background: #16181d; color: #e6e6e6 } }"""


def as_html(budget: Budget) -> str:
    """A page of its own, without scripts."""
    return "\n".join(_page(budget)) + "\n"


def _page(budget: Budget) -> Iterator[str]:
    yield '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width">'
    yield f"<title>{escape(budget.name)}: memory budget</title>\n<style>{STYLE}</style>"
    yield f"<h1>{escape(title(budget))}</h1>"
    names = zip(PARTS, COLOURS)
    key = "".join(f'<span style="background:{c}"></span>{p.replace("_", " ")}' for p, c in names)
    yield f'<h2>Bytes by pile</h2>\n<p class="key">{key}</p>\n<table>'
    most = max(piles.total for piles in budget.piles) or 1
    for piles in budget.piles:
        parts = zip(PARTS, COLOURS)
        bars = "".join(
            f'<div style="background:{colour};width:{100 * getattr(piles, part) / most:.2f}%"'
            f' title="{part.replace("_", " ")}: {spelled(getattr(piles, part))}"></div>'
            for part, colour in parts
        )
        yield (f'<tr><td>{escape(label(piles))}<td><div class="bar">{bars}</div><td class="n">{spelled(piles.total)}')
    yield "</table>\n<h2>Parameters</h2>\n<table>"
    top = max((count for _, count in budget.submodules), default=1) or 1
    for name, count in budget.submodules:
        bar = f'<div class="bar"><div style="background:{COLOURS[0]};width:{100 * count / top:.2f}%"></div></div>'
        yield f'<tr><td>{escape(name)}<td>{bar}<td class="n">{count:,}'
    yield "</table>\n<h2>Largest tensors</h2>\n<table>"
    for large in budget.largest:
        kept = "kept for the backward pass" if large.is_kept else ""
        times = f"{large.times} × " if large.times > 1 else ""
        cells = (f"{times}{large.shape}", large.dtype, spelled(large.bytes), large.made_by, kept)
        yield "<tr>" + "".join(f"<td>{escape(cell)}" for cell in cells)
    yield "</table>\n<h2>Work</h2>\n<ul>"
    yield from (f"<li>{escape(sentence(intensity))}" for intensity in budget.intensities)
    yield "</ul>\n<h2>Not counted</h2>\n<ul>"
    yield from (f"<li>{escape(text)}" for text in budget.left_out)
    yield "</ul>\n</html>"
