"""Helpers for tests of programs that use ragauge: a scripted model behind a real HTTP server, and table comparison.

`python -m ragauge.testing --port 0 --log FILE` runs the scripted model in a process of its own and prints its URL.
"""

from ragauge.testing.batches import ScriptedBatches
from ragauge.testing.faults import FAULTS, Faulty
from ragauge.testing.script import ScriptedReply, scripted_p_yes, scripted_reply, scripted_vector
from ragauge.testing.server import RecordedRequest, ScriptedModel
from ragauge.testing.tables import assert_tables_equal

__all__ = [
    "FAULTS",
    "Faulty",
    "RecordedRequest",
    "ScriptedBatches",
    "ScriptedModel",
    "ScriptedReply",
    "assert_tables_equal",
    "scripted_p_yes",
    "scripted_reply",
    "scripted_vector",
]
