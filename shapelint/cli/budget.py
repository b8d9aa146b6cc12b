"""`shapelint budget FILE[:Class]`: what a module costs at given sizes, without running it."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from shapelint.budget.evaluation import Given, Unclear, tensor
from shapelint.cli.options import CLEAN, Failed, positive
from shapelint.domain.memory import width_of
from shapelint.domain.values import Tensor
from shapelint.source import Unreadable

BALANCE = 150.0  # FLOPs for each byte of memory traffic: about that of current accelerators in half precision


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        "shapelint budget",
        description="Parameters, bytes by pile, largest tensors and work of an nn.Module, read off its source.",
        allow_abbrev=False,
    )
    top.add_argument("module", metavar="FILE[:CLASS]", help="the file, and the class if it is not the last one in it")
    top.add_argument(
        "--size",
        action="append",
        default=[],
        nargs="+",
        type=_size,
        metavar="NAME=N",
        help="arguments of the constructor",
    )
    top.add_argument("--batch", type=positive, default=1, metavar="N", help="batch size (default: 1)")
    top.add_argument("--seq", type=positive, metavar="N", help="length of sequences, where the input has them")
    top.add_argument(
        "--input",
        action="append",
        default=[],
        type=_input,
        metavar="NAME=N,N,...[:DTYPE]",
        help="an input of forward, of float32 unless a dtype follows",
    )
    top.add_argument(
        "--balance", type=float, default=BALANCE, metavar="X", help=f"the machine's FLOP/byte (default: {BALANCE:g})"
    )
    top.add_argument(
        "--largest", type=positive, default=10, metavar="N", help="how many of the largest tensors (default: 10)"
    )
    top.add_argument("--output-format", choices=("text", "json", "html"), default="text", help="default: text")
    return top


def _size(text: str) -> tuple[str, int]:
    name, _, number = text.partition("=")
    if not name.isidentifier():
        raise argparse.ArgumentTypeError(f"must be NAME=N, not {text!r}")
    return name, positive(number)


def _input(text: str) -> tuple[str, Tensor]:
    name, _, rest = text.partition("=")
    sizes, _, dtype = rest.partition(":")
    dtype = dtype or "float32"
    if not name.isidentifier() or width_of(dtype) is None:
        raise argparse.ArgumentTypeError(f"must be NAME=N,N,...[:DTYPE], not {text!r}")
    return name, tensor([positive(size) for size in sizes.split(",") if size], dtype)


def show_budget(arguments: Sequence[str]) -> int:
    """Print the budget of a module; the exit status. Raises Failed."""
    from shapelint.budget import rendering
    from shapelint.budget.summary import draw_up

    options = parser().parse_args(arguments)
    filename, class_name = options.module, None
    if not os.path.exists(filename):
        filename, _, class_name = filename.rpartition(":")
    sizes = dict(pair for pairs in options.size for pair in pairs)
    given = Given(sizes, dict(options.input), options.batch, options.seq)
    try:
        budget = draw_up(filename or options.module, class_name or None, given, options.balance, options.largest)
    except Unclear as error:
        raise Failed(f"{options.module}: {error}") from None
    except (OSError, Unreadable) as error:
        reason = getattr(error, "message", None) or getattr(error, "strerror", None) or str(error)
        raise Failed(f"{options.module}: {reason}") from None
    match options.output_format:
        case "json":
            text = rendering.as_json(budget)
        case "html":
            text = rendering.as_html(budget)
        case _:
            text = rendering.as_text(budget, _width(), sys.stdout.isatty() and "NO_COLOR" not in os.environ)
    sys.stdout.write(text)
    return CLEAN


def _width() -> int:
    return max(80, os.get_terminal_size().columns) if sys.stdout.isatty() else 120
