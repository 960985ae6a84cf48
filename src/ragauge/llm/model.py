"""A model to ask: its name, where it is, and what it is told besides the prompt."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from ragauge.errors import InputError
from ragauge.wire import Endpoint

__all__ = ["Model", "Request"]

_OURS = frozenset({"messages", "model", "n", "stream"})


@dataclass(frozen=True)
class Request:
    """One question to a model, before it is known which model.

    Attributes:
        prompt_id: Name and version of the prompt, such as "label/1".
        messages: Chat messages, each with "role" and "content".
        parameters: What the prompt wants besides: token limit, temperature, log-probabilities.
    """

    prompt_id: str
    messages: tuple[Mapping[str, str], ...]
    parameters: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Model:
    """A model at an endpoint.

    Attributes:
        name: The name the endpoint knows it by.
        endpoint: Where it is asked, and how hard.
        parameters: Sent with each request, over the prompt's own; None takes one of the prompt's away. A model that
            reasons first, for instance, needs `{"max_tokens": None, "max_completion_tokens": 2000, "temperature": None,
            "logprobs": None, "top_logprobs": None}`.
        identity: What stands for the endpoint in the key of a stored reply; None = its URL. A local server's port
            changes from start to start, the file it serves does not.

    Raises:
        InputError: No name, or a parameter that ragauge sets itself (messages, model, n, stream).
    """

    name: str
    endpoint: Endpoint
    parameters: Mapping[str, object] = field(default_factory=dict)
    identity: str | None = None

    def __post_init__(self) -> None:
        if not self.name:
            raise InputError("a model needs the name its endpoint knows it by, got an empty one")
        if taken := sorted(_OURS & self.parameters.keys()):
            raise InputError(f"parameters of a model must not hold {', '.join(taken)}: ragauge sets them itself")
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))

    def redrawn(self, draw: int) -> "Model":
        """The model that is asked again: its "seed" larger by the number of the draw; draw 0 is the model as it is."""
        base = self.parameters.get("seed")
        seed = draw + (base if isinstance(base, int) else 0)
        return replace(self, parameters={**self.parameters, "seed": seed}) if draw else self

    def payload(self, request: Request) -> dict[str, Any]:
        """The body of the chat completion call."""
        return {
            "model": self.name,
            "messages": [dict(message) for message in request.messages],
            **self._parameters(request),
        }

    def stored_request(self, request: Request) -> dict[str, Any]:
        """All that can change the reply, as the store keys and keeps it."""
        return {
            "endpoint": self.identity or self.endpoint.base_url,
            "model": self.name,
            "prompt_id": request.prompt_id,
            "parameters": self._parameters(request),
            "messages": [dict(message) for message in request.messages],
        }

    def _parameters(self, request: Request) -> dict[str, object]:
        merged = {**request.parameters, **self.parameters}
        return {name: value for name, value in merged.items() if value is not None}
