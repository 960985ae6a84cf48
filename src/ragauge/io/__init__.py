"""Files people have, read into the tables of `ragauge.schema`, and those tables written.

Every reader takes gzip and a byte order mark, and shows all that is wrong with a file (up to ten problems) at once.
"""

from ragauge.io.collection import read_corpus, read_queries
from ragauge.io.formats import read_labels, read_rankings, write_rankings
from ragauge.io.graded import read_graded, write_graded_json
from ragauge.io.pools import Pools, read_pools, scan_pools
from ragauge.io.tabular import read_table, write_table

__all__ = [
    "Pools",
    "read_corpus",
    "read_graded",
    "read_labels",
    "read_pools",
    "read_queries",
    "read_rankings",
    "read_table",
    "scan_pools",
    "write_graded_json",
    "write_rankings",
    "write_table",
]
