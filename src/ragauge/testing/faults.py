"""What goes wrong between a client and a model: each fault as a reply, and a script in which some calls have one."""

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from ragauge.testing.script import Answer, ScriptedReply, scripted_reply

__all__ = ["FAULTS", "Faulty"]

FAULTS: Mapping[str, ScriptedReply] = MappingProxyType(
    {
        "429": ScriptedReply("slow down", status=429),
        "429 with Retry-After": ScriptedReply("slow down", status=429, headers={"Retry-After": "0.01"}),
        "500": ScriptedReply("oops", status=500),
        "502": ScriptedReply(raw="<html>bad gateway</html>", status=502, content_type="text/html"),
        "503": ScriptedReply("overloaded", status=503),
        "401": ScriptedReply("invalid API key", status=401),
        "400": ScriptedReply("content management policy", status=400),
        "slow bytes": ScriptedReply("yes", pause_s=0.1),
        "dropped": ScriptedReply(drop=True),
        "half JSON": ScriptedReply("yes", cut=True),
        "no JSON": ScriptedReply(raw="Bad gateway", content_type="application/json"),
        "empty body": ScriptedReply(raw=""),
        "prose": ScriptedReply("That depends on what one means by it"),
        "empty text": ScriptedReply(""),
        "cut off": ScriptedReply("The passage", finish_reason="length"),
        "filtered": ScriptedReply("I cannot help.", finish_reason="content_filter"),
        "NaN": ScriptedReply(
            raw='{"choices": [{"message": {"content": NaN}, "logprobs": {"content": [{"top_logprobs": '
            '[{"token": "yes", "logprob": NaN}, {"token": "no", "logprob": NaN}]}]}}], "usage": {"prompt_tokens": NaN}}'
        ),
        "no choices": ScriptedReply(raw='{"id": "scripted", "choices": []}'),
        "another type": ScriptedReply(raw='{"choices": [7], "usage": [1]}'),
        "wrong content type": ScriptedReply("yes", content_type="text/html"),
        "broken stream": ScriptedReply(raw='data: {"choices": [{"delta": {"content": "ye"}}]}\n\n'),
    }
)
"""Name -> fault. All answers bear the same `id`, as some servers' do. "wrong content type" holds a good answer."""


class Faulty:
    """A script in which a share of the calls has a fault.

    Which call has which fault depends on the seed, the request's messages and how often they were asked before, and on
    nothing else: not on the order in which calls side by side come in.

    Args:
        share: Of the calls, 0..1.
        seed: Another seed, other faults.
        faults: The faults to choose from.
        reply: What the other calls are answered.

    Example:
        >>> script = Faulty(share=0.0)
        >>> script({"messages": []}) == scripted_reply({"messages": []})
        True
    """

    def __init__(
        self,
        *,
        share: float,
        seed: int = 0,
        faults: Sequence[ScriptedReply] = tuple(FAULTS.values()),
        reply: Answer = scripted_reply,
    ) -> None:
        self._share = share
        self._seed = seed
        self._faults = tuple(faults)
        self._reply = reply
        self._asked: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __call__(self, request: dict[str, Any]) -> ScriptedReply | str | dict[str, Any]:
        text = json.dumps(request.get("messages", []), sort_keys=True)
        with self._lock:
            n_before = self._asked[text]
            self._asked[text] += 1
        drawn = hashlib.sha256(f"{self._seed}:{n_before}:{text}".encode()).digest()
        if int.from_bytes(drawn[:4], "big") >= self._share * 2**32:
            return self._reply(request)
        return self._faults[int.from_bytes(drawn[4:8], "big") % len(self._faults)]
