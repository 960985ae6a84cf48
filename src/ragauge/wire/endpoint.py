"""Where a model is asked, and how hard."""

import math
import os
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from ragauge.errors import InputError

__all__ = ["Endpoint", "api_key"]


@dataclass(frozen=True)
class Endpoint:
    """Where a model is asked, and how hard.

    Attributes:
        base_url: Up to and with the version, such as "https://api.openai.com/v1" or "http://127.0.0.1:8080/v1".
        api_key_env: Name of the environment variable that holds the API key, read at each call and never kept; no
            header is sent when the variable is not set. "" for none.
        timeout_s: Seconds one try may take, from sending to the last byte.
        max_retries: Tries after the first one, for failures that may pass.
        concurrency: Calls in flight at once, at most: an overloaded server is asked fewer at once for a while.
        backoff_s: Bound of the first pause; the n-th lasts a random time up to `backoff_s * 2**(n-1)`, at most 30 s.
        rpm: Requests a minute, sent evenly; None = as fast as the server's own headers allow.
        tpm: Tokens a minute, read and written together; None likewise.

    Raises:
        InputError: A value is out of its range, or the URL holds a password.
    """

    base_url: str
    api_key_env: str = "OPENAI_API_KEY"
    timeout_s: float = 120.0
    max_retries: int = 5
    concurrency: int = 8
    backoff_s: float = 0.5
    rpm: float | None = None
    tpm: float | None = None

    def __post_init__(self) -> None:
        problems = [*_url_problems(self.base_url), *self._problems()]
        if problems:
            raise InputError.collect(problems)
        object.__setattr__(self, "base_url", self.base_url.rstrip("/"))

    def _problems(self) -> list[str]:
        rules = [
            (
                re.fullmatch(r"([A-Za-z_][A-Za-z0-9_]*)?", self.api_key_env) is not None,
                "api_key_env must name an environment variable, not be the key (what was given is not shown)",
            ),
            (
                math.isfinite(self.timeout_s) and self.timeout_s > 0,
                f"timeout_s must be a number of seconds above 0, got {self.timeout_s}",
            ),
            (self.max_retries >= 0, f"max_retries must be 0 or more, got {self.max_retries}"),
            (self.concurrency >= 1, f"concurrency must be 1 or more, got {self.concurrency}"),
            (
                math.isfinite(self.backoff_s) and self.backoff_s >= 0,
                f"backoff_s must be a number of seconds, 0 or more, got {self.backoff_s}",
            ),
            *(
                (
                    limit is None or (math.isfinite(limit) and limit > 0),
                    f"{name} must be a number a minute above 0, got {limit}",
                )
                for name, limit in (("rpm", self.rpm), ("tpm", self.tpm))
            ),
        ]
        return [message for kept, message in rules if not kept]


def _url_problems(base_url: str) -> list[str]:
    try:
        parts = urlsplit(base_url)
        parts.port  # noqa: B018 - reading it is what checks it
    except ValueError as error:
        return [f"base_url cannot be read: {error}"]
    if parts.username or parts.password:
        return ["base_url must not hold a user or password (it is kept with each answer); use api_key_env"]
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        return [f"base_url must look like https://host/v1, got {base_url!r}"]
    return []


def api_key(name: str) -> str:
    """The key in the environment variable `name`, "" when there is none; callers use it and let it go."""
    key = os.environ.get(name, "").strip() if name else ""
    if not (key.isascii() and key.isprintable()):
        raise InputError(f"the API key in {name} holds characters that no header can carry; set it again")
    return key
