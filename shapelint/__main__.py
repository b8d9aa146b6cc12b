"""Which command is meant, and how it ends."""

from __future__ import annotations

import os
import sys

INTERRUPTED = 130
TYPE_CHECKING = False  # `typing` itself costs a third of the start-up
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status."""
    from shapelint.cli.options import FAILED, Failed

    arguments = sys.argv[1:] if argv is None else list(argv)
    try:
        status = _run(arguments)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # whoever read the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except KeyboardInterrupt:
        print("shapelint: interrupted", file=sys.stderr)
        return INTERRUPTED
    except Failed as error:
        print(f"shapelint: {error}", file=sys.stderr)
        return FAILED
    except Exception as error:
        print(f"shapelint: internal error: {type(error).__name__}: {error}", file=sys.stderr)
        return FAILED


def _run(arguments: list[str]) -> int:
    match arguments:
        case ["rules", *rest]:
            from shapelint.cli.rules import list_rules

            return list_rules(rest)
        case ["explain", *rest]:
            from shapelint.cli.rules import explain

            return explain(rest)
        case ["shapes", *rest]:
            from shapelint.cli.shapes import show_shapes

            return show_shapes(rest)
        case ["budget", *rest]:
            from shapelint.cli.budget import show_budget

            return show_budget(rest)
        case ["probe", *rest]:
            from shapelint.cli.probe import probe_modules

            return probe_modules(rest)
    from shapelint.cli.lint import lint

    return lint(arguments)


def run() -> None:
    """The console script. What is in memory is not taken apart at the end: that would take as long as a parse."""
    status = main()
    if status == INTERRUPTED:
        sys.exit(status)  # what worker processes left behind is put away
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    run()
