"""Writes a small store with the ragauge that runs it: `python tests/store/golden/make.py v2.db && gzip -9n v2.db`.

Each schema version leaves one file here, written before the version was raised; every later ragauge must read it.
"""

import sys
from pathlib import Path

import numpy as np

from ragauge.store import FinishedCall, Store, request_key

N_REPLIES = 12


def request_of(number: int) -> dict[str, object]:
    return {
        "endpoint": "http://127.0.0.1:8000/v1",
        "model": "m",
        "prompt_id": "label/1",
        "parameters": {"max_tokens": 1},
        "messages": [{"role": "user", "content": f"Où est le n° {number} ?"}],
    }


def reply_of(number: int) -> dict[str, object]:
    return {"choices": [{"message": {"content": "yes"}, "logprobs": {"p": number / 7}}], "note": 'é "quoted" \n'}


def main() -> None:
    path = Path(sys.argv[1])
    path.unlink(missing_ok=True)
    with Store.open(path) as store:
        for number in range(N_REPLIES):
            request = request_of(number)
            tokens = {"prompt_tokens": 100 + number, "completion_tokens": 1} if number % 2 else {}
            store.put_replies(
                [
                    FinishedCall(
                        request_key(request), request=request, reply=reply_of(number), latency_s=number / 4, **tokens
                    )
                ]
            )
        store.put_failure(request_key(request_of(99)), "timeout", "")
        store.put_failure(request_key(request_of(99)), "http_500", "oops é")
        store.put_vectors("e/1", ["one", "zwei"], np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))


if __name__ == "__main__":
    main()
