"""Numbers in place of scopes: equal scopes have one token, and what nests without bound stays small."""

from __future__ import annotations

from itertools import count


class Token(int):
    """Stands for a scope; equal scopes have one token. Scopes nest without bound, numbers do not."""


_TOKENS: dict[object, Token] = {}
_next_token = count(1)


def token(scope: object) -> Token | None:
    """The token of a scope, in the order in which scopes are met, alike in every run."""
    if scope is None or isinstance(scope, Token):
        return scope
    known = _TOKENS.get(scope)
    if known is None:
        known = _TOKENS[scope] = Token(next(_next_token))
    return known


def is_met(scope: object) -> bool:
    """Whether a scope has a token already."""
    return scope in _TOKENS


def now() -> int:
    """Scopes that are met later have larger tokens."""
    return next(_next_token)


MOST_TOKENS = 50_000  # more than a large file has


def forget_scopes(most: int = MOST_TOKENS) -> None:
    """Between two files: drop what scopes stand for where they have become many. Tokens stay unique."""
    if len(_TOKENS) > most:
        _TOKENS.clear()
