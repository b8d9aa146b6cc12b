"""What a probe says of one function."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Result:
    """The verdict on one function: passed, axis bug, broadcast, contradiction, not probed, crashed."""

    name: str
    verdict: str
    detail: str = ""
    filename: str = ""
    line: int = 0
    code: str = ""

    @property
    def is_bug(self) -> bool:
        return self.verdict in ("axis bug", "broadcast", "contradiction", "crashed")

    @property
    def text(self) -> str:
        lines = [f"{self.name}: {self.verdict}", *(f"  {line}" for line in self.detail.splitlines())]
        if self.filename and self.code:
            from shapelint.runtime.agreement import seen_by_the_linter

            code = seen_by_the_linter(self.filename, self.line)
            summary = self.detail.partition("\n")[0]
            place = f"{self.filename}:{self.line}"
            lines.append(
                f"  {place}: {code} the linter reports it as well" if code else f"  {place}: {self.code} {summary}"
            )
        return "\n".join(lines)
