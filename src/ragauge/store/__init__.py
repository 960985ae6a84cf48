"""What was asked of models and what they said: appended before it is used, never overwritten.

A label or an answer costs money and is evidence, so this is a store and no cache. Importing this package is cheap:
SQLAlchemy is loaded when a store is opened.
"""

from ragauge.store.keys import canonical_json, request_key, text_hash
from ragauge.store.store import Store, StoredFailure, StoredReply, Usage

__all__ = [
    "Store",
    "StoredFailure",
    "StoredReply",
    "Usage",
    "canonical_json",
    "request_key",
    "text_hash",
]
