"""Content-addressed keys: the same request always has the same key, and any change to it gives another."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from ragauge.errors import InputError

__all__ = [
    "canonical_json",
    "key_bytes",
    "key_of_text",
    "key_text",
    "request_key",
    "storable",
    "text_hash",
    "without_secrets",
]

KEY_VERSION = "r1"
"""Stands before each key, so that a later way of making keys can live in the same store."""

SECRET_NAMES = frozenset({"api_key", "api-key", "apikey", "authorization", "proxy-authorization", "x-api-key"})

_HEX_KEY = re.compile(rf"{KEY_VERSION}:[0-9a-f]{{64}}")
_BYTE_OF_VERSION = b"\x01"


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
    return key_of_text(canonical_json(request))


def key_of_text(request: str) -> str:
    """The key of a request whose canonical JSON this is."""
    return f"{KEY_VERSION}:{_sha256(request)}"


def canonical_json(request: Mapping[str, object]) -> str:
    """The one JSON text of `request`: sorted names, no spaces, characters as they are.

    Raises:
        InputError: As for `request_key`.
    """
    try:
        text = json.dumps(
            request, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_plain
        )
        text.encode("utf-8")
    except (TypeError, ValueError) as error:
        raise InputError(
            f"a request must hold JSON values only (text, finite numbers, true, false, null, lists, mappings): {error}"
        ) from error
    _refuse_secrets(request, text)
    return text


def text_hash(text: str) -> str:
    """SHA-256 of the UTF-8 text, 64 hexadecimal digits.

    Raises:
        InputError: The text holds half a character (a lone surrogate), which UTF-8 has no form for.
    """
    return _sha256(text)


def storable(text: str) -> str:
    """What a server sent may hold NUL or half a character, which databases refuse; their place is kept visible."""
    return text.replace("\0", "�").encode("utf-8", "backslashreplace").decode("utf-8")


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


def _refuse_secrets(request: Mapping[str, object], text: str) -> None:
    """Requests are kept for ever and shared, so no key may enter one; `text` is the request's JSON."""
    lowered = text.lower()
    if any(name in lowered for name in SECRET_NAMES):  # a passage may speak of it
        for name in _secret_names(request):
            raise InputError(
                f"a request must not hold {name!r}: it is written to the store; set the key in the environment"
            )
    if _has_password(request.get("endpoint")):
        raise InputError("a request's endpoint must not hold a user or password: it is written to the store")


def _secret_names(value: object) -> Iterator[str]:
    """Names of secrets with a text beside them, at any depth; a schema that describes such a field has a mapping."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            if str(name).lower() in SECRET_NAMES and isinstance(item, str):
                yield str(name)
            yield from _secret_names(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _secret_names(item)


def _has_password(endpoint: object) -> bool:
    """Whether an address holds a user or a password."""
    try:
        parts = urlsplit(endpoint if isinstance(endpoint, str) else "")
    except ValueError:
        return False
    return bool(parts.username or parts.password)


def without_secrets(value: object) -> object:
    """JSON values with what stands beside the name of a secret taken out: a server may send back what it was sent."""
    if isinstance(value, Mapping):
        return {
            name: "[removed]" if str(name).lower() in SECRET_NAMES and isinstance(item, str) else without_secrets(item)
            for name, item in value.items()
        }
    return [without_secrets(item) for item in value] if isinstance(value, list) else value


def key_bytes(key: str) -> bytes:
    """A key as tables hold it: 33 bytes for one of `request_key`, else its UTF-8."""
    if _HEX_KEY.fullmatch(key):
        return _BYTE_OF_VERSION + bytes.fromhex(key[len(KEY_VERSION) + 1 :])
    return key.encode("utf-8", "backslashreplace")


def key_text(stored: bytes) -> str:
    """The key that `key_bytes` was given."""
    if len(stored) == 33 and stored[:1] == _BYTE_OF_VERSION:
        return f"{KEY_VERSION}:{stored[1:].hex()}"
    return stored.decode("utf-8", "replace")
