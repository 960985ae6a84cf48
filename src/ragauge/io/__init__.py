"""Files people have, read into the tables of `ragauge.schema`, and those tables written.

Every reader takes gzip and a byte order mark, and shows what is wrong with a file all at once.
"""

from ragauge.io.answers import is_grades, read_answers, read_grades, write_answer_sheet
from ragauge.io.collection import read_corpus, read_queries
from ragauge.io.drawn import design_of_file, read_drawn, write_drawn_rankings
from ragauge.io.formats import FORMATS, read_labels, read_rankings, scan_labels, scan_rankings, write_rankings
from ragauge.io.found import Reading, Skipped
from ragauge.io.graded import graded_batches, read_graded, write_graded_json
from ragauge.io.judges import write_rankings_of_judges
from ragauge.io.label_plan import read_label_plan, write_label_plan
from ragauge.io.per_query import is_per_query, read_clusters, read_scores
from ragauge.io.pools import Pools, read_pools, scan_pools
from ragauge.io.ratings import label_ratings, read_ratings
from ragauge.io.tabular import read_table, write_table

__all__ = [
    "FORMATS",
    "Pools",
    "Reading",
    "Skipped",
    "design_of_file",
    "graded_batches",
    "is_grades",
    "is_per_query",
    "label_ratings",
    "read_answers",
    "read_clusters",
    "read_corpus",
    "read_drawn",
    "read_graded",
    "read_grades",
    "read_label_plan",
    "read_labels",
    "read_pools",
    "read_queries",
    "read_rankings",
    "read_ratings",
    "read_scores",
    "read_table",
    "scan_labels",
    "scan_pools",
    "scan_rankings",
    "write_answer_sheet",
    "write_drawn_rankings",
    "write_graded_json",
    "write_label_plan",
    "write_rankings",
    "write_rankings_of_judges",
    "write_table",
]
