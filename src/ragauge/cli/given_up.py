"""Why an endpoint was given up, said while it is known: the labels keep no more of it than "not_asked"."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ragauge.cli.terminal import note

if TYPE_CHECKING:
    from ragauge.llm import Ask, Request
    from ragauge.llm.reply import Reply

__all__ = ["telling_why"]

T = TypeVar("T")


def telling_why(ask: "Ask", *, quiet: bool) -> "Ask":
    """The same way of asking, which says on stderr, each cause once, why requests were not sent."""
    told: set[str] = set()

    def asked(requests: "Sequence[Request]", *, read: "Callable[[Reply], T]", **how: Any) -> list[T]:
        causes: dict[str, None] = {}

        def heard(reply: "Reply") -> T:
            if reply.failure == "not_asked":
                causes[reply.raw] = None
            return read(reply)

        replies = ask(requests, read=heard, **how)
        for cause in causes.keys() - told:
            told.add(cause)
            note(click.wrap_text(cause[:1].upper() + cause[1:], 80, subsequent_indent="  "), quiet=quiet)
        return replies

    return asked
