"""Values that tools wrap: JSON or Python literals inside strings, dotted keys, numbered keys, OTLP's typed values."""

import ast
import json
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["lookup", "numbered", "otlp_attributes", "unwrapped"]

_LAYERS = 3
"""JSON in a string in a string: seen in the wild; more is not unpacked."""


def unwrapped(value: Any) -> Any:
    """What a string spells if it is JSON or a Python literal of a list or dict; any other value as it is.

    >>> unwrapped('{"query": "q"}'), unwrapped("{'query': 'q'}"), unwrapped('"q"'), unwrapped("q")
    ({'query': 'q'}, {'query': 'q'}, 'q', 'q')
    """
    for _ in range(_LAYERS):
        if not isinstance(value, str) or (inner := _parsed(value)) is None:
            return value
        value = inner
    return value


def lookup(attributes: Mapping[str, Any], path: str) -> Any:
    """The value at a dotted path, whether its keys are flat, nested or a mixture; None where there is none.

    >>> lookup({"a": {"b.c": 1}}, "a.b.c"), lookup({"a.b": {"c": 1}}, "a.b.c"), lookup({"a": 1}, "a.b")
    (1, 1, None)
    """
    if path in attributes:
        return attributes[path]
    end = path.rfind(".")
    while end > 0:  # the longest key first
        inner = attributes.get(path[:end])
        if isinstance(inner, Mapping) and (value := lookup(inner, path[end + 1 :])) is not None:
            return value
        end = path.rfind(".", 0, end)
    return None


def numbered(attributes: Mapping[str, Any], path: str) -> list[Any] | None:
    """The list at a dotted path, which may also be spelt with numbered keys; None where there is none.

    >>> numbered({"docs.1.id": "b", "docs.0.id": "a"}, "docs"), numbered({"docs": '[{"id": "a"}]'}, "docs")
    ([{'id': 'a'}, {'id': 'b'}], [{'id': 'a'}])
    """
    value = unwrapped(lookup(attributes, path))
    if isinstance(value, list | tuple):
        return list(value)
    items: dict[int, Any] = dict(_by_number(value)) if isinstance(value, Mapping) else {}
    start = f"{path}."
    for key, one in attributes.items():
        number, _, rest = key[len(start) :].partition(".") if key.startswith(start) else ("", "", "")
        if number and _is_number(number):
            if rest:
                items.setdefault(int(number), {})
                if isinstance(items[int(number)], dict):
                    items[int(number)][rest] = one
            else:
                items[int(number)] = one
    return [items[number] for number in sorted(items)] if items else None


def otlp_attributes(pairs: list[Any]) -> dict[str, Any]:
    """The attributes of a span in OTLP's JSON: a list of keys with typed values.

    >>> otlp_attributes([{"key": "k", "value": {"intValue": "3"}}, {"key": "l", "value": {"stringValue": "v"}}])
    {'k': 3, 'l': 'v'}
    """
    named = [pair for pair in pairs if isinstance(pair, Mapping) and isinstance(pair.get("key"), str)]
    return {pair["key"]: _otlp(pair.get("value"), depth=0) for pair in named}


def _otlp(value: Any, *, depth: int) -> Any:
    """The plain value of a typed one."""
    if not isinstance(value, Mapping) or len(value) != 1 or depth > 20:
        return value
    kind, inner = next(iter(value.items()))
    if kind == "intValue":  # JSON has no 64-bit integers, so OTLP writes them as text
        return int(inner) if isinstance(inner, str) and _is_whole(inner) else inner
    values = inner.get("values") if isinstance(inner, Mapping) else None
    nested = values if isinstance(values, list) else []
    if kind == "arrayValue":
        return [_otlp(one, depth=depth + 1) for one in nested]
    if kind == "kvlistValue":
        pairs = [one for one in nested if isinstance(one, Mapping)]
        return {str(pair.get("key")): _otlp(pair.get("value"), depth=depth + 1) for pair in pairs}
    return inner


def _by_number(value: Mapping[str, Any]) -> Iterator[tuple[int, Any]]:
    return ((int(key), one) for key, one in value.items() if isinstance(key, str) and _is_number(key))


def _is_whole(text: str) -> bool:
    return len(text) < 20 and text.isascii() and text.removeprefix("-").isdecimal()


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 10


def _parsed(text: str) -> Any:
    """The value, or None where the string spells no list, dict or string."""
    start = text.lstrip()[:1]
    if start not in ("{", "[", '"', "("):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _literal(text) if start in ("{", "[", "(") else None


def _literal(text: str) -> Any:
    """The Python literal, or None."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # an odd backslash in somebody's string
            return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
