"""The scripted model in a process of its own."""

import argparse
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

from ragauge.testing.script import ScriptedReply, scripted_reply
from ragauge.testing.server import ScriptedModel


def main() -> None:
    """Serves until it is killed."""
    parser = argparse.ArgumentParser(prog="python -m ragauge.testing", description="A scripted model on 127.0.0.1.")
    parser.add_argument("--port", type=int, default=0, help="0 = any free one")
    parser.add_argument("--log", type=Path, help="file that gets one line a finished answer")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before each answer")
    options = parser.parse_args()

    def reply(request: dict[str, Any]) -> ScriptedReply:
        return replace(scripted_reply(request), delay_s=options.delay)

    with ScriptedModel(reply, log=options.log, port=options.port) as model:
        print(model.base_url, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
