"""What was asked of models, what they said, and who judged what: appended before it is used, never overwritten.

A label or an answer costs money and is evidence, so this is a store and no cache. Importing this package is cheap:
SQLAlchemy is loaded when a store is opened.
"""

from ragauge.store.keys import canonical_json, request_key, text_hash
from ragauge.store.records import (
    Damage,
    FinishedCall,
    JudgeCount,
    Merged,
    StoredFailure,
    StoredReply,
    StoreStats,
    Usage,
)
from ragauge.store.store import Store

__all__ = [
    "Damage",
    "FinishedCall",
    "JudgeCount",
    "Merged",
    "Store",
    "StoreStats",
    "StoredFailure",
    "StoredReply",
    "Usage",
    "canonical_json",
    "request_key",
    "text_hash",
]
