"""The one HTTP client for the OpenAI wire format: pooled, bounded, patient with what passes, quick with what does not.

Concurrency, pace, retries, budget and giving up live here and nowhere else, so that a run has one place that limits
it. Importing this package is cheap: aiohttp is loaded when a Wire is entered.
"""

from ragauge.wire.budget import Budget, Load, Prices
from ragauge.wire.client import Wire
from ragauge.wire.endpoint import Endpoint
from ragauge.wire.loop import run

__all__ = ["Budget", "Endpoint", "Load", "Prices", "Wire", "run"]
