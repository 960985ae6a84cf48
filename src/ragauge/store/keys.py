"""Content-addressed keys: the same request always has the same key, and any change to it gives another."""

import hashlib
import json
from collections.abc import Mapping

from ragauge.errors import InputError

__all__ = ["canonical_json", "request_key", "text_hash"]

KEY_VERSION = "r1"
"""Stands before each key, so that a later way of making keys can live in the same store."""

SECRET_NAMES = frozenset({"api_key", "api-key", "apikey", "authorization", "x-api-key"})


def request_key(request: Mapping[str, object]) -> str:
    """The key of a whole request: `"r1:"` and the SHA-256 of its canonical JSON, 67 characters.

    Everything that can change the answer belongs inside: endpoint, model, parameters, messages, prompt id and, where
    one request is asked several times on purpose, the number of the draw. The order of names does not matter.

    Args:
        request: JSON values only, such as `{"endpoint": .., "model": .., "parameters": .., "messages": ..}`.

    Raises:
        InputError: It holds NaN, an infinity, something JSON has no form for, or an API key.

    Example:
        >>> request_key({"model": "m", "seed": 1}) == request_key({"seed": 1, "model": "m"})
        True
        >>> request_key({"model": "m", "seed": 1}) == request_key({"model": "m", "seed": 2})
        False
    """
    return f"{KEY_VERSION}:{_sha256(canonical_json(request))}"


def canonical_json(request: Mapping[str, object]) -> str:
    """The one JSON text of `request`: sorted names, no spaces, characters as they are.

    Raises:
        InputError: As for `request_key`.
    """
    _refuse_secrets(request)
    try:
        text = json.dumps(
            request, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_plain
        )
        text.encode("utf-8")
    except (TypeError, ValueError) as error:
        raise InputError(
            f"a request must hold JSON values only (text, finite numbers, true, false, null, lists, mappings): {error}"
        ) from error
    return text


def text_hash(text: str) -> str:
    """SHA-256 of the UTF-8 text, 64 hexadecimal digits.

    Raises:
        InputError: The text holds half a character (a lone surrogate), which UTF-8 has no form for.
    """
    return _sha256(text)


def _sha256(text: str) -> str:
    try:
        return hashlib.sha256(text.encode("utf-8")).hexdigest()
    except UnicodeEncodeError as error:
        raise InputError(f"text must be valid Unicode, got {text[:40]!r}...: {error.reason}") from error


def _plain(value: object) -> dict[object, object]:
    """A read-only mapping counts as the mapping it shows."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{value!r:.80} is a {type(value).__name__}")


def _refuse_secrets(request: Mapping[str, object]) -> None:
    """Requests are kept for ever and shared, so no key may enter one."""
    for part in (request, request.get("parameters"), request.get("headers")):
        if not isinstance(part, Mapping):
            continue
        for name in part:
            if str(name).lower() in SECRET_NAMES:
                raise InputError(
                    f"a request must not hold {name!r}: it is written to the store; set the key in the environment"
                )
